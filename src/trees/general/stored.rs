//! Trees of any shape in the bytes and texts of models.
//!
//! The nodes of a tree are stored level by level. The first split has the children 1 and 2, the next split 3 and
//! 4, and so on: node numbers are not stored, so they cannot be wrong.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::build::{Builder, RawNode, RawSplit, Test};
use super::forest::{GeneralForest, Node};
use crate::base::param::list;
use crate::base::{Error, Result};

#[derive(Serialize, Deserialize)]
#[serde(rename = "trees", deny_unknown_fields)]
struct Stored {
    /// Number of features of a document.
    width: usize,
    /// The score before the first tree.
    start: f64,
    /// Whether scores are summed in 32-bit floats.
    single: bool,
    /// The sets of categories.
    #[serde(with = "list")]
    sets: Vec<Vec<u32>>,
    #[serde(with = "list")]
    trees: Vec<Vec<StoredNode>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum StoredNode {
    /// Value and training weight.
    Leaf(f64, Option<f64>),
    Split {
        feature: u32,
        test: StoredTest,
        missing_left: bool,
        zero_is_missing: bool,
        gain: Option<f64>,
        cover: Option<f64>,
    },
}

/// Which values go left.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredTest {
    AtMost(f64),
    /// Number of a set.
    In(u32),
}

impl Serialize for GeneralForest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Stored::from(self).serialize(to)
    }
}

impl<'de> Deserialize<'de> for GeneralForest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::try_from(Stored::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

impl From<&GeneralForest> for Stored {
    fn from(forest: &GeneralForest) -> Self {
        let known = |number: f64| Some(number).filter(|number| !number.is_nan());
        let node = |number: usize| match forest.node(number) {
            Node::Leaf(leaf) => StoredNode::Leaf(leaf.value, known(leaf.cover)),
            Node::Split(split) => StoredNode::Split {
                feature: split.feature as u32,
                // The threshold of a set is its number.
                test: match split.set {
                    Some(_) => StoredTest::In(forest.steps[number].threshold as u32),
                    None => StoredTest::AtMost(split.threshold),
                },
                missing_left: split.missing_left,
                zero_is_missing: split.zero_is_missing,
                gain: known(split.gain),
                cover: known(split.cover),
            },
        };
        let sets = forest.set_starts.windows(2).map(|ends| forest.members[ends[0]..ends[1]].to_vec());
        Self {
            width: forest.width,
            start: forest.start,
            single: forest.single,
            sets: sets.collect(),
            trees: (0..forest.trees()).map(|tree| forest.nodes_of(tree).map(node).collect()).collect(),
        }
    }
}

impl TryFrom<Stored> for GeneralForest {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self> {
        let mut builder = Builder::new(stored.width, stored.start, stored.single).with_sets(stored.sets)?;
        builder.reserve(stored.trees.iter().map(Vec::len).sum());
        for (number, tree) in stored.trees.into_iter().enumerate() {
            let (count, mut next) = (tree.len(), 1);
            let nodes: Vec<RawNode> = tree.into_iter().map(|node| node.raw(&mut next)).collect();
            if next != count {
                let problem = format!("tree {number}: {count} nodes, but its splits need {next}");
                return Err(Error::Corrupt(problem));
            }
            builder.add(&nodes)?;
        }
        builder.finish(stored.width)
    }
}

impl StoredNode {
    /// The node. `next`: the number of the next child.
    fn raw(self, next: &mut usize) -> RawNode {
        let number = |known: Option<f64>| known.unwrap_or(f64::NAN);
        match self {
            Self::Leaf(value, cover) => RawNode::Leaf { value, cover: number(cover) },
            Self::Split { feature, test, missing_left, zero_is_missing, gain, cover } => {
                let left = *next;
                *next += 2;
                let test = match test {
                    StoredTest::AtMost(threshold) => Test::AtMost(threshold),
                    StoredTest::In(set) => Test::In(set as usize),
                };
                RawNode::Split(RawSplit {
                    feature: feature as usize,
                    test,
                    missing_left,
                    zero_is_missing,
                    left,
                    right: left + 1,
                    gain: number(gain),
                    cover: number(cover),
                })
            }
        }
    }
}
