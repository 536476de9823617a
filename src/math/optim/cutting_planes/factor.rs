//! Cholesky factor K = L L' of a matrix that gains and loses rows, one at a time.

use crate::math::dense::dot;

/// A row depends on the others if its pivot is below this fraction of its diagonal entry.
const DEPENDENT: f64 = 1e-11;

/// L by rows, each up to its diagonal.
#[derive(Debug, Clone, Default)]
pub(super) struct Factor(Vec<Vec<f64>>);

impl Factor {
    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds the row k of K, which ends with the diagonal entry. If the row depends on the others, returns false and
    /// changes nothing. A first row is always added.
    pub(super) fn push(&mut self, mut k: Vec<f64>) -> bool {
        let n = self.len();
        self.forward(&mut k[..n]);
        let pivot = k[n] - dot(&k[..n], &k[..n]);
        if n > 0 && pivot <= DEPENDENT * k[n] {
            return false;
        }
        k[n] = pivot.sqrt();
        self.0.push(k);
        true
    }

    /// Removes row and column `index` of K. Rotations of columns restore the triangle.
    pub(super) fn remove(&mut self, index: usize) {
        self.0.remove(index);
        for column in index..self.len() {
            let (x, y) = (self.0[column][column], self.0[column][column + 1]);
            let size = (x * x + y * y).sqrt();
            let (cos, sin) = (x / size, y / size);
            for row in &mut self.0[column..] {
                let (x, y) = (row[column], row[column + 1]);
                row[column] = cos * x + sin * y;
                row[column + 1] = cos * y - sin * x;
            }
            self.0[column].truncate(column + 1);
        }
    }

    /// Solves K x = b in place.
    pub(super) fn solve(&self, b: &mut [f64]) {
        self.forward(b);
        for (i, row) in self.0.iter().enumerate().rev() {
            let (before, rest) = b.split_at_mut(i);
            rest[0] /= row[i];
            before.iter_mut().zip(row).for_each(|(value, entry)| *value -= rest[0] * entry);
        }
    }

    fn forward(&self, b: &mut [f64]) {
        for (i, row) in self.0.iter().enumerate() {
            let (before, rest) = b.split_at_mut(i);
            rest[0] = (rest[0] - dot(before, &row[..i])) / row[i];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_row_is_always_taken() {
        for entry in [0.0, 1e-300, f64::INFINITY, f64::NAN] {
            assert!(Factor::default().push(vec![entry]), "{entry}");
        }
    }

    fn entry(i: usize, j: usize) -> f64 {
        if i == j { 5.0 } else { 1.0 / (1 + i + j) as f64 }
    }

    #[test]
    fn solutions_satisfy_the_equations_after_rows_come_and_go() {
        let mut rows: Vec<usize> = Vec::new();
        let mut factor = Factor::default();
        for i in 0..9 {
            rows.push(i);
            assert!(factor.push(rows.iter().map(|&j| entry(i, j)).collect()));
        }
        for index in [3, 0, 6, 4] {
            rows.remove(index);
            factor.remove(index);
            let b: Vec<f64> = (0..rows.len()).map(|i| i as f64 - 1.5).collect();
            let mut x = b.clone();
            factor.solve(&mut x);
            for (i, b) in rows.iter().zip(b) {
                let sum: f64 = rows.iter().zip(&x).map(|(&j, x)| entry(*i, j) * x).sum();
                assert!((sum - b).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_dependent_row_is_refused() {
        let mut factor = Factor::default();
        assert!(factor.push(vec![2.0]));
        assert!(!factor.push(vec![2.0, 2.0]));
        assert_eq!(factor.len(), 1);
    }
}
