//! Boosted oblivious trees (`trees`): least squares on the grades less their means in the query.
//!
//! The number of trees is given, or chosen by validation: the training stops when the metric of held-out queries no longer
//! rises (`early`), and all rows are fitted with the best number.

use super::super::algorithm::{
    AlgorithmDef, Columns, DocWeights, InBuckets, Input, Trained, TrainingSet, TrainingSpec, scale,
};
use super::super::averaged::BOTH_SCALES;
use super::super::{averaged, grid};
use super::early::{Found, Held, ScaledRows};
use super::settings::{QueryColumns, Use};
use super::settings::{details, details_of_both, trees_of};
use crate::base::{Control, Error, Params, Result, parallel};
use crate::cost::loss::{self, Loss, Shape};
use crate::data::{Dataset, ListConstraint, Missing, RowOrder, Scaling, ScalingKind};
use crate::learn::fit::HeldOut;
use crate::learn::space::{Function, Space};
use crate::math::Random;
use crate::model::{Linear, QueryTrees, Ranker};
use crate::train::select::{Validation, ValidationSpec};
use crate::trees::{Boosting, Fitted, Prepared, RowWeights, Targets, TreeOptions};
use serde_json::{Map, Value};

/// The definition.
pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "boosted_trees",
    summary: "boosted oblivious trees: sums of functions that are constant between borders of up to eight features each",
    objective: "tree by tree: sum over queries of sum_j w_j (r_j - v_j - mean of (r - v))^2 + 10 |v|^2 over the values v of its leaves, r = grade - score of the trees before; the score is a sum of trees, each times learning_rate",
    source: "Friedman 2001, algorithms 1 and 2; oblivious trees: Prokhorenkova et al. 2018; least squares within queries: Cossock & Zhang 2006",
    defaults: &[("scale", ScalingKind::None.name())],
    reads: |option| OPTIONS.contains(&option),
    parse: |params| Ok(Box::new(TreesSpec::parse(params)?)),
    resume: None,
    in_buckets: InBuckets::Passes,
};

/// The preset with the loss `lambda_rank`.
pub const LAMBDAMART: AlgorithmDef = AlgorithmDef {
    name: super::super::algorithm::LAMBDAMART,
    summary: "boosted oblivious trees whose pairs of documents weigh what swapping them changes in ndcg@k",
    objective: "none: tree by tree the Newton step of gradients g and second derivatives h of pairs: sum over queries of sum_j h_j (r_j - v_j - mean of (r - v))^2 + 50 |v|^2 over the values v of its leaves, r = -g / h, means weighted by h, h in units of its mean at the first tree",
    source: "Burges 2010, section 7; oblivious trees: Prokhorenkova et al. 2018",
    defaults: &[("scale", ScalingKind::None.name()), ("loss", loss::list::LAMBDA_RANK.name)],
    ..DEF
};

/// The options that trees read.
const OPTIONS: &[&str] = &[
    "trees",
    "depth",
    "learning_rate",
    "feature_fraction",
    "loss",
    LOSS_OPTIONS[0],
    LOSS_OPTIONS[1],
    LOSS_OPTIONS[2],
    LOSS_OPTIONS[3],
    LOSS_OPTIONS[4],
    "row_weights",
    "seeds",
    "bins",
    "query_columns",
    "scale",
    "validation",
    "metric",
    "neutral_grade",
    "half_life",
    "undefined",
];

/// Parameters of its losses.
const LOSS_OPTIONS: [&str; 5] = ["pair_weights", "target", "label_order", "cost_weights", "truncation"];

/// The number of trees if validation finds none.
pub(super) const DEFAULT_TREES: usize = 240;

/// The number of trees of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeCount {
    /// The caller's.
    Fixed(usize),
    /// Chosen by validation.
    Auto,
}

/// The query features of the source, and whether they are columns of the trees.
type Joined = (QueryColumns, bool);

/// The choices of one training.
#[derive(Debug, Clone)]
pub struct TreesSpec {
    pub trees: TreeCount,
    pub options: TreeOptions,
    /// What is minimized instead of least squares within queries.
    pub(super) loss: Option<Loss>,
    /// Number of ensembles that are averaged, at least 1.
    pub seeds: usize,
    pub query_columns: Use,
    pub scale: ScalingKind,
    /// Whether there is an ensemble for this scale and one for [`ScalingKind::QuantileMinmax`], averaged.
    pub both_scales: bool,
    pub validation: ValidationSpec,
    pub missing: Missing,
    /// The given parameters of the loss, for reports.
    pub(super) loss_settings: Map<String, Value>,
}

