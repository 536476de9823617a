//! Options: the JSON text that is the last argument of most SQL functions. [`OPTIONS`] defines every key once.

use crate::error::{Error, Result};
use crate::param::{Params, Rule};

/// Where an option is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// `ltr_train` and `ltr_fit`.
    Train,
    /// `ltr_update`.
    Update,
    /// `ltr_rank`.
    Rank,
    /// `ltr_evaluate`.
    Evaluate,
    /// `ltr_recommend`.
    Recommend,
    /// The metric aggregates.
    Metric,
    /// `ltr_letor`.
    Letor,
}

impl Use {
    /// The SQL names that this use stands for.
    pub fn functions(self) -> &'static str {
        match self {
            Self::Train => "ltr_train, ltr_fit",
            Self::Update => "ltr_update",
            Self::Rank => "ltr_rank",
            Self::Evaluate => "ltr_evaluate",
            Self::Recommend => "ltr_recommend",
            Self::Metric => "metric aggregates",
            Self::Letor => "ltr_letor",
        }
    }
}

/// One option.
#[derive(Debug)]
pub struct OptionDef {
    /// The JSON key.
    pub key: &'static str,
    /// The values it accepts.
    pub rule: Rule,
    /// What holds when it is not given, as JSON; `null` where nothing or something computed holds.
    pub default: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Where it is accepted.
    pub used_by: &'static [Use],
}

const TRAIN: &[Use] = &[Use::Train];
const STORES: &[Use] = &[Use::Train, Use::Update];
const SOURCES: &[Use] = &[Use::Train, Use::Update, Use::Rank, Use::Evaluate];
const LOADS: &[Use] = &[Use::Train, Use::Update, Use::Rank, Use::Evaluate, Use::Recommend];
const MEASURES: &[Use] = &[Use::Evaluate, Use::Metric];

const fn def(
    key: &'static str,
    rule: Rule,
    default: &'static str,
    used_by: &'static [Use],
    summary: &'static str,
) -> OptionDef {
    OptionDef { key, rule, default, summary, used_by }
}

