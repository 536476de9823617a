//! Each number of each model changed alone, with right checksums: the bytes are refused, or every function that reads a model
//! answers with an error or with finite numbers.
//!
//! By default some of the changes are tried, with `LTR_LONG=1` all of them.

use serde_json::{Value, json};
use sqlite_ltr::internals::data::query_distance::QueryDistance;
use sqlite_ltr::internals::data::{Categories, Fingerprint, Id, QueryFeatureRule, Scaling};
use sqlite_ltr::internals::learn::fit::FitSpec;
use sqlite_ltr::internals::learn::smoothing::Smoothing;
use sqlite_ltr::internals::learn::space::{AnySpace, Function, Space};
use sqlite_ltr::internals::model::{
    CandidateView, Ensemble, Factored, Implicit, Interactions, OnlineRules, OnlineState, QuerySum,
    encode_header,
};
use xxhash_rust::xxh3::xxh3_64;

use super::calls::Tally;
use super::change::whole_bytes;
use super::models::{connect, samples};
use super::walk::{Kind, Place, Walk, whole_of};
use crate::models::parts::{Card, Index, Opened, seal};

/// Changes that are tried without `LTR_LONG`, about.
const SHORT: usize = 1_000;

type Dependent = (
    (Smoothing, QueryDistance, FitSpec, Space, QueryFeatureRule, Vec<Id>),
    (Vec<f64>, Vec<f64>, Vec<f64>, Vec<(f64, f64)>, Vec<u32>, u8, bool),
);

/// The parts of a model: card, scaling and form; ranker; fingerprint; sections; blocks.
struct Pieces {
    header: [Vec<u8>; 3],
    sections: Vec<(String, Vec<u8>)>,
    blocks: Vec<Vec<u8>>,
}

impl Pieces {
    fn new(opened: &Opened) -> Self {
        let model = encode_header(&opened.parts).expect("bytes");
        let mut walk = Walk::new(&model);
        walk.value::<(Card, Scaling, String)>();
        let front = walk.at;
        let ranker = walk.bytes();
        walk.value::<Option<Fingerprint>>();
        let header = [&model[..front], &model[ranker.clone()], &model[ranker.end..walk.at]];
        Self {
            header: header.map(<[u8]>::to_vec),
            sections: opened.parts.sections.clone(),
            blocks: opened.blocks.clone(),
        }
    }

    fn seal(&self) -> Vec<u8> {
        let [front, ranker, fingerprint] = &self.header;
        let sections = encode_header(&self.sections).expect("bytes");
        let model = [&front[..], &whole_bytes(ranker.len() as u64), ranker, fingerprint, &sections].concat();
        let index = self.blocks.iter().map(|block| (block.len() as u64, xxh3_64(block))).collect();
        let header = encode_header(&Index { index, model }).expect("bytes");
        seal(&header, &self.blocks.concat())
    }

    fn piece(&mut self, number: usize) -> &mut Vec<u8> {
        let sections = self.sections.iter_mut().map(|(_, bytes)| bytes);
        self.header.iter_mut().chain(sections).chain(&mut self.blocks).nth(number).expect("a piece")
    }

    /// The numbers of each piece. `form`: the ranker's form.
    fn places(&self, form: &str) -> Vec<Vec<Place>> {
        let [front, ranker, fingerprint] = &self.header;
        let mut of_ranker = Walk::new(ranker);
        match form {
            "linear" => of_ranker.value::<(AnySpace, Function)>(),
            "online" => of_ranker.value::<(OnlineRules, OnlineState)>(),
            "query_dependent" => of_ranker.value::<Dependent>(),
            "query_dependent_prior" => of_ranker.value::<(Dependent, Interactions)>(),
            "interactions" => of_ranker.value::<Interactions>(),
            "query_trees" => of_ranker.value::<Ensemble>(),
            "query_sum" => of_ranker.value::<QuerySum>(),
            "factor" => of_ranker.value::<Factored>(),
            "implicit" => of_ranker.value::<(Implicit, Factored)>(),
            _ => panic!("an unknown form {form}"),
        }
        let (mut of_front, mut of_fingerprint) = (Walk::new(front), Walk::new(fingerprint));
        of_front.value::<(Card, Scaling, String)>();
        of_fingerprint.value::<Option<Fingerprint>>();
        let mut walks = vec![of_front, of_ranker, of_fingerprint];
        for (name, bytes) in &self.sections {
            let mut of_section = Walk::new(bytes);
            match &name[..] {
                "candidates" => of_section.value::<Option<CandidateView>>(),
                "categories" => of_section.value::<Categories>(),
                _ => panic!("an unknown section {name}"),
            }
            walks.push(of_section);
        }
        assert!(walks.iter().all(Walk::is_at_end), "numbers of the whole {form}");
        // Blocks have numbers of eight bytes here, the numbers of groups among them.
        let of_block = |block: &Vec<u8>| {
            let place = |at| Place { at, length: 8, kind: Kind::Double };
            (0..block.len()).step_by(8).map(place).collect()
        };
        walks.into_iter().map(|walk| walk.places).chain(self.blocks.iter().map(of_block)).collect()
    }
}

