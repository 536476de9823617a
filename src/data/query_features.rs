//! Query features, from which the distance between queries is computed (rules 4.1 to 4.3).
//!
//! | kind | a query's features are |
//! |---|---|
//! | `named` | the query features of the source |
//! | `constant` | the document features that are constant within every training query but differ between queries (Dai & Wang 2019, section 5.2) |
//! | `mean` | the mean of each document feature over the documents of the query (Geng et al. 2008) |
//!
//! They are standardized over the training queries, unless the option `query_scale` is `none`.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::dataset::Dataset;
use super::matrix::{Matrix, shaped};
use super::missing::Missing;
use super::quantity::Quantities;
use super::query_columns::{Cell, Encoding, QueryValue, READING, Refused, refuse_value};
use crate::base::{Control, Error, Reservation, Result, Ticks, matrix_bytes, named, require};
use crate::data::query_distance::Comparison;
use crate::data::{ColumnDistance, QueryDistance, UnknownValues};
use crate::math::{are_bounded, compare, sort_ascending};

/// Where query features come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum QueryFeatureKind {
    /// The query features of the source.
    Named,
    /// Document features that are constant within every query.
    Constant,
    /// Means of document features.
    Mean,
}

named!(QueryFeatureKind { Named = "named", Constant = "constant", Mean = "mean" });

/// Scaling of query features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryScale {
    /// Mean 0 and standard deviation 1.
    Standard,
    None,
}

named!(QueryScale { Standard = "standard", None = "none" });

/// How the caller wants query features compared, by name.
pub type GivenDistances = Vec<(String, Comparison)>;

/// How to compute the features of a query, learned in training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueryFeatureRule {
    /// Where they come from.
    pub kind: QueryFeatureKind,
    /// Their names (p).
    pub names: Vec<String>,
    /// For `constant`: the columns of the document features.
    columns: Vec<usize>,
    /// How each is encoded as numbers (p).
    encodings: Vec<Encoding>,
}

/// Query features before they are encoded.
enum Raw<'a> {
    /// As given by the source.
    Named(&'a Array2<QueryValue>),
    /// Computed from documents.
    Computed(Array2<f64>),
}

impl Raw<'_> {
    fn cell(&self, query: usize, column: usize) -> Cell<'_> {
        match self {
            Self::Named(values) => values[[query, column]].cell(),
            Self::Computed(values) => Cell::Number(values[[query, column]]),
        }
    }
}

impl QueryFeatureRule {
    /// Learns the rule and the distance on a training set; by default, uses the first kind available.
    ///
    /// # Errors
    /// A kind not available in the data; a value that its column does not allow; a distance for an unknown feature.
    pub fn fit(
        data: &Dataset,
        kind: Option<QueryFeatureKind>,
        scale: QueryScale,
        given: &[(String, Comparison)],
    ) -> Result<(Self, QueryDistance)> {
        // 1. Where they come from.
        let (kind, names, columns) = choose_kind(data, kind)?;
        check_names(&names, given)?;
        let mut rule = Self { kind, names, columns, encodings: Vec::new() };
        let raw = rule.raw(data)?;
        // 2. What each of them is.
        let mut comparisons = Vec::new();
        for (column, name) in rule.names.iter().enumerate() {
            let values = (0..data.n_queries()).map(|query| raw.cell(query, column));
            let given = given.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
            let fitted = Encoding::fit(values, given.map(|(_, comparison)| *comparison));
            let (encoding, comparison) = fitted.map_err(|(query, problem)| match query {
                Some(query) => {
                    refuse_value(&format!("query {}: query feature", data.query_ids[query]), name, &problem)
                }
                None => Error::Data(format!("query feature \"{name}\" has {problem}")),
            })?;
            rule.encodings.push(encoding);
            comparisons.push(comparison);
        }
        // 3. Scales of numbers.
        if scale == QueryScale::Standard {
            rule.standardize(&raw, data);
        }
        let distance = rule.distance(&comparisons);
        Ok((rule, distance))
    }

