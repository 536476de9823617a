//! Least-squares sums that the next fit reuses.

use crate::base::Reservation;
use crate::math::SingleSums;

/// The sums of least squares over some queries. The choice of lambda leaves them to the last fit, so that documents pass once.
#[derive(Debug)]
pub(super) struct KeptSums {
    /// The queries, ascending, and their weights before they are divided by `n`.
    pub terms: Vec<(usize, f64)>,
    /// The divisor of the weights.
    pub n: f64,
    /// Their sums.
    pub sums: SingleSums,
    /// Memory for the sums.
    pub _memory: Reservation,
}

impl KeptSums {
    pub fn find(&self, query: usize) -> Option<f64> {
        let place = self.terms.binary_search_by_key(&query, |(query, _)| *query).ok()?;
        Some(self.terms[place].1)
    }

    pub fn has(&self, query: usize) -> bool {
        self.find(query).is_some()
    }

    /// Whether all queries are among these, with the same weights.
    pub fn is_part_of(&self, terms: &[(usize, f64)]) -> bool {
        let same =
            |(query, term): &&(usize, f64)| self.find(*query).is_some_and(|own| own.total_cmp(term).is_eq());
        terms.iter().filter(same).count() == self.terms.len()
    }
}
