//! Monotone features (rule 5.38): random pairs of documents that differ in one of them, for every algorithm that takes the option.

use rusqlite::Connection;
use serde_json::{Value as Json, json};
use sqlite_ltr::internals::math::random::Random;

use crate::support::{database, is_long, value};

/// The features. The grade of a document has no order in `price` and `stars`; `text` is what users want.
const FEATURES: [&str; 4] = ["price", "stars", "text", "age"];

/// 60 queries of 10 documents for the training, some values missing, and pairs of documents that differ in one of the first
/// three features: document 0 of the queries 2 p and 2 p + 1, where it has the higher value.
fn documents(pairs: usize) -> Connection {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE judged (query_id, doc_id, relevance, price, stars, text, age);
             CREATE TABLE pairs (query_id, doc_id, feature, price, stars, text, age);
             CREATE TABLE filled AS SELECT * FROM judged;
             BEGIN",
        )
        .unwrap();
    let mut random = Random::new(56);
    let mut judged = connection.prepare("INSERT INTO judged VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)").unwrap();
    for number in 0..600_i64 {
        let x: Vec<f64> = (0..4).map(|_| random.symmetric()).collect();
        let grade = (2.0 + 1.5 * x[2] + (6.0 * x[0]).sin() + (5.0 * x[1]).cos() + random.symmetric())
            .clamp(0.0, 4.0)
            .round();
        let x: Vec<Option<f64>> = x.into_iter().map(|x| (random.below(12) > 0).then_some(x)).collect();
        judged.execute(rusqlite::params![number / 10, number, grade, x[0], x[1], x[2], x[3]]).unwrap();
    }
    // Scalings within queries need other documents, which are the same for both documents of a pair.
    let mut insert = connection.prepare("INSERT INTO pairs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)").unwrap();
    for pair in 0..pairs {
        let feature = pair % 3;
        let document = |random: &mut Random| -> Vec<Option<f64>> {
            (0..4).map(|_| (random.below(10) > 0).then(|| 1.2 * random.symmetric())).collect()
        };
        let mut documents: Vec<Vec<Option<f64>>> = (0..3).map(|_| document(&mut random)).collect();
        let (a, b) = (1.2 * random.symmetric(), 1.2 * random.symmetric());
        for (higher, value) in [(0, a.min(b)), (1, a.max(b))] {
            documents[0][feature] = Some(value);
            for (x, doc) in documents.iter().zip(0..) {
                let query = 2 * pair as i64 + higher;
                let row = rusqlite::params![query, doc, FEATURES[feature], x[0], x[1], x[2], x[3]];
                insert.execute(row).unwrap();
            }
        }
    }
    drop((judged, insert));
    connection
        .execute_batch(
            "COMMIT;
             INSERT INTO filled SELECT query_id, doc_id, relevance, coalesce(price, 0), coalesce(stars, 0), coalesce(text, 0), coalesce(age, 0) FROM judged",
        )
        .unwrap();
    connection
}

/// For each sign the share of pairs against it.
fn against(connection: &Connection, (model, missing): (&[u8], &str), signs: &Json) -> Vec<f64> {
    connection
        .execute_batch(
            "DROP TABLE IF EXISTS ranked; CREATE TEMP TABLE ranked (query_id INTEGER, doc_id, score)",
        )
        .unwrap();
    let rank = "INSERT INTO ranked SELECT query_id, doc_id, score FROM ltr_rank(?1, 'SELECT query_id, doc_id, price, stars, text, age FROM pairs', ?2)";
    connection.execute(rank, (model, format!("{{\"missing\": \"{missing}\"}}"))).unwrap();
    connection
        .execute_batch("DELETE FROM ranked WHERE doc_id > 0; CREATE INDEX of_query ON ranked (query_id)")
        .unwrap();
    let sql = "SELECT avg(?2 * (b.score - a.score) < 0) FROM pairs AS p JOIN ranked AS a USING (query_id)
                 JOIN ranked AS b ON b.query_id = p.query_id + 1 WHERE p.feature = ?1 AND p.doc_id = 0 AND p.query_id % 2 = 0";
    let signs = signs.as_object().unwrap().iter();
    signs.map(|(feature, sign)| value(connection, sql, (feature, sign.as_i64()))).collect()
}

