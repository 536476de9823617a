//! Feature contributions to a score: exact Shapley values, path-dependent (Lundberg et al. 2018, algorithm 2).
//!
//! The value of a set S of features is the mean of a tree for a document when only S is known: at a split of S it goes
//! where the document goes, at other splits both ways, weighted by the children's training weights. The base is the
//! value of no features. Base and contributions add up to the score in 64-bit floats; a model that sums in 32-bit floats
//! rounds its score after each tree.

use super::forest::GeneralForest;
use crate::base::{Error, Result, Ticks, checkpoint};

/// Nanoseconds or so that a step of a path takes, for [`Ticks`].
const STEP_COST: usize = 4;

/// Largest difference between the contributions and the score, as a fraction of the largest leaf values.
const MOST_ERROR: f64 = 1e-4;

/// A feature on the path to a node.
#[derive(Debug, Clone, Copy)]
struct Step {
    feature: usize,
    /// Part of the training weight that goes this way when the feature is unknown.
    unknown: f64,
    /// 1 if the document goes this way, else 0.
    known: f64,
    /// Sum of the weights of sets of this size.
    weight: f64,
}

/// The state of one document.
struct Walk<'a> {
    forest: &'a GeneralForest,
    values: Vec<f64>,
    added: Vec<f64>,
    /// The paths from the root to the current node, each with the features that the node above it has, one after the other.
    paths: Vec<Step>,
    ticks: Ticks,
}

/// A node that waits.
struct Visit {
    node: usize,
    /// Where the path above it begins.
    start: usize,
    /// Steps of this path.
    length: usize,
    /// The split above it.
    above: Step,
}

impl GeneralForest {
    /// Each feature's contribution to a document's score, and finally the base; they add up to the score.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the source of the model has no training weights, or paths that are too long.
    ///
    /// # Panics
    /// If the row has fewer values than [`Self::width`].
    pub fn contributions(&self, row: &[f64]) -> Result<Vec<f64>> {
        if self.covers.iter().any(|cover| cover.is_nan()) {
            return Err(Error::Unsupported(
                "the model has no training weights (counts or covers) in its nodes, so its scores cannot be explained; \
                 export it with them"
                    .to_owned(),
            ));
        }
        let mut values = vec![0.0; self.columns.len()];
        self.read_row(row, &mut values);
        let added = vec![0.0; self.width + 1];
        let mut walk = Walk { forest: self, values, added, paths: Vec::new(), ticks: Ticks::default() };
        walk.added[self.width] = self.start;
        for tree in 0..self.roots.len() {
            checkpoint();
            walk.added[self.width] += self.mean(tree);
            walk.visit_all(self.roots[tree].node as usize);
        }
        // The weights of long paths lose their digits.
        let error = (walk.added.iter().sum::<f64>() - self.score_row(row)).abs();
        if error <= MOST_ERROR * (self.start.abs() + self.magnitude()) {
            return Ok(walk.added);
        }
        Err(Error::Unsupported(
            "the trees have paths with so many different features (about 50; 30 in hundreds of splits) that 64-bit floats do not give their \
             contributions; train with fewer levels"
                .to_owned(),
        ))
    }

    /// The mean leaf value of a tree, by training weight.
    fn mean(&self, tree: usize) -> f64 {
        let nodes = self.nodes_of(tree);
        let mut means = self.values[nodes.clone()].to_vec();
        // Children follow their parents.
        for node in nodes.clone().rev().filter(|node| !self.is_leaf(*node)) {
            let left = self.steps[node].left as usize;
            means[node - nodes.start] = (left..left + 2)
                .map(|child| self.share(node, child) * means[child - nodes.start])
                .fold(0.0, |sum, part| sum + part);
        }
        means[0]
    }

    /// The fraction of a node's training weight in a child; 0 for nodes without weight.
    fn share(&self, node: usize, child: usize) -> f64 {
        let other = (self.steps[node].left as usize * 2 + 1) - child;
        let sum = self.covers[child] + self.covers[other];
        if sum > 0.0 { self.covers[child] / sum } else { 0.0 }
    }
}

