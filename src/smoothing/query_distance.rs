//! The distance between two queries: numbers together, every other column by a kernel of its own.
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
//! Items that an order does not list are tied behind all others. A pair that is tied in one order only counts 1/2 in D
//! (Fagin, Kumar & Sivakumar 2003). The combined distance u orders the queries:
//!
//! ```text
//! u^2 = (d / h)^2 - 2 log prod_c K_c
//! ```
//!
//! so the nearest queries have the largest products with a Gaussian W. Without other columns than numbers it is d.

use serde::{Deserialize, Serialize};

use crate::error::{Result, require};
use crate::math::dense::distance;
use crate::param::named;

/// How the values of one query feature are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparison {
    /// The difference of numbers.
    Euclidean,
    /// Whether categories are equal.
    Overlap,
    /// The correlation of two orders of items.
    Kendall,
    /// The number of pairs of items in another order.
    Mallows,
}

named!(Comparison { Euclidean = "euclidean", Overlap = "overlap", Kendall = "kendall", Mallows = "mallows" });

/// How one query feature counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ColumnDistance {
    /// How its values are compared.
    pub comparison: Comparison,
    /// Its first number in an encoded row.
    pub start: usize,
    /// How many numbers of an encoded row it takes: 1, or the number of items.
    pub width: usize,
    /// Its weight w, >= 0: the factor of the squared difference of numbers, the strength of a kernel.
    pub weight: f64,
}

/// The distance between encoded query features.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<ColumnDistance>", into = "Vec<ColumnDistance>")]
pub struct QueryDistance {
    /// One per query feature. Numbers come first in a row, in the order of their columns.
    columns: Vec<ColumnDistance>,
    /// Number of columns of numbers.
    numbers: usize,
    /// Weights of the numbers; empty if all are 1.
    number_weights: Vec<f64>,
}

/// What separates two queries.
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
    /// The columns, in the order of the query features.
    pub fn columns(&self) -> &[ColumnDistance] {
        &self.columns
    }

    /// Number of columns of numbers.
    pub fn numbers(&self) -> usize {
        self.numbers
    }

    /// Whether there are only numbers.
    pub fn is_euclidean(&self) -> bool {
        self.numbers == self.columns.len()
    }

    /// Whether there are only numbers, all with the weight 1.
    pub fn is_plain(&self) -> bool {
        self.is_euclidean() && self.number_weights.is_empty()
    }

    /// What separates two encoded rows of the same length.
    pub fn between(&self, a: &[f64], b: &[f64]) -> Separation {
        let (of_a, of_b) = (&a[..self.numbers], &b[..self.numbers]);
        let distance = if self.number_weights.is_empty() {
            distance(of_a, of_b)
        } else {
            let squares = of_a.iter().zip(of_b).zip(&self.number_weights);
            squares.map(|((a, b), weight)| weight * (a - b) * (a - b)).sum::<f64>().sqrt()
        };
        let others = self.columns.iter().filter(|column| column.comparison != Comparison::Euclidean);
        let cost = others.map(|column| {
            let range = column.start..column.start + column.width;
            column.cost(&a[range.clone()], &b[range])
        });
        Separation { distance, cost: cost.sum() }
    }

    /// The distance that orders the queries: d without other columns than numbers, else u.
    pub fn combined(&self, separation: &Separation, h: f64) -> f64 {
        let Separation { distance, cost } = *separation;
        if self.is_euclidean() {
            return distance;
        }
        let u = if distance > 0.0 { distance / h } else { 0.0 };
        (u * u + 2.0 * cost).sqrt()
    }

    /// Checks a distance that was read from bytes, for encoded rows of this length.
    ///
    /// # Errors
    /// A reason why it does not fit.
    pub fn validate(&self, width: usize) -> Result<()> {
        let numbers = self.columns.iter().filter(|column| column.comparison == Comparison::Euclidean);
        let inside =
            |column: &ColumnDistance| column.start.checked_add(column.width).is_some_and(|end| end <= width);
        let weights = |column: &ColumnDistance| (0.0..=MAX_WEIGHT).contains(&column.weight);
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

impl Comparison {
    /// The weight w of a column for this many training queries and columns of numbers: 1 for numbers. A mismatch of
    /// categories, or a pair of items in another order, multiplies pi by n^(-2 / (4 + p)), the rate of the best
    /// bandwidths of categories and grades (Racine & Li 2004, theorem 2.1).
    pub fn default_weight(self, queries: usize, numbers: usize) -> f64 {
        match self {
            Self::Euclidean | Self::Kendall => 1.0,
            Self::Overlap | Self::Mallows => 2.0 / (4.0 + numbers as f64) * libm::log(queries.max(1) as f64),
        }
    }
}

/// Largest weight of a column.
const MAX_WEIGHT: f64 = 1e6;

impl ColumnDistance {
    /// -log K of two values.
    fn cost(&self, a: &[f64], b: &[f64]) -> f64 {
        match self.comparison {
            Comparison::Euclidean => 0.0,
            Comparison::Overlap if a == b => 0.0,
            Comparison::Overlap => self.weight,
            Comparison::Mallows => self.weight * discordant(a, b),
            Comparison::Kendall => {
                let pairs = (a.len() * a.len().saturating_sub(1) / 2).max(1) as f64;
                let similarity = 1.0 - 2.0 * discordant(a, b) / pairs;
                if self.weight > 0.0 { self.weight * -libm::log(similarity.max(0.0)) } else { 0.0 }
            }
        }
    }
}

/// Number of discordant pairs of two orders, given by the position of each item. A pair tied in one of them counts 1/2.
fn discordant(a: &[f64], b: &[f64]) -> f64 {
    let mut halves = 0;
    for i in 1..a.len() {
        for j in 0..i {
            halves += (sign(a[i], a[j]) - sign(b[i], b[j])).abs();
        }
    }
    0.5 * f64::from(halves)
}

/// 1 if a > b, -1 if a < b, else 0.
fn sign(a: f64, b: f64) -> i32 {
    i32::from(a > b) - i32::from(a < b)
}
