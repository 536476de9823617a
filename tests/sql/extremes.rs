//! Extreme numbers that are allowed, in every option and algorithm and in the data: an error, or a model with finite
//! scores. Subnormal numbers are not allowed.

use rusqlite::Connection;
use serde_json::{Map, Value, json};
use sqlite_ltr::internals::base::param::{POSITIVE, Rule};
use sqlite_ltr::internals::train::ALGORITHMS;
use sqlite_ltr::internals::train::algorithm::AlgorithmDef;
use sqlite_ltr::internals::train::options::{OPTIONS, Use};

use crate::support::database;

/// Five judged queries of four documents, and pairs of users and items.
const SCHEMA: &str = "
CREATE TABLE judged(query_id, doc_id, relevance, a REAL, b REAL);
WITH RECURSIVE
  queries(q) AS (VALUES (1) UNION ALL SELECT q + 1 FROM queries WHERE q < 5),
  documents(d) AS (VALUES (1) UNION ALL SELECT d + 1 FROM documents WHERE d < 4)
INSERT INTO judged SELECT q, d, (5 * d + q) % 3, ((7 * d + 3 * q) % 11) / 11.0, ((5 * d + 4 * q) % 13) / 13.0
FROM queries, documents;
";

/// Rows with ordinary numbers, then with extreme features, query features, grades and weights.
const SOURCES: &[&str] = &[
    "SELECT * FROM judged",
    "SELECT query_id, doc_id, relevance, a * 1e200 AS a, b * 1e-200 AS b FROM judged",
    "SELECT query_id, doc_id, relevance, a * 1e308 AS a, b - 1e308 AS b FROM judged",
    "SELECT *, query_id * 1e200 AS q_mood FROM judged",
    "SELECT query_id, doc_id, relevance * 1e200 AS relevance, a, b FROM judged",
    "SELECT query_id, doc_id, relevance * 8e307 AS relevance, a, b FROM judged",
    "SELECT query_id, doc_id, relevance * 1e-300 AS relevance, a, b FROM judged",
    "SELECT *, iif(query_id < 3, 1e300, 1e-300) AS weight FROM judged",
];

