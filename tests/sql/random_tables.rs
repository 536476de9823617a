//! Random tables of texts: SQL and the Rust interface read the same, and train the same models with the same warnings.

use ndarray::Array2;
use rusqlite::{Connection, params_from_iter, types::Value as SqlValue};
use serde_json::{Map, Value, json};
use sqlite_ltr::internals::data::Quantities;
use sqlite_ltr::internals::math::random::Random;
use sqlite_ltr::internals::model::{self, TrainingColumns};
use sqlite_ltr::{Dataset, Id, QueryValue, Trainer};

use crate::support::{database, is_long, value};

/// What writes a whole number from 0 to 9999 as text, and the number that the text is read as.
type Form = (fn(i64) -> String, fn(i64) -> f64);

const FORMS: &[Form] = &[
    (|x| x.to_string(), |x| x as f64),
    (|x| format!("{x}.125"), |x| x as f64 + 0.125),
    (
        |x| format!("${},{:03}.50", 1 + x / 1000, x % 1000),
        |x| (1000 * (1 + x / 1000) + x % 1000) as f64 + 0.5,
    ),
    (|x| format!("{x},75 €"), |x| x as f64 + 0.75),
    (|x| format!("R$ {x},25"), |x| x as f64 + 0.25),
    (|x| format!("{x}.5 %"), |x| x as f64 + 0.5),
    (|x| format!("\u{2212}{x}.5"), |x| -(x as f64) - 0.5),
    (|x| format!("{}:{:02}:07", x / 60, x % 60), |x| (x * 60 + 7) as f64),
    (|x| format!("{}h {}m", x / 60, x % 60), |x| (x * 60) as f64),
    (
        |x| format!("20{:02}-{:02}-{:02}", x % 30, 1 + x % 12, 1 + x % 28),
        |x| days(2000 + x % 30, 1 + x % 12, 1 + x % 28),
    ),
    (
        |x| format!("{}. {}. 20{:02}", 13 + x % 15, 1 + x % 12, x % 30),
        |x| days(2000 + x % 30, 1 + x % 12, 13 + x % 15),
    ),
    (
        |x| format!("{}/{}/20{:02}", 1 + x % 12, 13 + x % 15, x % 30),
        |x| days(2000 + x % 30, 1 + x % 12, 13 + x % 15),
    ),
];

/// Days since 1970-01-01, counted.
fn days(year: i64, month: i64, day: i64) -> f64 {
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, 28 + i64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let years: i64 = (1970..year).map(|year| 365 + i64::from(is_leap(year))).sum();
    (years + lengths[..month as usize - 1].iter().sum::<i64>() + day - 1) as f64
}

/// A table of texts, and the same data with numbers.
struct Table {
    names: Vec<String>,
    rows: Vec<Vec<SqlValue>>,
    data: Dataset,
    options: Map<String, Value>,
    algorithm: &'static str,
}

