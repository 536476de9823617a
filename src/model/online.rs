//! One linear function that an online algorithm has learned so far, with all it takes to go on.
//!
//! It scores by w or by the average of the w after every round (Chaudhuri & Tewari 2014, Algorithm 1; averaging as in
//! Freund & Schapire 1999).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::codec::{Encoded, decode_header, encode_header};
use super::{Ranker, Target};
use crate::control::Control;
use crate::data::ColumnSummary;
use crate::error::{Error, Result};
use crate::loss::list::{Active, Bounded, Slam};
use crate::metric::Metric;
use crate::space::{Function, FunctionKind, Space};

/// Name of the form.
pub(super) const FORM: &str = "online";

/// More rounds than this have no exact average.
const MOST_ROUNDS: u64 = 1 << 53;

/// Names of [`Active`], as the option `update_on` has them.
pub const ACTIVE_NAMES: &[&str] = &["margin", "misorder"];

/// How weights are shared among documents of equal grade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LabelTies {
    /// All have the mean.
    Average,
    /// By input order (the paper).
    Stable,
}

/// Names of [`LabelTies`], as the option `label_ties` has them.
pub const LABEL_TIES_NAMES: &[&str] = &["average", "stable"];

/// The choices that stay with a model and hold for every round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// Name of the measure whose loss is bounded: `ndcg`, `ndcg@k` or `map`.
    pub measure: String,
    /// Length of a step, > 0.
    pub eta: f64,
    /// Which documents make an update.
    pub active: Active,
    /// How weights are shared among documents of equal grade.
    pub label_ties: LabelTies,
    /// Whether documents are scored by the average of all w, not by the last.
    pub average: bool,
}

impl Rules {
    /// The measure, with the default options of metrics.
    ///
    /// # Errors
    /// Another measure than NDCG and MAP, as a sentence about the option `measure`.
    pub fn metric(&self) -> Result<Metric> {
        match Metric::parse(&self.measure) {
            Ok(metric) if Bounded::of(&metric).is_some() => Ok(metric),
            _ => Err(Error::value(
                "option 'measure'",
                format!("'{}'", crate::error::shorten(&self.measure)),
                "ndcg, ndcg@k with a whole number k from 1, or map",
            )),
        }
    }
}

impl Rules {
    /// The surrogate of every round.
    ///
    /// # Errors
    /// Those of [`Self::metric`].
    pub fn surrogate(&self) -> Result<Slam> {
        let measure = Bounded::of(&self.metric()?);
        let measure = measure.ok_or_else(|| Error::Internal("a measure without a bound".to_owned()))?;
        Ok(Slam { measure, margin: 1.0, average: self.label_ties == LabelTies::Average })
    }
}

/// What has been learned and counted so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// w, one weight per scaled feature.
    pub weights: Vec<f64>,
    /// Sum of the w after every round.
    pub sum: Vec<f64>,
    /// Rounds: queries seen, each as often as it was.
    pub rounds: u64,
    /// Rounds that changed w.
    pub updates: u64,
    /// Sum of 1 - measure.
    pub cumulative_loss: f64,
    /// Sum of f_t(w_t), equation (13).
    pub cumulative_surrogate: f64,
    /// Sum of |z_t|^2, the squared lengths of the subgradients.
    pub squared_steps: f64,
    /// R_X: the largest Euclidean norm of a document.
    pub largest_norm: f64,
    /// v_max: the largest ratio of two positive weights v of one query, at least 1.
    pub largest_ratio: f64,
    /// m: the largest number of documents with a positive weight in one query.
    pub most_weighted: u64,
    /// Of each feature: sum and number of the values that were there.
    pub summaries: Vec<ColumnSummary>,
}

impl Progress {
    /// Nothing seen yet, `width` scaled features.
    pub fn new(width: usize) -> Self {
        Self { weights: vec![0.0; width], sum: vec![0.0; width], largest_ratio: 1.0, ..Self::default() }
    }

    /// The average of the w after every round; 0 before the first.
    pub fn average(&self) -> Vec<f64> {
        let rounds = self.rounds.max(1) as f64;
        self.sum.iter().map(|sum| sum / rounds).collect()
    }

    /// True where every number is finite.
    pub fn is_finite(&self) -> bool {
        let numbers = [
            self.cumulative_loss,
            self.cumulative_surrogate,
            self.squared_steps,
            self.largest_norm,
            self.largest_ratio,
        ];
        self.weights.iter().chain(&self.sum).chain(&numbers).all(|number| number.is_finite())
            && self.summaries.iter().all(|tally| tally.sum.is_finite())
    }

    /// True where the parts fit together.
    fn is_sound(&self) -> bool {
        let counted =
            [self.cumulative_loss, self.cumulative_surrogate, self.squared_steps, self.largest_norm];
        self.is_finite()
            && self.sum.len() == self.weights.len()
            && self.updates <= self.rounds
            && self.rounds < MOST_ROUNDS
            && counted.iter().all(|number| *number >= 0.0)
            && self.largest_ratio >= 1.0
    }
}

/// The ranker.
#[derive(Debug)]
pub struct Online {
    space: Space,
    rules: Rules,
    progress: Progress,
    function: Arc<Function>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    space: Space,
    rules: Rules,
    progress: Progress,
}

impl Online {
    /// A ranker with what was learned by these rules.
    pub fn new(rules: Rules, progress: Progress) -> Self {
        let weights = if rules.average { progress.average() } else { progress.weights.clone() };
        let objective = progress.cumulative_surrogate / progress.rounds.max(1) as f64;
        let function = Arc::new(Function { weights, objective, gap: 0.0 });
        let space = Space::linear(progress.weights.len(), FunctionKind::Pointwise);
        Self { space, rules, progress, function }
    }

    /// The rules of its rounds.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// What has been learned so far.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }
}

impl Ranker for Online {
    fn form(&self) -> &'static str {
        FORM
    }

    fn space(&self) -> &Space {
        &self.space
    }

    fn stored(&self, _target: &Target<'_>) -> Option<Arc<Function>> {
        Some(Arc::clone(&self.function))
    }

    fn fit(&self, _features: &[f64], _control: &Control) -> Result<Function> {
        Ok((*self.function).clone())
    }

    fn online(&self) -> Option<&Online> {
        Some(self)
    }

    fn encode(&self) -> Result<Encoded<'_>> {
        let Self { space, rules, progress, .. } = self;
        let header = Header { space: space.clone(), rules: rules.clone(), progress: progress.clone() };
        Ok(Encoded { header: encode_header(&header)?, blocks: Vec::new() })
    }
}

/// Reads the ranker, which has no blocks.
pub(super) fn decode(header: &[u8], blocks: usize, _whole: bool) -> Result<Box<dyn Ranker>> {
    let Header { space, rules, progress } = decode_header(header)?;
    let checks = [
        (blocks == 0, "no blocks"),
        (space.is_sound() && space.is_linear() && space.pointwise(), "a linear space of documents"),
        (space.dim() == progress.weights.len(), "as many weights as the space has"),
        (progress.is_sound(), "finite numbers that fit together"),
        (rules.eta > 0.0 && rules.eta.is_finite(), "a positive step"),
        (rules.metric().is_ok(), "a measure that it bounds"),
    ];
    match checks.into_iter().find(|(holds, _)| !holds) {
        None => Ok(Box::new(Online::new(rules, progress))),
        Some((_, needed)) => Err(Error::Corrupt(format!("online ranker: it needs {needed}"))),
    }
}
