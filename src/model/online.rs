//! A function trained online, and everything needed to continue its training.
//!
//! Documents are scored by w, or by the average of w over all rounds (Chaudhuri & Tewari 2014, Algorithm 1; averaging as
//! in Freund & Schapire 1999). With a kernel, w is a sum of the kernel at support documents.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::codec::{decode_header, encode_header};
use super::linear::Linear;
use crate::base::{Error, Result, require};
use crate::cost::loss::list::{Active, Bounded, LabelTies, Slam, SlamWeights};
use crate::cost::metric::Metric;
use crate::data::ColumnSummary;
use crate::learn::kernel::{Basis, Kernel};
use crate::learn::space::{Form, Function, Space};
use crate::math::{BOUNDED, are_bounded, is_positive};

pub(super) const TAG: &str = "online";

/// Largest number of rounds in a model's record: at most 21 bytes each.
pub const RECORDED_ROUNDS: usize = 1000;

/// Largest budget of support documents (option `budget`).
pub const MAX_BUDGET: usize = 100_000;

/// Tolerance for rounding between sums over rounds and the record.
const ROUNDED: f64 = 1.0 + 1e-9;

/// The average over more rounds would be inexact.
const MAX_ROUNDS: u64 = 1 << 53;

/// Choices that hold for every round; stored with the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OnlineRules {
    /// Name of the metric whose loss is bounded: `ndcg`, `ndcg@k` or `map`.
    pub measure: String,
    /// Length of a step, > 0.
    pub learning_rate: f64,
    /// Which documents cause an update.
    pub update_on: Active,
    /// Weights of documents with equal relevance.
    pub label_ties: LabelTies,
    /// Score by the average of w over all rounds, not by the last w.
    pub average: bool,
    /// Largest number of support documents; `None` for linear functions.
    pub budget: Option<usize>,
}

/// The outcome of one round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RoundRecord {
    /// 1 - measure, before the update.
    pub loss: f64,
    /// f_t(w_t), equation (13); 0 without a loss.
    pub surrogate: f64,
    /// Number of documents with a positive term in f_t; 0 if w was not changed.
    pub active_documents: u32,
}

impl OnlineRules {
    /// The metric, with default options.
    ///
    /// # Errors
    /// A metric other than NDCG and MAP, reported as a value of the option `measure`.
    pub fn metric(&self) -> Result<Metric> {
        self.bounded_metric().map(|(metric, _)| metric)
    }

    fn bounded_metric(&self) -> Result<(Metric, Bounded)> {
        let metric = Metric::parse(&self.measure).ok();
        metric
            .and_then(|metric| Some((Bounded::of(&metric)?, metric)))
            .map(|(bounded, metric)| (metric, bounded))
            .ok_or_else(|| {
                Error::value(
                    "option 'measure'",
                    format!("'{}'", crate::base::error::shorten(&self.measure)),
                    "ndcg, ndcg@k with a whole number k from 1, or map",
                )
            })
    }

    /// The surrogate loss of every round.
    ///
    /// # Errors
    /// As [`Self::metric`].
    pub fn surrogate(&self) -> Result<Slam> {
        let weights = SlamWeights::Measure(self.bounded_metric()?.1);
        Ok(Slam { weights, margin: 1.0, ties: self.label_ties })
    }
}

/// Learned weights and counts so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OnlineState {
    /// w: one weight per scaled feature, or per support document.
    pub weights: Vec<f64>,
    /// Sum of the w after every round.
    pub sum: Vec<f64>,
    /// Rounds: one per query and pass.
    pub rounds: u64,
    /// Rounds that changed w.
    pub updates: u64,
    /// Sum of 1 - measure.
    pub cumulative_loss: f64,
    /// Sum of f_t(w_t), equation (13).
    pub cumulative_surrogate: f64,
    /// Sum of |z_t|^2, the squared norms of the subgradients.
    pub squared_steps: f64,
    /// R_X: the largest Euclidean norm of a document.
    pub largest_norm: f64,
    /// v_max: the largest ratio of two positive weights v of one query, at least 1.
    pub largest_ratio: f64,
    /// m: the largest number of documents with a positive weight in one query.
    pub most_weighted: u64,
    /// Sum and count of each feature's non-missing values.
    pub summaries: Vec<ColumnSummary>,
    /// The last rounds, at most `RECORDED_ROUNDS`.
    pub record: VecDeque<RoundRecord>,
    /// The kernel and the support documents; `None` for linear functions.
    pub support: Option<Basis>,
}

impl OnlineState {
    /// The state before the first round, for `width` scaled features.
    pub fn new(width: usize) -> Self {
        Self { weights: vec![0.0; width], sum: vec![0.0; width], largest_ratio: 1.0, ..Self::default() }
    }

    /// The state before the first round, for functions of a document kernel with `width` scaled features.
    pub fn with_kernel(kernel: Kernel, width: usize) -> Self {
        Self { support: Some(Basis::new(kernel, &[], 0, width)), ..Self::new(0) }
    }

