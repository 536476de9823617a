//! A first look: `cargo run --release -p quickstart`.
//!
//! Makes judged search results of a shop, trains a query-dependent and a uniform ranker on them in SQL, ranks a
//! query that was not in the training set, and compares the two rankers on such queries. Needs no files and no SQLite.
#![allow(clippy::print_stdout, reason = "an example talks to the person who runs it")]

#[path = "../../common/mod.rs"]
mod common;

use common::Answer;
use rusqlite::{Connection, Result, params};

/// What shoppers may want: the name of the query feature that shows it, and what it makes price, age and stars worth.
const WISHES: [(&str, [f64; 3]); 4] = [
    ("q_cheap", [-2.0, 0.0, 0.5]),
    ("q_luxury", [2.0, 0.0, 0.5]),
    ("q_new", [0.0, -2.0, 0.5]),
    ("q_vintage", [0.0, 2.0, 0.5]),
];
const TRAINING_QUERIES: u32 = 160;
const NEW_QUERIES: u32 = 80;
const PRODUCTS: usize = 20;
const SEED: u64 = 2008;

fn main() -> Result<()> {
    let connection = Connection::open_in_memory()?;
    sqlite_ltr::register(&connection)?;

    say(
        "A shop's search results, judged from 0 (useless) to 3 (just right). A product has a price, an age and \
         stars, each measured against the shop's average. A query has four features: how much its words ask for \
         something cheap, luxurious, new or vintage. What is best for one query is worst for another: no single ranking can please them all.",
    );
    make_data(&connection)?;
    show(&connection, "SELECT * FROM judgments LIMIT 3")?;

    say(
        "rank_svm learns one ranking function for all queries. One call does everything: columns find their roles by \
         their names, lambda is chosen on held-out queries, the model is stored in the table ltr_models, and a report \
         comes back, of which a few lines are shown here.",
    );
    show(
        &connection,
        "WITH training AS MATERIALIZED (SELECT ltr_train('rank_svm', 'judgments') AS report)
SELECT report ->> 'queries' AS queries, report ->> 'documents' AS documents,
       round(report ->> 'lambda', 4) AS lambda, report ->> '$.roles.features' AS features
  FROM training",
    )?;

    say(
        "q_svm learns a function for each query, from the judgments of the queries around it. Nearness is measured by \
         the columns whose names begin with q_.",
    );
    show(
        &connection,
        "WITH training AS MATERIALIZED (SELECT ltr_train('q_svm', 'judgments') AS report)
SELECT report ->> 'queries' AS queries, report ->> 'functions' AS functions,
       round(report ->> 'lambda', 4) AS lambda, report ->> '$.roles.query_features' AS query_features
  FROM training",
    )?;

    say(
        "Query 1001 was not in the training set. It asks for something new. q_svm fits a function for it on the spot and \
         remembers it for the next call. The column judged is what a judge would have said; the models never saw it.",
    );
    show(
        &connection,
        "SELECT r.rank, r.doc_id, round(r.score, 2) AS score, n.price, n.age, n.stars, n.relevance AS judged
  FROM ltr_rank('q_svm', 'new_queries') AS r JOIN new_queries AS n USING (query_id, doc_id)
 WHERE r.query_id = 1001
 ORDER BY r.rank LIMIT 8",
    )?;

    say("Whose judgments did it borrow?");
    show(
        &connection,
        "SELECT b.query_id, round(b.distance, 2) AS distance, round(b.weight, 2) AS weight
  FROM (SELECT * FROM new_queries WHERE query_id = 1001 LIMIT 1) AS n,
       ltr_neighbors('q_svm', ltr_vec(q_cheap, q_luxury, q_new, q_vintage)) AS b
 LIMIT 5",
    )?;

    say("And on all the new queries? Both rankers, mean NDCG@10 and mean reciprocal rank; higher is better.");
    show(
        &connection,
        "WITH models(model) AS (VALUES ('q_svm'), ('rank_svm'))
SELECT m.model,
       printf('%.3f', max(e.value) FILTER (WHERE e.metric = 'ndcg@10')) AS \"ndcg@10\",
       printf('%.3f', max(e.value) FILTER (WHERE e.metric = 'mrr')) AS mrr
  FROM models AS m, ltr_evaluate(m.model, 'new_queries', '{\"metric\": [\"ndcg@10\", \"mrr\"]}') AS e
 WHERE e.query_id IS NULL
 GROUP BY m.model",
    )?;

    say(
        "rank_svm found what all queries have in common, the stars. q_svm found what each of them asks for. Next: the \
         README has a session for the sqlite3 shell, and SELECT * FROM ltr_options lists what a call may choose.",
    );
    Ok(())
}

