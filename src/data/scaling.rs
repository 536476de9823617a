//! Scaling of document features, learned on the training documents and kept in the model.
//!
//! | name | x becomes |
//! |---|---|
//! | `quantile` | z with P(Z <= z) = the fraction of training values below x (ties count half) for a standard normal Z; linear between the stored quantiles, constant outside |
//! | `standard` | (x - mean) / standard deviation; 0 if all training values are equal |
//! | `none` | x |
//! | `query_minmax` | (x - min) / (max - min) over the documents of its query; 0 if they are all equal |
//! | `quantile_minmax` | the `quantile` features followed by the `query_minmax` features |
//! | `max_norm` | x / the largest Euclidean norm of a training document, one number for all features: training documents have norm 1 at most |
//!
//! The two with min and max need all documents of a query, so models that use them cannot score single documents.
//! Scaled values have the type of the original matrix.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::categories::means_without;
use super::dataset::Dataset;
use super::gather::{self, ColumnWork};
use super::matrix::{Matrix, Slice, shaped};
use super::quantiles::{Quantiles, all_weighted_scores, normal_scores, weighted_scores};
use crate::base::{Control, Error, Result, Ticks, named, parallel, require};
use crate::math::{Element, LARGEST, dot, dot_by, is_positive, simd};

/// The kinds of scaling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalingKind {
    /// Global quantile to normal.
    Quantile,
    /// Mean 0, standard deviation 1.
    Standard,
    /// No scaling.
    None,
    /// Minimum 0 and maximum 1 within the query.
    QueryMinmax,
    /// Quantile and min-max side by side.
    QuantileMinmax,
    /// Largest norm of a document 1.
    MaxNorm,
}

named!(ScalingKind {
    Quantile = "quantile",
    Standard = "standard",
    None = "none",
    QueryMinmax = "query_minmax",
    QuantileMinmax = "quantile_minmax",
    MaxNorm = "max_norm",
});

/// Operations, for [`Ticks`], of scaling a value.
pub const VALUE_COST: usize = 16;

/// A learned scaling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Scaling {
    /// No change.
    None,
    /// Quantiles per feature.
    Quantile(Vec<Quantiles>),
    /// Mean and factor (1 / standard deviation, or 0) per feature.
    Standard(Vec<(f64, f64)>),
    /// Min-max within the query.
    QueryMinmax,
    /// Quantiles per feature, then min-max within the query.
    QuantileMinmax(Vec<Quantiles>),
    /// 1 / the largest norm of a document, or 0: one factor for all features.
    MaxNorm(f64),
}

// Fast path: a shared scaling is equal.
impl Eq for Scaling {}

impl Scaling {
    /// Learns a scaling on the documents of `data`, feature by feature on all threads.
    ///
    /// # Errors
    /// An interrupt.
    pub fn fit(kind: ScalingKind, data: &Dataset, control: &Control) -> Result<Self> {
        Ok(match kind {
            ScalingKind::None => Self::None,
            ScalingKind::QueryMinmax => Self::QueryMinmax,
            ScalingKind::Quantile => Self::Quantile(each_column(data, control, Quantiles::fit)?),
            ScalingKind::QuantileMinmax => Self::QuantileMinmax(each_column(data, control, Quantiles::fit)?),
            ScalingKind::Standard => Self::Standard(each_column(data, control, |x| mean_and_factor(&x))?),
            ScalingKind::MaxNorm => Self::MaxNorm(norm_factor(data, control)?),
        })
    }

    /// The scaling of some of the features, in this order.
    #[must_use]
    pub fn select(&self, features: &[usize]) -> Self {
        let quantiles = |of: &[Quantiles]| features.iter().map(|feature| of[*feature].clone()).collect();
        match self {
            Self::Quantile(of) => Self::Quantile(quantiles(of)),
            Self::QuantileMinmax(of) => Self::QuantileMinmax(quantiles(of)),
            Self::Standard(of) => Self::Standard(features.iter().map(|feature| of[*feature]).collect()),
            other => other.clone(),
        }
    }

    pub fn kind(&self) -> ScalingKind {
        match self {
            Self::None => ScalingKind::None,
            Self::Quantile(_) => ScalingKind::Quantile,
            Self::Standard(_) => ScalingKind::Standard,
            Self::QueryMinmax => ScalingKind::QueryMinmax,
            Self::QuantileMinmax(_) => ScalingKind::QuantileMinmax,
            Self::MaxNorm(_) => ScalingKind::MaxNorm,
        }
    }

    /// Whether single documents can be scaled without the rest of the query.
    pub fn pointwise(&self) -> bool {
        !matches!(self, Self::QueryMinmax | Self::QuantileMinmax(_))
    }

