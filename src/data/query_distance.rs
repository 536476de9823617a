//! The distance between two queries: numbers jointly, every other column with its own kernel.
//!
//! The weight of a training query is a product over the query features (Dai & Wang 2019, section 3.1):
//!
//! ```text
//! pi = W(d / h)  prod_c K_c,      d^2 = sum over numbers of w (a - b)^2
//! ```
//!
//! | comparison | K_c | source |
//! |---|---|---|
//! | `overlap` | 1 for equal categories, else exp(-w) | Racine & Li 2004, section 2 |
//! | `mallows` | exp(-w D), D: number of discordant pairs of items | Mania et al. 2018 |
//! | `kendall` | max(0, 1 - 2 D / P)^w, P: number of pairs of items | Jiao & Vert 2015; negative values are cut because weights are not negative |
//!
//! Items missing from an order are tied after all others. A pair tied in only one of the orders counts 1/2 in D
//! (Fagin, Kumar & Sivakumar 2003). The combined distance u orders the queries:
//!
//! ```text
//! u^2 = (d / h)^2 - 2 log prod_c K_c
//! ```
//!
//! so the nearest queries have the largest products with a Gaussian W. If all columns are numbers, u is d.

use serde::{Deserialize, Serialize};

use crate::base::{Result, named, require};
use crate::math::{compare, distance, pairs, tied_pairs};

/// How the values of one query feature are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparison {
    /// The difference of numbers.
    Euclidean,
    /// Equality of categories.
    Overlap,
    /// The correlation of two orders of items.
    Kendall,
    /// The number of item pairs in different order.
    Mallows,
}

named!(Comparison { Euclidean = "euclidean", Overlap = "overlap", Kendall = "kendall", Mallows = "mallows" });

/// How one query feature contributes to the distance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ColumnDistance {
    /// How values are compared.
    pub comparison: Comparison,
    /// The first number in an encoded row.
    pub start: usize,
    /// How many numbers it takes in an encoded row: 1, or the number of items.
    pub width: usize,
    /// The weight w >= 0: the factor of a squared difference of numbers, or the strength of a kernel.
    pub weight: f64,
}

/// The distance between encoded query features.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<ColumnDistance>", into = "Vec<ColumnDistance>")]
pub struct QueryDistance {
    /// One per query feature. Numbers come first in a row, in column order.
    pub columns: Vec<ColumnDistance>,
    /// Number of columns of numbers.
    pub numbers: usize,
    /// Weights of the numbers; empty if all are 1.
    pub number_weights: Vec<f64>,
}

/// The difference between two queries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Separation {
    /// Euclidean distance d of the numbers.
    pub distance: f64,
    /// -log of the product of all other kernels, from 0 to infinity.
    pub cost: f64,
}

impl From<Vec<ColumnDistance>> for QueryDistance {
    fn from(columns: Vec<ColumnDistance>) -> Self {
        let numbers = columns.iter().filter(|column| column.comparison == Comparison::Euclidean);
        let mut number_weights: Vec<f64> = numbers.map(|column| column.weight).collect();
        let numbers = number_weights.len();
        if number_weights.iter().all(|weight| weight.total_cmp(&1.0).is_eq()) {
            number_weights.clear();
        }
        Self { columns, numbers, number_weights }
    }
}

impl From<QueryDistance> for Vec<ColumnDistance> {
    fn from(distance: QueryDistance) -> Self {
        distance.columns
    }
}

impl QueryDistance {
    /// Whether all columns are numbers.
    pub fn is_euclidean(&self) -> bool {
        self.numbers == self.columns.len()
    }

    /// Whether all columns are numbers with weight 1.
    pub fn is_plain(&self) -> bool {
        self.is_euclidean() && self.number_weights.is_empty()
    }

    /// The difference between two encoded rows of the same length.
    pub fn between(&self, a: &[f64], b: &[f64]) -> Separation {
        let kernels = self
            .columns
            .iter()
            .filter(|column| column.comparison != Comparison::Euclidean && column.weight > 0.0);
        let cost = kernels.map(|column| column.weight * column.cost_per_weight(a, b)).sum();
        Separation { distance: self.numbers_between(a, b), cost }
    }

    /// Euclidean distance of the numbers of two encoded rows.
    pub fn numbers_between(&self, a: &[f64], b: &[f64]) -> f64 {
        let (a, b) = (&a[..self.numbers], &b[..self.numbers]);
        if self.number_weights.is_empty() {
            return distance(a, b);
        }
        let squares = a.iter().zip(b).zip(&self.number_weights);
        self.of_square(squares.map(|((a, b), weight)| weight * (a - b) * (a - b)).sum::<f64>())
    }

    /// The distance, given the square for numbers.
    pub fn of_square(&self, square: f64) -> f64 {
        if self.number_weights.is_empty() { square.sqrt() } else { square.sqrt().min(f64::MAX) }
    }

