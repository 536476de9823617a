//! Constraints on result lists: a limit for documents with the same value, or one document per slot.
//!
//! A constraint selects rows of a query by their scores. [`push_down_unselected`] lowers the scores of all other rows,
//! so every metric can evaluate the constrained list.

use crate::math::assignment::{Workspace, best};
use crate::math::maximize;

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
        ListConstraint::None | ListConstraint::Vectors => Ok((0..scores.len() as u32).collect()),
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

// At most a few documents per group (Le, Smola, Chapelle & Teo, section 7.1).
//
// Selecting greedily by decreasing score, skipping full groups, maximizes sum_p c_p s_pi(p) over all lists within the
// limit of documents per group, for every nonincreasing and nonnegative c.

/// The selected rows, best first, at most `max_per_value` of each group. Equal scores keep the order of the rows.
///
/// # Panics
/// If `scores` and `row_groups` differ in length.
pub fn select_diverse(scores: &[f64], row_groups: &[RowGroup], max_per_value: usize) -> Vec<u32> {
    assert_eq!(scores.len(), row_groups.len(), "one row group for each score");
    let mut order = Vec::new();
    best(scores, scores.len(), &mut order);
    let groups = row_groups.iter().map(|row| row.group as usize + 1).max().unwrap_or(0);
    let mut taken = vec![0; groups];
    order.retain(|&row| {
        let taken = &mut taken[row_groups[row as usize].group as usize];
        *taken += 1;
        *taken <= max_per_value
    });
    order
}

// One document per slot (Le, Smola, Chapelle & Teo, section 7.3).
//
// A row is a document at a slot. With fewer slots than documents every slot gets a document, otherwise every document
// gets a slot. A document may only take slots for which it has a row.

/// Upper bound on the steps of one assignment, about few^2 * many.
const MAX_STEPS: usize = 4_000_000_000;

/// The rows of one query as cells of a table.
#[derive(Debug, Clone)]
pub struct Slots {
    /// Row of each cell (few x many, row-major); `None` for a document that may not take the slot.
    cells: Vec<Option<u32>>,
    /// The smaller of the number of documents and the number of slots.
    few: usize,
    /// The larger of the two.
    many: usize,
}

impl Slots {
    /// The table of rows with these row_groups.
    ///
    /// # Errors
    /// A sentence about two rows for one cell, or about slots that cannot be filled.
    pub fn new(row_groups: &[RowGroup]) -> Result<Self, String> {
        let count =
            |number: fn(&RowGroup) -> u32| row_groups.iter().map(|row| number(row) as usize + 1).max();
        let documents = count(|row| row.document).unwrap_or(0);
        let slots = count(|row| row.group).unwrap_or(0);
        let (few, many) = (documents.min(slots), documents.max(slots));
        if few.saturating_mul(few).saturating_mul(many) > MAX_STEPS {
            return Err(format!("{documents} documents and {slots} slots are too many to be matched"));
        }
        // Enter the rows into the table.
        let mut cells = vec![None; few * many];
        for (row_group, row) in row_groups.iter().zip(0..) {
            let (document, slot) = (row_group.document as usize, row_group.group as usize);
            let cell = if documents < slots { document * many + slot } else { slot * many + document };
            if cells[cell].replace(row).is_some() {
                return Err("two rows have the same document and slot".to_owned());
            }
        }
        // A maximum matching must cover the smaller side.
        let table = Self { cells, few, many };
        let filled = table.max_filled();
        if filled == few {
            return Ok(table);
        }
        let (what, others) = if documents < slots { ("documents", "slots") } else { ("slots", "documents") };
        Err(format!(
            "{few} {what} and {many} {others}, but its rows allow at most {filled} of the {what} to be matched; \
             add rows for more documents at slots"
        ))
    }

    /// The size of a maximum matching.
    fn max_filled(&self) -> usize {
        if self.cells.iter().all(Option::is_some) {
            return self.few;
        }
        let profits: Vec<f64> = self.cells.iter().map(|cell| f64::from(u8::from(cell.is_some()))).collect();
        let mut workspace = Workspace::default();
        maximize(&profits, self.few, self.many, &mut workspace);
        self.rows(&workspace).len()
    }

    /// The maximum sum of scores (one per row, finite) over all assignments, and the rows that attain it, ascending.
    pub fn best(&self, scores: &[f64], workspace: &mut Workspace) -> (f64, Vec<u32>) {
        let largest = scores.iter().fold(0.0f64, |largest, score| largest.max(score.abs()));
        // A forbidden cell costs more than all other cells can gain.
        let forbidden = -2.0 * (self.few + 1) as f64 * (largest + 1.0);
        let profit = |cell: &Option<u32>| cell.map_or(forbidden, |row| scores[row as usize]);
        let profits: Vec<f64> = self.cells.iter().map(profit).collect();
        maximize(&profits, self.few, self.many, workspace);
        let rows = self.rows(workspace);
        (rows.iter().map(|&row| scores[row as usize]).sum(), rows)
    }

    fn rows(&self, workspace: &Workspace) -> Vec<u32> {
        let chosen = workspace.chosen().iter().enumerate();
        let mut rows: Vec<u32> =
            chosen.filter_map(|(few, &many)| self.cells[few * self.many + many as usize]).collect();
        rows.sort_unstable();
        rows
    }
}

// Document and group of each row, and the lists that are allowed.

