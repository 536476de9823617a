//! A second implementation of Algorithm 1 of Chaudhuri & Tewari (2014), in which every function is a sum of the kernel over
//! all documents, and the bounds by their definitions.

use crate::support::{database, value};
use rusqlite::Connection;
use serde_json::{Value, json};
use sqlite_ltr::internals::math::random::Random;

/// Queries of documents: grade and two features.
type Queries = Vec<Vec<(f64, [f64; 2])>>;

const QUERIES: usize = 14;
const CUT: usize = 9;
const RATE: f64 = 0.5;
const COLUMNS: &str = "SELECT query_id, relevance, a, b FROM plain";

/// Random documents. Without noise a linear function separates the grades.
fn queries(seed: u64, noise: f64) -> Queries {
    let mut random = Random::new(seed);
    let mut document = |_| {
        let x = [random.symmetric(), random.symmetric()];
        let score = x[0] - 0.5 * x[1] + noise * random.symmetric();
        (f64::from(u8::from(score > -0.2) + u8::from(score > 0.6)), x)
    };
    (0..QUERIES).map(|_| (0..6).map(&mut document).collect()).collect()
}

fn store(queries: &Queries) -> Connection {
    let connection = database();
    connection.execute_batch("CREATE TABLE plain(query_id INTEGER, relevance, a REAL, b REAL)").unwrap();
    for (query, documents) in queries.iter().enumerate() {
        for (grade, [a, b]) in documents {
            let row = (query as i64, grade, a, b);
            connection.execute("INSERT INTO plain VALUES (?1, ?2, ?3, ?4)", row).unwrap();
        }
    }
    connection
}

/// One round: the documents of the query, their weights v, which of them f_t counts, how many changed w, and the
/// coefficients of z.
struct Round {
    first: usize,
    grades: Vec<f64>,
    weights: Vec<f64>,
    counted: Vec<bool>,
    active: usize,
    loss: f64,
    surrogate: f64,
    z: Vec<f64>,
}

/// All rounds, and w before the first round and after each, as coefficients of all documents.
struct Run {
    gram: Vec<Vec<f64>>,
    rounds: Vec<Round>,
    functions: Vec<Vec<f64>>,
}

fn discount(position: usize) -> f64 {
    1.0 / (position as f64 + 2.0).log2()
}

fn gain(grade: f64) -> f64 {
    grade.exp2() - 1.0
}

/// v of ndcg@10 for at most ten documents; equal grades have the mean of their weights.
fn weights(grades: &[f64]) -> Vec<f64> {
    let mut sorted = grades.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let largest: f64 = sorted.iter().enumerate().map(|(p, grade)| gain(*grade) * discount(p)).sum();
    let weight = |grade: &f64| {
        let places: Vec<usize> = (0..sorted.len()).filter(|p| sorted[*p].total_cmp(grade).is_eq()).collect();
        let sum: f64 = places.iter().map(|p| gain(*grade) * discount(*p)).sum();
        if largest > 0.0 { sum / places.len() as f64 / largest } else { 0.0 }
    };
    grades.iter().map(weight).collect()
}

/// 1 - ndcg with the less relevant of equal scores first.
fn loss(grades: &[f64], scores: &[f64]) -> f64 {
    let mut order: Vec<usize> = (0..grades.len()).collect();
    order.sort_by(|i, j| scores[*j].total_cmp(&scores[*i]).then(grades[*i].total_cmp(&grades[*j])));
    let dcg = |order: &[usize]| -> f64 {
        order.iter().enumerate().map(|(p, i)| gain(grades[*i]) * discount(p)).sum()
    };
    let found = dcg(&order);
    order.sort_by(|i, j| grades[*j].total_cmp(&grades[*i]));
    let largest = dcg(&order);
    if largest > 0.0 { 1.0 - found / largest } else { 0.0 }
}

