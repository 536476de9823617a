//! Models of users and items: what training promises, and what it reaches on MovieLens-100k.

use crate::support::{database, random_ratings, real_data, value};
use rusqlite::Connection;
use sqlite_ltr::internals::base::control::Control;
use sqlite_ltr::internals::cost::loss::{self, Loss};
use sqlite_ltr::internals::data::Ratings;
use sqlite_ltr::internals::learn::solve::{Factorization, Factors, HalfStep};
use sqlite_ltr::internals::math::random::Random;
use sqlite_ltr::internals::model::Model;

/// 40 users of two tastes with 10 of 24 items each.
fn ratings() -> Ratings {
    random_ratings(&mut Random::new(5), (40, 10, 24), |random, user, item| {
        let liked = (item as usize + user).is_multiple_of(2);
        let least = if liked { 4.0 } else { 1.0 };
        least + random.below(2) as f64
    })
}

/// The toy ratings as a table.
fn toy() -> Connection {
    let connection = database();
    connection.execute_batch("CREATE TABLE ratings(user_id, item_id, rating, title)").unwrap();
    let ratings = ratings();
    for user in 0..ratings.n_users() {
        for rating in ratings.of_user(user) {
            let row = (user as i64, i64::from(ratings.items[rating]), ratings.values[rating]);
            connection.execute("INSERT INTO ratings VALUES (?1, ?2, ?3, 'any')", row).unwrap();
        }
    }
    connection
}