/// The loss of the options; none for least squares within queries.
///
/// # Errors
/// A loss that trees cannot follow; parameters of other losses.
fn smooth_loss(params: &Params) -> Result<Option<Loss>> {
    let name = params.text("loss").unwrap_or(loss::list::SQUARED.name);
    let def = loss::find(name)?;
    let useless = LOSS_OPTIONS.into_iter().find(|key| params.has(key) && !def.parameters.contains(key));
    if let Some(option) = useless {
        let reason = format!("loss \"{name}\"");
        return Err(Error::NoEffect { option, reason, because_of: "loss" });
    }
    if def.name == loss::list::SQUARED.name {
        return Ok(None);
    }
    if !matches!(def.shape, Shape::Smooth | Shape::Gradients) {
        let smooth = loss::LOSSES.iter().filter(|loss| loss.shape == Shape::Smooth).map(|loss| loss.name);
        let names = smooth.collect::<Vec<&str>>().join(", ");
        let allowed = format!("for boosted_trees squared, lambda_rank or a smooth loss: {names}");
        return Err(Error::value("option 'loss'", format!("\"{name}\""), allowed));
    }
    def.make(params).map(Some)
}

impl TreesSpec {
    /// Parses and checks parameters.
    ///
    /// # Errors
    /// A learning rate above 1; data to validate on that have no meaning.
    pub fn parse(params: &Params) -> Result<Self> {
        let trees = params.count("trees").map_or(TreeCount::Auto, TreeCount::Fixed);
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
        let both_scales = params.text("scale") == Some(BOTH_SCALES);
        let query_columns = Use::parse(params);
        let chooses = params.has("query_columns") && query_columns == Use::Auto;
        if let (TreeCount::Fixed(trees), true, false) = (trees, params.has("validation"), chooses) {
            let problem = format!("option 'validation' has no effect with \"trees\": {trees}");
            return Err(Error::Unsupported(problem));
        }
        Ok(Self {
            trees,
            options: TreeOptions {
                depth: params.count("depth").unwrap_or(6),
                learning_rate,
                trees: match trees {
                    TreeCount::Fixed(trees) => trees,
                    TreeCount::Auto => DEFAULT_TREES,
                },
                feature_fraction: params.number("feature_fraction"),
                bins: params.count("bins").unwrap_or(64),
                row_weights: params.choice("row_weights")?.unwrap_or(RowWeights::Exponential),
                seed: params.seed(),
            },
            loss: smooth_loss(params)?,
            seeds: params.count("seeds").unwrap_or(1),
            query_columns,
            scale: if both_scales {
                ScalingKind::None
            } else {
                params.choice("scale")?.unwrap_or(ScalingKind::None)
            },
            both_scales,
            validation,
            missing: params.choice("missing")?.unwrap_or(Missing::Branch),
            loss_settings: LOSS_OPTIONS
                .iter()
                .filter_map(|key| Some(((*key).to_owned(), params.get(key)?.clone())))
                .collect(),
        })
    }

