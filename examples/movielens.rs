//! Recommendation on MovieLens-100k: `cofi_rank` compared with shrunk item means and a least-squares factorization.
//!
//! ```sh
//! cargo run --release --example movielens -- ../shared/data/ml-100k/u.data
//! ```
//!
//! Weak generalization as in Weimer et al. (2008): of every user with more than N + 10 ratings N random ones train and the
//! others test, N = 10, 20 and 50, in five random splits; a user counts with its mean over the splits in the last line of
//! each N. NDCG@10 with gain 2^y - 1; p values of paired t tests over users, two-sided, by the
//! normal approximation. Every choice is made inside the training, on its own ratings.

#![allow(clippy::print_stdout, reason = "an example talks to the person who runs it")]

use std::time::Instant;

use rusqlite::{Connection, Result};

/// Ratings to train on per user.
const SIZES: [i64; 3] = [10, 20, 50];
/// Ratings of the overall mean that the mean of an item is shrunk with.
const SHRINKAGE: [f64; 2] = [5.0, 15.0];

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.first().cloned().unwrap_or_else(|| "../shared/data/ml-100k/u.data".to_owned());
    let splits: u64 = arguments.get(1).and_then(|text| text.parse().ok()).unwrap_or(5);
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("SKIPPED: no file {path}; give the path of u.data of MovieLens-100k");
        return Ok(());
    };
    let connection = Connection::open_in_memory()?;
    sqlite_ltr::register(&connection)?;
    load(&connection, &text)?;
    println!(
        "| N | item mean, k = 5 | k = 15 | least squares | cofi_rank | p to k = 5 | p to k = 15 | seconds | lambda |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for size in SIZES {
        table(&connection, size, splits)?;
    }
    recommend(&connection)
}

fn load(connection: &Connection, text: &str) -> Result<()> {
    connection.execute_batch("CREATE TABLE ratings(user_id INTEGER, item_id INTEGER, rating REAL); BEGIN")?;
    let mut insert = connection.prepare("INSERT INTO ratings VALUES (?1, ?2, ?3)")?;
    for line in text.lines() {
        let mut fields = line.split('\t');
        insert.execute([fields.next(), fields.next(), fields.next()])?;
    }
    connection.execute_batch("COMMIT")
}

/// Splits with a random order that the seed decides: splitmix64 of user and item.
fn split(connection: &Connection, size: i64, seed: u64) -> Result<()> {
    let rows: Vec<(i64, i64)> = connection
        .prepare("SELECT user_id, item_id FROM ratings")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_>>()?;
    connection.execute_batch("DROP TABLE IF EXISTS lots; CREATE TABLE lots(user_id, item_id, lot); BEGIN")?;
    let mut insert = connection.prepare("INSERT INTO lots VALUES (?1, ?2, ?3)")?;
    for (user, item) in rows {
        let bits = sqlite_ltr::internals::math::random::Random::new(
            (seed << 40) ^ ((user as u64) << 20) ^ item as u64,
        )
        .bits();
        insert.execute((user, item, (bits >> 1) as i64))?;
    }
    connection.execute_batch(&format!(
        "COMMIT;
         DROP TABLE IF EXISTS train; DROP TABLE IF EXISTS test; DROP TABLE IF EXISTS drawn;
         CREATE TEMP TABLE drawn AS
             SELECT user_id, item_id, rating, row_number() OVER (PARTITION BY user_id ORDER BY lot) AS place,
                    count(*) OVER (PARTITION BY user_id) AS number
               FROM ratings JOIN lots USING (user_id, item_id);
         CREATE TABLE train AS SELECT user_id, item_id, rating FROM drawn WHERE number > {size} + 10 AND place <= {size};
         CREATE TABLE test AS SELECT user_id, item_id, rating FROM drawn WHERE number > {size} + 10 AND place > {size};"
    ))
}

/// NDCG@10 of each user for scores that a statement gives (user, item, score).
fn values(connection: &Connection, scores: &str) -> Result<Vec<f64>> {
    let sql = format!(
        "SELECT coalesce(ltr_ndcg(test.rating, s.score, 10), 0) FROM test JOIN ({scores}) AS s USING (user_id, item_id)
          GROUP BY test.user_id ORDER BY test.user_id"
    );
    connection.prepare(&sql)?.query_map([], |row| row.get(0))?.collect()
}