/// The best scored document of a lower grade.
fn rival(grades: &[f64], scores: &[f64], i: usize) -> Option<usize> {
    let lower = (0..grades.len()).filter(|j| grades[*j] < grades[i]);
    lower.reduce(|best, j| if scores[j] > scores[best] { j } else { best })
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// m and `v_max` of all rounds of a call.
fn weights_of(rounds: &[Round]) -> (usize, f64) {
    let positive = |round: &Round| {
        let mut v: Vec<f64> = round.weights.iter().copied().filter(|v| *v > 0.0).collect();
        v.sort_by(f64::total_cmp);
        v
    };
    let most = rounds.iter().map(|round| positive(round).len()).max().unwrap_or(0);
    let ratio = |round: &Round| positive(round).last().map_or(1.0, |largest| largest / positive(round)[0]);
    (most, rounds.iter().map(ratio).fold(1.0, f64::max))
}

impl Run {
    fn of(queries: &Queries, kernel: impl Fn(&[f64], &[f64]) -> f64, misorder: bool) -> Self {
        let documents: Vec<&[f64; 2]> = queries.iter().flatten().map(|(_, x)| x).collect();
        let gram =
            documents.iter().map(|x| documents.iter().map(|y| kernel(&x[..], &y[..])).collect()).collect();
        let mut run = Self { gram, rounds: Vec::new(), functions: vec![vec![0.0; documents.len()]] };
        for (number, query) in queries.iter().enumerate() {
            let (first, grades): (usize, Vec<f64>) =
                (6 * number, query.iter().map(|document| document.0).collect());
            let mut w = run.functions[number].clone();
            let scores = run.scores(&w, first, grades.len());
            let (weights, loss) = (weights(&grades), loss(&grades, &scores));
            let (mut z, mut surrogate) = (vec![0.0; w.len()], 0.0);
            let (mut counted, mut active) = (vec![false; grades.len()], 0);
            for i in 0..grades.len() {
                let Some(k) = rival(&grades, &scores, i).filter(|_| loss > 1e-12) else { continue };
                let inner = 1.0 + scores[k] - scores[i];
                counted[i] = weights[i] > 0.0 && (!misorder || scores[k] >= scores[i]);
                if inner > 0.0 && counted[i] {
                    active += 1;
                    surrogate += weights[i] * inner;
                    z[first + i] -= weights[i];
                    z[first + k] += weights[i];
                }
            }
            w.iter_mut().zip(&z).for_each(|(w, z)| *w -= RATE * z);
            run.rounds.push(Round { first, grades, weights, counted, active, loss, surrogate, z });
            run.functions.push(w);
        }
        run
    }

    fn scores(&self, f: &[f64], first: usize, count: usize) -> Vec<f64> {
        (first..first + count).map(|i| dot(&self.gram[i], f)).collect()
    }

    fn square(&self, f: &[f64]) -> f64 {
        self.gram.iter().zip(f).map(|(row, factor)| factor * dot(row, f)).sum()
    }

    /// The mean of w after each of the first rounds.
    fn average(&self, rounds: usize) -> Vec<f64> {
        let mean = |j: usize| self.functions[1..=rounds].iter().map(|w| w[j]).sum::<f64>() / rounds as f64;
        (0..self.gram.len()).map(mean).collect()
    }

    /// f_t(u).
    fn counted_loss(&self, round: &Round, u: &[f64]) -> f64 {
        let scores = self.scores(u, round.first, round.grades.len());
        let term = |i: usize| {
            let k = rival(&round.grades, &scores, i).unwrap();
            round.weights[i] * (1.0 + scores[k] - scores[i]).max(0.0)
        };
        (0..round.grades.len()).filter(|i| round.counted[*i]).map(term).sum()
    }

    /// The least difference of scores of two documents of different grades in some rounds, divided by |u|.
    fn margin(&self, rounds: &[Round], u: &[f64]) -> f64 {
        let of = |round: &Round| {
            let scores = self.scores(u, round.first, round.grades.len());
            let lead =
                |i: usize| rival(&round.grades, &scores, i).map_or(f64::INFINITY, |k| scores[i] - scores[k]);
            (0..scores.len()).map(lead).fold(f64::INFINITY, f64::min)
        };
        rounds.iter().map(of).fold(f64::INFINITY, f64::min) / self.square(u).sqrt()
    }

    /// 4 m R_X^2 v_max of the first rounds.
    fn size(&self, rounds: usize) -> f64 {
        let updated = || self.rounds[..rounds].iter().filter(|round| round.loss > 1e-12);
        let positive =
            |round: &Round| -> Vec<f64> { round.weights.iter().copied().filter(|v| *v > 0.0).collect() };
        let most = updated().map(|round| positive(round).len()).max().unwrap_or(0) as f64;
        let largest = |list: &[f64]| list.iter().copied().fold(0.0, f64::max);
        let smallest = |list: &[f64]| list.iter().copied().fold(f64::INFINITY, f64::min);
        let ratio = updated().map(|r| largest(&positive(r)) / smallest(&positive(r))).fold(1.0, f64::max);
        let square = (0..6 * rounds).map(|i| self.gram[i][i]).fold(0.0, f64::max);
        4.0 * most * square * ratio
    }

    /// Checks the bounds of a report for the rounds from `from` to before `to`.
    fn check(&self, report: &Value, (from, to): (usize, usize), what: &str) -> bool {
        let misorder = report["settings"]["update_on"] == "misorder";
        let number = |pointer: &str| {
            report
                .pointer(pointer)
                .and_then(Value::as_f64)
                .unwrap_or_else(|| panic!("{what}: {pointer} in {report}"))
        };
        let close = |key: &str, a: f64, b: f64| {
            assert!((a - b).abs() <= 1e-8 * (1.0 + b.abs()), "{what}, {key}: {a}, {b}, {report}");
        };
        let rounds = &self.rounds[from..to];
        let losses: f64 = rounds.iter().map(|round| round.loss).sum();
        let surrogates: f64 = rounds.iter().map(|round| round.surrogate).sum();
        close("rounds", number("/bounds/rounds"), (to - from) as f64);
        close("loss", number("/bounds/cumulative_loss"), losses);
        close("surrogate", number("/bounds/cumulative_surrogate"), surrogates);
        let (most, ratio) = weights_of(rounds);
        close("m", number("/bounds/most_weighted_documents"), most as f64);
        close("v_max", number("/bounds/largest_weight_ratio"), ratio);
        // 1. The regret and Theorem 5 at every scale of the averaged function.
        let (average, first) = (self.average(to), &self.functions[from]);
        let counted = |u: &[f64]| -> f64 { rounds.iter().map(|round| self.counted_loss(round, u)).sum() };
        let distance = |u: &[f64], a: f64| {
            let difference: Vec<f64> = u.iter().zip(first).map(|(u, w)| u - a * w).collect();
            self.square(&difference)
        };
        let steps: f64 = rounds.iter().map(|round| self.square(&round.z)).sum();
        let (size, scaled) = (self.size(to), |c: f64| average.iter().map(|u| c * u).collect::<Vec<f64>>());
        let a = 1.0 / (size * RATE);
        let regret = |c: f64| {
            let u = scaled(c);
            counted(&u) + distance(&u, 1.0) / (2.0 * RATE) + 0.5 * RATE * steps
        };
        let theorem = |c: f64| 2.0 * counted(&scaled(c)) + size * distance(&scaled(c), a);
        let bounds: [(&str, &dyn Fn(f64) -> f64); 2] = [("regret", &regret), ("theorem_5", &theorem)];
        for (name, bound) in bounds {
            let (found, scale) =
                (number(&format!("/bounds/{name}/value")), number(&format!("/bounds/{name}/scale")));
            close(name, found, bound(scale));
            assert!((0..300).all(|n| found <= bound(0.02 * f64::from(n)) + 1e-8), "{what}: {name}");
        }
        assert!(surrogates <= number("/bounds/regret/value") + 1e-8, "{what}");
        assert!(!misorder || losses <= number("/bounds/theorem_5/value") + 1e-8, "{what}");
        // 2. Corollary 6 at the separator with the larger margin.
        let separators = [&average, &self.functions[to]];
        let best =
            separators.into_iter().max_by(|u, w| self.margin(rounds, u).total_cmp(&self.margin(rounds, w)));
        let (u, gamma) = best.map(|u| (u, self.margin(rounds, u))).unwrap();
        if gamma <= 0.0 {
            assert!(report.pointer("/bounds/corollary_6/gamma").unwrap().is_null(), "{what}: {report}");
            assert!(report.pointer("/bounds/corollary_6/separator").unwrap().is_null(), "{what}: {report}");
            return false;
        }
        let found = number("/bounds/corollary_6/value");
        let reported = number("/bounds/corollary_6/gamma");
        close("gamma", reported, gamma);
        let length = self.square(u).sqrt();
        let at = |s: f64| size * distance(&u.iter().map(|u| s * u / length).collect::<Vec<f64>>(), a);
        assert!((0..2000).all(|n| found <= at((1.0 + 0.01 * f64::from(n)) / gamma) * (1.0 + 1e-7)), "{what}");
        assert!(!misorder || losses <= found * (1.0 + 1e-9), "{what}");
        if from == 0 {
            close("corollary 6", found, size / (reported * reported));
        }
        true
    }
}

fn report(connection: &Connection, sql: &str, arguments: impl rusqlite::Params) -> Value {
    serde_json::from_str(&value::<String>(connection, sql, arguments)).unwrap()
}

/// Losses, surrogates, active documents and scores of a training and an update equal the plain implementation's, and
/// so do the bounds of both calls.
fn compare(kernel: &Value, function: impl Fn(&[f64], &[f64]) -> f64 + Copy, tolerance: f64) {
    let mut separated = 0;
    for (seed, noise) in (0..10).zip([0.0, 0.0, 0.0, 0.0, 0.0, 0.8, 0.8, 0.8, 0.4, 0.1]) {
        for update_on in ["margin", "misorder"] {
            let what = format!("{kernel}, seed {seed}, {update_on}");
            let (queries, misorder) = (queries(seed, noise), update_on == "misorder");
            let (connection, run) = (store(&queries), Run::of(&queries, function, misorder));
            let mut options = json!({ "name": "m", "update_on": update_on, "learning_rate": RATE });
            if !kernel.is_null() {
                options["kernel"] = kernel.clone();
            }
            let train = "SELECT ltr_train('perceptron', ?1, ?2)";
            let first = format!("{COLUMNS} WHERE query_id < {CUT} ORDER BY rowid");
            let trained = report(&connection, train, (first, options.to_string()));
            separated += u32::from(run.check(&trained, (0, CUT), &what));
            let rest = format!("{COLUMNS} WHERE query_id >= {CUT} ORDER BY rowid");
            let updated = report(&connection, "SELECT ltr_update('m', ?1)", [rest]);
            separated += u32::from(run.check(&updated, (CUT, QUERIES), &what));
            // The record of the rounds.
            let mut rows = connection
                .prepare("SELECT step, objective, surrogate, active_documents, gap, seconds FROM ltr_training_log('m')")
                .unwrap();
            let row = |row: &rusqlite::Row<'_>| {
                let nothing: (Option<f64>, Option<f64>) = (row.get(4)?, row.get(5)?);
                assert_eq!(nothing, (None, None));
                Ok((
                    row.get::<_, i64>(0)?,
                    row.get::<_, f64>(1)?,
                    row.get::<_, f64>(2)?,
                    row.get::<_, i64>(3)?,
                ))
            };
            let record: Vec<_> = rows.query_map([], row).unwrap().map(Result::unwrap).collect();
            assert_eq!(record.len(), QUERIES, "{what}");
            for (number, (round, (step, loss, surrogate, active))) in
                run.rounds.iter().zip(record).enumerate()
            {
                assert_eq!(
                    (step, active),
                    (number as i64 + 1, round.active as i64),
                    "{what}, round {number}"
                );
                assert!((loss - round.loss).abs() < tolerance.max(1e-13), "{what}, round {number}");
                assert!((surrogate - round.surrogate).abs() < tolerance, "{what}, round {number}");
            }
            // The averaged function.
            let expected = run.scores(&run.average(QUERIES), 0, 6 * QUERIES);
            let mut scores = connection
                .prepare("SELECT ltr_score('m', json_array(a, b)) FROM plain ORDER BY rowid")
                .unwrap();
            let scores = scores.query_map([], |row| row.get::<_, f64>(0)).unwrap().map(Result::unwrap);
            for (score, expected) in scores.zip(expected) {
                assert!((score - expected).abs() < tolerance, "{what}: {score}, {expected}");
            }
        }
    }
    assert!(separated > 2, "{kernel}: {separated} calls have a margin");
}

#[test]
fn the_linear_perceptron_matches_the_definition() {
    compare(&Value::Null, dot, 1e-12);
}

/// A polynomial kernel of degree 1 is linear: support documents give the same function as weights.
#[test]
fn a_linear_kernel_with_support_documents_is_the_linear_perceptron() {
    compare(&json!({"polynomial": {"degree": 1, "scale": 1, "offset": 0}}), dot, 1e-12);
}

#[test]
fn the_perceptron_with_a_gaussian_kernel_matches_the_definition() {
    let gaussian = |x: &[f64], y: &[f64]| {
        let square: f64 = x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum();
        (-0.7 * square).exp()
    };
    compare(&json!({"gaussian": {"gamma": 0.7}}), gaussian, 1e-9);
}
