//! Options: the JSON text that is the last argument of most SQL functions. [`OPTIONS`] defines every key once.

use serde_json::{Map, Value, json};

use super::averaged::BOTH_SCALES;
use crate::apply::TestKind;
use crate::base::{Error, LARGEST_BANDWIDTH, Named, POSITIVE, Params, Result, Rule, columns_text, named};
use crate::cost::loss::list::{Active, Bound, Centering, LabelOrder, LabelTies, Target};
use crate::cost::loss::{self, PairWeights, list};
use crate::cost::metric::{Gain, Ties, Undefined};
use crate::data::{MAX_FEATURE, MOST_BUCKETS, Missing, QueryFeatureKind, QueryScale, ScalingKind};
use crate::exchange::IMPORT_FORMATS;
use crate::learn::fit::{FitAt, Interaction, LambdaScope, PenaltyKind, Prior};
use crate::learn::smoothing::SmoothingKind;
use crate::learn::solve;
use crate::learn::space::Form;
use crate::model::{MAX_BUDGET, MAX_COUNT_WEIGHT, MAX_NEGATIVES};
use crate::search::{
    clicks::{CLICK_MODEL_NAMES, Method},
    text::Words,
};
use crate::train::algorithm::{AlgorithmDef, Feedback, Weighting};
use crate::train::short_report::ReportLength;
use crate::trees::{MAX_BINS, MAX_DEPTH, RowWeights};

/// A kind of call, by the options that it accepts.
#[rustfmt::skip]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    Train, Fit, CrossValidate, Update, Import, Activate, Rank, Search, Evaluate, Compare, Interleave, InterleaveResult, Explain,
    Importance, Monitor, Recommend, Metric, PairedTest, Letor, ClickModels, Propensities, Judgments, EvaluateClicks, FtsQuery,
}

named!(Use {
    Train = "ltr_train",
    Fit = "ltr_fit",
    CrossValidate = "ltr_cross_validate",
    Update = "ltr_update",
    Import = "ltr_import",
    Activate = "ltr_activate",
    Rank = "ltr_rank",
    Search = "ltr_search",
    Evaluate = "ltr_evaluate",
    Compare = "ltr_compare",
    Interleave = "ltr_interleave",
    InterleaveResult = "ltr_interleave_result",
    Explain = "ltr_explain, ltr_explain_rank",
    Importance = "ltr_importance",
    Monitor = "ltr_monitor",
    Recommend = "ltr_recommend",
    Metric = "metric aggregates",
    PairedTest = "ltr_paired_test",
    Letor = "ltr_letor",
    ClickModels = "ltr_click_models",
    Propensities = "ltr_propensities",
    Judgments = "ltr_judgments",
    EvaluateClicks = "ltr_evaluate_clicks",
    FtsQuery = "ltr_fts_query",
});

/// A set of kinds of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calls(u32);

impl Calls {
    const fn of(list: &[Use]) -> Self {
        let (mut bits, mut index) = (0, 0);
        while index < list.len() {
            bits |= 1 << list[index] as u32;
            index += 1;
        }
        Self(bits)
    }

    const fn and(self, more: &[Use]) -> Self {
        Self(self.0 | Self::of(more).0)
    }

    const fn but(self, left_out: Use) -> Self {
        Self(self.0 & !Self::of(&[left_out]).0)
    }

    /// Whether a kind of call is in the set.
    pub const fn contains(self, used: Use) -> bool {
        self.0 & Self::of(&[used]).0 != 0
    }

    /// The SQL functions, comma separated.
    pub fn functions(self) -> String {
        let names = Use::NAMES.iter().enumerate().filter(|(index, _)| self.0 >> index & 1 == 1);
        names.map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
    }
}

/// A kind of training, by the options that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// The presets of the grid.
    Grid,
    Trees,
    Auto,
    Perceptron,
    /// `cofi_rank` on ratings.
    Ratings,
    /// `cofi_rank` on pairs, by least squares over all items.
    Pairs,
}

use Reader::{Auto, Grid, Pairs, Perceptron, Ratings, Trees};

impl Reader {
    /// Whether this kind of training reads an option.
    pub fn reads(self, key: &str) -> bool {
        OPTIONS.iter().any(|def| def.key == key && def.readers.contains(&self))
    }
}

/// Reaction of `ltr_update` if its argument no longer names the version that it read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnConflict {
    /// The call fails.
    Error,
    /// The call starts again.
    Retry,
}

named!(OnConflict { Error = "error", Retry = "retry" });

pub struct OptionDef {
    /// The JSON key.
    pub key: &'static str,
    /// The values it accepts.
    pub rule: Rule,
    /// Default as JSON. `null` if there is none, or if it depends on the algorithm, other options or the data. The options
    /// of losses and metrics apply their own, because models and names of metrics have them too; tests
    /// compare.
    pub default: &'static str,
    /// One line for the reference tables.
    pub summary: &'static str,
    /// The calls that accept it.
    pub used_by: Calls,
    /// Whether trainings also take an array of its values, and cross-validation then chooses among them.
    pub searchable: bool,
    /// The kinds of training that read it; empty if all accept it, or none.
    readers: &'static [Reader],
    /// Another option, and a value of it with which this one acts.
    pub companion: Option<(&'static str, &'static str)>,
    /// The subject: `common` for options of most calls.
    pub family: &'static str,
}