    /// Number of scaled features for `n` features.
    pub fn width(&self, n: usize) -> usize {
        if matches!(self, Self::QuantileMinmax(_)) { 2 * n } else { n }
    }

    /// Names of the scaled features.
    pub fn names(&self, names: &[String]) -> Vec<String> {
        let minmax = names.iter().map(|name| format!("{name} (min-max in query)"));
        match self {
            Self::QueryMinmax => minmax.collect(),
            Self::QuantileMinmax(_) => names.iter().cloned().chain(minmax).collect(),
            _ => names.to_vec(),
        }
    }

    /// Center and factor of a feature whose scaled value is (x - center) * factor; `None` if the scaling is not affine.
    pub fn affine(&self, feature: usize) -> Option<(f64, f64)> {
        match self {
            Self::None => Some((0.0, 1.0)),
            Self::Standard(moments) => moments.get(feature).copied(),
            Self::MaxNorm(factor) => Some((0.0, *factor)),
            Self::Quantile(_) | Self::QueryMinmax | Self::QuantileMinmax(_) => None,
        }
    }

    /// Number of features it was learned on, if fixed.
    pub fn features(&self) -> Option<usize> {
        match self {
            Self::Quantile(knots) | Self::QuantileMinmax(knots) => Some(knots.len()),
            Self::Standard(moments) => Some(moments.len()),
            Self::None | Self::QueryMinmax | Self::MaxNorm(_) => None,
        }
    }

    /// Checks a scaling that was read from bytes, for documents of `n` features.
    ///
    /// # Errors
    /// A scaling that does not fit `n` features.
    pub fn validate(&self, n: usize) -> Result<()> {
        let is_factor = |factor: &f64| (0.0..=LARGEST).contains(factor);
        let valid = match self {
            Self::None | Self::QueryMinmax => true,
            Self::Quantile(features) | Self::QuantileMinmax(features) => {
                features.iter().all(Quantiles::is_valid)
            }
            Self::Standard(moments) => moments.iter().all(|(m, f)| m.is_finite() && is_factor(f)),
            Self::MaxNorm(factor) => is_factor(factor),
        };
        require(
            "scaling",
            &[
                (self.features().is_none_or(|learned| learned == n), "the features of the model"),
                (valid, "bounded numbers and increasing quantiles"),
            ],
        )
    }

    /// One feature scaled without the rest of its query.
    #[inline]
    pub fn value(&self, feature: usize, x: f64) -> f64 {
        match self {
            Self::Quantile(knots) | Self::QuantileMinmax(knots) => knots[feature].normal_score(x),
            Self::Standard(moments) => (x - moments[feature].0) * moments[feature].1,
            Self::MaxNorm(factor) => x * factor,
            Self::None | Self::QueryMinmax => x,
        }
    }

    /// The weighted sum of the scaled features of a document, which are rounded to the type of the source. Only for a scaling
    /// of single documents.
    #[inline]
    pub fn weighted_sum<T: Element>(&self, document: &[T], weights: &[f64]) -> f64 {
        let weights = &weights[..document.len()];
        match self {
            Self::Quantile(quantiles) | Self::QuantileMinmax(quantiles) => {
                weighted_scores(quantiles, document, weights)
            }
            Self::Standard(moments) => standard_sum(&moments[..document.len()], document, weights),
            Self::MaxNorm(factor) => {
                dot_by(weights, |index| T::from_f64(document[index].to_f64() * factor).to_f64())
            }
            Self::None | Self::QueryMinmax => plain_sum(document, weights),
        }
    }

    /// Appends [`Self::weighted_sum`] of documents, row-major.
    pub fn add_weighted_sums<T: Element>(&self, documents: &[T], weights: &[f64], sums: &mut Vec<f64>) {
        if let Self::Quantile(quantiles) = self {
            all_weighted_scores(quantiles, documents, weights, sums);
        } else {
            let rows = documents.chunks_exact(weights.len().max(1));
            sums.extend(rows.map(|row| self.weighted_sum(row, weights)));
        }
    }

    /// [`Self::weighted_sum`] of a row of a matrix.
    pub fn row_sum(&self, features: &Matrix, row: usize, weights: &[f64]) -> f64 {
        match (features.slice(row..row + 1), features) {
            (Some(Slice::F32(document)), _) => self.weighted_sum(document, weights),
            (Some(Slice::F64(document)), _) => self.weighted_sum(document, weights),
            // Rows that are not contiguous are copied.
            (None, Matrix::F32(_)) => self.weighted_sum(&features.rows_f32(row..row + 1), weights),
            (None, Matrix::F64(_)) => self.weighted_sum(&features.row_f64(row), weights),
        }
    }

