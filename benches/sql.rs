//! What the SQL surface costs, as ratios in one run: `cargo bench --bench sql`.
//!
//! Each figure is the median of some repetitions; the two sides of a ratio alternate, so that a busy machine slows
//! both. With LTR_DATA (default ../shared/data) present, training on real data is timed too.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints its measurements")]

use std::path::PathBuf;
use std::time::Instant;

use rusqlite::{Connection, types::ValueRef};

const ROWS: usize = 120_000;
const FEATURES: usize = 136;
const DOCUMENTS_PER_QUERY: usize = 100;
const REPETITIONS: usize = 5;

/// Numbers between -1 and 1 that look random: Weyl's sequence.
fn number(index: usize) -> f64 {
    (index as f64 * 0.618_033_988_749_895).fract() * 2.0 - 1.0
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn seconds(work: impl FnOnce()) -> f64 {
    let started = Instant::now();
    work();
    started.elapsed().as_secs_f64()
}

fn database() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    sqlite_ltr::register(&connection).unwrap();
    let columns: Vec<String> = (1..=FEATURES).map(|number| format!("f{number} REAL")).collect();
    connection
        .execute_batch(&format!(
            "CREATE TABLE wide (query_id INTEGER, doc_id INTEGER, relevance INTEGER, {});
             CREATE TABLE narrow (query_id INTEGER, doc_id INTEGER, relevance INTEGER, features BLOB);
             BEGIN",
            columns.join(", ")
        ))
        .unwrap();
    let marks = vec!["?"; 3 + FEATURES].join(", ");
    let mut wide = connection.prepare(&format!("INSERT INTO wide VALUES ({marks})")).unwrap();
    let mut narrow = connection.prepare("INSERT INTO narrow VALUES (?, ?, ?, ?)").unwrap();
    for row in 0..ROWS {
        let features: Vec<f64> = (0..FEATURES).map(|feature| number(row * FEATURES + feature)).collect();
        let relevance = i64::from(features[0] + 0.3 * features[1] > 0.6);
        let (query, doc) = ((row / DOCUMENTS_PER_QUERY) as i64, (row % DOCUMENTS_PER_QUERY) as i64);
        wide.raw_bind_parameter(1, query).unwrap();
        wide.raw_bind_parameter(2, doc).unwrap();
        wide.raw_bind_parameter(3, relevance).unwrap();
        for (place, value) in features.iter().enumerate() {
            wide.raw_bind_parameter(4 + place, value).unwrap();
        }
        wide.raw_execute().unwrap();
        let blob: Vec<u8> = features.iter().flat_map(|value| (*value as f32).to_le_bytes()).collect();
        narrow.execute((query, doc, relevance, blob)).unwrap();
    }
    drop((wide, narrow));
    connection.execute_batch("COMMIT").unwrap();
    connection
}

/// Seconds that training says it read for.
fn reading(connection: &Connection, source: &str) -> f64 {
    let options = r#"{"lambda": 100, "tolerance": 0.1, "scale": "none"}"#;
    let sql = "SELECT ltr_train('rank_svm', ?1, ?2) ->> '$.seconds.reading'";
    connection.query_row(sql, (source, options), |row| row.get(0)).unwrap()
}

fn plain_wide(connection: &Connection) -> f64 {
    let mut values = Vec::new();
    let taken = seconds(|| {
        let mut statement = connection.prepare("SELECT * FROM wide").unwrap();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..3 + FEATURES {
                values.push(row.get::<_, f64>(column).unwrap());
            }
        }
    });
    assert_eq!(values.len(), ROWS * (3 + FEATURES));
    taken
}

fn plain_narrow(connection: &Connection) -> f64 {
    let mut values: Vec<f32> = Vec::new();
    let mut ids = Vec::new();
    let taken = seconds(|| {
        let mut statement = connection.prepare("SELECT * FROM narrow").unwrap();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            ids.push([row.get::<_, f64>(0).unwrap(), row.get(1).unwrap(), row.get(2).unwrap()]);
            let ValueRef::Blob(bytes) = row.get_ref(3).unwrap() else { panic!("a BLOB") };
            values.extend(bytes.as_chunks::<4>().0.iter().map(|chunk| f32::from_le_bytes(*chunk)));
        }
    });
    assert_eq!((values.len(), ids.len()), (ROWS * FEATURES, ROWS));
    taken
}

fn compare(what: &str, mut ours: impl FnMut() -> f64, mut plain: impl FnMut() -> f64) {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for _ in 0..REPETITIONS {
        first.push(ours());
        second.push(plain());
    }
    let (ours, plain) = (median(first), median(second));
    println!("{what}: {:.0} ms, plain loop {:.0} ms, ratio {:.2}", ours * 1e3, plain * 1e3, ours / plain);
}

