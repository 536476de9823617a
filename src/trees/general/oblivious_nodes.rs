//! Oblivious trees as trees of any shape.

use super::build::{RawNode, RawSplit, Test};

/// The question at a level of an oblivious tree.
#[derive(Debug, Clone)]
pub struct Question {
    /// Number of the feature, from 0.
    pub feature: usize,
    /// Some values pass it.
    pub test: Test,
    /// Whether values that pass the test set the bit to 1, and others set it to 0; else the other way round.
    pub pass_is_above: bool,
    /// Whether documents without the feature set the bit to 1.
    pub missing_above: bool,
}

/// A tree whose nodes of a level all ask the same.
#[derive(Debug, Clone)]
pub struct ObliviousTree<'a> {
    /// The questions; the question of level i sets bit i of the leaf's index.
    pub questions: &'a [Question],
    /// Values of the leaves.
    pub values: &'a [f64],
    /// Training weights of the leaves; empty if unknown.
    pub covers: &'a [f64],
}

/// The nodes of an oblivious tree. The root asks the last question, as CatBoost explains its trees.
pub fn oblivious_nodes(tree: &ObliviousTree<'_>) -> Vec<RawNode> {
    let depth = tree.questions.len();
    let splits = (1_usize << depth) - 1;
    let cover = |leaf: usize| tree.covers.get(leaf).copied().unwrap_or(f64::NAN);
    let mut nodes = Vec::with_capacity(2 * splits + 1);
    for level in 0..depth {
        let question = &tree.questions[depth - 1 - level];
        for place in 0..1_usize << level {
            let first = (1 << (level + 1)) - 1 + 2 * place;
            let (low, high) = (first, first + 1);
            let (left, right) = if question.pass_is_above { (high, low) } else { (low, high) };
            let missing_left = question.missing_above == question.pass_is_above;
            let split = RawSplit::new(question.feature, question.test, missing_left);
            nodes.push(RawNode::Split(RawSplit { left, right, ..split }));
        }
    }
    nodes.extend((0..=splits).map(|leaf| RawNode::Leaf { value: tree.values[leaf], cover: cover(leaf) }));
    nodes
}