    /// Gives each number mean 0 and standard deviation 1 over the queries of `data`.
    fn standardize(&mut self, raw: &Raw<'_>, data: &Dataset) {
        for (column, encoding) in self.encodings.iter_mut().enumerate() {
            let Encoding::Number { mean, center, factor } = encoding else { continue };
            let value = |query| match raw.cell(query, column) {
                Cell::Missing if data.missing == Missing::Zero => 0.0,
                cell => cell.number().unwrap_or(*mean),
            };
            (*center, *factor) = standard(&(0..data.n_queries()).map(value).collect::<Vec<f64>>());
        }
    }

    /// The distance between rows, with all weights 1: numbers first, then the other columns.
    fn distance(&self, comparisons: &[Comparison]) -> QueryDistance {
        let (mut number, mut other) = (0, self.number_count());
        let column = |(encoding, comparison): (&Encoding, &Comparison)| {
            let next = if encoding.is_number() { &mut number } else { &mut other };
            let start = *next;
            *next += encoding.width();
            ColumnDistance { comparison: *comparison, start, width: encoding.width(), weight: 1.0 }
        };
        let columns: Vec<ColumnDistance> = self.encodings.iter().zip(comparisons).map(column).collect();
        QueryDistance::from(columns)
    }

    /// Number of query features that are numbers. They come first in an encoded row.
    pub fn number_count(&self) -> usize {
        self.encodings.iter().filter(|encoding| encoding.is_number()).count()
    }

    /// The numbers of an encoded row; missing ones are 0.
    pub fn numbers_of(&self, encoded: &[f64]) -> Vec<f64> {
        let number = |value: &f64| if value.is_nan() { 0.0 } else { *value };
        encoded.iter().take(self.number_count()).map(number).collect()
    }

    /// Appends each document's query numbers to the scaled features.
    ///
    /// # Errors
    /// Missing query features; an interrupt; too little memory.
    pub fn append_numbers(&self, data: &mut Dataset, control: &Control) -> Result<Reservation> {
        let (n, m, p) = (data.n_docs(), data.features.columns(), self.number_count());
        let bytes = matrix_bytes(n, m + p).saturating_add(matrix_bytes(data.n_queries(), self.width()));
        let memory =
            control.reserve(bytes, "query features of documents", "use fewer rows or query features")?;
        let encoded = self.features(data)?;
        let mut rows = Vec::with_capacity(n * (m + p));
        for (query, encoded) in encoded.rows().into_iter().enumerate() {
            control.check()?;
            let z = self.numbers_of(&encoded.to_vec());
            let x = data.features.select_rows(&data.rows(query).collect::<Vec<usize>>()).followed_by(&z);
            rows.extend(x.rows_f64(0..x.rows()));
        }
        data.features = Matrix::F64(shaped(n, m + p, rows));
        Ok(memory)
    }

    /// Length of an encoded row.
    pub fn width(&self) -> usize {
        self.encodings.iter().map(Encoding::width).sum()
    }

    /// Encoded features of every query of `data` (`n_queries`, [`Self::width`]), numbers scaled.
    ///
    /// # Errors
    /// A data set without the named query features the rule needs, or with a wrong number of them; a value that its
    /// column does not allow; scaled values beyond the bound of stored numbers.
    pub fn features(&self, data: &Dataset) -> Result<Array2<f64>> {
        let raw = self.raw(data)?;
        let mut rows = Vec::with_capacity(data.n_queries() * self.width());
        let mut ticks = Ticks::default();
        for (query, id) in data.query_ids.iter().enumerate() {
            ticks.add(READING * self.names.len());
            let place = || format!("query {id}: query feature");
            self.encode(|column| raw.cell(query, column), data.missing, place, &mut rows)?;
        }
        Ok(shaped(data.n_queries(), self.width(), rows))
    }

