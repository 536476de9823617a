//! A warning that one way to train or to rank gives, every way gives: SQL, rows in buckets, updates, and the Rust interface.

use ndarray::Array2;
use rusqlite::Connection;
use serde_json::{Value, json};
use sqlite_ltr::{Dataset, Trainer};

use crate::support::{database, value};

const QUERIES: usize = 12;
const DOCUMENTS: usize = 6;

/// Query, document, relevance and three features of each row.
type Row = (i64, i64, f64, [f64; 3]);

fn rows() -> Vec<Row> {
    let number = |row: usize, step: usize| ((row * step) % 101) as f64 / 101.0;
    let row = |row: usize| {
        let features = [number(row, 37), number(row, 59), number(row, 83)];
        let grade = (3.0 * (0.6 * features[0] + 0.4 * number(row, 71))).floor();
        ((row / DOCUMENTS) as i64, (row % DOCUMENTS) as i64, grade, features)
    };
    (0..QUERIES * DOCUMENTS).map(row).collect()
}

fn table(connection: &Connection, name: &str, rows: &[Row]) {
    let sql = format!("CREATE TABLE {name} (query_id, doc_id, relevance, a, b, c)");
    connection.execute_batch(&sql).unwrap();
    for (query, doc, relevance, [a, b, c]) in rows {
        let sql = format!("INSERT INTO {name} VALUES (?, ?, ?, ?, ?, ?)");
        connection.execute(&sql, (query, doc, relevance, a, b, c)).unwrap();
    }
}

fn data_set(rows: &[Row]) -> Dataset {
    let features = Array2::from_shape_fn((rows.len(), 3), |(row, column)| rows[row].3[column]);
    let relevance: Vec<f64> = rows.iter().map(|row| row.2).collect();
    let data = Dataset::from_arrays(features, rows.iter().map(|row| row.0), &relevance).unwrap();
    data.with_feature_names(["a", "b", "c"]).unwrap().with_doc_ids(rows.iter().map(|row| row.1)).unwrap()
}

fn last_warnings(connection: &Connection) -> Vec<String> {
    let debug: String = value(connection, "SELECT ltr_debug()", ());
    let debug: Value = serde_json::from_str(&debug).unwrap();
    serde_json::from_value(debug["last_warnings"].clone()).unwrap()
}

/// A change of the rows, options of the training, and the beginning of the warning that it gives.
struct Case {
    change: fn(&mut Vec<Row>),
    options: Value,
    warning: &'static str,
}

fn cases() -> Vec<Case> {
    let case = |change: fn(&mut Vec<Row>), options: Value, warning| Case { change, options, warning };
    vec![
        case(
            |rows| rows.extend_from_within(..3),
            json!({ "lambda": 0.1 }),
            "3 rows repeat a (query, document)",
        ),
        case(|rows| rows[0].2 = -1.0, json!({ "lambda": 0.1 }), "the lowest grade is -1"),
        case(
            |rows| rows.iter_mut().for_each(|row| row.3[1] = row.2),
            json!({ "lambda": 0.1 }),
            "the feature \"b\" equals the relevance in every row",
        ),
        case(
            |rows| rows.iter_mut().for_each(|row| row.3[1] = row.1 as f64),
            json!({ "lambda": 0.1 }),
            "the feature \"b\" equals the document (\"doc_id",
        ),
        case(
            |rows| rows.iter_mut().for_each(|row| row.3[2] *= 1e6),
            json!({ "lambda": 0.1, "scale": "none" }),
            "without scaling",
        ),
        case(|_| (), json!({ "lambda": 0.1, "loss": "list_net" }), "with \"loss\": \"list_net\" this is"),
    ]
}

