//! Recommendation from pairs of users and items without ratings.
//!
//! With `"negatives": "all"` every item without a pair is a weak negative, and weighted least squares over all items
//! has a closed form for each user and each item (Hu, Koren & Volinsky 2008; `solve::WeightedSquares`). With a number
//! n, n items without a pair are drawn for each pair, and the ranking loss learns from ratings of 1 for pairs and 0 for
//! drawn items (Rendle et al. 2009 draw such negatives, with a logistic loss).
//!
//! Lambda is chosen on held-out pairs of every user: `select`.

use serde_json::Value;

use super::factors::{Fit, Purpose};
use super::implicit_fit::fit;
use super::spec::{CofiRankSpec, Session};
use crate::base::{Error, Params, Result};
use crate::data::{Dataset, Id, Ratings};
use crate::model::{Implicit, RatingTransform};
use crate::train::algorithm::refuse_query_weights;
use crate::train::options::{self, OPTIONS, Reader};
use crate::train::select::TunedValue;

/// Vectors with a number per pair, in addition to the vectors of fits.
pub(super) const PAIR_VECTORS: usize = 8;
/// The same for each drawn item.
pub(super) const DRAWN_VECTORS: usize = 4;

/// Options that weighted least squares over all items does not read.
pub(super) fn of_losses() -> impl Iterator<Item = &'static str> {
    let keys = OPTIONS.iter().map(|def| def.key);
    keys.filter(|key| Reader::Ratings.reads(key) && !Reader::Pairs.reads(key))
}

/// The choices of a training on pairs.
pub(super) struct ImplicitSpec {
    /// Loss, factors, validation and seed.
    pub(super) ranking: CofiRankSpec,
    pub(super) implicit: Implicit,
    pub(super) lambda: TunedValue,
}

/// Refuses options of pairs in a training on ratings.
pub(super) fn refuse_without_pairs(params: &Params) -> Result<()> {
    match ["negatives", "count_weight"].into_iter().find(|key| params.has(key)) {
        Some(option) => Err(no_effect(
            option,
            "feedback \"ratings\" (the default); set \"feedback\": \"implicit\"",
            "feedback",
        )),
        None => Ok(()),
    }
}

fn no_effect(option: &'static str, reason: &str, because_of: &'static str) -> Error {
    Error::NoEffect { option, reason: reason.to_owned(), because_of }
}

impl ImplicitSpec {
    /// Parses and checks parameters.
    ///
    /// # Errors
    /// Errors of [`CofiRankSpec::parse`]; options without effect.
    pub(super) fn parse(params: &Params) -> Result<Self> {
        let ranking = CofiRankSpec::parse(params)?;
        let Some(negatives) = params.count("negatives") else {
            if let Some(option) = of_losses().find(|key| params.has(key)) {
                let reason = "negatives \"all\" (the default), which is weighted least squares; set \"negatives\" to a number";
                return Err(no_effect(option, reason, "negatives"));
            }
            // The default was chosen on validation pairs of MovieLens-100k (NDCG@10, 8 factors, one split: 1 .2151, 3 .2181,
            // 5 .2177, 10 .2142).
            let count_weight = options::number(params, "count_weight");
            let is_auto = params.get("lambda").is_none_or(Value::is_string);
            let lambda = if is_auto { TunedValue::Fractions(fractions()) } else { ranking.lambda.clone() };
            return Ok(Self { ranking, implicit: Implicit::AllItems { count_weight }, lambda });
        };
        if params.has("count_weight") {
            let reason = "drawn negatives: each pair counts the same; set \"negatives\": \"all\"";
            return Err(no_effect("count_weight", reason, "negatives"));
        }
        let (lambda, seed) = (ranking.lambda.clone(), ranking.seed);
        Ok(Self { ranking, implicit: Implicit::Sampled { negatives, seed }, lambda })
    }

    /// Number of items that are drawn for each pair.
    pub(super) fn drawn(&self) -> usize {
        match self.implicit {
            Implicit::AllItems { .. } => 0,
            Implicit::Sampled { negatives, .. } => negatives,
        }
    }

    /// Whether items are drawn, so that a loss learns from them.
    pub(super) fn draws(&self) -> bool {
        self.drawn() > 0
    }

    /// The pairs as ratings: the confidence minus 1, or 1.
    pub(super) fn pairs(&self, data: &Dataset) -> Result<(Ratings, Vec<Id>)> {
        refuse_query_weights(data, "user", "'cofi_rank'")?;
        let (mut pairs, items) = Ratings::counted(data)?;
        for user in 0..pairs.n_users() {
            for pair in pairs.of_user(user) {
                let origin =
                    || format!("user {}, item {}", data.query_ids[user], items[pairs.items[pair] as usize]);
                self.implicit.check(pairs.values[pair], origin)?;
            }
        }
        let weigh = |count: f64| match self.implicit {
            Implicit::AllItems { count_weight } => count_weight * count,
            Implicit::Sampled { .. } => 1.0,
        };
        pairs.values.iter_mut().for_each(|value| *value = weigh(*value));
        Ok((pairs, items))
    }

    /// The pairs, rated 1, and the items that are drawn for their users, rated 0.
    fn with_negatives(&self, pairs: &Ratings) -> Ratings {
        let mut ratings =
            Ratings { offsets: vec![0], items: Vec::new(), values: Vec::new(), n_items: pairs.n_items };
        for user in 0..pairs.n_users() {
            let seen = &pairs.items[pairs.of_user(user)];
            let mut next = seen.iter().peekable();
            for drawn in self.implicit.negatives(user, seen, pairs.n_items) {
                while let Some(item) = next.next_if(|item| **item < drawn) {
                    ratings.push(*item, 1.0);
                }
                ratings.push(drawn, 0.0);
            }
            next.for_each(|item| ratings.push(*item, 1.0));
            ratings.offsets.push(ratings.items.len());
        }
        ratings
    }

    /// Fits to these pairs for lambdas from small to large.
    pub(super) fn fit_pairs(
        &self,
        session: &Session<'_>,
        pairs: &Ratings,
        lambdas: &[f64],
        purpose: Purpose<'_>,
    ) -> Result<Fit> {
        if self.draws() {
            return session.fit(&self.with_negatives(pairs), lambdas, purpose);
        }
        fit(session, pairs, lambdas, purpose)
    }

    /// Candidates for lambda, largest first; one if it is given.
    pub(super) fn candidates(&self, largest: Option<f64>) -> Vec<f64> {
        match &self.lambda {
            TunedValue::Fixed(lambda) => vec![*lambda],
            TunedValue::Among(lambdas) => lambdas.clone(),
            TunedValue::Fractions(fractions) => {
                fractions.iter().map(|fraction| fraction * largest.unwrap_or(1.0)).collect()
            }
            TunedValue::Rate => Vec::new(),
        }
    }

    /// The targets of least squares on pairs and drawn items.
    pub(super) fn labels(&self, pairs: &Ratings) -> RatingTransform {
        if self.draws() {
            return self.ranking.labels(&self.with_negatives(pairs));
        }
        RatingTransform { gain: false, scale: 1.0 }
    }
}

/// Candidates for lambda as fractions of the smallest one at which all factors are 0, largest first.
fn fractions() -> Vec<f64> {
    (1..=12).map(|step| libm::exp10(-0.25 * f64::from(step))).collect()
}