    /// Encodes features given for one query. `quantities`: the forms of their texts.
    ///
    /// # Errors
    /// A number of features that differs from training; errors of [`Self::features`].
    pub fn encoded(
        &self,
        given: &[QueryValue],
        missing: Missing,
        quantities: &Quantities,
    ) -> Result<Vec<f64>> {
        if given.len() != self.names.len() {
            let what = format!("number of query features ({})", self.names.join(", "));
            return Err(Error::Shape { what, found: given.len(), expected: self.names.len() });
        }
        let absent = given.iter().position(|value| *value == QueryValue::Missing);
        if let Some(at) = absent.filter(|_| missing == Missing::Error) {
            let allowed = "a value for every feature, such as 0 for a number, '' for a text or [] for an order, or a \
                           model trained with the option 'missing'";
            return Err(Error::value(
                "argument 'query_features'",
                format!("null as value {}", at + 1),
                allowed,
            ));
        }
        let mut row = Vec::with_capacity(self.width());
        let place = || "argument 'query_features':".to_owned();
        let read =
            |(name, value): (&String, &QueryValue)| quantities.query_value(name, value.clone(), missing);
        let values: Vec<QueryValue> = self.names.iter().zip(given).map(read).collect();
        self.encode(|column| values[column].cell(), missing, place, &mut row)?;
        Ok(row)
    }

    /// Appends the encoded features of one query to `rows`, numbers first. Refuses scaled values beyond the bound of
    /// stored numbers.
    fn encode<'a>(
        &self,
        cell: impl Fn(usize) -> Cell<'a>,
        missing: Missing,
        place: impl Fn() -> String,
        rows: &mut Vec<f64>,
    ) -> Result<()> {
        let all = || self.encodings.iter().zip(&self.names).enumerate();
        let numbers = all().filter(|(_, (encoding, _))| encoding.is_number());
        let others = all().filter(|(_, (encoding, _))| !encoding.is_number());
        for (column, (encoding, name)) in numbers.chain(others) {
            encoding.push(cell(column), missing, rows).map_err(|Refused { found, allowed }| {
                refuse_value(&place(), name, &format!("{found}; the model compares {allowed}"))
            })?;
            let (Encoding::Number { center, factor, .. }, Some(value)) = (encoding, rows.last_mut()) else {
                continue;
            };
            let given = *value;
            *value = (given - center) * factor;
            // Trees can branch on missing values.
            let is_kept = given.is_nan() && missing == Missing::Branch;
            if !is_kept && !are_bounded([&*value]) {
                let problem =
                    format!("{} \"{name}\" with the value {given:e} is too large for distances", place());
                return Err(Error::Data(problem));
            }
        }
        Ok(())
    }

    /// The raw query features.
    fn raw<'a>(&self, data: &'a Dataset) -> Result<Raw<'a>> {
        let all = || (0..data.features.columns()).collect::<Vec<_>>();
        match self.kind {
            QueryFeatureKind::Named => self.named(data).map(Raw::Named),
            QueryFeatureKind::Constant => Ok(Raw::Computed(means(data, &self.columns))),
            QueryFeatureKind::Mean => Ok(Raw::Computed(means(data, &all()))),
        }
    }

    /// Whether the query feature at this position is a number; true beyond the last position.
    pub fn is_number(&self, position: usize) -> bool {
        self.encodings.get(position).is_none_or(Encoding::is_number)
    }

    /// Checks a rule that was read from bytes, for documents of `n_features` features.
    ///
    /// # Errors
    /// A rule that does not fit `n_features` features.
    pub fn validate(&self, n_features: usize) -> Result<()> {
        let p = self.names.len();
        let columns = match self.kind {
            QueryFeatureKind::Named => self.columns.is_empty(),
            QueryFeatureKind::Constant => self.columns.len() == p,
            QueryFeatureKind::Mean => self.columns.is_empty() && p == n_features,
        };
        require(
            "query features",
            &[
                (columns, "a column for each"),
                (self.columns.iter().all(|column| *column < n_features), "columns of the features"),
                (self.encodings.len() == p, "an encoding for each"),
                (
                    self.encodings.iter().all(Encoding::is_valid),
                    "finite scales, categories and items in order",
                ),
            ],
        )
    }

    /// Checks a distance that was read from bytes: each query feature has a suitable comparison, at its own numbers.
    ///
    /// # Errors
    /// A distance that does not fit the query features.
    pub fn validate_distance(&self, distance: &QueryDistance) -> Result<()> {
        let given = &distance.columns;
        let comparisons: Vec<Comparison> = given.iter().map(|column| column.comparison).collect();
        let suits = given.len() == self.encodings.len()
            && self.encodings.iter().zip(&comparisons).all(|(encoding, by)| encoding.takes(*by));
        let expected = self.distance(&comparisons);
        let own = |(a, b): (&ColumnDistance, &ColumnDistance)| (a.start, a.width) == (b.start, b.width);
        require(
            "query distance",
            &[
                (suits, "a comparison for each query feature that suits it"),
                (given.iter().zip(&expected.columns).all(own), "the numbers of each query feature"),
            ],
        )
    }

    /// Names of features that should be constant within queries but are not; their mean is used (rule 4.3).
    pub fn varying<'a>(&self, data: &'a Dataset) -> Vec<&'a str> {
        let varies = |column: usize| (0..data.n_queries()).any(|query| !constant_in(data, query, column));
        self.columns
            .iter()
            .filter(|column| varies(**column))
            .map(|column| data.names[*column].as_str())
            .collect()
    }

    /// For each text query feature, the queries whose value no training query had (rule 2.24).
    ///
    /// # Errors
    /// A data set without the query features.
    pub fn unknown_values(&self, data: &Dataset) -> Result<Vec<UnknownValues>> {
        let texts = || self.encodings.iter().enumerate().filter(|(_, encoding)| encoding.is_category());
        if self.kind != QueryFeatureKind::Named || texts().next().is_none() {
            return Ok(Vec::new());
        }
        let (values, mut ticks) = (self.named(data)?, Ticks::default());
        let of_column = |(column, encoding): (usize, &Encoding)| {
            let is_unknown = |value: &&QueryValue| {
                ticks.add(READING);
                !encoding.knows(value.cell())
            };
            let unknown: Vec<&QueryValue> = values.column(column).into_iter().filter(is_unknown).collect();
            let example = unknown.first().map(ToString::to_string).unwrap_or_default();
            let (name, total) = (self.names[column].clone(), data.n_queries());
            UnknownValues { name, counted: "queries", total, unknown: unknown.len(), usual: 0.0, example }
        };
        Ok(texts().map(of_column).collect())
    }

    fn named<'a>(&self, data: &'a Dataset) -> Result<&'a Array2<QueryValue>> {
        if data.query_names.len() == self.names.len() {
            return Ok(&data.query_features);
        }
        let names = if data.query_names.is_empty() { "none".to_owned() } else { data.query_names.join(", ") };
        Err(Error::Data(format!(
            "the model needs the query features {} (columns of the source, or one column query_features); found {names}",
            self.names.join(", ")
        )))
    }
}