/// The document and the group of one row, numbered within the query from 0 in the order of their first rows; slots in
/// ascending order.
///
/// With [`ListConstraint::Slots`] a document has one row per slot, otherwise one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowGroup {
    /// Number of the document.
    pub document: u32,
    /// Number of the document's value in the column `diversify_by`, or of the row's slot.
    pub group: u32,
}

/// Constraint on lists of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListConstraint {
    /// All orders of the documents.
    #[default]
    None,
    /// A limited number of documents of each group, such as a site or topic.
    Diversity,
    /// All orders. The groups are vectors that tell which documents are similar.
    Vectors,
    /// One document per slot of a page.
    Slots,
}

#[cfg(test)]
mod arrange_tests {
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

#[cfg(test)]
mod diversity_tests {
    use super::*;
    use crate::math::Random;

    /// The largest sum of c_p s_pi(p) over lists of k rows with few documents per group; every list is tried.
    fn best_of_all(scores: &[f64], groups: &[u32], c: &[f64], max_per_value: usize) -> f64 {
        fn go(at: usize, list: &mut Vec<usize>, all: &(&[f64], &[u32], &[f64], usize)) -> f64 {
            let (scores, groups, c, max_per_value) = all;
            if at == c.len() {
                return 0.0;
            }
            let mut best = f64::NEG_INFINITY;
            for row in 0..scores.len() {
                let same = list.iter().filter(|&&other| groups[other] == groups[row]).count();
                if same < *max_per_value && !list.contains(&row) {
                    list.push(row);
                    best = best.max(c[at] * scores[row] + go(at + 1, list, all));
                    list.pop();
                }
            }
            best
        }
        go(0, &mut Vec::new(), &(scores, groups, c, max_per_value))
    }

    #[test]
    fn walking_down_the_list_is_best() {
        let mut random = Random::new(5);
        for _ in 0..200 {
            let rows = 1 + random.below(7);
            let groups: Vec<u32> = (0..rows).map(|_| random.below(4) as u32).collect();
            let scores: Vec<f64> = (0..rows).map(|_| random.below(5) as f64 - 2.0).collect();
            let max_per_value = 1 + random.below(2);
            let row_groups: Vec<RowGroup> =
                groups.iter().zip(0..).map(|(&group, document)| RowGroup { document, group }).collect();
            let selected = select_diverse(&scores, &row_groups, max_per_value);
            let k = selected.len().min(3);
            let c: Vec<f64> = (0..k).map(|position| 1.0 / (position + 1) as f64).collect();
            let sum: f64 = selected.iter().zip(&c).map(|(&row, c)| c * scores[row as usize]).sum();
            assert!((sum - best_of_all(&scores, &groups, &c, max_per_value)).abs() < 1e-12);
        }
    }
}

#[cfg(test)]
mod slots_tests {
    use super::*;
    use crate::math::Random;

    fn row_groups(cells: &[(u32, u32)]) -> Vec<RowGroup> {
        cells.iter().map(|&(document, group)| RowGroup { document, group }).collect()
    }

    /// The largest sum over assignments of `wanted` rows, by enumeration; `None` if no assignment exists.
    fn best_of_all(
        row_groups: &[RowGroup],
        scores: &[f64],
        wanted: usize,
        from: usize,
        taken: &mut Vec<RowGroup>,
    ) -> Option<f64> {
        if taken.len() == wanted {
            return Some(0.0);
        }
        let mut best: Option<f64> = None;
        for row in from..row_groups.len() {
            let candidate = row_groups[row];
            if taken
                .iter()
                .all(|other| other.document != candidate.document && other.group != candidate.group)
            {
                taken.push(candidate);
                let rest = best_of_all(row_groups, scores, wanted, row + 1, taken);
                taken.pop();
                if let Some(sum) = rest.map(|rest| rest + scores[row]) {
                    best = Some(best.map_or(sum, |best| best.max(sum)));
                }
            }
        }
        best
    }

    #[test]
    fn no_assignment_is_better_and_unfillable_slots_are_refused() {
        let mut random = Random::new(3);
        let mut refused = 0;
        for _ in 0..400 {
            let (documents, slots) = (1 + random.below(4) as u32, 1 + random.below(4) as u32);
            let mut cells: Vec<(u32, u32)> =
                (0..documents).flat_map(|document| (0..slots).map(move |slot| (document, slot))).collect();
            cells.retain(|_| random.below(4) > 0);
            if !cells.contains(&(documents - 1, slots - 1)) {
                cells.push((documents - 1, slots - 1));
            }
            let row_groups = row_groups(&cells);
            let scores: Vec<f64> = cells.iter().map(|_| random.below(9) as f64 - 4.0).collect();
            let wanted = documents.min(slots) as usize;
            let best = best_of_all(&row_groups, &scores, wanted, 0, &mut Vec::new());
            match (Slots::new(&row_groups), best) {
                (Ok(table), Some(best)) => {
                    let (sum, rows) = table.best(&scores, &mut Workspace::default());
                    assert!((sum - best).abs() < 1e-12);
                    assert_eq!(rows.len(), wanted);
                }
                (Err(_), None) => refused += 1,
                (table, best) => panic!("{table:?}, {best:?}"),
            }
        }
        assert!(refused > 10);
    }

    #[test]
    fn two_rows_of_one_cell_are_refused() {
        assert!(Slots::new(&row_groups(&[(0, 0), (0, 0)])).unwrap_err().contains("same document and slot"));
    }
}
