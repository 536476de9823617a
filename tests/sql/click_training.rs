//! Training on simulated clicks, weighted by propensity and not, compared with training on the grades.
//!
//! A ranker trained on 1 % of the training queries ranks all documents of 100,000 impressions. Users look at rank r with
//! probability r^-eta, and click on a document of grade y that they look at with probability .1 + .9 (2^y - 1) / (2^max - 1).
//! Lambda is chosen by cross-validation on the same clicks. NDCG@10 is on test queries; a query without a relevant document
//! counts 0. With `LTR_LONG=1` ten seeds, the MSLR sample too, and one more way; `--nocapture` shows the tables of
//! `docs/benchmarks.md`.
#![allow(clippy::print_stdout, reason = "figures of a page")]

use std::path::Path;

use rusqlite::Connection;
use sqlite_ltr::internals::math::random::Random;

use crate::support::{database, real_data, value};

const IMPRESSIONS: usize = 100_000;
const LAMBDAS: &str = "\"lambda\": [0.001, 0.01, 0.1, 1], \"undefined\": \"zero\"";

/// A data set: its folder, features, highest grade, and the files of training and test by seed.
struct Data {
    name: &'static str,
    features: usize,
    highest: f64,
    files: fn(usize) -> [Vec<String>; 2],
}

const MQ2008: Data = Data {
    name: "mq2008",
    features: 46,
    highest: 2.0,
    files: |seed| {
        let part = |k: usize| format!("S{}.txt", (seed + k) % 5 + 1);
        [(0..3).map(part).collect(), vec![part(4)]]
    },
};

const MSLR: Data = Data {
    name: "mslr-sample",
    features: 136,
    highest: 4.0,
    files: |_| [vec!["train.txt".to_owned()], vec!["test.txt".to_owned()]],
};

/// The ways to train, each with the weight of a click (`w`) as 1 and as 1 / propensity: algorithm, rows, options.
const WAYS: [(&str, &str, &str); 3] = [
    (
        "rank_svm",
        "SELECT query_id, doc_id, clicks * w / impressions AS relevance, features FROM log JOIN train USING (query_id, doc_id)",
        "\"pair_weights\": \"grade\", ",
    ),
    (
        "list_net",
        "SELECT query_id, doc_id, 4 * clicks * w / impressions AS relevance, features FROM log JOIN train USING (query_id, doc_id)",
        "",
    ),
    // Each document twice: as often as it was clicked, and as one to compare clicked documents with.
    (
        "rank_svm",
        "SELECT query_id, doc_id, c.column1 AS relevance, c.column1 * clicks * w / impressions AS doc_weight, features
           FROM log JOIN train USING (query_id, doc_id), (VALUES (0), (1)) AS c",
        "",
    ),
];

fn train(connection: &Connection, algorithm: &str, source: &str, options: &str) {
    let options = format!("{{\"name\": \"m\", {options}{LAMBDAS}}}");
    value::<String>(connection, "SELECT ltr_train(?1, ?2, ?3)", [algorithm, source, &options]);
}

fn ndcg(connection: &Connection) -> f64 {
    let sql =
        "SELECT value FROM ltr_evaluate('m', 'test', '{\"undefined\": \"zero\"}') WHERE query_id IS NULL";
    value(connection, sql, [])
}

/// The tables train and test, and `log`: rows of the log by query and document, whose rank is always the same.
fn simulate(folder: &Path, data: &Data, seed: usize, eta: f64) -> Connection {
    let connection = database();
    let mut random = Random::new(1000 + seed as u64);
    for (table, files) in ["train", "test"].into_iter().zip((data.files)(seed)) {
        let rows: Vec<String> = files
            .iter()
            .map(|file| {
                let path = folder.join(file);
                format!(
                    "SELECT * FROM ltr_letor('{}', '{{\"feature_count\": {}}}')",
                    path.display(),
                    data.features
                )
            })
            .collect();
        connection
            .execute_batch(&format!(
                "CREATE TABLE {table} AS SELECT query_id, row_number() OVER () AS doc_id, relevance, features FROM ({});
                 CREATE UNIQUE INDEX {table}_ids ON {table}(query_id, doc_id);",
                rows.join(" UNION ALL ")
            ))
            .unwrap();
    }
    let ids = |sql: &str| -> Vec<i64> {
        connection.prepare(sql).and_then(|mut rows| rows.query_map([], |row| row.get(0))?.collect()).unwrap()
    };
    // 1. The ranker that is logged.
    let queries = ids("SELECT DISTINCT query_id FROM train ORDER BY 1");
    let mut judged =
        ids("SELECT query_id FROM train GROUP BY 1 HAVING max(relevance) > min(relevance) ORDER BY 1");
    random.shuffle(&mut judged);
    judged.truncate((queries.len() / 100).max(1));
    let judged: Vec<String> = judged.iter().map(i64::to_string).collect();
    let source = format!("SELECT * FROM train WHERE query_id IN ({})", judged.join(", "));
    value::<String>(
        &connection,
        "SELECT ltr_train('rank_svm', ?1, '{\"name\": \"m\", \"lambda\": 0.01}')",
        [&source],
    );
    // 2. The users.
    let mut shown = vec![0; queries.len()];
    (0..IMPRESSIONS).for_each(|_| shown[random.below(queries.len())] += 1);
    connection
        .execute_batch("CREATE TABLE log(query_id, doc_id, impressions, clicks, propensity, w, PRIMARY KEY (query_id, doc_id))")
        .unwrap();
    let rows: Vec<(i64, i64, f64, f64)> = connection
        .prepare("SELECT query_id, doc_id, rank, relevance FROM ltr_rank('m', 'train') JOIN train USING (query_id, doc_id) ORDER BY 1, 2")
        .and_then(|mut rows| {
            rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?.collect()
        })
        .unwrap();
    let mut insert = connection.prepare("INSERT INTO log VALUES (?1, ?2, ?3, ?4, ?5, 1)").unwrap();
    for (query, doc, rank, grade) in rows {
        let impressions = shown[queries.binary_search(&query).unwrap()];
        let propensity = rank.powf(-eta);
        let attractive = 0.1 + 0.9 * (grade.exp2() - 1.0) / (data.highest.exp2() - 1.0);
        let clicks = (0..impressions)
            .filter(|_| f64::midpoint(random.symmetric(), 1.0) < propensity * attractive)
            .count();
        insert.execute((query, doc, impressions.max(1), clicks as i64, propensity)).unwrap();
    }
    drop(insert);
    connection
}

