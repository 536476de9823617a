//! Oblivious trees as nested SQL cases: `CASE WHEN x > threshold THEN ... ELSE ... END`, level by level.

use super::super::term::Term;
use super::super::text::Text;
use super::columns::{Columns, minus};
use crate::base::Result;
use crate::data::{Missing, Quantiles, Scaling};
use crate::learn::space::WeightsOf;
use crate::trees::Split;

pub(super) struct Tree<'a> {
    scaling: &'a Scaling,
    /// One per level. Thresholds of quantiles are values before scaling.
    splits: Vec<Split>,
    /// Leaf values: a value above the threshold of level i adds 2^i to the leaf's index.
    values: &'a [f64],
}

pub(super) fn trees<'a>(term: &Term<'a>) -> Vec<Tree<'a>> {
    let WeightsOf::Leaves(forest) = term.space.weights_of() else { return Vec::new() };
    let mut splits = forest.splits();
    let values = term.weights.chunks_exact(1 << forest.depth());
    let tree = |values| {
        let threshold = |split: Split| match term.scaling {
            Scaling::Quantile(quantiles) => {
                Split { threshold: last_not_above(&quantiles[split.feature], split.threshold), ..split }
            }
            _ => split,
        };
        let splits = splits.by_ref().take(forest.depth()).map(threshold).collect();
        Tree { scaling: term.scaling, splits, values }
    };
    values.map(tree).collect()
}

impl Tree<'_> {
    /// Writes the value of a document's leaf, given the answers at some levels as bits of `leaf`.
    pub(super) fn write(
        &self,
        columns: &Columns<'_>,
        text: &mut Text,
        level: usize,
        leaf: usize,
    ) -> Result<()> {
        let Some(split) = self.splits.get(level) else {
            return text.push(format_args!("{:?}", self.values[leaf]));
        };
        // 1. The test. A comparison with NULL is NULL.
        let is_above = columns.missing == Missing::Branch && split.missing_above;
        let (x, threshold) = (&columns.features[split.feature], split.threshold);
        text.push(format_args!("CASE WHEN {}", if is_above { "(" } else { "" }))?;
        match self.scaling.affine(split.feature) {
            Some((center, factor)) if self.scaling != &Scaling::None => {
                text.push(format_args!("({x} {}) * {factor:?} > {threshold:?}", minus(center)))?;
            }
            _ => text.push(format_args!("{x} > {threshold:?}"))?,
        }
        text.push(format_args!("{} THEN ", if is_above { ") IS NOT 0" } else { "" }))?;
        // 2. The leaves above the threshold, and the others.
        self.write(columns, text, level + 1, leaf | 1 << level)?;
        text.push(format_args!(" ELSE "))?;
        self.write(columns, text, level + 1, leaf)?;
        text.push(format_args!(" END"))
    }
}

/// The largest value whose score is not above a threshold; scores increase with values. May be the first or last number.
fn last_not_above(quantiles: &Quantiles, threshold: f64) -> f64 {
    let (mut low, mut high) = (rank(f64::MIN), rank(f64::MAX));
    if quantiles.normal_score(f64::MAX) <= threshold {
        return f64::MAX;
    }
    // The score of `high` is above the threshold.
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if quantiles.normal_score(of_rank(middle)) <= threshold {
            low = middle;
        } else {
            high = middle;
        }
    }
    of_rank(low)
}

/// The index of a number among all finite numbers of its type.
fn rank(value: f64) -> i128 {
    let size = i128::from(value.abs().to_bits());
    if value.is_sign_negative() { -size } else { size }
}

fn of_rank(rank: i128) -> f64 {
    let size = f64::from_bits(rank.unsigned_abs() as u64);
    if rank < 0 { -size } else { size }
}