    /// The same distance with new weights for some columns, each clamped to 0 to 1e6.
    #[must_use]
    pub fn with_weights(&self, weights: impl IntoIterator<Item = (usize, f64)>) -> Self {
        let mut columns = self.columns.clone();
        for (column, weight) in weights {
            columns[column].weight = weight.clamp(0.0, MAX_COLUMN_WEIGHT);
        }
        Self::from(columns)
    }

    /// The distance that orders queries: d if all columns are numbers, otherwise u. Finite, even if h is 0.
    pub fn combined(&self, separation: &Separation, h: f64) -> f64 {
        let Separation { distance, cost } = *separation;
        if self.is_euclidean() {
            return distance;
        }
        let u = if distance > 0.0 { distance / h } else { 0.0 };
        (u * u + 2.0 * cost).sqrt().min(f64::MAX)
    }

    /// Checks a distance that was read from bytes, for encoded rows of this length.
    ///
    /// # Errors
    /// A distance that does not fit rows of this length.
    pub fn validate(&self, width: usize) -> Result<()> {
        let numbers = self.columns.iter().filter(|column| column.comparison == Comparison::Euclidean);
        let inside =
            |column: &ColumnDistance| column.start.checked_add(column.width).is_some_and(|end| end <= width);
        let weights = |column: &ColumnDistance| (0.0..=MAX_COLUMN_WEIGHT).contains(&column.weight);
        require(
            "query distance",
            &[
                (self.columns.iter().all(inside), "columns inside a row"),
                (
                    numbers.enumerate().all(|(at, column)| (column.start, column.width) == (at, 1)),
                    "numbers first",
                ),
                (self.columns.iter().all(weights), "weights from 0 to 1e6"),
            ],
        )
    }
}

/// Largest weight of a column.
const MAX_COLUMN_WEIGHT: f64 = 1e6;

impl ColumnDistance {
    /// -log K with weight 1, from 0 to infinity; 0 for numbers.
    pub fn cost_per_weight(&self, a: &[f64], b: &[f64]) -> f64 {
        let range = self.start..self.start + self.width;
        let (a, b) = (&a[range.clone()], &b[range]);
        match self.comparison {
            Comparison::Euclidean => 0.0,
            Comparison::Overlap => f64::from(u8::from(a != b)),
            Comparison::Mallows => discordant(a, b),
            Comparison::Kendall => {
                -libm::log((1.0 - 2.0 * discordant(a, b) / pairs(a.len()).max(1) as f64).max(0.0))
            }
        }
    }
}

/// Number of discordant pairs of two orders, given by item positions. A pair tied in one of them counts 1/2.
fn discordant(a: &[f64], b: &[f64]) -> f64 {
    let mut items: Vec<(f64, f64)> = a.iter().copied().zip(b.iter().copied()).collect();
    items.sort_unstable_by(|x, y| compare(x.0, y.0).then(compare(x.1, y.1)));
    // In this order of a, a pair is discordant if its second item comes first in b.
    let (mut discordant, mut sorted) = (0, Vec::with_capacity(items.len()));
    for &(_, position) in &items {
        let before = sorted.partition_point(|other| compare(*other, position).is_le());
        discordant += (sorted.len() - before) as u64;
        sorted.insert(before, position);
    }
    let tied_in_a = tied_pairs(&items, |x, y| compare(x.0, y.0).is_eq());
    let tied_in_b = tied_pairs(&sorted, |x, y| compare(*x, *y).is_eq());
    let tied_in_both = tied_pairs(&items, |x, y| compare(x.0, y.0).is_eq() && compare(x.1, y.1).is_eq());
    discordant as f64 + 0.5 * (tied_in_a + tied_in_b - 2 * tied_in_both) as f64
}

// Design effects: how much more fractions vary than for the same number of independent values.
//
// Values within a query are alike, so n of them are less informative than n independent ones. A query is a cluster of a
// sample (Kish 1965). With c_ik values of category k among the n_i values of query i, p_k their fraction of all n
// values, and Q queries, the covariance of the fractions is
//
// ```text
// V_kl = Q / (Q - 1) sum_i (c_ik - n_i p_k) (c_il - n_i p_l) / n^2
// ```
//
// The design effect of K categories with expected fractions e_k is n / (K - 1) sum_k V_kk / e_k: the mean factor by which
// the statistic of a chi-square test is too large (Rao & Scott 1981, first-order correction). n divided by it is the
// number of independent values. The degrees of freedom are chosen so that a chi-square also has the right
// variance (Rao & Scott 1981, second-order correction): (sum_k V_kk / e_k)^2 / sum_kl V_kl^2 / (e_k e_l), from 1
// to K - 1.

