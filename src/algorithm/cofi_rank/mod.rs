//! Recommendation: factors of users and items around biases (Weimer, Karatzoglou, Le & Smola 2008; Le, Smola, Chapelle &
//! Teo, section 7.2).
//!
//! Training has three parts. `biases` finds what all users agree about, `factors` finds what they differ in: U and V by
//! turns, with the biases as offsets. `choice` finds the weight of the penalty on held-out ratings of every user; with
//! one that is large enough all factors are 0 and the biases alone rank, so factors are used only where they help.

mod biases;
mod choice;
mod factors;

use serde_json::{Value, json};

use self::biases::Biases;
use self::factors::Fit;
use super::{AlgorithmDef, LogStep, Recipe, Trained, TrainingSet};
use crate::arrange::ListConstraint;
use crate::control::Control;
use crate::data::{Dataset, Ratings, RowOrder, Scaling, ScalingKind};
use crate::error::{Error, Result};
use crate::loss::{self, Loss, Shape};
use crate::model::{Factored, FoldIn, Ranker, RatingTransform};
use crate::param::Params;
use crate::smoothing::Kind;

/// The definition.
pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "cofi_rank",
    summary: "recommendation from ratings: factors of users and items with a ranking loss per user, around biases; reads ids and ratings, no features",
    objective: "lambda / 2 (|U|^2 + |V|^2) + sum_u w_u l_u(scale b + V_u u), by turns in U and V; b_i the lower ends of shrunk means of items, freed from the habits of users, l_u the loss on the ratings of user u; w_u the number of ratings for least squares, else 1",
    source: "Le, Smola, Chapelle & Teo, equation (42); Weimer, Karatzoglou, Le & Smola 2008",
    smoothing: Kind::Uniform,
    loss: DEFAULT_LOSS,
    penalty: "ridge",
    prior: "zero",
    scale: ScalingKind::None,
    order: RowOrder::Canonical,
    features: false,
    parameters: &[
        "loss",
        "measure",
        "decoder",
        "decoder_power",
        "neutral_grade",
        "half_life",
        "margin",
        "label_ties",
        "target",
        "factors",
        "biases",
        "lambda",
        "max_rounds",
        "tolerance",
        "metric",
        "undefined",
        "validation",
    ],
    train,
    go_on: None,
};

/// Least squares on pairs of gains: a convex ranking loss that is consistent with NDCG.
const DEFAULT_LOSS: &str = "pair_squared";

/// The choices of one training.
#[derive(Debug, Clone)]
pub struct Choices {
    /// The loss, convex.
    pub loss: Loss,
    /// Numbers of a row of U or V.
    pub rank: usize,
    /// Whether there are biases.
    pub biases: bool,
    /// Whether biases and least squares see gains, not grades.
    pub gain: bool,
    /// Times that U and V are fitted for each lambda.
    pub epochs: usize,
    /// Relative gap of a half step.
    pub tolerance: f64,
}

impl Choices {
    /// The caller's choices.
    ///
    /// # Errors
    /// A loss that is not convex.
    pub(super) fn new(options: &Params) -> Result<Self> {
        let name = options.text("loss").unwrap_or(DEFAULT_LOSS);
        let mut given = options.given().clone();
        if name == "direct" {
            given.insert("bound".to_owned(), json!("convex"));
            given.entry("decoder").or_insert(json!("power"));
        }
        let gain = options.text("target") != Some("grade");
        given.insert("target".to_owned(), json!(if gain { "gain" } else { "grade" }));
        let loss = loss::find(name)?.make(&given.into())?;
        if loss.constraint() != ListConstraint::None {
            let problem =
                format!("option 'loss': '{name}' is for documents at slots, not for ratings of items");
            return Err(Error::Unsupported(problem));
        }
        if !loss.shape().is_convex() {
            let problem = format!("option 'loss': 'cofi_rank' takes convex losses, and '{name}' is not");
            return Err(Error::Unsupported(problem));
        }
        Ok(Self {
            loss,
            rank: options.count("factors").unwrap_or(10),
            biases: options.get("biases").and_then(Value::as_bool).unwrap_or(true),
            gain,
            epochs: options.count("max_rounds").unwrap_or(10),
            tolerance: options.number("tolerance").unwrap_or(1e-3),
        })
    }

    /// The candidates for lambda where the caller names none, largest first. Least squares are sums, others means.
    pub(super) fn grid(&self) -> Vec<f64> {
        let (largest, width, steps) =
            if self.loss.shape() == Shape::Quadratic { (2.05, 0.1, 15) } else { (1.0, 0.5, 6) };
        (0..=steps).map(|step| libm::exp10(largest - width * f64::from(step))).collect()
    }

    /// The choices as JSON, for the model's card.
    pub(super) fn settings(&self) -> Value {
        json!({
            "loss": self.loss.def().name,
            "target": if self.gain { "gain" } else { "grade" },
            "factors": self.rank,
            "biases": self.biases,
            "max_rounds": self.epochs,
            "tolerance": self.tolerance,
        })
    }