/// Prints a paragraph.
fn say(text: &str) {
    println!();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.len() + word.len() >= 96 {
            println!("{line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    println!("{line}\n");
}

/// Prints a statement, its rows, and how long it took.
fn show(connection: &Connection, sql: &str) -> Result<()> {
    let answer = Answer::of(&mut connection.prepare(sql)?)?;
    sql.lines().enumerate().for_each(|(number, line)| {
        let prompt = if number == 0 { "sqlite>" } else { "   ...>" };
        println!("{prompt} {line}");
    });
    answer.lines().iter().for_each(|line| println!("        {line}"));
    println!("        ({:.3} s)", answer.took.as_secs_f64());
    Ok(())
}

/// Makes the tables `judgments` (queries 1 to 160) and `new_queries` (queries 1001 to 1080).
///
/// A query has one wish, strong in its features (0.7 to 1) while the others are weak (0 to 0.3). Price, age and
/// stars of a product are standard normal. What it is worth to the query is the sum, over the wishes, of the query's
/// feature times the worth of price, age and stars, and some noise; the best 2 products have relevance 3, the next 4
/// have 2, the next 6 have 1, the other 8 have 0.
fn make_data(connection: &Connection) -> Result<()> {
    let names = WISHES.map(|(name, _)| name).join(", ");
    let mut random = Random(SEED);
    connection.execute_batch("BEGIN")?;
    for (table, first, queries) in [("judgments", 1, TRAINING_QUERIES), ("new_queries", 1001, NEW_QUERIES)] {
        connection.execute_batch(&format!(
            "CREATE TABLE {table} (query_id, doc_id, {names}, price, age, stars, relevance)"
        ))?;
        let insert = format!("INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
        let mut insert = connection.prepare(&insert)?;
        for number in 0..queries {
            let query = Query::new((number as usize + 2) % WISHES.len(), &mut random);
            for (doc, (product, relevance)) in (1..).zip(query.judged(&mut random)) {
                let ([a, b, c, d], [price, age, stars]) = (query.features, product);
                let (id, doc): (u32, u32) = (first + number, doc);
                insert.execute(params![id, doc, a, b, c, d, price, age, stars, relevance])?;
            }
        }
    }
    connection.execute_batch("COMMIT")
}

struct Query {
    features: [f64; 4],
}

impl Query {
    fn new(wish: usize, random: &mut Random) -> Self {
        let feature = |number| if number == wish { random.percent(70, 100) } else { random.percent(0, 30) };
        let [a, b, c, d] = [0, 1, 2, 3].map(feature);
        Self { features: [a, b, c, d] }
    }

    /// Products with their relevance.
    fn judged(&self, random: &mut Random) -> Vec<([f64; 3], u8)> {
        let products: Vec<([f64; 3], f64)> = (0..PRODUCTS)
            .map(|_| {
                let product = [random.normal(), random.normal(), random.normal()];
                (product, self.worth(product) + 0.3 * random.normal())
            })
            .collect();
        let relevance = |worth: f64| match products.iter().filter(|(_, other)| *other > worth).count() {
            0..2 => 3,
            2..6 => 2,
            6..12 => 1,
            _ => 0,
        };
        products.iter().map(|(product, worth)| (*product, relevance(*worth))).collect()
    }

    fn worth(&self, product: [f64; 3]) -> f64 {
        let of_wish =
            |worths: &[f64; 3]| -> f64 { worths.iter().zip(product).map(|(worth, x)| worth * x).sum() };
        WISHES.iter().zip(self.features).map(|((_, worths), feature)| feature * of_wish(worths)).sum()
    }
}

/// Random numbers: splitmix64 (Steele, Lea & Flood 2014). The same seed, the same data.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number of hundredths between these two, all equally likely.
    fn percent(&mut self, low: u64, high: u64) -> f64 {
        (low + self.next() % (high - low + 1)) as f64 / 100.0
    }

    /// Close enough to standard normal, in steps of 0.01: twelve uniform numbers minus their mean.
    fn normal(&mut self) -> f64 {
        let sum: u64 = (0..12).map(|_| self.next() % 100).sum();
        (sum as f64 - 594.0) / 100.0
    }
}
