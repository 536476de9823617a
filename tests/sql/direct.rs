//! Direct optimization against other linear algorithms on simulated queries (Le, Smola, Chapelle & Teo, figures 1 to 3), its
//! options and its report in SQL.

use crate::support::{database, simulated_data, value};
use rusqlite::{Connection, params};

const FEATURES: usize = 6;
const DOCUMENTS: i64 = 20;

/// Numbers in -1..1 whose sequence is fixed.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    /// About normal, variance 1.
    fn normal(&mut self) -> f64 {
        (0..3).map(|_| self.next()).sum()
    }
}

/// Tables `train` and `test`. Different features separate good from best documents and bad from good ones.
fn simulated() -> Connection {
    let connection = database();
    for (table, queries, seed) in [("train", 80, 1), ("test", 120, 2)] {
        let columns = "query_id, doc_id, relevance, a REAL, b REAL, c REAL, d REAL, e REAL, f REAL";
        connection.execute_batch(&format!("CREATE TABLE {table}({columns})")).unwrap();
        let mut insert =
            connection.prepare(&format!("INSERT INTO {table} VALUES (?,?,?,?,?,?,?,?,?)")).unwrap();
        let mut numbers = Numbers(seed);
        for row in 0..queries * DOCUMENTS {
            let x: [f64; FEATURES] = std::array::from_fn(|_| numbers.normal());
            let (top, rest) = (x[0] + x[1] + x[2], x[3] + x[4] - x[5]);
            let quality = if top > 1.5 { 3.0 + top } else { rest.min(2.0) } + 0.4 * numbers.normal();
            let grade = [-0.5, 1.0, 3.5, 5.2].iter().filter(|bound| quality > **bound).count();
            let [a, b, c, d, e, f] = x;
            insert.execute(params![row / DOCUMENTS, row, grade as i64, a, b, c, d, e, f]).unwrap();
        }
    }
    connection
}

fn train(connection: &Connection, algorithm: &str, options: &str) -> Result<String, String> {
    let sql = "SELECT ltr_train(?1, 'train', ?2)";
    connection.query_row(sql, (algorithm, options), |row| row.get(0)).map_err(|error| error.to_string())
}

fn test_value(connection: &Connection, model: &str, metric: &str) -> f64 {
    let sql = "SELECT value FROM ltr_evaluate(?1, 'test', json_object('metric', ?2)) WHERE query_id IS NULL";
    value(connection, sql, (model, metric))
}

