//! Options: the JSON text that is the last argument of most SQL functions. [`OPTIONS`] defines every key once.

use serde_json::{Map, Value, json};

use super::averaged::BOTH_SCALES;
use crate::apply::{IMPORT_FORMATS, TestKind};
use crate::base::{Error, Params, Result, Rule, columns_text, named};
use crate::cost::loss::list::{Active, Bound, Centering, LabelOrder, LabelTies, Target};
use crate::cost::loss::{self, PairWeights, list};
use crate::cost::metric::{Gain, Ties, Undefined};
use crate::data::{Missing, QueryFeatureKind, QueryScale, ScalingKind};
use crate::learn::fit::{FitAt, Interaction, LambdaScope, PenaltyKind, Prior};
use crate::learn::smoothing::SmoothingKind;
use crate::learn::solve;
use crate::learn::space::Form;
use crate::model::{MAX_BUDGET, MAX_COUNT_WEIGHT, MAX_NEGATIVES};
#[cfg(feature = "search")]
use crate::search::{
    clicks::{CLICK_MODEL_NAMES, Method},
    text::Words,
};
use crate::train::algorithm::{AlgorithmDef, Feedback, Weighting};
use crate::train::report::ReportLength;
#[cfg(feature = "trees")]
use crate::trees::{MAX_BINS, MAX_DEPTH, RowWeights};

/// A kind of call, by the options that it accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// `ltr_train`.
    Train,
    /// `ltr_fit`.
    Fit,
    /// `ltr_cross_validate`.
    CrossValidate,
    /// `ltr_update`.
    Update,
    /// `ltr_import`.
    Import,
    /// `ltr_activate`.
    Activate,
    /// `ltr_rank`.
    Rank,
    /// `ltr_evaluate`.
    Evaluate,
    /// `ltr_compare`.
    Compare,
    /// `ltr_interleave`.
    Interleave,
    /// `ltr_interleave_result`.
    InterleaveResult,
    /// `ltr_explain` of a document in a source, and `ltr_explain_rank`.
    Explain,
    /// `ltr_importance`.
    Importance,
    /// `ltr_monitor`.
    Monitor,
    /// `ltr_recommend`.
    Recommend,
    /// The metric aggregates.
    Metric,
    /// `ltr_paired_test`.
    PairedTest,
    /// `ltr_letor`.
    Letor,
    /// `ltr_click_models`.
    ClickModels,
    /// `ltr_propensities`.
    Propensities,
    /// `ltr_judgments`.
    Judgments,
    /// `ltr_evaluate_clicks`.
    EvaluateClicks,
    /// `ltr_fts_query`.
    FtsQuery,
}

impl Use {
    /// The SQL functions.
    pub fn functions(self) -> &'static str {
        match self {
            Self::Train => "ltr_train",
            Self::Fit => "ltr_fit",
            Self::CrossValidate => "ltr_cross_validate",
            Self::Update => "ltr_update",
            Self::Import => "ltr_import",
            Self::Activate => "ltr_activate",
            Self::Rank => "ltr_rank",
            Self::Evaluate => "ltr_evaluate",
            Self::Compare => "ltr_compare",
            Self::Interleave => "ltr_interleave",
            Self::InterleaveResult => "ltr_interleave_result",
            Self::Explain => "ltr_explain, ltr_explain_rank",
            Self::Importance => "ltr_importance",
            Self::Monitor => "ltr_monitor",
            Self::Recommend => "ltr_recommend",
            Self::Metric => "metric aggregates",
            Self::PairedTest => "ltr_paired_test",
            Self::Letor => "ltr_letor",
            Self::ClickModels => "ltr_click_models",
            Self::Propensities => "ltr_propensities",
            Self::Judgments => "ltr_judgments",
            Self::EvaluateClicks => "ltr_evaluate_clicks",
            Self::FtsQuery => "ltr_fts_query",
        }
    }
}

/// What `ltr_update` does if its argument names another version than the one it has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnConflict {
    /// The call fails.
    Error,
    /// The call starts again.
    Retry,
}

