//! One function for all queries.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::codec::{decode_header, encode_header};
use super::{Model, Ranker};
use crate::base::column_advice::columns_text;
use crate::base::error::{Error, Result, require, shorten};
use crate::data::{Categories, Scaling, negatives};
use crate::learn::space::{AnySpace, Function, Scorer};
use crate::math::dense::BOUNDED;
use crate::math::random::Random;

pub(super) const TAG: &str = "linear";

/// A function of all queries and its space.
#[derive(Debug)]
pub struct Linear {
    space: AnySpace,
    function: Arc<Function>,
}

impl Linear {
    /// A ranker with this function of a space.
    pub fn new(space: impl Into<AnySpace>, function: Function) -> Self {
        Self { space: space.into(), function: Arc::new(function) }
    }

    /// What scores documents by the function.
    pub fn scorer(&self) -> &dyn Scorer {
        self.space.scorer()
    }

    /// The space of the function.
    pub fn space(&self) -> &AnySpace {
        &self.space
    }

    /// The function.
    pub fn function(&self) -> &Arc<Function> {
        &self.function
    }

    /// The weights of the scaled features, if it is a linear function of one space.
    pub(super) fn linear_weights(&self) -> Option<&[f64]> {
        match &self.space {
            AnySpace::One(space) if space.is_linear() => Some(&self.function.weights),
            _ => None,
        }
    }

    /// The bytes of everything but the scaling.
    ///
    /// # Errors
    /// Too many bytes.
    pub fn encode(&self) -> Result<Vec<u8>> {
        encode_header(&(&self.space, &*self.function))
    }

    /// The ranker of bytes that are not trusted.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::base::error::Error::Corrupt) for bytes that [`Self::encode`] does not write.
    pub fn decode(header: &[u8]) -> Result<Self> {
        let (space, function): (AnySpace, Function) = decode_header(header)?;
        space.scorer().validate()?;
        let dim = space.scorer().dim();
        require(
            "linear ranker",
            &[
                (function.weights.len() == dim, "as many weights as its space has"),
                (function.is_bounded(), BOUNDED),
            ],
        )?;
        Ok(Self::new(space, function))
    }
}

// Pairs of users and items without ratings: how they are learned, and their counts.

/// How pairs without ratings were learned.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Implicit {
    /// By weighted least squares over all items.
    AllItems {
        /// alpha: a pair with a count n has the confidence 1 + alpha n.
        count_weight: f64,
    },
    /// By the loss on pairs, rated 1, and on items without a pair, rated 0.
    Sampled {
        /// How many of them are drawn for each pair.
        negatives: usize,
        /// Of the draws.
        seed: u64,
    },
}

/// Largest weight of a count.
pub const MAX_COUNT_WEIGHT: f64 = 1e6;
/// Largest number of drawn items for each pair.
pub const MAX_NEGATIVES: usize = 1000;

/// Largest confidence of a pair. Sums of products with larger ones lose the digits of all other pairs.
const MAX_CONFIDENCE: f64 = 1e9;

impl Implicit {
    /// Refuses a count that is no weight of a pair; `origin` says where it comes from.
    ///
    /// # Errors
    /// [`Error::Data`] with the count and what is allowed.
    pub fn check(self, count: f64, origin: impl FnOnce() -> String) -> Result<()> {
        let count_weight = match self {
            Self::AllItems { count_weight } => count_weight,
            Self::Sampled { .. } => 0.0,
        };
        if count > 0.0 && count_weight * count <= MAX_CONFIDENCE {
            return Ok(());
        }
        let problem = if count > 0.0 {
            format!(
                "is too large: times the option 'count_weight' ({count_weight}) at most {MAX_CONFIDENCE:e} is allowed"
            )
        } else {
            "is not above 0; leave out pairs that did not occur".to_owned()
        };
        Err(Error::Data(format!("{}: the count {count:?} {problem}", origin())))
    }

