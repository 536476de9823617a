//! Query-dependent models that are sealed with wrong contents.

use sqlite_ltr::internals::data::query_distance::{ColumnDistance, Comparison};
use sqlite_ltr::internals::data::{Id, QueryFeatureKind};
use sqlite_ltr::internals::learn::smoothing::Bandwidth;
use sqlite_ltr::internals::model::encode_header;

use super::parts::{Change, Dependent, Encoding, Opened};
use super::{MODELS, connect, fit, refusal, use_it};

/// Gives the first query feature this factor.
fn number(d: &mut Dependent, factor: f64) {
    d.rule.encodings[0] = Encoding::Number { mean: 0.0, center: 0.0, factor };
}

/// Changes of a query-dependent ranker that make it wrong.
const WRONG_DEPENDENT: &[Change<Dependent>] = &[
    ("no neighbors", |d| d.smoothing.neighbors = 0),
    ("no neighbors of novel queries", |d| d.smoothing.novel_neighbors = 0),
    ("a bandwidth of 0", |d| d.smoothing.bandwidth = Bandwidth::Fixed(0.0)),
    ("a bandwidth that is NaN", |d| d.smoothing.bandwidth = Bandwidth::Fixed(f64::NAN)),
    ("a negative lambda", |d| d.fitting.lambda = -1.0),
    ("a lambda of 0", |d| d.fitting.lambda = 0.0),
    ("an infinite lambda", |d| d.fitting.lambda = f64::INFINITY),
    ("a tolerance of 0", |d| d.fitting.tolerance = 0.0),
    ("a center of another length", |d| d.fitting.center = Some(vec![0.0; 3])),
    ("a center that is NaN", |d| d.fitting.center = Some(vec![0.0, f64::NAN])),
    ("a tolerance that is NaN", |d| d.fitting.tolerance = f64::NAN),
    ("query features of another number", |d| d.rule.names.push("c".to_owned())),
    ("an encoding too few", |d| d.rule.encodings.truncate(1)),
    ("a scale that is NaN", |d| number(d, f64::NAN)),
    ("a huge scale", |d| number(d, 1e200)),
    ("a negative scale", |d| number(d, -1.0)),
    ("a column that does not exist", |d| {
        d.rule.kind = QueryFeatureKind::Constant;
        d.rule.columns = vec![0, 1 << 40];
    }),
    ("columns of the wrong kind", |d| d.rule.columns = vec![0]),
    ("no queries", |d| d.ids.clear()),
    ("an id twice", |d| d.ids[1] = d.ids[0].clone()),
    ("ids out of order", |d| d.ids.swap(0, 1)),
    ("a weight of 0", |d| d.weights[0] = 0.0),
    ("a weight that is NaN", |d| d.weights[0] = f64::NAN),
    ("a weight too few", |d| d.weights.truncate(3)),
    ("a query feature that is NaN", |d| d.features[0] = f64::NAN),
    ("a query feature too many", |d| d.features.push(0.0)),
    ("a width of 0", |d| d.space.width = 0),
    ("a huge width", |d| d.space.width = u64::MAX),
    ("a width whose product overflows", |d| d.space.width = 1 << 62),
    ("a function too short", |d| d.functions.truncate(3)),
    ("a function that is NaN", |d| d.functions[0] = f64::NAN),
    ("an objective too few", |d| d.objectives.truncate(3)),
    ("an objective that is infinite", |d| d.objectives[0].1 = f64::INFINITY),
    ("huge blocks", |d| d.documents.fill(u32::MAX)),
    ("a block too few", |d| d.documents[0] = 0),
    ("documents too many", |d| d.documents[0] += 1),
    ("elements of 3 bytes", |d| d.element_bytes = 3),
    ("elements of 4 bytes", |d| d.element_bytes = 4),
    ("weights of documents without blocks of them", |d| d.has_doc_weights = true),
];

#[test]
fn sealed_query_dependent_models_with_wrong_contents_are_refused() {
    let connection = connect();
    let opened = Opened::new(&fit(&connection, MODELS[3]));
    for (what, change) in WRONG_DEPENDENT {
        let (mut other, mut dependent) = (opened.clone(), opened.dependent());
        change(&mut dependent);
        other.parts.ranker = encode_header(&dependent).expect("bytes");
        assert!(refusal(&connection, &other.seal()).is_some(), "{what}");
    }
    for (what, at, value) in
        [("a label", 0, f64::NAN), ("a feature", 4 * 8, f64::INFINITY), ("a last feature", 11 * 8, f64::NAN)]
    {
        let mut other = opened.clone();
        other.blocks[0][at..at + 8].copy_from_slice(&value.to_le_bytes());
        assert!(refusal(&connection, &other.seal()).is_some(), "{what} that is {value}");
    }
    let mut other = opened.clone();
    other.blocks.pop();
    assert!(refusal(&connection, &other.seal()).is_some(), "a block that is missing");
}

