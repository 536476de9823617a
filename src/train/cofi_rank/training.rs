//! Training of `cofi_rank` on ratings.

use super::super::algorithm::{
    AlgorithmDef, Columns, DocWeights, Feedback, FoldUnit, InBuckets, Input, Trained, TrainingSet,
    TrainingSpec, entries, refuse_query_weights,
};
use super::super::grid::{check_pairs, nothing_to_learn};
use super::factors::Purpose;
use super::implicit::ImplicitSpec;
use super::model::factored_model;
use super::select_lambda::Selected;
use super::spec::{CofiRankSpec, Known, Session};
use crate::base::{Control, Error, Result, matrix_bytes};
use crate::cost::loss::list::Target;
use crate::cost::loss::{self, Loss};
use crate::data::{Dataset, ListConstraint, Ratings, RowOrder};
use crate::model::RatingTransform;
use crate::train::options::Reader;
use crate::train::select::{Searched, Selection, TunedValue};
use serde_json::{Map, Value, json};

/// Vectors with a number per rating, in addition to the vectors of fits.
const JUDGED_VECTORS: usize = 10;

pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "cofi_rank",
    summary: "recommendation from ratings: factors of users and items with a ranking loss per user, around biases; reads ids and ratings, no features; with feedback implicit from pairs of users and items, by weighted least squares over all items or with drawn negatives",
    objective: "lambda / 2 (|U|^2 + |V|^2) + sum_u w_u l_u(scale b + V_u u), by turns in U and V; b_i the lower ends of shrunk means of items, freed from the habits of users, l_u the loss on the ratings of user u; w_u the number of ratings for least squares, else 1; implicit, all items: lambda / 2 (|U|^2 + |V|^2) + 1/2 sum over all u, i of c_ui (p_ui - v_i.u)^2, p = 1 and c = 1 + count_weight * count for pairs, p = 0 and c = 1 for others",
    source: "Le, Smola, Chapelle & Teo, equation (42); Weimer, Karatzoglou, Le & Smola 2008; implicit: Hu, Koren & Volinsky 2008",
    // Least squares on pairs of gains: a convex ranking loss that is consistent with NDCG.
    defaults: &[
        ("loss", loss::list::PAIR_SQUARED.name),
        ("target", Target::Gain.name()),
        ("decoder", "power"),
    ],
    reads: |option| Reader::Ratings.reads(option) || Reader::Pairs.reads(option),
    parse: |params| match params.choice("feedback")? {
        Some(Feedback::Implicit) => Ok(Box::new(ImplicitSpec::parse(params)?)),
        Some(Feedback::Ratings) | None => {
            super::implicit::refuse_without_pairs(params)?;
            Ok(Box::new(CofiRankSpec::parse(params)?))
        }
    },
    resume: None,
    in_buckets: InBuckets::No(
        "learns from ids of users and items, so it does not train in buckets of queries; train it on rows",
    ),
};

