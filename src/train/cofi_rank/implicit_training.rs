//! Training of `cofi_rank` on implicit feedback.

use super::factors::Purpose;
use super::implicit::{DRAWN_VECTORS, ImplicitSpec, PAIR_VECTORS, of_losses};
use super::implicit_fit::largest_lambda;
use super::implicit_select::Held;
use super::model::factored_model;
use super::spec::{Known, Session};
use crate::base::{Control, Error, Result, matrix_bytes};
use crate::model::Implicit;
use crate::train::algorithm::{Columns, FoldUnit, Input, Trained, TrainingSet, TrainingSpec};
use crate::train::select::{Searched, TunedValue};
use serde_json::{Map, Value, json};

impl TrainingSpec for ImplicitSpec {
    fn input(&self) -> Input<'_> {
        Input { columns: Columns::Pairs, ..self.ranking.input() }
    }

    fn fit(&self, set: TrainingSet, control: &Control) -> Result<Trained> {
        let TrainingSet { data, validation, .. } = set;
        let numbers = PAIR_VECTORS.saturating_add(self.drawn().saturating_mul(DRAWN_VECTORS));
        let bytes = data.bytes().saturating_add(matrix_bytes(data.n_docs(), numbers));
        let _memory =
            control.reserve(bytes, "a copy of the pairs", "read fewer pairs, or use shorter ids")?;
        let (pairs, items) = self.pairs(&data)?;
        let session = Session { spec: &self.ranking, labels: self.labels(&pairs), control };
        // 1. Lambda, on held-out pairs or on a source.
        let known = Known { users: data.query_ids, items, ratings: pairs };
        let held = |other| Held::of(&other, self.implicit, &known);
        let source = validation.map(held).transpose()?;
        let largest = if self.draws() { None } else { Some(largest_lambda(&known.ratings, control)?) };
        let lambdas = self.candidates(largest);
        let chosen = self.select(&session, &known, source, lambdas)?;
        // 2. All pairs, along the path of lambdas up to the chosen one.
        let fit = self.fit_pairs(&session, &known.ratings, &chosen.path, Purpose::Model)?;
        // 3. The model and its report.
        let warnings = self.warnings(&chosen, largest);
        let trained = factored_model(&session, fit, chosen.lambda, known, Some(self.implicit));
        Ok(Trained { selection: chosen.selection, warnings, ..trained })
    }

    fn fold_unit(&self) -> Result<FoldUnit> {
        Err(Error::Unsupported(
            "cross-validation compares ratings of held-out items, and pairs of \"feedback\": \"implicit\" have none; lambda is chosen on \
             held-out pairs; compare other settings by trainings with a source as option 'validation'"
                .to_owned(),
        ))
    }

    fn lambda_candidates(&self) -> Option<(&'static str, &[f64])> {
        self.ranking.lambda_candidates().filter(|_| matches!(self.lambda, TunedValue::Among(_)))
    }

    fn settings(&self) -> Map<String, Value> {
        let mut settings = self.ranking.settings();
        if let Implicit::AllItems { count_weight } = self.implicit {
            settings.retain(|key, _| !of_losses().any(|option| option == key));
            settings.insert("count_weight".to_owned(), json!(count_weight));
        }
        let negatives = match self.implicit {
            Implicit::AllItems { .. } => json!("all"),
            Implicit::Sampled { negatives, .. } => json!(negatives),
        };
        settings.insert("feedback".to_owned(), json!("implicit"));
        settings.insert("negatives".to_owned(), negatives);
        settings
    }
}

impl ImplicitSpec {
    /// Warnings about lambda.
    fn warnings(&self, found: &super::implicit_select::ChosenLambda, largest: Option<f64>) -> Vec<String> {
        let center = (self.draws() && self.ranking.biases).then_some("the biases");
        let searched = Searched { center, ..Searched::new("lambda", found.lambda) };
        let chosen = found.selection.as_ref().and_then(|selection| selection.warning(&searched));
        let vanish = largest.filter(|largest| found.lambda >= *largest).map(|largest| {
            format!(
                "lambda is {:e}; from {largest:.3e} on the factors of this data go to 0, and the model ranks nothing; use a smaller one",
                found.lambda
            )
        });
        chosen.into_iter().chain(vanish).chain(found.left_out()).collect()
    }
}
