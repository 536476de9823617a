//! Choices by validation before a training on the grid: lambda or its replacement, the prior's lambda, and
//! `decoder_power`; each value of the latter with its own lambdas.

use serde_json::Value;

use super::lambdas::{default_lambdas, for_width};
use super::session::Session;
use super::spec::{DECODER_POWER, GridSpec};
use crate::base::{Control, Error, Result};
use crate::cost::loss::{Loss, Shape, least_squares};
use crate::cost::metric::Better;
use crate::data::{Dataset, Id};
use crate::learn::fit::{FitAt, Interaction, LambdaScope, Penalty, Prior};
use crate::learn::smoothing::SmoothingKind;
use crate::learn::solve;
use crate::math::descending;
use crate::train::baseline::BASELINE_ALONE;
use crate::train::select::{
    Candidates, Choice, Curve, FitQuality, FoldScores, HeldOut, Searched, Selection, SelectionRule,
    TunedValue, argmax, choose,
};
use crate::train::single_feature::{self, Judge};

/// Lambda if no judged query can be held out to choose it.
pub const FALLBACK_LAMBDA: f64 = 0.01;

/// Approximate number of passes to fit a loss that is not convex, relative to a convex one.
const PASSES_OF_NONCONVEX: usize = 16;

/// The largest value that the option `decoder_power` allows.
const LARGEST_POWER: f64 = 3.0;

/// The lambdas to fit with.
pub(super) struct Lambdas {
    /// Lambda of every function without a separate one.
    pub all: f64,
    /// Lambda of each training query, if chosen separately.
    pub each: Option<Vec<f64>>,
    pub selection: Option<Selection>,
    /// Scores of held-out documents with this lambda, if probabilities are learned from them.
    pub scores: Vec<FoldScores>,
}

impl Lambdas {
    /// The same lambda for every function, without validation.
    pub fn given(lambda: f64) -> Self {
        Self { all: lambda, each: None, selection: None, scores: Vec::new() }
    }
}

/// The choices by validation.
pub(super) struct Chosen {
    /// The choices with the chosen loss and the lambda of the prior.
    pub spec: GridSpec,
    /// The value of `decoder_power`, if there are several.
    pub power: Option<Value>,
    /// The best value of the metric for each `decoder_power`, largest power first, if there are several.
    pub powers: Option<Curve>,
    /// The lambdas to fit with; `None` for the rate of the data.
    pub lambdas: Option<Lambdas>,
    pub warnings: Vec<String>,
}

impl Chosen {
    fn selection(&self) -> Option<&Selection> {
        self.lambdas.as_ref().and_then(|lambdas| lambdas.selection.as_ref())
    }

    /// The value of the metric, negated if lower is better; the worst value if undefined.
    fn rank_value(&self, better: Better) -> f64 {
        let value = self.selection().and_then(Selection::value);
        let value = value.unwrap_or(if better == Better::Higher { f64::NEG_INFINITY } else { f64::INFINITY });
        if better == Better::Higher { value } else { -value }
    }

    /// Finds the best single feature on the rows that chose lambda.
    pub fn compare_features(&mut self, held_out: &HeldOut<'_>, control: &Control) -> Result<()> {
        // With a lambda for each query, the model's values are not known.
        let one = self.lambdas.as_mut().filter(|lambdas| lambdas.each.is_none());
        let Some(selection) = one.and_then(|lambdas| lambdas.selection.as_mut()) else { return Ok(()) };
        let (judges, _memory) = held_out.judges(control)?;
        let lists = judges.iter().map(|judge| (0..judge.n_queries()).collect()).collect::<Vec<Vec<usize>>>();
        let judges: Vec<Judge<'_>> =
            judges.iter().zip(&lists).map(|(data, queries)| Judge { data, queries }).collect();
        let (validation, constraint) = (&self.spec.validation, self.spec.loss.constraint());
        selection.baseline = single_feature::baseline(&judges, selection, validation, constraint, control)?;
        Ok(())
    }

    /// Adds the values of all powers, and a warning if the chosen power is at an end of them.
    fn with_powers(mut self, mut curve: Curve) -> Self {
        let power = self.power.as_ref().and_then(Value::as_f64);
        let (Some(power), Some(selection)) = (power, self.selection().cloned()) else { return self };
        let powers: Vec<f64> = curve.iter().map(|(power, _)| *power).collect();
        curve = descending(&powers).into_iter().map(|index| curve[index]).collect();
        let chosen = curve.iter().position(|(other, _)| power.total_cmp(other).is_eq());
        let searched = Searched {
            advice: Some("give more values with the option 'decoder_power' (above 0, at most 3)"),
            limits: (0.0, LARGEST_POWER),
            ..Searched::new(DECODER_POWER, power)
        };
        let powers = Selection { curve, chosen, screened: Vec::new(), end_error: None, ..selection };
        self.warnings.extend(powers.end_warning(&searched));
        self.powers = Some(powers.curve);
        self
    }
}