/// Losses with options, of every shape that is taken.
const LOSSES: &[(&str, &str)] = &[
    ("pair_squared", "{}"),
    ("list_net", "{}"),
    ("hinge", "{}"),
    ("slam", "{}"),
    ("direct", r#"{"bound": "convex", "decoder": "power", "measure": "ndcg@5"}"#),
    ("direct", r#"{"bound": "convex", "decoder": "power", "measure": "eru", "neutral_grade": 2}"#),
];

fn loss(name: &str, options: &str) -> Loss {
    let options: serde_json::Map<_, _> = serde_json::from_str(options).unwrap();
    loss::find(name).unwrap().make(&options.into()).unwrap()
}

#[test]
fn no_half_step_raises_the_objective() {
    let (ratings, control) = (ratings(), Control::default());
    let offsets = vec![0.0; ratings.len()];
    let step = |lambda| HalfStep { lambda, tolerance: 1e-6, most: 200 };
    for (name, options) in LOSSES {
        let mut problem =
            Factorization::new(&ratings, &loss(name, options), &ratings.values, offsets.clone());
        let mut factors = Factors::new(ratings.n_users(), ratings.n_items, 2, 1).unwrap();
        factors.items.iter_mut().for_each(|value| *value *= 10.0);
        let lambdas = [0.02, 0.05];
        let start = problem.objective(&factors, lambdas);
        let mut before = start;
        for _ in 0..6 {
            problem.fit_users(&mut factors, step(lambdas[0]), &control).unwrap();
            let between = problem.objective(&factors, lambdas);
            assert!(between <= before * (1.0 + 1e-9), "{name}: users {before} -> {between}");
            problem.fit_items(&mut factors, step(lambdas[1]), &control).unwrap();
            let after = problem.objective(&factors, lambdas);
            assert!(after <= between * (1.0 + 1e-9), "{name}: items {between} -> {after}");
            before = after;
        }
        assert!(before < 0.9 * start, "{name}: {start} -> {before}");
    }
}

/// Near factors of 0 half steps gain less than their tolerance; a fit must not take that for the end.
#[test]
fn no_fit_stops_near_a_far_better_point() {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE ratings AS
             WITH RECURSIVE users(u) AS (VALUES (0) UNION ALL SELECT u + 1 FROM users WHERE u < 59),
                            items(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM items WHERE i < 39)
             SELECT u AS user_id, i AS item_id, 1 + (u % 2 = i % 2) * 2 + (u / 2 % 2 = i / 2 % 2) * 2 AS rating
               FROM users, items WHERE (u * 31 + i * 17) % 7 < 4",
        )
        .unwrap();
    for (loss, lambda) in [("logistic", 0.3), ("squared_hinge", 1.7), ("slam", 0.3), ("pair_squared", 2.0)] {
        let objective = |more: &str| -> f64 {
            let sql = format!(
                "SELECT ltr_train('cofi_rank', 'ratings', '{{\"loss\": \"{loss}\", \"lambda\": {lambda}{more}}}')"
            );
            let _: String = value(&connection, &sql, ());
            value(&connection, "SELECT min(objective) FROM ltr_training_log('cofi_rank')", ())
        };
        let (usual, thorough) = (objective(""), objective(", \"tolerance\": 1e-8, \"max_rounds\": 100"));
        assert!(usual < 1.005 * thorough, "{loss}: {usual}, {thorough}");
    }
}

#[test]
fn the_same_ratings_give_the_same_bytes_for_any_threads_and_order_of_rows() {
    let connection = toy();
    for (name, _) in &LOSSES[..5] {
        let fitted = |order: &str, threads: i64| -> Vec<u8> {
            let sql = "SELECT ltr_fit('cofi_rank', ?1, json_object('loss', ?2, 'threads', ?3, 'max_rounds', 2, 'lambda', json('[1, 0.1]')))";
            value(&connection, sql, (format!("SELECT * FROM ratings ORDER BY {order}"), name, threads))
        };
        let expected = fitted("user_id, item_id", 1);
        assert!(fitted("item_id DESC", 2) == expected && fitted("rating, user_id", 8) == expected, "{name}");
        let again = Model::from_bytes(&expected).unwrap().to_bytes().unwrap();
        assert!(again == expected, "{name}: a round trip");
    }
}

#[test]
fn tastes_are_learned_and_a_new_user_is_folded_in() {
    let connection = toy();
    let _: String =
        value(&connection, "SELECT ltr_train('cofi_rank', 'ratings', '{\"lambda\": 1, \"factors\": 2}')", ());
    let share = |sql: &str| -> f64 { value(&connection, sql, ()) };
    let known = share("SELECT avg((doc_id + 7) % 2 = 0) FROM ltr_recommend('cofi_rank', 7, '{\"k\": 5}')");
    assert!(known > 0.99, "user 7 likes odd items: {known}");
    let seen = share(
        "SELECT count(*) FROM ltr_recommend('cofi_rank', 7, '{\"k\": 100}') JOIN ratings AS r ON r.user_id = 7 AND item_id = doc_id",
    );
    assert!(seen.abs() < 0.5, "{seen} rated items are recommended");
    let folded = share(
        "SELECT avg(doc_id % 2 = 0) FROM ltr_recommend('cofi_rank', 'new', '{\"k\": 5, \"ratings\": [[0, 5], [1, 1], [2, 5], [3, 1]]}')",
    );
    assert!(folded > 0.99, "the new user likes even items: {folded}");
    let source = share(
        "SELECT avg(doc_id % 2 = 0) FROM ltr_recommend('cofi_rank', 'new', '{\"k\": 5, \"ratings\": \"SELECT 2 * column1 + column2 AS item, 5 - 4 * column2 AS rating FROM (VALUES (0, 0), (0, 1), (1, 0), (1, 1))\"}')",
    );
    assert!((source - folded).abs() < 1e-12);
    // The ratings of a known user give that user's own recommendations.
    let differences: i64 = value(
        &connection,
        "SELECT count(*) FROM ltr_recommend('cofi_rank', 7) AS a
           JOIN ltr_recommend('cofi_rank', 7, json_object('ratings', 'SELECT item_id, rating FROM ratings WHERE user_id = 7')) AS b
             ON a.rank = b.rank WHERE a.doc_id <> b.doc_id OR abs(a.score - b.score) > 0.05",
        (),
    );
    assert!(differences <= 2, "{differences} of 10 places differ");
}

#[test]
fn cold_users_and_items_are_ranked_by_biases() {
    let connection = toy();
    let _: String = value(&connection, "SELECT ltr_train('cofi_rank', 'ratings', '{\"lambda\": 1}')", ());
    let sql = "SELECT count(DISTINCT score) FROM ltr_rank('cofi_rank', 'SELECT -1 AS user, column1 AS item FROM (VALUES (900), (901))')";
    assert_eq!(value::<i64>(&connection, sql, ()), 1);
    let warnings: String = value(&connection, "SELECT ltr_debug() ->> '$.last_warnings'", ());
    assert!(warnings.contains("1 users are not in the model"), "{warnings}");
    assert!(warnings.contains("2 rows have items that are not in the model"), "{warnings}");
    let disagreements: i64 = value(
        &connection,
        "SELECT count(*) FROM ltr_recommend('cofi_rank', -1, '{\"k\": 24}') AS r
           JOIN (SELECT id, row_number() OVER (ORDER BY bias DESC, id) AS place FROM ltr_factors('cofi_rank') WHERE kind = 'item') AS f
             ON f.id = r.doc_id WHERE f.place <> r.rank",
        (),
    );
    assert_eq!(disagreements, 0);
}

/// Loads MovieLens-100k and splits it: 50 ratings of every user with more than 60 train, the others test.
fn movielens() -> Option<Connection> {
    let text = std::fs::read_to_string(real_data("ml-100k")?.join("u.data")).unwrap();
    let connection = database();
    connection.execute_batch("CREATE TABLE ratings(user_id, item_id, rating, lot); BEGIN").unwrap();
    for line in text.lines() {
        let numbers: Vec<i64> = line.split('\t').map(|field| field.parse().unwrap()).collect();
        let lot = Random::new((numbers[0] << 20) as u64 ^ numbers[1] as u64).bits() >> 1;
        let row = (numbers[0], numbers[1], numbers[2], lot as i64);
        connection.execute("INSERT INTO ratings VALUES (?1, ?2, ?3, ?4)", row).unwrap();
    }
    connection
        .execute_batch(
            "COMMIT;
             CREATE TABLE drawn AS SELECT *, row_number() OVER (PARTITION BY user_id ORDER BY lot) AS place,
                    count(*) OVER (PARTITION BY user_id) AS number FROM ratings;
             CREATE VIEW train AS SELECT user_id, item_id, rating FROM drawn WHERE number > 60 AND place <= 50;
             CREATE VIEW test AS SELECT user_id, item_id, rating FROM drawn WHERE number > 60 AND place > 50;",
        )
        .unwrap();
    Some(connection)
}

#[test]
fn factors_and_biases_beat_the_mean_of_items_on_movielens() {
    let Some(connection) = movielens() else { return };
    let _: String =
        value(&connection, "SELECT ltr_train('cofi_rank', 'train', '{\"lambda\": [100, 11.2, 10]}')", ());
    let ours: f64 = value(
        &connection,
        "SELECT value FROM ltr_evaluate('cofi_rank', 'test', '{\"metric\": \"ndcg@10\", \"undefined\": \"zero\"}')
          WHERE query_id IS NULL",
        (),
    );
    let mean: f64 = value(
        &connection,
        "WITH means AS (SELECT item_id, (sum(rating) + 10 * 3.6) / (count(*) + 10) AS score FROM train GROUP BY item_id)
         SELECT avg(ndcg) FROM (SELECT ltr_ndcg(rating, coalesce(score, 3.6), 10) AS ndcg
                                  FROM test LEFT JOIN means USING (item_id) GROUP BY user_id)",
        (),
    );
    assert!(ours > 0.718 && ours > mean + 0.004, "NDCG@10 {ours}, of the shrunk mean of items {mean}");
}