impl Walk<'_> {
    /// Visits the nodes of a tree. Trees of any depth need no stack.
    fn visit_all(&mut self, root: usize) {
        let above = Step { feature: usize::MAX, unknown: 1.0, known: 1.0, weight: 0.0 };
        let mut waiting = vec![Visit { node: root, start: 0, length: 0, above }];
        while let Some(visit) = waiting.pop() {
            self.visit(visit, &mut waiting);
        }
    }

    /// Visits a node; its children then wait, the one of the document in front.
    fn visit(&mut self, Visit { node, start, length, above }: Visit, waiting: &mut Vec<Visit>) {
        self.ticks.add(STEP_COST * (length + 1));
        // 1. The node's path: its parent's path and the split above it.
        let own = start + length;
        self.paths.truncate(own);
        self.paths.extend_from_within(start..own);
        extend(&mut self.paths, own, above);
        let mut length = length + 1;
        let forest = self.forest;
        if forest.is_leaf(node) {
            return self.arrive(own, length, forest.values[node]);
        }
        // 2. A feature that the path has already is taken out, and counts once.
        let step = forest.steps[node];
        let column = forest.columns[step.column as usize];
        let feature = column.feature as usize;
        let (mut unknown, mut known) = (1.0, 1.0);
        let path = &mut self.paths[own..];
        if let Some(at) = path.iter().skip(1).position(|step| step.feature == feature) {
            (unknown, known) = (path[at + 1].unknown, path[at + 1].known);
            unwind(path, at + 1);
            length -= 1;
        }
        // 3. Both children. Nodes that no training document reached do not count, unless the document goes there.
        let hot = forest.next(&step, self.values[step.column as usize]);
        for child in [2 * step.left as usize + 1 - hot, hot] {
            let share = unknown * forest.share(node, child);
            let known = if child == hot { known } else { 0.0 };
            if share > 0.0 || known > 0.0 {
                let above = Step { feature, unknown: share, known, weight: 0.0 };
                waiting.push(Visit { node: child, start: own, length, above });
            }
        }
    }

    /// Adds the value of a leaf to the features of its path.
    fn arrive(&mut self, own: usize, length: usize, value: f64) {
        let path = &self.paths[own..own + length];
        for (at, step) in path.iter().enumerate().skip(1) {
            self.ticks.add(STEP_COST * length);
            self.added[step.feature] += unwound_sum(path, at) * (step.known - step.unknown) * value;
        }
    }
}

/// Adds a feature to the path that begins at `own`: updates the weights for sets with and without it.
fn extend(paths: &mut Vec<Step>, own: usize, step: Step) {
    let Step { unknown, known, .. } = step;
    let length = paths.len() - own;
    paths.push(Step { weight: if length == 0 { 1.0 } else { 0.0 }, ..step });
    let path = &mut paths[own..];
    let count = (length + 1) as f64;
    for i in (0..length).rev() {
        path[i + 1].weight += known * path[i].weight * (i + 1) as f64 / count;
        path[i].weight = unknown * path[i].weight * (length - i) as f64 / count;
    }
}

/// Removes the feature at this index; the last step of the path becomes unused.
fn unwind(path: &mut [Step], at: usize) {
    let last = path.len() - 1;
    let Step { unknown, known, .. } = path[at];
    let mut rest = path[last].weight;
    let count = path.len() as f64;
    for i in (0..last).rev() {
        if known > 0.0 {
            let weight = rest * count / ((i + 1) as f64 * known);
            rest = path[i].weight - weight * unknown * (last - i) as f64 / count;
            path[i].weight = weight;
        } else {
            path[i].weight = path[i].weight * count / (unknown * (last - i) as f64);
        }
    }
    for i in at..last {
        path[i] = Step { weight: path[i].weight, ..path[i + 1] };
    }
}

/// The sum of a path's weights without the feature at this index.
fn unwound_sum(path: &[Step], at: usize) -> f64 {
    let last = path.len() - 1;
    let Step { unknown, known, .. } = path[at];
    let (mut rest, mut sum) = (path[last].weight, 0.0);
    let count = path.len() as f64;
    for i in (0..last).rev() {
        if known > 0.0 {
            let weight = rest * count / ((i + 1) as f64 * known);
            rest = path[i].weight - weight * unknown * (last - i) as f64 / count;
            sum += weight;
        } else {
            sum += path[i].weight * count / (unknown * (last - i) as f64);
        }
    }
    sum
}
