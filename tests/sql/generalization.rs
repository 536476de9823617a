//! The generalization bound of Theorem 8 (Chaudhuri & Tewari 2014) in the report of trainings, compared with the definition, on ten
//! random batches; training over a ball.

use crate::support::{database, value};
use rusqlite::Connection;
use serde_json::{Value, json};
use sqlite_ltr::internals::math::random::Random;

/// Queries of documents: grade and two features.
type Batch = Vec<Vec<(f64, [f64; 2])>>;

const BATCHES: u64 = 10;

/// Queries of five documents with grades 0, 1 and 2, each grade at least once: few with noise, or many with little noise, of which
/// long functions are learned.
fn batch(seed: u64) -> Batch {
    let mut random = Random::new(seed);
    let (queries, noise) = if seed < 5 { (10 + seed, 1.0) } else { (40 * seed, 0.2) };
    let document = |place: usize, random: &mut Random| {
        let grade = [0.0, 1.0, 2.0, 2.0, 0.0][place];
        (grade, [0.4 * grade + noise * random.symmetric(), noise * random.symmetric() - 0.2 * grade])
    };
    (0..queries).map(|_| (0..5).map(|place| document(place, &mut random)).collect()).collect()
}

fn store(batch: &Batch) -> Connection {
    let connection = database();
    connection.execute_batch("CREATE TABLE batch(query_id, doc_id, relevance, a REAL, b REAL)").unwrap();
    for (query, documents) in batch.iter().enumerate() {
        for (place, (grade, [a, b])) in documents.iter().enumerate() {
            let row = (query as i64, (10 * query + place) as i64, grade, a, b);
            connection.execute("INSERT INTO batch VALUES (?1, ?2, ?3, ?4, ?5)", row).unwrap();
        }
    }
    connection
}

/// The report of a training without a prior on unscaled features, and the weights.
fn train(connection: &Connection, algorithm: &str, options: &Value) -> (Value, [f64; 2]) {
    let mut options = options.clone();
    for (key, given) in [("name", "m"), ("scale", "none"), ("prior", "zero")] {
        options[key] = json!(given);
    }
    if options["tolerance"].is_null() {
        options["tolerance"] = json!(1e-8);
    }
    let sql = "SELECT ltr_train(?1, 'batch', ?2)";
    let report: String = value(connection, sql, (algorithm, options.to_string()));
    let weight =
        |name: &str| value(connection, "SELECT weight FROM ltr_weights('m') WHERE feature = ?1", [name]);
    (serde_json::from_str(&report).unwrap(), [weight("a"), weight("b")])
}

fn length(w: &[f64; 2]) -> f64 {
    w[0].hypot(w[1])
}

/// The largest sum of absolute slopes that a loss can have for a query, by its definition.
fn steepest(loss: &str, grades: &[f64]) -> f64 {
    let m = grades.len();
    let gain = |grade: f64| grade.exp2() - 1.0;
    let pairs = |weight: &dyn Fn(f64, f64) -> f64| -> f64 {
        let better = grades.iter().flat_map(|y| grades.iter().map(move |z| (*y, *z)));
        better.filter(|(y, z)| y > z).map(|(y, z)| weight(y, z)).sum()
    };
    match loss {
        // The weights of NDCG add up to the gains above the lowest, each at its position, divided by the largest DCG.
        "slam" => {
            let mut sorted = grades.to_vec();
            sorted.sort_by(|x, y| y.total_cmp(x));
            let discount = |position: usize| 1.0 / (position as f64 + 2.0).log2();
            let largest: f64 = sorted.iter().enumerate().map(|(p, y)| gain(*y) * discount(p)).sum();
            let weight = |(p, y): (usize, &f64)| gain(*y) * (discount(p) - discount(m - 1)) / largest;
            2.0 * sorted.iter().enumerate().map(weight).sum::<f64>()
        }
        "list_net" => 2.0,
        "list_mle" => 2.0 * (m - 1) as f64,
        "svm_map" => 4.0,
        "hinge" | "logistic" => 2.0 * pairs(&|_, _| 1.0) * 2.0 / (m * (m - 1)) as f64,
        "gain" => 2.0 * pairs(&|y, z| gain(y) - gain(z)) * 2.0 / (m * (m - 1)) as f64,
        _ => panic!("{loss}"),
    }
}