impl GridSpec {
    /// Whether validation chooses a number.
    pub(super) fn chooses(&self) -> bool {
        self.lambda.is_validated() || self.fits_prior()
    }

    /// The held-out data to choose on: from these rows, or the source.
    pub(super) fn held_out<'d>(&self, data: &'d Dataset, source: Option<&'d Dataset>) -> Result<HeldOut<'d>> {
        if !self.chooses() {
            return Ok(HeldOut::nothing(data));
        }
        let judged = |data: &Dataset, query: usize| {
            self.loss.is_informative(data.labels(query), data.doc_weights(query))
        };
        HeldOut::new(&self.validation, data, source, judged, self.numbers(data), self.seed)
    }

    /// Documents times function weights, times passes over them. A local function passes over its neighbors'
    /// documents.
    fn numbers(&self, data: &Dataset) -> f64 {
        let weights = if self.kernel.is_linear() { data.features.columns() } else { self.landmarks };
        let is_local = self.smoothing.kind != SmoothingKind::Uniform;
        let functions = if is_local { 2 * self.smoothing.neighbors.min(data.n_queries()) } else { 1 };
        let passes = if self.loss.shape().is_convex() { functions } else { PASSES_OF_NONCONVEX * functions };
        data.n_docs() as f64 * weights as f64 * passes as f64
    }

    /// The best of the candidates, the first of equal ones.
    pub(super) fn choose(&self, held_out: &HeldOut<'_>, control: &Control) -> Result<Chosen> {
        let better = self.validation.metric.def().better;
        let (mut best, mut curve): (Option<Chosen>, Curve) = (None, Curve::new());
        for (power, mut spec) in self.candidates() {
            // First the prior's lambda, then the lambda of the functions that shrink to it.
            let mut warnings = spec.choose_prior(held_out, control)?;
            let lambdas = spec.lambdas(held_out, &mut warnings, control)?;
            let next = Chosen { spec, power: power.clone(), powers: None, lambdas, warnings };
            if let Some(power) = power.as_ref().and_then(Value::as_f64) {
                curve.push((power, next.selection().and_then(Selection::value)));
            }
            if best.as_ref().is_none_or(|best| next.rank_value(better) > best.rank_value(better)) {
                best = Some(next);
            }
        }
        let best = best.ok_or_else(|| Error::Internal("no loss to choose".to_owned()))?;
        Ok(best.with_powers(curve))
    }

    /// The loss of the global function that is fitted first, if there is one.
    pub(super) fn prior_loss(&self) -> Option<Loss> {
        match self.prior {
            Prior::Global => Some(self.loss.clone()),
            Prior::Regression => Some(Loss::List(least_squares())),
            Prior::Zero if self.starts_at_regression() => Some(Loss::List(least_squares())),
            Prior::Zero | Prior::Model | Prior::Auto => None,
        }
    }

    /// Chooses the lambda of the prior, if there is a prior and it has none yet. Returns warnings.
    pub(super) fn choose_prior(&mut self, held_out: &HeldOut<'_>, control: &Control) -> Result<Vec<String>> {
        let Some(loss) = self.prior_loss().filter(|_| self.prior_lambda.is_none()) else {
            return Ok(Vec::new());
        };
        let (is_linear, features) = (self.kernel.is_linear(), held_out.data.features.columns());
        let lambdas = for_width(default_lambdas(&loss, is_linear, Prior::Zero), &loss, is_linear, features);
        let mut prior = self.clone();
        prior.solver = if loss == self.loss { self.solver } else { solve::SOLVERS[0] };
        prior.loss = loss;
        prior.smoothing.kind = SmoothingKind::Uniform;
        (prior.prior, prior.is_prior, prior.penalty) = (Prior::Zero, true, Penalty::Ridge);
        (prior.lambda_scope, prior.fit_at) = (LambdaScope::All, FitAt::Training);
        let Choice { selection, .. } = prior.among(&lambdas, held_out, control)?;
        let used = selection.chosen.map_or(FALLBACK_LAMBDA, |chosen| lambdas[chosen]);
        self.prior_lambda = Some(used);
        let searched = Searched {
            advice: Some("its candidates are fixed, but \"prior\": \"zero\" needs none"),
            ..Searched::new("prior_lambda", used)
        };
        // The warning advises "prior": "zero", which local functions with interactions do not support.
        let warning = selection.warning(&searched).filter(|_| self.interaction == Interaction::None);
        Ok(warning.into_iter().collect())
    }

