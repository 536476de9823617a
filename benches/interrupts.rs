//! How late interrupts are noticed: `cargo bench --bench interrupts`, on an idle machine.
//!
//! Each call computes for long on large data. It is interrupted at several random moments. The table has, for each
//! call, the number of interrupts and the 99th percentile and maximum of the time from `sqlite3_interrupt` to the end of
//! the call. A name as argument measures the calls whose names contain it.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints its measurements")]

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rusqlite::Connection;

/// Interrupts of each call.
const SHOTS: u64 = 10;
/// Calls are interrupted within this time.
const WINDOW: Duration = Duration::from_secs(3);

/// Tables: one query of a million documents, many queries, 1,200 features, groups, slots, ratings, subtopics.
const SETUP: &str = "
CREATE TABLE numbers AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 999999) SELECT i FROM n;
CREATE TABLE one AS SELECT 1 AS query_id, i AS doc_id, CASE WHEN (i * 7919) % 1000003 < 300 THEN 1 + i % 4 ELSE 0 END AS relevance,
    ((i * 104729) % 100003) / 1e5 AS a, ((i * 1299709) % 99991) / 1e5 AS b FROM numbers;
CREATE TABLE grades AS SELECT 1 AS query_id, i AS doc_id, (i * 7919) % 5 AS relevance,
    ((i * 104729) % 100003) / 1e5 AS a, ((i * 1299709) % 99991) / 1e5 AS b FROM numbers;
CREATE TABLE many AS SELECT i / 50 AS query_id, i AS doc_id, (i * 7919) % 5 AS relevance, ((i * 104729) % 1009) / 1e3 AS a,
    ((i * 1299709) % 997) / 1e3 AS b, ((i * 15485863) % 991) / 1e3 AS c, ((i * 32452843) % 983) / 1e3 AS d FROM numbers WHERE i < 200000;
CREATE TABLE sites AS SELECT query_id, doc_id, CASE WHEN doc_id % 21 = 0 THEN relevance ELSE 0 END AS relevance, doc_id % 10000 AS site, a, b FROM grades WHERE doc_id < 20000;
CREATE TABLE slots AS SELECT 1 AS query_id, i / 300 AS doc_id, i % 300 AS slot, i / 300 = i % 300 AS relevance, ((i * 104729) % 1009) / 1e3 AS a FROM numbers WHERE i < 90000;
CREATE TABLE ratings AS SELECT i / 3000 AS user, (i * 37) % 5000 AS item, 1 + (i * 7919) % 5 AS rating FROM numbers WHERE i < 300000;
CREATE TABLE few_users AS SELECT i % 2 AS user, i / 2 AS item, 1 + (i * 7919) % 5 AS rating FROM numbers;
CREATE TABLE many_users AS SELECT i / 200 AS user, (i * 37) % 20000 AS item, 1 + (i * 7919) % 5 AS rating FROM numbers GROUP BY 1, 2;
CREATE TABLE topics AS SELECT '[' || (i % 7) || ',' || (i % 11 + 20) || ']' AS t FROM numbers WHERE i < 100000;
CREATE TABLE wide (query_id, doc_id, relevance, features);";

/// Documents with 136 features.
const BROAD: &str = "CREATE TABLE broad AS SELECT query_id, doc_id, relevance, substr(features, 1, 544) AS features FROM wide WHERE query_id < 20";

