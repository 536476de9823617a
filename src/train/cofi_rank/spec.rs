//! Recommendation: factors of users and items around biases (Weimer, Karatzoglou, Le & Smola 2008; Le, Smola, Chapelle &
//! Teo, section 7.2).
//!
//! Training has three steps: `biases` fits effects shared by all users; `factors` fits U and V in turn, with the biases as
//! offsets; `select_lambda` chooses the weight of the penalty on held-out ratings. With a large weight all factors are 0
//! and the biases alone rank, so factors are used only if they help. `implicit` learns from pairs without ratings.

use super::super::grid::{check_loss_parameters, loss_parameters};
use super::biases::Biases;
use crate::base::{Control, Error, Params, Result};
use crate::cost::loss::list::Target;
use crate::cost::loss::{self, Loss, LossDef, Shape};
use crate::data::{Id, ListConstraint, Missing, Ratings};
use crate::learn::fit::HeldOut;
use crate::model::RatingTransform;
use crate::train::options;
use crate::train::select::{TunedValue, ValidationSpec};
use serde_json::{Map, Value, json};

/// The error for a rate of lambda, which depends on the number of query features.
pub(super) fn no_rate() -> Error {
    Error::Unsupported("lambda \"rate\" needs query features; use a number or \"auto\"".to_owned())
}

/// The choices of one training.
#[derive(Debug, Clone)]
pub(super) struct CofiRankSpec {
    /// The loss, convex.
    pub(super) loss: Loss,
    /// The parameters as the caller gave them.
    pub(super) loss_parameters: Map<String, Value>,
    /// Length of a row of U or V.
    pub(super) rank: usize,
    /// Whether there are biases of users and items.
    pub(super) biases: bool,
    pub(super) target: Target,
    /// Maximum number of rounds for each lambda. A round fits U, then V.
    pub(super) max_rounds: usize,
    /// Relative gap of a half round.
    pub(super) tolerance: f64,
    pub(super) lambda: TunedValue,
    pub(super) validation: ValidationSpec,
    pub(super) missing: Missing,
    pub(super) seed: u64,
}

impl CofiRankSpec {
    /// Parses and checks parameters.
    ///
    /// # Errors
    /// A loss that is not convex or needs slots.
    pub(super) fn parse(params: &Params) -> Result<Self> {
        let def = loss::find(options::text(params, "loss"))?;
        check_loss_parameters(def, params, &["target"])?;
        let target = options::choice(params, "target")?;
        let loss = convex_loss(def, params, target)?;
        let lambda = TunedValue::parse(params.get("lambda"), || default_lambdas(&loss));
        if lambda == TunedValue::Rate {
            return Err(no_rate());
        }
        Ok(Self {
            lambda,
            loss,
            loss_parameters: loss_parameters(def, params).collect(),
            rank: options::count(params, "factors"),
            biases: options::switch(params, "biases"),
            target,
            max_rounds: options::count(params, "max_rounds"),
            tolerance: params.number("tolerance").unwrap_or(1e-3),
            validation: ValidationSpec::parse(params, HeldOut::Documents)?,
            missing: options::choice(params, "missing")?,
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

/// The loss of a definition; for `direct` the convex bound.
fn convex_loss(def: &'static LossDef, params: &Params, target: Target) -> Result<Loss> {
    let mut params = params.clone().with("target", json!(target.name()));
    if def.name == "direct" {
        let decoder = json!(options::text(&params, "decoder"));
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

/// State that is fixed before the first fit.
pub(super) struct Session<'a> {
    pub(super) spec: &'a CofiRankSpec,
    pub(super) labels: RatingTransform,
    pub(super) control: &'a Control,
}

impl Session<'_> {
    pub(super) fn biases(&self, ratings: &Ratings) -> Biases {
        if !self.spec.biases {
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
