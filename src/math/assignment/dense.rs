//! Assignment of any matrix: O(k^2 l) for k rows and l columns.

use super::Workspace;

/// Maximises `sum_p E[p, column of p]` over all ways to give every row a column of its own; answers the maximum, and
/// the columns in [`Workspace::chosen`].
///
/// `profits` is E, row after row, shape (rows, columns); finite, and so are its sums. The same matrix gives the same
/// bits and the same columns.
///
/// # Panics
/// If there are more rows than columns, or if the length is not rows times columns.
pub fn maximise(profits: &[f64], rows: usize, columns: usize, workspace: &mut Workspace) -> f64 {
    assert!(rows <= columns, "every row needs a column of its own");
    assert_eq!(profits.len(), rows * columns, "one profit for each row and column");
    workspace.paths.begin(columns);
    for _ in 0..rows {
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
