//! Trees of any shape from the nodes of an untrusted file, and thresholds for numbers that are rounded to 32 bits first.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::forest::{Column, GeneralForest, Kind, LIGHTGBM_ZERO, MAX_IMPORTED_DEPTH, Root, Step};
use super::oblivious;
use crate::base::{Error, Result, Ticks, checkpoint};

/// Nanoseconds or so that a node takes, for [`Ticks`].
const NODE_COST: usize = 32;

/// A node of a tree in a file.
#[derive(Debug, Clone)]
pub enum RawNode {
    /// The end of a path: its value and its training weight (NaN if unknown).
    Leaf {
        /// Contribution to the score.
        value: f64,
        /// Training weight that reached it; NaN if unknown.
        cover: f64,
    },
    Split(RawSplit),
}

/// A split of a tree in a file.
#[derive(Debug, Clone)]
pub struct RawSplit {
    /// Number of the feature, from 0.
    pub feature: usize,
    /// Which values go left.
    pub test: Test,
    /// Whether documents without the feature go left.
    pub missing_left: bool,
    /// Whether a value of 0 counts as missing.
    pub zero_is_missing: bool,
    /// Number of the left child in the list of nodes.
    pub left: usize,
    /// Number of the right child.
    pub right: usize,
    /// Gain of the split in training; NaN if unknown.
    pub gain: f64,
    /// Training weight that reached it; NaN if unknown.
    pub cover: f64,
}

impl RawSplit {
    /// A split without further facts, with children that are set later.
    pub fn new(feature: usize, test: Test, missing_left: bool) -> Self {
        let unknown = f64::NAN;
        Self {
            feature,
            test,
            missing_left,
            zero_is_missing: false,
            left: 0,
            right: 0,
            gain: unknown,
            cover: unknown,
        }
    }
}

/// A node of a text whose nodes contain their children.
pub enum Nested<N> {
    /// Value and training weight of a leaf.
    Leaf(f64, f64),
    /// A split, its left child and its right one.
    Split(RawSplit, N, N),
}

/// Which values go left.
#[derive(Debug, Clone, Copy)]
pub enum Test {
    /// Numbers that are at most this.
    AtMost(f64),
    /// The categories in the set with this number ([`Sets::add`]).
    In(usize),
}

/// Sets of categories, which splits share.
#[derive(Default)]
pub struct Sets {
    sets: Vec<Arc<[u32]>>,
    numbers: HashMap<Arc<[u32]>, usize>,
}

impl Sets {
    /// The number of this set of codes; equal sets have the same number.
    pub fn add(&mut self, mut codes: Vec<u32>) -> usize {
        codes.sort_unstable();
        codes.dedup();
        let (codes, sets) = (Arc::from(codes), &mut self.sets);
        *self.numbers.entry(codes).or_insert_with_key(|codes| {
            sets.push(Arc::clone(codes));
            sets.len() - 1
        })
    }
}

/// Collects trees and checks them.
pub struct Builder {
    /// The sets that splits ask for.
    pub sets: Sets,
    forest: GeneralForest,
    columns: HashMap<Column, u32>,
}

impl Builder {
    /// No trees yet, for documents with `width` features ([`usize::MAX`] if it is known at the end). `start` is the score before the first tree. `single`: scores are
    /// summed in 32-bit floats.
    pub fn new(width: usize, start: f64, single: bool) -> Self {
        let forest = GeneralForest { width, start, single, ..GeneralForest::default() };
        Self { sets: Sets::default(), forest, columns: HashMap::new() }
    }

    /// The same with stored sets, which keep their numbers.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a set whose codes do not ascend.
    pub(super) fn with_sets(mut self, sets: Vec<Vec<u32>>) -> Result<Self> {
        for set in sets {
            if !set.is_sorted_by(|a, b| a < b) {
                return Err(Error::Corrupt("trees: a set of categories does not ascend".to_owned()));
            }
            self.sets.sets.push(set.into());
        }
        Ok(self)
    }

    /// Number of trees so far.
    pub fn trees(&self) -> usize {
        self.forest.trees()
    }