/// NDCG@10 of the full labels, of clicks that weigh 1, and of clicks that weigh 1 / propensity.
fn trained(connection: &Connection, (algorithm, rows, options): (&str, &str, &str)) -> [f64; 3] {
    train(connection, algorithm, "train", "");
    let full = ndcg(connection);
    let [naive, weighted] = ["1.0", "1 / max(propensity, 0.01)"].map(|weight| {
        connection.execute_batch(&format!("UPDATE log SET w = {weight}")).unwrap();
        train(connection, algorithm, rows, options);
        ndcg(connection)
    });
    [full, naive, weighted]
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard error of a mean.
fn error(values: &[f64]) -> f64 {
    let (mean, n) = (mean(values), values.len() as f64);
    (values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (n - 1.0) / n).sqrt()
}

/// Prints a row, and returns the gap between naive clicks and full labels with its error, and the share of it that is closed.
fn summary(title: &str, seeds: &[[f64; 3]]) -> [f64; 3] {
    let column = |of: &dyn Fn(&[f64; 3]) -> f64| seeds.iter().map(of).collect::<Vec<f64>>();
    let gaps = column(&|[full, naive, _]| full - naive);
    let (gap, gained) = (mean(&gaps), mean(&column(&|[_, naive, weighted]| weighted - naive)));
    let share = gained / gap;
    let rest = column(&|[full, naive, weighted]| (weighted - naive - share * (full - naive)) / gap);
    // 2.26 is the quantile of Student's t for ten seeds.
    let (half, [full, naive, weighted]) =
        (2.26 * error(&rest), [0, 1, 2].map(|number| mean(&column(&|row| row[number]))));
    println!(
        "| {title} | {naive:.4} | {weighted:.4} | {full:.4} | {gap:.4} ({:.4}) | {share:.2} ({:.2} to {:.2}) |",
        error(&gaps),
        share - half,
        share + half
    );
    [gap, error(&gaps), share]
}

/// Compares the ways to train.
fn compare(data: &Data, seeds: usize, ways: usize) {
    let Some(folder) = real_data(data.name) else { return };
    for eta in [1.0, 2.0] {
        let mut found = vec![Vec::new(); ways];
        for seed in 0..seeds {
            let connection = simulate(&folder, data, seed, eta);
            for (found, way) in found.iter_mut().zip(WAYS) {
                found.push(trained(&connection, way));
            }
        }
        for (number, (found, (algorithm, ..))) in found.iter().zip(WAYS).enumerate() {
            let how = if number == 2 { ", doc_weight" } else { "" };
            let [gap, error, share] = summary(&format!("{} | {eta} | `{algorithm}`{how}", data.name), found);
            // A gap of two standard errors or less has no share. Few seeds only show that the weights help.
            let least = if gap < 2.0 * error || number == 2 { f64::MIN } else { 0.4 };
            assert!(share > least, "{algorithm} {eta}: {share} of {gap}");
        }
    }
}

fn is_long() -> bool {
    crate::support::is_long()
}

#[test]
fn weighted_clicks_close_the_gap_to_full_labels_of_mq2008() {
    if is_long() { compare(&MQ2008, 10, WAYS.len()) } else { compare(&MQ2008, 2, 2) }
}

#[test]
fn weighted_clicks_close_the_gap_to_full_labels_of_mslr() {
    if is_long() {
        compare(&MSLR, 10, WAYS.len());
    }
}