/// Models that the calls use.
const MODELS: &[(&str, &str, &str, &str)] = &[
    ("linear", "list_net", "SELECT * FROM grades WHERE doc_id < 1000", r#""lambda": 0.1"#),
    (
        "local",
        "q_svm",
        "SELECT * FROM many WHERE query_id < 2000",
        r#""lambda": 0.1, "fit_at": "query_time""#,
    ),
    (
        "kernel",
        "rank_svm",
        "SELECT * FROM many WHERE query_id < 200",
        r#""lambda": 0.1, "kernel": "gaussian""#,
    ),
    ("landmarks", "rank_svm", "broad", r#""lambda": 0.1, "kernel": "gaussian", "landmarks": 1000"#),
    ("factors", "cofi_rank", "few_users", r#""lambda": 0.1, "max_rounds": 1, "factors": 5"#),
    ("online", "perceptron", "SELECT * FROM many WHERE query_id < 100", r#""epochs": 1"#),
];

/// Trainings: algorithm, source, options.
const FITS: &[(&str, &str, &str)] = &[
    ("rank_svm", "one", r#""lambda": 0.01"#),
    ("rank_svm", "one", r#""lambda": 0.01, "loss": "psi""#),
    ("regression", "one", r#""lambda": 0.01"#),
    ("list_net", "one", r#""lambda": 0.01"#),
    ("list_mle", "one", r#""lambda": 0.01"#),
    ("cs_list_mle", "one", r#""lambda": 0.01"#),
    ("slam", "grades", r#""lambda": 0.01"#),
    ("direct", "grades", r#""lambda": 0.01, "measure": "ndcg@100""#),
    ("smooth_grad", "one", r#""lambda": 0.01"#),
    ("perceptron", "one", r#""epochs": 3"#),
    ("q_svm", "many", ""),
    ("knn_svm", "many", ""),
    ("rank_svm", "many", ""),
    ("rank_svm", "many", r#""lambda": 1e-4, "solver": "admm", "tolerance": 1e-9"#),
    ("rank_svm", "SELECT * FROM many WHERE query_id < 400", r#""kernel": "gaussian", "landmarks": 3000"#),
    ("rank_svm", "SELECT * FROM many WHERE query_id < 400", r#""kernel": "gaussian", "form": "ranking""#),
    ("indv_svm", "many", ""),
    ("auto", "many", ""),
    ("auto", "wide", ""),
    ("eigen_rank", "wide", ""),
    ("regression", "wide", ""),
    ("q_svm", "wide", ""),
    ("direct", "sites", r#""diversify_by": "site", "measure": "ndcg@100", "lambda": 0.1"#),
    ("matching", "slots", r#""lambda": 0.001"#),
    ("cofi_rank", "ratings", r#""loss": "logistic", "lambda": 0.1"#),
    ("cofi_rank", "ratings", r#""loss": "hinge", "lambda": 0.1"#),
    ("cofi_rank", "ratings", r#""loss": "direct", "lambda": 0.1"#),
    ("cofi_rank", "many_users", r#""factors": 20"#),
];

/// Other calls.
const CALLS: &[(&str, &str)] = &[
    ("ltr_ndcg", "SELECT ltr_ndcg(relevance, a) FROM grades"),
    ("ltr_err, tied", "SELECT ltr_metric('err', relevance * 1e-9, 1.0) FROM grades"),
    ("ltr_kendall_tau", "SELECT ltr_metric('kendall_tau', relevance, a) FROM grades"),
    ("ltr_alpha_ndcg, tied", "SELECT ltr_metric('alpha_ndcg', t, 1.0) FROM topics"),
    ("ltr_rank, linear", "SELECT count(*) FROM ltr_rank('linear', 'grades')"),
    (
        "ltr_rank, diverse",
        "SELECT count(*) FROM ltr_rank('linear', 'SELECT *, doc_id / 2 AS site FROM grades', '{\"diversify_by\": \"site\"}')",
    ),
    ("ltr_interleave", "SELECT count(*) FROM ltr_interleave('linear', 'linear', 'grades', '{\"seed\": 1}')"),
    ("ltr_rank, kernel", "SELECT count(*) FROM ltr_rank('kernel', 'many')"),
    (
        "ltr_rank, new queries",
        "SELECT count(*) FROM ltr_rank('local', 'SELECT query_id + 100000 AS query_id, doc_id, a + query_id % 7 AS a, b, c, d FROM many')",
    ),
    ("ltr_evaluate", "SELECT count(*) FROM ltr_evaluate('linear', 'grades')"),
    ("ltr_compare", "SELECT count(*) FROM ltr_compare('linear', 'local', 'many', '{\"samples\": 1000000}')"),
    (
        "ltr_paired_test",
        "SELECT ltr_paired_test(a, b, '{\"test\": \"bootstrap\", \"samples\": 1000000}') FROM many",
    ),
    ("ltr_update", "SELECT ltr_update('online', 'many')"),
    (
        "ltr_recommend",
        "SELECT count(*) FROM ltr_recommend('factors', 1, 1000000, '{\"include_seen\": true}')",
    ),
    (
        "ltr_recommend, ratings",
        "SELECT count(*) FROM ltr_recommend('factors', 1, 10, '{\"ratings\": \"SELECT item, rating FROM few_users WHERE user = 0\"}')",
    ),
    ("ltr_factors", "SELECT count(*) FROM ltr_factors('factors')"),
    ("ltr_explain", "SELECT count(*) FROM many, ltr_explain('kernel', ltr_vec(a, b, c, d))"),
    ("ltr_explain, 136 features", "SELECT count(*) FROM ltr_explain('landmarks', 'broad', 1, 50)"),
    ("ltr_monitor", "SELECT count(*) FROM ltr_monitor('linear', 'grades')"),
    (
        "ltr_cross_validate",
        "SELECT count(*) FROM ltr_cross_validate('rank_svm', 'many', '{\"kernel\": [\"linear\", \"gaussian\"]}')",
    ),
    ("ltr_importance", "SELECT count(*) FROM ltr_importance('linear', 'grades')"),
    ("ltr_neighbors", "SELECT count(*) FROM many, ltr_neighbors('local', json_array(a, b, c, d))"),
];

fn database() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    sqlite_ltr::register(&connection).unwrap();
    connection.execute_batch(SETUP).unwrap();
    let mut insert = connection.prepare("INSERT INTO wide VALUES (?, ?, ?, ?)").unwrap();
    let number = |index: usize| (index as f64 * 0.618_033_988_749_895).fract() as f32;
    for row in 0..3000 {
        let features: Vec<u8> =
            (0..1200).flat_map(|feature| number(row * 1207 + feature * feature).to_le_bytes()).collect();
        insert.execute((row as i64 / 50, row as i64, (row * 7919 % 5) as i64, features)).unwrap();
    }
    drop(insert);
    connection.execute_batch(BROAD).unwrap();
    connection
}

/// Makes a call and interrupts it after `delay`: the seconds from the interrupt to the end, if it came before the end,
/// and the seconds of the whole call.
fn interrupted(connection: &Connection, sql: &str, delay: Duration) -> (Option<f64>, f64) {
    let handle = connection.get_interrupt_handle();
    let (ended, end) = channel::<()>();
    let started = Instant::now();
    std::thread::scope(|scope| {
        let sender = scope.spawn(move || {
            end.recv_timeout(delay).is_err().then(|| {
                let sent = Instant::now();
                handle.interrupt();
                sent
            })
        });
        let outcome = connection.query_row(sql, [], |_| Ok(()));
        let finished = Instant::now();
        ended.send(()).unwrap_or_default();
        let sent = sender.join().unwrap();
        if let Err(problem) = &outcome {
            assert!(sent.is_some() && problem.to_string().contains("interrupted"), "{sql}: {problem}");
        }
        let late = sent.filter(|_| outcome.is_err()).map(|sent| (finished - sent).as_secs_f64());
        (late, (finished - started).as_secs_f64())
    })
}

/// The 99th percentile and the maximum of sorted numbers.
fn summary(sorted: &[f64]) -> String {
    let Some(largest) = sorted.last() else { return "none".to_owned() };
    let index = (0.99 * (sorted.len() - 1) as f64).ceil() as usize;
    format!("{:6.0} {:6.0}", 1e3 * sorted[index], 1e3 * largest)
}

fn main() {
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let connection = database();
    let fits = FITS.iter().map(|(algorithm, source, options)| {
        let name = format!("ltr_fit {algorithm}, {source} {options}");
        (name, format!("SELECT ltr_fit('{algorithm}', '{source}', '{{{options}}}')"))
    });
    let others = CALLS.iter().map(|(name, sql)| ((*name).to_owned(), (*sql).to_owned()));
    let calls: Vec<(String, String)> = fits.chain(others).filter(|(name, _)| name.contains(&only)).collect();
    for (name, algorithm, source, options) in MODELS {
        let sql =
            format!("SELECT ltr_train('{algorithm}', '{source}', '{{\"name\": \"{name}\", {options}}}')");
        if calls.iter().any(|(_, call)| call.contains(&format!("'{name}'"))) {
            connection.query_row(&sql, [], |_| Ok(())).unwrap();
        }
    }
    println!("{:>3} {:>6} {:>6}  call (milliseconds: 99th percentile, maximum)", "n", "p99", "max");
    let mut all = Vec::new();
    let mut seed = 1_u64;
    for (name, sql) in calls {
        let (first, length) = interrupted(&connection, &sql, WINDOW);
        let window = length.min(WINDOW.as_secs_f64());
        let mut late: Vec<f64> = first.into_iter().collect();
        for _ in 0..SHOTS {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let delay = Duration::from_secs_f64(window * (seed >> 11) as f64 / (1_u64 << 53) as f64);
            late.extend(interrupted(&connection, &sql, delay).0);
        }
        late.sort_by(f64::total_cmp);
        println!("{:>3} {:>13}  {name}", late.len(), summary(&late));
        all.extend(late);
    }
    all.sort_by(f64::total_cmp);
    println!("{:>3} {:>13}  all", all.len(), summary(&all));
}