    /// Adds a tree; the first node is the root. Unreachable nodes are dropped.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for nodes that are not a tree, with the location.
    pub fn add(&mut self, nodes: &[RawNode]) -> Result<()> {
        checkpoint();
        let wrong = |node: usize, problem: String| corrupt(self.forest.roots.len(), node, &problem);
        // 1. The order of the nodes: level by level, children side by side. A node that is reached again would make a cycle
        //    or a tree of unbounded size.
        let mut order: Vec<(usize, usize)> = Vec::with_capacity(nodes.len());
        let mut is_reached = vec![false; nodes.len()];
        let (mut next, mut ticks) = (0, Ticks::default());
        order.push((0, 0));
        while let Some(&(number, depth)) = order.get(next) {
            next += 1;
            let Some(node) = nodes.get(number) else {
                return Err(wrong(number, format!("does not exist (the tree has {} nodes)", nodes.len())));
            };
            if std::mem::replace(&mut is_reached[number], true) {
                return Err(wrong(number, "two paths lead to it".to_owned()));
            }
            if depth > MAX_IMPORTED_DEPTH {
                return Err(wrong(number, format!("is deeper than {MAX_IMPORTED_DEPTH} levels")));
            }
            check(node, self.forest.width, self.sets.sets.len()).map_err(|problem| wrong(number, problem))?;
            ticks.add(NODE_COST);
            if let RawNode::Split(split) = node {
                order.extend([(split.left, depth + 1), (split.right, depth + 1)]);
            }
        }
        // 2. The nodes in that order.
        let root = self.forest.steps.len();
        if root + 2 * order.len() >= u32::MAX as usize {
            return Err(Error::Unsupported("a model of more than 2^31 nodes".to_owned()));
        }
        let has_sets = order
            .iter()
            .any(|(number, _)| matches!(&nodes[*number], RawNode::Split(RawSplit { test: Test::In(_), .. })));
        let depth = order.last().map_or(0, |(_, depth)| *depth) as u32;
        let mut child = root as u32 + 1;
        for (place, (number, _)) in order.into_iter().enumerate() {
            ticks.add(NODE_COST);
            match &nodes[number] {
                RawNode::Leaf { value, cover } => self.push_leaf((root + place) as u32, *value, *cover),
                RawNode::Split(split) => {
                    self.push_split(split, child);
                    child += 2;
                }
            }
        }
        // 3. Training weights that the file has for leaves only. A tree without splits needs no weights.
        let forest = &mut self.forest;
        if depth == 0 {
            forest.covers[root] = 1.0;
        }
        for node in (root..forest.steps.len()).rev() {
            let left = forest.steps[node].left as usize;
            if left != node && forest.covers[node].is_nan() {
                forest.covers[node] = forest.covers[left] + forest.covers[left + 1];
            }
        }
        forest.roots.push(Root { node: root as u32, depth, has_sets });
        Ok(())
    }

    /// Adds a tree whose nodes contain their children. `read` gives a node, and adds the sets that it asks for.
    ///
    /// # Errors
    /// Errors of `read`, and of [`Self::add`].
    pub fn add_nested<N>(
        &mut self,
        root: N,
        mut read: impl FnMut(N, &mut Sets) -> Result<Nested<N>, String>,
    ) -> Result<()> {
        // Level by level, so that texts of any depth need no stack. The children follow all nodes that wait.
        let (mut nodes, mut waiting) = (Vec::new(), VecDeque::from([root]));
        let mut ticks = Ticks::default();
        while let Some(node) = waiting.pop_front() {
            ticks.add(NODE_COST);
            let wrong = |problem: String| corrupt(self.forest.roots.len(), nodes.len(), &problem);
            match read(node, &mut self.sets).map_err(wrong)? {
                Nested::Leaf(value, cover) => nodes.push(RawNode::Leaf { value, cover }),
                Nested::Split(split, left, right) => {
                    let next = nodes.len() + waiting.len() + 1;
                    nodes.push(RawNode::Split(RawSplit { left: next, right: next + 1, ..split }));
                    waiting.extend([left, right]);
                }
            }
        }
        self.add(&nodes)
    }

    /// Memory for this many further nodes, so that the vectors don't grow by copies.
    pub fn reserve(&mut self, nodes: usize) {
        let forest = &mut self.forest;
        forest.steps.reserve_exact(nodes);
        for numbers in [&mut forest.values, &mut forest.covers, &mut forest.gains] {
            numbers.reserve_exact(nodes);
        }
    }

    fn push_leaf(&mut self, place: u32, value: f64, cover: f64) {
        let forest = &mut self.forest;
        forest.steps.push(Step { threshold: f64::INFINITY, column: 0, left: place });
        forest.values.push(value);
        forest.covers.push(cover);
        forest.gains.push(0.0);
    }

    fn push_split(&mut self, split: &RawSplit, left: u32) {
        let (kind, threshold) = match &split.test {
            Test::In(number) => (Kind::Category, *number as f64),
            Test::AtMost(threshold) => {
                // Zeros that go the way of missing values in any case are read as numbers.
                let zero = LIGHTGBM_ZERO;
                let same = if split.missing_left { *threshold >= zero } else { *threshold < -zero };
                let kind = if split.zero_is_missing && !same { Kind::NumberOrZero } else { Kind::Number };
                (kind, *threshold)
            }
        };
        let column = Column { feature: split.feature as u32, missing_left: split.missing_left, kind };
        let forest = &mut self.forest;
        let number = *self.columns.entry(column).or_insert_with(|| {
            forest.columns.push(column);
            forest.columns.len() as u32 - 1
        });
        forest.steps.push(Step { threshold, column: number, left });
        forest.values.push(0.0);
        forest.covers.push(split.cover);
        forest.gains.push(split.gain);
    }