#[test]
fn every_training_gives_the_warnings_of_every_other() {
    for Case { change, options, warning } in cases() {
        let connection = database();
        let mut rows = rows();
        change(&mut rows);
        table(&connection, "j", &rows);
        let has = |found: &[String], way: &str| {
            assert!(found.iter().any(|found| found.contains(warning)), "{way}: {warning}: {found:?}");
        };
        // 1. SQL.
        let report: String =
            value(&connection, "SELECT ltr_train('rank_svm', 'j', ?1)", [options.to_string()]);
        let report: Value = serde_json::from_str(&report).unwrap();
        let expected: Vec<String> = serde_json::from_value(report["warnings"].clone()).unwrap();
        has(&expected, "ltr_train");
        assert_eq!(last_warnings(&connection), expected);
        let _: Vec<u8> = value(&connection, "SELECT ltr_fit('rank_svm', 'j', ?1)", [options.to_string()]);
        assert_eq!(last_warnings(&connection), expected, "ltr_fit");
        // 2. Rows in buckets.
        if options["scale"] != "none" {
            let mut in_buckets = options.as_object().unwrap().clone();
            in_buckets.extend([("buckets".to_owned(), json!(4)), ("scale".to_owned(), json!("standard"))]);
            in_buckets.insert("loss".to_owned(), options.get("loss").cloned().unwrap_or(json!("hinge")));
            let sql = "SELECT ltr_fit('rank_svm', 'j', ?1)";
            let _: Vec<u8> = value(&connection, sql, [Value::Object(in_buckets).to_string()]);
            has(&last_warnings(&connection), "buckets");
        }
        // 3. The Rust interface.
        let trainer = options
            .as_object()
            .unwrap()
            .iter()
            .fold(Trainer::new("rank_svm"), |trainer, (key, value)| trainer.option(key, value.clone()));
        let model = trainer.fit(&data_set(&rows)).unwrap();
        has(model.warnings(), "Trainer");
        assert_eq!(model.warnings().len(), expected.len(), "{:?} and {expected:?}", model.warnings());
    }
}

#[test]
fn an_update_warns_as_a_training_does() {
    let connection = database();
    table(&connection, "first", &rows());
    let _: String = value(&connection, "SELECT ltr_train('perceptron', 'first')", ());
    for (number, Case { change, warning, .. }) in cases().into_iter().take(3).enumerate() {
        let mut rows = rows();
        change(&mut rows);
        table(&connection, &format!("more_{number}"), &rows);
        let sql = format!("SELECT ltr_update('perceptron', 'more_{number}')");
        let report: String = value(&connection, &sql, ());
        assert!(report.contains(&warning.replace('"', "\\\"")), "{warning}: {report}");
    }
}

#[test]
fn training_rows_in_the_validation_are_reported() {
    let connection = database();
    table(&connection, "j", &rows());
    let warning = "72 documents of the validation source are in the training too";
    let report: String =
        value(&connection, r#"SELECT ltr_train('rank_svm', 'j', '{"validation": "j"}')"#, ());
    assert!(report.contains(warning), "{report}");
    let data = data_set(&rows());
    let model = Trainer::new("rank_svm").fit_with_validation(&data, &data).unwrap();
    assert!(model.warnings().iter().any(|found| found.starts_with(warning)), "{:?}", model.warnings());
}

#[test]
fn scoring_warns_in_sql_and_in_rust() {
    let connection = database();
    let mut rows = rows();
    rows.extend_from_within(..3);
    table(&connection, "j", &rows);
    let judged: Vec<Row> = rows.iter().copied().filter(|row| row.0 < 6).collect();
    table(&connection, "first", &judged);
    let train = r#"SELECT ltr_train('indv_svm', 'first', '{"lambda": 0.1}')"#;
    let _: String = value(&connection, train, ());
    let model = Trainer::new("indv_svm").option("lambda", 0.1).fit(&data_set(&judged)).unwrap();
    let data = data_set(&rows);
    let of_rust = [
        ("SELECT count(*) FROM ltr_rank('indv_svm', 'j')", model.rank(&data).unwrap().warnings),
        (
            "SELECT count(*) FROM ltr_evaluate('indv_svm', 'j')",
            model.evaluate(&data, &["map"]).unwrap().warnings,
        ),
        (
            "SELECT count(*) FROM ltr_importance('indv_svm', 'j')",
            model.importance(&data, &["map"]).unwrap().warnings,
        ),
        (
            "SELECT count(*) FROM ltr_explain('indv_svm', 'j', 9, 1)",
            model.explain_row(&data, 55).unwrap().warnings,
        ),
    ];
    for (sql, warnings) in of_rust {
        let _: i64 = value(&connection, sql, ());
        assert_eq!(last_warnings(&connection), warnings, "{sql}");
        assert!(!warnings.is_empty(), "{sql}");
    }
}