fn scoring(connection: &Connection, scale: &str) {
    let options = format!(r#"{{"lambda": 1, "tolerance": 0.1, "scale": "{scale}", "name": "scorer"}}"#);
    connection.query_row("SELECT ltr_train('rank_svm', 'narrow', ?1)", [options], |_| Ok(())).unwrap();
    let sql = "SELECT sum(ltr_score('scorer', features)) FROM narrow";
    let taken =
        (0..REPETITIONS).map(|_| seconds(|| connection.query_row(sql, [], |_| Ok(())).unwrap())).collect();
    println!(
        "ltr_score, BLOB of {FEATURES}, scale {scale}: {:.2} million rows/s",
        ROWS as f64 / median(taken) / 1e6
    );
}

/// One query of 100,000 documents and 1,000 queries of 100, compared with a loop that reads the same rows. The model has the default
/// scaling.
fn large_rankings(connection: &Connection) {
    let train =
        r#"SELECT ltr_train('rank_svm', 'narrow', '{"lambda": 1, "tolerance": 0.1, "name": "ranker"}')"#;
    connection.query_row(train, [], |_| Ok(())).unwrap();
    for (what, query) in [("one query of 120,000", "1"), ("1,200 queries of 100", "query_id")] {
        let source =
            format!("SELECT {query} AS query_id, query_id * 1000 + doc_id AS doc_id, features FROM narrow");
        let sql = "SELECT count(*) FROM ltr_rank('ranker', ?1)";
        compare(
            &format!("ltr_rank, BLOBs of {FEATURES}, default scaling, {what}"),
            || seconds(|| connection.query_row(sql, [&source], |_| Ok(())).unwrap()),
            || plain_narrow(connection),
        );
    }
}

fn data_folder() -> PathBuf {
    std::env::var_os("LTR_DATA").map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from)
}