    /// The value of the option `scale`.
    pub fn scale_name(&self) -> &'static str {
        if self.both_scales { BOTH_SCALES } else { self.scale.name() }
    }

    /// Trainings of all ensembles; the first has the seed of the options.
    pub(super) fn trainings<'a>(
        &self,
        prepared: &'a Prepared,
        targets: Targets<'_>,
        control: &Control,
    ) -> Result<Vec<Boosting<'a>>> {
        let mut random = Random::new(self.options.seed);
        let training = |number: usize| {
            let seed = if number == 0 { self.options.seed } else { random.bits() };
            Boosting::new(prepared, targets, TreeOptions { seed, ..self.options }, control)
        };
        (0..self.seeds).map(training).collect()
    }

    /// Searches the number of trees if it is not given, and whether query features improve them if that is not given. Adds
    /// the query features that are used to the bins. Returns what was found, and whether the query features of the source
    /// are used; none if it has none.
    fn search(
        &self,
        prepared: &mut Prepared,
        rows: ScaledRows<'_>,
        held: &mut Option<Held>,
        control: &Control,
    ) -> Result<(Option<Found>, Option<Joined>)> {
        let data = rows.data;
        let find = |prepared: &Prepared, held: &Option<Held>, searches: bool| {
            searches.then(|| super::early::find(self, prepared, rows, held.as_ref(), control)).transpose()
        };
        let is_auto = self.trees == TreeCount::Auto;
        let Some(columns) = QueryColumns::fit(self.query_columns, data)? else {
            return Ok((find(prepared, held, is_auto)?, None));
        };
        // 1. Without query features.
        let chooses = self.query_columns == Use::Auto;
        let without = find(prepared, held, chooses)?;
        // 2. With them.
        let width = data.features.columns();
        let added = columns.prepared(data, self.options, control)?;
        if let Some(held) = held {
            held.append(&columns, &added, control)?;
        }
        prepared.append(added);
        let with = find(prepared, held, chooses || is_auto)?;
        // 3. The better ones.
        let sign = self.validation.metric.def().better.sign();
        let is_better = match (&without, &with) {
            (Some(without), Some(with)) => with.is_better_than(without, sign),
            _ => true,
        };
        if !is_better {
            prepared.truncate(width);
        }
        Ok((if is_better { with } else { without }, Some((columns, is_better))))
    }

    /// The documents of a data set, with the weights of its queries or others.
    pub(super) fn targets<'a>(&'a self, data: &'a Dataset, query_weights: &'a [f64]) -> Targets<'a> {
        Targets {
            offsets: &data.offsets,
            grades: &data.relevance,
            query_weights,
            row_weights: &data.doc_weights,
            loss: self.loss.as_ref(),
        }
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
                    grid::not_told_apart(loss, data.n_queries(), false)
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

    /// Adds the trees. The features of `data` are in bins; its own are not read.
    pub fn boost(
        &self,
        mut prepared: Prepared,
        rows: ScaledRows<'_>,
        mut held: Option<Held>,
        control: &Control,
    ) -> Result<Boosted> {
        let data = rows.data;
        let width = prepared.borders.len();
        // 1. The number of trees, and whether query features are columns of theirs.
        let (found, joined) = self.search(&mut prepared, rows, &mut held, control)?;
        let trees = match self.trees {
            TreeCount::Fixed(trees) => trees,
            TreeCount::Auto => found.as_ref().map_or(DEFAULT_TREES, |found| found.trees),
        };
        let found = found.filter(|_| self.trees == TreeCount::Auto);
        // 2. All rows.
        let targets = self.targets(data, &data.weights);
        let mut trainings = self.trainings(&prepared, targets, control)?;
        control.expect(trees * self.seeds);
        parallel::try_each_of(trainings.iter_mut().collect(), |_, training: &mut Boosting<'_>| {
            for _ in 0..trees {
                training.step(control)?;
                control.step();
            }
            Ok(())
        })?;
        let objective = Boosting::objective(&trainings);
        let learning_rate = self.options.learning_rate(data.n_docs());
        let fitted = Boosting::mean(trainings);
        Ok(Boosted { fitted, objective, learning_rate, found, joined, width })
    }

    /// Scales the documents and adds the trees.
    fn ensemble(
        &self,
        data: &mut Dataset,
        mut validation: Option<Dataset>,
        control: &Control,
    ) -> Result<(Boosted, Scaling)> {
        // 1. Scaled features, in bins.
        let scaling = Scaling::fit(self.scale, data, control)?;
        let _memory = scale(&scaling, self.scale, data, control)?;
        let _validation_memory = match &mut validation {
            Some(other) => Some(scale(&scaling, self.scale, other, control)?),
            None => None,
        };
        let TreeOptions { bins, seed, .. } = self.options;
        let prepared = Prepared::new(&data.features, bins, seed, control)?;
        let held = match validation {
            Some(other) => Some(Held::new(other, &prepared, control)?),
            None => None,
        };
        // 2. The trees.
        let rows = ScaledRows { data, scaling: &scaling };
        Ok((self.boost(prepared, rows, held, control)?, scaling))
    }

    /// One ensemble for each scale, averaged.
    fn fit_both(&self, data: &Dataset, validation: Option<&Dataset>, control: &Control) -> Result<Trained> {
        // 1. An ensemble for each scale.
        let (mut parts, mut summands, mut rule) = (Vec::with_capacity(2), Vec::with_capacity(2), None);
        for scale in [ScalingKind::None, ScalingKind::QuantileMinmax] {
            let spec = Self { scale, both_scales: false, ..self.clone() };
            let bytes = data.bytes().saturating_add(validation.map_or(0, Dataset::bytes));
            let what = "a copy of the documents for each scale";
            let _memory = control.reserve(bytes, what, "use \"scale\": \"none\"")?;
            let mut copy = data.clone();
            let (boosted, scaling) = spec.ensemble(&mut copy, validation.cloned(), control)?;
            let Fitted { forest, values } = &boosted.fitted;
            let joined =
                boosted.joined.as_ref().filter(|(_, joined)| *joined).map(|(columns, _)| &columns.rule);
            summands.push(averaged::of_trees(forest.clone(), values, &scaling, &copy, joined, control)?);
            rule = rule.or_else(|| joined.cloned());
            parts.push((scale, boosted));
        }
        // 2. What validation tells about their sum.
        let (details, trees) = (details_of_both(&parts)?, trees_of(&parts));
        let found: Vec<Found> = parts.into_iter().filter_map(|(_, part)| part.found).collect();
        let (selection, warnings) = match <[Found; 2]>::try_from(found) {
            Ok(found) => super::early::of_sum(self, data, validation, found, trees, control)?,
            Err(_) => (None, Vec::new()),
        };
        // 3. The sum.
        let ranker = averaged::sum(data.features.columns(), summands, rule);
        Ok(Trained { selection, warnings, details, ..Trained::new(ranker, Scaling::None) })
    }
}

