//! Arrangements: which documents of a query are shown, and where, when not all orders are allowed.
//!
//! Blocks (sites, topics) may show few documents each; slots get one document each. Both pick rows of a query by their
//! scores; [`demoted`] turns the choice back into scores, so that every metric can judge it.

mod blocks;
mod mark;
mod slots;

pub use blocks::diverse;
pub use mark::{Grouping, Mark};
pub use slots::Slots;

use crate::math::assignment::Workspace;

/// The rows of one query that are shown: all, at most so many of each block, or one per slot; in no promised order.
///
/// # Errors
/// A sentence about slots that cannot be filled.
pub fn shown(
    grouping: Grouping,
    marks: &[Mark],
    scores: &[f64],
    per_block: usize,
) -> Result<Vec<u32>, String> {
    match grouping {
        Grouping::None => Ok((0..scores.len() as u32).collect()),
        Grouping::Blocks => Ok(diverse(scores, marks, per_block)),
        Grouping::Slots => Ok(Slots::new(marks)?.best(scores, &mut Workspace::default()).1),
    }
}

/// The scores of one query with all rows that its arrangement leaves out below those that it shows: one document per
/// block, or one per slot. Both keep their order among themselves.
///
/// # Errors
/// A sentence about slots that cannot be filled.
pub fn demoted(grouping: Grouping, marks: &[Mark], scores: Vec<f64>) -> Result<Vec<f64>, String> {
    if grouping == Grouping::None {
        return Ok(scores);
    }
    let shown = shown(grouping, marks, &scores, 1)?;
    Ok(below(scores, &shown))
}

/// The scores with all rows but these below them.
pub fn below(mut scores: Vec<f64>, shown: &[u32]) -> Vec<f64> {
    let (least, most) =
        scores.iter().fold((f64::MAX, f64::MIN), |(least, most), &score| (least.min(score), most.max(score)));
    let mut is_shown = vec![false; scores.len()];
    for &row in shown {
        is_shown[row as usize] = true;
    }
    for (score, _) in scores.iter_mut().zip(is_shown).filter(|(_, is_shown)| !is_shown) {
        *score -= most - least + 1.0;
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_shown_stands_below_in_its_order() {
        let marks = |groups: &[u32]| -> Vec<Mark> {
            groups.iter().zip(0..).map(|(&group, document)| Mark { document, group }).collect()
        };
        let scores = vec![3.0, 5.0, 1.0, 2.0];
        let arranged = demoted(Grouping::Blocks, &marks(&[0, 0, 1, 1]), scores.clone()).unwrap();
        assert_eq!(arranged, [-2.0, 5.0, -4.0, 2.0]);
        assert_eq!(demoted(Grouping::None, &[], scores.clone()).unwrap(), scores);
    }
}
