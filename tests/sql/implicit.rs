//! `cofi_rank` on pairs of users and items without ratings (rule 11.8).

use crate::support::{database, random_ratings, real_data, value};
use rusqlite::Connection;
use sqlite_ltr::internals::base::control::Control;
use sqlite_ltr::internals::data::Ratings;
use sqlite_ltr::internals::learn::solve::{Factors, WeightedSquares};
use sqlite_ltr::internals::math::random::Random;

/// 40 users with 10 of 24 items each; values are what confidences have above 1.
fn pairs() -> Ratings {
    random_ratings(&mut Random::new(7), (40, 10, 24), |random, _, _| 3.0 * (1 + random.below(4)) as f64)
}

/// The confidence and the preference of every user and item.
fn dense(pairs: &Ratings) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let zeros = || vec![vec![0.0; pairs.n_items]; pairs.n_users()];
    let (mut confidence, mut preference) = (zeros(), zeros());
    for user in 0..pairs.n_users() {
        confidence[user].fill(1.0);
        for pair in pairs.of_user(user) {
            let item = pairs.items[pair] as usize;
            confidence[user][item] += pairs.values[pair];
            preference[user][item] = 1.0;
        }
    }
    (confidence, preference)
}

/// The minimum of lambda |x|^2 + sum_k c_k (p_k - y_k.x)^2, by Gaussian elimination with pivots.
fn least_squares(rows: &[&[f64]], confidence: &[f64], preference: &[f64], lambda: f64) -> Vec<f64> {
    let rank = rows[0].len();
    let mut system = vec![vec![0.0; rank + 1]; rank];
    for (i, line) in system.iter_mut().enumerate() {
        for ((row, c), p) in rows.iter().zip(confidence).zip(preference) {
            (0..rank).for_each(|j| line[j] += c * row[i] * row[j]);
            line[rank] += c * p * row[i];
        }
        line[i] += lambda;
    }
    for column in 0..rank {
        let pivot =
            (column..rank).max_by(|a, b| system[*a][column].abs().total_cmp(&system[*b][column].abs()));
        system.swap(column, pivot.unwrap());
        let line = system[column].clone();
        for (number, other) in system.iter_mut().enumerate().filter(|(number, _)| *number != column) {
            let factor = other[column] / line[column];
            assert!(factor.is_finite(), "row {number}");
            other.iter_mut().zip(&line).for_each(|(value, above)| *value -= factor * above);
        }
    }
    (0..rank).map(|i| system[i][rank] / system[i][i]).collect()
}

fn start(pairs: &Ratings, rank: usize) -> Factors {
    let mut factors = Factors::new(pairs.n_users(), pairs.n_items, rank, 3).unwrap();
    let mut random = Random::new(11);
    factors.users.iter_mut().for_each(|value| *value = random.symmetric());
    factors
}

/// Both half steps, with fewer and with more factors than a block of the solver has.
#[test]
fn a_half_step_is_dense_weighted_least_squares() {
    let (pairs, control) = (pairs(), Control::default());
    let (confidence, preference) = dense(&pairs);
    let problem = WeightedSquares::new(&pairs);
    for (rank, lambda) in [(1, 0.1), (3, 2.0), (8, 0.5), (11, 0.05)] {
        let mut factors = start(&pairs, rank);
        problem.fit_users(&mut factors, lambda, &control).unwrap();
        let items: Vec<&[f64]> = factors.items.chunks(rank).collect();
        for (user, row) in factors.users.chunks(rank).enumerate() {
            let expected = least_squares(&items, &confidence[user], &preference[user], lambda);
            row.iter()
                .zip(expected)
                .for_each(|(a, b)| assert!((a - b).abs() < 1e-9, "user {user}: {a}, {b}"));
        }
        problem.fit_items(&mut factors, lambda, &control).unwrap();
        let users: Vec<&[f64]> = factors.users.chunks(rank).collect();
        for (item, row) in factors.items.chunks(rank).enumerate() {
            let column = |matrix: &[Vec<f64>]| matrix.iter().map(|line| line[item]).collect::<Vec<f64>>();
            let expected = least_squares(&users, &column(&confidence), &column(&preference), lambda);
            row.iter()
                .zip(expected)
                .for_each(|(a, b)| assert!((a - b).abs() < 1e-9, "item {item}: {a}, {b}"));
        }
    }
}

