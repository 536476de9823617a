//! Constraints on result lists: at most so many documents with the same value, or one document per slot.
//!
//! A constraint selects rows of a query by their scores. [`push_down_unselected`] lowers the scores of all other rows,
//! so every metric can evaluate the constrained list.

mod def;
mod diversity;
mod slots;

pub use def::{ListConstraint, RowGroup};
pub use diversity::select_diverse;
pub use slots::Slots;

use crate::math::assignment::Workspace;

/// The selected rows of one query: all rows, at most `max_per_value` rows of each group, or one row per slot. The order
/// is unspecified.
///
/// # Errors
/// A sentence about slots that cannot be filled.
pub fn selected(
    constraint: ListConstraint,
    row_groups: &[RowGroup],
    scores: &[f64],
    max_per_value: usize,
) -> Result<Vec<u32>, String> {
    match constraint {
        ListConstraint::None => Ok((0..scores.len() as u32).collect()),
        ListConstraint::Diversity => Ok(select_diverse(scores, row_groups, max_per_value)),
        ListConstraint::Slots => Ok(Slots::new(row_groups)?.best(scores, &mut Workspace::default()).1),
    }
}

/// Lowers the scores of rows that the constraint does not select (one row per group or slot) below all selected rows.
/// Selected rows keep their order, and so do the others.
///
/// # Errors
/// A sentence about slots that cannot be filled.
pub fn push_down_unselected(
    constraint: ListConstraint,
    row_groups: &[RowGroup],
    scores: Vec<f64>,
) -> Result<Vec<f64>, String> {
    if constraint == ListConstraint::None {
        return Ok(scores);
    }
    let selected = selected(constraint, row_groups, &scores, 1)?;
    Ok(push_down(scores, &selected))
}

/// Lowers the scores of all rows that are not selected, by more than the range of the scores.
pub fn push_down(mut scores: Vec<f64>, selected: &[u32]) -> Vec<f64> {
    let (least, most) =
        scores.iter().fold((f64::MAX, f64::MIN), |(least, most), &score| (least.min(score), most.max(score)));
    let mut is_selected = vec![false; scores.len()];
    for &row in selected {
        is_selected[row as usize] = true;
    }
    for (score, _) in scores.iter_mut().zip(is_selected).filter(|(_, is_selected)| !is_selected) {
        *score -= most - least + 1.0;
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unselected_rows_are_below_selected_ones_in_their_order() {
        let row_groups = |groups: &[u32]| -> Vec<RowGroup> {
            groups.iter().zip(0..).map(|(&group, document)| RowGroup { document, group }).collect()
        };
        let scores = vec![3.0, 5.0, 1.0, 2.0];
        let arranged =
            push_down_unselected(ListConstraint::Diversity, &row_groups(&[0, 0, 1, 1]), scores.clone())
                .unwrap();
        assert_eq!(arranged, [-2.0, 5.0, -4.0, 2.0]);
        assert_eq!(push_down_unselected(ListConstraint::None, &[], scores.clone()).unwrap(), scores);
    }
}