/// The losses with their algorithms, the factor of lambda |w|^2 / 2 in their objectives, and whether a ball takes them.
const LOSSES: [(&str, &str, &str, f64, bool); 7] = [
    ("slam", "slam", "{}", 1.0, true),
    ("list_net", "list_net", "{}", 1.0, true),
    ("list_mle", "list_mle", "{}", 1.0, true),
    ("svm_map", "rank_svm", r#"{"loss": "svm_map"}"#, 1.0, true),
    ("hinge", "rank_svm", "{}", 2.0, false),
    ("logistic", "rank_svm", r#"{"loss": "logistic"}"#, 2.0, false),
    ("gain", "rank_svm", r#"{"pair_weights": "gain"}"#, 2.0, false),
];

fn with(options: &str, key: &str, number: f64) -> Value {
    let mut options: Value = serde_json::from_str(options).unwrap();
    options[key] = json!(number);
    if key == "radius" {
        options["penalty"] = json!("ball");
    }
    options
}

fn close(actual: &Value, expected: f64, what: &str) {
    let actual = actual.as_f64().unwrap_or_else(|| panic!("{what}: {actual}"));
    assert!((actual - expected).abs() <= 1e-9 * expected, "{what}: {actual}, {expected}");
}

/// L_2, the radius of a lambda and the lambda of a radius, and whether the function is the theorem's: the minimum of
/// the mean loss + lambda / 2 |w|^2 over the ball. Ridge with the same lambda shows whether the ball changes anything.
#[test]
fn bounds_match_the_definition() {
    let (mut bounded, mut unbounded) = ([0, 0], [0, 0]);
    for seed in 0..BATCHES {
        let batch = batch(seed);
        let connection = store(&batch);
        let norm = batch.iter().flatten().map(|(_, x)| length(x)).fold(0.0, f64::max);
        let n = batch.len() as f64;
        for (loss, algorithm, options, factor, in_ball) in LOSSES {
            let of_query = |query: &Vec<(f64, [f64; 2])>| {
                steepest(loss, &query.iter().map(|document| document.0).collect::<Vec<_>>())
            };
            let lipschitz = norm * batch.iter().map(of_query).fold(0.0, f64::max);
            // B lambda, with lambda as in (22).
            let product = 2.0 * lipschitz / (n.sqrt() * (0.5 + 4.0 / n).sqrt());
            let value = |radius: f64| 2.0 * lipschitz * radius * (8.0 / n + (2.0 / n).sqrt());
            for lambda in [1e-3, 0.1, 3.0] {
                let what = format!("{seed} {loss} lambda {lambda}");
                let (report, w) = train(&connection, algorithm, &with(options, "lambda", lambda));
                let found = &report["generalization"];
                let radius = product / (factor * lambda);
                close(&found["lipschitz"], lipschitz, &what);
                close(&found["radius"], radius, &what);
                close(&found["lambda"], lambda, &what);
                let holds = length(&w) <= radius;
                assert_eq!((&found["proved"], found["problem"].is_null()), (&json!(holds), holds), "{what}");
                if holds {
                    close(&found["value"], value(radius), &what);
                }
                (if holds { &mut bounded } else { &mut unbounded })[0] += 1;
            }
            for radius in [0.01, 0.3, 20.0].into_iter().filter(|_| in_ball) {
                let what = format!("{seed} {loss} radius {radius}");
                let (report, w) = train(&connection, algorithm, &with(options, "radius", radius));
                assert!(length(&w) <= radius * (1.0 + 1e-9), "{what}");
                let found = &report["generalization"];
                let lambda = product / (factor * radius);
                close(&found["radius"], radius, &what);
                close(&found["lambda"], lambda, &what);
                let (_, ridge) = train(&connection, algorithm, &with(options, "lambda", lambda));
                let holds = length(&ridge) > 1.05 * radius;
                if holds || length(&ridge) < 0.95 * radius {
                    assert_eq!(found["proved"], json!(holds), "{what}: {found} {ridge:?}");
                }
                if holds {
                    close(&found["value"], value(radius), &what);
                }
                (if holds { &mut bounded } else { &mut unbounded })[1] += 1;
            }
        }
    }
    let counts = bounded.into_iter().chain(unbounded);
    assert!(counts.clone().all(|count| count >= 5), "{bounded:?} {unbounded:?}");
}

/// Where a fit with ridge has the length B, its risk is the least over the ball of radius B.
#[test]
fn a_ball_has_the_function_of_a_ridge_of_its_length() {
    for seed in 0..BATCHES {
        let connection = store(&batch(seed));
        let log = "SELECT objective FROM ltr_training_log('m') ORDER BY step DESC LIMIT 1";
        let objective = || value::<f64>(&connection, log, ());
        for (algorithm, options) in [
            ("slam", "{}"),
            ("slam", r#"{"measure": "map", "margin": 0.3}"#),
            ("slam", r#"{"loss": "svm_map"}"#),
            ("direct", r#"{"bound": "convex", "measure": "dcg@3"}"#),
            ("list_net", "{}"),
        ] {
            for lambda in [0.03, 0.3] {
                let what = format!("{seed} {algorithm} {options} {lambda}");
                let (_, ridge) = train(&connection, algorithm, &with(options, "lambda", lambda));
                let (radius, penalized) = (length(&ridge), objective());
                if radius < 1e-6 {
                    continue;
                }
                // The gap that is the default.
                let mut over_ball = with(options, "radius", radius);
                over_ball["tolerance"] = json!(1e-4);
                let (report, ball) = train(&connection, algorithm, &over_ball);
                assert_eq!(report["unconverged"], 0, "{what}: {report}");
                assert!(length(&ball) <= radius * (1.0 + 1e-9), "{what}: {ridge:?} {ball:?}");
                let (least, found) = (penalized - 0.5 * lambda * radius * radius, objective());
                assert!((found - least).abs() <= 2e-4 * least, "{what}: {found} {least}");
            }
        }
    }
}

/// Not where validation chose lambda or the prior is from the same rows; no bound of other functions, and none of a loss without
/// a Lipschitz constant.
#[test]
fn a_bound_without_a_proof_is_no_proved_one() {
    let connection = store(&batch(3));
    let report = |options: &str| -> Value {
        let sql = "SELECT ltr_train('slam', 'batch', ?1)";
        serde_json::from_str(&value::<String>(&connection, sql, [options])).unwrap()
    };
    for options in [r#"{"lambda": 3}"#, r#"{"prior": "zero"}"#, r#"{"prior": "zero", "lambda": [3, 30]}"#] {
        let bound = &report(options)["generalization"];
        assert!(bound["radius"].as_f64().unwrap() > 0.0 && bound["proved"] == false, "{options}: {bound}");
    }
    for options in [
        r#"{"kernel": "gaussian", "lambda": 0.1}"#,
        r#"{"loss": "squared_hinge", "lambda": 0.1}"#,
        r#"{"loss": "squared", "lambda": 0.1}"#,
        r#"{"loss": "psi", "lambda": 0.1}"#,
        r#"{"loss": "hinge", "form": "ranking", "lambda": 0.1, "prior": "zero"}"#,
        r#"{"loss": "list_net", "penalty": "sphere"}"#,
    ] {
        assert!(report(options).get("generalization").is_none(), "{options}");
    }
}
