//! A loss with its options, in memory and as models store it.

use super::def::{ListwiseLoss, LossDef, LossKind, PairLoss, Shape};
use super::pair::{PairWeights, pair_count, pair_normalizer};
use super::table::find;
use crate::base::{Error, Params, Result, Strict, shorten};
use crate::data::ListConstraint;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::ops::Deref;
use std::sync::Arc;

/// An option of every training that losses may read too.
const SEED: &str = "seed";

/// A loss with its parameters. A model stores its name and its parameters as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "StoredLoss", try_from = "StoredLoss")]
pub enum Loss {
    /// A sum over pairs with weights by their grades.
    Pair(PairLoss, PairWeights),
    /// A function of all of a query's scores.
    List(ListLoss),
}

/// A listwise loss with its parameters.
#[derive(Debug, Clone)]
pub struct ListLoss {
    def: &'static LossDef,
    parameters: Params,
    implementation: Arc<dyn ListwiseLoss>,
}

impl PartialEq for ListLoss {
    fn eq(&self, other: &Self) -> bool {
        self.def.name == other.def.name && self.parameters == other.parameters
    }
}

impl Deref for ListLoss {
    type Target = dyn ListwiseLoss;

    fn deref(&self) -> &Self::Target {
        &*self.implementation
    }
}

impl ListLoss {
    /// The loss that `def` makes of these parameters.
    pub fn new(def: &'static LossDef, parameters: Params, implementation: Arc<dyn ListwiseLoss>) -> Self {
        Self { def, parameters, implementation }
    }

    pub fn def(&self) -> &'static LossDef {
        self.def
    }

    /// The properties that solvers rely on.
    pub fn shape(&self) -> Shape {
        self.implementation.shape().unwrap_or(self.def.shape)
    }
}

/// Least squares on the labels, with default parameters.
pub fn least_squares() -> ListLoss {
    ListLoss::new(&super::list::SQUARED, Params::default(), Arc::new(super::list::Squared::DEFAULT))
}

impl LossDef {
    fn reads(&self, option: &str) -> bool {
        self.parameters.contains(&option) || option == SEED
    }

    /// The loss with its parameters among the options of a training.
    ///
    /// # Errors
    /// Parameters that are out of range or contradict each other.
    pub fn make(&'static self, options: &Params) -> Result<Loss> {
        let mut options = options.clone();
        for (key, value) in self.defaults {
            if !options.has(key) {
                options = options.with(key, Value::from(*value));
            }
        }
        self.with_parameters(&options)
    }

    /// The loss with these parameters.
    fn with_parameters(&'static self, options: &Params) -> Result<Loss> {
        let make = match self.kind {
            LossKind::Pairwise(loss) => {
                return Ok(Loss::Pair(loss, options.choice("pair_weights")?.unwrap_or_default()));
            }
            LossKind::Listwise(make) => make,
        };
        let own = options.given().iter().filter(|(key, _)| self.reads(key));
        let parameters =
            Params::from(own.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>());
        let implementation = make(&parameters)?;
        implementation.validate()?;
        Ok(Loss::List(ListLoss::new(self, parameters, implementation)))
    }
}

