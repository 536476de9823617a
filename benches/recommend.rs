//! What recommendation costs: `cargo bench --bench recommend`.
//!
//! Made ratings of the size of MovieLens-100k: 943 users, 1,682 items of unequal popularity, 100,000 ratings of two
//! tastes. Training is timed with every choice and at one lambda, for some losses; then one recommendation, with the
//! user of the training and folded in from its ratings. Medians of some repetitions.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints its measurements")]

use std::time::Instant;

use rusqlite::Connection;
use sqlite_ltr::internals::math::random::Random;

const USERS: usize = 943;
const ITEMS: usize = 1682;
const RATINGS: usize = 100_000;
/// Trainings with their options, and how often each is repeated.
const TRAININGS: &[(&str, &str, usize)] = &[
    ("every choice", "{}", 1),
    ("pair_squared", r#"{"lambda": 10}"#, 3),
    ("list_net", r#"{"lambda": 0.1, "loss": "list_net"}"#, 1),
    ("hinge", r#"{"lambda": 0.1, "loss": "hinge"}"#, 1),
    ("direct, NDCG@10", r#"{"lambda": 0.1, "loss": "direct", "measure": "ndcg@10"}"#, 1),
];
/// A user that is known, and one that is folded in.
const RECOMMENDATIONS: &[(&str, &str)] = &[
    ("ltr_recommend, a user of the training", "SELECT count(*) FROM ltr_recommend('m', ?1)"),
    (
        "ltr_recommend, folded in from its ratings",
        "SELECT count(*) FROM ltr_recommend('m', 'new', json_object('ratings', (SELECT json_group_array(json_array(item_id, rating)) FROM ratings WHERE user_id = ?1)))",
    ),
];

fn database() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    sqlite_ltr::register(&connection).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE ratings(user_id, item_id, rating, PRIMARY KEY (user_id, item_id)); BEGIN",
        )
        .unwrap();
    let mut random = Random::new(1);
    let mut insert = connection.prepare("INSERT OR IGNORE INTO ratings VALUES (?1, ?2, ?3)").unwrap();
    let mut rows = 0;
    while rows < RATINGS {
        let user = random.below(USERS);
        // The product of two uniform numbers: few items are rated often.
        let most = 1 + random.below(ITEMS);
        let item = random.below(most);
        let quality = (item * 7 % 5) as f64 / 2.0;
        let taste = if (user + item).is_multiple_of(2) { 1.0 } else { -1.0 };
        let rating = (2.5 + 0.5 * quality + 0.5 * taste + random.symmetric()).round().clamp(1.0, 5.0);
        rows += insert.execute((user as i64, item as i64, rating)).unwrap();
    }
    drop(insert);
    connection.execute_batch("COMMIT").unwrap();
    connection
}

fn median(repetitions: usize, mut work: impl FnMut(usize)) -> f64 {
    let seconds = |repetition: usize| {
        let began = Instant::now();
        work(repetition);
        began.elapsed().as_secs_f64()
    };
    let mut all: Vec<f64> = (0..repetitions).map(seconds).collect();
    all.sort_by(f64::total_cmp);
    all[repetitions / 2]
}

fn main() {
    let connection = database();
    for &(name, options, repetitions) in TRAININGS {
        let train = |_| {
            let sql = "SELECT length(ltr_fit('cofi_rank', 'ratings', ?1))";
            connection.query_row(sql, [options], |row| row.get::<_, i64>(0)).unwrap();
        };
        println!("{name:45} {:9.2} s", median(repetitions, train));
    }
    connection
        .query_row(r#"SELECT ltr_train('cofi_rank', 'ratings', '{"name": "m", "lambda": 10}')"#, [], |_| {
            Ok(())
        })
        .unwrap();
    for &(name, sql) in RECOMMENDATIONS {
        let mut statement = connection.prepare(sql).unwrap();
        let mut ask = |user: usize| {
            assert_eq!(statement.query_row([user as i64], |row| row.get::<_, i64>(0)).unwrap(), 10);
        };
        ask(0);
        println!("{name:45} {:9.2} ms", 1e3 * median(101, &mut ask));
    }
}