/// Where numbers are in a JSON value.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| pointers(value, &format!("{at}/{key}"), found));
        }
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(key, value)| pointers(value, &format!("{at}/{key}"), found));
        }
        Value::Number(_) => found.push(at.to_owned()),
        _ => {}
    }
}

/// Bytes to replace these.
fn changes(bytes: &[u8], kind: Kind) -> Vec<Vec<u8>> {
    let all: Vec<Vec<u8>> = match kind {
        Kind::Byte => [0, 1, 2, 3, 255].map(|byte| vec![byte]).to_vec(),
        Kind::Whole => {
            let number = whole_of(bytes);
            let near = [number.wrapping_add(1), number.wrapping_sub(1), 2 * (number >> 1) + 100];
            let all = near.into_iter().chain([0, 1 << 20, 1 << 31, (1 << 53) + 1, u64::MAX / 2, u64::MAX]);
            all.map(whole_bytes).collect()
        }
        Kind::Single => {
            let number = f32::from_le_bytes(bytes.try_into().expect("4 bytes"));
            let near = [-number, 2.0 * number, 0.5 * number, number + 1.0, number - 1.0];
            let all = near.into_iter().chain([0.0, f32::NAN, f32::INFINITY, f32::MAX, -f32::MAX, 1e-45]);
            all.map(|number| number.to_le_bytes().to_vec()).collect()
        }
        Kind::Double => {
            let number = f64::from_le_bytes(bytes.try_into().expect("8 bytes"));
            let near = [-number, 2.0 * number, 0.5 * number, number + 1.0, number - 1.0];
            let all = near.into_iter().chain([0.0, f64::NAN, f64::INFINITY, -f64::INFINITY]);
            let all = all.chain([f64::MAX, -f64::MAX, 1e150, -1e150, 1e-150, 5e-324]);
            all.map(|number| number.to_le_bytes().to_vec()).collect()
        }
        Kind::Json => {
            let text = Walk::new(bytes).bytes();
            let value: Value = serde_json::from_slice(&bytes[text]).expect("JSON");
            let mut found = Vec::new();
            pointers(&value, "", &mut found);
            let change = |(pointer, new): (&String, &Value)| {
                let mut value = value.clone();
                *value.pointer_mut(pointer).expect("a number") = new.clone();
                let text = value.to_string();
                [whole_bytes(text.len() as u64), text.into_bytes()].concat()
            };
            let new = [
                json!(0),
                json!(-1),
                json!(2),
                json!(1e-300),
                json!(1e154),
                json!(1e308),
                json!(u64::MAX),
                Value::Null,
            ];
            found.iter().flat_map(|pointer| new.iter().map(move |new| (pointer, new))).map(change).collect()
        }
    };
    all.into_iter().filter(|new| new != bytes).collect()
}

#[test]
fn each_number_is_checked() {
    let connection = connect();
    let mut tally = Tally::new(&connection);
    let models: Vec<(String, Pieces, Vec<Vec<Place>>)> = samples(&connection)
        .into_iter()
        .map(|sample| {
            let opened = Opened::new(&sample.bytes);
            let pieces = Pieces::new(&opened);
            assert!(pieces.seal() == sample.bytes, "{}: the parts are all of it", sample.name);
            let places = pieces.places(&opened.parts.form);
            (sample.name, pieces, places)
        })
        .collect();
    let numbers: usize = models.iter().flat_map(|(_, _, places)| places).map(Vec::len).sum();
    // About ten changes a number.
    let step = if crate::is_long() { 1 } else { (10 * numbers / SHORT).max(1) };
    let mut number = 0;
    for (name, mut pieces, places) in models {
        for (piece, places) in places.iter().enumerate() {
            for Place { at, length, kind } in places {
                let bytes = pieces.piece(piece).clone();
                for new in changes(&bytes[*at..at + length], *kind) {
                    number += 1;
                    if number % step == 0 {
                        let changed = [&bytes[..*at], &new, &bytes[at + length..]].concat();
                        *pieces.piece(piece) = changed;
                        tally.check(&pieces.seal(), &format!("{name}, part {piece}, byte {at}: {new:?}"));
                    }
                }
                *pieces.piece(piece) = bytes;
            }
        }
    }
    let shown = format!("{numbers} numbers, {number} changes: {tally}\n");
    assert!(numbers > 10_000 && tally.refused > 100 && tally.accepted > 100, "{shown}");
    if crate::is_long() {
        std::io::Write::write_all(&mut std::io::stderr(), shown.as_bytes()).expect("stderr");
    }
    tally.assert_clean();
}
