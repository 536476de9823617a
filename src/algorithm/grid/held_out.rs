//! Values of held-out queries for several lambdas: the scalings, the space, the neighbors and the path of lambdas are
//! computed once for all of them.

use super::checks;
use super::session::Session;
use super::spec::GridSpec;
use crate::algorithm::{CandidatePath, FoldUnit};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::fit::Penalty;
use crate::smoothing::SmoothingKind;

impl GridSpec {
    /// The option that validation chooses by this penalty.
    pub(super) fn candidate_option(&self) -> &'static str {
        match self.penalty {
            Penalty::Ridge | Penalty::Threshold | Penalty::L1 => "lambda",
            Penalty::Components => "components",
            Penalty::Ball | Penalty::Sphere => "radius",
        }
    }

    /// Queries, unless each query has a function of its own documents only.
    pub(super) fn unit(&self) -> Result<FoldUnit> {
        if self.smoothing.kind != SmoothingKind::Individual {
            return Ok(FoldUnit::Queries);
        }
        Err(Error::Unsupported(
            "smoothing \"individual\" has no function for queries that are held out; choose lambda with \"validation\": \
             \"documents\", or use another smoothing"
                .to_owned(),
        ))
    }
}

impl CandidatePath for GridSpec {
    fn values(
        &self,
        training: Dataset,
        held_out: Dataset,
        candidates: &[f64],
        control: &Control,
    ) -> Result<Vec<Vec<Option<f64>>>> {
        checks::informative(self, &training)?;
        // 1. What all lambdas have in common. A prior has a lambda of its own, chosen within the training data.
        let all = Session::new(self, training, control)?;
        let rounds = all.rounds(None)?;
        let specs = if candidates.is_empty() { self.candidates() } else { vec![(None, self.clone())] };
        let mut warnings = Vec::new();
        let chosen;
        let (session, prior, lambdas) = if candidates.is_empty() {
            chosen = all.choose(&specs, &rounds)?;
            (&chosen.session, chosen.prior, vec![chosen.lambdas.all])
        } else {
            (&all, all.prior_fit(&rounds, &mut warnings)?, candidates.to_vec())
        };
        drop(rounds);
        // 2. The path of lambdas, and the held-out queries.
        let round = session.on_source(held_out)?;
        let tolerance = self.tolerance;
        let spec = session.fit_spec(&session.neighborhood, lambdas[0], tolerance, prior.as_ref())?;
        let values = session.values(&round, &lambdas, &spec)?;
        Ok(values.into_iter().map(|(_, values)| values).collect())
    }
}