impl OptionDef {
    /// Whether the option is one of the algorithm's and has an effect with its loss, smoothing, penalty, prior and form, if
    /// need be together with the companion. The checks of the training decide: they see the option without a value.
    pub fn acts_in(&self, algorithm: &AlgorithmDef) -> bool {
        let mut given = Map::from_iter([(self.key.to_owned(), Value::Null)]);
        given.extend(self.companion.map(|(other, value)| (other.to_owned(), json!(value))));
        (algorithm.reads)(self.key) && !matches!(algorithm.spec(&given.into()), Err(Error::NoEffect { .. }))
    }

    const fn searchable(self) -> Self {
        Self { searchable: true, ..self }
    }

    const fn read_by(self, readers: &'static [Reader]) -> Self {
        Self { readers, ..self }
    }

    const fn with(self, option: &'static str, value: &'static str) -> Self {
        Self { companion: Some((option, value)), ..self }
    }

    /// An option that most calls use.
    const fn common(self) -> Self {
        Self { family: COMMON, ..self }
    }

    /// The values that a call accepts, and whether it accepts an array of them.
    fn rule_in(&self, used: Use) -> (Rule, bool) {
        let rule = match self.key {
            // The seed of an interleaving is the id of an impression.
            "seed" if used == Use::Interleave => Rule::Id,
            "candidates" | "diversify_by" if TRAIN.contains(used) => Rule::Text,
            _ => self.rule,
        };
        (rule, self.searchable && TRAIN.contains(used) && !rule.takes_arrays())
    }
}

/// Longer lists of options do not help in a message.
const MANY: usize = 25;

/// Family of options that most calls use.
pub const COMMON: &str = "common";

const TEXT_OR_OBJECT: Rule = Rule::Or(&[Rule::Text, Rule::Object]);
const TEXT_OR_ARRAY: Rule = Rule::Or(&[Rule::Text, Rule::Array]);

/// The scalings, and the one of trees that average an ensemble for each of two scalings.
const SCALES: [&str; ScalingKind::NAMES.len() + 1] = {
    let mut all = [BOTH_SCALES; ScalingKind::NAMES.len() + 1];
    let mut index = 0;
    while index < ScalingKind::NAMES.len() {
        all[index] = ScalingKind::NAMES[index];
        index += 1;
    }
    all
};

const TRAIN: Calls = Calls::of(&[Use::Train, Use::Fit, Use::CrossValidate]);
const STORES_MODELS: Calls = Calls::of(&[Use::Train, Use::Update, Use::Import]);
const TRAINS_MODELS: Calls = Calls::of(&[Use::Train, Use::Update]);
const RANKS: &[Use] = &[
    Use::Update,
    Use::Rank,
    Use::Search,
    Use::Evaluate,
    Use::Compare,
    Use::Interleave,
    Use::Explain,
    Use::Importance,
    Use::Monitor,
    Use::EvaluateClicks,
];
const FIT_OR_SCORE: Calls = TRAIN.and(RANKS);
const ALL_WITH_MODELS: Calls = FIT_OR_SCORE.and(&[Use::Recommend]);
const FINDS_MODELS: Calls = ALL_WITH_MODELS.but(Use::Fit).and(&[Use::Import, Use::Activate]);
const READS: Calls =
    ALL_WITH_MODELS.and(&[Use::ClickModels, Use::Propensities, Use::Judgments, Use::InterleaveResult]);
/// All that keep `time_limit`.
const LIMITED: Calls = READS.and(&[Use::Import]);
/// All that keep `max_memory`.
const RESERVES: Calls = LIMITED.and(&[Use::PairedTest, Use::Metric]);
const MEASURES: Calls = Calls::of(&[Use::Evaluate, Use::Compare, Use::Importance, Use::Metric]);
const UTILITIES: Calls = TRAIN.and(&[Use::Evaluate, Use::Compare, Use::Importance, Use::Metric]);
const MEANS: Calls = TRAIN.and(&[Use::Evaluate, Use::Compare, Use::Importance]);
const TESTS: Calls = Calls::of(&[Use::Compare, Use::PairedTest]);

const fn def(
    family: &'static str,
    key: &'static str,
    rule: Rule,
    default: &'static str,
    used_by: Calls,
    summary: &'static str,
) -> OptionDef {
    OptionDef {
        key,
        rule,
        default,
        summary,
        used_by,
        searchable: false,
        readers: &[],
        companion: None,
        family,
    }
}

/// Keys of the option `columns`. All but the last have names of columns.
pub const COLUMN_KEYS: &[&str] = &[
    "query",
    "doc",
    "relevance",
    "features",
    "query_features",
    "weight",
    "doc_weight",
    "determined",
    "query_time",
    "slot",
    "ignore",
    "categories",
    "quantities",
    "feature_names",
];

/// The key of the option `columns` for the column that a NULL model ranks by.
pub const SCORE_KEY: &str = "score";

/// Keys of the option `columns` of logs.
pub const LOG_KEYS: [&str; 5] = ["impression", "query", "doc", "position", "clicked"];

