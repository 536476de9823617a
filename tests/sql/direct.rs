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

/// Tables `train` and `test`. What tells good documents from the best is not what tells bad ones from good ones.
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
