//! Imported trees with the same split in all nodes of a level, such as CatBoost's, as the library's own trees: a [`Forest`]
//! scores them several times as fast.

use super::forest::{GeneralForest, Kind, Oblivious};
use crate::trees::score_layout::MAX_DEPTH;
use crate::trees::{Forest, Split};

/// The same trees, if all are oblivious. The first tree is the start of the sums, so that scores have the same bits.
pub fn of(forest: &GeneralForest) -> Option<Oblivious> {
    let trees = forest.trees();
    let depth = (0..trees).map(|tree| forest.depth(tree)).max()?;
    // Trees that are less deep get more leaves.
    let fits = (1..=MAX_DEPTH).contains(&depth) && trees << depth <= forest.nodes();
    let questions: Option<Vec<Vec<Split>>> =
        (0..trees).map(|tree| questions(forest, tree).filter(|_| fits && !forest.single)).collect();
    let questions = questions?;
    let any = *questions.iter().flatten().next()?;
    let (mut splits, mut values) = (vec![any; depth], vec![forest.start; 1 << depth]);
    for (tree, mut questions) in questions.into_iter().enumerate() {
        let first = forest.nodes_of(tree).end - (1 << questions.len());
        let mask = (1 << questions.len()) - 1;
        values.extend((0..1 << depth).map(|leaf| forest.values[first + (leaf & mask)]));
        questions.resize(depth, any);
        splits.extend(questions);
    }
    let oblivious = Forest::new(depth, &splits);
    oblivious.has_valid_thresholds().then_some((oblivious, values))
}

/// The splits of a tree whose levels have one split each; the root's is the last.
fn questions(forest: &GeneralForest, tree: usize) -> Option<Vec<Split>> {
    let (nodes, depth) = (forest.nodes_of(tree), forest.depth(tree));
    let level_start = |level: usize| nodes.start + (1 << level) - 1;
    if depth > MAX_DEPTH || level_start(depth + 1) != nodes.end {
        return None;
    }
    let question = |level: usize| {
        let steps = &forest.steps[level_start(level)..level_start(level + 1)];
        let is_same = |(place, step): (usize, &super::forest::Step)| {
            let left = level_start(level + 1) + 2 * place;
            (step.left as usize, step.column) == (left, steps[0].column)
                && step.threshold.to_bits() == steps[0].threshold.to_bits()
        };
        let column = forest.columns.get(steps[0].column as usize)?;
        let split = Split {
            feature: column.feature as usize,
            threshold: steps[0].threshold,
            missing_above: !column.missing_left,
        };
        (column.kind == Kind::Number && steps.iter().enumerate().all(is_same)).then_some(split)
    };
    (0..depth).rev().map(question).collect()
}
