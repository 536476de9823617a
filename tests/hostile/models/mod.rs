//! A model BLOB is untrusted input (rule 13.4): whatever it holds, SQL answers with an error or uses a valid model. Never a panic,
//! never an allocation that only the BLOB's own claims ask for.
//!
//! Damage is found by checksums. Blobs of the second kind have right checksums and wrong contents; they are made by
//! rewriting the envelope (`src/model/envelope.rs`) and the headers inside it.
mod categories;
mod dependent;
mod imported;
mod listwise;
mod online;
pub mod parts;
mod trees;

use parts::{Change, Dependent, Index, Linear, Opened, seal};
use rusqlite::Connection;
use sqlite_ltr::internals::data::{Fingerprint, Profile, Quantiles, Scaling};
use sqlite_ltr::internals::model::{Model, encode_header};
use xxhash_rust::xxh3::xxh3_64;

use crate::allocated::largest;

/// The blobs here are below 100 kB; nothing they say justifies more than this.
const MOST_BYTES: usize = 32 << 20;

fn assert_modest() {
    let largest = largest();
    assert!(largest < MOST_BYTES, "an allocation of {largest} bytes");
}

const SCHEMA: &str = "
CREATE TABLE judged(query_id, doc_id, relevance, a REAL, b REAL);
WITH RECURSIVE
  queries(q) AS (VALUES (1) UNION ALL SELECT q + 1 FROM queries WHERE q < 4),
  documents(d) AS (VALUES (1) UNION ALL SELECT d + 1 FROM documents WHERE d < 4)
INSERT INTO judged SELECT q, d, (5 * d + q) % 3, ((7 * d + 3 * q) % 11) / 11.0, ((5 * d + 4 * q) % 13) / 13.0 FROM queries, documents;
";