/// Every option.
#[rustfmt::skip]
pub const OPTIONS: &[OptionDef] = &[
    def("name", Rule::Text, "null", STORES, "name of the stored model; the algorithm's, or that of the model that goes on, unless given"),
    def("schema", Rule::Text, "\"main\"", LOADS, "database that holds the table ltr_models"),
    def("keep_versions", Rule::Whole(1, 1_000_000_000), "null", STORES, "number of versions to keep; all unless given"),
    def("params", Rule::ArrayOrObject, "null", LOADS, "values for ?1.. (array) or :name (object) in the source's SELECT"),
    def("columns", Rule::Object, "null", LOADS, "columns for the roles query, doc, relevance, features, query_features, weight, slot, and those to ignore"),
    def("missing", Rule::OneOf(&["error", "zero", "mean"]), "\"error\"", SOURCES, "what a NULL feature counts as"),
    def("query_features", Rule::OneOf(&["named", "constant", "mean"]), "null", TRAIN, "where query features come from; the first of the three that exists unless given"),
    def("query_scale", Rule::OneOf(&["standard", "none"]), "\"standard\"", TRAIN, "scaling of query features before distances are taken"),
    def("scale", Rule::OneOf(&["quantile", "standard", "none", "query_minmax", "quantile_minmax"]), "\"quantile\"", TRAIN, "scaling of document features, learned in training"),
    def("kernel", Rule::TextOrObject, "\"linear\"", TRAIN, "space of the ranking function: linear, polynomial, gaussian, laplace, laplace_l1, tanh, or {\"gaussian\": {\"gamma\": \"median\"}}"),
    def("landmarks", Rule::Whole(1, 5000), "1000", TRAIN, "most training documents (pairs with the form ranking) that span the space of a kernel"),
    def("smoothing", Rule::OneOf(crate::smoothing::NAMES), "null", TRAIN, "which training queries count for a target query, and how much; the algorithm's own unless given"),
    def("neighbors", Rule::Whole(1, 1_000_000_000), "15", TRAIN, "number of nearest training queries that count"),
    def("bandwidth", Rule::PositiveOr(&["median"]), "\"median\"", TRAIN, "distance h at which a training query counts little; the median distance unless given"),
    def("prior", Rule::OneOf(&["zero", "global", "regression"]), "null", TRAIN, "what the penalty pulls to: 0, the function of all queries together, or their least-squares function; the algorithm's own unless given"),
    def("form", Rule::OneOf(&["scoring", "ranking"]), "\"scoring\"", TRAIN, "whether documents are scored or pairs of them are ordered and scores recovered"),
    def("solver", Rule::OneOf(&["auto", "newton", "dual_descent", "admm", "lbfgs", "bundle", "least_squares", "stochastic", "constraint_generation"]), "\"auto\"", TRAIN, "what minimizes the objective"),
    def("loss", Rule::OneOf(crate::loss::NAMES), "\"hinge\"", TRAIN, "what a misplaced pair costs"),
    def("centering", Rule::OneOf(&["query", "none"]), "\"query\"", TRAIN, "whether the loss squared subtracts the means of a query from scores and grades"),
    def("weighting", Rule::OneOf(&["queries", "documents", "pairs"]), "\"queries\"", TRAIN, "how queries weigh in the mean of their losses: all alike, or by their numbers of documents or of pairs of them"),
    def("target", Rule::OneOf(&["grade", "gain"]), "\"grade\"", TRAIN, "what the loss list_net makes probabilities of: grades y or gains 2^y - 1"),
    def("label_order", Rule::OneOf(&["stable", "random"]), "\"stable\"", TRAIN, "order of equal grades in the loss list_mle: that of the documents, or a random one that the seed decides"),
    def("cost_weights", Rule::TextOrObject, "\"swap\"", TRAIN, "weights of the loss cs_list_mle: swap, unit, rank, or {\"pair\": [[of grade j above grade t]], \"document\": [of grade]}"),
    def("truncation", Rule::Whole(1, 1_000_000_000), "null", TRAIN, "number of first places that the loss cs_list_mle weighs; all unless given"),
    def("measure", Rule::Text, "null", TRAIN, "measure that a listwise loss bounds, such as ndcg@10, ndcg, dcg, map, wta, mrr, precision@k, eru; the loss's own unless given"),
    def("margin", Rule::Above(0.0, 1e9), "1", TRAIN, "margin by which the loss slam wants a document above those of lower grades"),
    def("label_ties", Rule::OneOf(&["average", "stable"]), "\"average\"", TRAIN, "weights of equal grades in the loss slam: their mean, or in the order of the documents"),
    def("penalty", Rule::OneOf(&["ridge", "spectral", "ball"]), "null", TRAIN, "what keeps functions simple: lambda |f|^2, for least squares only eigenfunctions with eigenvalues from lambda, or for smooth listwise losses a largest length of the weights (with a kernel, of those of its values at documents); the algorithm's own unless given"),
    def("components", Rule::PositivesOr(&["auto"]), "null", TRAIN, "number of eigenfunctions with the spectral penalty, in place of lambda"),
    def("radius", Rule::PositivesOr(&["auto"]), "1", TRAIN, "largest length of the weights with the penalty ball, in place of lambda"),
    def("learning_rate", Rule::PositiveOr(&[]), "1", TRAIN, "length of a step of the perceptron"),
    def("update_on", Rule::OneOf(&["margin", "misorder"]), "\"margin\"", TRAIN, "documents that move the perceptron: those within the margin of a less relevant one, or those not above it"),
    def("average", Rule::Flag, "true", TRAIN, "whether the perceptron scores by the mean of its weights after every query, not by the last"),
    def("epochs", Rule::Whole(1, 1_000_000), "1", TRAIN, "passes of the perceptron over the rows"),
    def("max_rounds", Rule::Whole(1, 1_000_000), "10", TRAIN, "largest number of rounds of cofi_rank for each lambda; a round fits all users, then all items"),
    def("factors", Rule::Whole(1, 1000), "10", TRAIN, "numbers of a row of factors of a user or an item, for cofi_rank"),
    def("biases", Rule::Flag, "true", TRAIN, "whether cofi_rank fits factors around biases of users and items"),
    def("shuffle", Rule::Flag, "false", TRAIN, "whether each pass takes the queries in an order of its own, drawn with the seed"),
    def("decoder", Rule::OneOf(crate::loss::list::DECODERS), "\"linear\"", TRAIN, "weights of positions by which the loss direct makes a ranking of scores; metric takes those of the measure"),
    def("decoder_power", Rule::Above(0.0, 3.0), "0.25", TRAIN, "d in the weights p^-d of the decoder power"),
    def("bound", Rule::OneOf(crate::loss::list::BOUNDS), "\"nonconvex\"", TRAIN, "which bound of the regret the loss direct is"),
    def("neutral_grade", Rule::Between(-1e9, 1e9), "0", TRAIN, "grade that is worth nothing to the measures eru and neru"),
    def("half_life", Rule::Above(1.0, 1e9), "5", TRAIN, "position that counts half in the measures eru and neru"),
    def("lambda", Rule::PositivesOr(&["auto"]), "\"auto\"", TRAIN, "weight of the penalty; auto and lists are chosen from by validation"),
    def("lambda_scope", Rule::OneOf(&["all", "each"]), "\"all\"", TRAIN, "whether one lambda is chosen for all queries, or one for each training query on its own held-out documents"),
    def("fit_at", Rule::OneOf(&["training", "query_time"]), "\"training\"", TRAIN, "when the functions of training queries are fitted"),
    def("metric", Rule::Texts, "\"ndcg@10\"", &[Use::Train, Use::Evaluate], "metric that validation maximizes, or the metrics to evaluate"),
    def("validation", Rule::FractionOrText, "0.2", TRAIN, "what lambda is chosen on: a fraction of the queries, \"documents\" of every query, or a source"),
    def("undefined", Rule::OneOf(&["skip", "zero", "one"]), "\"skip\"", &[Use::Train, Use::Evaluate], "what a query without a relevant document counts in a mean"),
    def("seed", Rule::Whole(0, u64::MAX), "0", TRAIN, "changes which queries or documents are held out, or the order of shuffled passes"),
    def("threads", Rule::Whole(1, 1024), "null", SOURCES, "threads to compute on; all cores unless given"),
    def("max_memory", Rule::Whole(1, u64::MAX), "null", SOURCES, "bytes that the rows read, and the same rows in the space of a kernel, may take; no limit unless given"),
    def("time_limit", Rule::Above(0.0, 1e9), "null", LOADS, "seconds after which the work stops with an error"),
    def("tolerance", Rule::Between(1e-12, 0.1), "null", TRAIN, "relative duality gap at which a fit ends; 1e-6 for pairwise losses, 1e-4 for listwise ones and 1e-2 for those that are not convex unless given"),
    def("progress", Rule::Flag, "false", SOURCES, "lines about the progress on standard error, where that is a terminal"),
    def("k", Rule::Whole(1, 1_000_000_000), "null", &[Use::Rank, Use::Recommend], "number of best documents returned for each query, all unless given; of items recommended, 10 unless given"),
    def("ratings", Rule::TextArrayOrObject, "null", &[Use::Recommend], "ratings that a user is fitted to without training: {\"item\": rating}, [[item, rating], ...], or a source"),
    def("include_seen", Rule::Flag, "false", &[Use::Recommend], "whether items that the user has rated are recommended too"),
    def("diversify_by", Rule::Text, "null", &[Use::Train, Use::Rank, Use::Evaluate], "column of blocks, such as sites or topics, of which a list shows few documents"),
    def("max_per_value", Rule::Whole(1, 1_000_000_000), "1", &[Use::Rank, Use::Evaluate], "most documents of one block that a list shows"),
    def("allow_short", Rule::Flag, "false", &[Use::Rank], "whether a list may be shorter than k where the blocks have no more documents to show"),
    def("ties", Rule::OneOf(&["expected", "input", "worst", "best"]), "\"expected\"", MEASURES, "value of equal scores: mean over their orders, input order, or the extremes"),
    def("gain", Rule::OneOf(&["exp2", "linear"]), "\"exp2\"", MEASURES, "gain of a grade y: 2^y - 1 or y"),
    def("max_grade", Rule::Above(0.0, 1000.0), "null", MEASURES, "highest grade, for ERR; the list's own maximum unless given"),
    def("threshold", Rule::Between(-1e9, 1e9), "1", MEASURES, "lowest relevance that counts as relevant"),
    def("alpha", Rule::Between(0.0, 1.0), "0.5", &[Use::Metric], "how much a repeated subtopic loses, for ltr_alpha_ndcg"),
    def("feature_count", Rule::Whole(1, 1_000_000), "null", &[Use::Letor], "number of features; the highest number in the file unless given"),
];

