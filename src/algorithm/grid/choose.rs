//! The choice among several values of `decoder_power`, each with lambdas of its own.

use serde_json::Value;

use super::session::Session;
use super::spec::{DECODER_POWER, GridSpec};
use super::train::{Lambdas, PriorFit};
use super::validation_rounds::Round;
use crate::algorithm::LambdaSelection;
use crate::algorithm::selection::{Curve, Searched};
use crate::error::{Error, Result};
use crate::math::order::descending;
use crate::metric::Better;

/// The largest value that the option `decoder_power` allows.
const LARGEST_POWER: f64 = 3.0;

/// What validation chose.
pub(super) struct Chosen<'a> {
    pub session: Session<'a>,
    /// The value of `decoder_power`, if there are several.
    pub power: Option<Value>,
    /// The best value of the metric for each `decoder_power`, largest power first, if there are several.
    pub powers: Option<Curve>,
    pub prior: Option<PriorFit>,
    pub lambdas: Lambdas,
    pub warnings: Vec<String>,
}

impl Chosen<'_> {
    /// The value of the metric, negated if lower ones are better; the worst if there is none.
    fn rank_value(&self, better: Better) -> f64 {
        let value = self.lambdas.selection.as_ref().and_then(LambdaSelection::value);
        let value = value.unwrap_or(if better == Better::Higher { f64::NEG_INFINITY } else { f64::INFINITY });
        if better == Better::Higher { value } else { -value }
    }

    /// Adds the values of all powers, and a warning if the chosen power is at an end of them.
    fn with_powers(mut self, mut curve: Curve) -> Self {
        let power = self.power.as_ref().and_then(Value::as_f64);
        let (Some(power), Some(selection)) = (power, self.lambdas.selection.clone()) else { return self };
        let powers: Vec<f64> = curve.iter().map(|(power, _)| *power).collect();
        curve = descending(&powers).into_iter().map(|index| curve[index]).collect();
        let chosen = curve.iter().position(|(other, _)| power.total_cmp(other).is_eq());
        let searched = Searched {
            advice: Some("give more values with the option 'decoder_power' (above 0, at most 3)"),
            limits: (0.0, LARGEST_POWER),
            ..Searched::new(DECODER_POWER, power)
        };
        let powers = LambdaSelection { curve, chosen, ..selection };
        self.warnings.extend(powers.end_warning(&searched));
        self.powers = Some(powers.curve);
        self
    }
}

impl<'a> Session<'a> {
    /// The best of the candidates, the first of equal ones.
    pub(super) fn choose<'s>(
        &self,
        candidates: &'s [(Option<Value>, GridSpec)],
        rounds: &[Round],
    ) -> Result<Chosen<'s>>
    where
        'a: 's,
    {
        let better = self.spec.validation.metric.def().better;
        let (mut best, mut curve): (Option<Chosen<'s>>, Curve) = (None, Curve::new());
        for (power, spec) in candidates {
            let session = self.with_spec(spec)?;
            let rounds = rounds.iter().map(|round| round.with_loss(&spec.loss));
            let rounds = rounds.collect::<Result<Vec<Round>>>()?;
            let mut warnings = Vec::new();
            // First the lambda of the prior, then that of the functions which shrink to it.
            let prior = session.prior_fit(&rounds, &mut warnings)?;
            let lambdas = session.lambdas(&rounds, prior.as_ref(), &mut warnings)?;
            let next = Chosen { session, power: power.clone(), powers: None, prior, lambdas, warnings };
            if let Some(power) = power.as_ref().and_then(Value::as_f64) {
                curve.push((power, next.lambdas.selection.as_ref().and_then(LambdaSelection::value)));
            }
            if best.as_ref().is_none_or(|best| next.rank_value(better) > best.rank_value(better)) {
                best = Some(next);
            }
        }
        let best = best.ok_or_else(|| Error::Internal("no loss to choose".to_owned()))?;
        Ok(best.with_powers(curve))
    }
}
