//! Faster scoring gives the same bits as plain scoring, for random trees and documents.

use super::forest::GeneralForest;
use super::traverse::add;
use super::{Builder, ObliviousTree, Question, RawNode, RawSplit, Test, oblivious_nodes};
use crate::base::Control;
use crate::data::Shuffle;
use crate::math::Random;

const WIDTH: usize = 5;

/// A number that splits and documents share.
fn number(random: &mut Random) -> f64 {
    [-1.0, -0.0, 0.0, 0.25, 0.5, 1e-40, 3.0, 0.1 + 0.2][random.below(8)]
}

fn test(random: &mut Random, builder: &mut Builder, numeric: bool) -> Test {
    if numeric || random.below(3) > 0 {
        return Test::AtMost(number(random));
    }
    Test::In(builder.sets.add((0..4).filter(|_| random.below(2) > 0).collect()))
}

/// Nodes of a tree of any shape.
fn nodes(random: &mut Random, builder: &mut Builder, numeric: bool) -> Vec<RawNode> {
    let (mut nodes, most) = (Vec::new(), 1 + random.below(20));
    let mut next = 1;
    while nodes.len() < next {
        let leaf = RawNode::Leaf { value: random.symmetric(), cover: f64::NAN };
        let is_leaf = next >= most || random.below(8) == 0;
        nodes.push(if is_leaf {
            leaf
        } else {
            let split =
                RawSplit::new(random.below(WIDTH), test(random, builder, numeric), random.below(2) > 0);
            next += 2;
            RawNode::Split(RawSplit {
                zero_is_missing: random.below(4) == 0,
                left: next - 2,
                right: next - 1,
                ..split
            })
        });
    }
    nodes
}

fn oblivious(random: &mut Random, builder: &mut Builder, depth: usize, numeric: bool) -> Vec<RawNode> {
    let question = |random: &mut Random, builder: &mut Builder| {
        let test = test(random, builder, numeric);
        let pass_is_above = matches!(test, Test::In(_));
        Question { feature: random.below(WIDTH), test, pass_is_above, missing_above: random.below(2) > 0 }
    };
    let questions: Vec<Question> = (0..depth).map(|_| question(random, builder)).collect();
    let values: Vec<f64> = (0..1 << depth).map(|_| random.symmetric()).collect();
    oblivious_nodes(&ObliviousTree { questions: &questions, values: &values, covers: &[] })
}

fn forest(random: &mut Random, is_oblivious: bool) -> GeneralForest {
    let (start, single, numeric) = (random.symmetric(), random.below(3) == 0, random.below(2) > 0);
    let mut builder = Builder::new(WIDTH, start, single);
    let depth = 1 + random.below(4);
    for tree in 0..=random.below(40) {
        let nodes = if is_oblivious {
            // Some trees are less deep.
            oblivious(random, &mut builder, depth - usize::from(tree % 7 == 3), numeric)
        } else {
            nodes(random, &mut builder, numeric)
        };
        builder.add(&nodes).unwrap();
    }
    builder.finish(WIDTH).unwrap()
}

fn plain(forest: &GeneralForest, row: &[f64]) -> f64 {
    let mut values = vec![0.0; forest.columns.len()];
    forest.read_row(row, &mut values);
    let leaves =
        forest.roots.iter().map(|root| forest.values[forest.leaf_below(root.node as usize, &values)]);
    if forest.single {
        return f64::from(leaves.fold(forest.start as f32, add));
    }
    leaves.fold(forest.start, |sum, leaf| sum + leaf)
}

#[test]
fn all_scores_have_the_bits_of_the_plain_ones() {
    let mut random = Random::new(11);
    let mut of_library = 0;
    for case in 0..3000 {
        let forest = forest(&mut random, case % 2 == 0);
        of_library += usize::from(forest.oblivious.is_some());
        let n = 1 + random.below(70);
        let value = |random: &mut Random| match random.below(12) {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::from(random.below(5) as u8),
            _ => number(random),
        };
        let rows: Vec<f64> = (0..n * WIDTH).map(|_| value(&mut random)).collect();
        let scores: Vec<u64> = rows.chunks_exact(WIDTH).map(|row| plain(&forest, row).to_bits()).collect();
        // 1. One document, and many.
        let alone = |row: &[f64]| forest.score_row(row).to_bits();
        assert_eq!(rows.chunks_exact(WIDTH).map(alone).collect::<Vec<_>>(), scores, "case {case}");
        let mut found = vec![0.0; n];
        forest.score_rows(&rows, WIDTH, &mut found);
        assert_eq!(found.iter().map(|score| score.to_bits()).collect::<Vec<_>>(), scores, "case {case}");
        // 2. In single precision.
        let single: Vec<f32> = rows.iter().map(|value| *value as f32).collect();
        forest.score_rows(&single, WIDTH, &mut found);
        for (row, found) in single.chunks_exact(WIDTH).zip(&found) {
            let wide: Vec<f64> = row.iter().copied().map(f64::from).collect();
            assert_eq!(found.to_bits(), plain(&forest, &wide).to_bits(), "case {case}");
            assert_eq!(forest.score_row(row).to_bits(), found.to_bits(), "case {case}");
        }
        // 3. With features of other documents.
        let shuffle = |columns: &[usize], random: &mut Random| {
            let mut order: Vec<usize> = (0..n).collect();
            let mut next = || {
                random.shuffle(&mut order);
                order.clone()
            };
            Shuffle { columns: columns.to_vec(), orders: (0..10).map(|_| next()).collect() }
        };
        let shuffles =
            [shuffle(&[0], &mut random), shuffle(&[3, 1], &mut random), shuffle(&[4], &mut random)];
        let found = forest.shuffled(&rows, &shuffles, &Control::default()).unwrap();
        for (Shuffle { columns, orders }, found) in shuffles.iter().zip(found) {
            for (order, found) in orders.iter().zip(found.chunks_exact(n)) {
                for (document, found) in found.iter().enumerate() {
                    let mut row = rows[document * WIDTH..(document + 1) * WIDTH].to_vec();
                    columns.iter().for_each(|column| row[*column] = rows[order[document] * WIDTH + column]);
                    assert_eq!(found.to_bits(), plain(&forest, &row).to_bits(), "case {case}");
                }
            }
        }
    }
    assert!((400..=1000).contains(&of_library), "{of_library} forests have the form of this library's");
}
