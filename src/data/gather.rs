//! Reads columns of a row-major matrix a few at a time: columns on the same cache lines together.

use ndarray::Array2;

use super::dataset::Dataset;
use super::matrix::Matrix;
use crate::base::{Control, Result, bytes_of, checkpoint, parallel};
use crate::math::Element;

/// Number of columns gathered together, because they share cache lines.
const GATHERED: usize = 8;
/// Number of rows gathered together, so that their cache lines are still cached for the next column.
const ROWS: usize = 256;

/// Purpose and cost of the work on columns.
#[derive(Clone, Copy)]
pub(super) struct ColumnWork {
    /// Named in messages about memory.
    pub what: &'static str,
    /// Bytes per value of the current column, besides the value itself.
    pub bytes: usize,
}

/// Applies `learn` to the index and the values of each feature, on all threads. `value` maps a value.
///
/// # Errors
/// Errors of `learn`; an interrupt; too little memory for a column on each thread.
pub(super) fn each_column<V: Copy + Default + Send, T: Send>(
    data: &Dataset,
    work: ColumnWork,
    control: &Control,
    value: impl Fn(f64) -> V + Sync,
    learn: impl Fn(usize, Vec<V>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let (rows, columns) = (data.n_docs(), data.features.columns());
    // If memory is short, process fewer features at a time.
    let threads = parallel::threads().min(columns) as u64;
    let [gathered, worked] = [bytes_of::<V>(rows), bytes_of::<u8>(rows).saturating_mul(work.bytes as u64)];
    let share = (control.memory().available() / 2 / threads.max(1)).saturating_sub(worked);
    let together = (share / gathered.max(1)).clamp(1, GATHERED as u64);
    let bytes = gathered.saturating_mul(together).saturating_add(worked).saturating_mul(threads);
    let what = format_args!("{} {rows} documents", work.what);
    let _memory = control.reserve(bytes, what, "use fewer threads or rows")?;
    let learned = |chunk: usize| -> Result<Vec<T>> {
        let first = chunk * together as usize;
        let gathered = gather(&data.features, first, columns.min(first + together as usize), &value);
        let learned = gathered.into_iter().enumerate().map(|(number, values)| {
            control.check()?;
            learn(first + number, values)
        });
        learned.collect()
    };
    let chunks = columns.div_ceil(together as usize);
    Ok(parallel::try_map(chunks, learned)?.into_iter().flatten().collect())
}

/// Values of the columns from `first` to `end`.
fn gather<V: Copy + Default>(
    features: &Matrix,
    first: usize,
    end: usize,
    value: &impl Fn(f64) -> V,
) -> Vec<Vec<V>> {
    match features {
        Matrix::F32(array) => gather_from(array, first, end, value),
        Matrix::F64(array) => gather_from(array, first, end, value),
    }
}

fn gather_from<E: Element, V: Copy + Default>(
    array: &Array2<E>,
    first: usize,
    end: usize,
    value: &impl Fn(f64) -> V,
) -> Vec<Vec<V>> {
    let (rows, width) = array.dim();
    let mut columns = vec![vec![V::default(); rows]; end - first];
    for start in (0..rows).step_by(ROWS) {
        checkpoint();
        let block = start..rows.min(start + ROWS);
        for (column, out) in (first..).zip(&mut columns) {
            let out = &mut out[block.clone()];
            match array.as_slice() {
                Some(all) => {
                    for (out, row) in out.iter_mut().zip(all[block.start * width..].chunks_exact(width)) {
                        *out = value(row[column].to_f64());
                    }
                }
                None => {
                    for (out, row) in out.iter_mut().zip(block.clone()) {
                        *out = value(array[[row, column]].to_f64());
                    }
                }
            }
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::shaped;

    #[test]
    fn columns_match_the_matrix_in_any_layout() {
        let (rows, columns) = (ROWS + 7, GATHERED + 3);
        let array = shaped(rows, columns, (0..rows * columns).map(|i| i as f32).collect());
        let turned = array.t().as_standard_layout().into_owned().reversed_axes();
        assert!(turned.as_slice().is_none());
        for matrix in [Matrix::F32(array), Matrix::F32(turned)] {
            let found = gather(&matrix, 2, columns, &|x| x);
            for (column, values) in (2..columns).zip(&found) {
                assert!((0..rows).all(|row| values[row].total_cmp(&matrix.at(row, column)).is_eq()));
            }
        }
    }
}