impl TrainingSpec for CofiRankSpec {
    fn input(&self) -> Input<'_> {
        Input {
            columns: Columns::Ids,
            constraint: ListConstraint::None,
            order: RowOrder::Canonical,
            missing: self.missing,
            validation: self.validation.data.source(),
            doc_weights: DocWeights::RefusedByAlgorithm("cofi_rank"),
            prior: None,
            counts_spread: false,
        }
    }

    fn fit(&self, set: TrainingSet, control: &Control) -> Result<Trained> {
        let TrainingSet { data, validation, .. } = set;
        check(&data, self)?;
        if matches!(self.loss, Loss::Pair(..)) {
            check_pairs(&data, ["user", "ratings"])?;
        }
        // Biases of items learn from users with one rating each.
        if data.relevance.windows(2).all(|two| two[0].total_cmp(&two[1]).is_eq()) {
            return Err(nothing_to_learn(data.n_queries()));
        }
        // Ids are copied; the lists to judge by have a few numbers for each rating.
        let bytes = data.bytes() + matrix_bytes(data.n_docs(), JUDGED_VECTORS);
        let _memory =
            control.reserve(bytes, "a copy of the ratings", "read fewer ratings, or use shorter ids")?;
        let (ratings, items) = Ratings::of(&data)?;
        let session = Session { spec: self, labels: self.labels(&ratings), control };
        // 1. Lambda, on held-out ratings or on a source.
        let folds = super::select_lambda::folds(&data.query_ids, &items, &ratings, self);
        let judged = validation
            .map(|other| super::select_lambda::ValidationLists::of(&other, &data.query_ids, &items));
        let Selected { lambda, path, selection } = session.select(&ratings, &folds, judged.as_ref())?;
        // 2. All ratings, for the lambdas of the path in turn.
        let fit = session.fit(&ratings, &path, Purpose::Model)?;
        // 3. The model and its report.
        let warnings = warnings(lambda, selection.as_ref(), &ratings);
        let known = Known { users: data.query_ids, items, ratings };
        let trained = factored_model(&session, fit, lambda, known, None);
        let mut trained = Trained { selection, warnings, ..trained };
        if let Some(unknown) = judged.map(|judged| judged.unknown).filter(|unknown| *unknown > 0) {
            trained.warnings.push(format!(
                "{unknown} users of the validation source are ignored because they have no training ratings"
            ));
        }
        Ok(trained)
    }

    fn fold_unit(&self) -> Result<FoldUnit> {
        Ok(FoldUnit::Documents)
    }

    fn lambda_candidates(&self) -> Option<(&'static str, &[f64])> {
        match &self.lambda {
            TunedValue::Among(lambdas) => Some(("lambda", lambdas)),
            TunedValue::Fixed(_) | TunedValue::Rate | TunedValue::Fractions(_) => None,
        }
    }

    fn settings(&self) -> Map<String, Value> {
        let mut settings = entries(json!({
            "loss": self.loss.def().name,
            "target": self.target.name(),
            "factors": self.rank,
            "biases": self.biases,
            "max_rounds": self.max_rounds,
            "tolerance": self.tolerance,
        }));
        settings.extend(self.loss_parameters.clone());
        settings.extend(self.validation.given.clone());
        settings.insert("seed".to_owned(), json!(self.seed));
        settings
    }
}

fn warnings(lambda: f64, selection: Option<&Selection>, ratings: &Ratings) -> Vec<String> {
    let searched = Searched { center: Some("the biases"), ..Searched::new("lambda", lambda) };
    let mut warnings: Vec<String> =
        selection.and_then(|selection| selection.warning(&searched)).into_iter().collect();
    let single = (0..ratings.n_users()).filter(|&user| ratings.of_user(user).len() < 2).count();
    if single > 0 {
        warnings.push(format!(
            "{single} users have a single rating, which gives no order; the biases of items rank for them"
        ));
    }
    warnings.extend(like_counts(&ratings.values));
    warnings
}

/// A warning about ratings that look like counts: whole numbers without a scale, most of them far below the largest.
fn like_counts(ratings: &[f64]) -> Option<String> {
    let mut sorted = ratings.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (low, median, high) = (*sorted.first()?, sorted[sorted.len() / 2], *sorted.last()?);
    let are_whole = ratings.iter().all(|rating| rating.fract().abs() <= 0.0);
    (are_whole && low >= 0.0 && high > 20.0 && high >= 10.0 * median).then(|| {
        format!(
            "half of the ratings are at most {median}, but the largest is {high}; if they count plays, views or purchases, set \
             \"feedback\": \"implicit\""
        )
    })
}

/// Refuses weights, and ratings for which the loss has no value.
fn check(data: &Dataset, spec: &CofiRankSpec) -> Result<()> {
    refuse_query_weights(data, "user", "'cofi_rank'")?;
    let labels = RatingTransform { gain: spec.target == Target::Gain, scale: 1.0 };
    for user in 0..data.n_queries() {
        for row in data.rows(user) {
            let which = || format!("user {}, item {}", data.query_ids[user], data.doc_ids[row]);
            labels.check(data.relevance[row], which)?;
        }
        if let Loss::List(loss) = &spec.loss {
            let problem = |error| Error::Data(format!("user {}: {error}", data.query_ids[user]));
            loss.check_query(data.labels(user), &[]).map_err(problem)?;
        }
    }
    Ok(())
}