    /// The trees, for documents with `width` features.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if there are none, or scores could overflow.
    pub fn finish(self, width: usize) -> Result<GeneralForest> {
        let sets = &self.sets.sets;
        let ends = sets.iter().scan(0, |end, set| {
            *end += set.len();
            Some(*end)
        });
        let set_starts = std::iter::once(0).chain(ends).collect();
        let members = sets.iter().flat_map(|set| set.iter().copied()).collect();
        let forest = GeneralForest { width, members, set_starts, ..self.forest };
        let most = forest.start.abs() + forest.magnitude();
        let limit = if forest.single { f64::from(f32::MAX) } else { f64::MAX };
        // Half of it leaves room for rounding.
        if most.is_nan() || most > limit / 2.0 {
            return Err(Error::Corrupt(format!("the values of the leaves add up to {most:e}")));
        }
        if forest.roots.is_empty() {
            return Err(Error::Corrupt("the model has no tree".to_owned()));
        }
        let oblivious = oblivious::of(&forest).map(Arc::new);
        Ok(GeneralForest { oblivious, ..forest })
    }
}

/// The problem with a single node.
fn check(node: &RawNode, width: usize, sets: usize) -> Result<(), String> {
    let is_weight = |cover: f64| cover.is_nan() || (cover >= 0.0 && cover.is_finite());
    match node {
        RawNode::Leaf { value, .. } if !value.is_finite() => Err(format!("has the value {value}")),
        RawNode::Leaf { cover, .. } | RawNode::Split(RawSplit { cover, .. }) if !is_weight(*cover) => {
            Err(format!("has the training weight {cover}"))
        }
        RawNode::Leaf { .. } => Ok(()),
        RawNode::Split(split) => {
            if split.feature >= width {
                return Err(format!("splits feature {}, but there are {width}", split.feature));
            }
            match split.test {
                Test::AtMost(threshold) if !threshold.is_finite() => {
                    Err(format!("has the threshold {threshold}"))
                }
                Test::In(number) if number >= sets => Err(format!("has the set {number} of {sets}")),
                _ if split.gain.is_infinite() => Err(format!("has the gain {}", split.gain)),
                _ => Ok(()),
            }
        }
    }
}

/// The error of a node.
pub(crate) fn corrupt(tree: usize, node: usize, problem: &str) -> Error {
    Error::Corrupt(format!("tree {tree}, node {node}: {problem}"))
}

// Thresholds between 64-bit numbers that are rounded to 32 bits before they are compared.

/// The largest x for which `x as f32 <= threshold`. The threshold is not NaN and not positive infinity.
pub fn at_most_single(threshold: f32) -> f64 {
    // Beyond the largest 32-bit number, numbers are rounded as if the next power of two were representable.
    let beyond = 2.0 * f64::from(f32::MAX / 2.0 + f32::MAX / 2.0_f32.powi(25));
    let wide = |x: f32| if x.is_finite() { f64::from(x) } else { beyond.copysign(f64::from(x)) };
    let middle = f64::midpoint(wide(threshold), wide(threshold.next_up()));
    if (middle as f32) <= threshold { middle } else { middle.next_down() }
}

/// The largest x for which `(x as f32) < threshold`. The threshold is not NaN and not negative infinity.
pub fn below_single(threshold: f32) -> f64 {
    at_most_single(threshold.next_down())
}

/// The largest 32-bit number that is at most x.
pub fn single_at_most(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) <= x { near } else { near.next_down() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_is_the_last_number_that_is_rounded_down() {
        let some = [1.0, 1.5, -1.0, 3.3, 1e-30, f32::MIN_POSITIVE, 1e-45, 0.0, -0.0, -1e-45, 1e38, f32::MAX];
        for threshold in some.into_iter().flat_map(|x: f32| [x, -x]).chain([f32::NEG_INFINITY]) {
            let last = at_most_single(threshold);
            assert!(last as f32 <= threshold && last.next_up() as f32 > threshold, "{threshold}: {last}");
            assert!(single_at_most(last) >= threshold || threshold == 0.0);
        }
        for threshold in some {
            let last = below_single(threshold);
            assert!((last as f32) < threshold && last.next_up() as f32 >= threshold, "{threshold}: {last}");
        }
    }
}