fn fit(connection: &Connection, (algorithm, options): &(&str, Json), signs: Option<&Json>) -> Vec<u8> {
    let mut options = options.clone();
    if let Some(signs) = signs {
        options["monotone"] = signs.clone();
    }
    let source =
        if *algorithm == "boosted_trees" || *algorithm == "lambdamart" { "judged" } else { "filled" };
    value(connection, "SELECT ltr_fit(?1, ?2, ?3)", (*algorithm, source, options.to_string()))
}

/// Algorithms that are trained on rows with missing values.
fn has_trees(algorithm: &str) -> bool {
    ["boosted_trees", "lambdamart"].contains(&algorithm)
}

/// Rule 5.38. With `LTR_LONG` a million pairs.
#[test]
fn no_pair_is_against_its_sign() {
    let connection = documents(if is_long() { 1_000_000 } else { 6_000 });
    let two = json!({"price": -1, "stars": 1});
    let three = json!({"price": -1, "stars": 1, "text": 1});
    let cases = [
        ("boosted_trees", json!({"trees": 40})),
        ("boosted_trees", json!({"trees": 15, "depth": 8, "bins": 200, "learning_rate": 0.5})),
        ("boosted_trees", json!({"trees": 15, "loss": "logistic", "seeds": 2, "scale": "quantile"})),
        ("boosted_trees", json!({"trees": 10, "scale": "none+quantile_minmax", "missing": "zero"})),
        ("lambdamart", json!({"trees": 20})),
        ("auto", json!({})),
        ("regression", json!({"lambda": 0.01})),
        ("list_net", json!({"lambda": 0.01})),
        ("list_mle", json!({"lambda": 0.01, "scale": "none"})),
        ("rank_svm", json!({"lambda": 0.01, "loss": "squared_hinge", "scale": "standard"})),
        ("rank_svm", json!({"lambda": 0.01, "loss": "logistic"})),
    ];
    for case in &cases {
        let splits_missing = has_trees(case.0) && case.1["missing"] != "zero";
        let missing = if splits_missing { "branch" } else { "zero" };
        for signs in [&two, &three] {
            let model = fit(&connection, case, Some(signs));
            let found = against(&connection, (&model, missing), signs);
            assert!(found.iter().all(|share| *share <= 0.0), "{case:?} {signs}: {found:?}");
        }
        // Without the option trees do not keep the order.
        if has_trees(case.0) {
            let free = against(&connection, (&fit(&connection, case, None), missing), &two);
            assert!(free.iter().any(|share| *share > 0.05), "{case:?}: {free:?}");
        }
    }
}

/// Rule 5.38: signs that the rows have anyway change no linear function, up to the tolerance.
#[test]
fn signs_that_hold_leave_the_optimum() {
    let connection = documents(0);
    for case in [
        ("regression", json!({"lambda": 0.01, "tolerance": 1e-9})),
        ("list_net", json!({"lambda": 0.01, "tolerance": 1e-9})),
        ("rank_svm", json!({"lambda": 0.01, "loss": "squared_hinge", "tolerance": 1e-9})),
    ] {
        let weights = |model: Vec<u8>| -> Vec<(String, f64)> {
            let mut statement =
                connection.prepare("SELECT feature, weight FROM ltr_weights(?1) ORDER BY feature").unwrap();
            let rows = statement.query_map([model], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            rows.collect::<Result<_, _>>().unwrap()
        };
        let free = weights(fit(&connection, &case, None));
        let signs: serde_json::Map<String, Json> = free
            .iter()
            .map(|(name, weight)| (name.clone(), json!(if *weight >= 0.0 { 1 } else { -1 })))
            .collect();
        let signed = weights(fit(&connection, &case, Some(&Json::Object(signs))));
        for ((name, a), (_, b)) in free.iter().zip(&signed) {
            assert!((a - b).abs() < 1e-4 * (1.0 + a.abs()), "{case:?} {name}: {a} {b}");
        }
        // Against the rows the weight is 0.
        let (name, weight) = &free.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).unwrap();
        let signs = json!({ name.as_str(): if *weight >= 0.0 { -1 } else { 1 } });
        let zero = weights(fit(&connection, &case, Some(&signs)));
        assert!(
            zero.iter().all(|(other, weight)| other != name || weight.abs() < 1e-12),
            "{case:?}: {zero:?}"
        );
    }
}