named!(OnConflict { Error = "error", Retry = "retry" });

/// One option.
pub struct OptionDef {
    /// The JSON key.
    pub key: &'static str,
    /// The values it accepts.
    pub rule: Rule,
    /// Default as JSON, for documentation: the code that reads the option applies it. `null` if there is none, or if it
    /// depends on the algorithm, other options or the data.
    pub default: &'static str,
    /// One line for the reference tables.
    pub summary: &'static str,
    /// The calls that accept it.
    pub used_by: &'static [Use],
    /// Whether trainings also take an array of its values, and cross-validation then chooses among them.
    pub searchable: bool,
}

/// Options that act only with a value of another one: the option, the other one and such a value.
const COMPANIONS: &[(&str, &str, &str)] = &[
    ("landmarks", "kernel", "gaussian"),
    ("budget", "kernel", "gaussian"),
    ("decoder_power", "decoder", "power"),
    ("neutral_grade", "metric", "eru"),
    ("half_life", "metric", "eru"),
    ("negatives", "feedback", "implicit"),
    ("count_weight", "feedback", "implicit"),
];

impl OptionDef {
    /// Another option, and a value of it with which this one acts.
    pub fn companion(&self) -> Option<(&'static str, &'static str)> {
        COMPANIONS.iter().find(|(option, ..)| *option == self.key).map(|(_, other, value)| (*other, *value))
    }

    /// Whether the option is one of the algorithm's and has an effect with its loss, smoothing, penalty, prior and form, if
    /// need be together with the companion. The checks of the training decide: they see the option without a value.
    pub fn acts_in(&self, algorithm: &AlgorithmDef) -> bool {
        let mut given = Map::from_iter([(self.key.to_owned(), Value::Null)]);
        given.extend(self.companion().map(|(other, value)| (other.to_owned(), json!(value))));
        (algorithm.reads)(self.key) && !matches!(algorithm.spec(&given.into()), Err(Error::NoEffect { .. }))
    }

    const fn searchable(self) -> Self {
        Self { searchable: true, ..self }
    }

    /// The values that a call accepts.
    fn rule_in(&'static self, used: Use) -> Rule {
        if used == Use::Interleave && self.key == "seed" {
            // The id of an impression.
            Rule::Id
        } else if self.searchable && TRAIN.contains(&used) && !self.rule.takes_arrays() {
            Rule::OneOrSeveral(&self.rule)
        } else {
            self.rule
        }
    }
}

/// The scalings, and that of trees with an ensemble for each of two.
const SCALES: [&str; ScalingKind::NAMES.len() + 1] = {
    let mut all = [BOTH_SCALES; ScalingKind::NAMES.len() + 1];
    let mut index = 0;
    while index < ScalingKind::NAMES.len() {
        all[index] = ScalingKind::NAMES[index];
        index += 1;
    }
    all
};

const TRAIN: &[Use] = &[Use::Train, Use::Fit, Use::CrossValidate];
const STORES_MODELS: &[Use] = &[Use::Train, Use::Update, Use::Import];
const TRAINS_MODELS: &[Use] = &[Use::Train, Use::Update];
/// All that read a source with a model, and `ltr_import`.
const WITH_MODELS: [Use; 14] = [
    Use::Train,
    Use::Fit,
    Use::CrossValidate,
    Use::Update,
    Use::Import,
    Use::Rank,
    Use::Evaluate,
    Use::Compare,
    Use::Interleave,
    Use::Explain,
    Use::Importance,
    Use::Monitor,
    Use::EvaluateClicks,
    Use::Recommend,
];
const FINDS_MODELS: &[Use] = &joined::<14>(&without::<13>(&WITH_MODELS, Use::Fit), &[Use::Activate]);
const ALL_WITH_MODELS: &[Use] = &without::<13>(&WITH_MODELS, Use::Import);
const READS_LOGS: [Use; 4] = [Use::ClickModels, Use::Propensities, Use::Judgments, Use::InterleaveResult];
const READS: &[Use] = &joined::<17>(ALL_WITH_MODELS, &READS_LOGS);
/// All that keep `time_limit`.
const LIMITED: &[Use] = &joined::<18>(&WITH_MODELS, &READS_LOGS);
/// All that keep `max_memory`.
const RESERVES: &[Use] = &joined::<19>(LIMITED, &[Use::PairedTest]);
const FIT_OR_SCORE: &[Use] = &without::<12>(ALL_WITH_MODELS, Use::Recommend);
const MEASURES: &[Use] = &[Use::Evaluate, Use::Compare, Use::Importance, Use::Metric];
const UTILITIES: &[Use] = &joined::<7>(TRAIN, MEASURES);
const NAMES_METRICS: &[Use] = &[
    Use::Train,
    Use::Fit,
    Use::CrossValidate,
    Use::Evaluate,
    Use::Compare,
    Use::Importance,
    Use::EvaluateClicks,
];
const TESTS: &[Use] = &[Use::Compare, Use::PairedTest];