/// Options that another one needs to have an effect, if the companion in the table is not enough.
const COMPANIONS: &[(&str, &str)] = &[
    ("radius", r#"{"penalty": "ball", "loss": "cs_list_mle", "prior": "zero"}"#),
    ("components", r#"{"penalty": "spectral", "loss": "pair_squared", "prior": "zero"}"#),
    ("decoder_power", r#"{"loss": "direct", "decoder": "power"}"#),
    ("half_life", r#"{"loss": "direct", "measure": "eru"}"#),
    ("neutral_grade", r#"{"loss": "direct", "measure": "neru"}"#),
    ("margin", r#"{"loss": "slam"}"#),
    ("slot_costs", r#"{"lambda": 1}"#),
    ("truncation", r#"{"loss": "cs_list_mle"}"#),
    ("bandwidth", r#"{"smoothing": "gaussian"}"#),
    ("neighbors", r#"{"smoothing": "knn"}"#),
    ("threshold", r#"{"loss": "svm_map"}"#),
    ("seeds", r#"{"trees": 5}"#),
];

/// Options that do not change the model, or only how long it takes; and `effort` of `auto`, which needs more queries
/// (`effort.rs`).
const OTHERS: &[&str] = &[
    "name",
    "schema",
    "keep_versions",
    "folds",
    "threads",
    "max_memory",
    "time_limit",
    "max_grade",
    "effort",
];

fn connect() -> Connection {
    let connection = database();
    connection.execute_batch(SCHEMA).unwrap();
    connection
}

/// The smallest and largest allowed numbers, and some between; none if the option takes no number.
fn extremes(rule: Rule) -> Vec<Value> {
    let positive = [f64::MIN_POSITIVE, 1e-300, 1e-150, 1e-20, 1e20, 1e150, 1e300, f64::MAX];
    match rule {
        Rule::Integer(low, high) => vec![json!(low), json!(high)],
        POSITIVE => positive.iter().map(|number| json!(number)).collect(),
        Rule::Above(low, high) if low > 0.0 => vec![json!(low.next_up()), json!(high)],
        Rule::Above(_, high) => vec![json!(f64::MIN_POSITIVE), json!(1e-150), json!(high)],
        Rule::Between(low, high) => {
            // 1 separates grades: a threshold without relevant or without irrelevant documents gives no model.
            let numbers = [low, 0.5 * (low + high), 1.0, high].into_iter();
            numbers.filter(|number| (low..=high).contains(number)).map(|number| json!(number)).collect()
        }
        Rule::Median => vec![json!("1e-300 median")],
        Rule::Several(&POSITIVE) => vec![json!([f64::MIN_POSITIVE, 1.0, f64::MAX])],
        Rule::Fraction => vec![json!(f64::MIN_POSITIVE), json!(1.0f64.next_down())],
        Rule::Or(rules) => rules.iter().copied().flat_map(extremes).collect(),
        _ => Vec::new(),
    }
}

/// Trains and ranks; returns whether there was a model.
fn try_it(connection: &Connection, algorithm: &AlgorithmDef, source: &str, options: &Value) -> bool {
    let sql = "SELECT ltr_fit(?1, ?2, ?3)";
    let what = format!("{} {options} on {source}", algorithm.name);
    let source = match algorithm.name {
        "cofi_rank" if options["feedback"] == "implicit" => {
            format!("SELECT query_id AS user, doc_id AS item FROM ({source})")
        }
        "cofi_rank" => {
            format!("SELECT query_id AS user, doc_id AS item, relevance AS rating FROM ({source})")
        }
        "matching" => format!(
            "SELECT query_id, one.doc_id, two.doc_id AS slot, one.doc_id = two.doc_id AS relevance, one.a, two.b \
             FROM ({source}) one JOIN ({source}) two USING (query_id)"
        ),
        _ => source.to_owned(),
    };
    let accepted = |problem: &rusqlite::Error| {
        let problem = problem.to_string();
        assert!(problem.starts_with("ltr_") && !problem.contains("internal error"), "{what}: {problem}");
    };
    let model = connection.query_row(sql, (algorithm.name, &source, options.to_string()), |row| row.get(0));
    let model: Vec<u8> = match model {
        Ok(model) => model,
        Err(problem) => {
            accepted(&problem);
            return false;
        }
    };
    let sql =
        "SELECT coalesce(sum(coalesce(abs(score) > 1.7976931348623157e308, 1)), 0) FROM ltr_rank(?1, ?2)";
    for source in [&source, "SELECT query_id + 100 AS query_id, doc_id, a, b FROM judged", "judged"] {
        match connection.query_row(sql, (&model, source), |row| row.get::<_, i64>(0)) {
            Ok(wrong) => assert_eq!(wrong, 0, "{what}"),
            Err(problem) => accepted(&problem),
        }
    }
    true
}

fn base(algorithm: &AlgorithmDef, key: &str) -> Map<String, Value> {
    let companions = COMPANIONS.iter().find(|(known, _)| *known == key).map_or("{}", |(_, options)| options);
    let mut options: Map<String, Value> = serde_json::from_str(companions).unwrap();
    let companion = OPTIONS.iter().find(|option| option.key == key).and_then(|option| option.companion);
    if let Some((other, value)) = companion.filter(|_| options.is_empty()) {
        options.insert(other.to_owned(), json!(value));
    }
    options.retain(|key, _| (algorithm.reads)(key));
    let replaced = ["radius", "components", "lambda"].contains(&key);
    if (algorithm.reads)("lambda") && !replaced && key != "validation" {
        options.insert("lambda".to_owned(), json!(0.1));
    }
    options.insert("time_limit".to_owned(), json!(1));
    options.insert("threads".to_owned(), json!(1));
    options
}

#[test]
fn extreme_options_of_every_algorithm_are_refused_or_give_finite_scores() {
    let connection = connect();
    let numbers =
        OPTIONS.iter().filter(|option| option.used_by.contains(Use::Train) && !OTHERS.contains(&option.key));
    let mut untried: Vec<&str> = Vec::new();
    for option in numbers.filter(|option| !extremes(option.rule).is_empty()) {
        let mut models = 0;
        // These are options of every training.
        let of_all = ["seed", "buckets"].contains(&option.key);
        let reads = |algorithm: &&&AlgorithmDef| of_all || (algorithm.reads)(option.key);
        for algorithm in ALGORITHMS.iter().filter(reads) {
            for value in extremes(option.rule) {
                let mut options = base(algorithm, option.key);
                options.insert(option.key.to_owned(), value);
                models += usize::from(try_it(&connection, algorithm, SOURCES[0], &Value::Object(options)));
            }
        }
        if models == 0 {
            untried.push(option.key);
        }
    }
    assert!(untried.is_empty(), "no model with {untried:?}: are other options missing in this test?");
}

/// The default of each option in `ltr_algorithms` is what a training without the option does: both give the same scores.
#[test]
fn defaults_of_the_table_match_trainings() {
    let connection = connect();
    let mut compared = 0;
    for algorithm in ALGORITHMS.iter().filter(|algorithm| !["auto", "matching"].contains(&algorithm.name)) {
        let sql = "SELECT coalesce('{\"' || (SELECT key FROM json_each(option.value, '$.with')) || '\":'
                || json_quote((SELECT value FROM json_each(option.value, '$.with'))) || '}', '{}'),
                json_object(option.key, json(option.value -> '$.default'))
            FROM ltr_algorithms AS a, json_each(a.parameters) AS option
            WHERE a.name = ?1 AND json_type(option.value, '$.default') IN ('text', 'integer', 'real', 'true', 'false')
                AND option.key NOT IN ('trees', 'lambda')";
        let mut statement = connection.prepare(sql).unwrap();
        let listed = statement.query_map([algorithm.name], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        for (with, default) in listed.map(Result::unwrap).collect::<Vec<(String, String)>>() {
            let scores = |option: &str| -> Result<String, rusqlite::Error> {
                let base =
                    if (algorithm.reads)("trees") { json!({"trees": 3}) } else { json!({"lambda": 0.1}) };
                let base =
                    if (algorithm.reads)("lambda") || (algorithm.reads)("trees") { base } else { json!({}) };
                let source = match algorithm.name {
                    "cofi_rank" => "SELECT query_id AS user, doc_id AS item, relevance AS rating FROM judged",
                    _ => "judged",
                };
                let sql = "SELECT group_concat(quote(score)) FROM ltr_rank(
                    ltr_fit(?1, ?2, json_patch(json_patch(?3, ?4), ?5)), ?2)";
                let given = (algorithm.name, source, base.to_string(), &with, option);
                connection.query_row(sql, given, |row| row.get(0))
            };
            let (given, left_out) = (scores(&default), scores("{}"));
            // A combination may need one more option: then both are refused alike.
            if let (Ok(given), Ok(left_out)) = (&given, &left_out) {
                assert_eq!(given, left_out, "{} {with} {default}", algorithm.name);
                compared += 1;
            } else if !default.contains("\"validation\"") {
                assert!(
                    given.is_err() && left_out.is_err(),
                    "{} {with} {default}: {given:?}, {left_out:?}",
                    algorithm.name
                );
            }
        }
    }
    assert!(compared > 150, "{compared}");
}

#[test]
fn extreme_kernels_are_refused_or_give_finite_scores() {
    let connection = connect();
    for algorithm in ALGORITHMS.iter().filter(|algorithm| (algorithm.reads)("kernel")) {
        for value in [f64::MIN_POSITIVE, 1e-150, 1e20, 1e150, f64::MAX] {
            for kernel in [
                json!({ "gaussian": { "gamma": value } }),
                json!({ "gaussian": { "width": value } }),
                json!({ "laplace": { "gamma": value } }),
                json!({ "laplace_l1": { "width": value } }),
                json!({ "polynomial": { "degree": 3, "scale": value } }),
                json!({ "polynomial": { "degree": 10, "offset": value } }),
                json!({ "tanh": { "scale": value } }),
                json!({ "tanh": { "offset": -value } }),
            ] {
                let mut options = base(algorithm, "kernel");
                options.insert("kernel".to_owned(), kernel);
                options.insert("landmarks".to_owned(), json!(4));
                try_it(&connection, algorithm, SOURCES[0], &Value::Object(options));
            }
        }
    }
}

#[test]
fn extreme_data_are_refused_or_give_finite_scores() {
    let connection = connect();
    for algorithm in ALGORITHMS {
        for source in SOURCES {
            for scale in ["quantile", "standard", "none", "query_minmax"] {
                let mut options = base(algorithm, "");
                if (algorithm.reads)("scale") {
                    options.insert("scale".to_owned(), json!(scale));
                } else if scale != "quantile" {
                    continue;
                }
                try_it(&connection, algorithm, source, &Value::Object(options));
            }
        }
    }
}

fn refusal(connection: &Connection, algorithm: &str, options: &str) -> String {
    let sql = "SELECT ltr_fit(?1, 'judged', ?2)";
    let model = connection.query_row(sql, (algorithm, options), |row| row.get::<_, Vec<u8>>(0));
    model.expect_err(options).to_string()
}

#[test]
fn subnormal_options_are_refused() {
    let connection = connect();
    let smallest = "; the smallest number above 0 is 2.2250738585072014e-308";
    for (algorithm, options, beginning) in [
        (
            "direct",
            r#"{"lambda": 1e-320}"#,
            "ltr_fit: option 'lambda': got 1e-320, expected a number above 0",
        ),
        (
            "direct",
            r#"{"lambda": [1, 5e-324]}"#,
            "ltr_fit: option 'lambda': got [1,5e-324], expected a number above 0",
        ),
        ("q_svm", r#"{"bandwidth": 1e-310}"#, "ltr_fit: option 'bandwidth': got 1e-310, expected"),
        ("slam", r#"{"margin": 1e-310}"#, "ltr_fit: option 'margin': got 1e-310, expected"),
        ("perceptron", r#"{"learning_rate": 1e-310}"#, "ltr_fit: option 'learning_rate': got 1e-310"),
        ("rank_svm", r#"{"validation": 1e-310}"#, "ltr_fit: option 'validation': got 1e-310"),
        ("rank_svm", r#"{"kernel": {"gaussian": {"gamma": 1e-310}}}"#, "ltr_fit: "),
    ] {
        let problem = refusal(&connection, algorithm, options);
        assert!(problem.starts_with(beginning) && problem.ends_with(smallest), "{problem}");
    }
    assert!(!refusal(&connection, "direct", r#"{"lambda": 0}"#).contains("smallest"));
}

/// `ltr_evaluate`, `ltr_dcg` and the validation of a training refuse the same grades.
#[test]
fn grades_too_large_for_a_metric_are_refused_everywhere() {
    let connection = connect();
    let model: Vec<u8> = connection
        .query_row("SELECT ltr_fit('rank_svm', 'judged', '{\"lambda\": 1}')", [], |row| row.get(0))
        .unwrap();
    let refused = "the grades are so large that the value of 'dcg' is beyond 1e288";
    for (grade, allowed) in [("900", true), ("1000", false), ("1e308", false), ("3", true)] {
        let source = format!(
            "SELECT query_id, doc_id, iif(relevance > 1, {grade}, relevance) AS relevance, a, b FROM judged"
        );
        let outcomes = [
            connection.query_row(&format!("SELECT max(v) FROM (SELECT ltr_metric('dcg', relevance, a) AS v FROM ({source}) GROUP BY query_id)"), [], |_| Ok(())),
            connection.query_row("SELECT sum(value IS NULL) FROM ltr_evaluate(?1, ?2, '{\"metric\": \"dcg\"}')", (&model, &source), |_| Ok(())),
            connection.query_row("SELECT ltr_fit('rank_svm', ?1, '{\"metric\": \"dcg\", \"lambda\": [1, 0.1], \"validation\": 0.4}')", [&source], |_| Ok(())),
        ];
        for outcome in outcomes {
            match outcome {
                Ok(()) => assert!(allowed, "{grade}"),
                Err(problem) => {
                    assert!(!allowed && problem.to_string().contains(refused), "{grade}: {problem}");
                }
            }
        }
    }
    let problem = connection
        .query_row("SELECT sum(value) FROM ltr_evaluate(?1, 'SELECT query_id, doc_id, 1e9 AS relevance, a, b FROM judged WHERE query_id = 4', '{\"metric\": \"dcg\"}')", [&model], |_| Ok(()))
        .unwrap_err()
        .to_string();
    assert_eq!(problem, format!("ltr_evaluate: query 4: {refused}"));
}

/// Scores and contributions that are not finite are errors that name the row or the feature.
#[test]
fn features_too_large_for_a_model_are_named() {
    let connection = connect();
    let fit = |algorithm: &str, options: &str| -> Vec<u8> {
        connection
            .query_row("SELECT ltr_fit(?1, 'judged', ?2)", (algorithm, options), |row| row.get(0))
            .unwrap()
    };
    let model = fit("rank_svm", r#"{"lambda": 1e-9, "scale": "standard"}"#);
    let problem = |sql: &str| connection.query_row(sql, [&model], |_| Ok(())).unwrap_err().to_string();
    let huge = "SELECT * FROM ltr_rank(?1, 'SELECT 8 AS query_id, doc_id, iif(doc_id = 3, 1.7e308, a) AS a, b FROM judged')";
    assert!(
        problem(huge).starts_with("ltr_rank: query 8, document 3: the score is beyond the range of numbers"),
        "{}",
        problem(huge)
    );
    let score = problem("SELECT ltr_score(?1, '[0, -1.7e308]')");
    assert!(score.contains("(value 2 has the size 1.7e308)"), "{score}");
    let explain = problem("SELECT * FROM ltr_explain(?1, '[1.7e308, 0]')");
    assert!(
        explain
            .starts_with("ltr_explain: the contribution of feature \"a\" with the value 1.7e308 is beyond"),
        "{explain}"
    );
    let model = fit("q_svm", r#"{"lambda": 0.1, "scale": "standard", "query_features": "mean"}"#);
    let problem = |sql: &str| connection.query_row(sql, [&model], |_| Ok(())).unwrap_err().to_string();
    let neighbors = problem("SELECT * FROM ltr_neighbors(?1, '[1e300, 0]')");
    assert!(
        neighbors.contains("query feature \"a\" with the value 1e300 is too large for distances")
            || neighbors.contains("'query_features': \"a\""),
        "{neighbors}"
    );
}