fn table(seed: u64) -> Table {
    let mut random = Random::new(seed);
    let (queries, documents) = (10 + random.below(12), 3 + random.below(5));
    let count = queries * documents;
    let mut options = Map::from_iter([("lambda".to_owned(), json!(0.1))]);
    let has_missing = random.below(3) == 0;
    if has_missing {
        options.insert("missing".to_owned(), json!(["mean", "zero"][random.below(2)]));
    }
    let mut names: Vec<String> = ["query_id", "doc_id", "relevance"].map(str::to_owned).to_vec();
    let mut rows: Vec<Vec<SqlValue>> = (0..count)
        .map(|row| vec![SqlValue::from((row / documents) as i64), SqlValue::from(row as i64)])
        .collect();
    let relevance: Vec<f64> = (0..count).map(|_| random.below(3) as f64).collect();
    rows.iter_mut().zip(&relevance).for_each(|(row, grade)| row.push(SqlValue::from(*grade)));
    // 1. Features.
    let width = 2 + random.below(3);
    let mut features = Array2::zeros((count, width));
    for column in 0..width {
        let (write, number) = FORMS[random.below(FORMS.len())];
        names.push(format!("f{column}"));
        for row in 0..count {
            let x = random.below(10_000) as i64;
            let mark = [None, Some("NA"), Some("-")].get(random.below(40)).copied().filter(|_| has_missing);
            rows[row].push(match mark {
                Some(mark) => mark.map_or(SqlValue::Null, |mark| SqlValue::from(mark.to_owned())),
                None => SqlValue::from(write(x)),
            });
            features[[row, column]] = if mark.is_some() { f64::NAN } else { number(x) };
        }
    }
    let mut data = Dataset::from_arrays(features, (0..count).map(|row| (row / documents) as i64), &relevance)
        .and_then(|data| data.with_doc_ids((0..count).map(|row| row as i64)))
        .and_then(|data| data.with_feature_names(names[3..].to_vec()))
        .unwrap();
    // 2. Texts of queries, which both read.
    let of_queries = random.below(3);
    let mut algorithm = "rank_svm";
    if of_queries > 0 {
        (algorithm, options["lambda"]) = ("knn_svm", json!(1));
        options.insert("neighbors".to_owned(), json!(3));
        let texts: Vec<Vec<String>> = (0..of_queries)
            .map(|_| {
                let (write, _) = FORMS[random.below(FORMS.len())];
                (0..queries).map(|_| write(random.below(10_000) as i64)).collect()
            })
            .collect();
        let query_names: Vec<String> = (0..of_queries).map(|column| format!("q_{column}")).collect();
        rows.iter_mut().enumerate().for_each(|(row, values)| {
            values.extend(texts.iter().map(|texts| SqlValue::from(texts[row / documents].clone())));
        });
        let values = Array2::from_shape_fn((count, of_queries), |(row, column)| {
            QueryValue::from(texts[column][row / documents].clone())
        });
        data = data.with_query_features(query_names.clone(), values).unwrap();
        names.extend(query_names);
    }
    // 3. Dates that order the queries.
    if random.below(3) == 0 {
        let (write, _) = FORMS[9 + random.below(3)];
        let dates: Vec<String> = (0..queries).map(|_| write(random.below(10_000) as i64)).collect();
        names.push("asked".to_owned());
        rows.iter_mut()
            .enumerate()
            .for_each(|(row, values)| values.push(dates[row / documents].clone().into()));
        data = data.with_split_by((0..count).map(|row| Id::from(dates[row / documents].as_str()))).unwrap();
        options.insert("split_by".to_owned(), json!("asked"));
        options.insert("lambda".to_owned(), json!([0.1, 10.0]));
    }
    Table { names, rows, data, options, algorithm }
}

fn insert(connection: &Connection, table: &Table) {
    let places = vec!["?"; table.names.len()].join(", ");
    connection
        .execute_batch(&format!("DROP TABLE IF EXISTS t; CREATE TABLE t({})", table.names.join(", ")))
        .unwrap();
    for row in &table.rows {
        connection.execute(&format!("INSERT INTO t VALUES ({places})"), params_from_iter(row)).unwrap();
    }
}

/// The model and the warnings, or the problem.
type Outcome = Result<(Vec<u8>, Vec<String>), String>;

/// Without what only one of both knows: the names of columns, and the forms of features.
fn bare(bytes: &[u8]) -> Vec<u8> {
    let mut model = model::Model::from_bytes(bytes).unwrap();
    (model.card.columns, model.card.quantities) = (TrainingColumns::default(), Quantities::default());
    model.to_bytes().unwrap()
}

fn in_sql(connection: &Connection, table: &Table) -> Outcome {
    let options = Value::Object(table.options.clone()).to_string();
    let sql = "SELECT ltr_fit(?1, 't', ?2)";
    let model: Result<Vec<u8>, _> = connection.query_row(sql, (table.algorithm, &options), |row| row.get(0));
    let warnings: String = value(connection, "SELECT ltr_debug() -> 'last_warnings'", ());
    match model {
        Ok(bytes) => Ok((bare(&bytes), serde_json::from_str(&warnings).unwrap())),
        Err(problem) => Err(problem.to_string()),
    }
}

fn in_rust(table: &Table) -> Outcome {
    let mut trainer = Trainer::new(table.algorithm);
    for (key, value) in table.options.iter().filter(|(key, _)| *key != "split_by") {
        trainer = trainer.option(key, value.clone());
    }
    match trainer.fit(&table.data) {
        Ok(model) => Ok((bare(&model.to_bytes()), model.warnings().to_vec())),
        Err(problem) => Err(problem.to_string()),
    }
}

#[test]
fn sql_and_rust_read_the_same() {
    let (connection, mut trained) = (database(), 0);
    let tables = if is_long() { 2000 } else { 60 };
    for seed in 0..tables {
        let table = table(seed);
        insert(&connection, &table);
        let (sql, rust) = (in_sql(&connection, &table), in_rust(&table));
        assert!(
            sql == rust,
            "{seed}: {:?}: {:?}, {:?}",
            table.names,
            sql.map(|found| found.1),
            rust.map(|found| found.1)
        );
        trained += u64::from(sql.is_ok());
    }
    assert!(trained > tables * 9 / 10, "{trained} of {tables}");
}