/// A list of N + 1 calls without one of them.
const fn without<const N: usize>(calls: &[Use], left_out: Use) -> [Use; N] {
    assert!(calls.len() == N + 1, "the call stands once in the list");
    let mut rest = [left_out; N];
    let (mut read, mut written) = (0, 0);
    while read < calls.len() {
        if calls[read] as u8 != left_out as u8 {
            rest[written] = calls[read];
            written += 1;
        }
        read += 1;
    }
    assert!(written == N, "the call stands once in the list");
    rest
}

/// Two lists as one of N calls.
const fn joined<const N: usize>(first: &[Use], second: &[Use]) -> [Use; N] {
    assert!(first.len() + second.len() == N, "the number of calls");
    let mut all = [first[0]; N];
    let mut index = 0;
    while index < N {
        all[index] = if index < first.len() { first[index] } else { second[index - first.len()] };
        index += 1;
    }
    all
}

const fn def(
    key: &'static str,
    rule: Rule,
    default: &'static str,
    used_by: &'static [Use],
    summary: &'static str,
) -> OptionDef {
    OptionDef { key, rule, default, summary, used_by, searchable: false }
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
    "slot",
    "ignore",
    "categories",
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
    def("name", Rule::Text, "null", STORES_MODELS, "name of the stored model; default: the name of the algorithm, or of the updated model"),
    def("schema", Rule::Text, "\"main\"", FINDS_MODELS, "database with the table ltr_models"),
    def("keep_versions", Rule::Integer(1, 1_000_000_000), "null", STORES_MODELS, "number of versions to keep; default: all"),
    def("activate", Rule::Flag, "true", STORES_MODELS, "whether the new version becomes the active one"),
    def("format", Rule::OneOf(&IMPORT_FORMATS), "null", &[Use::Import], "format of the imported text; default: the text shows it"),
    def("names", Rule::Object, "{}", &[Use::Import], "columns of features that have other names in the imported text, such as {\"Column_0\": \"price\"}"),
    def("on_conflict", Rule::OneOf(OnConflict::NAMES), "\"error\"", &[Use::Update], "if another version became active while the update was computed: error, or continue that version (retry)"),
    def("params", Rule::ArrayOrObject, "null", READS, "values for ?1, ?2, ... (array) or :name (object) in the SELECT of the source"),
    def("columns", Rule::Object, "null", READS, "columns of each role, and columns to ignore, such as {\"query\": \"session\", \"ignore\": [\"price\"]}"),
    def("missing", Rule::OneOf(Missing::NAMES), "\"error\"", FIT_OR_SCORE, "value for NULL features: error, 0, or the mean of the training; branch: each split of a tree decides"),
    def("query_features", Rule::OneOf(QueryFeatureKind::NAMES), "null", TRAIN, "origin of query features: named columns, or constants or means of document features").searchable(),
    def("query_distance", Rule::TextOrObject, "{}", TRAIN, "how query features are compared, by name; learned: numbers with weights learned from the judgments").searchable(),
    def("query_scale", Rule::OneOf(QueryScale::NAMES), "\"standard\"", TRAIN, "scaling of query features for distances").searchable(),
    def("scale", Rule::OneOf(&SCALES), "null", TRAIN, "scaling of document features; none+quantile_minmax: of boosted_trees, one ensemble for each, averaged").searchable(),
    def("kernel", Rule::TextOrObject, "null", TRAIN, "kernel by name, or with parameters as in {\"gaussian\": {\"gamma\": \"median\"}}").searchable(),
    def("landmarks", Rule::Integer(1, 5000), "1000", TRAIN, "largest number of training documents (with form ranking: pairs) that span the space of a kernel").searchable(),
    def("smoothing", Rule::OneOf(SmoothingKind::NAMES), "null", TRAIN, "weights of training queries for a target query; default: that of the algorithm").searchable(),
    def("neighbors", Rule::IntegerOr(1, 1_000_000_000, "auto"), "\"auto\"", TRAIN, "number of nearest training queries, and all others at the last distance; auto: 5 to 100, by the statistic").searchable(),
    def("novel_neighbors", Rule::Integer(1, 1_000_000_000), "null", TRAIN, "the same for queries that are not in the training set; default: neighbors").searchable(),
    def("bandwidth", Rule::Bandwidth, "\"median\"", TRAIN, "distance h in the weights of training queries: a number, a multiple of the median distance, or its rate in n").searchable(),
    def("prior", Rule::OneOfOrModel(Prior::NAMES), "null", TRAIN, "center of the penalty: 0, a function of all queries (auto: rule 4.11), least squares, or a stored model").searchable(),
    def("interaction", Rule::OneOf(Interaction::NAMES), "null", TRAIN, "products with query features, or Gaussian functions of them, in the function of all queries; auto: if queries differ").searchable(),
    def("form", Rule::OneOf(Form::NAMES), "\"scoring\"", TRAIN, "scoring: f(x) scores a document; ranking: f(x, x') is the preference between two documents").searchable(),
    def("solver", Rule::OneOf(solve::NAMES), "\"auto\"", TRAIN, "optimization algorithm"),
    def("loss", Rule::OneOf(loss::NAMES), "null", TRAIN, "loss function; default: that of the algorithm").searchable(),
    def("centering", Rule::OneOf(Centering::NAMES), "\"query\"", TRAIN, "whether the loss squared centers scores and grades within each query").searchable(),
    def("pair_weights", Rule::OneOf(PairWeights::NAMES), "\"equal\"", TRAIN, "weights of pairs in the pairwise losses: equal, or the difference of their grades, or of their gains 2^y - 1").searchable(),
    def("weighting", Rule::OneOf(Weighting::NAMES), "\"queries\"", TRAIN, "weights of queries in the mean loss: equal, or proportional to their number of documents or pairs").searchable(),
    def("target", Rule::OneOf(Target::NAMES), "null", TRAIN, "targets of the loss list_net and of cofi_rank: grades y or gains 2^y - 1; default: grade; cofi_rank: gain").searchable(),
    def("label_order", Rule::OneOf(LabelOrder::NAMES), "\"random\"", TRAIN, "order of equal grades in the loss list_mle: random by the seed, or that of the documents").searchable(),
    def("cost_weights", Rule::TextOrObject, "\"swap\"", TRAIN, "weights of the loss cs_list_mle: swap, unit, rank, or an object of weights by grade").searchable(),
    def("truncation", Rule::Integer(1, 1_000_000_000), "null", TRAIN, "number of top ranks that the losses cs_list_mle (default: all) and lambda_rank (default: 10) weight").searchable(),
    def("measure", Rule::Text, "null", TRAIN, "metric inside the training loss; lambda is chosen by the option metric").searchable(),
    def("position_weights", Rule::NumbersBetween(0.0, 1e9), "null", TRAIN, "weights by position in place of those of measure: of slam in the ideal order; of direct in the ranking, never rising"),
    def("grade_weights", Rule::NumbersBetween(0.0, 1e9), "null", TRAIN, "worth of documents of grade 0, 1, ... in the loss direct, in place of that of measure"),
    def("sigma", Rule::Between(1e-9, 1e9), "null", TRAIN, "first width of the smoothed positions in the loss smooth_grad; default: from the scores at the start").searchable(),
    def("margin", Rule::Above(0.0, 1e9), "1", TRAIN, "margin of the loss slam between a document and those of lower grades").searchable(),
    def("label_ties", Rule::OneOf(LabelTies::NAMES), "\"average\"", TRAIN, "weights of equal grades in the loss slam: their mean, or in the order of the documents").searchable(),
    def("slot_costs", Rule::NumbersBetween(1e-9, 1e9), "null", TRAIN, "cost of a wrong document at each slot in the loss matching, slots in ascending order"),
    def("penalty", Rule::OneOf(PenaltyKind::NAMES), "null", TRAIN, "regularization: ridge, spectral, ball, sphere or l1").searchable(),
    def("components", Rule::PositivesOr(&["auto"]), "null", TRAIN, "largest number of eigenfunctions with penalty spectral; replaces lambda").searchable(),
    def("radius", Rule::PositivesOr(&["auto"]), "1", TRAIN, "largest length of the weights with penalty ball, their length with sphere; replaces lambda").searchable(),
    def("budget", Rule::Integer(1, MAX_BUDGET as u64), "1000", TRAIN, "largest number of support documents of the perceptron with a kernel").searchable(),
    def("learning_rate", Rule::PositiveOr(&[]), "null", TRAIN, "step size of the perceptron, or factor of each boosted tree").searchable(),
    #[cfg(feature = "trees")]
    def("trees", Rule::IntegerOr(1, 10_000, "auto"), "\"auto\"", TRAIN, "number of boosted trees; auto: up to 1000, until validation finds no improvement").searchable(),
    #[cfg(feature = "trees")]
    def("depth", Rule::Integer(1, MAX_DEPTH as u64), "6", TRAIN, "number of splits on the way to a leaf of a boosted tree").searchable(),
    #[cfg(feature = "trees")]
    def("feature_fraction", Rule::Above(0.0, 1.0), "null", TRAIN, "fraction of the features that each boosted tree may split, drawn at random").searchable(),
    #[cfg(feature = "trees")]
    def("row_weights", Rule::OneOf(RowWeights::NAMES), "\"exponential\"", TRAIN, "random factors of the weights of rows in each boosted tree: exponential with mean 1, or none").searchable(),
    #[cfg(feature = "trees")]
    def("seeds", Rule::Integer(1, 100), "1", TRAIN, "number of ensembles of boosted trees with different random choices, whose scores are averaged").searchable(),
    #[cfg(feature = "trees")]
    def("bins", Rule::Integer(2, MAX_BINS as u64), "64", TRAIN, "largest number of bins of a feature, between which boosted trees split").searchable(),
    #[cfg(feature = "trees")]
    def("query_columns", Rule::FlagOr("auto"), "\"auto\"", TRAIN, "whether boosted trees also split the query features of the source; auto: if validation favors it").searchable(),
    def("update_on", Rule::OneOf(Active::NAMES), "\"margin\"", TRAIN, "documents that cause an update of the perceptron: within the margin of a worse one, or not above it").searchable(),
    def("average", Rule::Flag, "true", TRAIN, "whether the perceptron scores with the mean of its weights over all queries, not with the last weights").searchable(),
    def("epochs", Rule::Integer(1, 1_000_000), "1", TRAIN, "passes of the perceptron over the rows").searchable(),
    def("max_rounds", Rule::Integer(1, 1_000_000), "10", TRAIN, "largest number of rounds of cofi_rank for each lambda; a round fits all users, then all items").searchable(),
    def("feedback", Rule::OneOf(Feedback::NAMES), "\"ratings\"", TRAIN, "what cofi_rank learns from: ratings, or pairs of users and items without ratings (implicit)"),
    def("negatives", Rule::IntegerOr(1, MAX_NEGATIVES as u64, "all"), "\"all\"", TRAIN, "items that implicit feedback counts as not liked: all without a pair, or so many drawn for each pair"),
    def("count_weight", Rule::Between(0.0, MAX_COUNT_WEIGHT), "3", TRAIN, "alpha of implicit feedback: a pair with count n has the weight 1 + alpha n, any other item 1"),
    def("factors", Rule::Integer(1, 1000), "10", TRAIN, "number of factors per user and item in cofi_rank").searchable(),
    def("biases", Rule::Flag, "true", TRAIN, "whether cofi_rank adds biases of users and items to the factors").searchable(),
    def("shuffle", Rule::Flag, "false", TRAIN, "whether each pass of the perceptron reads the queries in a random order by the seed").searchable(),
    def("decoder", Rule::OneOf(list::DECODERS), "null", TRAIN, "decreasing position weights of the linear score in the bound of direct").searchable(),
    def("decoder_power", Rule::AboveOrSeveral(0.0, 3.0), "0.25", TRAIN, "d in the weights p^-d of the decoder power; from an array validation chooses, together with lambda").searchable(),
    def("discounts", Rule::NumbersBetween(0.0, 1e9), "null", TRAIN, "position weights in the bound of direct in place of those of decoder, never rising; 0 after the last"),
    def("bound", Rule::OneOf(Bound::NAMES), "\"nonconvex\"", TRAIN, "upper bound of the regret that the loss direct minimizes").searchable(),
    def("neutral_grade", Rule::Between(-1e9, 1e9), "0", UTILITIES, "grade with gain 0 in the measures and metrics eru and neru"),
    def("half_life", Rule::Above(1.0, 1e9), "5", UTILITIES, "position with weight 1/2 in the measures and metrics eru and neru"),
    def("lambda", Rule::PositivesOr(&["auto", "rate"]), "\"auto\"", TRAIN, "weight of the penalty; auto or an array: validation chooses; rate: from the number of queries").searchable(),
    def("lambda_scope", Rule::OneOf(LambdaScope::NAMES), "\"all\"", TRAIN, "all: one lambda for all queries; each: one per training query, chosen on its documents"),
    def("fit_at", Rule::OneOf(FitAt::NAMES), "\"training\"", TRAIN, "when functions of training queries are fitted"),
    def("metric", Rule::Texts, "\"ndcg@10\"", NAMES_METRICS, "metric that validation maximizes, or metrics to evaluate"),
    def("validation", Rule::FractionOrText, "0.2", TRAIN, "data to choose lambda on: a fraction of the queries, \"documents\" of every query, or a source"),
    def("folds", Rule::Integer(2, 1000), "5", TRAIN, "number of parts of the queries (cofi_rank: of the ratings of each user), each held out once"),
    def("split_by", Rule::Text, "null", TRAIN, "column such as a date, by which cross-validation trains on earlier queries and validates on later ones"),
    def("effort", Rule::Integer(1, 5), "3", TRAIN, "how much auto tries, from 1, the fastest, to 5, the most thorough"),
    def("buckets", Rule::Integer(1, 65536), "null", &[Use::Train, Use::Fit], "number of buckets, a power of two, for training in rounds over ltr_pack (docs/guide/large-data.md)"),
    def("undefined", Rule::OneOf(Undefined::NAMES), "\"skip\"", &[Use::Train, Use::Fit, Use::CrossValidate, Use::Evaluate, Use::Compare, Use::Importance, Use::PairedTest], "value of a query without a relevant document in a mean"),
    def("test", Rule::OneOf(TestKind::NAMES), "\"randomization\"", TESTS, "paired test of two series of values: random signs of the differences, Student's t, bootstrap, or signed ranks"),
    def("samples", Rule::Integer(100, 1_000_000), "null", &[Use::Compare, Use::PairedTest, Use::Explain], "number of random draws of a paired test (default 10000) or of an explanation (default 200)"),
    def("confidence", Rule::Between(0.5, 0.9999), "0.95", &[Use::Compare, Use::PairedTest, Use::Importance, Use::InterleaveResult, Use::EvaluateClicks], "probability that the interval covers the true difference or value"),
    #[cfg(feature = "search")]
    def("power", Rule::Between(0.5, 0.9999), "0.8", &[Use::InterleaveResult], "probability of a p-value of at most 1 - confidence, for which more_impressions is computed"),
    #[cfg(feature = "search")]
    def("min_difference", Rule::Between(0.0001, 1.0), "null", &[Use::InterleaveResult], "smallest true difference to find, for which more_impressions is computed; default: the observed one"),
    def("seed", Rule::Integer(0, u64::MAX), "0", &[Use::Train, Use::Fit, Use::CrossValidate, Use::Compare, Use::Interleave, Use::PairedTest, Use::Explain, Use::Importance], "seed of held-out parts, random orders and samples; of ltr_interleave: id of the impression"),
    def("threads", Rule::Integer(1, 1024), "null", FIT_OR_SCORE, "number of threads; default: all cores"),
    def("max_memory", Rule::Bytes, "null", RESERVES, "largest number of bytes that the call allocates; more is refused before it is allocated"),
    def("time_limit", Rule::Above(0.0, 1e9), "null", LIMITED, "seconds after which the call fails"),
    def("tolerance", Rule::Between(1e-12, 0.1), "null", TRAIN, "relative duality gap at which a fit ends; the default depends on the loss"),
    def("progress", Rule::Flag, "false", FIT_OR_SCORE, "whether to print the number of finished fits and the remaining time to a terminal's standard error"),
    def("report", Rule::OneOf(ReportLength::NAMES), "\"full\"", TRAINS_MODELS, "full: the report in JSON; short: one line of text"),
    def("k", Rule::Integer(1, 1_000_000_000), "null", &[Use::Rank, Use::Interleave, Use::Recommend], "number of documents per query, default all; or of recommended items, default 10"),
    def("ratings", Rule::TextArrayOrObject, "null", &[Use::Recommend], "ratings to fit a user to, without training: {\"item\": rating}, [[item, rating], ...], or a source"),
    def("candidates", Rule::TextOrArray, "null", &[Use::Recommend], "items to choose from: an array of their ids, or a source; default: all items of the model"),
    def("include_seen", Rule::Flag, "false", &[Use::Recommend], "whether to recommend items that the user has rated"),
    def("diversify_by", Rule::Text, "null", &[Use::Train, Use::Fit, Use::CrossValidate, Use::Rank, Use::Evaluate, Use::Compare], "column such as site or topic, of which a list shows few documents per value"),
    def("max_per_value", Rule::Integer(1, 1_000_000_000), "1", &[Use::Rank, Use::Evaluate, Use::Compare], "largest number of documents per value of the column diversify_by in a list"),
    def("allow_short", Rule::Flag, "false", &[Use::Rank], "whether a list may have fewer than k documents because of diversify_by"),
    def("ties", Rule::OneOf(Ties::NAMES), "\"expected\"", MEASURES, "value of equal scores: mean over their orders, input order, or the extremes"),
    def("gain", Rule::OneOf(Gain::NAMES), "\"exp2\"", MEASURES, "gain of a grade y: 2^y - 1 or y"),
    def("max_grade", Rule::Above(0.0, 1000.0), "null", MEASURES, "highest grade, for ERR; default: the maximum of the list"),
    def("threshold", Rule::Between(-1e9, 1e9), "1", &[Use::Train, Use::Fit, Use::CrossValidate, Use::Evaluate, Use::Compare, Use::Importance, Use::Metric], "lowest relevance that counts as relevant; in training for the loss svm_map"),
    def("alpha", Rule::Between(0.0, 1.0), "0.5", &[Use::Metric], "loss of value of a repeated subtopic, for alpha_ndcg"),
    #[cfg(feature = "search")]
    def("model", Rule::OneOf(&CLICK_MODEL_NAMES), "\"auto\"", &[Use::Judgments], "click model; auto: the one that predicts held-out impressions best, of those that read the log once"),
    #[cfg(feature = "search")]
    def("thresholds", Rule::NumbersBetween(0.0, 1.0), "null", &[Use::Judgments], "attractiveness from which the relevance is 1, 2, ...; replaces quantiles"),
    #[cfg(feature = "search")]
    def("quantiles", Rule::NumbersBetween(0.0, 1.0), "[0.5, 0.75, 0.9]", &[Use::Judgments], "the same as quantiles of the attractiveness of all documents in the log"),
    #[cfg(feature = "search")]
    def("propensities", Rule::TextOrArray, "null", &[Use::EvaluateClicks], "propensities: an array by position from 1, or a source; default: estimated from the log by em"),
    #[cfg(feature = "search")]
    def("event_weights", Rule::Object, "null", &[Use::ClickModels, Use::Propensities, Use::Judgments, Use::EvaluateClicks], "columns of a log with further events and their weights, as in {\"cart\": 2, \"purchase\": 5}"),
    #[cfg(feature = "search")]
    def("clip", Rule::Between(0.0001, 1.0), "0.01", &[Use::EvaluateClicks], "smallest propensity; smaller ones count as this one, which limits the weight of a click"),
    #[cfg(feature = "search")]
    def("method", Rule::OneOf(Method::NAMES), "\"em\"", &[Use::Propensities], "estimator: em (position-based model), harvest (documents shown at several positions), or both"),
    #[cfg(feature = "search")]
    def("words", Rule::OneOf(Words::NAMES), "\"any\"", &[Use::FtsQuery], "words that a match has: at least one, or all"),
    #[cfg(feature = "search")]
    def("table", Rule::Text, "null", &[Use::FtsQuery], "full-text table whose tokenizer splits the text; default: any tokenizer"),
    #[cfg(feature = "search")]
    def("prefix", Rule::Flag, "false", &[Use::FtsQuery], "whether the last word also matches words that it begins"),
    def("feature_count", Rule::Integer(1, 1_000_000), "null", &[Use::Letor], "number of features; default: the highest number in the file"),
    def("first_feature", Rule::Integer(0, 1), "1", &[Use::Letor], "number of the first feature in the file: 1, or 0 as scikit-learn, LightGBM and XGBoost write it"),
];

