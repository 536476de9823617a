//! Recommendation: factors of users and items around biases (Weimer, Karatzoglou, Le & Smola 2008; Le, Smola, Chapelle &
//! Teo, section 7.2).
//!
//! Training has three parts: `biases` fits what is common to all users; `factors` fits U and V in turn, with the biases as
//! offsets; `select_lambda` chooses the weight of the penalty on held-out ratings. With a large weight all factors are 0
//! and the biases alone rank, so factors are used only if they help. `implicit` learns from pairs without ratings.

use super::super::algorithm::{
    AlgorithmDef, Columns, DocWeights, Feedback, FoldUnit, InBuckets, Input, Trained, TrainingSet,
    TrainingSpec, entries, refuse_query_weights,
};
use super::super::grid::{check_loss_parameters, check_pairs, loss_parameters, nothing_to_learn};
use super::biases::Biases;
use super::factors::{Fit, Purpose};
use super::implicit::ImplicitSpec;
use super::select_lambda::Selected;
use crate::base::{Control, Error, Params, Result, matrix_bytes};
use crate::cost::loss::list::Target;
use crate::cost::loss::{self, Loss, LossDef, Shape};
use crate::data::{Dataset, Id, ListConstraint, Missing, Ratings, RowOrder, Scaling};
use crate::learn::fit::HeldOut;
use crate::math::dot;
use crate::model::{Factored, FoldIn, Implicit, Ranker, RatingTransform};
use crate::train::select::{Searched, Selection, TunedValue, ValidationSpec};
use serde_json::{Map, Value, json};

/// The definition.
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
    reads: |option| OPTIONS.contains(&option),
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

/// The options that `cofi_rank` reads.
#[rustfmt::skip]
const OPTIONS: &[&str] = &[
    "loss", "measure", "decoder", "decoder_power", "neutral_grade", "half_life", "margin", "label_ties",
    "feedback", "negatives", "count_weight", "target", "factors", "biases", "lambda", "max_rounds", "tolerance", "metric", "undefined", "validation",
];

/// Vectors of a number per rating beside those of fits.
const JUDGED_VECTORS: usize = 10;

/// Whether there are biases of users and items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UseBiases {
    Yes,
    No,
}

/// The refusal of the rate of lambda, which is one of the number of query features.
pub(super) fn no_rate() -> Error {
    Error::Unsupported("lambda \"rate\" needs query features; use a number or \"auto\"".to_owned())
}

/// The choices of one training.
#[derive(Debug, Clone)]
pub(super) struct CofiRankSpec {
    /// The loss, convex.
    pub(super) loss: Loss,
    /// Its parameters as the caller gave them.
    loss_parameters: Map<String, Value>,
    /// Length of a row of U or V.
    pub(super) rank: usize,
    pub(super) biases: UseBiases,
    target: Target,
    /// Maximum number of rounds for each lambda. A round fits U, then V.
    pub(super) max_rounds: usize,
    /// Relative gap of a half round.
    pub(super) tolerance: f64,
    pub(super) lambda: TunedValue,
    pub(super) validation: ValidationSpec,
    missing: Missing,
    pub(super) seed: u64,
}

impl CofiRankSpec {
    /// Parses and checks parameters.
    ///
    /// # Errors
    /// A loss that is not convex or needs slots.
    pub(super) fn parse(params: &Params) -> Result<Self> {
        let def = loss::find(params.text("loss").unwrap_or(loss::list::PAIR_SQUARED.name))?;
        check_loss_parameters(def, params, &["target"])?;
        let target = params.choice("target")?.unwrap_or(Target::Gain);
        let loss = convex_loss(def, params, target)?;
        let lambda = TunedValue::parse(params.get("lambda"), || default_lambdas(&loss));
        if lambda == TunedValue::Rate {
            return Err(no_rate());
        }
        Ok(Self {
            lambda,
            loss,
            loss_parameters: loss_parameters(def, params).collect(),
            rank: params.count("factors").unwrap_or(10),
            biases: if params.switch("biases") == Some(false) { UseBiases::No } else { UseBiases::Yes },
            target,
            max_rounds: params.count("max_rounds").unwrap_or(10),
            tolerance: params.number("tolerance").unwrap_or(1e-3),
            validation: ValidationSpec::parse(params, HeldOut::Documents)?,
            missing: params.choice("missing")?.unwrap_or_default(),
            seed: params.seed(),
        })
    }

    /// The targets of least squares and biases: their standard deviation within users is 1.
    pub(super) fn labels(&self, ratings: &Ratings) -> RatingTransform {
        let raw = RatingTransform { gain: self.target == Target::Gain, scale: 1.0 };
        let mut squares = 0.0;
        for user in 0..ratings.n_users() {
            let targets: Vec<f64> =
                ratings.values[ratings.of_user(user)].iter().map(|&rating| raw.apply(rating)).collect();
            let mean = targets.iter().sum::<f64>() / targets.len().max(1) as f64;
            squares += targets.iter().map(|target| (target - mean) * (target - mean)).sum::<f64>();
        }
        let deviation = (squares / ratings.len().max(1) as f64).sqrt();
        RatingTransform { scale: if deviation > 0.0 { deviation } else { 1.0 }, ..raw }
    }
}