fn item_mean(connection: &Connection, shrinkage: f64) -> Result<Vec<f64>> {
    let scores = format!(
        "WITH all_of AS (SELECT avg(rating) AS mean FROM train),
              means AS (SELECT item_id, (sum(rating) + {shrinkage} * mean) / (count(*) + {shrinkage}) AS score
                          FROM train, all_of GROUP BY item_id)
         SELECT user_id, item_id, coalesce(score, mean) AS score FROM test, all_of LEFT JOIN means USING (item_id)"
    );
    values(connection, &scores)
}

/// What one training gives.
struct Fitted {
    /// NDCG@10 of each user.
    values: Vec<f64>,
    /// Of the training.
    seconds: f64,
    lambda: f64,
}

fn factorization(connection: &Connection, options: &str) -> Result<Fitted> {
    let began = Instant::now();
    let report: String =
        connection.query_row("SELECT ltr_train('cofi_rank', 'train', ?1)", [options], |row| row.get(0))?;
    let seconds = began.elapsed().as_secs_f64();
    let lambda = connection.query_row("SELECT ?1 ->> '$.lambda'", [report], |row| row.get(0))?;
    let scores = "SELECT query_id AS user_id, doc_id AS item_id, score FROM ltr_rank('cofi_rank', 'test')";
    Ok(Fitted { values: values(connection, scores)?, seconds, lambda })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Two-sided p value of a paired t test, by the normal approximation.
fn paired(ours: &[f64], theirs: &[f64]) -> f64 {
    let differences: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a - b).collect();
    let (n, m) = (differences.len() as f64, mean(&differences));
    let variance = differences.iter().map(|d| (d - m) * (d - m)).sum::<f64>() / (n - 1.0);
    libm::erfc((m / (variance / n).sqrt()).abs() / std::f64::consts::SQRT_2)
}

/// A line of the table: item means, least squares on ratings, `cofi_rank`.
fn line(name: &str, all: &[Vec<f64>; 4], seconds: f64, lambda: f64) -> String {
    let [light, strong, squared, ours] = all;
    format!(
        "| {name} | {:.4} | {:.4} | {:.4} | {:.4} | {:.1e} | {:.1e} | {seconds:.1} | {lambda:.2} |",
        mean(light),
        mean(strong),
        mean(squared),
        mean(ours),
        paired(ours, light),
        paired(ours, strong),
    )
}

/// Every split of one size, and the means over splits of every user.
fn table(connection: &Connection, size: i64, splits: u64) -> Result<()> {
    let mut sums: [Vec<f64>; 4] = Default::default();
    for seed in 0..splits {
        split(connection, size, seed)?;
        let [light, strong] = SHRINKAGE.map(|shrinkage| item_mean(connection, shrinkage));
        let squared = factorization(connection, r#"{"loss": "pair_squared", "target": "grade"}"#)?;
        let ours = factorization(connection, "{}")?;
        let all = [light?, strong?, squared.values, ours.values];
        println!("{}", line(&format!("{size}, split {seed}"), &all, ours.seconds, ours.lambda));
        for (sum, values) in sums.iter_mut().zip(all) {
            sum.resize(values.len(), 0.0);
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value / splits as f64);
        }
    }
    println!("{}", line(&format!("**{size}, mean**"), &sums, f64::NAN, f64::NAN));
    Ok(())
}

fn recommend(connection: &Connection) -> Result<()> {
    let began = Instant::now();
    let users: i64 = connection.query_row(
        "SELECT count(*) FROM (SELECT DISTINCT user_id FROM test) AS u JOIN ltr_recommend('cofi_rank', u.user_id) AS r",
        [],
        |row| row.get(0),
    )?;
    let each = began.elapsed().as_secs_f64() * 1e3 / (users as f64 / 10.0);
    println!("ltr_recommend: {each:.2} ms per user");
    Ok(())
}