/// New queries, one by one and together: 136 features, 20 neighbors of about 100 documents.
/// One pass over the pairs of such a fit takes 2 x 2 x 2,000 x 136 + 4 x 64,800 = 1.3 Mflop, one Hessian 37 Mflop.
fn new_queries(connection: &Connection) {
    let folder = data_folder().join("mslr-sample");
    if !folder.join("test.txt").exists() {
        println!("the MSLR sample is not in {}: new queries are NOT timed (set LTR_DATA)", folder.display());
        return;
    }
    for part in ["train", "test"] {
        let path = folder.join(format!("{part}.txt")).display().to_string();
        let sql = format!(
            "CREATE TABLE mslr_{part} AS SELECT * FROM ltr_letor('{path}', '{{\"feature_count\": 136}}')"
        );
        connection.execute_batch(&sql).unwrap();
    }
    connection.execute_batch("CREATE INDEX mslr_query ON mslr_test (query_id)").unwrap();
    let train = |round: usize| {
        // Another lambda is another model, whose functions are not kept yet.
        let options = format!(
            r#"{{"lambda": {}, "tolerance": 1e-3, "neighbors": 20, "columns": {{"ignore": ["comment"]}}}}"#,
            1e-3 * (1.0 + 1e-9 * round as f64)
        );
        let sql = "SELECT ltr_train('q_svm', 'mslr_train', ?1)";
        connection.query_row(sql, [options], |_| Ok(())).unwrap();
    };
    train(0);
    let mut statement = connection.prepare("SELECT DISTINCT query_id FROM mslr_test").unwrap();
    let queries: Vec<i64> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let one = "SELECT count(*) FROM ltr_rank('q_svm', 'mslr_test') WHERE query_id = ?1";
    let rank = |query: &i64| seconds(|| connection.query_row(one, [query], |_| Ok(())).unwrap());
    let first: Vec<f64> = queries.iter().map(rank).collect();
    let again: Vec<f64> = queries.iter().map(rank).collect();
    println!(
        "a new query of the MSLR sample: first {:.1} ms, again {:.1} ms",
        1e3 * median(first),
        1e3 * median(again)
    );
    let all = |threads: usize, round: usize| {
        train(round);
        let options = format!(r#"{{"threads": {threads}}}"#);
        let sql = "SELECT count(*) FROM ltr_rank('q_svm', 'mslr_test', ?1)";
        let fitted = seconds(|| connection.query_row(sql, [&options], |_| Ok(())).unwrap());
        fitted - seconds(|| connection.query_row(sql, [&options], |_| Ok(())).unwrap())
    };
    let (mut single, mut double) = (Vec::new(), Vec::new());
    for round in 1..=REPETITIONS {
        single.push(all(1, 2 * round));
        double.push(all(2, 2 * round + 1));
    }
    let (single, double) = (median(single), median(double));
    println!(
        "fits of {} new queries: {:.0} ms on one thread, {:.0} ms on two, ratio {:.2}",
        queries.len(),
        1e3 * single,
        1e3 * double,
        single / double
    );
}

fn real_data(connection: &Connection) {
    let folder = data_folder().join("mq2008");
    if !folder.join("S1.txt").exists() {
        println!("MQ2008 is not in {}: training on real data is NOT timed (set LTR_DATA)", folder.display());
        return;
    }
    for part in 1..=3 {
        let path = folder.join(format!("S{part}.txt")).display().to_string();
        let sql = if part == 1 { "CREATE TABLE fold AS" } else { "INSERT INTO fold" };
        let sql = format!("{sql} SELECT query_id, doc_id, relevance, features FROM ltr_letor('{path}')");
        connection.execute_batch(&sql).unwrap();
    }
    for (algorithm, options) in [
        ("rank_svm", r#"{"lambda": 0.01}"#),
        ("rank_svm", "{}"),
        ("q_svm", r#"{"lambda": 0.01}"#),
        ("q_svm", "{}"),
        ("knn_svm", r#"{"lambda": 0.01}"#),
        ("indv_svm", r#"{"lambda": 0.01}"#),
    ] {
        let sql = "SELECT ltr_train(?1, 'fold', ?2)";
        let taken = (0..REPETITIONS)
            .map(|_| seconds(|| connection.query_row(sql, (algorithm, options), |_| Ok(())).unwrap()))
            .collect();
        println!("MQ2008 fold 1, {algorithm} {options}: {:.3} s", median(taken));
    }
}

/// Milliseconds that a statement takes for query `round % 100`; every value is read.
fn milliseconds(statement: &mut rusqlite::Statement<'_>, round: usize) -> f64 {
    let columns = statement.column_count();
    let taken = seconds(|| {
        let mut rows = statement.query([round as i64 % 100]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns {
                std::hint::black_box(row.get_ref(column).unwrap());
            }
        }
    });
    1e3 * taken
}

/// A percentile of the values.
fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() * percent / 100]
}

/// 100 candidates with 5 features and a linear model, compared with a SELECT of the same rows. The statements alternate.
fn small_rankings(connection: &Connection) {
    const ROUNDS: usize = 2000;
    connection
        .execute_batch(
            "CREATE TABLE candidates(query_id, doc_id, relevance, x1, x2, x3, x4, x5, PRIMARY KEY (query_id, doc_id));
             WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
             INSERT INTO candidates SELECT i / 100, i % 100, i * 31 % 4, i * 31 % 4 + i * 17 % 101 / 50.0,
               i * 13 % 103 / 103.0, i * 7 % 107 / 107.0, i * 5 % 109 / 109.0, i * 3 % 113 / 113.0 FROM n;
             SELECT ltr_train('rank_svm', 'candidates', '{\"name\": \"small\", \"lambda\": 0.1}');",
        )
        .unwrap();
    let calls = [
        ("SELECT of the rows", "SELECT * FROM candidates WHERE query_id = ?1"),
        (
            "ltr_rank, table",
            "SELECT doc_id, score FROM ltr_rank('small', 'candidates') WHERE query_id = ?1 ORDER BY rank",
        ),
        (
            "ltr_rank, SELECT",
            "SELECT doc_id, score FROM ltr_rank('small', 'SELECT * FROM candidates WHERE query_id = ?1', NULL, ?1) ORDER BY rank",
        ),
        (
            "ltr_score and ORDER BY",
            "SELECT doc_id, ltr_score('small', ltr_vec(x1, x2, x3, x4, x5)) AS score FROM candidates WHERE query_id = ?1 ORDER BY 2 DESC",
        ),
    ];
    let mut statements = calls.map(|(_, sql)| connection.prepare(sql).unwrap());
    let mut times = calls.map(|_| Vec::with_capacity(ROUNDS));
    for round in 0..ROUNDS {
        for (statement, times) in statements.iter_mut().zip(&mut times) {
            times.push(milliseconds(statement, round));
        }
    }
    let [median, high] = [50, 95].map(|percent| times.each_mut().map(|times| percentile(times, percent)));
    for (index, (what, _)) in calls.iter().enumerate() {
        println!(
            "100 candidates, 5 features, {what}: median {:.3} ms (x {:.2}), 95th percentile {:.3} ms (x {:.2})",
            median[index],
            median[index] / median[0],
            high[index],
            high[index] / high[0]
        );
    }
}

fn main() {
    // `cargo test --benches` and `cargo bench -- --test` only ask whether this builds and starts.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    small_rankings(&{
        let connection = Connection::open_in_memory().unwrap();
        sqlite_ltr::register(&connection).unwrap();
        connection
    });
    let connection = database();
    real_data(&connection);
    new_queries(&connection);
    compare(
        "reading 120,000 x 136 REAL columns",
        || reading(&connection, "wide"),
        || plain_wide(&connection),
    );
    compare("reading 120,000 BLOBs of 136", || reading(&connection, "narrow"), || plain_narrow(&connection));
    for scale in ["none", "standard", "quantile"] {
        scoring(&connection, scale);
    }
    large_rankings(&connection);
}
