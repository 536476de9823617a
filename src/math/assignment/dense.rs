//! Assignment for any matrix, in O(k^2 l) for k rows and l columns.

use super::Workspace;
use crate::base::checkpoint;

/// Sums of fewer than 10^10 profits below this are finite.
const TOO_LARGE: f64 = 1e290;

/// Maximizes `sum_p E[p, column of p]` over all assignments of a column to each row and returns the maximum. The
/// columns are in [`Workspace::chosen`].
///
/// `profits` is E, row after row, shape (rows, columns). The same matrix gives the same bits and the same columns.
/// If a profit is not a number, or so large that a sum could overflow, the maximum is NaN and row p gets column p.
///
/// # Panics
/// If there are more rows than columns, or if `profits` does not have rows times columns values.
pub fn maximize(profits: &[f64], rows: usize, columns: usize, workspace: &mut Workspace) -> f64 {
    assert!(rows <= columns, "every row needs a different column");
    assert_eq!(profits.len(), rows * columns, "one profit for each row and column");
    if !profits.iter().all(|profit| profit.abs() < TOO_LARGE) {
        workspace.chosen.clear();
        workspace.chosen.extend(0..rows as u32);
        return f64::NAN;
    }
    workspace.paths.begin(columns);
    for _ in 0..rows {
        checkpoint();
        workspace.paths.augment(|row| {
            let profits = &profits[row * columns..(row + 1) * columns];
            move |column| profits[column]
        });
    }
    workspace.chosen.clear();
    workspace.chosen.resize(rows, 0);
    for (column, &row) in workspace.paths.owners().iter().enumerate() {
        if let Some(chosen) = workspace.chosen.get_mut(row as usize) {
            *chosen = column as u32;
        }
    }
    workspace.chosen.iter().enumerate().map(|(row, &column)| profits[row * columns + column as usize]).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_ends() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308] {
            let mut workspace = Workspace::default();
            let profits = [1.0, bad, 2.0, -bad, bad, 3.0];
            assert!(maximize(&profits, 2, 3, &mut workspace).is_nan());
            assert_eq!(workspace.chosen(), [0, 1]);
        }
    }
}