/// The kind, the names, and for `constant` the columns of query features.
fn choose_kind(
    data: &Dataset,
    kind: Option<QueryFeatureKind>,
) -> Result<(QueryFeatureKind, Vec<String>, Vec<usize>)> {
    let constant = constant_columns(data);
    let kind = kind.unwrap_or(match () {
        () if !data.query_names.is_empty() => QueryFeatureKind::Named,
        () if !constant.is_empty() => QueryFeatureKind::Constant,
        () => QueryFeatureKind::Mean,
    });
    let (names, columns) = match kind {
        QueryFeatureKind::Named if data.query_names.is_empty() => {
            return Err(missing_kind("named", "the source has no column query_features and none named q_*"));
        }
        QueryFeatureKind::Constant if constant.is_empty() => {
            return Err(missing_kind(
                "constant",
                "no feature is constant within every query but differs between queries",
            ));
        }
        QueryFeatureKind::Named => (data.query_names.clone(), Vec::new()),
        QueryFeatureKind::Constant => {
            (constant.iter().map(|&column| data.names[column].clone()).collect(), constant)
        }
        QueryFeatureKind::Mean => (data.names.clone(), Vec::new()),
    };
    Ok((kind, names, columns))
}

/// Refuses distances for features that do not exist.
fn check_names(names: &[String], given: &[(String, Comparison)]) -> Result<()> {
    let known = |name: &String| names.iter().any(|other| other.eq_ignore_ascii_case(name));
    given.iter().find(|(name, _)| !known(name)).map_or(Ok(()), |(name, _)| {
        Err(Error::unknown_in(
            "query feature",
            name,
            " in the option 'query_distance'",
            names.iter().map(String::as_str),
        ))
    })
}

