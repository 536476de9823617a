//! Long lists: one pass of each pairwise loss compared with a loop over all pairs, `cofi_rank` for a user with 2,000 ratings, and
//! `rank_svm` for one query of up to a million documents: `cargo bench --bench long_lists`.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints its measurements")]

use std::time::Instant;

use rusqlite::Connection;
use sqlite_ltr::internals::cost::loss::{LossKind, find};
use sqlite_ltr::internals::math::random::Random;

const FEATURES: usize = 20;
const REPETITIONS: usize = 3;

fn seconds(work: impl FnOnce()) -> f64 {
    let started = Instant::now();
    work();
    started.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// One pass with five grades.
fn passes(documents: usize) {
    let mut random = Random::new(4);
    let labels: Vec<f64> = (0..documents).map(|_| random.below(5) as f64).collect();
    let scores: Vec<f64> = labels.iter().map(|label| label + 3.0 * random.symmetric()).collect();
    let mut slopes = vec![0.0; documents];
    for name in ["hinge", "squared_hinge", "psi", "logistic"] {
        let LossKind::Pairwise(loss) = find(name).unwrap().kind else { unreachable!() };
        let def = loss.def();
        let (mut fast, mut slow) = (Vec::new(), Vec::new());
        for _ in 0..REPETITIONS {
            fast.push(seconds(|| {
                std::hint::black_box(def.value_and_subgradient(&labels, &scores, &mut slopes));
            }));
            slow.push(seconds(|| {
                let mut value = 0.0;
                for j in 0..documents {
                    for l in (0..documents).filter(|l| labels[j] > labels[*l]) {
                        let margin = scores[j] - scores[l];
                        value += (def.value)(margin);
                        let slope = (def.slope)(margin);
                        slopes[j] += slope;
                        slopes[l] -= slope;
                    }
                }
                std::hint::black_box(value);
            }));
        }
        let (fast, slow) = (median(fast), median(slow));
        println!(
            "{documents} documents, {name}: {:.3} ms, pair by pair {:.1} ms, ratio {:.0}",
            1e3 * fast,
            1e3 * slow,
            slow / fast
        );
    }
}

fn database() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    sqlite_ltr::register(&connection).unwrap();
    connection
}

fn one_user(loss: &str) {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE ratings AS WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1999)
             SELECT 1 AS user_id, i AS item_id, 1 + i * 7919 % 1009 % 5 AS rating FROM n",
        )
        .unwrap();
    let options = format!(r#"{{"loss": "{loss}", "lambda": 0.1}}"#);
    let sql = "SELECT length(ltr_fit('cofi_rank', 'ratings', ?1))";
    let taken =
        (0..REPETITIONS).map(|_| seconds(|| connection.query_row(sql, [&options], |_| Ok(())).unwrap()));
    println!("cofi_rank, one user with 2,000 ratings, {loss}: {:.2} s", median(taken.collect()));
}

fn one_query(documents: usize) {
    let connection = database();
    connection
        .execute_batch("CREATE TABLE judgments (query_id, doc_id, relevance, features BLOB); BEGIN")
        .unwrap();
    let mut insert = connection.prepare("INSERT INTO judgments VALUES (1, ?1, ?2, ?3)").unwrap();
    let mut random = Random::new(7);
    for document in 0..documents {
        let features: Vec<f32> = (0..FEATURES).map(|_| random.symmetric() as f32).collect();
        let score = features.iter().zip(1..).map(|(x, i)| f64::from(*x) / f64::from(i)).sum::<f64>();
        let relevance = (1.5 * (score + random.symmetric()) + 1.0).floor().clamp(0.0, 4.0);
        let blob: Vec<u8> = features.iter().flat_map(|value| value.to_le_bytes()).collect();
        insert.execute((document as i64, relevance as i64, blob)).unwrap();
    }
    drop(insert);
    connection.execute_batch("COMMIT").unwrap();
    let sql = "SELECT ltr_train('rank_svm', 'judgments', '{\"lambda\": 0.001}') ->> '$.pairs'";
    let taken = seconds(|| connection.query_row(sql, [], |_| Ok(())).unwrap());
    println!("rank_svm, one query of {documents} documents, {FEATURES} features, one lambda: {taken:.1} s");
}

fn main() {
    // `cargo test --benches` and `cargo bench -- --test` only ask whether this builds and starts.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    [200, 2000, 20_000].into_iter().for_each(passes);
    ["logistic", "hinge", "cs_list_mle"].into_iter().for_each(one_user);
    [30_000, 100_000, 1_000_000].into_iter().for_each(one_query);
}