    /// The lambdas to fit with, and how they were chosen; `None` for the rate of the data.
    fn lambdas(
        &self,
        held_out: &HeldOut<'_>,
        warnings: &mut Vec<String>,
        control: &Control,
    ) -> Result<Option<Lambdas>> {
        let fractions;
        let candidates = match &self.lambda {
            TunedValue::Fixed(lambda) => return Ok(Some(Lambdas::given(*lambda))),
            TunedValue::Rate => return Ok(None),
            TunedValue::Among(lambdas) => lambdas,
            TunedValue::Fractions(shares) => {
                let largest = Session::new(self, held_out.data.clone(), control)?.largest_l1_lambda()?;
                fractions = shares.iter().map(|share| share * largest).collect();
                &fractions
            }
        };
        let Choice { selection, queries, scores } = self.among(candidates, held_out, control)?;
        let fallback = if self.baseline.is_some() { BASELINE_ALONE } else { FALLBACK_LAMBDA };
        let all = selection.chosen.map_or(fallback, |chosen| candidates[chosen]);
        let each = (self.lambda_scope == LambdaScope::Each).then(|| {
            let data = held_out.data;
            self.of_each_query(data, candidates, all, &queries, warnings)
        });
        Ok(Some(Lambdas { all, each, selection: Some(selection), scores }))
    }

    /// The choice among these candidates, largest first.
    fn among(&self, candidates: &[f64], held_out: &HeldOut<'_>, control: &Control) -> Result<Choice> {
        // The largest lambda gives the prior. Functions depart from it only if that is clearly better, unless it has
        // interactions: then the best lambda is better where queries differ.
        // A stored model is other data: both departures from it and its own weights need evidence.
        let shrinks = matches!(self.prior, Prior::Global | Prior::Regression)
            && self.smoothing.kind != SmoothingKind::Uniform
            && self.interaction == Interaction::None;
        // A factorization solves least squares for all candidates at once. Losses that are not convex are fitted from their own
        // start for each, coarse or not. Queries with separate lambdas have no neighbors in the list to measure again.
        let shape = self.loss.shape();
        let is_exact = shape == Shape::Quadratic && self.kernel.is_linear()
            || !shape.is_convex()
            || self.lambda_scope == LambdaScope::Each;
        let candidates = Candidates {
            values: candidates,
            path: self,
            rule: match &self.baseline {
                Some(baseline) => SelectionRule::BaselineUnlessBetter {
                    are_contradicting: baseline.fit(held_out.data, &self.loss, control)?.is_contradicted,
                },
                None if shrinks => SelectionRule::OneStandardError,
                None => SelectionRule::Smoothed,
            },
            first: if is_exact { FitQuality::Final } else { FitQuality::Coarse },
            keeps_scores: self.keeps_scores && !self.is_prior,
        };
        choose(held_out, &candidates, &self.validation, control)
    }

    /// The lambda of each training query: the largest of the best, or the lambda of all queries without a value.
    fn of_each_query(
        &self,
        data: &Dataset,
        candidates: &[f64],
        all: f64,
        queries: &[(Id, Vec<Option<f64>>)],
        warnings: &mut Vec<String>,
    ) -> Vec<f64> {
        let better = self.validation.metric.def().better;
        let mut each = vec![None; data.n_queries()];
        for (id, values) in queries {
            if let Ok(query) = data.query_ids.binary_search(id) {
                each[query] = argmax(values, better).map(|best| candidates[best]);
            }
        }
        if each.iter().all(Option::is_none) {
            warnings.push(format!(
                "no training query has a value of {} in the validation data, so \"lambda_scope\": \"each\" has no effect",
                self.validation.metric.name()
            ));
        }
        each.into_iter().map(|own| own.unwrap_or(all)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::loss::{PairLoss, PairWeights};

    #[test]
    fn hinge_candidates_match_the_paper() {
        let lambdas = default_lambdas(&Loss::Pair(PairLoss::Hinge, PairWeights::Equal), true, Prior::Zero);
        assert_eq!(lambdas.len(), 61);
        assert!((lambdas[0] - 1e3).abs() < 1e-9 && (lambdas[60] - 1e-3).abs() < 1e-15);
        let hinge = Loss::Pair(PairLoss::Hinge, PairWeights::Equal);
        let of = |lambdas: &[f64], features| for_width(lambdas.to_vec(), &hinge, true, features);
        assert_eq!(of(&lambdas, 255), lambdas);
        let wide: Vec<f64> = lambdas.iter().copied().step_by(5).collect();
        assert_eq!((of(&lambdas, 256), wide.len()), (wide.clone(), 13));
        assert_eq!(of(&[&[1e9][..], &lambdas].concat(), 256), [&[1e9][..], &wide].concat());
    }
}