    /// What least squares and biases see: targets with a standard deviation of 1 within users.
    fn labels(&self, ratings: &Ratings) -> RatingTransform {
        let raw = RatingTransform { gain: self.gain, scale: 1.0 };
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

/// What is fixed before anything is fitted.
struct Session<'a> {
    recipe: &'a Recipe,
    choices: &'a Choices,
    labels: RatingTransform,
    control: &'a Control,
}

fn train(recipe: &Recipe, set: TrainingSet, control: &Control) -> Result<Trained> {
    let Some(choices) = &recipe.factorization else {
        return Err(Error::Internal("a factorization without its choices".to_owned()));
    };
    let TrainingSet { data, validation, .. } = set;
    check(&data, choices)?;
    let (ratings, items) = Ratings::of(&data)?;
    let labels = choices.labels(&ratings);
    let session = Session { recipe, choices, labels, control };
    let folds = choice::folds(&data.query_ids, &items, &ratings, recipe);
    let judged = validation.map(|other| choice::Judged::of(&other, &data.query_ids, &items));
    let (lambda, chosen) = session.lambda(&ratings, &folds, judged.as_ref())?;
    let path = session.path_to(lambda);
    let fit = session.fit(&ratings, &path, &mut |_, _| Ok(()))?;
    let mut trained = trained(&session, fit, lambda, chosen, (data.query_ids, items, ratings));
    if let Some(unknown) = judged.map(|judged| judged.unknown).filter(|unknown| *unknown > 0) {
        trained.warnings.push(format!(
            "{unknown} users of the validation source are not in the training; they were left out"
        ));
    }
    Ok(trained)
}

impl Session<'_> {
    fn biases(&self, ratings: &Ratings) -> Biases {
        if !self.choices.biases {
            return Biases::none(ratings);
        }
        let targets: Vec<f64> = ratings.values.iter().map(|&rating| self.labels.apply(rating)).collect();
        Biases::fit(ratings, &targets)
    }
}

type Known = (Vec<crate::data::Id>, Vec<crate::data::Id>, Ratings);

fn trained(
    session: &Session<'_>,
    fit: Fit,
    lambda: f64,
    choice: Option<super::Choice>,
    known: Known,
) -> Trained {
    let (users, items, ratings) = known;
    let Choices { loss, tolerance, .. } = session.choices;
    let folding = FoldIn { loss: loss.clone(), transform: session.labels, lambda, tolerance: *tolerance };
    let Biases { users: user_biases, items: item_biases, unknown, .. } = fit.biases;
    let log = fit.log.iter().map(|&(objective, seconds)| LogStep { objective, gap: 0.0, seconds }).collect();
    let lone = (0..ratings.n_users()).filter(|&user| ratings.of_user(user).len() < 2).count();
    let mut warnings: Vec<String> = choice
        .iter()
        .flat_map(|choice| [choice.warning(lambda), choice.indifference(), at_the_end(choice)])
        .flatten()
        .collect();
    if lone > 0 {
        warnings.push(format!("{lone} users have a single rating, which says nothing about an order; the biases of items rank for them"));
    }
    let norms =
        [&fit.factors.users, &fit.factors.items].map(|rows| crate::math::dense::dot(rows, rows).sqrt());
    let report = json!({
        "users": users.len(),
        "items": items.len(),
        "ratings": ratings.len(),
        "bias_scale": fit.scale,
        "norms": { "users": norms[0], "items": norms[1] },
    });
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
        fold_in: folding,
    };
    Trained {
        ranker: Ranker::Factored(Box::new(factored)),
        scaling: Scaling::None,
        lambda: Some(lambda),
        prior_lambda: None,
        choice,
        log,
        functions: 1,
        unconverged: 0,
        warnings,
        report,
        aside: json!({}),
    }
}

/// Says so where the best candidate is the smallest.
fn at_the_end(choice: &super::Choice) -> Option<String> {
    let last = choice.curve.len().checked_sub(1).filter(|last| *last > 0 && choice.winner == Some(*last))?;
    Some(format!(
        "the smallest candidate for lambda, {:.3}, was the best; smaller ones, with the option lambda, may be better",
        choice.curve[last].0
    ))
}

/// Refuses weights, and ratings that the loss has no value for.
fn check(data: &Dataset, choices: &Choices) -> Result<()> {
    if let Some(user) = data.weights.iter().position(|weight| (weight - 1.0).abs() > 0.0) {
        return Err(Error::Unsupported(format!(
            "user {} has the weight {}; 'cofi_rank' takes every user alike, so leave the column of weights out \
             with the option \"columns\": {{\"ignore\": [...]}}",
            data.query_ids[user], data.weights[user]
        )));
    }
    let labels = RatingTransform { gain: choices.gain, scale: 1.0 };
    for user in 0..data.n_queries() {
        for row in data.rows(user) {
            let whom = || format!("user {}, item {}", data.query_ids[user], data.doc_ids[row]);
            labels.check(data.relevance[row], whom)?;
        }
        if let Loss::List(loss) = &choices.loss {
            let problem = |error| Error::Data(format!("user {}: {error}", data.query_ids[user]));
            loss.check_query(data.labels(user), &[]).map_err(problem)?;
        }
    }
    Ok(())
}