/// Keys of the option `columns` of logs of interleaved lists.
pub const INTERLEAVED_KEYS: [&str; 5] = ["impression", "query", "position", "team", "clicked"];

/// Every option.
#[rustfmt::skip]
pub const OPTIONS: &[OptionDef] = &[
    def("models", "name", Rule::Text, "null", STORES_MODELS, "name of the stored model; default: the name of the algorithm, or of the updated model").common(),
    def("models", "schema", Rule::Text, "\"main\"", FINDS_MODELS, "database with the table ltr_models").common(),
    def("models", "keep_versions", Rule::Integer(1, 1_000_000_000), "null", STORES_MODELS, "number of versions to keep; default: all"),
    def("models", "activate", Rule::Flag, "true", STORES_MODELS, "whether the new version becomes the active one").common(),
    def("models", "format", Rule::OneOf(IMPORT_FORMATS), "null", Calls::of(&[Use::Import]), "format of the imported text; default: the text shows it"),
    def("models", "names", Rule::Object, "{}", Calls::of(&[Use::Import]), "columns of features that have other names in the imported text, such as {\"Column_0\": \"price\"}"),
    def("models", "on_conflict", Rule::OneOf(OnConflict::NAMES), "\"error\"", Calls::of(&[Use::Update]), "if another version became active while the update was computed: error, or continue that version (retry)"),
    def("rows", "params", Rule::Or(&[Rule::Array, Rule::Object]), "null", READS, "values for ?1, ?2, ... (array) or :name (object) in the SELECT of the source").common(),
    def("rows", "columns", Rule::Object, "null", READS, "columns of each role, and columns to ignore, such as {\"query\": \"session\", \"ignore\": [\"price\"]}").common(),
    def("rows", "missing", Rule::OneOf(Missing::NAMES), "\"error\"", FIT_OR_SCORE, "value for NULL features: error, 0, or the mean of the training; branch: each split of a tree decides").common(),
    def("query features", "query_features", Rule::OneOf(QueryFeatureKind::NAMES), "null", TRAIN, "origin of query features: named columns, or constants or means of document features").searchable().common().read_by(&[Grid]),
    def("query features", "query_distance", TEXT_OR_OBJECT, "{}", TRAIN, "how query features are compared, by name; learned: numbers with weights learned from the judgments").searchable().read_by(&[Grid]),
    def("query features", "query_scale", Rule::OneOf(QueryScale::NAMES), "\"standard\"", TRAIN, "scaling of query features for distances").searchable().read_by(&[Grid]),
    def("rows", "scale", Rule::OneOf(&SCALES), "null", TRAIN, "scaling of document features; none+quantile_minmax: of boosted_trees, one ensemble for each, averaged").searchable().common().read_by(&[Grid, Trees, Auto, Perceptron]),
    def("solver", "kernel", TEXT_OR_OBJECT, "null", TRAIN, "kernel by name, or with parameters as in {\"gaussian\": {\"gamma\": \"median\"}}").searchable().common().read_by(&[Grid, Auto, Perceptron]),
    def("solver", "landmarks", Rule::Integer(1, 5000), "1000", TRAIN, "largest number of training documents (with form ranking: pairs) that span the space of a kernel").searchable().with("kernel", "gaussian").read_by(&[Grid, Auto]),
    def("query features", "smoothing", Rule::OneOf(SmoothingKind::NAMES), "null", TRAIN, "weights of training queries for a target query; the default depends on the algorithm").searchable().common().read_by(&[Grid]),
    def("query features", "neighbors", Rule::Or(&[Rule::Integer(1, 1_000_000_000), Rule::OneOf(&["auto"])]), "\"auto\"", TRAIN, "number of nearest training queries, and all others at the last distance; auto: 5 to 100, by the statistic").searchable().read_by(&[Grid]),
    def("query features", "novel_neighbors", Rule::Integer(1, 1_000_000_000), "null", TRAIN, "the same for queries that are not in the training set; default: neighbors").searchable().read_by(&[Grid]),
    def("query features", "bandwidth", Rule::Or(&[Rule::Above(0.0, LARGEST_BANDWIDTH), Rule::Median, Rule::OneOf(&["median", "rate"])]), "\"median\"", TRAIN, "distance h in the weights of training queries: a number, a multiple of the median distance, or its rate in n").searchable().read_by(&[Grid]),
    def("query features", "prior", Rule::OneOf(Prior::NAMES), "null", TRAIN, "center of the penalty: 0, a function of all queries (auto: rule 4.11), least squares, or a stored model").searchable().read_by(&[Grid]),
    def("query features", "interaction", Rule::OneOf(Interaction::NAMES), "null", TRAIN, "products with query features, or Gaussian functions of them, in the function of all queries; auto: if queries differ").searchable().read_by(&[Grid]),
    def("solver", "form", Rule::OneOf(Form::NAMES), "\"scoring\"", TRAIN, "scoring: f(x) scores a document; ranking: f(x, x') is the preference between two documents").searchable().read_by(&[Grid]),
    def("solver", "solver", Rule::OneOf(solve::NAMES), "\"auto\"", TRAIN, "optimization algorithm").read_by(&[Grid]),
    def("loss", "loss", Rule::OneOf(loss::NAMES), "null", TRAIN, "loss function; the default depends on the algorithm").searchable().common().read_by(&[Grid, Trees, Ratings]),
    def("loss", "centering", Rule::OneOf(Centering::NAMES), "\"query\"", TRAIN, "whether the loss squared centers scores and grades within each query").searchable().read_by(&[Grid]),
    def("loss", "pair_weights", Rule::OneOf(PairWeights::NAMES), "\"equal\"", TRAIN, "weights of pairs in the pairwise losses: equal, or the difference of their grades, or of their gains 2^y - 1").searchable().read_by(&[Grid, Trees]),
    def("solver", "weighting", Rule::OneOf(Weighting::NAMES), "\"queries\"", TRAIN, "weights of queries in the mean loss: equal, or proportional to their number of documents or pairs").searchable().read_by(&[Grid]),
    def("loss", "target", Rule::OneOf(Target::NAMES), "null", TRAIN, "targets of the loss list_net and of cofi_rank: grades y or gains 2^y - 1; default: grade; cofi_rank: gain").searchable().read_by(&[Grid, Trees, Ratings]),
    def("loss", "label_order", Rule::OneOf(LabelOrder::NAMES), "\"random\"", TRAIN, "order of equal grades in the loss list_mle: random by the seed, or as the documents come").searchable().read_by(&[Grid, Trees]),
    def("loss", "cost_weights", TEXT_OR_OBJECT, "\"swap\"", TRAIN, "weights of the loss cs_list_mle: swap, unit, rank, or an object of weights by grade").searchable().read_by(&[Grid, Trees]),
    def("loss", "truncation", Rule::Integer(1, 1_000_000_000), "null", TRAIN, "number of top ranks that the losses cs_list_mle (default: all) and lambda_rank (default: 10) weight").searchable().read_by(&[Grid, Trees]),
    def("loss", "measure", Rule::Text, "null", TRAIN, "metric inside the training loss; lambda is chosen by the option metric").searchable().read_by(&[Grid, Perceptron, Ratings]),
    def("loss", "position_weights", Rule::Several(&Rule::Between(0.0, list::MOST_WEIGHT)), "null", TRAIN, "own weights by position instead of measure: for slam in the ideal order, for direct in the ranking, never rising").read_by(&[Grid]),
    def("loss", "grade_weights", Rule::Several(&Rule::Between(0.0, list::MOST_WEIGHT)), "null", TRAIN, "worth of documents of grade 0, 1, ... in the loss direct, instead of the gains of measure").read_by(&[Grid]),
    def("loss", "sigma", Rule::Between(1e-9, 1e9), "null", TRAIN, "first width of the smoothed positions in the loss smooth_grad; default: from the scores at the start").searchable().read_by(&[Grid]),
    def("loss", "margin", Rule::Above(0.0, 1e9), "1", TRAIN, "margin of the loss slam between a document and documents of lower grades").searchable().read_by(&[Grid, Ratings]),
    def("loss", "label_ties", Rule::OneOf(LabelTies::NAMES), "null", TRAIN, "weights of equal grades in slam and cs_list_mle: average (default, but not without truncation), or by document order").searchable().read_by(&[Grid, Perceptron, Ratings]),
    def("loss", "slot_costs", Rule::Several(&Rule::Between(1e-9, 1e9)), "null", TRAIN, "cost of a wrong document at each slot in the loss matching, slots in ascending order").read_by(&[Grid]),
    def("solver", "penalty", Rule::OneOf(PenaltyKind::NAMES), "null", TRAIN, "regularization: ridge, spectral, ball, sphere or l1").searchable().read_by(&[Grid]),
    def("solver", "components", Rule::Or(&[POSITIVE, Rule::Several(&POSITIVE), Rule::OneOf(&["auto"])]), "null", TRAIN, "largest number of eigenfunctions with penalty spectral; replaces lambda").searchable().read_by(&[Grid]),
    def("solver", "radius", Rule::Or(&[POSITIVE, Rule::Several(&POSITIVE), Rule::OneOf(&["auto"])]), "1", TRAIN, "largest length of the weights with penalty ball, their length with sphere; replaces lambda").searchable().read_by(&[Grid]),
    def("perceptron", "budget", Rule::Integer(1, MAX_BUDGET as u64), "1000", TRAIN, "largest number of support documents of the perceptron with a kernel").searchable().with("kernel", "gaussian").read_by(&[Perceptron]),
    def("perceptron", "learning_rate", POSITIVE, "null", TRAIN, "step size of the perceptron, or factor of each boosted tree").searchable().common().read_by(&[Trees, Perceptron]),
    def("trees", "trees", Rule::Or(&[Rule::Integer(1, 10_000), Rule::OneOf(&["auto"])]), "\"auto\"", TRAIN, "number of boosted trees; auto: up to 1000, until validation finds no improvement").searchable().common().read_by(&[Trees]),
    def("trees", "depth", Rule::Integer(1, MAX_DEPTH as u64), "6", TRAIN, "number of splits on the way to a leaf of a boosted tree").searchable().read_by(&[Trees]),
    def("trees", "feature_fraction", Rule::Above(0.0, 1.0), "null", TRAIN, "fraction of the features that each boosted tree may split, drawn at random").searchable().read_by(&[Trees]),
    def("trees", "row_weights", Rule::OneOf(RowWeights::NAMES), "\"exponential\"", TRAIN, "random factors of the weights of rows in each boosted tree: exponential with mean 1, or none").searchable().read_by(&[Trees]),
    def("trees", "seeds", Rule::Integer(1, 100), "1", TRAIN, "number of ensembles of boosted trees with different random choices, whose scores are averaged").searchable().read_by(&[Trees]),
    def("trees", "bins", Rule::Integer(2, MAX_BINS as u64), "64", TRAIN, "largest number of bins of a feature, between which boosted trees split").searchable().read_by(&[Trees]),
    def("trees", "query_columns", Rule::Or(&[Rule::Flag, Rule::OneOf(&["auto"])]), "\"auto\"", TRAIN, "whether boosted trees also split the query features of the source; auto: if validation favors it").searchable().read_by(&[Trees]),
    def("perceptron", "update_on", Rule::OneOf(Active::NAMES), "\"margin\"", TRAIN, "documents that cause an update of the perceptron: within the margin of a worse one, or not above it").searchable().read_by(&[Perceptron]),
    def("perceptron", "average", Rule::Flag, "true", TRAIN, "whether the perceptron scores with the mean of its weights over all queries, not with the last weights").searchable().read_by(&[Perceptron]),
    def("perceptron", "epochs", Rule::Integer(1, 1_000_000), "1", TRAIN, "passes of the perceptron over the rows").searchable().read_by(&[Perceptron]),
    def("ratings", "max_rounds", Rule::Integer(1, 1_000_000), "10", TRAIN, "largest number of rounds of cofi_rank for each lambda; a round fits all users, then all items").searchable().read_by(&[Ratings, Pairs]),
    def("ratings", "feedback", Rule::OneOf(Feedback::NAMES), "\"ratings\"", TRAIN, "what cofi_rank learns from: ratings, or pairs of users and items without ratings (implicit)").read_by(&[Ratings, Pairs]),
    def("ratings", "negatives", Rule::Or(&[Rule::Integer(1, MAX_NEGATIVES as u64), Rule::OneOf(&["all"])]), "\"all\"", TRAIN, "items that implicit feedback counts as not liked: all without a pair, or so many drawn for each pair").with("feedback", "implicit").read_by(&[Pairs]),
    def("ratings", "count_weight", Rule::Between(0.0, MAX_COUNT_WEIGHT), "3", TRAIN, "alpha of implicit feedback: a pair with count n has the weight 1 + alpha n, any other item 1").with("feedback", "implicit").read_by(&[Pairs]),
    def("ratings", "factors", Rule::Integer(1, 1000), "10", TRAIN, "number of factors per user and item in cofi_rank").searchable().read_by(&[Ratings, Pairs]),
    def("ratings", "biases", Rule::Flag, "true", TRAIN, "whether cofi_rank adds biases of users and items to the factors").searchable().read_by(&[Ratings]),
    def("perceptron", "shuffle", Rule::Flag, "false", TRAIN, "whether each pass of the perceptron reads the queries in a random order by the seed").searchable().read_by(&[Perceptron]),
    def("loss", "decoder", Rule::OneOf(list::DECODERS), "null", TRAIN, "decreasing position weights of the linear score in the bound of direct").searchable().read_by(&[Grid, Ratings]),
    def("loss", "decoder_power", Rule::Or(&[Rule::Above(0.0, 3.0), Rule::Several(&Rule::Above(0.0, 3.0))]), "0.25", TRAIN, "d in the weights p^-d of the decoder power; from an array validation chooses, together with lambda").searchable().with("decoder", "power").read_by(&[Grid, Ratings]),
    def("loss", "discounts", Rule::Several(&Rule::Between(0.0, list::MOST_WEIGHT)), "null", TRAIN, "own position weights in the bound of direct, instead of decoder; never rising; 0 after the last").read_by(&[Grid]),
    def("loss", "bound", Rule::OneOf(Bound::NAMES), "\"nonconvex\"", TRAIN, "upper bound of the regret that the loss direct minimizes").searchable().read_by(&[Grid]),
    def("metrics", "neutral_grade", Rule::Between(-1e9, 1e9), "0", UTILITIES, "grade with gain 0 in the measures and metrics eru and neru").with("metric", "eru").read_by(&[Grid, Trees, Auto, Ratings]),
    def("metrics", "half_life", Rule::Above(1.0, 1e9), "5", UTILITIES, "position with weight 1/2 in the measures and metrics eru and neru").with("metric", "eru").read_by(&[Grid, Trees, Auto, Ratings]),
    def("solver", "lambda", Rule::Or(&[POSITIVE, Rule::Several(&POSITIVE), Rule::OneOf(&["auto", "rate"])]), "\"auto\"", TRAIN, "weight of the penalty; auto or an array: validation chooses; rate: from the number of queries").searchable().common().read_by(&[Grid, Ratings, Pairs]),
    def("query features", "lambda_scope", Rule::OneOf(LambdaScope::NAMES), "\"all\"", TRAIN, "all: one lambda for all queries; each: one per training query, chosen on its documents").read_by(&[Grid]),
    def("query features", "fit_at", Rule::OneOf(FitAt::NAMES), "\"training\"", TRAIN, "when functions of training queries are fitted").read_by(&[Grid]),
    def("choosing", "metric", Rule::Or(&[Rule::Text, Rule::Several(&Rule::Text)]), "\"ndcg@10\"", MEANS.and(&[Use::EvaluateClicks]), "metric that validation maximizes, or metrics to evaluate").common().read_by(&[Grid, Trees, Auto, Ratings, Pairs]),
    def("choosing", "validation", Rule::Or(&[Rule::Fraction, Rule::OneOf(&["documents"]), Rule::Text]), "0.2", TRAIN, "data to choose lambda on: a fraction of the queries, \"documents\" of every query, or a source").common().read_by(&[Grid, Trees, Ratings, Pairs]),
    def("choosing", "folds", Rule::Integer(2, 1000), "5", TRAIN, "number of parts of the queries (cofi_rank: of the ratings of each user), each held out once").common(),
    def("choosing", "split_by", Rule::Text, "null", TRAIN, "column such as a date, by which cross-validation trains on earlier queries and validates on later ones"),
    def("choosing", "group_by", Rule::Text, "null", TRAIN, "column such as a season or a user; folds and held-out parts have all queries of a value or none"),
    def("choosing", "baseline", Rule::Text, "null", TRAIN, "column of today's order, to which the training adds what the judgments show; -name: lower values are better").read_by(&[Grid, Trees, Auto]),
    def("choosing", "monotone", Rule::Object, "null", TRAIN, "features with 1 if the score never falls with them, or -1 if it never rises, as in {\"price\": -1}").read_by(&[Grid, Trees, Auto]),
    def("choosing", "probability", Rule::Flag, "false", Calls::of(&[Use::Train, Use::Fit]), "whether to learn how probable a grade of at least the threshold is for a score, on queries held out").read_by(&[Grid, Trees, Auto]),
    def("choosing", "effort", Rule::Integer(1, 5), "3", TRAIN, "how much auto tries, from 1, the fastest, to 5, the most thorough").read_by(&[Auto]),
    def("large data", "buckets", Rule::Integer(1, MOST_BUCKETS), "null", Calls::of(&[Use::Train, Use::Fit]), "number of buckets, a power of two, for training in rounds over ltr_pack (docs/guide/large-data.md)"),
    def("choosing", "undefined", Rule::OneOf(Undefined::NAMES), "\"skip\"", Calls::of(&[Use::Train, Use::Fit, Use::CrossValidate, Use::Evaluate, Use::Compare, Use::Importance, Use::PairedTest]), "value of a query without a relevant document in a mean").common().read_by(&[Grid, Trees, Auto, Ratings, Pairs]),
    def("metrics", "unjudged", Rule::Or(&[Rule::OneOf(&["skip"]), Rule::Integer(0, 0)]), "\"skip\"", Calls::of(&[Use::Evaluate, Use::Compare]), "how to count a document without a judgment (NULL): skip it, as if it were not in the list, or as grade 0"),
    def("tests", "test", Rule::OneOf(TestKind::NAMES), "\"randomization\"", TESTS, "paired test of two series of values: random signs of the differences, Student's t, bootstrap, or signed ranks"),
    def("tests", "samples", Rule::Integer(100, 1_000_000), "null", Calls::of(&[Use::Compare, Use::PairedTest, Use::Explain]), "number of random draws of a paired test (default 10000) or of an explanation (default 200)"),
    def("tests", "confidence", Rule::Between(0.5, 0.9999), "0.95", Calls::of(&[Use::Compare, Use::PairedTest, Use::Importance, Use::InterleaveResult, Use::EvaluateClicks]), "probability that the interval covers the true difference or value"),
    def("tests", "power", Rule::Between(0.5, 0.9999), "0.8", Calls::of(&[Use::InterleaveResult]), "probability of a p-value of at most 1 - confidence, for which more_impressions is computed"),
    def("tests", "min_difference", Rule::Between(0.0001, 1.0), "null", Calls::of(&[Use::InterleaveResult]), "smallest true difference to find, for which more_impressions is computed; default: the observed one"),
    def("choosing", "seed", Rule::Integer(0, u64::MAX), "0", Calls::of(&[Use::Train, Use::Fit, Use::CrossValidate, Use::Compare, Use::Interleave, Use::PairedTest, Use::Explain, Use::Importance]), "seed of held-out parts, random orders and samples; of ltr_interleave: id of the impression").common(),
    def("limits", "threads", Rule::Integer(1, 1024), "null", FIT_OR_SCORE, "number of threads; default: all cores").common(),
    def("limits", "max_memory", Rule::Integer(1, u64::MAX), "null", RESERVES, "largest number of bytes that the call allocates; more is refused before it is allocated").common(),
    def("limits", "time_limit", Rule::Above(0.0, 1e9), "null", LIMITED, "seconds after which the call fails").common(),
    def("solver", "tolerance", Rule::Between(1e-12, 0.1), "null", TRAIN, "relative duality gap at which a fit ends; the default depends on the loss").read_by(&[Grid, Ratings]),
    def("limits", "progress", Rule::Flag, "false", FIT_OR_SCORE, "whether to print the number of finished fits and the remaining time to a terminal's standard error"),
    def("models", "report", Rule::OneOf(ReportLength::NAMES), "\"full\"", TRAINS_MODELS, "full: the report in JSON; short: one line of text").common(),
    def("lists", "k", Rule::Integer(1, 1_000_000_000), "null", Calls::of(&[Use::Rank, Use::Search, Use::Interleave, Use::Recommend]), "number of documents per query, default all; or of recommended items, default 10").common(),
    def("ratings", "ratings", Rule::Or(&[Rule::Text, Rule::Array, Rule::Object]), "null", Calls::of(&[Use::Recommend]), "ratings to fit a user to, without training: {\"item\": rating}, [[item, rating], ...], or a source").common(),
    def("rows", "candidates", TEXT_OR_ARRAY, "null", TRAIN.and(&[Use::Recommend]), "training: view over ltr_query with the features of judged documents; ltr_recommend: array of item ids, or a source"),
    def("ratings", "include_seen", Rule::Flag, "false", Calls::of(&[Use::Recommend]), "whether to recommend items that the user has rated"),
    def("lists", "diversify_by", TEXT_OR_OBJECT, "null", Calls::of(&[Use::Train, Use::Fit, Use::CrossValidate, Use::Rank, Use::Search, Use::Evaluate, Use::Compare]), "column such as site, of which a list shows few documents per value; or vectors and a weight: {\"embedding\": 0.3}").read_by(&[Grid]),
    def("lists", "max_per_value", Rule::Integer(1, 1_000_000_000), "1", Calls::of(&[Use::Rank, Use::Search, Use::Evaluate, Use::Compare]), "largest number of documents per value of the column diversify_by in a list"),
    def("lists", "allow_short", Rule::Flag, "false", Calls::of(&[Use::Rank, Use::Search]), "whether a list may have fewer than k documents because of diversify_by"),
    def("lists", "min_probability", Rule::Between(0.0, 1.0), "null", Calls::of(&[Use::Rank, Use::Search, Use::Evaluate]), "omit documents with a lower probability; ltr_evaluate measures the others, and the probabilities"),
    def("metrics", "ties", Rule::OneOf(Ties::NAMES), "\"expected\"", MEASURES, "value of equal scores: mean over their orders, input order, or the extremes"),
    def("metrics", "gain", Rule::OneOf(Gain::NAMES), "\"exp2\"", MEASURES, "gain of a grade y: 2^y - 1 or y"),
    def("metrics", "max_grade", Rule::Above(0.0, 1000.0), "null", MEASURES, "highest grade, for ERR; default: the maximum of the list"),
    def("metrics", "threshold", Rule::Between(-1e9, 1e9), "1", Calls::of(&[Use::Train, Use::Fit, Use::CrossValidate, Use::Evaluate, Use::Compare, Use::Importance, Use::Metric]), "lowest relevance that counts as relevant; in training for the option probability and the loss svm_map").read_by(&[Grid, Trees, Auto]),
    def("metrics", "alpha", Rule::Between(0.0, 1.0), "0.5", Calls::of(&[Use::Metric]), "loss of value of a repeated subtopic, for alpha_ndcg"),
    def("clicks", "model", Rule::OneOf(&CLICK_MODEL_NAMES), "\"auto\"", Calls::of(&[Use::Judgments]), "click model; auto: the one that predicts held-out impressions best"),
    def("clicks", "thresholds", Rule::Several(&Rule::Between(0.0, 1.0)), "null", Calls::of(&[Use::Judgments]), "attractiveness from which the relevance is 1, 2, ...; replaces quantiles"),
    def("clicks", "quantiles", Rule::Several(&Rule::Between(0.0, 1.0)), "[0.5, 0.75, 0.9]", Calls::of(&[Use::Judgments]), "the same as quantiles of the attractiveness of all documents in the log"),
    def("clicks", "propensities", TEXT_OR_ARRAY, "null", Calls::of(&[Use::Judgments, Use::EvaluateClicks]), "propensities: an array by position from 1, or a source; default: estimated from the log by em"),
    def("clicks", "event_weights", Rule::Object, "null", Calls::of(&[Use::ClickModels, Use::Propensities, Use::Judgments, Use::EvaluateClicks]), "columns of a log with further events and their weights, as in {\"cart\": 2, \"purchase\": 5}"),
    def("clicks", "clip", Rule::Between(0.0001, 1.0), "0.01", Calls::of(&[Use::EvaluateClicks]), "smallest propensity; smaller ones count as this one, which limits the weight of a click"),
    def("clicks", "method", Rule::OneOf(Method::NAMES), "\"em\"", Calls::of(&[Use::Propensities]), "estimator: em (position-based model), harvest (documents shown at several positions), or both"),
    def("text", "words", Rule::OneOf(Words::NAMES), "\"any\"", Calls::of(&[Use::FtsQuery]), "words that a match has: at least one, or all"),
    def("text", "table", Rule::Text, "null", Calls::of(&[Use::FtsQuery]), "full-text table whose tokenizer splits the text; default: any tokenizer"),
    def("text", "prefix", Rule::Flag, "false", Calls::of(&[Use::FtsQuery]), "whether the last word also matches words that it begins"),
    def("rows", "feature_count", Rule::Integer(1, MAX_FEATURE as u64), "null", Calls::of(&[Use::Letor]), "number of features; default: the highest number in the file"),
    def("rows", "first_feature", Rule::Integer(0, 1), "1", Calls::of(&[Use::Letor]), "number of the first feature in the file: 1, or 0 as scikit-learn, LightGBM and XGBoost write it"),
];

