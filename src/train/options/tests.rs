use super::*;
use crate::cost::metric::MetricOptions;
use crate::train::ALGORITHMS;

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
    let problem = parse(Some(r#"{"features": 46}"#), Use::Letor).expect_err("must be refused").to_string();
    assert!(
        problem.starts_with("unknown option 'features'") && problem.contains("feature_count"),
        "{problem}"
    );
}

#[test]
fn a_message_lists_the_common_options_of_a_training() {
    let problem = message(r#"{"xyzzyx": 46}"#);
    assert!(
        problem.contains("known: name, schema,") && problem.contains("SELECT name, family FROM ltr_options"),
        "{problem}"
    );
    assert!(OPTIONS.iter().filter(|def| def.family == COMMON).count() <= 25);
    assert!(!problem.contains("xyzzyx, ") && !problem.contains("novel_neighbors"), "{problem}");
}

#[test]
fn a_wrong_value_names_key_value_and_what_is_allowed() {
    assert_eq!(
        message(r#"{"neighbors": 0}"#),
        "option 'neighbors': got 0, expected a whole number from 1 to 1000000000 or \"auto\""
    );
    assert_eq!(
        message(r#"{"missing": "drop"}"#),
        "option 'missing': got \"drop\", expected one of \"error\", \"zero\", \"mean\", \"branch\""
    );
}

#[test]
fn an_option_of_another_function_says_whose_it_is() {
    assert_eq!(
        message(r#"{"max_per_value": 1}"#),
        "option 'max_per_value': it belongs to ltr_rank, ltr_search, ltr_evaluate, ltr_compare"
    );
}

#[test]
fn a_key_given_twice_is_refused() {
    assert_eq!(message(r#"{"seed": 1, "seed": 2}"#), "option 'seed': got the key twice, expected once");
    assert!(message(r#"{"columns": {"doc": "a", "doc": "b"}}"#).contains("\"doc\" appears twice"));
}

#[test]
fn text_that_is_not_an_object_is_refused() {
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

/// A value of an option that every algorithm that lists the option accepts.
fn sound(option: &OptionDef, algorithm: &AlgorithmDef) -> Value {
    if let Some((_, name)) = algorithm.defaults.iter().find(|(key, _)| *key == option.key) {
        return json!(name);
    }
    match option.key {
        "validation" if algorithm.name == "indv_svm" => json!("documents"),
        "kernel" => json!("gaussian"),
        "measure" => json!("ndcg"),
        "diversify_by" => json!("site"),
        "baseline" => json!("bm25"),
        "monotone" => json!({"price": -1}),
        "probability" => json!(true),
        "scale" => json!("standard"),
        "query_features" => json!("named"),
        "smoothing" => json!("uniform"),
        "prior" => json!("zero"),
        "penalty" => json!("ridge"),
        "loss" => json!("squared"),
        "target" => json!("grade"),
        "label_ties" => json!("average"),
        "decoder" => json!("linear"),
        "tolerance" => json!(1e-3),
        "position_weights" | "grade_weights" | "discounts" | "slot_costs" => json!([1]),
        _ if option.default == "null" => json!(1),
        _ => serde_json::from_str(option.default).expect("defaults are JSON"),
    }
}

/// `ltr_algorithms.parameters` says what training says.
#[test]
fn an_algorithm_accepts_the_options_that_it_lists_and_refuses_the_others() {
    for algorithm in ALGORITHMS {
        let options = OPTIONS.iter().filter(|option| option.used_by.contains(Use::Train));
        for option in options.filter(|option| !OF_ALL.contains(&option.key)) {
            let mut given = Map::from_iter([(option.key.to_owned(), sound(option, algorithm))]);
            let listed = option.acts_in(algorithm);
            if let Some((other, value)) = option.companion.filter(|_| listed) {
                given.insert(other.to_owned(), json!(value));
            }
            let text = Value::Object(given).to_string();
            let parsed = parse(Some(&text), Use::Train).and_then(|params| algorithm.spec(&params));
            match parsed {
                Ok(_) => assert!(listed, "{}: {text} is accepted", algorithm.name),
                Err(problem) => {
                    let problem = problem.to_string();
                    let named = problem.contains(&format!("'{}'", option.key));
                    assert!(!listed && named, "{}: {text}: {problem}", algorithm.name);
                }
            }
        }
    }
}

#[test]
fn an_algorithm_lists_the_options_of_its_own_loss_smoothing_and_penalty() {
    let lists = |name: &str, key: &str| {
        let algorithm = crate::train::algorithm::find(name).expect("an algorithm");
        OPTIONS.iter().any(|option| option.key == key && option.acts_in(algorithm))
    };
    assert!(lists("boosted_trees", "trees") && !lists("boosted_trees", "cost_weights"));
    assert!(lists("rank_svm", "landmarks") && !lists("rank_svm", "neighbors"));
    assert!(lists("q_svm", "neighbors") && lists("eigen_rank", "components"));
}

#[test]
fn summaries_are_one_line() {
    for def in OPTIONS {
        assert!(def.summary.len() <= 120, "{}: {} bytes", def.key, def.summary.len());
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
    "candidates",
    "missing",
    "seed",
    "folds",
    "split_by",
    "group_by",
    "buckets",
    "threads",
    "max_memory",
    "time_limit",
    "progress",
];

#[test]
fn every_option_of_training_is_read_by_an_algorithm() {
    for option in OPTIONS.iter().filter(|option| option.used_by.contains(Use::Train)) {
        let read = crate::train::ALGORITHMS.iter().any(|algorithm| (algorithm.reads)(option.key));
        assert!(read || OF_ALL.contains(&option.key), "no algorithm reads '{}'", option.key);
    }
}

#[test]
fn metrics_apply_the_defaults_of_the_table() {
    let metrics = OPTIONS.iter().filter(|def| def.family == "metrics" && def.default != "null");
    let defaults = metrics.map(|def| (def.key.to_owned(), serde_json::from_str(def.default).unwrap()));
    let given = Params::from(defaults.collect::<Map<_, _>>());
    assert_eq!(MetricOptions::default().with(&given).unwrap(), MetricOptions::default());
}
