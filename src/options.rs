//! Options: the JSON text that is the last argument of most SQL functions. [`OPTIONS`] defines every key once.

use serde_json::json;

use crate::algorithm::short_report::ReportLength;
use crate::algorithm::{Feedback, Weighting};
use crate::clicks::{CLICK_MODEL_NAMES, Method};
use crate::column_advice::columns_text;
use crate::data::{Missing, QueryFeatureKind, QueryScale, ScalingKind};
use crate::error::{Error, Result};
use crate::evaluate::TestKind;
use crate::fit::{FitAt, LambdaScope, PenaltyKind, Prior};
use crate::loss::PairWeights;
use crate::loss::list::{self, Active, Bound, Centering, LabelOrder, LabelTies, Target};
use crate::metric::{Gain, Ties, Undefined};
use crate::model::{MAX_BUDGET, MAX_COUNT_WEIGHT, MAX_NEGATIVES};
use crate::param::{Params, Rule, named};
use crate::smoothing::SmoothingKind;
use crate::space::Form;
use crate::text::Words;
use crate::trees::{MAX_BINS, MAX_DEPTH, RowWeights};
use crate::{loss, solve};

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
#[derive(Debug)]
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

impl OptionDef {
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
const FINDS_MODELS: &[Use] = &without::<13>(&WITH_MODELS, Use::Fit);
const ALL_WITH_MODELS: &[Use] = &without::<13>(&WITH_MODELS, Use::Import);
const READS_LOGS: [Use; 4] = [Use::ClickModels, Use::Propensities, Use::Judgments, Use::InterleaveResult];
const READS: &[Use] = &joined::<17>(ALL_WITH_MODELS, &READS_LOGS);
/// All that keep `time_limit`.
const LIMITED: &[Use] = &joined::<18>(&WITH_MODELS, &READS_LOGS);
/// All that keep `max_memory`.
const RESERVES: &[Use] = &joined::<19>(LIMITED, &[Use::PairedTest]);
const FIT_OR_SCORE: &[Use] = &without::<12>(ALL_WITH_MODELS, Use::Recommend);
const MEASURES: &[Use] = &[Use::Evaluate, Use::Compare, Use::Importance, Use::Metric];
const MEASURES_OF_MODELS: &[Use] =
    &[Use::Train, Use::Fit, Use::CrossValidate, Use::Evaluate, Use::Compare, Use::Importance];
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
    def("on_conflict", Rule::OneOf(OnConflict::NAMES), "\"error\"", &[Use::Update], "if another version became active while the update was computed: error, or continue that version (retry)"),
    def("params", Rule::ArrayOrObject, "null", READS, "values for ?1, ?2, ... (array) or :name (object) in the SELECT of the source"),
    def("columns", Rule::Object, "null", READS, "columns for the roles query, doc, relevance, features, query_features, weight, doc_weight and slot, and columns to ignore; feature_names: names of the values in a column of vectors; of a log: impression, query, doc, position, clicked, team; of ltr_interleave and ltr_evaluate_clicks also score, by which a NULL model ranks"),
    def("missing", Rule::OneOf(Missing::NAMES), "\"error\"", FIT_OR_SCORE, "value for NULL features: 0, or the mean of the training; branch: each split of a tree chooses the side of missing values (default of boosted_trees)"),
    def("query_features", Rule::OneOf(QueryFeatureKind::NAMES), "null", TRAIN, "origin of query features: named columns, constant document features, or means of document features; default: the first of these that exists").searchable(),
    def("query_distance", Rule::TextOrObject, "{}", TRAIN, "how query features are compared, by name: euclidean (numbers, together), overlap (equal or not), mallows or kendall (orders of items, as JSON arrays); default: by the type of the values; learned: numbers with weights that predict the judgments of other training queries").searchable(),
    def("query_scale", Rule::OneOf(QueryScale::NAMES), "\"standard\"", TRAIN, "scaling of query features for distances").searchable(),
    def("scale", Rule::OneOf(ScalingKind::NAMES), "null", TRAIN, "scaling of document features; quantile: empirical quantile, mapped to a standard normal; standard: mean 0, standard deviation 1; query_minmax: to 0..1 within each query; quantile_minmax: quantile and query_minmax side by side (twice the features); max_norm: all features divided by the largest length of a training document; default: quantile; perceptron: none; auto: tries quantile and quantile_minmax").searchable(),
    def("kernel", Rule::TextOrObject, "null", TRAIN, "kernel: linear, polynomial, gaussian, laplace, laplace_l1, tanh, or with parameters as in {\"gaussian\": {\"gamma\": \"median\"}}; default: linear; auto: tries seven").searchable(),
    def("landmarks", Rule::Integer(1, 5000), "1000", TRAIN, "largest number of training documents that span the space of a kernel (with form ranking: of pairs); pivoted Cholesky chooses them").searchable(),
    def("smoothing", Rule::OneOf(SmoothingKind::NAMES), "null", TRAIN, "weights of training queries for a target query; default: that of the algorithm").searchable(),
    def("neighbors", Rule::Integer(1, 1_000_000_000), "15", TRAIN, "number of nearest training queries with a weight above 0").searchable(),
    def("novel_neighbors", Rule::Integer(1, 1_000_000_000), "null", TRAIN, "the same for queries that are not in the training set; default: neighbors").searchable(),
    def("bandwidth", Rule::PositiveOr(&["median", "rate"]), "\"median\"", TRAIN, "distance h in the weights of training queries; median: the median distance; rate: the median distance times n^(-1/(6 + 2p)) for n training queries and p query features").searchable(),
    def("prior", Rule::OneOfOrModel(Prior::NAMES), "null", TRAIN, "center of the penalty: 0, the function of all queries, their least-squares function, or a stored linear model as in \"@name\" or \"@name@2\"; default: that of the algorithm").searchable(),
    def("form", Rule::OneOf(Form::NAMES), "\"scoring\"", TRAIN, "scoring: f(x) scores a document; ranking: f(x, x') is a preference of pairs, and a document's score is its mean preference over the query").searchable(),
    def("solver", Rule::OneOf(solve::NAMES), "\"auto\"", TRAIN, "optimization algorithm"),
    def("loss", Rule::OneOf(loss::NAMES), "null", TRAIN, "loss function; default: that of the algorithm").searchable(),
    def("centering", Rule::OneOf(Centering::NAMES), "\"query\"", TRAIN, "whether the loss squared centers scores and grades within each query").searchable(),
    def("pair_weights", Rule::OneOf(PairWeights::NAMES), "\"equal\"", TRAIN, "weights of pairs in the pairwise losses: equal, or the difference of their grades, or of their gains 2^y - 1").searchable(),
    def("weighting", Rule::OneOf(Weighting::NAMES), "\"queries\"", TRAIN, "weights of queries in the mean loss: equal, or proportional to their number of documents or pairs").searchable(),
    def("target", Rule::OneOf(Target::NAMES), "null", TRAIN, "targets of the loss list_net and of cofi_rank: grades y or gains 2^y - 1; default: grade; cofi_rank: gain").searchable(),
    def("label_order", Rule::OneOf(LabelOrder::NAMES), "\"stable\"", TRAIN, "order of equal grades in the loss list_mle: that of the documents, or random by the seed").searchable(),
    def("cost_weights", Rule::TextOrObject, "\"swap\"", TRAIN, "weights of the loss cs_list_mle: swap, unit, rank, or {\"pair\": [[of grade j above grade t]], \"document\": [of grade]}").searchable(),
    def("truncation", Rule::Integer(1, 1_000_000_000), "null", TRAIN, "number of top ranks that the loss cs_list_mle weights; default: all").searchable(),
    def("measure", Rule::Text, "null", TRAIN, "metric inside the training loss; the option metric, which chooses lambda, is separate; direct: wta, mrr, dcg, ndcg, precision@k, eru, neru (eru divided by its maximum); slam, perceptron: ndcg, map; smooth_grad: ndcg, dcg, precision@k, wta; default: ndcg@10; slam: ndcg").searchable(),
    def("position_weights", Rule::NumbersBetween(0.0, 1e9), "null", TRAIN, "weights of the documents in the loss slam by their position in the ideal order, instead of those of measure; 0 after the last; numbers beyond the documents of a query are not used"),
    def("margin", Rule::Above(0.0, 1e9), "1", TRAIN, "margin of the loss slam between a document and those of lower grades").searchable(),
    def("label_ties", Rule::OneOf(LabelTies::NAMES), "\"average\"", TRAIN, "weights of equal grades in the loss slam: their mean, or in the order of the documents").searchable(),
    def("slot_costs", Rule::NumbersBetween(1e-9, 1e9), "null", TRAIN, "cost of a wrong document at each slot in the loss matching, slots in ascending order; default: 1 / number of slots that have a document"),
    def("penalty", Rule::OneOf(PenaltyKind::NAMES), "null", TRAIN, "ridge: lambda |f|^2 for pairwise losses, (lambda / 2) |f|^2 for listwise losses, each as in its paper; spectral: for least squares, only eigenfunctions with eigenvalues of at least lambda; ball: for smooth listwise losses, a bound of the length of the weights (with a kernel, of the coefficients of documents); sphere: that length exactly, which is not convex; l1: lambda |w|_1 for least squares and the convex bound of direct, which makes weights 0; default: that of the algorithm").searchable(),
    def("components", Rule::PositivesOr(&["auto"]), "null", TRAIN, "largest number of eigenfunctions with penalty spectral; replaces lambda").searchable(),
    def("radius", Rule::PositivesOr(&["auto"]), "1", TRAIN, "largest length of the weights with penalty ball, their length with sphere; replaces lambda").searchable(),
    def("budget", Rule::Integer(1, MAX_BUDGET as u64), "1000", TRAIN, "largest number of support documents of the perceptron with a kernel; the part of an update that is outside of their span is left out").searchable(),
    def("learning_rate", Rule::PositiveOr(&[]), "null", TRAIN, "step size of the perceptron, default 1; of boosted_trees the factor of each tree, at most 1, default 0.05 for up to 10,000 documents and 240 trees, larger for more documents or fewer trees").searchable(),
    def("trees", Rule::IntegerOr(1, 10_000, "auto"), "\"auto\"", TRAIN, "number of boosted trees; auto: up to 1000, until validation finds no improvement").searchable(),
    def("depth", Rule::Integer(1, MAX_DEPTH as u64), "6", TRAIN, "number of splits on the way to a leaf of a boosted tree").searchable(),
    def("feature_fraction", Rule::Above(0.0, 1.0), "null", TRAIN, "fraction of the features that a boosted tree may split, drawn for each tree; at least depth features; default: 1 for 30,000 documents or more, for fewer 0.5, but at least 24 features").searchable(),
    def("row_weights", Rule::OneOf(RowWeights::NAMES), "\"exponential\"", TRAIN, "what each boosted tree multiplies the weights of rows by: random numbers with an exponential distribution of mean 1, or 1").searchable(),
    def("seeds", Rule::Integer(1, 100), "1", TRAIN, "number of ensembles of boosted trees with different random choices, whose scores are averaged").searchable(),
    def("bins", Rule::Integer(2, MAX_BINS as u64), "64", TRAIN, "largest number of bins of a feature, between which boosted trees split").searchable(),
    def("query_columns", Rule::FlagOr("auto"), "\"auto\"", TRAIN, "whether boosted trees split the query features of the source as well; auto: if that improves the metric of held-out queries by more than one standard error").searchable(),
    def("update_on", Rule::OneOf(Active::NAMES), "\"margin\"", TRAIN, "documents that cause an update of the perceptron: those within the margin of a less relevant document, or those not above it").searchable(),
    def("average", Rule::Flag, "true", TRAIN, "whether the perceptron scores with the mean of its weights over all queries, not with the last weights").searchable(),
    def("epochs", Rule::Integer(1, 1_000_000), "1", TRAIN, "passes of the perceptron over the rows").searchable(),
    def("max_rounds", Rule::Integer(1, 1_000_000), "10", TRAIN, "largest number of rounds of cofi_rank for each lambda; a round fits all users, then all items").searchable(),
    def("feedback", Rule::OneOf(Feedback::NAMES), "\"ratings\"", TRAIN, "what cofi_rank learns from: ratings, or pairs of users and items without ratings (implicit)"),
    def("negatives", Rule::IntegerOr(1, MAX_NEGATIVES as u64, "all"), "\"all\"", TRAIN, "items that count as not liked with feedback implicit: all items without a pair, by weighted least squares, or so many drawn by the seed for each pair, by the loss"),
    def("count_weight", Rule::Between(0.0, MAX_COUNT_WEIGHT), "3", TRAIN, "alpha with feedback implicit and negatives all: a pair with the count n (relevance, 1 without such a column) has the weight 1 + alpha n, any other item 1"),
    def("factors", Rule::Integer(1, 1000), "10", TRAIN, "number of factors per user and item in cofi_rank").searchable(),
    def("biases", Rule::Flag, "true", TRAIN, "whether cofi_rank adds biases of users and items to the factors").searchable(),
    def("shuffle", Rule::Flag, "false", TRAIN, "whether each pass of the perceptron reads the queries in a random order by the seed").searchable(),
    def("decoder", Rule::OneOf(list::DECODERS), "null", TRAIN, "decreasing position weights c_p of the linear score sum_p c_p s_(p) in the bound of direct (sorting maximizes it for every c); metric: the discounts of the measure; default: metric; cofi_rank: power").searchable(),
    def("decoder_power", Rule::AboveOrSeveral(0.0, 3.0), "0.25", TRAIN, "d in the weights p^-d of the decoder power; from an array validation chooses, together with lambda").searchable(),
    def("bound", Rule::OneOf(Bound::NAMES), "\"nonconvex\"", TRAIN, "upper bound of the regret that the loss direct minimizes").searchable(),
    def("neutral_grade", Rule::Between(-1e9, 1e9), "0", MEASURES_OF_MODELS, "grade with gain 0 in the measures and metrics eru and neru"),
    def("half_life", Rule::Above(1.0, 1e9), "5", MEASURES_OF_MODELS, "position with weight 1/2 in the measures and metrics eru and neru"),
    def("lambda", Rule::PositivesOr(&["auto", "rate"]), "\"auto\"", TRAIN, "weight of the penalty; for auto or an array, validation chooses; rate: n^(-2/(9 + 3p)) for n training queries and p query features").searchable(),
    def("lambda_scope", Rule::OneOf(LambdaScope::NAMES), "\"all\"", TRAIN, "all: one lambda for all queries; each: one lambda for each training query, chosen on its documents of the validation"),
    def("fit_at", Rule::OneOf(FitAt::NAMES), "\"training\"", TRAIN, "when functions of training queries are fitted"),
    def("metric", Rule::Texts, "\"ndcg@10\"", NAMES_METRICS, "metric that validation maximizes, or metrics to evaluate; of ltr_evaluate_clicks: dcg, dcg@k, precision@k, default dcg@10"),
    def("validation", Rule::FractionOrText, "0.2", TRAIN, "data to choose lambda on: a fraction of the queries, \"documents\" of every query, or a source"),
    def("folds", Rule::Integer(2, 1000), "5", TRAIN, "number of parts of the queries, each held out once by cross-validation; for cofi_rank parts of the ratings of each user"),
    def("split_by", Rule::Text, "null", TRAIN, "column such as a date, by which cross-validation orders the queries: it trains on earlier ones and validates on later ones"),
    def("effort", Rule::Integer(1, 5), "3", TRAIN, "how much auto tries: candidates, folds, landmarks, and functions that are averaged; 1: fastest, 5: most thorough"),
    def("buckets", Rule::Integer(1, 65536), "null", &[Use::Train, Use::Fit], "number of buckets, a power of two, for training in rounds over ltr_pack (docs/guide/large-data.md)"),
    def("undefined", Rule::OneOf(Undefined::NAMES), "\"skip\"", &[Use::Train, Use::Fit, Use::CrossValidate, Use::Evaluate, Use::Compare, Use::Importance, Use::PairedTest], "value of a query without a relevant document in a mean"),
    def("test", Rule::OneOf(TestKind::NAMES), "\"randomization\"", TESTS, "paired test of two series of values: random signs of the differences, Student's t, or bootstrap"),
    def("samples", Rule::Integer(100, 1_000_000), "null", &[Use::Compare, Use::PairedTest, Use::Explain], "of a test: number of random sign patterns or resamples, default 10000; up to 16 pairs randomization counts all patterns; of an explanation: number of random orders of the features, each with its reverse, default 200; linear models and trees need none, nor do up to 12 features"),
    def("confidence", Rule::Between(0.5, 0.9999), "0.95", &[Use::Compare, Use::PairedTest, Use::Importance, Use::InterleaveResult, Use::EvaluateClicks], "probability that the interval covers the true difference or value"),
    def("power", Rule::Between(0.5, 0.9999), "0.8", &[Use::InterleaveResult], "probability of a p-value of at most 1 - confidence, for which more_impressions is computed"),
    def("min_difference", Rule::Between(0.0001, 1.0), "null", &[Use::InterleaveResult], "smallest true difference to find, for which more_impressions is computed; default: the observed one"),
    def("seed", Rule::Integer(0, u64::MAX), "0", &[Use::Train, Use::Fit, Use::CrossValidate, Use::Compare, Use::Interleave, Use::PairedTest, Use::Explain, Use::Importance], "seed of the choice of held-out queries or documents, of random orders, and of the samples of tests, explanations and importances; of ltr_interleave: the id of the impression, a whole number or a text, without default"),
    def("threads", Rule::Integer(1, 1024), "null", FIT_OR_SCORE, "number of threads; default: all cores"),
    def("max_memory", Rule::Bytes, "null", RESERVES, "largest number of bytes that the call allocates: rows with their ids, kernel spaces, factors, solvers, results; more is refused before it is allocated; default: no limit"),
    def("time_limit", Rule::Above(0.0, 1e9), "null", LIMITED, "seconds after which the call fails"),
    def("tolerance", Rule::Between(1e-12, 0.1), "null", TRAIN, "relative duality gap at which a fit ends; default: 1e-6 for pairwise losses, 1e-4 for convex listwise losses, 1e-2 for nonconvex listwise losses; cofi_rank: 1e-3"),
    def("progress", Rule::Flag, "false", FIT_OR_SCORE, "whether to print to standard error how many fits are done and, if all take longer than 10 s, how long the rest will take; only if that is a terminal"),
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
    def("alpha", Rule::Between(0.0, 1.0), "0.5", &[Use::Metric], "loss of value of a repeated subtopic, for ltr_alpha_ndcg"),
    def("model", Rule::OneOf(&CLICK_MODEL_NAMES), "\"auto\"", &[Use::Judgments], "click model; auto: the one that predicts held-out impressions best, of those that read the log once"),
    def("thresholds", Rule::NumbersBetween(0.0, 1.0), "null", &[Use::Judgments], "attractiveness from which the relevance is 1, 2, ...; replaces quantiles"),
    def("quantiles", Rule::NumbersBetween(0.0, 1.0), "[0.5, 0.75, 0.9]", &[Use::Judgments], "the same as quantiles of the attractiveness of all documents in the log"),
    def("propensities", Rule::TextOrArray, "null", &[Use::EvaluateClicks], "propensities: an array by position from 1, or a source with the columns position and propensity; default: estimated from the log by em"),
    def("event_weights", Rule::Object, "null", &[Use::ClickModels, Use::Propensities, Use::Judgments, Use::EvaluateClicks], "columns of a log with further events and the weights of these, as in {\"cart\": 2, \"purchase\": 5}; a click has its own value, mostly 1"),
    def("clip", Rule::Between(0.0001, 1.0), "0.01", &[Use::EvaluateClicks], "smallest propensity; smaller ones count as this one, which limits the weight of a click"),
    def("method", Rule::OneOf(Method::NAMES), "\"em\"", &[Use::Propensities], "em: likelihood of the position-based model, by expectation maximization; harvest: only documents that the log shows at several positions; both: rows of both"),
    def("words", Rule::OneOf(Words::NAMES), "\"any\"", &[Use::FtsQuery], "words that a match has: at least one, or all"),
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
            let value = if matches!(key, "features" | "feature_names" | "ignore") {
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
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::algorithm::ALGORITHMS;

    fn message(text: &str) -> String {
        parse(Some(text), Use::Train).expect_err("must be refused").to_string()
    }

    #[test]
    fn an_unknown_key_names_the_nearest_known_one() {
        assert!(message(r#"{"lamda": 1}"#).starts_with("unknown option 'lamda', did you mean 'lambda'?"));
    }

    #[test]
    fn a_role_belongs_under_columns() {
        assert_eq!(
            message(r#"{"query": "session_id"}"#),
            r#"option 'query': write it under "columns", as in '{"columns": {"query": "..."}}'"#
        );
    }

    #[test]
    fn a_call_without_the_option_columns_names_its_own_options() {
        let problem =
            parse(Some(r#"{"features": 46}"#), Use::Letor).expect_err("must be refused").to_string();
        assert!(
            problem.starts_with("unknown option 'features'") && problem.contains("feature_count"),
            "{problem}"
        );
    }

    #[test]
    fn a_wrong_value_names_key_value_and_what_is_allowed() {
        assert_eq!(
            message(r#"{"neighbors": 0}"#),
            "option 'neighbors': got 0, allowed is a whole number from 1 to 1000000000"
        );
        assert_eq!(
            message(r#"{"missing": "drop"}"#),
            "option 'missing': got \"drop\", allowed is one of \"error\", \"zero\", \"mean\", \"branch\""
        );
    }

    #[test]
    fn an_option_of_another_function_says_whose_it_is() {
        assert_eq!(
            message(r#"{"max_per_value": 1}"#),
            "option 'max_per_value': it belongs to ltr_rank, ltr_evaluate, ltr_compare"
        );
    }

    #[test]
    fn a_key_given_twice_is_refused() {
        assert_eq!(
            message(r#"{"seed": 1, "seed": 2}"#),
            "option 'seed': got it twice, allowed is each key once"
        );
        assert!(message(r#"{"columns": {"doc": "a", "doc": "b"}}"#).contains("\"doc\" appears twice"));
    }

    #[test]
    fn text_that_is_no_object_is_refused() {
        for text in ["", "[]", "{", "7", r#"{"seed": 1e999}"#, "{} x", "{\"columns\": [[}]}"] {
            assert!(message(text).starts_with("options: got '"), "{text}");
        }
    }

    #[test]
    fn every_default_obeys_its_own_rule_and_no_key_appears_twice() {
        for (index, def) in OPTIONS.iter().enumerate() {
            let default: Value = serde_json::from_str(def.default).expect("defaults are JSON");
            assert!(default.is_null() || def.rule.accepts(&default), "{}", def.key);
            assert!(OPTIONS[..index].iter().all(|earlier| earlier.key != def.key), "{} twice", def.key);
        }
    }

    #[test]
    fn defaults_of_algorithms_obey_the_rules_of_their_options() {
        for algorithm in ALGORITHMS {
            for (key, name) in algorithm.defaults {
                let option = OPTIONS.iter().find(|option| option.key == *key).expect("an option");
                assert!((algorithm.reads)(key) && option.rule.accepts(&Value::from(*name)), "{key}: {name}");
            }
        }
    }

    /// Options of every training. Other options of training belong to some algorithm; else it would be accepted without
    /// effect.
    const OF_ALL: &[&str] = &[
        "name",
        "schema",
        "keep_versions",
        "activate",
        "report",
        "params",
        "columns",
        "missing",
        "seed",
        "folds",
        "split_by",
        "buckets",
        "threads",
        "max_memory",
        "time_limit",
        "progress",
    ];

    #[test]
    fn every_option_of_training_is_read_by_an_algorithm() {
        for option in OPTIONS.iter().filter(|option| option.used_by.contains(&Use::Train)) {
            let read = crate::algorithm::ALGORITHMS.iter().any(|algorithm| (algorithm.reads)(option.key));
            assert!(read || OF_ALL.contains(&option.key), "no algorithm reads '{}'", option.key);
        }
    }
}