/// One model of each form and scaling.
const MODELS: &[(&str, &str)] = &[
    ("rank_svm", r#"{"lambda": 0.01}"#),
    ("rank_svm", r#"{"lambda": 0.01, "scale": "standard"}"#),
    ("rank_svm", r#"{"lambda": 0.01, "scale": "quantile_minmax"}"#),
    ("q_svm", r#"{"lambda": 0.01, "neighbors": 3}"#),
    ("knn_svm", r#"{"lambda": 0.01, "scale": "none", "neighbors": 2}"#),
    ("indv_svm", r#"{"lambda": 0.01}"#),
    ("rank_svm", r#"{"lambda": 0.01, "kernel": "gaussian"}"#),
    (
        "q_svm",
        r#"{"lambda": 0.01, "kernel": "polynomial", "landmarks": 4, "prior": "global", "fit_at": "query_time"}"#,
    ),
    (
        "knn_svm",
        r#"{"lambda": 0.01, "kernel": "gaussian", "landmarks": 4, "form": "ranking", "neighbors": 2}"#,
    ),
    ("perceptron", "{}"),
    ("slam", r#"{"lambda": 0.01, "smoothing": "gaussian", "neighbors": 3, "prior": "regression"}"#),
    ("direct", r#"{"lambda": 0.01, "smoothing": "knn", "neighbors": 2, "bound": "nonconvex"}"#),
    (
        "direct",
        r#"{"lambda": 0.01, "smoothing": "knn", "neighbors": 2, "bound": "convex", "diversify_by": "doc_id"}"#,
    ),
    ("matching", r#"{"lambda": 0.01, "smoothing": "knn", "neighbors": 2}"#),
    ("eigen_rank", r#"{"components": 1, "smoothing": "gaussian", "neighbors": 3}"#),
    (
        "cs_list_mle",
        r#"{"lambda": 0.01, "smoothing": "knn", "neighbors": 2, "cost_weights": {"pair": [[0,0,0],[1,0,0],[3,1,0]], "document": [0,1,3]}}"#,
    ),
    ("boosted_trees", r#"{"trees": 2, "depth": 2}"#),
    ("auto", r#"{"kernel": "linear"}"#),
    ("auto", r#"{"kernel": "gaussian", "landmarks": 4}"#),
];

/// Every document at the place of every other.
const PLACES: &str = "SELECT query_id, one.doc_id, two.doc_id AS slot, one.doc_id = two.doc_id AS relevance, one.a, two.b FROM judged one JOIN judged two USING (query_id)";

/// Judged queries enough for `auto`.
const MANY: &str = "SELECT query_id + 10 * n AS query_id, doc_id, relevance, a, b FROM judged, (SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2)";

fn connect() -> Connection {
    let connection = Connection::open_in_memory().expect("a database");
    sqlite_ltr::register(&connection).expect("registration");
    connection.execute_batch(SCHEMA).expect("the toy set");
    connection
}

fn fit(connection: &Connection, (algorithm, options): (&str, &str)) -> Vec<u8> {
    let source = match algorithm {
        "auto" => MANY,
        "matching" => PLACES,
        _ => "judged",
    };
    let sql = "SELECT ltr_fit(?1, ?2, ?3)";
    connection.query_row(sql, (algorithm, source, options), |row| row.get(0)).expect("a model")
}

fn models(connection: &Connection) -> Vec<Vec<u8>> {
    MODELS.iter().map(|model| fit(connection, *model)).collect()
}

/// Every SQL function that takes a model, on a query that was seen and one that was not.
const USES: &[&str] = &[
    "SELECT count(*) FROM ltr_rank(?1, 'judged')",
    "SELECT count(*) FROM ltr_rank(?1, 'SELECT 77 AS query_id, doc_id, b AS a, a AS b FROM judged')",
    "SELECT count(*) FROM ltr_rank(?1, 'SELECT *, doc_id AS slot FROM judged')",
    "SELECT count(*) FROM ltr_evaluate(?1, 'judged')",
    "SELECT count(*) FROM ltr_evaluate(?1, 'SELECT query_id, doc_id, relevance FROM judged')",
    "SELECT count(*) FROM ltr_search(?1, 2)",
    "SELECT ltr_score(?1, '[0.5, 0.25]')",
    "SELECT ltr_score(?1, ltr_vec(0.5, 0.25), '[0.5, 0.25]')",
    "SELECT ltr_prefer(?1, '[0.5, 0.25]', '[1, 0]')",
    "SELECT ltr_prefer(?1, '[0.5, 0.25]', '[1, 0]', '[0.5, 0.25]')",
    "SELECT count(*) FROM ltr_weights(?1)",
    "SELECT count(*) FROM ltr_weights(?1, '[0.5, 0.25]')",
    "SELECT count(*) FROM ltr_explain(?1, '[0.5, 0.25]')",
    "SELECT count(*) FROM ltr_explain(?1, 'judged', 1, 1)",
    "SELECT count(*) FROM ltr_explain_rank(?1, 'SELECT *, doc_id AS slot FROM judged', 1, 1, 2)",
    "SELECT count(*) FROM ltr_importance(?1, 'judged')",
    "SELECT ltr_export(?1, 'sql')",
    "SELECT ltr_export(?1, 'elasticsearch')",
    "SELECT ltr_export(?1, 'solr')",
    "SELECT ltr_import(ltr_export(?1, 'json'), '{\"name\": \"imported\", \"keep_versions\": 1}')",
    "SELECT count(*) FROM ltr_neighbors(?1, '[0.5, 0.25]')",
    "SELECT count(*) FROM ltr_training_log(?1)",
    "SELECT count(*) FROM ltr_monitor(?1, 'SELECT query_id, doc_id, relevance, a FROM judged')",
    r#"SELECT ltr_update(?1, 'judged', '{"name": "hostile", "keep_versions": 1}')"#,
];

/// Asks SQL what a blob is: an error text, or none for a model. A panic would show as an internal error.
fn refusal(connection: &Connection, blob: &[u8]) -> Option<String> {
    let outcome = connection.query_row("SELECT ltr_info(?1)", [blob], |row| row.get::<_, String>(0));
    assert_modest();
    let problem = outcome.err()?.to_string();
    assert!(problem.starts_with("ltr_info: model is damaged or not a model: "), "{problem}");
    Some(problem)
}

/// Uses a blob in every way; errors are allowed, panics are not.
fn use_it(connection: &Connection, blob: &[u8], what: &str) {
    for sql in USES {
        if let Err(problem) = connection.query_row(sql, [blob], |_| Ok(())) {
            let problem = problem.to_string();
            assert!(
                problem.starts_with("ltr_") && !problem.contains("internal error"),
                "{what}: {sql}: {problem}"
            );
        }
    }
    assert_modest();
}

#[test]
fn every_changed_byte_is_found() {
    let connection = connect();
    for (number, model) in models(&connection).into_iter().enumerate() {
        let mut damaged = model.clone();
        for at in 0..model.len() {
            for change in 1..=255u8 {
                damaged[at] = model[at] ^ change;
                // All changes of the small models, one bit at a time of the others.
                if number < 2 || change.is_power_of_two() {
                    assert!(
                        Model::from_bytes(&damaged).is_err(),
                        "model {number}: byte {at} changed by {change}"
                    );
                }
            }
            damaged[at] = model[at] ^ (1 << (at % 8));
            assert!(refusal(&connection, &damaged).is_some(), "model {number}: byte {at}");
            damaged[at] = model[at];
        }
        assert_eq!(refusal(&connection, &model), None);
    }
    assert_modest();
}

#[test]
fn every_cut_and_every_addition_is_found() {
    let connection = connect();
    for model in models(&connection) {
        for length in 0..model.len() {
            assert!(refusal(&connection, &model[..length]).is_some(), "cut at {length}");
        }
        for tail in [&[0][..], &[255], &[0; 1000], &model] {
            let longer = [&model[..], tail].concat();
            assert!(refusal(&connection, &longer).is_some(), "{} bytes added", tail.len());
        }
    }
}

#[test]
fn spliced_models_are_found() {
    let connection = connect();
    let models = models(&connection);
    for (number, a) in models.iter().enumerate() {
        for b in models.iter().skip(number + 1) {
            for cut in (1..a.len().min(b.len())).step_by(7) {
                for spliced in [[&a[..cut], &b[cut..]].concat(), [&b[..cut], &a[cut..]].concat()] {
                    if spliced != *a && spliced != *b {
                        assert!(refusal(&connection, &spliced).is_some(), "cut at {cut}");
                    }
                }
            }
        }
    }
}

#[test]
fn lengths_that_lie_are_found() {
    let connection = connect();
    for model in models(&connection) {
        for length in [0, 1, 1 << 30, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 63, u64::MAX] {
            for at in [16, 24] {
                let mut damaged = model.clone();
                damaged[at..at + 8].copy_from_slice(&length.to_le_bytes());
                assert!(refusal(&connection, &damaged).is_some(), "length {length} at {at}");
            }
        }
    }
}

#[test]
fn a_stored_model_that_is_damaged_is_refused_by_name() {
    let connection = connect();
    connection.query_row("SELECT ltr_train('rank_svm', 'judged')", [], |_| Ok(())).expect("a model");
    let model: Vec<u8> =
        connection.query_row("SELECT model FROM ltr_models", [], |row| row.get(0)).expect("the model");
    for at in (0..model.len()).step_by(13) {
        let mut damaged = model.clone();
        damaged[at] ^= 1;
        connection.execute("UPDATE ltr_models SET model = ?1", [&damaged]).expect("an update");
        let problem = connection
            .query_row("SELECT ltr_score('rank_svm', '[1, 2]')", [], |_| Ok(()))
            .expect_err("damaged")
            .to_string();
        assert!(problem.starts_with("ltr_score: model is damaged or not a model: 'rank_svm': "), "{problem}");
    }
}

/// A stored model reads the judgments of a target's neighbors and no others, and checks them when it does.
#[test]
fn a_stored_block_that_is_damaged_is_refused_where_it_is_needed() {
    let connection = connect();
    let sql = "SELECT ltr_train('knn_svm', 'judged', '{\"lambda\": 0.01, \"neighbors\": 1}')";
    connection.query_row(sql, [], |_| Ok(())).expect("a model");
    let mut model: Vec<u8> =
        connection.query_row("SELECT model FROM ltr_models", [], |row| row.get(0)).expect("the model");
    let blocks: usize = Opened::new(&model).blocks.iter().map(Vec::len).sum();
    let of_first_query = model.len() - blocks + 3;
    model[of_first_query] ^= 1;
    connection.execute("UPDATE ltr_models SET model = ?1", [&model]).expect("an update");
    let rank = |query: i64| {
        let sql = "SELECT count(*) FROM ltr_rank('knn_svm', 'SELECT 10 + query_id AS query_id, doc_id, a, b FROM judged \
                   WHERE query_id = ' || ?1)";
        connection.query_row(sql, [query], |row| row.get::<_, i64>(0))
    };
    assert_eq!(rank(3), Ok(4), "the neighbor is another query");
    let problem = rank(1).expect_err("damaged").to_string();
    assert!(problem.contains("model is damaged or not a model") && problem.contains("block"), "{problem}");
    assert_eq!(rank(2), Ok(4), "the damage stays where it is");
}

#[test]
fn what_is_taken_apart_and_sealed_again_is_the_same() {
    let connection = connect();
    for model in models(&connection) {
        assert!(Opened::new(&model).seal() == model, "the layout in this test differs from the library's");
    }
}

/// Fingerprints that do not fit two features.
fn wrong_fingerprints(card: &mut impl FnMut(&'static str, fn(&mut Opened))) {
    fn of(opened: &mut Opened) -> &mut Fingerprint {
        opened.parts.fingerprint.as_mut().expect("a fingerprint")
    }
    card("a fingerprint of one feature", |o| of(o).features.truncate(1));
    card("a fingerprint of more rows", |o| of(o).rows += 1);
    card("a fingerprint of fewer queries", |o| {
        of(o).query_features = vec![("q".to_owned(), of(o).relevance.clone())];
    });
    card("counts beyond 2^64", |o| of(o).features[0].counts[..2].fill(u64::MAX));
    card("a bin too few", |o| of(o).features[0].counts.truncate(1));
    card("edges that fall", |o| of(o).features[0].edges.reverse());
    card("an edge that is NaN", |o| of(o).features[0].edges[0] = f32::NAN);
    card("an edge beyond the largest value", |o| *of(o).features[0].edges.last_mut().expect("edges") = 9.0);
    card("a range that is NaN", |o| of(o).features[0].low = f32::NAN);
    card("an infinite range", |o| of(o).relevance.high = f32::INFINITY);
    card("too many bins", |o| {
        let rows = of(o).rows;
        let edges = (0..100u16).map(|edge| f32::from(edge) / 100.0).collect();
        let counts = (0..101).map(|bin| if bin == 0 { rows } else { 0 }).collect();
        let profile = of(o).features[0].clone();
        of(o).features[0] = Profile { low: 0.0, high: 1.0, edges, counts, missing: 0, ..profile };
    });
    card("values in more queries than rows", |o| of(o).features[0].queries = of(o).rows + 1);
    card("a design effect below 1", |o| of(o).features[0].design_effect = 0.99);
    card("a design effect that is NaN", |o| of(o).relevance.design_effect = f32::NAN);
    card("an infinite design effect of missing values", |o| of(o).features[1].missing_effect = f32::INFINITY);
    card("no degree of freedom", |o| of(o).features[0].degrees = 0.0);
    card("more degrees of freedom than bins", |o| {
        of(o).features[0].degrees = of(o).features[0].counts.len() as f32;
    });
    card("no grades", |o| {
        of(o).relevance.counts.fill(0);
    });
    card("no values at all", |o| {
        let profile = &mut of(o).features[0];
        (profile.counts, profile.edges, profile.missing) = (Vec::new(), Vec::new(), 0);
    });
    card("a value more", |o| of(o).features[1].counts[0] += 1);
    card("a value less", |o| of(o).relevance.counts[0] -= 1);
    card("an empty bin", |o| {
        let counts = &mut of(o).relevance.counts;
        counts[1] += std::mem::take(&mut counts[0]);
    });
    card("a missing value more", |o| of(o).features[0].missing += 1);
    card("values of no query", |o| of(o).features[0].queries = 0);
    card("values of more queries than there are", |o| of(o).features[0].queries = of(o).queries + 1);
    card("no rows", |o| of(o).rows = 0);
    card("no queries", |o| of(o).queries = 0);
    card("more queries than rows", |o| of(o).queries = of(o).rows + 1);
    card("a design effect above the number of values", |o| {
        of(o).features[0].design_effect = of(o).rows as f32 + 1.0;
    });
    card("an effect of missing values above the number of rows", |o| {
        of(o).relevance.missing_effect = f32::MAX;
    });
}

/// Online models have no fingerprint, and models as text may omit it.
#[test]
fn models_without_a_fingerprint_are_read() {
    let connection = connect();
    for (model, blob) in MODELS.iter().zip(models(&connection)) {
        let mut opened = Opened::new(&blob);
        let had_one = opened.parts.fingerprint.take().is_some();
        assert_eq!(had_one, model.0 != "perceptron");
        let without = opened.seal();
        assert_eq!(refusal(&connection, &without), None);
        use_it(&connection, &without, model.0);
        let problem =
            connection.query_row("SELECT count(*) FROM ltr_monitor(?1, 'judged')", [&without], |_| Ok(()));
        let problem = problem.expect_err("no fingerprint").to_string();
        assert!(
            problem.starts_with("ltr_monitor: the model has no fingerprint of its training data: "),
            "{problem}"
        );
    }
}

#[test]
fn other_format_versions_are_refused_with_a_way_out() {
    let connection = connect();
    let mut model = fit(&connection, MODELS[0]);
    for (version, way_out) in
        [(0u16, "train"), (7, "train the model again"), (9, "use a newer library"), (u16::MAX, "newer")]
    {
        model[8..10].copy_from_slice(&version.to_le_bytes());
        let problem = refusal(&connection, &model).expect("another version");
        let expected = format!("format version {version}, this library reads 8; ");
        assert!(problem.contains(&expected) && problem.contains(way_out), "{problem}");
    }
}

/// Sealed blobs made from a linear model by wrong contents, with what is wrong.
fn wrong_linear(opened: &Opened) -> Vec<(&'static str, Opened)> {
    let mut wrong = Vec::new();
    let mut card = |what, change: fn(&mut Opened)| {
        let mut other = opened.clone();
        change(&mut other);
        wrong.push((what, other));
    };
    card("an unknown algorithm", |o| "rank_swm".clone_into(&mut o.parts.card.algorithm));
    card("an unknown form", |o| "tree".clone_into(&mut o.parts.form));
    card("the form of another ranker", |o| "query_dependent".clone_into(&mut o.parts.form));
    card("no features", |o| o.parts.card.features.clear());
    card("a feature too many", |o| o.parts.card.features.push("c".to_owned()));
    card("one name of two features", |o| o.parts.card.features = vec!["a".to_owned(), "A".to_owned()]);
    card("a mean too few", |o| o.parts.card.means.truncate(1));
    card("a mean that is NaN", |o| o.parts.card.means[0] = f64::NAN);
    card("settings that are not JSON", |o| "{".clone_into(&mut o.parts.card.settings));
    card("settings that are not an object", |o| "[]".clone_into(&mut o.parts.card.settings));
    card("deep settings", |o| o.parts.card.settings = "[".repeat(100_000));
    card("a summary that is not JSON", |o| o.parts.card.summary.clear());
    card("an infinite log", |o| o.parts.card.log.push((f64::INFINITY, 0.0)));
    card("a block that nothing asks for", |o| o.blocks.push(vec![1, 2, 3]));
    card("a scaling without features", |o| o.parts.scaling = Scaling::Quantile(Vec::new()));
    card("a scaling without quantiles", |o| {
        o.parts.scaling = Scaling::Quantile(vec![Quantiles::from(Vec::new()); 2]);
    });
    card("quantiles that fall", |o| {
        o.parts.scaling = Scaling::Quantile(vec![Quantiles::from(vec![(1.0, 0.0), (0.0, 1.0)]); 2]);
    });
    card("quantiles that do not increase", |o| {
        o.parts.scaling = Scaling::Quantile(vec![Quantiles::from(vec![(1.0, 0.0), (1.0, 1.0)]); 2]);
    });
    card("a quantile that is NaN", |o| {
        o.parts.scaling = Scaling::Quantile(vec![Quantiles::from(vec![(f64::NAN, 0.0)]); 2]);
    });
    wrong_fingerprints(&mut card);
    card("a negative factor", |o| o.parts.scaling = Scaling::MaxNorm(-1.0));
    card("a negative factor of a feature", |o| o.parts.scaling = Scaling::Standard(vec![(0.0, -1.0); 2]));
    card("an infinite factor", |o| o.parts.scaling = Scaling::Standard(vec![(0.0, f64::INFINITY); 2]));
    card("a scaling of another width", |o| {
        o.parts.scaling = Scaling::QuantileMinmax(vec![Quantiles::from(vec![(0.0, 0.0)]); 2]);
    });
    card("an empty ranker", |o| o.parts.ranker.clear());
    card("a ranker that goes on", |o| o.parts.ranker.push(0));
    card("a ranker that claims 2^62 weights", |o| {
        // The space, then 253: an eight-byte number follows.
        o.parts.ranker = [&[2, 0, 0, 253][..], &(1u64 << 62).to_le_bytes()].concat();
    });
    card("a ranker that claims 2^26 weights", |o| {
        o.parts.ranker = [&[2, 0, 0, 252][..], &(1u32 << 26).to_le_bytes()].concat();
    });
    let linear = opened.linear();
    let changes: [Change<Linear>; 8] = [
        ("a space of another width", |l| l.space.width = 3),
        ("an unknown form", |l| l.space.form = 2),
        ("an unknown map", |l| l.space.map = 5),
        ("a weight that is NaN", |l| l.weights[0] = f64::NAN),
        ("a weight that is infinite", |l| l.weights[0] = f64::NEG_INFINITY),
        ("a weight too many", |l| l.weights.push(0.0)),
        ("no weights", |l| l.weights.clear()),
        ("an objective that is NaN", |l| l.objective = f64::NAN),
    ];
    for (what, change) in changes {
        let (mut other, mut linear) = (opened.clone(), linear.clone());
        change(&mut linear);
        other.parts.ranker = encode_header(&linear).expect("bytes");
        wrong.push((what, other));
    }
    wrong
}

#[test]
fn sealed_linear_models_with_wrong_contents_are_refused() {
    let connection = connect();
    let opened = Opened::new(&fit(&connection, MODELS[0]));
    for (what, wrong) in wrong_linear(&opened) {
        assert!(refusal(&connection, &wrong.seal()).is_some(), "{what}");
    }
}

#[test]
fn sealed_indexes_that_lie_are_refused() {
    let connection = connect();
    let opened = Opened::new(&fit(&connection, MODELS[3]));
    let model = encode_header(&opened.parts).expect("bytes");
    let blocks = opened.blocks.concat();
    let honest: Vec<(u64, u64)> =
        opened.blocks.iter().map(|block| (block.len() as u64, xxh3_64(block))).collect();
    for (entry, length) in [(0, u64::MAX), (0, 1 << 40), (1, 0), (3, 1), (2, blocks.len() as u64)] {
        let mut index = honest.clone();
        index[entry].0 = length;
        let header = encode_header(&Index { index, model: model.clone() }).expect("bytes");
        assert!(refusal(&connection, &seal(&header, &blocks)).is_some(), "block {entry} of {length} bytes");
    }
    for header in [
        &[][..],
        &[0],
        &[253, 255, 255, 255, 255, 255, 255, 255, 127],
        &[252, 255, 255, 255, 255, 0, 0],
        &[255; 64],
    ] {
        assert!(refusal(&connection, &seal(header, &[])).is_some(), "{header:?}");
    }
}

/// Values that are allowed but extreme: every use ends, with a result or an error.
#[test]
fn extreme_models_are_used_without_harm() {
    let connection = connect();
    let opened = Opened::new(&fit(&connection, MODELS[3]));
    let changes: [Change<Dependent>; 7] = [
        ("a tiny lambda", |d| d.fitting.lambda = 5e-324),
        ("a huge lambda", |d| d.fitting.lambda = 1.7e308),
        ("a tiny tolerance", |d| d.fitting.tolerance = 5e-324),
        ("huge weights of queries", |d| d.weights.fill(1.7e308)),
        ("tiny weights of queries", |d| d.weights.fill(5e-324)),
        ("huge functions", |d| d.functions.fill(1.7e308)),
        ("countless neighbors", |d| d.smoothing.neighbors = usize::MAX),
    ];
    for (what, change) in changes {
        let (mut other, mut dependent) = (opened.clone(), opened.dependent());
        change(&mut dependent);
        other.parts.ranker = encode_header(&dependent).expect("bytes");
        use_it(&connection, &other.seal(), what);
    }
    for value in [1.7e308, -1.7e308, 5e-324] {
        let mut other = opened.clone();
        for block in &mut other.blocks {
            block
                .as_chunks_mut::<8>()
                .0
                .iter_mut()
                .step_by(3)
                .for_each(|number| *number = f64::to_le_bytes(value));
        }
        use_it(&connection, &other.seal(), &format!("numbers of {value:e} in the judgments"));
    }
}

/// A small generator of numbers, so that failures can be repeated.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}

/// With `LTR_LONG=1` five times as many blobs.
#[test]
fn sealed_random_damage_is_refused_or_gives_a_model() {
    let rounds = if crate::is_long() { 3000 } else { 600 };
    let connection = connect();
    let mut numbers = Numbers(1);
    let mut models_found = 0;
    for (number, blob) in models(&connection).iter().enumerate() {
        let opened = Opened::new(blob);
        for round in 0..rounds {
            let mut other = opened.clone();
            let mut model = encode_header(&other.parts).expect("bytes");
            for _ in 0..=numbers.below(3) {
                // Mostly the ranker's own bytes, sometimes the card, sometimes a block.
                let target = match numbers.below(4) {
                    0 => &mut model,
                    1 if !other.blocks.is_empty() => {
                        let block = numbers.below(other.blocks.len());
                        &mut other.blocks[block]
                    }
                    _ => &mut other.parts.ranker,
                };
                let at = numbers.below(target.len());
                match numbers.below(4) {
                    0 => target[at] = [0, 255, 251, 252, 253][numbers.below(5)],
                    1 => target.truncate(at.max(1)),
                    2 => target.insert(at, numbers.below(256) as u8),
                    _ => target[at] ^= 1 << numbers.below(8),
                }
            }
            if other.parts.ranker != opened.parts.ranker {
                model = encode_header(&other.parts).expect("bytes");
            }
            let index = other.blocks.iter().map(|block| (block.len() as u64, xxh3_64(block))).collect();
            let blob = seal(&encode_header(&Index { index, model }).expect("bytes"), &other.blocks.concat());
            if refusal(&connection, &blob).is_none() {
                models_found += 1;
                if models_found % 4 == 0 {
                    use_it(&connection, &blob, &format!("model {number}, round {round}"));
                }
            }
        }
    }
    assert!(
        models_found > 100,
        "only {models_found} blobs were models: the damage is too coarse to test much"
    );
}
