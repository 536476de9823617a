//! The structure of trees of any shape, and the values that splits compare.

use std::ops::Range;
use std::sync::Arc;

use crate::trees::Forest;

/// Longest path from the root of a tree to a leaf.
pub const MAX_IMPORTED_DEPTH: usize = 512;

/// A node as it is traversed, 16 bytes. The right child follows the left one. A leaf points to itself as left child, and no value
/// is above its threshold, so a document that has arrived stays.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// The largest value that goes left. For a split of categories: the number of the set.
    pub threshold: f64,
    /// Number of the column.
    pub column: u32,
    /// Number of the left child.
    pub left: u32,
}

/// Offsets and kind of a tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Root {
    pub node: u32,
    /// Splits on the longest path.
    pub depth: u32,
    /// Whether a split has a set of categories.
    pub has_sets: bool,
}

/// Oblivious trees with the values of their leaves.
pub type Oblivious = (Forest, Vec<f64>);

/// Trees of any shape: see the [module](super). Made and checked by [`Builder`](super::Builder).
#[derive(Debug, Clone, Default)]
pub struct GeneralForest {
    /// Number of features of a document.
    pub(super) width: usize,
    pub(super) columns: Vec<Column>,
    /// The nodes, level by level, tree by tree.
    pub(super) steps: Vec<Step>,
    /// Values of the leaves, by node; 0 for splits.
    pub(super) values: Vec<f64>,
    /// Training weight that reached a node; NaN if the source has no weights.
    pub(super) covers: Vec<f64>,
    /// Gain of a split; NaN if the source has none, 0 for leaves.
    pub(super) gains: Vec<f64>,
    /// The sets of categories, each in ascending order.
    pub(super) members: Vec<u32>,
    /// Where each set begins, and where the last one ends.
    pub(super) set_starts: Vec<usize>,
    pub(super) roots: Vec<Root>,
    /// The score before the first tree.
    pub(super) start: f64,
    /// Whether scores are summed in 32-bit floats, in the order of the trees.
    pub(super) single: bool,
    /// The trees again, if all are oblivious.
    pub(super) oblivious: Option<Arc<Oblivious>>,
}

/// A node, to look at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Node<'a> {
    /// The end of a path.
    Leaf(Leaf),
    Split(Split<'a>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Leaf {
    /// Contribution to the score.
    pub value: f64,
    /// Training weight; NaN if unknown.
    pub cover: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split<'a> {
    /// Number of the feature, from 0.
    pub feature: usize,
    /// The largest value that goes left; unused if there is a set.
    pub threshold: f64,
    /// Codes of the categories that go left, ascending; for categorical splits.
    pub set: Option<&'a [u32]>,
    /// Whether documents without the feature go left.
    pub missing_left: bool,
    /// Whether a value of 0 counts as missing, and this matters.
    pub zero_is_missing: bool,
    /// Number of the left child. The right one follows it.
    pub left: usize,
    /// Gain of the split in training; NaN if unknown.
    pub gain: f64,
    /// Training weight; NaN if unknown.
    pub cover: f64,
}

impl Split<'_> {
    /// The children, left and right, or the other way round.
    pub fn children(&self, is_swapped: bool) -> (usize, usize) {
        if is_swapped { (self.left + 1, self.left) } else { (self.left, self.left + 1) }
    }
}

impl GeneralForest {
    /// Number of features of a document.
    pub fn width(&self) -> usize {
        self.width
    }

    pub fn trees(&self) -> usize {
        self.roots.len()
    }

    /// Number of nodes of all trees.
    pub fn nodes(&self) -> usize {
        self.steps.len()
    }

    /// Number of categories of all sets.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// The score before the first tree.
    pub fn start(&self) -> f64 {
        self.start
    }

    /// Indices of a tree's nodes, level by level; the first is the root.
    pub fn nodes_of(&self, tree: usize) -> Range<usize> {
        let end = self.roots.get(tree + 1).map_or(self.steps.len(), |root| root.node as usize);
        self.roots[tree].node as usize..end
    }

    /// Splits on the longest path of a tree.
    pub fn depth(&self, tree: usize) -> usize {
        self.roots[tree].depth as usize
    }

    pub fn node(&self, node: usize) -> Node<'_> {
        let (step, cover) = (self.steps[node], self.covers[node]);
        if self.is_leaf(node) {
            return Node::Leaf(Leaf { value: self.values[node], cover });
        }
        let column = self.columns[step.column as usize];
        Node::Split(Split {
            feature: column.feature as usize,
            threshold: step.threshold,
            set: (column.kind == Kind::Category).then(|| self.set(&step)),
            missing_left: column.missing_left,
            zero_is_missing: column.kind == Kind::NumberOrZero,
            left: step.left as usize,
            gain: self.gains[node],
            cover,
        })
    }

    /// Sum over trees of the largest absolute leaf value: the scale of rounding errors.
    pub fn magnitude(&self) -> f64 {
        let trees = (0..self.trees()).map(|tree| &self.values[self.nodes_of(tree)]);
        trees.map(|values| values.iter().fold(0.0, |most: f64, value| most.max(value.abs()))).sum()
    }

    pub(super) fn is_leaf(&self, node: usize) -> bool {
        self.steps[node].left as usize == node
    }

    /// The set of a categorical split.
    pub(super) fn set(&self, step: &Step) -> &[u32] {
        let set = step.threshold as usize;
        &self.members[self.set_starts[set]..self.set_starts[set + 1]]
    }

    /// The child of a split, or the leaf itself, for the value of its column.
    pub(super) fn next(&self, step: &Step, value: f64) -> usize {
        let is_left =
            if self.columns[step.column as usize].kind == Kind::Category && step.threshold.is_finite() {
                value == LEFT || (value.is_finite() && self.set(step).binary_search(&(value as u32)).is_ok())
            } else {
                value <= step.threshold
            };
        step.left as usize + usize::from(!is_left)
    }
}

// The values that splits compare: feature values, with missing ones replaced.

/// How a split reads a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Number,
    /// A number; those around 0 are missing.
    NumberOrZero,
    /// The code of a category.
    Category,
}

/// A feature and how splits read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Column {
    /// Number of the feature, from 0.
    pub feature: u32,
    /// Whether documents without the feature go left.
    pub missing_left: bool,
    /// How the values are read.
    pub kind: Kind,
}

/// LightGBM's kZeroThreshold: a number that is not farther from 0 than this counts as 0.
pub const LIGHTGBM_ZERO: f64 = 1e-35_f32 as f64;

/// Replacement for a missing value that goes left: at most every threshold.
pub const LEFT: f64 = f64::NEG_INFINITY;

/// Replacement for a missing value that goes right: above every threshold, and in no set.
pub const RIGHT: f64 = f64::INFINITY;

impl Column {
    /// The value that a split compares; NaN means missing. The result is never NaN.
    pub fn read(self, value: f64) -> f64 {
        let missing = value.is_nan() || (self.kind == Kind::NumberOrZero && value.abs() <= LIGHTGBM_ZERO);
        if missing {
            return if self.missing_left { LEFT } else { RIGHT };
        }
        match self.kind {
            Kind::Number | Kind::NumberOrZero => value,
            // A code is a whole number, the rest is cut off; other numbers are in no set.
            Kind::Category if value > -1.0 && value < f64::from(u32::MAX) => value.trunc().abs(),
            Kind::Category => RIGHT,
        }
    }
}
