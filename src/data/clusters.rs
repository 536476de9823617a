//! How much more shares vary between queries than shares of the same number of independent values.
//!
//! Values of one query are alike, so that n of them tell less than n independent ones. A query is a cluster of a sample
//! (Kish 1965). With c_ik values of category k among the n_i values of query i, p_k their share among all n values, and Q
//! queries, the covariance of the shares is
//!
//! ```text
//! V_kl = Q / (Q - 1) sum_i (c_ik - n_i p_k) (c_il - n_i p_l) / n^2
//! ```
//!
//! The design effect of K categories with expected shares e_k is n / (K - 1) sum_k V_kk / e_k: the mean factor by which
//! the statistic of a chi-square test is too large (Rao & Scott 1981, first-order correction). n divided by it is the
//! number of independent values. The degrees of freedom are chosen so that a chi-square has the right mean and
//! variance, too (Rao & Scott 1981, second-order correction): (sum_k V_kk / e_k)^2 / sum_kl V_kl^2 / (e_k e_l), from 1
//! to K - 1.

/// Counts of categories, and sums of their products within queries.
pub(super) struct Clusters {
    /// Number of values in each category, in the queries that have ended.
    pub counts: Vec<u64>,
    /// Number of queries with a value.
    pub queries: u64,
    /// sum_i c_ik c_il.
    products: Vec<f64>,
    /// The counts of the current query.
    current: Vec<u64>,
}

/// A design effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DesignEffect {
    /// The factor, at least 1.
    pub factor: f64,
    /// The degrees of freedom.
    pub degrees: f64,
}

impl Clusters {
    pub fn new(categories: usize) -> Self {
        Self {
            counts: vec![0; categories],
            queries: 0,
            products: vec![0.0; categories * categories],
            current: vec![0; categories],
        }
    }

    /// Adds a value of a category to the current query.
    #[inline]
    pub fn add(&mut self, category: usize) {
        self.current[category] += 1;
    }

    /// Ends the current query.
    pub fn end(&mut self) {
        let categories = self.current.len();
        let mut sum = 0;
        for k in 0..categories {
            let count = self.current[k];
            if count > 0 {
                sum += count;
                self.counts[k] += count;
                let products = &mut self.products[k * categories..(k + 1) * categories];
                let add = |(sum, other): (&mut f64, &u64)| *sum += (count * other) as f64;
                products.iter_mut().zip(&self.current).for_each(add);
            }
        }
        self.queries += u64::from(sum > 0);
        self.current.fill(0);
    }

    /// The design effect; `expected`: shares of the categories, by default those that were found. One query is one value.
    pub fn effect(&self, expected: Option<&[f64]>) -> DesignEffect {
        let categories = self.counts.len();
        let (n, queries) = (self.counts.iter().sum::<u64>() as f64, self.queries as f64);
        let most = (categories.max(2) - 1) as f64;
        if queries < 2.0 {
            return DesignEffect { factor: n.max(1.0), degrees: most };
        }
        let share = |k: usize| self.counts[k] as f64 / n;
        let row = |k: usize| &self.products[k * categories..(k + 1) * categories];
        let with_size: Vec<f64> = (0..categories).map(|k| row(k).iter().sum()).collect();
        let sizes: f64 = with_size.iter().sum();
        let covariance = |k: usize, l: usize| {
            let (p, q) = (share(k), share(l));
            let sum = row(k)[l] - q * with_size[k] - p * with_size[l] + p * q * sizes;
            queries / (queries - 1.0) * sum / (n * n)
        };
        let of_category = |k: usize| expected.map_or_else(|| share(k), |expected| expected[k]);
        let found: Vec<usize> = (0..categories).filter(|k| of_category(*k) > 0.0).collect();
        let trace: f64 = found.iter().map(|&k| covariance(k, k) / of_category(k)).sum();
        let square = |k: usize, l: usize| covariance(k, l).powi(2) / (of_category(k) * of_category(l));
        let squares: f64 = found.iter().flat_map(|&k| found.iter().map(move |&l| square(k, l))).sum();
        let factor = n * trace / most;
        if factor <= 1.0 || squares <= 0.0 {
            return DesignEffect { factor: 1.0, degrees: most };
        }
        DesignEffect { factor, degrees: (trace * trace / squares).clamp(1.0, most) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clusters(counts: &[&[usize]]) -> Clusters {
        let mut clusters = Clusters::new(counts[0].len());
        for query in counts {
            for (category, n) in query.iter().enumerate() {
                (0..*n).for_each(|_| clusters.add(category));
            }
            clusters.end();
        }
        clusters
    }

    #[test]
    fn equal_values_of_a_query_count_as_one() {
        // Ten queries of six values each: V_kk = p (1 - p) / (Q - 1).
        let counts: Vec<&[usize]> =
            (0..10).map(|query| if query % 2 == 0 { &[6, 0][..] } else { &[0, 6] }).collect();
        let effect = clusters(&counts).effect(None);
        assert!((effect.factor - 60.0 / 9.0).abs() < 1e-12 && (effect.degrees - 1.0).abs() < 1e-12);
    }

    #[test]
    fn shares_that_do_not_vary_have_no_effect() {
        let effect = clusters(&[&[2, 3, 1], &[2, 3, 1], &[4, 6, 2]]).effect(None);
        assert_eq!(effect, DesignEffect { factor: 1.0, degrees: 2.0 });
        assert_eq!(clusters(&[&[2, 3]]).effect(None), DesignEffect { factor: 5.0, degrees: 1.0 });
        assert!((clusters(&[&[0, 0], &[0, 0]]).effect(None).factor - 1.0).abs() < 1e-12);
    }

    /// The definition, with sums over queries.
    #[test]
    fn the_effect_is_that_of_its_definition() {
        let counts: [&[usize]; 4] = [&[5, 0, 1], &[1, 4, 0], &[0, 2, 6], &[3, 3, 3]];
        let (n, queries) = (28.0, 4.0);
        let total = |k: usize| counts.iter().map(|query| query[k]).sum::<usize>() as f64;
        let v = |k: usize, l: usize| {
            let part = |query: &&[usize], k: usize| {
                query[k] as f64 - query.iter().sum::<usize>() as f64 * total(k) / n
            };
            let sum: f64 = counts.iter().map(|query| part(query, k) * part(query, l)).sum();
            queries / (queries - 1.0) * sum / (n * n)
        };
        let trace: f64 = (0..3).map(|k| v(k, k) / (total(k) / n)).sum();
        let pairs = (0..3).flat_map(|k| (0..3).map(move |l| (k, l)));
        let squares: f64 = pairs.map(|(k, l)| v(k, l).powi(2) * n * n / (total(k) * total(l))).sum();
        let effect = clusters(&counts).effect(None);
        assert!((effect.factor - n * trace / 2.0).abs() < 1e-12, "{effect:?}");
        assert!((effect.degrees - trace * trace / squares).abs() < 1e-12, "{effect:?}");
    }
}