    /// Whether its numbers are those of options.
    pub(super) fn is_valid(self) -> bool {
        match self {
            Self::AllItems { count_weight } => (0.0..=MAX_COUNT_WEIGHT).contains(&count_weight),
            Self::Sampled { negatives, .. } => (1..=MAX_NEGATIVES).contains(&negatives),
        }
    }

    /// The items that are drawn for a user with these (ascending); `number` tells users apart.
    pub fn negatives(self, number: usize, seen: &[u32], items: usize) -> Vec<u32> {
        let Self::Sampled { negatives: each, seed } = self else { return Vec::new() };
        let mut random = Random::new(Random::new(seed).bits().wrapping_add(number as u64));
        negatives(seen, items, each.saturating_mul(seen.len()), &mut random)
    }
}

// The function of a model as the center of another training's penalty.

/// A linear function of scaled features.
#[derive(Debug, Clone)]
pub struct LinearPrior {
    features: Vec<String>,
    categories: Categories,
    scaling: Scaling,
    weights: Vec<f64>,
}

impl Model {
    /// Its linear function.
    ///
    /// # Errors
    /// A model with a kernel, with several functions, or with factors; a perceptron.
    pub fn linear_prior(&self) -> Result<LinearPrior> {
        let weights = match &self.ranker {
            Ranker::Linear(linear) => linear.linear_weights(),
            _ => None,
        };
        let weights = weights.ok_or_else(|| {
            let algorithm = &self.card.algorithm;
            Error::Unsupported(format!(
                "a model of '{algorithm}' with these settings cannot be a prior; allowed is a model with one linear function, as \
                 of rank_svm or list_net with kernel \"linear\""
            ))
        })?;
        let features = self.card.features.clone();
        let (categories, scaling) = (self.card.categories.clone(), self.scaling.clone());
        Ok(LinearPrior { features, categories, scaling, weights: weights.to_vec() })
    }
}

impl LinearPrior {
    /// The scaling of the documents that it was trained on.
    pub fn scaling(&self) -> &Scaling {
        &self.scaling
    }

    /// The categories that it was trained with.
    #[cfg(feature = "sqlite")]
    pub fn categories(&self) -> &Categories {
        &self.categories
    }

    /// The scaling and the weights for features with these names, which may have another order.
    ///
    /// # Errors
    /// The names of features that are missing or unknown.
    pub fn for_features(&self, names: &[String]) -> Result<(Scaling, Vec<f64>), String> {
        let lacks =
            |have: &[String], name: &String| !have.iter().any(|other| other.eq_ignore_ascii_case(name));
        let differing = |of: &[String], other: &[String]| -> Vec<String> {
            of.iter().filter(|name| lacks(other, name)).cloned().collect()
        };
        let (missing, unknown) = (differing(&self.features, names), differing(names, &self.features));
        let listed = |names: &[String]| shorten(&names.join(", "));
        let mut problems = Vec::new();
        if !missing.is_empty() {
            let listed = listed(&missing);
            problems.push(format!(
                "the source lacks the model's features {listed}; add them, or train the prior without them"
            ));
        }
        if !unknown.is_empty() {
            let names: Vec<&str> = unknown.iter().map(String::as_str).collect();
            let ignore = columns_text(None, None, &names);
            problems
                .push(format!("the model has no features {}; set the options {ignore}", listed(&unknown)));
        }
        if !problems.is_empty() {
            return Err(problems.join("; "));
        }
        if names.len() != self.features.len() {
            return Err("the source and the prior have another number of features".to_owned());
        }
        // Values of categories may differ in case only.
        let column = |name: &String| {
            let exact = self.features.iter().position(|other| other == name);
            exact.or_else(|| self.features.iter().position(|other| other.eq_ignore_ascii_case(name)))
        };
        let columns: Vec<usize> = names.iter().filter_map(column).collect();
        let n = columns.len();
        let parts = self.weights.len() / n.max(1);
        let weights =
            (0..parts).flat_map(|part| columns.iter().map(move |column| self.weights[part * n + column]));
        Ok((self.scaling.select(&columns), weights.collect()))
    }
}