/// The loss of a definition. Of `direct` it is the convex bound.
fn convex_loss(def: &'static LossDef, params: &Params, target: Target) -> Result<Loss> {
    let mut params = params.clone().with("target", json!(target.name()));
    if def.name == "direct" {
        let decoder = json!(params.text("decoder").unwrap_or("power"));
        params = params.with("bound", json!("convex")).with("decoder", decoder);
    }
    let loss = def.make(&params)?;
    let refuse = |why: &str| {
        let name = def.name;
        Err(Error::Unsupported(format!("algorithm 'cofi_rank' does not support loss \"{name}\": {why}")))
    };
    if loss.constraint() != ListConstraint::None {
        return refuse("it ranks documents at slots");
    }
    if !loss.shape().is_convex() {
        return refuse("it is not convex");
    }
    if def.name == loss::list::SQUARED.name {
        return refuse("summed over the ratings of a user it is \"pair_squared\"; use that");
    }
    Ok(loss)
}

/// Default candidates for lambda, largest first. Objectives of least squares are sums, others are means.
pub fn default_lambdas(loss: &Loss) -> Vec<f64> {
    let (largest, width, steps) =
        if loss.shape() == Shape::Quadratic { (2.05, 0.1, 15) } else { (1.0, 0.5, 6) };
    (0..=steps).map(|step| libm::exp10(largest - width * f64::from(step))).collect()
}

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
        let trained = factored_model(&session, fit, lambda, known, None)?;
        let mut trained = Trained { selection, warnings, ..trained };
        if let Some(unknown) = judged.map(|judged| judged.unknown).filter(|unknown| *unknown > 0) {
            trained.warnings.push(format!(
                "{unknown} users of the validation source are left out because they have no training ratings"
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

    fn settings(&self) -> Result<Map<String, Value>> {
        let mut settings = entries(&json!({
            "loss": self.loss.def().name,
            "target": self.target.name(),
            "factors": self.rank,
            "biases": self.biases == UseBiases::Yes,
            "max_rounds": self.max_rounds,
            "tolerance": self.tolerance,
        }))?;
        settings.extend(self.loss_parameters.clone());
        settings.extend(self.validation.given.clone());
        settings.insert("seed".to_owned(), json!(self.seed));
        Ok(settings)
    }
}

/// What is fixed before anything is fitted.
pub(super) struct Session<'a> {
    pub(super) spec: &'a CofiRankSpec,
    pub(super) labels: RatingTransform,
    pub(super) control: &'a Control,
}

impl Session<'_> {
    pub(super) fn biases(&self, ratings: &Ratings) -> Biases {
        if self.spec.biases == UseBiases::No {
            return Biases::none(ratings);
        }
        let targets: Vec<f64> = ratings.values.iter().map(|&rating| self.labels.apply(rating)).collect();
        Biases::fit(ratings, &targets)
    }
}

/// The training data: ids of users and items, ascending, and the ratings.
pub(super) struct Known {
    pub(super) users: Vec<Id>,
    pub(super) items: Vec<Id>,
    pub(super) ratings: Ratings,
}

/// The model of a fit, without warnings.
pub(super) fn factored_model(
    session: &Session<'_>,
    fit: Fit,
    lambda: f64,
    known: Known,
    implicit: Option<Implicit>,
) -> Result<Trained> {
    let Known { users, items, ratings } = known;
    let CofiRankSpec { loss, tolerance, .. } = session.spec;
    let fold_in = FoldIn { loss: loss.clone(), transform: session.labels, lambda, tolerance: *tolerance };
    let Biases { users: user_biases, items: item_biases, unknown, .. } = fit.biases;
    let norm = |rows: &[f64]| dot(rows, rows).sqrt();
    let details = entries(&json!({
        "users": users.len(),
        "items": items.len(),
        "ratings": ratings.len(),
        "bias_scale": fit.scale,
        "norms": { "users": norm(&fit.factors.users), "items": norm(&fit.factors.items) },
    }))?;
    let factored = Factored {
        users,
        items,
        factors: fit.factors,
        user_biases,
        item_biases,
        unknown_bias: unknown,
        scale: fit.scale,
        rated_offsets: ratings.offsets,
        rated: ratings.items,
        fold_in,
        implicit,
    };
    Ok(Trained {
        lambda: Some(lambda),
        log: fit.log,
        unconverged: usize::from(fit.gap.is_some_and(|gap| gap > *tolerance)),
        details,
        ..Trained::new(Ranker::Factored(Box::new(factored)), Scaling::None)
    })
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
