//! One document per slot (Le, Smola, Chapelle & Teo, section 7.3).
//!
//! A row is a document at a slot. With fewer slots than documents every slot gets a document, otherwise every document
//! gets a slot. A document may only take slots for which it has a row.

use super::def::RowGroup;
use crate::math::assignment::{Workspace, maximize};

/// Upper bound of the steps of one assignment, about few^2 many.
const MAX_STEPS: usize = 4_000_000_000;

/// The rows of one query as cells of a table.
#[derive(Debug, Clone)]
pub struct Slots {
    /// Row of each cell (few x many, row-major); `None` for a document that may not take the slot.
    cells: Vec<Option<u32>>,
    /// The smaller of the numbers of documents and slots.
    few: usize,
    /// The larger.
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
            "{few} {what} and {many} {others}, but its rows allow no more than {filled} of the {what} to be matched; \
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
        // One forbidden cell costs more than all other cells can gain.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Random;

    fn row_groups(cells: &[(u32, u32)]) -> Vec<RowGroup> {
        cells.iter().map(|&(document, group)| RowGroup { document, group }).collect()
    }

    /// The largest sum over assignments of so many rows, by enumeration; `None` if there is none.
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