    /// Scales all documents of a matrix, on all threads. The rows of query i are `offsets[i]..offsets[i + 1]`. Reuses the
    /// memory of the matrix if the number of features stays the same.
    ///
    /// # Errors
    /// An interrupt.
    pub fn matrix(&self, features: Matrix, offsets: &[usize], control: &Control) -> Result<Matrix> {
        Ok(match features {
            features if matches!(self, Self::None) => features,
            Matrix::F32(array) => Matrix::F32(self.array(array, offsets, control)?),
            Matrix::F64(array) => Matrix::F64(self.array(array, offsets, control)?),
        })
    }

    /// The means of categories, relearned without held-out queries (rule 2.23): indices of scaled features, and their
    /// values. Empty without such means. `data`: scaled documents; `held_out`: one flag per query (`n_queries`).
    ///
    /// # Errors
    /// An interrupt.
    pub fn means_without(
        &self,
        data: &Dataset,
        held_out: &[bool],
        control: &Control,
    ) -> Result<Vec<(usize, Vec<f64>)>> {
        let mut scaled = Vec::new();
        if !held_out.contains(&true) {
            return Ok(scaled);
        }
        let held = (0..data.n_queries()).flat_map(|query| data.rows(query).map(move |_| held_out[query]));
        for (feature, values) in means_without(data, &held.collect::<Vec<bool>>()) {
            let column = data.features.like(values.len(), 1, values);
            let column = self.select(&[feature]).matrix(column, &data.offsets, control)?;
            // A scaling to two values puts all second values after all first values.
            let values = |copy: usize| (0..column.rows()).map(|row| column.at(row, copy)).collect();
            let width = data.names.len();
            scaled.extend((0..column.columns()).map(|copy| (feature + copy * width, values(copy))));
        }
        Ok(scaled)
    }

    fn array<T: Element>(&self, array: Array2<T>, offsets: &[usize], control: &Control) -> Result<Array2<T>> {
        let (rows, columns) = array.dim();
        let width = self.width(columns);
        let given = in_rows(array);
        if width == columns {
            let mut values = given;
            let queries = split_queries(&mut values, offsets, columns);
            parallel::try_each_of(queries, |_, rows| {
                control.check()?;
                let given = rows.to_vec();
                self.query(&given, columns, rows);
                Ok(())
            })?;
            return Ok(shaped(rows, columns, values));
        }
        let mut values = vec![T::from_f64(0.0); rows * width];
        let queries: Vec<&mut [T]> = split_queries(&mut values, offsets, width);
        parallel::try_each_of(queries, |query, out| {
            control.check()?;
            self.query(&given[offsets[query] * columns..offsets[query + 1] * columns], columns, out);
            Ok(())
        })?;
        Ok(shaped(rows, width, values))
    }

    /// The scaled documents of one query, row-major.
    fn query<T: Element>(&self, documents: &[T], columns: usize, out: &mut [T]) {
        let ranges = if self.pointwise() { Vec::new() } else { ranges(documents, columns) };
        let width = self.width(columns).max(1);
        let mut ticks = Ticks::default();
        for (raw, out) in documents.chunks_exact(columns.max(1)).zip(out.chunks_exact_mut(width)) {
            ticks.add(VALUE_COST * width);
            let (global, within) = match self {
                Self::QueryMinmax => out.split_at_mut(0),
                _ => out.split_at_mut(columns),
            };
            if let Self::Quantile(quantiles) | Self::QuantileMinmax(quantiles) = self {
                normal_scores(quantiles, raw, global);
                keep_missing(raw, global);
            } else {
                for (feature, (out, x)) in global.iter_mut().zip(raw).enumerate() {
                    *out = T::from_f64(self.value(feature, x.to_f64()));
                }
            }
            for ((out, x), (low, range)) in within.iter_mut().zip(raw).zip(&ranges) {
                *out = T::from_f64((x.to_f64() - low) / range);
            }
        }
    }
}

simd! {
    /// [`dot`] of a document.
    fn plain_sum<'a; T: Element>(document: &'a [T], weights: &'a [f64]) -> f64 {
        dot(document, weights)
    }
}

simd! {
    /// The weighted sum of a document with mean 0 and standard deviation 1.
    fn standard_sum<'a; T: Element>(moments: &'a [(f64, f64)], document: &'a [T], weights: &'a [f64]) -> f64 {
        let (moments, document) = (&moments[..weights.len()], &document[..weights.len()]);
        dot_by(weights, |index| T::from_f64((document[index].to_f64() - moments[index].0) * moments[index].1).to_f64())
    }
}

