//! Reading golden vectors (`tests/rust/golden`) and comparing with them.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use sqlite_ltr::internals::cost::loss::{ListLoss, Loss, find};

/// The text of a file of `tests/rust/golden/qsvm`.
pub fn read(name: &str) -> String {
    read_from("qsvm", name)
}

/// The content of a file of `tests/rust/golden/listwise`.
pub fn read_listwise(name: &str) -> Value {
    serde_json::from_str(&read_from("listwise", name)).unwrap()
}

fn read_from(folder: &str, name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rust/golden").join(folder).join(name);
    std::fs::read_to_string(path).unwrap()
}

/// An array of numbers.
pub fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// An array of arrays of numbers.
pub fn rows(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(numbers).collect()
}

/// Equal numbers, but for `tolerance`.
pub fn assert_close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (x, y) in found.iter().zip(expected) {
        assert!((x - y).abs() <= tolerance, "{what}: found {x}, expected {y}");
    }
}

/// A listwise loss with the parameters among these options.
pub fn list_loss(name: &str, options: &Value) -> ListLoss {
    match find(name).unwrap().make(&options.as_object().unwrap().clone().into()).unwrap() {
        Loss::List(loss) => loss,
        Loss::Pair(..) => panic!("{name} is a loss of pairs"),
    }
}

/// Training rows by query, and the first five rows of each query whatever their split.
pub type Documents = BTreeMap<u64, (Vec<Vec<f64>>, Vec<f64>, Vec<Vec<f64>>)>;

/// The documents of an example of `qsvm`.
pub fn documents(name: &str) -> Documents {
    let mut documents = Documents::new();
    for line in read(name).lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let x: Vec<f64> = cells[4..].iter().map(|cell| cell.parse().unwrap()).collect();
        let (training, labels, first) = documents.entry(cells[0].parse().unwrap()).or_default();
        if first.len() < 5 {
            first.push(x.clone());
        }
        if cells[1] == "train" {
            training.push(x);
            labels.push(cells[3].parse().unwrap());
        }
    }
    documents
}
