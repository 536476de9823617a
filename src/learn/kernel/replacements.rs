//! Values of a kernel function of a document whose features are replaced, group by group. A kernel that is a product over
//! features changes by a factor, so that no distance is computed again.

use super::basis::Basis;
use crate::base::control::Ticks;
use crate::math::lanes;
use crate::math::lanes::{LANES, Lanes};
use crate::math::simd::simd;

/// Smallest value of a kernel whose factors have all digits.
const SMALLEST: f64 = 1e-250;

/// A kernel function of a document, some of whose groups of features are replaced.
pub struct Replacements {
    /// beta_l K(x, x_l) of the document before, and their sum.
    terms: (Vec<Lanes>, f64),
    /// What each group multiplies the terms by.
    factors: Vec<Vec<Lanes>>,
}

impl Replacements {
    /// Values of the function. `replaced`: shape `(values, groups)`, row-major, whether each group is replaced.
    pub fn values(&self, replaced: &[bool]) -> Vec<f64> {
        let groups = self.factors.len();
        let (mut current, mut ticks) = (vec![false; groups], Ticks::default());
        let (mut terms, mut sum) = self.terms.clone();
        let value = |replaced: &[bool]| {
            if current.iter().zip(replaced).filter(|(before, now)| **before && !**now).count() > 0 {
                current.fill(false);
                terms.copy_from_slice(&self.terms.0);
                sum = self.terms.1;
            }
            for ((now, before), factors) in replaced.iter().zip(&mut current).zip(&self.factors) {
                if now != before {
                    ticks.add(terms.len());
                    sum = multiply(&mut terms, factors);
                    *before = true;
                }
            }
            sum
        };
        replaced.chunks_exact(groups.max(1)).map(value).collect()
    }
}

simd! {
    /// Multiplies terms by factors and returns their sum.
    fn multiply<'a>(terms: &'a mut [Lanes], factors: &'a [Lanes]) -> f64 {
        let mut sum = Lanes::ZERO;
        for (term, factor) in terms.iter_mut().zip(factors) {
            let (mut products, factor) = (term.0, factor.0);
            for lane in 0..LANES {
                products[lane] *= factor[lane];
                sum.0[lane] += products[lane];
            }
            term.0 = products;
        }
        sum.fold()
    }
}

impl Basis {
    /// The function with the coefficients beta (r) of the document `before`, with groups of features of the document `after`.
    /// `None` for kernels that are no products over features, and for values of the kernel near 0.
    pub fn replacements(
        &self,
        beta: &[f64],
        [before, after]: [&[f64]; 2],
        groups: impl Iterator<Item = Vec<usize>>,
    ) -> Option<Replacements> {
        let (kernel, points) = (self.kernel(), self.points());
        let def = kernel.def();
        let mut least = kernel.block(before, 1, points);
        let terms: Vec<f64> = least.iter().zip(beta).map(|(value, beta)| value * beta).collect();
        let (mut factors, mut ticks) = (Vec::new(), Ticks::default());
        for columns in groups.take_while(|_| def.factorizes) {
            ticks.add(2 * columns.len() * least.len());
            let [old, new] = [before, after].map(|x| {
                let mut values = points.inner_over(def.inner, x, &columns);
                kernel.outer(&mut values);
                values
            });
            let factor: Vec<f64> = new.iter().zip(old).map(|(new, old)| new / old).collect();
            least.iter_mut().zip(&factor).for_each(|(least, factor)| *least *= factor.min(1.0));
            factors.push(lanes::from_slice(&factor));
        }
        let is_precise = def.factorizes && least.iter().all(|value| *value >= SMALLEST);
        let sum = terms.iter().sum();
        is_precise.then(|| Replacements { terms: (lanes::from_slice(&terms), sum), factors })
    }
}