/// Missing values stay missing when scaled.
fn keep_missing<T: Element>(raw: &[T], scaled: &mut [T]) {
    for (scaled, raw) in scaled.iter_mut().zip(raw) {
        *scaled = if raw.to_f64().is_nan() { *raw } else { *scaled };
    }
}

/// The elements of an array, row after row.
fn in_rows<T: Copy>(array: Array2<T>) -> Vec<T> {
    if array.is_standard_layout() {
        array.into_raw_vec_and_offset().0
    } else {
        array.iter().copied().collect()
    }
}

/// The rows of each query, of `width` values a row.
fn split_queries<'a, T>(values: &'a mut [T], offsets: &[usize], width: usize) -> Vec<&'a mut [T]> {
    let mut rest = values;
    let mut queries = Vec::with_capacity(offsets.len());
    for bounds in offsets.windows(2) {
        let (query, after) = rest.split_at_mut((bounds[1] - bounds[0]) * width);
        queries.push(query);
        rest = after;
    }
    queries
}

/// Applies `learn` to the known values of each feature.
fn each_column<T: Send>(
    data: &Dataset,
    control: &Control,
    learn: impl Fn(Vec<f64>) -> T + Sync,
) -> Result<Vec<T>> {
    // Some scalings sort a copy of the values, and some learn a table.
    let work = ColumnWork { what: "scaling", bytes: 16 };
    let of_known = |_, mut column: Vec<f64>| {
        column.retain(|value| !value.is_nan());
        if column.is_empty() {
            column.push(0.0); // No value is known.
        }
        Ok(learn(column))
    };
    gather::each_column(data, work, control, |x| x, of_known)
}

/// Minimum and maximum - minimum of each feature over the documents of one query; infinity instead of a difference of
/// 0. The quotient is exactly 1 at the maximum, so that trees cannot distinguish the maxima of two queries.
fn ranges<T: Element>(documents: &[T], columns: usize) -> Vec<(f64, f64)> {
    let mut bounds = vec![(f64::INFINITY, f64::NEG_INFINITY); columns];
    let mut ticks = Ticks::default();
    for row in documents.chunks_exact(columns.max(1)) {
        ticks.add(columns);
        for (bound, x) in bounds.iter_mut().zip(row) {
            *bound = (bound.0.min(x.to_f64()), bound.1.max(x.to_f64()));
        }
    }
    let width = |range: f64| if inverse(range) > 0.0 { range } else { f64::INFINITY };
    bounds.into_iter().map(|(low, high)| (low, width(high - low))).collect()
}

/// 1 / x if that is finite and x > 0, otherwise 0.
fn inverse(x: f64) -> f64 {
    let inverse = 1.0 / x;
    if inverse.is_finite() && x > 0.0 { inverse } else { 0.0 }
}

/// 1 / the largest norm of a document; 0 if all documents are 0.
///
/// # Errors
/// A factor that a model cannot store; an interrupt.
fn norm_factor(data: &Dataset, control: &Control) -> Result<f64> {
    let columns = data.features.columns();
    let norm = |row: usize| {
        let largest = (0..columns).map(|column| data.features.at(row, column).abs()).fold(0.0, f64::max);
        let part = |column: usize| (data.features.at(row, column) * inverse(largest)).powi(2);
        largest.max(largest * (0..columns).map(part).sum::<f64>().sqrt())
    };
    let largest_of_query = |query: usize| {
        control.check()?;
        let mut ticks = Ticks::default();
        let norms = data.rows(query).map(|row| {
            ticks.add(2 * columns);
            norm(row)
        });
        Ok(norms.fold(0.0, f64::max))
    };
    let largest = parallel::try_map(data.n_queries(), largest_of_query)?.into_iter().fold(0.0, f64::max);
    let factor = inverse(largest);
    if largest > 0.0 && !(is_positive(factor) && largest.is_finite()) {
        let problem = if largest < 1.0 { "small" } else { "large" };
        return Err(Error::Data(format!(
            "the largest document has the length {largest:e}, which is too {problem} for \"scale\": \"max_norm\"; multiply \
             the features by a number, or use \"scale\": \"standard\""
        )));
    }
    Ok(factor)
}

fn mean_and_factor(values: &[f64]) -> (f64, f64) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    mean_and_factor_of(mean, values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n)
}

/// Mean, and 1 / standard deviation or 0.
pub fn mean_and_factor_of(mean: f64, variance: f64) -> (f64, f64) {
    let spread = variance.sqrt();
    // If all values are equal, rounding leaves a spread of a few units in the last place.
    let constant = spread <= 1e-14 * mean.abs();
    (mean, if constant { 0.0 } else { inverse(spread) })
}