/// A model that names a solver that does not exist.
#[test]
fn unknown_solvers_are_refused() {
    let connection = connect();
    let mut opened = Opened::new(&fit(&connection, ("q_svm", r#"{"lambda": 0.01, "fit_at": "query_time"}"#)));
    let mut dependent = opened.dependent();
    dependent.fitting.solver = "dual_descent".to_owned();
    opened.parts.ranker = encode_header(&dependent).expect("bytes");
    let problem = refusal(&connection, &opened.seal()).expect("a refusal");
    assert!(problem.contains("dual_descent"), "{problem}");
}

/// The distance of one query feature.
fn column(comparison: Comparison, start: usize, width: usize) -> ColumnDistance {
    ColumnDistance { comparison, start, width, weight: 1.0 }
}

/// Changes of a ranker whose query features are a number, a category, and two orders, one of them of the Kendall kernel.
const WRONG_ENCODINGS: &[Change<Dependent>] = &[
    ("no distances", |d| d.distance.clear()),
    ("a distance too few", |d| d.distance.truncate(3)),
    ("a distance too many", |d| d.distance.push(d.distance[1])),
    ("a weight that is NaN", |d| d.distance[1].weight = f64::NAN),
    ("a negative weight", |d| d.distance[2].weight = -0.5),
    ("a huge weight", |d| d.distance[0].weight = 1e7),
    ("a column beyond the row", |d| d.distance[3].start = usize::MAX),
    ("a column of another width", |d| d.distance[1].width = 2),
    ("a huge column", |d| d.distance[2].width = usize::MAX),
    ("a category compared as an order", |d| d.distance[1].comparison = Comparison::Mallows),
    ("an order compared as a category", |d| d.distance[2].comparison = Comparison::Overlap),
    ("a number compared as a category", |d| d.distance[0].comparison = Comparison::Overlap),
    ("a category compared as a number", |d| d.distance[1] = column(Comparison::Euclidean, 1, 1)),
    ("two columns in one place", |d| d.distance[3].start = d.distance[2].start),
    ("columns of another order", |d| d.distance.reverse()),
    ("an encoding that is an order too", |d| d.rule.encodings[1] = d.rule.encodings[2].clone()),
    ("a category without values", |d| d.rule.encodings[2] = Encoding::Category(Vec::new())),
    ("categories out of order", |d| {
        if let Encoding::Category(known) = &mut d.rule.encodings[1] {
            known.reverse();
        }
    }),
    ("an item twice", |d| {
        if let Encoding::Order(items) = &mut d.rule.encodings[2] {
            items[1] = items[0].clone();
        }
    }),
    ("an item too few", |d| {
        if let Encoding::Order(items) = &mut d.rule.encodings[2] {
            items.pop();
        }
    }),
    ("an order of countless items", |d| {
        d.rule.encodings[2] = Encoding::Order((0..300_i64).map(Id::Integer).collect());
        d.features.resize(4 * (1 + 1 + 300 + 3), 0.0);
        d.distance[2].width = 300;
        d.distance[3].start = 302;
    }),
];

const MIXED: &str = "SELECT *, query_id / 4.0 AS q_mood, 'site ' || (query_id % 2) AS q_site, \
    CASE query_id % 3 WHEN 0 THEN '[\"x\", \"y\"]' WHEN 1 THEN '[\"y\", \"z\"]' ELSE '[\"z\"]' END AS q_wish, \
    CASE query_id % 2 WHEN 0 THEN '[1, 2, 3]' ELSE '[2, 1]' END AS q_rank FROM judged";

#[test]
fn sealed_encodings_and_distances_of_query_features_with_wrong_contents_are_refused() {
    let connection = connect();
    let options = r#"{"lambda": 0.01, "neighbors": 3, "query_distance": {"q_rank": "kendall"}}"#;
    let blob = connection
        .query_row("SELECT ltr_fit('q_svm', ?1, ?2)", (MIXED, options), |row| row.get::<_, Vec<u8>>(0))
        .expect("a model");
    let opened = Opened::new(&blob);
    let with = |change: fn(&mut Dependent)| {
        let (mut other, mut dependent) = (opened.clone(), opened.dependent());
        change(&mut dependent);
        other.parts.ranker = encode_header(&dependent).expect("bytes");
        other.seal()
    };
    assert_eq!(refusal(&connection, &with(|_| {})), None);
    for (what, change) in WRONG_ENCODINGS {
        assert!(refusal(&connection, &with(*change)).is_some(), "{what}");
    }
    let extremes: [Change<Dependent>; 4] = [
        ("weights of 0", |d| d.distance.iter_mut().for_each(|column| column.weight = 0.0)),
        ("large weights of distant queries", |d| {
            d.distance.iter_mut().for_each(|column| column.weight = 1e6);
            d.features.fill(1e150);
        }),
        ("invalid positions", |d| d.features.fill(-1e150)),
        ("a mean that is huge", |d| {
            d.rule.encodings[0] = Encoding::Number { mean: 1.7e308, center: -1.7e308, factor: 1e-150 };
        }),
    ];
    for (what, change) in extremes {
        use_it(&connection, &with(change), what);
    }
}
