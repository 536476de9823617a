//! Trees as cases of SQL: `CASE WHEN x > border THEN ... ELSE ... END`, level by level.

use super::{Columns, Sql};
use crate::apply::export::Term;
use crate::base::error::Result;
use crate::data::{Missing, Quantiles, Scaling};
use crate::learn::space::WeightsOf;
use crate::trees::Split;

/// A tree.
pub(super) struct Tree<'a> {
    scaling: &'a Scaling,
    /// One per level.
    splits: Vec<Split>,
    /// The values of its leaves: a value above the border of level i adds 2^i to the number of the leaf.
    values: &'a [f64],
}

/// A level of a tree.
struct Question {
    above: String,
    /// What holds for a value that is not above; none if that is every other value.
    below: Option<String>,
}

/// The trees of a term.
pub(super) fn trees<'a>(term: &Term<'a>) -> Vec<Tree<'a>> {
    let WeightsOf::Leaves(forest) = term.space.weights_of() else { return Vec::new() };
    let mut splits = forest.splits();
    let values = term.weights.chunks_exact(1 << forest.depth());
    let tree = |values| {
        let splits = splits.by_ref().take(forest.depth()).collect();
        Tree { scaling: term.scaling, splits, values }
    };
    values.map(tree).collect()
}

impl Sql {
    /// The value of the leaf of a document.
    pub(super) fn tree(&mut self, columns: &Columns, tree: &Tree<'_>) -> Result<()> {
        let questions: Vec<Question> =
            tree.splits.iter().map(|split| question(columns, tree.scaling, split)).collect();
        self.below(&questions, (0, 0), tree.values)
    }

    /// The part of a tree below the answers to some levels, which are the bits of `leaf`.
    fn below(&mut self, questions: &[Question], (level, leaf): (usize, usize), values: &[f64]) -> Result<()> {
        let Some(Question { above, below }) = questions.get(level) else {
            return self.push(format_args!("{:?}", values[leaf]));
        };
        self.push(format_args!("CASE WHEN {above} THEN "))?;
        self.below(questions, (level + 1, leaf | 1 << level), values)?;
        match below {
            Some(below) => self.push(format_args!(" WHEN {below} THEN "))?,
            None => self.push(format_args!(" ELSE "))?,
        }
        self.below(questions, (level + 1, leaf), values)?;
        self.push(format_args!(" END"))
    }
}

fn question(columns: &Columns, scaling: &Scaling, split: &Split) -> Question {
    // Text from a file counts as a number in arithmetic, but not in comparisons.
    let x = format!("{} + 0.0", columns.features[split.feature]);
    let (x, border) = match scaling {
        Scaling::Quantile(quantiles) => (x, last_not_above(&quantiles[split.feature], split.border)),
        scaling => match scaling.affine(split.feature) {
            Some((center, factor)) if scaling != &Scaling::None => {
                (format!("({x} {}) * {factor:?}", super::minus(center)), split.border)
            }
            _ => (x, split.border),
        },
    };
    let above = format!("{x} > {border:?}");
    match columns.missing {
        // The score of a missing value is NULL.
        Missing::Error => Question { above, below: Some(format!("{x} <= {border:?}")) },
        // A comparison with NULL is NULL.
        Missing::Branch if split.missing_above => {
            Question { above: format!("({above}) IS NOT 0"), below: None }
        }
        Missing::Branch | Missing::Zero | Missing::Mean => Question { above, below: None },
    }
}

/// The largest value whose score is not above a border: scores rise with values. At the ends it is the first or last number.
fn last_not_above(quantiles: &Quantiles, border: f64) -> f64 {
    let (mut low, mut high) = (rank(f64::MIN), rank(f64::MAX));
    if quantiles.normal_score(f64::MAX) <= border {
        return f64::MAX;
    }
    // The score of `high` is above the border.
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if quantiles.normal_score(of_rank(middle)) <= border {
            low = middle;
        } else {
            high = middle;
        }
    }
    of_rank(low)
}

/// The place of a number among all finite numbers of its type.
fn rank(value: f64) -> i128 {
    let size = i128::from(value.abs().to_bits());
    if value.is_sign_negative() { -size } else { size }
}

fn of_rank(rank: i128) -> f64 {
    let size = f64::from_bits(rank.unsigned_abs() as u64);
    if rank < 0 { -size } else { size }
}