fn missing_kind(kind: &str, problem: &str) -> Error {
    Error::Data(format!("option 'query_features' is \"{kind}\", but {problem}"))
}

/// Whether a feature is constant within a query.
fn constant_in(data: &Dataset, query: usize, column: usize) -> bool {
    let mut rows = data.rows(query);
    let first = rows.next().map_or(0.0, |row| data.features.at(row, column));
    rows.all(|row| compare(data.features.at(row, column), first).is_eq())
}

/// Features that are constant within every query but differ between queries, except categories with a single value.
fn constant_columns(data: &Dataset) -> Vec<usize> {
    let first = |query: usize, column: usize| data.features.at(data.offsets[query], column);
    let differs = |column: usize| {
        (1..data.n_queries()).any(|query| compare(first(query, column), first(0, column)).is_ne())
    };
    let several = (0..data.n_queries()).any(|query| data.rows(query).len() > 1);
    (0..data.categories.numbers(data.features.columns()))
        .filter(|&column| {
            several && (0..data.n_queries()).all(|query| constant_in(data, query, column)) && differs(column)
        })
        .collect()
}

/// Mean of some columns over the documents of each query (`n_queries`, number of columns).
fn means(data: &Dataset, columns: &[usize]) -> Array2<f64> {
    let mut means = Array2::zeros((data.n_queries(), columns.len()));
    for query in 0..data.n_queries() {
        for (target, &column) in means.row_mut(query).iter_mut().zip(columns) {
            *target = mean_in(data, query, column);
        }
    }
    means
}

/// Sums below this fraction of the sum of absolute values are rounding errors.
const CANCELLATION: f64 = 1e-12;

/// Mean of a feature over the documents of a query, 0 without any.
///
/// Training queries are recognized by equal features, so the bits must not depend on document order, and the mean of a
/// constant must be exactly that constant.
fn mean_in(data: &Dataset, query: usize, column: usize) -> f64 {
    let mut values: Vec<f64> = data.rows(query).map(|row| data.features.at(row, column) + 0.0).collect();
    sort_ascending(&mut values);
    match values[..] {
        [] => 0.0,
        [low, .., high] if compare(low, high).is_lt() => {
            let (sum, size) = values.iter().fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
            // If values cancel out, only rounding is left; standardized, it would distinguish queries.
            if sum.abs() <= CANCELLATION * size { 0.0 } else { sum / values.len() as f64 }
        }
        [constant, ..] => constant,
    }
}

/// Mean and 1 / standard deviation (0 if constant) of these values.
fn standard(values: &[f64]) -> (f64, f64) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let spread = (values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n).sqrt();
    let factor = 1.0 / spread;
    (mean, if spread > 1e-12 * mean.abs() && factor.is_finite() { factor } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Id;

    #[test]
    fn a_stored_distance_must_suit_the_rule() {
        let texts = |n: usize| (0..n).map(|i| Id::text(&format!("{i:03}"))).collect::<Vec<Id>>();
        let rule = QueryFeatureRule {
            kind: QueryFeatureKind::Named,
            names: ["q_kind", "q_taste"].map(str::to_owned).to_vec(),
            columns: Vec::new(),
            encodings: vec![Encoding::Category(texts(2)), Encoding::Order(texts(3))],
        };
        let column = |comparison, start, width| ColumnDistance { comparison, start, width, weight: 1.0 };
        let (kind, taste) = (column(Comparison::Overlap, 0, 1), column(Comparison::Mallows, 1, 3));
        let check =
            |columns: &[ColumnDistance]| rule.validate_distance(&QueryDistance::from(columns.to_vec()));
        assert!(check(&[kind, taste]).is_ok());
        assert!(check(&[kind, column(Comparison::Kendall, 1, 3)]).is_ok());
        for wrong in [
            [kind, taste, taste].as_slice(),
            &[kind],
            &[kind, column(Comparison::Overlap, 1, 3)],
            &[column(Comparison::Mallows, 0, 1), taste],
            &[kind, column(Comparison::Mallows, 0, 4)],
        ] {
            assert!(check(wrong).is_err(), "{wrong:?}");
        }
    }
}
