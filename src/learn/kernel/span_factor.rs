//! The span of documents in the space of a kernel. Documents are added one by one.
//!
//! ```text
//! S            r documents, linearly independent; L L' = K(S, S), L lower triangular (r, r)
//! f            sum over S of beta_j K(x_j, .), a function of the span;  |f|^2 = |L' beta|^2
//! projection   the function of the span nearest to f' has L L' beta = f'(S)
//! ```
//!
//! A row of L depends on the rows above it only. So a factor that is made again from the same documents has the same bits.

use super::basis::Basis;
use super::options::{coefficients, not_finite};
use crate::base::control::Ticks;
use crate::base::error::Result;
use crate::base::memory::grow;
use crate::math::dense::dot;
use crate::math::triangular;

/// A document whose squared distance from the span is at most this fraction of K(x, x) counts as one of the span.
const INDEPENDENT: f64 = 1e-12;

/// L of the documents of a basis, packed as in `math::triangular`.
#[derive(Debug, Clone, Default)]
pub struct SpanFactor(Vec<f64>);

impl SpanFactor {
    /// The factor of these documents.
    ///
    /// # Errors
    /// A kernel that is not finite on them; no memory.
    pub fn of(basis: &Basis) -> Result<Self> {
        let mut factor = Self::default();
        for document in 0..basis.points().len() {
            let row: Vec<f64> = basis.points().row(document).collect();
            let (mut entries, square) = factor.entries(basis, &row, document)?;
            let distance = square - dot(&entries, &entries);
            // Documents that are independent on one machine may be so only up to rounding on another.
            entries.push(distance.max(INDEPENDENT * square).max(f64::MIN_POSITIVE).sqrt());
            factor.append(&entries)?;
        }
        Ok(factor)
    }

    /// Adds a document with these features to the basis, unless it is in the span. Returns whether it was added.
    ///
    /// # Errors
    /// A kernel that is not finite on it; no memory.
    pub fn add(&mut self, basis: &mut Basis, row: &[f64]) -> Result<bool> {
        let (mut entries, square) = self.entries(basis, row, basis.points().len())?;
        let distance = square - dot(&entries, &entries);
        if distance <= INDEPENDENT * square || square <= 0.0 {
            return Ok(false);
        }
        entries.push(distance.sqrt());
        self.append(&entries)?;
        basis.push(row);
        Ok(true)
    }

    /// The coefficients of the projection of a function with these values at the documents.
    ///
    /// # Errors
    /// Another number of values than documents.
    pub fn projected(&self, mut values: Vec<f64>) -> Result<Vec<f64>> {
        triangular::forward_vector(&self.0, &mut values);
        coefficients(&self.0, values.len(), &values)
    }

    /// |f|^2 of a function with these coefficients.
    pub fn square_norm(&self, coefficients: &[f64]) -> f64 {
        let product = self.coordinates(coefficients);
        dot(&product, &product)
    }

    /// L' beta: the coordinates of a function in an orthonormal basis of the span. Inner products of functions are those of
    /// their coordinates.
    pub fn coordinates(&self, coefficients: &[f64]) -> Vec<f64> {
        let mut product = vec![0.0; coefficients.len()];
        let mut ticks = Ticks::default();
        for (i, coefficient) in coefficients.iter().enumerate().filter(|(_, beta)| **beta != 0.0) {
            ticks.add(i);
            let entries = triangular::row(&self.0, i);
            product.iter_mut().zip(entries).for_each(|(sum, entry)| *sum += coefficient * entry);
        }
        product
    }

    /// The entries left of the diagonal in the row of L for one more document after the first `r`, and K(x, x).
    fn entries(&self, basis: &Basis, row: &[f64], r: usize) -> Result<(Vec<f64>, f64)> {
        let square = basis.kernel().of(row, row);
        let mut entries = basis.kernel().block(row, 1, basis.points());
        entries.truncate(r);
        triangular::forward_vector(&self.0, &mut entries);
        if square.is_finite() && entries.iter().all(|entry| entry.is_finite()) {
            Ok((entries, square))
        } else {
            Err(not_finite())
        }
    }

    fn append(&mut self, entries: &[f64]) -> Result<()> {
        grow(&mut self.0, entries.len())?;
        self.0.extend(entries);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::kernel::Kernel;
    use crate::math::random::Random;

    /// A Gaussian kernel and random documents with three features.
    fn example(count: usize) -> (Basis, Vec<Vec<f64>>) {
        let mut random = Random::new(3);
        let rows = (0..count).map(|_| (0..3).map(|_| random.symmetric()).collect()).collect();
        (Basis::new(Kernel::new("gaussian", vec![0.7]).unwrap(), &[], 0, 3), rows)
    }

    #[test]
    fn a_projection_agrees_with_the_function_at_the_documents_and_is_at_most_as_long() {
        let (mut basis, rows) = example(9);
        let mut factor = SpanFactor::default();
        for row in &rows[..6] {
            assert!(factor.add(&mut basis, row).unwrap());
        }
        assert!(!factor.add(&mut basis, &rows[2]).unwrap(), "a document of the span");
        // K(x, .) of a document outside of the span.
        let values = basis.kernel().block(&rows[8], 1, basis.points());
        let beta = factor.projected(values.clone()).unwrap();
        for (document, value) in values.iter().enumerate() {
            let row: Vec<f64> = basis.points().row(document).collect();
            let at = dot(&basis.kernel().block(&row, 1, basis.points()), &beta);
            assert!((at - value).abs() < 1e-12);
        }
        // <g, f> = g(S)' beta, also if g is much longer than f: (|f + g|^2 - |f|^2 - |g|^2) / 2 would have no digit right.
        let far: Vec<f64> = beta.iter().map(|beta| 1e9 * (beta - 0.1)).collect();
        let product = dot(&factor.coordinates(&far), &factor.coordinates(&beta));
        assert!((product - dot(&values, &far)).abs() < 1e-12 * product.abs());
        // |P f|^2 = <f, P f> <= |f|^2 = 1.
        let square = factor.square_norm(&beta);
        assert!((square - dot(&values, &beta)).abs() < 1e-12 && square < 1.0);
    }

    #[test]
    fn a_factor_that_is_made_again_has_the_same_bits() {
        let (mut basis, rows) = example(70);
        let mut factor = SpanFactor::default();
        for row in &rows {
            factor.add(&mut basis, row).unwrap();
        }
        assert!(basis.points().len() > 40);
        assert_eq!(SpanFactor::of(&basis).unwrap().0, factor.0);
    }

    #[test]
    fn kernels_that_are_not_finite_are_refused() {
        let mut basis = Basis::new(Kernel::new("polynomial", vec![3.0, 1.0, 0.0]).unwrap(), &[], 0, 1);
        assert!(SpanFactor::default().add(&mut basis, &[1e200]).is_err());
        assert!(!SpanFactor::default().add(&mut basis, &[0.0]).unwrap());
    }
}