/// Rule 5.38: what cannot keep an order refuses the option by name.
#[test]
fn who_cannot_keep_an_order_refuses_it() {
    let connection = documents(0);
    connection.execute_batch("CREATE TABLE shops AS SELECT *, CASE doc_id % 3 WHEN 0 THEN 'red' ELSE 'blue' END AS color FROM filled").unwrap();
    let signs = json!({"price": -1});
    for (algorithm, options, part) in [
        (
            "rank_svm",
            json!({}),
            "option 'monotone' has no effect with loss \"hinge\" (the algorithm's default); use \"loss\": \"squared_hinge\"",
        ),
        ("q_svm", json!({}), "option 'monotone' has no effect with smoothing"),
        ("direct", json!({}), "option 'monotone'"),
        ("slam", json!({}), "option 'monotone'"),
        ("perceptron", json!({}), "option 'monotone'"),
        ("cofi_rank", json!({}), "option 'monotone'"),
        ("eigen_rank", json!({}), "option 'monotone'"),
        ("regression", json!({"kernel": "gaussian"}), "option 'monotone' has no effect with kernel"),
        ("regression", json!({"interaction": "linear"}), "option 'monotone' has no effect with interaction"),
        ("regression", json!({"penalty": "l1"}), "option 'monotone' has no effect with penalty"),
        ("regression", json!({"baseline": "stars"}), "a linear function with a baseline"),
        ("regression", json!({"solver": "lbfgs"}), "option 'monotone' has no effect with solver"),
        ("auto", json!({"kernel": "gaussian"}), "functions of this kernel cannot keep it"),
        (
            "boosted_trees",
            json!({"baseline": "price"}),
            "does not work with the option 'baseline', which is \"price\"",
        ),
        (
            "boosted_trees",
            json!({"monotone": {"color": 1}}),
            "\"color\" is not one of the numeric features: price, stars, text, age",
        ),
        ("boosted_trees", json!({"monotone": {"price": 0}}), "key 'price': got 0, expected 1 or -1"),
        ("boosted_trees", json!({"monotone": {}}), "got {}, expected features with 1 or -1"),
        (
            "boosted_trees",
            json!({"buckets": 8}),
            "training in buckets: the option 'monotone' is not supported",
        ),
        ("regression", json!({"buckets": 8}), "training in buckets: the option 'monotone' is not supported"),
    ] {
        let mut given = options.clone();
        if !given.as_object().unwrap().contains_key("monotone") {
            given["monotone"] = signs.clone();
        }
        let sql = "SELECT ltr_fit(?1, 'shops', ?2)";
        let problem =
            connection.query_row(sql, (algorithm, given.to_string()), |_| Ok(())).unwrap_err().to_string();
        assert!(problem.contains(part), "{algorithm} {options}: {problem}");
    }
}

/// If the order is true, trees rank as well as without it, and the model reports the signs.
#[test]
fn a_true_order_costs_nothing() {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE shop AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 2399),
             x AS (SELECT i / 12 AS query_id, i AS doc_id, (i * 104729 % 1009) / 1009.0 AS fit, (i * 1299709 % 997) / 997.0 AS price,
                          (i * 15485863 % 991) / 991.0 AS noise FROM n)
             SELECT query_id, doc_id, max(0, min(4, round(4 * fit - 2 * price * price + 2 * noise))) AS relevance, fit, price,
                    (doc_id * 7919 % 983) / 983.0 AS other FROM x",
        )
        .unwrap();
    let ndcg = |options: &str| -> f64 {
        let train = "SELECT ltr_train('boosted_trees', 'SELECT * FROM shop WHERE query_id < 120', ?1)";
        value::<String>(&connection, train, [options]);
        let sql = "SELECT value FROM ltr_evaluate('shop', 'SELECT * FROM shop WHERE query_id >= 120') WHERE query_id IS NULL";
        value(&connection, sql, [])
    };
    let free = ndcg(r#"{"name": "shop", "trees": 60}"#);
    let ordered = ndcg(r#"{"name": "shop", "trees": 60, "monotone": {"price": -1, "fit": 1}}"#);
    assert!(ordered > free - 0.002, "{free} {ordered}");
    let stored: String = value(&connection, "SELECT ltr_info('shop') ->> '$.settings.monotone'", []);
    assert_eq!(stored, r#"{"price":-1,"fit":1}"#);
}
