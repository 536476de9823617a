//! Boosted oblivious trees (`trees`): least squares on the grades minus their query means.
//!
//! The number of trees is given, or chosen by validation: the training stops when the metric of held-out queries no longer
//! rises (`early`), and all rows are fitted with the best number.

use super::super::averaged::BOTH_SCALES;
use super::super::grid;
use super::query_columns::{QueryColumns, Use};
use crate::base::{Error, Params, Result};
use crate::cost::loss::{self, Loss, LossDef, Shape};
use crate::data::{Dataset, Missing, ScalingKind};
use crate::learn::fit::HeldOut;
use crate::train::baseline::BaselineSpec;
use crate::train::monotone::Monotone;
use crate::train::options;
use crate::train::probability;
use crate::train::select::{FOLD_OPTIONS, Validation, ValidationSpec};
use crate::trees::{Targets, TreeOptions};
use serde_json::{Map, Value};

/// Number of trees if validation does not choose it.
pub(super) const DEFAULT_TREES: usize = 240;

/// The number of trees of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeCount {
    Fixed(usize),
    /// This number, or none if it is not shown to be better than the baseline.
    OrNone(usize),
    /// Chosen by validation.
    Auto,
}

/// The query features of the source, and whether they are columns of the trees.
pub(super) type Joined = (QueryColumns, bool);

/// The choices of one training.
#[derive(Debug, Clone)]
pub struct TreesSpec {
    pub trees: TreeCount,
    pub options: TreeOptions,
    /// The loss that replaces least squares within queries.
    pub(super) loss: Option<Loss>,
    /// Number of ensembles that are averaged, at least 1.
    pub seeds: usize,
    pub query_columns: Use,
    /// The fold option that the caller set, which has no effect if there is nothing to choose.
    pub(super) fold_option: Option<&'static str>,
    pub scale: ScalingKind,
    /// Whether there is an ensemble for this scale and one for [`ScalingKind::QuantileMinmax`], averaged.
    pub both_scales: bool,
    pub validation: ValidationSpec,
    pub missing: Missing,
    /// The column whose order gives the first scores.
    pub baseline: Option<BaselineSpec>,
    /// Features with an order.
    pub monotone: Monotone,
    /// Whether probabilities are learned from the scores of held-out queries.
    pub is_probability_wanted: bool,
    /// The given parameters of the loss, for reports.
    pub(super) loss_settings: Map<String, Value>,
}

/// The loss of the options; `None` for least squares within queries.
///
/// # Errors
/// A loss that trees cannot follow; parameters of other losses.
fn smooth_loss(def: &'static LossDef, params: &Params) -> Result<Option<Loss>> {
    grid::check_loss_parameters(def, params, &[probability::THRESHOLD])?;
    if def.name == loss::list::SQUARED.name {
        return Ok(None);
    }
    if !matches!(def.shape, Shape::Smooth | Shape::Gradients) {
        let smooth = loss::LOSSES.iter().filter(|loss| loss.shape == Shape::Smooth).map(|loss| loss.name);
        let names = smooth.collect::<Vec<&str>>().join(", ");
        let allowed = format!("for boosted_trees squared, lambda_rank or a smooth loss: {names}");
        return Err(Error::value("option 'loss'", format!("\"{}\"", def.name), allowed));
    }
    def.make(params).map(Some)
}