    /// The space of w.
    fn space(&self) -> Space {
        match &self.support {
            Some(support) => Space::of_basis(support.clone()),
            None => Space::linear(self.weights.len(), Form::Scoring),
        }
    }

    /// Adds a round to the record. Drops the oldest one if there are too many.
    pub fn add_record(&mut self, round: RoundRecord) {
        if self.record.len() == RECORDED_ROUNDS {
            self.record.pop_front();
        }
        self.record.push_back(round);
    }

    /// The average of w over all rounds; 0 before the first.
    pub fn average(&self) -> Vec<f64> {
        let rounds = self.rounds.max(1) as f64;
        self.sum.iter().map(|sum| sum / rounds).collect()
    }

    /// Whether weights are within the bound of stored numbers, and the numbers of all rounds finite.
    pub fn has_bounded_sums(&self) -> bool {
        let numbers = [
            self.cumulative_loss,
            self.cumulative_surrogate,
            self.squared_steps,
            self.largest_norm,
            self.largest_ratio,
        ];
        are_bounded(self.weights.iter().chain(&self.sum)) && numbers.iter().all(|number| number.is_finite())
    }

    /// Whether the feature sums are finite.
    pub fn has_finite_summaries(&self) -> bool {
        self.summaries.iter().all(|summary| summary.sum.is_finite())
    }

    fn validate(&self) -> Result<()> {
        let weighed = match &self.support {
            Some(support) => support.points.dim > 0 && support.points.len() == self.weights.len(),
            None => !self.weights.is_empty(),
        };
        let recorded = |round: &RoundRecord| {
            (0.0..=1.0).contains(&round.loss) && round.surrogate >= 0.0 && round.surrogate.is_finite()
        };
        let counted =
            [self.cumulative_loss, self.cumulative_surrogate, self.squared_steps, self.largest_norm];
        // Totals of the record, and the possible totals of earlier rounds.
        let loss: f64 = self.record.iter().map(|round| round.loss).sum();
        let surrogate: f64 = self.record.iter().map(|round| round.surrogate).sum();
        let with =
            |test: fn(&RoundRecord) -> bool| self.record.iter().filter(|round| test(round)).count() as u64;
        let forgotten = self.rounds.saturating_sub(self.record.len() as u64);
        let of_all = if forgotten == 0 { surrogate } else { f64::MAX };
        let agrees = |all: f64, least: f64, most: f64| least <= all * ROUNDED && all <= most * ROUNDED;
        let updates = with(|round| round.active_documents > 0)..=forgotten + with(|round| round.loss > 0.0);
        require(
            "online ranker",
            &[
                (self.has_bounded_sums(), BOUNDED),
                (self.has_finite_summaries(), "finite sums of features"),
                (weighed, "a weight per feature or support document"),
                (self.sum.len() == self.weights.len(), "as many sums as weights"),
                (
                    self.record.len() as u64 <= self.rounds.min(RECORDED_ROUNDS as u64),
                    "a record of the last rounds",
                ),
                (self.record.iter().all(recorded), "losses from 0 to 1 with finite bounds"),
                (updates.contains(&self.updates), "an update for each round that changed weights"),
                (
                    agrees(self.cumulative_loss, loss, loss + forgotten as f64)
                        && agrees(self.cumulative_surrogate, surrogate, of_all),
                    "the sums of its record",
                ),
                (self.rounds < MAX_ROUNDS, "fewer than 2^53 rounds"),
                (counted.iter().all(|number| *number >= 0.0), "sums of at least 0"),
                (self.largest_ratio >= 1.0, "a ratio of at least 1"),
            ],
        )
    }
}

/// A function, and the state and rules to continue its training.
#[derive(Debug)]
pub struct Online {
    /// The function that scores documents.
    pub linear: Linear,
    /// The rules of its rounds.
    pub rules: OnlineRules,
    /// Learned weights and counts so far.
    pub state: OnlineState,
}

impl Online {
    /// A ranker with the state learned under these rules.
    pub fn new(rules: OnlineRules, state: OnlineState) -> Self {
        let weights = if rules.average { state.average() } else { state.weights.clone() };
        let objective = state.cumulative_surrogate / state.rounds.max(1) as f64;
        let linear = Linear::new(state.space(), Function { weights, objective, gap: 0.0 });
        Self { linear, rules, state }
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        encode_header(&(&self.rules, &self.state))
    }

    pub(super) fn decode(header: &[u8]) -> Result<Self> {
        let (rules, state): (OnlineRules, OnlineState) = decode_header(header)?;
        state.validate()?;
        rules.metric().map_err(|error| Error::Corrupt(error.to_string()))?;
        require(
            "online ranker",
            &[
                (rules.budget.is_some() == state.support.is_some(), "a budget only with a kernel"),
                (
                    rules.budget.is_none_or(|budget| (1..=MAX_BUDGET).contains(&budget)),
                    "a budget of at most 100000",
                ),
                (
                    rules.budget.is_none_or(|budget| state.weights.len() <= budget),
                    "support documents within the budget",
                ),
                (is_positive(rules.learning_rate), "a positive learning rate"),
            ],
        )?;
        Ok(Self::new(rules, state))
    }
}