#[test]
fn it_beats_regression_and_rank_svm() {
    let connection = simulated();
    for algorithm in ["regression", "rank_svm"] {
        train(&connection, algorithm, "{}").unwrap();
    }
    for metric in ["ndcg@3", "ndcg@5", "ndcg@10"] {
        // Validation of lambda would take most of the time.
        let options = format!(r#"{{"measure": "{metric}", "lambda": 0.03}}"#);
        train(&connection, "direct", &options).unwrap();
        let [direct, regression, rank_svm] =
            ["direct", "regression", "rank_svm"].map(|model| test_value(&connection, model, metric));
        let what = format!("{metric}: {direct} {regression} {rank_svm}");
        assert!(direct > regression + 0.05 && direct > rank_svm + 0.05, "{what}");
    }
}

/// The figures of docs/benchmarks.md: with defaults, lambda chosen on the validation part.
#[test]
fn with_defaults_it_finds_the_best_documents_of_the_measuring_data() {
    let Some(file) = simulated_data("listwise") else { return };
    let connection = database();
    connection.execute("ATTACH ?1 AS measured", [file.display().to_string()]).unwrap();
    for (metric, least) in [("ndcg@5", 0.955), ("ndcg@10", 0.928)] {
        let options =
            format!(r#"{{"measure": "{metric}", "metric": "{metric}", "validation": "validation"}}"#);
        train(&connection, "direct", &options).unwrap();
        let value = test_value(&connection, "direct", metric);
        assert!(value >= least, "{metric}: {value}");
    }
}

#[test]
fn validation_chooses_the_power_of_the_decoder() {
    let connection = simulated();
    connection.execute_batch("DELETE FROM train WHERE doc_id % 20 >= 6 OR query_id >= 40").unwrap();
    let options = |powers: &str, rest: &str| {
        format!(
            r#"{{"decoder": "power", "decoder_power": {powers}, "measure": "ndcg@5", "metric": "ndcg@5", "tolerance": 0.1{rest}}}"#
        )
    };
    let lambdas = r#", "lambda": [0.1, 0.01]"#;
    let report = train(&connection, "direct", &options("[3, 0.25]", lambdas)).unwrap();
    let of = |report: &str, path: &str| value::<f64>(&connection, "SELECT ?1 ->> ?2", (report, path));
    let (power, best) = (of(&report, "$.decoder_power"), of(&report, "$.validation.best"));
    // The same as the better one of two trainings, with the same scores.
    let alone = ["3", "0.25"].map(|power| train(&connection, "direct", &options(power, lambdas)).unwrap());
    let values = alone.each_ref().map(|report| of(report, "$.validation.best"));
    let better = usize::from(values[1] > values[0]);
    assert_eq!((power, best), ([3.0, 0.25][better], values[better]));
    let version = ["direct@2", "direct@3"][better];
    let different = "SELECT count(*) FROM ltr_rank('direct@1', 'test') a JOIN ltr_rank(?1, 'test') b
                     USING (query_id, doc_id) WHERE a.score <> b.score";
    assert_eq!(value::<i64>(&connection, different, [version]), 0);
    // Without validation there is no choice.
    for lambda in [r#", "lambda": 0.1"#, r#", "lambda": "rate", "smoothing": "gaussian""#] {
        let error = train(&connection, "direct", &options("[3, 0.25]", lambda)).unwrap_err();
        assert!(error.contains("option 'decoder_power': validation chooses among several values"), "{error}");
    }
    for powers in ["[]", "[0.5, 0]", "[4]", "\"1\""] {
        let error = train(&connection, "direct", &options(powers, lambdas)).unwrap_err();
        assert!(error.contains("option 'decoder_power'"), "{error}");
    }
}

/// The weights of a model, in the order of the features.
fn weights(connection: &Connection, algorithm: &str, options: &str) -> Result<Vec<f64>, String> {
    let sql = "SELECT json_group_array(weight) FROM ltr_weights(ltr_fit(?1, 'train', ?2))";
    let found: rusqlite::Result<String> = connection.query_row(sql, (algorithm, options), |row| row.get(0));
    found.map(|text| serde_json::from_str(&text).expect("numbers")).map_err(|error| error.to_string())
}

/// Definition 2 and (15) of Le, Smola, Chapelle & Teo: with the a, b and c of a measure and a decoder, the model is the one that
/// their names make.
#[test]
fn custom_weights_can_equal_a_measure() {
    let connection = simulated();
    connection.execute_batch("DELETE FROM train WHERE query_id >= 20").unwrap();
    let fitted = |options: &str| {
        let all = format!(r#"{{"lambda": 0.03, "bound": "convex", {options}}}"#);
        weights(&connection, "direct", &all).unwrap_or_else(|error| panic!("{options}: {error}"))
    };
    let discount = |position: u32| 1.0 / libm::log2(f64::from(position) + 1.0);
    let list = |numbers: &[f64]| serde_json::to_string(numbers).expect("JSON");
    let log = list(&[discount(1), discount(2), discount(3)]);
    let logs = list(&(1..=20).map(discount).collect::<Vec<_>>());
    let halves = list(&(0..20).map(|position| libm::exp2(-f64::from(position) / 4.0)).collect::<Vec<_>>());
    for (own, named) in [
        (format!(r#""position_weights": {log}, "grade_weights": [0, 1, 3, 7, 15]"#), r#""measure": "dcg@3""#),
        (format!(r#""position_weights": {log}"#), r#""measure": "ndcg@3""#),
        (r#""grade_weights": [0, 1, 3, 7, 15], "measure": "dcg@3""#.to_owned(), r#""measure": "dcg@3""#),
        (format!(r#""position_weights": {halves}, "grade_weights": [0, 1, 2, 3, 4]"#), r#""measure": "eru""#),
        (format!(r#""measure": "dcg@3", "discounts": {logs}"#), r#""measure": "dcg@3", "decoder": "log""#),
        (
            r#""measure": "dcg@4", "discounts": [4, 3, 2, 1]"#.to_owned(),
            r#""measure": "dcg@4", "decoder": "linear""#,
        ),
        (
            r#""position_weights": [1, 1], "decoder": "linear""#.to_owned(),
            r#""position_weights": [1, 1], "discounts": [2, 1]"#,
        ),
    ] {
        let (own, named) = (fitted(&own), fitted(named));
        assert!(own.iter().zip(&named).all(|(a, b)| (a - b).abs() <= 1e-9), "{own:?} {named:?}");
    }
    // The card has them. Others are refused.
    let options =
        r#"{"lambda": 1, "position_weights": [2, 1], "grade_weights": [0, 1, 1, 1, 9], "discounts": [3]}"#;
    train(&connection, "direct", options).unwrap();
    let kept = "SELECT ltr_info('direct') ->> '$.settings.position_weights' || (ltr_info('direct') ->> '$.settings.grade_weights')
                || (ltr_info('direct') ->> '$.settings.discounts')";
    assert_eq!(value::<String>(&connection, kept, ()), "[2,1][0,1,1,1,9][3]");
    let falling = "at least one of them above 0, none larger than the one before it";
    let together = "does not work with option";
    for (options, reason) in [
        (r#""position_weights": [1, 2]"#, falling),
        (r#""discounts": [1, 1.5, 0]"#, falling),
        (r#""discounts": [0, 0]"#, falling),
        (
            r#""grade_weights": [0]"#,
            "expected an array of numbers from 0 to 1e9, at least one of them above 0",
        ),
        (r#""grade_weights": [0, 1]"#, "grade of a document with the option 'grade_weights': got"),
        (r#""grade_weights": [0, 1, 2, 3, 4], "position_weights": [1], "measure": "dcg""#, together),
        (r#""discounts": [1], "decoder": "log""#, together),
        (r#""discounts": [1], "decoder_power": 0.5"#, together),
        (
            r#""loss": "smooth_grad", "discounts": [1]"#,
            "option 'discounts' has no effect with loss \"smooth_grad\"",
        ),
    ] {
        let error = weights(&connection, "direct", &format!(r#"{{"lambda": 1, {options}}}"#)).unwrap_err();
        assert!(error.contains(reason), "{options}: {error}");
    }
}

/// Algorithm 4: a tiny sigma leaves the start, the least-squares function; a large one takes more rounds.
#[test]
fn smoothing_begins_at_sigma() {
    let connection = simulated();
    connection.execute_batch("DELETE FROM train WHERE query_id >= 10").unwrap();
    let fitted = |sigma: &str| {
        let options = format!(r#"{{"lambda": 1000, "measure": "dcg@5", "name": "s"{sigma}}}"#);
        train(&connection, "smooth_grad", &options).unwrap();
        let steps = value::<i64>(&connection, "SELECT count(*) FROM ltr_training_log('s')", ());
        let kept = value::<Option<f64>>(&connection, "SELECT ltr_info('s') ->> '$.settings.sigma'", ());
        (steps, kept)
    };
    let (default, none) = fitted("");
    let (large, kept) = fitted(r#", "sigma": 1e6"#);
    assert_eq!((none, kept), (None, Some(1e6)));
    assert!(large > default, "{large} {default}");
    let with = |sigma: &str| {
        let options = format!(r#"{{"lambda": 0.01, "measure": "dcg@5"{sigma}}}"#);
        weights(&connection, "smooth_grad", &options).unwrap()
    };
    assert_ne!(with(r#", "sigma": 0.01"#), with(""));
    let error = weights(&connection, "smooth_grad", r#"{"sigma": 0}"#).unwrap_err();
    assert!(error.contains("option 'sigma': got 0, expected a number from"), "{error}");
}

/// Remark 14 of Xu, Fang & Wang (2014): the eigenvalues that are kept, by the loss of pairs.
#[test]
fn validation_takes_the_loss_of_pairs() {
    let connection = simulated();
    let options = r#"{"metric": "pair_loss", "components": [1, 2, 3, 4, 5, 6]}"#;
    let report = train(&connection, "eigen_rank", options).unwrap();
    let best = "SELECT min(value ->> 1) FROM json_each(?1, '$.validation.curve')";
    let stored = value::<String>(&connection, "SELECT report FROM ltr_models", ());
    let least = value::<f64>(&connection, best, [&stored]);
    let chosen = value::<f64>(&connection, "SELECT ?1 ->> '$.validation.best'", [&report]);
    assert!(chosen <= least * 1.05 && chosen >= least, "{chosen} {least}: {report}");
    // The metric by its definition.
    let pairs = "WITH scored AS (SELECT query_id, doc_id, relevance, score FROM ltr_rank('eigen_rank', 'test') JOIN test USING (query_id, doc_id))
                 SELECT avg(loss) FROM (SELECT avg((a.relevance - b.relevance - a.score + b.score) * (a.relevance - b.relevance - a.score + b.score)) AS loss
                   FROM scored AS a JOIN scored AS b ON a.query_id = b.query_id AND a.doc_id <> b.doc_id GROUP BY a.query_id)";
    let (expected, found) =
        (value::<f64>(&connection, pairs, ()), test_value(&connection, "eigen_rank", "pair_loss"));
    assert!((found - expected).abs() <= 1e-9 * expected, "{found} {expected}");
}