impl Loss {
    pub fn def(&self) -> &'static LossDef {
        match self {
            Self::Pair(loss, _) => &loss.def().def,
            Self::List(loss) => loss.def(),
        }
    }

    /// The properties that solvers rely on.
    pub fn shape(&self) -> Shape {
        match self {
            Self::Pair(..) => self.def().shape,
            Self::List(loss) => loss.shape(),
        }
    }

    /// Whether it is a listwise loss with a gradient everywhere; its Hessians are used, unlike Hessians of pairwise losses.
    pub fn is_smooth_list(&self) -> bool {
        matches!(self, Self::List(_)) && matches!(self.shape(), Shape::Quadratic | Shape::Smooth)
    }

    /// Whether it is a convex listwise loss.
    pub fn is_convex_list(&self) -> bool {
        matches!(self, Self::List(_)) && self.shape().is_convex()
    }

    /// Whether a query with these labels influences a fit. `weights`: document weights; empty if all are 1.
    pub fn is_informative(&self, labels: &[f64], weights: &[f64]) -> bool {
        let weighted = || labels.iter().zip(weights).filter(|(_, weight)| **weight > 0.0).map(|(y, _)| *y);
        match self {
            Self::Pair(..) if weights.is_empty() => pair_count(labels) > 0,
            Self::Pair(..) => weighted().any(|better| labels.iter().any(|worse| better > *worse)),
            Self::List(loss) if weights.is_empty() => loss.is_informative(labels),
            Self::List(loss) => {
                let counted: Vec<f64> = weighted().collect();
                !counted.is_empty() && loss.is_informative(&counted)
            }
        }
    }

    /// An upper bound of |g|_1 for the subgradients g in the scores of a convex loss of a query with these labels (N >= 1),
    /// without document weights; `None` if unbounded.
    pub fn lipschitz(&self, labels: &[f64]) -> Option<f64> {
        match self {
            Self::Pair(loss, weights) => {
                let of_pairs = 2.0 * self.normalizer(labels.len()) * weights.total(labels);
                loss.def().steepest.map(|steepest| steepest * of_pairs)
            }
            Self::List(loss) => loss.lipschitz(labels),
        }
    }

    /// Whether documents may have weights. A pair then has the weight of its better document. In a list, a document of
    /// weight w counts as w copies.
    pub fn weighs_documents(&self) -> bool {
        match self {
            Self::Pair(..) => true,
            Self::List(loss) => loss.prepare_weighted(&[0.0], &[1.0]).is_some(),
        }
    }

    /// The constraint on the lists that it ranks.
    pub fn constraint(&self) -> ListConstraint {
        match self {
            Self::Pair(..) => ListConstraint::None,
            Self::List(loss) => loss.constraint(),
        }
    }

    /// The factor that turns the sum over the pairs of a query into the mean over all pairs of `documents` documents; 1
    /// for listwise losses.
    pub fn normalizer(&self, documents: usize) -> f64 {
        match self {
            Self::Pair(..) => pair_normalizer(documents),
            Self::List(_) => 1.0,
        }
    }

    /// The penalty is this factor times lambda |f|^2, by the convention of the papers.
    pub fn penalty_factor(&self) -> f64 {
        match self {
            Self::Pair(..) => 1.0,
            Self::List(_) => 0.5,
        }
    }
}

/// A loss in a model.
#[derive(Serialize, Deserialize)]
struct StoredLoss {
    name: String,
    /// A JSON object. Numbers keep their bits (`float_roundtrip` of serde_json).
    parameters: String,
}

impl From<Loss> for StoredLoss {
    fn from(loss: Loss) -> Self {
        let parameters = match &loss {
            Loss::Pair(_, PairWeights::Equal) => Map::new(),
            Loss::Pair(_, weights) => Map::from_iter([("pair_weights".to_owned(), weights.name().into())]),
            Loss::List(loss) => loss.parameters.given().clone(),
        };
        Self { name: loss.def().name.to_owned(), parameters: Value::Object(parameters).to_string() }
    }
}

impl TryFrom<StoredLoss> for Loss {
    type Error = Error;

    fn try_from(stored: StoredLoss) -> Result<Self> {
        let def = find(&stored.name)?;
        let damaged =
            |problem: String| Error::Corrupt(format!("parameters of the loss '{}': {problem}", def.name));
        let Strict(Value::Object(parameters)) =
            serde_json::from_str(&stored.parameters).map_err(|problem| damaged(problem.to_string()))?
        else {
            return Err(damaged("no object".to_owned()));
        };
        if let Some(key) = parameters.keys().find(|key| !def.reads(key)) {
            return Err(damaged(format!("unknown '{}'", shorten(key))));
        }
        def.with_parameters(&parameters.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::loss::{LOSSES, NAMES, list};

    #[test]
    fn every_loss_has_its_own_name_and_makes_itself() {
        for (def, name) in LOSSES.iter().zip(NAMES) {
            let loss = def.make(&Params::default()).unwrap();
            assert_eq!((def.name, loss.def().name), (*name, *name));
        }
    }

    #[test]
    fn stored_losses_are_checked() {
        let stored = |name: &str, parameters: &str| {
            Loss::try_from(StoredLoss { name: name.to_owned(), parameters: parameters.to_owned() })
        };
        let loss = stored("slam", r#"{"margin":0.1,"measure":"ndcg@3"}"#).unwrap();
        assert_eq!(serde_json::from_str::<Loss>(&serde_json::to_string(&loss).unwrap()).unwrap(), loss);
        assert_ne!(stored("slam", "{}").unwrap(), loss);
        // Defaults apply to trainings only: a stored loss keeps its parameters.
        assert_ne!(stored("list_mle", "{}").unwrap(), list::LIST_MLE.make(&Params::default()).unwrap());
        for (name, parameters) in [
            ("unknown", "{}"),
            ("slam", ""),
            ("slam", "[]"),
            ("slam", r#"{"truncation":3}"#),
            ("slam", r#"{"margin":1e999}"#),
            ("slam", r#"{"label_ties":"other"}"#),
            ("hinge", r#"{"margin":1}"#),
        ] {
            assert!(stored(name, parameters).is_err(), "{name} {parameters}");
        }
    }
}
