//! Scores of many documents.
//!
//! Documents are scored in blocks. For each tree, [`LANES`] documents advance in parallel: each step is a comparison and an
//! addition without a branch, so the processor works on all of them at once. A document that has arrived at a leaf stays.
//! Walking one document after the other, with a branch at each split, takes 2 to 4 times as long (see the bench).

use super::forest::{GeneralForest, Oblivious, Root, Step};
use crate::base::{Control, checkpoint};
use crate::math::Element;
use crate::trees::Keyed;

/// Documents per block. The values stay in the first two caches while all trees pass.
const BLOCK: usize = 64;

/// Documents that advance in parallel.
const LANES: usize = 8;

/// Steps between two checks whether all have arrived.
const STRIDE: usize = 4;

/// A 32-bit sum with one more value. RankLib's values have more digits; other libraries' values are 32-bit floats, whose sum
/// is the same.
pub(super) fn add(sum: f32, value: f64) -> f32 {
    (f64::from(sum) + value) as f32
}

impl GeneralForest {
    /// Scores of documents, one after the other in `rows` with `width` values each (at least [`Self::width`]; NaN is a
    /// missing one). A score does not depend on the other documents.
    ///
    /// # Panics
    /// If `rows` is not `scores.len()` rows of `width` values.
    pub fn score_rows<T: Keyed + Default>(&self, rows: &[T], width: usize, scores: &mut [f64]) {
        assert!(width >= self.width && rows.len() == width * scores.len(), "rows of the forest's width");
        let fast =
            |(forest, values): &Oblivious| forest.scores_of(rows, width, values, &Control::default()).ok();
        if let Some(fast_scores) = self.oblivious.as_deref().and_then(fast) {
            scores.copy_from_slice(&fast_scores);
            return;
        }
        let stride = self.columns.len().max(1);
        let mut values = vec![0.0; BLOCK * stride];
        for (rows, scores) in rows.chunks(BLOCK * width.max(1)).zip(scores.chunks_mut(BLOCK)) {
            checkpoint();
            // 1. What the splits compare. Lanes without a document have zeros.
            for (row, values) in rows.chunks_exact(width.max(1)).zip(values.chunks_exact_mut(stride)) {
                self.read_row(row, values);
            }
            // 2. The sums.
            let used = &values[..scores.len().next_multiple_of(LANES) * stride];
            if self.single {
                let mut sums = [self.start as f32; BLOCK];
                self.add_trees(used, stride, |document, value| sums[document] = add(sums[document], value));
                scores.iter_mut().zip(sums).for_each(|(score, sum)| *score = f64::from(sum));
            } else {
                let mut sums = [self.start; BLOCK];
                self.add_trees(used, stride, |document, value| sums[document] += value);
                scores.iter_mut().zip(sums).for_each(|(score, sum)| *score = sum);
            }
        }
    }

    /// The score of a document, equal to its score in [`Self::score_rows`].
    ///
    /// # Panics
    /// If the row has fewer values than [`Self::width`].
    pub fn score_row<T: Element>(&self, row: &[T]) -> f64 {
        if let Some((forest, values)) = self.oblivious.as_deref() {
            return forest.score_of(row, values);
        }
        let mut values = vec![0.0; self.columns.len()];
        self.read_row(row, &mut values);
        let (mut single, mut double) = (self.start as f32, self.start);
        for roots in self.roots.chunks(LANES) {
            // A document's trees advance in parallel, as a tree's documents do.
            let side_by_side = roots.len() == LANES && roots.iter().all(|root| !root.has_sets);
            let leaves = if side_by_side {
                let depth = roots.iter().map(|root| root.depth).max().unwrap_or(0);
                self.walk(std::array::from_fn(|lane| roots[lane].node), depth, &values, 0)
            } else {
                let leaf =
                    |lane: usize| roots.get(lane).map(|root| self.leaf_below(root.node as usize, &values));
                std::array::from_fn(|lane| leaf(lane).unwrap_or(0))
            };
            for leaf in &leaves[..roots.len()] {
                let value = self.values[*leaf];
                (single, double) = (add(single, value), double + value);
            }
        }
        if self.single { f64::from(single) } else { double }
    }

    /// Operations of about a nanosecond that the score of a document takes.
    pub fn operations(&self) -> usize {
        if let Some((forest, _)) = self.oblivious.as_deref() {
            return forest.operations();
        }
        self.roots.iter().fold(2 * self.columns.len(), |sum, root| sum.saturating_add(root.depth as usize))
    }

    /// A document's column values.
    pub(super) fn read_row<T: Element>(&self, row: &[T], values: &mut [f64]) {
        for (value, column) in values.iter_mut().zip(&self.columns) {
            *value = column.read(row[column.feature as usize].to_f64());
        }
    }

    /// Calls `add` with each document and the value of its leaf, tree by tree.
    fn add_trees(&self, values: &[f64], stride: usize, mut add: impl FnMut(usize, f64)) {
        for root in &self.roots {
            for (group, values) in values.chunks_exact(LANES * stride).enumerate() {
                let leaves = if root.has_sets {
                    self.walk_sets(root, values, stride)
                } else {
                    self.walk([root.node; LANES], root.depth, values, stride)
                };
                for (lane, leaf) in leaves.into_iter().enumerate() {
                    add(LANES * group + lane, self.values[leaf]);
                }
            }
        }
    }

    /// The leaves below nodes of numeric splits. Each lane's values begin this far after the previous lane's; at 0
    /// all lanes have the same.
    fn walk(&self, mut nodes: [u32; LANES], depth: u32, values: &[f64], distance: usize) -> [usize; LANES] {
        let mut left = depth as usize;
        while left > 0 {
            let before = nodes;
            for _ in 0..left.min(STRIDE) {
                for (lane, node) in nodes.iter_mut().enumerate() {
                    let Step { threshold, column, left } = self.steps[*node as usize];
                    *node = left + u32::from(values[lane * distance + column as usize] > threshold);
                }
            }
            if nodes == before {
                break;
            }
            left -= left.min(STRIDE);
        }
        nodes.map(|node| node as usize)
    }

    /// Leaves of some documents in a tree with categorical splits.
    fn walk_sets(&self, root: &Root, values: &[f64], stride: usize) -> [usize; LANES] {
        let mut leaves = [root.node as usize; LANES];
        for (node, values) in leaves.iter_mut().zip(values.chunks_exact(stride)) {
            *node = self.leaf_below(*node, values);
        }
        leaves
    }
}