/// Parses and checks the options for the use `used`.
///
/// # Errors
/// As [`Params::parse`]; a key that belongs to other functions.
pub fn parse(text: Option<&str>, used: Use) -> Result<Params> {
    Params::parse(text, |key| find(key, used).map(|def| def.rule_in(used)))
}

/// The default of an option, without the quotes of a text; empty text without a default.
fn default_of(key: &str) -> &'static str {
    OPTIONS.iter().find(|def| def.key == key).map_or("", |def| def.default.trim_matches('"'))
}

/// A number: the given one, or the default of the table.
pub fn number(options: &Params, key: &str) -> f64 {
    options.number(key).or_else(|| default_of(key).parse().ok()).unwrap_or_default()
}

/// A non-negative integer: the given one, or the default of the table.
pub fn count(options: &Params, key: &str) -> usize {
    options.count(key).or_else(|| default_of(key).parse().ok()).unwrap_or_default()
}

/// Numbers: the given ones, or the default of the table; empty without a default.
pub fn numbers(options: &Params, key: &str) -> Vec<f64> {
    let default = || serde_json::from_str(default_of(key)).unwrap_or(Value::Null);
    let given = options.get(key).cloned().unwrap_or_else(default);
    given.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

/// True or false: as given, or the default of the table.
pub fn switch(options: &Params, key: &str) -> bool {
    options.switch(key).unwrap_or_else(|| default_of(key) == "true")
}

/// A text: the given one, or the default of the algorithm or of the table.
pub fn text<'a>(options: &'a Params, key: &str) -> &'a str {
    options.text(key).unwrap_or_else(|| default_of(key))
}