/// Added trees.
pub struct Boosted {
    pub(super) fitted: Fitted,
    /// Half the mean squared error of the training documents, less the means of the query.
    pub(super) objective: f64,
    pub(super) learning_rate: f64,
    /// What validation found, if it chose the number of trees.
    pub(super) found: Option<Found>,
    pub(super) joined: Option<Joined>,
    /// Number of features of documents.
    width: usize,
}

impl Boosted {
    /// The result of a training with one scale.
    pub fn trained(self, scaling: Scaling) -> Result<Trained> {
        let details = details(&self)?;
        let Self { fitted, objective, found, joined, width, .. } = self;
        let ranker = if let Some((columns, true)) = joined {
            Ranker::QueryTrees(Box::new(QueryTrees::new(width, columns.rule, fitted.forest, fitted.values)))
        } else {
            let function = Function { weights: fitted.values, objective, gap: 0.0 };
            Ranker::Linear(Linear::new(Space::of_trees(width, fitted.forest), function))
        };
        let (selection, warnings) =
            found.map_or((None, Vec::new()), |found| (Some(found.selection), found.warnings));
        Ok(Trained { selection, warnings, details, ..Trained::new(ranker, scaling) })
    }
}

impl TrainingSpec for TreesSpec {
    fn input(&self) -> Input<'_> {
        let validates = self.trees == TreeCount::Auto || self.query_columns == Use::Auto;
        let validation = if validates { self.validation.data.source() } else { None };
        Input {
            columns: Columns::Features,
            constraint: ListConstraint::None,
            order: RowOrder::Canonical,
            missing: self.missing,
            validation,
            doc_weights: match &self.loss {
                Some(loss) if !loss.weighs_documents() => DocWeights::RefusedByLoss(loss.def().name),
                _ => DocWeights::Taken,
            },
            prior: None,
        }
    }

    fn fit(&self, set: TrainingSet, control: &Control) -> Result<Trained> {
        let TrainingSet { mut data, validation, .. } = set;
        self.check(&data)?;
        if self.both_scales {
            return self.fit_both(&data, validation.as_ref(), control);
        }
        let (boosted, scaling) = self.ensemble(&mut data, validation, control)?;
        boosted.trained(scaling)
    }

    fn chooses_in_folds(&self) -> bool {
        self.trees == TreeCount::Auto || self.query_columns == Use::Auto
    }

    fn settings(&self) -> Result<Map<String, Value>> {
        super::settings::of(self)
    }
}