/// Counts of categories, and sums of their products within queries.
pub(super) struct Clusters {
    /// Number of values in each category, in completed queries.
    pub counts: Vec<u64>,
    /// Number of queries with a value.
    pub queries: u64,
    /// sum_i c_ik c_il.
    products: Vec<f64>,
    /// The counts of the current query.
    current: Vec<u64>,
}

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

    /// The design effect; `expected`: category fractions, by default the observed ones. A single query counts as one value.
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
        let columns: Vec<usize> = (0..categories).filter(|k| of_category(*k) > 0.0).collect();
        let trace: f64 = columns.iter().map(|&k| covariance(k, k) / of_category(k)).sum();
        let square = |k: usize, l: usize| covariance(k, l).powi(2) / (of_category(k) * of_category(l));
        let squares: f64 = columns.iter().flat_map(|&k| columns.iter().map(move |&l| square(k, l))).sum();
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

    fn column(comparison: Comparison, start: usize, width: usize, weight: f64) -> ColumnDistance {
        ColumnDistance { comparison, start, width, weight }
    }

    /// All orders of three items, as positions.
    const ORDERS: [[f64; 3]; 6] = [
        [0.0, 1.0, 2.0],
        [0.0, 2.0, 1.0],
        [1.0, 0.0, 2.0],
        [1.0, 2.0, 0.0],
        [2.0, 0.0, 1.0],
        [2.0, 1.0, 0.0],
    ];

    #[test]
    fn discordant_pairs_of_orders() {
        let halves = |order: &[f64]| ORDERS.map(|other| (2.0 * discordant(order, &other)) as u32);
        assert_eq!(halves(&ORDERS[0]), [0, 2, 2, 4, 4, 6]);
        // Only the first item is listed: it precedes the others, which are tied.
        assert_eq!(halves(&[0.0, 1.0, 1.0]), [1, 1, 3, 3, 5, 5]);
        // Nothing is listed: every pair counts 1/2.
        assert_eq!(halves(&[0.0; 3]), [3; 6]);
        assert!(discordant(&[0.0; 3], &[0.0; 3]) <= 0.0);
    }

    #[test]
    fn discordant_pairs_are_those_with_other_signs() {
        let sign = |a: f64, b: f64| i32::from(a > b) - i32::from(a < b);
        for (n, values) in [(0, 1), (1, 1), (7, 3), (40, 40), (256, 100)] {
            let order =
                |step: usize| (0..n).map(|i| ((i * step + 3) % 257 % values) as f64).collect::<Vec<_>>();
            let (a, b) = (order(29), order(101));
            let pairs = (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
            let halves: i32 = pairs.map(|(i, j)| (sign(a[i], a[j]) - sign(b[i], b[j])).abs()).sum();
            assert_eq!((2.0 * discordant(&a, &b)) as i32, halves, "{n} items");
        }
    }

    #[test]
    fn weights_stay_in_the_range_of_stored_models() {
        let distance = QueryDistance::from(vec![column(Comparison::Overlap, 0, 1, 1.0)]);
        let huge = distance.with_weights([(0, 1.2e6)]);
        assert!(huge.validate(1).is_ok() && huge.columns[0].weight <= MAX_COLUMN_WEIGHT);
    }

    #[test]
    fn weights_of_numbers_stretch_their_differences() {
        let columns =
            vec![column(Comparison::Euclidean, 0, 1, 1.0), column(Comparison::Euclidean, 1, 1, 1.0)];
        let plain = QueryDistance::from(columns);
        assert!(plain.is_plain());
        let (a, b) = ([0.0, 0.0], [3.0, 4.0]);
        assert!((plain.combined(&plain.between(&a, &b), 7.0) - 5.0).abs() < 1e-15);
        let weighted = plain.with_weights([(0, 4.0), (1, 0.25)]);
        assert!(!weighted.is_plain() && weighted.is_euclidean());
        assert!((weighted.between(&a, &b).distance - 40.0_f64.sqrt()).abs() < 1e-14);
    }

    #[test]
    fn columns_outside_of_the_row_are_refused() {
        let refused = |column: ColumnDistance| QueryDistance::from(vec![column]).validate(3).is_err();
        assert!(refused(column(Comparison::Overlap, 3, 1, 1.0)));
        assert!(refused(column(Comparison::Mallows, 1, usize::MAX, 1.0)));
        assert!(refused(column(Comparison::Euclidean, 1, 1, 1.0)));
        assert!(refused(column(Comparison::Overlap, 0, 1, f64::NAN)));
        assert!(refused(column(Comparison::Overlap, 0, 1, -1.0)));
        assert!(!refused(column(Comparison::Kendall, 0, 3, 1.0)));
    }
}

#[cfg(test)]
mod clusters_tests {
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
    fn the_effect_matches_its_definition() {
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