/// Parses and checks the options of a call of the kind `used`.
///
/// # Errors
/// As [`Params::parse`]; a key that belongs to other functions.
pub fn parse(text: Option<&str>, used: Use) -> Result<Params> {
    Params::parse(text, |key| find(key, used).map(|def| def.rule_in(used)))
}

fn find(key: &str, used: Use) -> Result<&'static OptionDef> {
    let accepted = OPTIONS.iter().filter(|def| def.used_by.contains(&used));
    let Some(def) = OPTIONS.iter().find(|def| def.key == key) else {
        if COLUMN_KEYS.contains(&key) && accepted.clone().any(|def| def.key == "columns") {
            let value = if matches!(key, "features" | "feature_names" | "ignore" | "categories") {
                json!(["..."])
            } else {
                json!("...")
            };
            let columns = columns_text(None, Some((key, value)), &[]);
            return Err(Error::Unsupported(format!(
                "option '{key}': write it under \"columns\", as in {columns}"
            )));
        }
        return Err(Error::unknown("option", key, accepted.map(|def| def.key)));
    };
    if def.used_by.contains(&used) {
        return Ok(def);
    }
    let problem = if used == Use::Update && def.used_by == TRAIN {
        "an update keeps the options of the training; train the model again to change them".to_owned()
    } else {
        let functions: Vec<&str> = def.used_by.iter().map(|used| used.functions()).collect();
        format!("it belongs to {}", functions.join(", "))
    };
    Err(Error::Unsupported(format!("option '{key}': {problem}")))
}

#[cfg(test)]
mod tests;