/// A variant of an enum: the caller's, or the default of the algorithm or the table.
///
/// # Errors
/// A name that the enum does not have.
pub fn choice<T: Named>(options: &Params, key: &str) -> Result<T> {
    options.named(key, text(options, key))
}

/// The column of the option `diversify_by`.
pub fn diversify_by(options: &Params) -> Option<&str> {
    let given = options.get("diversify_by")?;
    given.as_str().or_else(|| given.as_object()?.keys().next().map(String::as_str))
}

/// The weight of diversity by a column of vectors; `None` if the option `diversify_by` has no such column.
///
/// # Errors
/// No weight from 0 to 1, or several columns.
pub fn vector_weight(options: &Params) -> Result<Option<f64>> {
    let Some(columns) = options.get("diversify_by").and_then(Value::as_object) else { return Ok(None) };
    let weight = columns.values().next().filter(|_| columns.len() == 1).and_then(Value::as_f64);
    let allowed =
        "a column of values, or a column of vectors with a weight from 0 to 1, as in {\"embedding\": 0.3}";
    let got = || Error::value("option 'diversify_by'", Value::Object(columns.clone()).to_string(), allowed);
    weight.filter(|weight| (0.0..=1.0).contains(weight)).ok_or_else(got).map(Some)
}

fn find(key: &str, used: Use) -> Result<&'static OptionDef> {
    let accepted = OPTIONS.iter().filter(|def| def.used_by.contains(used));
    let Some(def) = OPTIONS.iter().find(|def| def.key == key) else {
        if COLUMN_KEYS.contains(&key) && accepted.clone().any(|def| def.key == "columns") {
            let value =
                if matches!(key, "features" | "feature_names" | "ignore" | "categories" | "quantities") {
                    json!(["..."])
                } else {
                    json!("...")
                };
            let columns = columns_text(None, Some((key, value)), &[]);
            return Err(Error::Unsupported(format!(
                "option '{key}': write it under \"columns\", as in {columns}"
            )));
        }
        let mut error = Error::unknown("option", key, accepted.clone().map(|def| def.key));
        if let Error::Unknown { nearest: None, known, .. } = &mut error {
            let common: Vec<&str> =
                accepted.clone().filter(|def| def.family == COMMON).map(|def| def.key).collect();
            if accepted.count() > MANY {
                *known = format!("{} (SELECT name, family FROM ltr_options lists all)", common.join(", "));
            }
        }
        return Err(error);
    };
    if def.used_by.contains(used) {
        return Ok(def);
    }
    let problem = if used == Use::Update && def.used_by == TRAIN {
        "an update keeps the options of the training; train the model again to change them".to_owned()
    } else {
        format!("it belongs to {}", def.used_by.functions())
    };
    Err(Error::Unsupported(format!("option '{key}': {problem}")))
}

#[cfg(test)]
mod tests;
