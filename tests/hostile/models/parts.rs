//! What is inside a model BLOB, as `src/model` writes it: to take models apart and seal them again.

use serde::{Deserialize, Serialize};
use sqlite_ltr::internals::data::query_distance::ColumnDistance;
use sqlite_ltr::internals::data::{Fingerprint, Id, Missing, QueryFeatureKind, Scaling};
use sqlite_ltr::internals::learn::fit::Penalty;
use sqlite_ltr::internals::learn::smoothing::Smoothing;
use sqlite_ltr::internals::model::{OnlineRules, OnlineState, TrainingColumns, decode_header, encode_header};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// The format version of models.
const VERSION: u16 = 8;

#[derive(Serialize, Deserialize)]
pub struct Index {
    pub index: Vec<(u64, u64)>,
    pub model: Vec<u8>,
}

#[derive(Serialize, Deserialize, Clone)]
pub struct Card {
    pub algorithm: String,
    pub features: Vec<String>,
    pub columns: TrainingColumns,
    pub missing: Missing,
    pub means: Vec<f64>,
    pub slots: bool,
    pub settings: String,
    pub summary: String,
    pub log: Vec<(f64, f64)>,
}

#[derive(Serialize, Deserialize, Clone)]
pub struct Parts {
    pub card: Card,
    pub scaling: Scaling,
    pub form: String,
    pub ranker: Vec<u8>,
    pub fingerprint: Option<Fingerprint>,
    /// Sections: names and bytes.
    pub sections: Vec<(String, Vec<u8>)>,
}

/// A linear space: numbers of its form and of the kind of its map are 0.
#[derive(Serialize, Deserialize, Clone)]
pub struct Space {
    pub width: u64,
    pub form: u32,
    pub map: u32,
}

#[derive(Serialize, Deserialize, Clone)]
pub struct Linear {
    /// 0: one space.
    pub kind_of_space: u32,
    pub space: Space,
    pub weights: Vec<f64>,
    pub objective: f64,
    pub gap: f64,
}

/// One of the members of a sum, with a linear space.
#[derive(Serialize, Deserialize, Clone)]
pub struct Member {
    pub scaling: Scaling,
    pub space: Space,
}

/// A sum of linear functions.
#[derive(Serialize, Deserialize, Clone)]
pub struct Sum {
    /// 1: a sum of spaces.
    pub kind_of_space: u32,
    pub width: u64,
    pub members: Vec<Member>,
    pub weights: Vec<f64>,
    pub objective: f64,
    pub gap: f64,
}

#[derive(Serialize, Deserialize, Clone)]
pub struct Online {
    pub rules: OnlineRules,
    pub progress: OnlineState,
}

/// How a query feature becomes numbers.
#[derive(Serialize, Deserialize, Clone)]
pub enum Encoding {
    Number { mean: f64, center: f64, factor: f64 },
    Category(Vec<Id>),
    Order(Vec<Id>),
}

#[derive(Serialize, Deserialize, Clone)]
pub struct Rule {
    pub kind: QueryFeatureKind,
    pub names: Vec<String>,
    pub columns: Vec<usize>,
    pub encodings: Vec<Encoding>,
}

/// A loss: its name, and its parameters as JSON.
#[derive(Serialize, Deserialize, Clone)]
pub struct StoredLoss {
    pub name: String,
    pub parameters: String,
}

#[derive(Serialize, Deserialize, Clone)]
pub struct Fitting {
    pub lambda: f64,
    pub tolerance: f64,
    pub loss: StoredLoss,
    pub penalty: Penalty,
    pub solver: String,
    pub center: Option<Vec<f64>>,
    pub start: Option<Vec<f64>>,
}

#[derive(Serialize, Deserialize, Clone)]
pub struct Dependent {
    pub smoothing: Smoothing,
    pub distance: Vec<ColumnDistance>,
    pub fitting: Fitting,
    pub space: Space,
    pub rule: Rule,
    pub ids: Vec<Id>,
    pub weights: Vec<f64>,
    pub features: Vec<f64>,
    pub functions: Vec<f64>,
    pub objectives: Vec<(f64, f64)>,
    pub documents: Vec<u32>,
    pub element_bytes: u8,
    pub has_doc_weights: bool,
}

/// What is changed, and how.
pub type Change<T> = (&'static str, fn(&mut T));

/// A blob with right checksums around these bytes.
pub fn seal(header: &[u8], blocks: &[u8]) -> Vec<u8> {
    let mut bytes = b"ltrmodel".to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend([0; 6]);
    bytes.extend(((48 + header.len() + blocks.len()) as u64).to_le_bytes());
    bytes.extend((header.len() as u64).to_le_bytes());
    let mut hasher = Xxh3::new();
    hasher.update(&bytes);
    hasher.update(header);
    bytes.extend(hasher.digest128().to_le_bytes());
    [&bytes, header, blocks].concat()
}

/// A model taken apart.
#[derive(Clone)]
pub struct Opened {
    pub parts: Parts,
    pub blocks: Vec<Vec<u8>>,
}

impl Opened {
    pub fn new(blob: &[u8]) -> Self {
        let length = u64::from_le_bytes(blob[24..32].try_into().expect("eight bytes")) as usize;
        let (header, mut rest) = blob[48..].split_at(length);
        let Index { index, model } = decode_header(header).expect("an index");
        let blocks = index.iter().map(|(length, _)| {
            let (block, after) = rest.split_at(*length as usize);
            rest = after;
            block.to_vec()
        });
        let blocks = blocks.collect();
        Self { blocks, parts: decode_header(&model).expect("the parts") }
    }

    pub fn seal(&self) -> Vec<u8> {
        let model = encode_header(&self.parts).expect("bytes");
        let index = self.blocks.iter().map(|block| (block.len() as u64, xxh3_64(block))).collect();
        seal(&encode_header(&Index { index, model }).expect("bytes"), &self.blocks.concat())
    }

    pub fn linear(&self) -> Linear {
        decode_header(&self.parts.ranker).expect("a linear ranker")
    }

    pub fn sum(&self) -> Sum {
        decode_header(&self.parts.ranker).expect("a sum of linear rankers")
    }

    pub fn online(&self) -> Online {
        decode_header(&self.parts.ranker).expect("an online ranker")
    }

    pub fn dependent(&self) -> Dependent {
        decode_header(&self.parts.ranker).expect("a query-dependent ranker")
    }
}