impl TreesSpec {
    /// Parses and checks parameters.
    ///
    /// # Errors
    /// A learning rate above 1; data to validate on that have no meaning.
    pub fn parse(params: &Params) -> Result<Self> {
        let baseline = BaselineSpec::parse(params);
        let given = if baseline.is_some() { TreeCount::OrNone } else { TreeCount::Fixed };
        let trees = params.count("trees").map_or(TreeCount::Auto, given);
        let learning_rate = params.number("learning_rate");
        if let Some(rate) = learning_rate.filter(|rate| *rate > 1.0) {
            let allowed = "a number above 0 and at most 1 for boosted_trees";
            return Err(Error::value("option 'learning_rate'", rate.to_string(), allowed));
        }
        let validation = ValidationSpec::parse(params, HeldOut::Queries)?;
        if validation.data == Validation::Documents {
            let problem = "'boosted_trees' validates on queries or on a source, not on \"documents\"";
            return Err(Error::Unsupported(problem.to_owned()));
        }
        probability::check_threshold(params)?;
        let def = loss::find(params.text("loss").unwrap_or(loss::list::SQUARED.name))?;
        let both_scales = params.text("scale") == Some(BOTH_SCALES);
        if both_scales && baseline.is_some() {
            let problem =
                format!("option 'baseline': it needs one scaling, not \"scale\": \"{BOTH_SCALES}\"");
            return Err(Error::Unsupported(problem));
        }
        let query_columns = Use::parse(params);
        let chooses = params.has("query_columns") && query_columns == Use::Auto;
        if let (TreeCount::Fixed(trees), true, false) = (trees, params.has("validation"), chooses) {
            let problem = format!("option 'validation' has no effect with \"trees\": {trees}");
            return Err(Error::Unsupported(problem));
        }
        Ok(Self {
            trees,
            options: TreeOptions {
                depth: options::count(params, "depth"),
                learning_rate,
                trees: match trees {
                    TreeCount::Fixed(trees) | TreeCount::OrNone(trees) => trees,
                    TreeCount::Auto => DEFAULT_TREES,
                },
                feature_fraction: params.number("feature_fraction"),
                bins: options::count(params, "bins"),
                row_weights: options::choice(params, "row_weights")?,
                seed: params.seed(),
            },
            loss: smooth_loss(def, params)?,
            seeds: options::count(params, "seeds"),
            query_columns,
            fold_option: FOLD_OPTIONS.iter().copied().find(|option| params.has(option)),
            scale: if both_scales {
                ScalingKind::None
            } else {
                params.choice("scale")?.unwrap_or(ScalingKind::None)
            },
            both_scales,
            validation,
            missing: params.choice("missing")?.unwrap_or(Missing::Branch),
            baseline,
            monotone: Monotone::parse(params)?,
            is_probability_wanted: params.flag(probability::KEY),
            loss_settings: def
                .parameters
                .iter()
                .filter_map(|key| Some(((*key).to_owned(), params.get(key)?.clone())))
                .collect(),
        })
    }

    /// The value of the option `scale`.
    pub fn scale_name(&self) -> &'static str {
        if self.both_scales { BOTH_SCALES } else { self.scale.name() }
    }

    /// The documents of a data set, with the weights of its queries or others. Least squares would pull the documents of
    /// queries without different grades away from the order of a baseline, so these have no weight.
    pub(super) fn targets<'a>(
        &'a self,
        data: &'a Dataset,
        start: &'a [f64],
        query_weights: &'a mut [f64],
    ) -> Targets<'a> {
        if self.baseline.is_some() && self.loss.is_none() {
            let equal = (0..data.n_queries()).filter(|query| loss::pair_count(data.labels(*query)) == 0);
            equal.for_each(|query| query_weights[query] = 0.0);
        }
        Targets {
            offsets: &data.offsets,
            grades: &data.relevance,
            query_weights,
            row_weights: &data.doc_weights,
            start,
            loss: self.loss.as_ref(),
        }
    }

    /// The loss that trees minimize.
    pub(super) fn minimized(&self) -> Loss {
        self.loss.clone().unwrap_or_else(|| Loss::List(loss::least_squares()))
    }

    /// Whether no tree, the baseline alone, is a candidate.
    pub(super) fn may_be_baseline(&self) -> bool {
        self.baseline.is_some() && self.chooses_trees()
    }

    /// Whether validation chooses the number of trees.
    pub(super) fn chooses_trees(&self) -> bool {
        !matches!(self.trees, TreeCount::Fixed(_))
    }

    /// Refuses judgments from which nothing can be learned.
    pub fn check(&self, data: &Dataset) -> Result<()> {
        let informs = |labels: &[f64]| match &self.loss {
            Some(loss) => loss.is_informative(labels, &[]),
            None => loss::pair_count(labels) > 0,
        };
        let any =
            |informs: &dyn Fn(&[f64]) -> bool| (0..data.n_queries()).any(|query| informs(data.labels(query)));
        if !any(&informs) {
            return Err(match &self.loss {
                Some(loss) if any(&|labels| loss::pair_count(labels) > 0) => {
                    grid::not_distinguished(loss, data.n_queries(), false)
                }
                _ => grid::nothing_to_learn(data.n_queries()),
            });
        }
        if let Some(Loss::List(loss)) = &self.loss {
            for query in 0..data.n_queries() {
                loss.check_query(data.labels(query), &[])
                    .map_err(|problem| Error::Data(format!("query {}: {problem}", data.query_ids[query])))?;
            }
        }
        Ok(())
    }
}