#[test]
fn the_objective_is_the_dense_one_and_never_rises() {
    let (pairs, control) = (pairs(), Control::default());
    let (confidence, preference) = dense(&pairs);
    let problem = WeightedSquares::new(&pairs);
    let (rank, lambda) = (5, 0.7);
    let mut factors = start(&pairs, rank);
    let expected = |factors: &Factors| {
        let mut sum = 0.0;
        for user in 0..pairs.n_users() {
            for item in 0..pairs.n_items {
                let rest = preference[user][item] - factors.product(user, item);
                sum += confidence[user][item] * rest * rest;
            }
        }
        let squares = factors.users.iter().chain(&factors.items).map(|x| x * x).sum::<f64>();
        0.5 * (sum + lambda * squares)
    };
    let first = problem.objective(&factors, lambda);
    let mut before = first;
    for round in 0..20 {
        for side in ["users", "items"] {
            match side {
                "users" => problem.fit_users(&mut factors, lambda, &control).unwrap(),
                _ => problem.fit_items(&mut factors, lambda, &control).unwrap(),
            }
            let (objective, dense) = (problem.objective(&factors, lambda), expected(&factors));
            assert!((objective - dense).abs() < 1e-9 * dense, "{objective}, {dense}");
            assert!(objective <= before * (1.0 + 1e-12), "round {round}, {side}: {before} -> {objective}");
            before = objective;
        }
    }
    assert!(before < 0.5 * first, "{first} -> {before}");
}

/// Just below the largest lambda factors stay, above it they go to 0.
#[test]
fn from_the_largest_lambda_on_factors_vanish() {
    let (pairs, control) = (pairs(), Control::default());
    let problem = WeightedSquares::new(&pairs);
    let largest = problem.largest_lambda(&control).unwrap();
    for (factor, stay) in [(0.97, true), (1.03, false)] {
        let mut factors = start(&pairs, 2);
        for _ in 0..500 {
            problem.fit_users(&mut factors, factor * largest, &control).unwrap();
            problem.fit_items(&mut factors, factor * largest, &control).unwrap();
        }
        let length = factors.users.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert!(if stay { length > 0.01 } else { length < 1e-5 }, "{factor}: {length}");
    }
}

/// Pairs as a log: one row for each time. Users like items of their own parity; item 0 is the most frequent.
fn log() -> Connection {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE log(user_id, item_id, day);
             INSERT INTO log
             WITH RECURSIVE users(u) AS (VALUES (0) UNION ALL SELECT u + 1 FROM users WHERE u < 39),
                            items(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM items WHERE i < 23),
                            times(t) AS (VALUES (0) UNION ALL SELECT t + 1 FROM times WHERE t < 2)
             SELECT u, i, t FROM users, items, times
              WHERE (u % 2 = i % 2 AND (u * 31 + i * 17) % 7 < 4 OR i = 0 OR (u * 13 + i * 29) % 23 = 0)
                AND t <= (u * 7 + i * 3) % 3;
             CREATE VIEW counted AS SELECT user_id, item_id, count(*) AS times FROM log GROUP BY 1, 2;",
        )
        .unwrap();
    connection
}