/// Parses and checks the options of a call of the kind `used`.
///
/// # Errors
/// As [`Params::parse`]; a key that belongs to other functions.
pub fn parse(text: Option<&str>, used: Use) -> Result<Params> {
    Params::parse(text, |key| find(key, used).map(|def| def.rule))
}

fn find(key: &str, used: Use) -> Result<&'static OptionDef> {
    if used == Use::Update && OPTIONS.iter().any(|def| def.key == key && def.used_by == [Use::Train]) {
        let reason = "a model goes on with the choices of its training; train it again to change them";
        return Err(Error::Unsupported(format!("option '{key}': {reason}")));
    }
    match OPTIONS.iter().find(|def| def.key == key) {
        Some(def) if def.used_by.contains(&used) => Ok(def),
        Some(def) => {
            let others: Vec<&str> = def.used_by.iter().map(|used| used.functions()).collect();
            Err(Error::Unsupported(format!("option '{key}': it belongs to {}", others.join(", "))))
        }
        None => {
            let accepted = OPTIONS.iter().filter(|def| def.used_by.contains(&used));
            Err(Error::unknown("option", key, accepted.map(|def| def.key)))
        }
    }
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
    fn a_wrong_value_names_key_value_and_what_is_allowed() {
        assert_eq!(
            message(r#"{"neighbors": 0}"#),
            "option 'neighbors': got 0, allowed is a whole number from 1 to 1000000000"
        );
        assert_eq!(
            message(r#"{"missing": "drop"}"#),
            "option 'missing': got \"drop\", allowed is one of \"error\", \"zero\", \"mean\""
        );
    }

    #[test]
    fn an_option_of_another_function_says_whose_it_is() {
        assert_eq!(
            message(r#"{"max_per_value": 1}"#),
            "option 'max_per_value': it belongs to ltr_rank, ltr_evaluate"
        );
    }

    #[test]
    fn a_key_given_twice_is_refused() {
        assert_eq!(
            message(r#"{"seed": 1, "seed": 2}"#),
            "option 'seed': got it twice, allowed is each key once"
        );
        assert!(message(r#"{"columns": {"doc": "a", "doc": "b"}}"#).contains("\"doc\" stands twice"));
    }

    #[test]
    fn text_that_is_no_object_is_refused() {
        for text in ["", "[]", "{", "7", r#"{"seed": 1e999}"#, "{} x", "{\"columns\": [[}]}"] {
            assert!(message(text).starts_with("options: got '"), "{text}");
        }
    }

    #[test]
    fn every_default_obeys_its_own_rule_and_no_key_stands_twice() {
        for (index, def) in OPTIONS.iter().enumerate() {
            let default: Value = serde_json::from_str(def.default).expect("defaults are JSON");
            assert!(default.is_null() || def.rule.accepts(&default), "{}", def.key);
            assert!(OPTIONS[..index].iter().all(|earlier| earlier.key != def.key), "{} twice", def.key);
        }
    }

    #[test]
    fn parameters_of_algorithms_are_options() {
        for parameter in ALGORITHMS.iter().flat_map(|algorithm| algorithm.parameters) {
            assert!(OPTIONS.iter().any(|option| option.key == *parameter), "{parameter}");
        }
    }
}
