//! Models of trees that are sealed with wrong contents.

use serde::{Deserialize, Serialize};
use sqlite_ltr::internals::model::{decode_header, encode_header};

use super::parts::{Change, Opened};
use super::{connect, fit, refusal, use_it};

/// A function of one space, which maps rows to leaves.
#[derive(Serialize, Deserialize, Clone)]
struct Trees {
    kind_of_space: u32,
    width: u64,
    form: u32,
    map: u32,
    depth: u64,
    columns: Vec<Column>,
    splits: Vec<(u32, u8)>,
    weights: Vec<f64>,
    objective: f64,
    gap: f64,
}

#[derive(Serialize, Deserialize, Clone)]
struct Column {
    feature: u64,
    missing_above: bool,
    thresholds: Vec<f64>,
}

const WRONG: &[Change<Trees>] = &[
    ("the form of pairs", |t| t.form = 1),
    ("an unknown map", |t| t.map = 9),
    ("no depth", |t| t.depth = 0),
    ("a depth that is too large", |t| t.depth = 9),
    ("a depth beyond all numbers", |t| t.depth = u64::MAX),
    ("half a tree", |t| t.splits.truncate(5)),
    ("no tree", |t| {
        t.splits.clear();
        t.weights.clear();
    }),
    ("a value too many", |t| t.weights.push(0.0)),
    ("no values", |t| t.weights.clear()),
    ("a value that is NaN", |t| t.weights[0] = f64::NAN),
    ("a value that is too large", |t| t.weights[0] = 1e151),
    ("a split of no column", |t| t.splits[0].0 = u32::MAX),
    ("a split at no threshold", |t| t.splits[0].1 = 255),
    ("a column without thresholds", |t| t.columns[0].thresholds.clear()),
    ("a threshold that is NaN", |t| t.columns[0].thresholds[0] = f64::NAN),
    ("a threshold that is infinite", |t| t.columns[0].thresholds[0] = f64::INFINITY),
    ("thresholds in wrong order", |t| t.columns[0].thresholds.insert(0, 1e9)),
    ("too many thresholds", |t| t.columns[0].thresholds = (0..256).map(f64::from).collect()),
    ("a feature that does not exist", |t| t.columns.iter_mut().for_each(|column| column.feature += 2)),
    ("a column twice", |t| t.columns.insert(0, t.columns[0].clone())),
    ("no features", |t| t.width = 0),
    ("more features than the model", |t| t.width = 3),
];

#[test]
fn sealed_trees_with_wrong_contents_are_refused() {
    let connection = connect();
    let opened = Opened::new(&fit(&connection, ("boosted_trees", r#"{"trees": 3, "depth": 2}"#)));
    let sealed = |change: fn(&mut Trees)| {
        let mut other = opened.clone();
        let mut trees: Trees = decode_header(&other.parts.ranker).expect("trees");
        change(&mut trees);
        other.parts.ranker = encode_header(&trees).expect("bytes");
        other.seal()
    };
    for (what, change) in WRONG {
        assert!(refusal(&connection, &sealed(*change)).is_some(), "{what}");
    }
    let extremes: [Change<Trees>; 3] = [
        ("nothing", |_| {}),
        ("huge thresholds", |t| {
            t.columns.iter_mut().for_each(|column| column.thresholds = vec![f64::MIN, f64::MAX]);
        }),
        ("huge values", |t| t.weights.iter_mut().for_each(|weight| *weight = 1e150)),
    ];
    for (what, change) in extremes {
        use_it(&connection, &sealed(change), what);
    }
}