const MODES: [&str; 3] = ["", r#", "negatives": 2"#, r#", "negatives": 3, "loss": "list_net""#];

fn options(more: &str) -> String {
    let factors = if more.contains("factors") { "" } else { r#", "factors": 3"# };
    format!(r#"{{"feedback": "implicit"{factors}{more}}}"#)
}

fn train(connection: &Connection, source: &str, more: &str) -> serde_json::Value {
    let options = options(more);
    let report: String = value(connection, "SELECT ltr_train('cofi_rank', ?1, ?2)", (source, options));
    serde_json::from_str(&report).unwrap()
}

fn refused(connection: &Connection, source: &str, more: &str) -> String {
    let options = options(more);
    let sql = "SELECT length(ltr_fit('cofi_rank', ?1, ?2))";
    connection.query_row(sql, (source, options), |row| row.get::<_, i64>(0)).unwrap_err().to_string()
}

#[test]
fn the_same_pairs_give_the_same_bytes_for_any_threads_and_order_of_rows() {
    let connection = log();
    for more in MODES {
        let fitted = |order: &str, threads: i64| -> Vec<u8> {
            let options = format!(
                r#"{{"feedback": "implicit", "factors": 9, "max_rounds": 3, "threads": {threads}{more}}}"#
            );
            let source = format!("SELECT user_id, item_id FROM log ORDER BY {order}");
            value(&connection, "SELECT ltr_fit('cofi_rank', ?1, ?2)", (source, options))
        };
        let expected = fitted("user_id, item_id", 1);
        assert!(
            fitted("item_id DESC", 2) == expected && fitted("day, user_id DESC", 8) == expected,
            "{more}"
        );
    }
}

/// Rows of a pair add up, and so do their counts.
#[test]
fn rows_of_a_pair_are_its_count() {
    let connection = log();
    let fitted = |source: &str, columns: &str| -> Vec<u8> {
        let options = format!(r#"{{"feedback": "implicit", "lambda": 1{columns}}}"#);
        value(&connection, "SELECT ltr_fit('cofi_rank', ?1, ?2)", (source, options))
    };
    let factors = |model: &[u8]| -> String {
        value(&connection, "SELECT group_concat(factors, ';') FROM ltr_factors(?1)", [model])
    };
    let counts = r#", "columns": {"relevance": "times"}"#;
    let rows = factors(&fitted("SELECT user_id, item_id FROM log", ""));
    assert_eq!(rows, factors(&fitted("counted", counts)));
    assert_ne!(rows, factors(&fitted("SELECT user_id, item_id FROM counted", "")), "counts have an effect");
    let report = train(&connection, "SELECT user_id, item_id FROM log", r#", "lambda": 1"#);
    assert_eq!(report["warnings"], serde_json::json!([]), "{report}");
}

#[test]
fn tastes_are_learned_and_new_users_are_fitted() {
    let connection = log();
    for more in MODES {
        let report = train(&connection, "SELECT user_id, item_id FROM log", more);
        assert_eq!(report["settings"]["feedback"], "implicit");
        let share = |sql: &str| -> f64 { value(&connection, sql, ()) };
        let own = share(
            "SELECT avg(doc_id % 2) FROM ltr_recommend('cofi_rank', 7, '{\"k\": 4}') WHERE doc_id <> 0",
        );
        assert!(own > 0.7, "{more}: user 7 takes odd items: {own}");
        let seen = share(
            "SELECT count(*) FROM ltr_recommend('cofi_rank', 7, 100) JOIN counted AS c ON c.user_id = 7 AND item_id = doc_id",
        );
        assert!(seen < 0.5, "{more}: {seen} items of the user are recommended");
        let all = share(
            "SELECT count(*) FROM ltr_recommend('cofi_rank', 7, '{\"k\": 100, \"include_seen\": true}')",
        );
        assert!((all - 24.0).abs() < 0.5, "{more}: {all}");
        for ratings in
            ["[1, 3, 5, 7]", "[[1, 2], [3, 1], [5, 1], [7, 3]]", "{\"1\": 1, \"3\": 1, \"5\": 1, \"7\": 1}"]
        {
            let sql = format!(
                "SELECT avg(doc_id % 2) FROM ltr_recommend('cofi_rank', 'new', '{{\"k\": 4, \"ratings\": {ratings}}}')"
            );
            let folded = share(&sql);
            assert!(folded > 0.7, "{more}: a new user with odd items: {folded}");
        }
        let candidates = share(
            "SELECT sum(doc_id) FROM ltr_recommend('cofi_rank', 'new', json_object('candidates', json('[8, 22, 19, 99]'),
                'ratings', 'SELECT item_id FROM counted WHERE user_id = 7'))",
        );
        assert!((candidates - 30.0).abs() < 0.5, "{more}: 8 and 22 are new, 19 is not: {candidates}");
    }
}

/// Least squares has the row of a user of the training again if it is fitted to the pairs of that user.
#[test]
fn a_known_user_is_fitted_to_the_same_factors() {
    let connection = log();
    train(&connection, "SELECT user_id, item_id FROM log", r#", "lambda": 2, "max_rounds": 500"#);
    let difference: f64 = value(
        &connection,
        "SELECT max(abs(a.score - b.score)) FROM ltr_recommend('cofi_rank', 7, 100) AS a
           JOIN ltr_recommend('cofi_rank', 7, '{\"k\": 100, \"ratings\": \"SELECT item_id, times AS rating FROM counted WHERE user_id = 7\"}') AS b
          USING (doc_id)",
        (),
    );
    assert!(difference < 0.02, "{difference}");
}

#[test]
fn users_without_pairs_get_what_most_users_have() {
    let connection = log();
    train(&connection, "SELECT user_id, item_id FROM log", "");
    let first: (i64, f64, i64) = connection
        .query_row("SELECT doc_id, score, new_user FROM ltr_recommend('cofi_rank', -1, 1)", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .unwrap();
    assert_eq!(first, (0, 1.0, 1), "all users have item 0");
    let disagreements: i64 = value(
        &connection,
        "SELECT count(*) FROM ltr_recommend('cofi_rank', -1, 24) AS r
           JOIN (SELECT item_id, count(*) / 40.0 AS share FROM counted GROUP BY 1) ON item_id = doc_id
          WHERE abs(share - score) > 1e-12",
        (),
    );
    assert_eq!(disagreements, 0);
    let one: i64 = value(
        &connection,
        "SELECT max(new_user) FROM ltr_recommend('cofi_rank', -1, '{\"ratings\": [3]}')",
        (),
    );
    assert_eq!(one, 0, "one pair is enough");
    let none: i64 = value(
        &connection,
        "SELECT min(new_user) FROM ltr_recommend('cofi_rank', -1, '{\"ratings\": [99]}')",
        (),
    );
    assert_eq!(none, 1);
}

#[test]
fn lambda_is_chosen_on_held_out_pairs_or_on_a_source() {
    let connection = log();
    for more in MODES {
        let report = train(&connection, "SELECT user_id, item_id FROM log", more);
        let best = report["validation"]["best"].as_f64().unwrap();
        assert!(best > 0.2 && best < 1.0, "{more}: {report}");
        let more = format!(
            r#"{more}, "metric": "recall@5", "validation": "SELECT user_id, item_id FROM counted WHERE (user_id + item_id) % 5 = 0""#
        );
        let source = "SELECT user_id, item_id FROM log WHERE (user_id + item_id) % 5 > 0";
        let report = train(&connection, source, &more);
        assert_eq!(report["validation"]["metric"], "recall@5");
        let queries = report["validation"]["queries"].as_i64().unwrap();
        assert!(queries > 30, "{report}");
    }
    let report = train(
        &connection,
        "SELECT user_id, item_id FROM log",
        r#", "validation": "SELECT 1 AS user, 1 AS item UNION ALL SELECT 99, 1 UNION ALL SELECT 1, 99""#,
    );
    let warnings = report["warnings"].to_string();
    assert!(
        warnings.contains("2 pairs of the validation source are ignored") || warnings.contains("3 pairs"),
        "{report}"
    );
}

#[test]
fn users_with_all_items_or_one_are_allowed() {
    let connection = log();
    connection
        .execute_batch(
            "INSERT INTO log SELECT 100, value, 0 FROM generate_series_24; INSERT INTO log VALUES (101, 4, 0), (102, 5, 0);"
                .replace("generate_series_24", "(SELECT DISTINCT item_id AS value FROM log)")
                .as_str(),
        )
        .unwrap();
    for more in MODES {
        train(&connection, "SELECT user_id, item_id FROM log", more);
        let count = |user: i64| -> i64 {
            value(&connection, "SELECT count(*) FROM ltr_recommend('cofi_rank', ?1, 100)", [user])
        };
        assert_eq!((count(100), count(101)), (0, 23), "{more}");
        let everything = "SELECT json_group_array(item_id) FROM (SELECT DISTINCT item_id FROM log)";
        let all: i64 = value(
            &connection,
            &format!(
                "SELECT count(*) FROM ltr_recommend('cofi_rank', 'new', json_object('ratings', json(({everything}))))"
            ),
            (),
        );
        assert_eq!(all, 0, "{more}: a new user with all items");
        let single = train(&connection, "SELECT 1 AS user, 2 AS item", more);
        assert_eq!(single["users"], 1);
    }
}

#[test]
fn counts_that_are_not_weights_are_refused() {
    let connection = log();
    let counts = |count: &str| {
        let source = format!(
            "SELECT user_id, item_id, iif(user_id = 3 AND item_id = 5, {count}, 1) AS rating FROM counted"
        );
        refused(&connection, &source, "")
    };
    for count in ["-1", "0", "-0.0"] {
        let error = counts(count);
        assert!(error.contains("user 3, item 5: the count") && error.contains("is not above 0"), "{error}");
    }
    for count in ["1e300", "1e9", "9223372036854775807"] {
        let error = counts(count);
        assert!(error.contains("user 3, item 5: the count") && error.contains("is too large"), "{error}");
    }
    for count in ["'many'", "NULL", "9e999", "x'00'"] {
        let error = counts(count);
        assert!(error.contains("column \"rating\"") && error.contains("expected finite numbers"), "{error}");
    }
    let error = refused(&connection, "SELECT user_id, NULL AS item_id FROM log", "");
    assert!(error.contains("NULL"), "{error}");
    // Confidences at the bound have a solution, or a message.
    let source = "SELECT user_id, item_id, 3e8 AS rating FROM counted";
    train(&connection, source, r#", "lambda": 1"#);
    train(&connection, source, "");
    // A new user.
    train(&connection, "SELECT user_id, item_id FROM log", r#", "lambda": 1"#);
    for ratings in
        ["[[1, -1]]", "[[1, 0]]", "[[1, 1e300]]", "[[1, \"x\"]]", "[[1]]", "[[1, 1, 1]]", "[1, 1]", "[null]"]
    {
        let options = format!("{{\"ratings\": {ratings}}}");
        let sql = "SELECT count(*) FROM ltr_recommend('cofi_rank', 'new', ?1)";
        let answer = connection.query_row(sql, [&options], |row| row.get::<_, i64>(0));
        assert!(answer.is_err(), "{ratings}");
    }
}

#[test]
fn options_without_effect_are_refused() {
    let connection = log();
    let with = |more: &str| refused(&connection, "SELECT user_id, item_id FROM log", more);
    for (more, option) in [
        (r#", "loss": "pair_squared""#, "loss"),
        (r#", "biases": true"#, "biases"),
        (r#", "target": "gain""#, "target"),
        (r#", "tolerance": 0.01"#, "tolerance"),
        (r#", "negatives": 2, "count_weight": 1"#, "count_weight"),
    ] {
        let error = with(more);
        assert!(error.contains(&format!("option '{option}' has no effect")), "{error}");
    }
    let error = with(r#", "count_weight": [1, 2]"#);
    assert!(error.contains("count_weight"), "{error}");
    let error = with(r#", "max_rounds": [1, 2]"#);
    assert!(error.contains("held-out pairs"), "{error}");
    let sql = r#"SELECT length(ltr_fit('cofi_rank', 'counted', '{"negatives": 3, "columns": {"relevance": "times"}}'))"#;
    let error = connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap_err().to_string();
    assert!(error.contains("option 'negatives' has no effect with feedback \"ratings\""), "{error}");
}

#[test]
fn too_much_memory_is_refused_before_it_is_taken() {
    let connection = log();
    for more in MODES {
        let more = format!(r#"{more}, "max_memory": 400000, "factors": 1000"#);
        let error = refused(&connection, "SELECT user_id, item_id FROM log", &more);
        assert!(error.contains("fitting 1000 factors") && error.contains("max_memory"), "{error}");
    }
}

/// A fifth of the pairs of every user is held out by a hash.
#[test]
fn implicit_factors_are_far_above_popularity_on_movielens() {
    let Some(folder) = real_data("ml-100k") else { return };
    let connection = database();
    connection.execute_batch("CREATE TABLE pairs(user_id, item_id, held); BEGIN").unwrap();
    for line in std::fs::read_to_string(folder.join("u.data")).unwrap().lines() {
        let numbers: Vec<i64> = line.split('\t').map(|field| field.parse().unwrap()).collect();
        let held = Random::new((numbers[0] << 20) as u64 ^ numbers[1] as u64).below(5) == 0;
        if numbers[2] >= 4 {
            let row = (numbers[0], numbers[1], held);
            connection.execute("INSERT INTO pairs VALUES (?1, ?2, ?3)", row).unwrap();
        }
    }
    connection.execute_batch("COMMIT").unwrap();
    let options = r#", "factors": 8, "lambda": 29, "max_rounds": 6"#;
    train(&connection, "SELECT user_id, item_id FROM pairs WHERE NOT held", options);
    let recall = |scores: &str| -> f64 {
        let sql = format!(
            "WITH items AS (SELECT item_id, count(*) AS users FROM pairs WHERE NOT held GROUP BY 1),
                  fresh AS (SELECT user_id, item_id, users FROM (SELECT DISTINCT user_id FROM pairs WHERE held AND user_id <= 300), items
                            EXCEPT SELECT user_id, item_id, users FROM pairs JOIN items USING (item_id) WHERE NOT held),
                  scored AS ({scores})
             SELECT avg(recall) FROM (SELECT ltr_recall(held IS NOT NULL, score, 20) AS recall
                    FROM scored LEFT JOIN pairs USING (user_id, item_id) GROUP BY user_id)"
        );
        value(&connection, &sql, ())
    };
    let ours = recall(
        "SELECT query_id AS user_id, doc_id AS item_id, score FROM ltr_rank('cofi_rank', 'SELECT user_id, item_id
           FROM (SELECT DISTINCT user_id FROM pairs WHERE user_id <= 300), (SELECT DISTINCT item_id FROM pairs)')
           JOIN fresh ON (user_id, item_id) = (query_id, doc_id)",
    );
    let popular = recall("SELECT user_id, item_id, users AS score FROM fresh");
    assert!(ours > 0.3 && ours > 1.5 * popular, "recall@20 {ours}, of popularity {popular}");
}
