//! From rows in any order to a [`Dataset`] in canonical order, or in the order of the rows for algorithms that ask for it.
//!
//! The reader calls [`DatasetBuilder::begin`] for each row and then gives its features: one [`DatasetBuilder::cell`] per
//! column, or one vector. What can be wrong with a row is found here and named with source, row and column; what can
//! only be judged over all rows (text columns, missing values) is settled in [`DatasetBuilder::finish`].

use std::collections::{HashMap, HashSet};

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::dataset::{Dataset, row_groups};
use super::finish::{ColumnSummary, FinishOptions, RowOrder, summarize_columns};
use super::id::Id;
use super::matrix::{Matrix, shaped};
use crate::error::{Error, Result, shorten};
use crate::math::order::compare;

/// One value of a feature column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell {
    /// A number, or text that is one.
    Number(f64),
    /// NULL.
    Missing,
}

/// What a missing feature counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Missing {
    /// An error.
    Error,
    /// 0.
    Zero,
    /// The mean of the training documents.
    Mean,
}

/// Feature values as read, row-major; missing ones are NaN.
#[derive(Debug)]
enum Vectors {
    /// From BLOBs.
    F32(Vec<f32>),
    /// From columns and JSON.
    F64(Vec<f64>),
}

/// What is known of one feature column while rows are read.
#[derive(Debug, Clone, Default)]
struct Column {
    numeric: bool,
    /// The first row with something else than a number or NULL, and what it is.
    first_other: Option<(usize, String)>,
    first_missing: Option<usize>,
}

/// What was found besides the data.
#[derive(Debug, Default)]
pub struct ReadReport {
    /// Columns left out because no row of them is numeric.
    pub ignored: Vec<String>,
    /// Number of missing features that were filled in.
    pub imputed: usize,
    /// Of each feature: the values that are there, those before these rows too.
    pub summaries: Vec<ColumnSummary>,
    /// Mean of each feature over the rows that have it.
    pub means: Vec<f64>,
}

/// The rows read so far.
#[derive(Debug)]
pub struct DatasetBuilder {
    source: String,
    names: Vec<String>,
    columns: Vec<Column>,
    vectors: Vectors,
    width: Option<usize>,
    query_numbers: HashMap<Id, usize>,
    query_ids: Vec<Id>,
    query_sizes: Vec<i64>,
    weights: Vec<f64>,
    query_names: Vec<String>,
    query_values: Vec<Vec<f64>>,
    row_query: Vec<usize>,
    row_doc: Vec<Id>,
    has_docs: bool,
    relevance: Vec<f64>,
    row_group: Vec<Id>,
}

impl DatasetBuilder {
    /// A builder for rows of a source (as the caller wrote it) whose features are these columns.
    ///
    /// Without `names` the features come as one vector per row.
    pub fn new(source: &str, names: Option<Vec<String>>, query_names: Vec<String>) -> Self {
        let width = names.as_ref().map(Vec::len);
        let names = names.unwrap_or_default();
        Self {
            source: source.to_owned(),
            columns: vec![Column::default(); names.len()],
            names,
            vectors: Vectors::F64(Vec::new()),
            width,
            query_numbers: HashMap::new(),
            query_ids: Vec::new(),
            query_sizes: Vec::new(),
            weights: Vec::new(),
            query_names,
            query_values: Vec::new(),
            row_query: Vec::new(),
            row_doc: Vec::new(),
            has_docs: true,
            relevance: Vec::new(),
            row_group: Vec::new(),
        }
    }

    /// Number of rows begun.
    pub fn rows(&self) -> usize {
        self.row_query.len()
    }

    /// Bytes held for features.
    pub fn bytes(&self) -> u64 {
        match &self.vectors {
            Vectors::F32(values) => 4 * values.len() as u64,
            Vectors::F64(values) => 8 * values.len() as u64,
        }
    }

    /// Begins a row. Without a document id the row's number inside its query takes its place.
    ///
    /// # Errors
    /// A weight or query feature that differs from that of an earlier row of the query.
    pub fn begin(
        &mut self,
        query: Id,
        doc: Option<Id>,
        relevance: Option<f64>,
        query_values: QueryValues,
    ) -> Result<()> {
        let number = self.query_number(query);
        self.has_docs &= doc.is_some();
        self.query_sizes[number] += 1;
        self.row_query.push(number);
        self.row_doc.push(doc.unwrap_or(Id::Integer(self.query_sizes[number])));
        self.relevance.extend(relevance);
        self.query_values(number, query_values)
    }

    /// The block or slot of the row; of every row or of none.
    pub fn group(&mut self, group: Id) {
        self.row_group.push(group);
    }

    fn query_number(&mut self, query: Id) -> usize {
        if let Some(&last) = self.row_query.last()
            && self.query_ids[last] == query
        {
            return last;
        }
        if let Some(&number) = self.query_numbers.get(&query) {
            return number;
        }
        self.query_numbers.insert(query.clone(), self.query_ids.len());
        self.query_ids.push(query);
        self.query_sizes.push(0);
        self.query_ids.len() - 1
    }

    fn query_values(&mut self, number: usize, query_values: QueryValues) -> Result<()> {
        if number == self.weights.len() {
            let (found, expected) = (
                query_values.features.len(),
                self.query_values.first().map_or(query_values.features.len(), Vec::len),
            );
            self.weights.push(query_values.weight);
            self.query_values.push(query_values.features);
            if found == expected {
                return Ok(());
            }
            let problem = format!("{found} query features, but {expected} in earlier rows");
            return Err(self.row_error(self.rows() - 1, "query_features", problem));
        }
        if compare(self.weights[number], query_values.weight).is_ne() {
            let problem = format!(
                "weight {} differs from {} in an earlier row of the same query; a weight belongs to the whole query",
                query_values.weight, self.weights[number]
            );
            return Err(self.row_error(self.rows() - 1, "weight", problem));
        }
        if self.query_values[number].len() != query_values.features.len() {
            let problem = format!(
                "{} query features, but {} in an earlier row of the same query",
                query_values.features.len(),
                self.query_values[number].len()
            );
            return Err(self.row_error(self.rows() - 1, "query_features", problem));
        }
        let differs = |(a, b): (&f64, &f64)| compare(*a, *b).is_ne();
        if let Some(index) = self.query_values[number].iter().zip(&query_values.features).position(differs) {
            let column = self.query_names.get(index).cloned().unwrap_or_else(|| "query_features".to_owned());
            let problem = format!(
                "{} differs from {} in an earlier row of the same query; a query feature belongs to the whole query",
                query_values.features[index], self.query_values[number][index]
            );
            return Err(self.row_error(self.rows() - 1, &column, problem));
        }
        Ok(())
    }

    /// The next feature of the row, for column number `column`.
    #[inline]
    pub fn cell(&mut self, column: usize, cell: Cell) {
        let row = self.row_query.len() - 1;
        let state = &mut self.columns[column];
        let value = match cell {
            Cell::Number(value) => {
                state.numeric = true;
                value
            }
            Cell::Missing => {
                state.first_missing.get_or_insert(row);
                f64::NAN
            }
        };
        if let Vectors::F64(values) = &mut self.vectors {
            values.push(value);
        }
    }

    /// The next feature of the row, for column number `column`, is no number but `found`.
    pub fn no_number(&mut self, column: usize, found: impl FnOnce() -> String) {
        let row = self.row_query.len() - 1;
        self.columns[column].first_other.get_or_insert_with(|| (row, found()));
        if let Vectors::F64(values) = &mut self.vectors {
            values.push(f64::NAN);
        }
    }

    /// The features of the row as a BLOB of little-endian `f32`.
    ///
    /// # Errors
    /// A length that is no multiple of 4 or differs from earlier rows, NaN or infinities, a mix with JSON.
    pub fn blob(&mut self, bytes: &[u8]) -> Result<()> {
        let (chunks, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() {
            let problem =
                format!("BLOB of {} bytes; its length must be a multiple of 4 (f32 values)", bytes.len());
            return Err(self.vector_error(problem));
        }
        self.check_width(chunks.len())?;
        if self.rows() == 1 {
            self.vectors = Vectors::F32(Vec::new());
        }
        let Vectors::F32(values) = &mut self.vectors else {
            return Err(
                self.vector_error("a BLOB, but earlier rows have JSON; use one of the two".to_owned())
            );
        };
        let start = values.len();
        values.extend(chunks.iter().map(|chunk| f32::from_le_bytes(*chunk)));
        match values[start..].iter().position(|value| !value.is_finite()) {
            None => Ok(()),
            Some(at) => {
                let problem =
                    format!("value {} is {}; allowed are finite numbers", at + 1, values[start + at]);
                Err(self.vector_error(problem))
            }
        }
    }

    /// The features of the row as a JSON array; `null` is a missing value.
    ///
    /// # Errors
    /// Text that is no array of numbers, a length that differs from earlier rows, a mix with BLOBs.
    pub fn json(&mut self, text: &str) -> Result<()> {
        let list: Vec<Option<f64>> = serde_json::from_str(text).map_err(|problem| {
            let found = shorten(text);
            self.vector_error(format!("text '{found}' is no JSON array of numbers ({problem})"))
        })?;
        self.check_width(list.len())?;
        let row = self.rows() - 1;
        let Vectors::F64(values) = &mut self.vectors else {
            return Err(self.vector_error("JSON, but earlier rows have BLOBs; use one of the two".to_owned()));
        };
        self.columns.resize(list.len(), Column::default());
        for (column, value) in self.columns.iter_mut().zip(&list) {
            column.numeric |= value.is_some();
            if value.is_none() {
                column.first_missing.get_or_insert(row);
            }
        }
        values.extend(list.into_iter().map(|value| value.unwrap_or(f64::NAN)));
        Ok(())
    }

    fn check_width(&mut self, found: usize) -> Result<()> {
        if found == 0 {
            return Err(self.vector_error("an empty vector; at least one feature is needed".to_owned()));
        }
        match *self.width.get_or_insert(found) {
            width if width == found => Ok(()),
            width => Err(self.vector_error(format!("{found} features, but {width} in earlier rows"))),
        }
    }

    fn vector_error(&self, problem: String) -> Error {
        self.row_error(self.rows() - 1, "features", problem)
    }

    /// An error about one row (from 0) and column, described with query and document.
    pub fn row_error(&self, row: usize, column: &str, problem: String) -> Error {
        let query = &self.query_ids[self.row_query[row]];
        let row = format!("row {} (query {query}, document {})", row + 1, self.row_doc[row]);
        Error::Row { source_text: self.source.clone(), row, column: column.to_owned(), problem }
    }

    /// Settles columns and missing values and puts all rows in order.
    ///
    /// `check_interrupt` is asked for every row in every pass; its error ends the work.
    ///
    /// # Errors
    /// Text in a column that has numbers too, or in a required one; missing values under [`Missing::Error`]; infinities.
    pub fn finish(
        mut self,
        finish: FinishOptions<'_>,
        check_interrupt: &dyn Fn() -> Result<()>,
    ) -> Result<(Dataset, ReadReport)> {
        let FinishOptions { missing, required, means, order: row_order, before } = finish;
        let vector = self.names.is_empty();
        if vector {
            self.names = (1..=self.width.unwrap_or(0)).map(|number| number.to_string()).collect();
        }
        let mut read_report = ReadReport::default();
        let kept = self.kept_columns(required, &mut read_report)?;
        self.check_missing(missing, &kept, vector)?;
        let matrix = self.take_matrix();
        let matrix = if kept.len() == matrix.columns() { matrix } else { matrix.select_columns(&kept) };
        self.names = kept.iter().map(|&column| std::mem::take(&mut self.names[column])).collect();
        self.check_names()?;
        let rank = self.query_ranks(row_order);
        let order = match row_order {
            RowOrder::Canonical => self.canonical_rows(&matrix, &rank),
            RowOrder::Stream => self.stream_rows(),
        };
        read_report.summaries = match &matrix {
            Matrix::F32(array) => summarize_columns(array, &order, before, check_interrupt)?,
            Matrix::F64(array) => summarize_columns(array, &order, before, check_interrupt)?,
        };
        read_report.means = read_report.summaries.iter().map(ColumnSummary::mean).collect();
        let matrix = self.fill(matrix, missing, means, &mut read_report, check_interrupt)?;
        Ok((self.in_order(matrix, &rank, &order, check_interrupt)?, read_report))
    }

    fn kept_columns(&self, required: bool, read_report: &mut ReadReport) -> Result<Vec<usize>> {
        let mut kept = Vec::with_capacity(self.names.len());
        for (index, name) in self.names.iter().enumerate() {
            let column = self.columns.get(index).cloned().unwrap_or_default();
            match column.first_other {
                Some((row, found)) if column.numeric || required => {
                    let problem = format!(
                        "{found} is no number; allowed are numbers and text that is a well-formed number"
                    );
                    return Err(self.row_error(row, name, problem));
                }
                Some(_) => read_report.ignored.push(name.clone()),
                None => kept.push(index),
            }
        }
        if kept.is_empty() && !read_report.ignored.is_empty() {
            let problem = format!(
                "no column is left for features: no row of {} is a number",
                read_report.ignored.join(", ")
            );
            return Err(Error::Source { source_text: self.source.clone(), problem });
        }
        Ok(kept)
    }

    /// Features are found by name where a model is used, so no two may share one.
    fn check_names(&self) -> Result<()> {
        let mut seen = HashSet::new();
        match self.names.iter().find(|name| !seen.insert(name.to_ascii_lowercase())) {
            None => Ok(()),
            Some(name) => Err(Error::Source {
                source_text: self.source.clone(),
                problem: format!("two feature columns are named \"{name}\"; give one another name with AS"),
            }),
        }
    }

    fn check_missing(&self, missing: Missing, kept: &[usize], vector: bool) -> Result<()> {
        let first =
            kept.iter().filter_map(|&index| Some((self.columns.get(index)?.first_missing?, index))).min();
        match first {
            Some((row, index)) if missing == Missing::Error => {
                let advice = "use the option \"missing\": \"zero\" or \"mean\" to allow missing features";
                if vector {
                    return Err(self.row_error(
                        row,
                        "features",
                        format!("value {} is null; {advice}", index + 1),
                    ));
                }
                Err(self.row_error(row, &self.names[index], format!("NULL; {advice}")))
            }
            _ => Ok(()),
        }
    }

    fn take_matrix(&mut self) -> Matrix {
        let (rows, columns) = (self.rows(), self.width.unwrap_or(0));
        match std::mem::replace(&mut self.vectors, Vectors::F64(Vec::new())) {
            Vectors::F32(values) => Matrix::F32(shaped(rows, columns, values)),
            Vectors::F64(values) => Matrix::F64(shaped(rows, columns, values)),
        }
    }

    /// Replaces missing values and refuses infinite ones. Means are formed in the canonical order of rows.
    fn fill(
        &self,
        mut matrix: Matrix,
        missing: Missing,
        means: Option<&[f64]>,
        read_report: &mut ReadReport,
        check_interrupt: &dyn Fn() -> Result<()>,
    ) -> Result<Matrix> {
        let Matrix::F64(array) = &mut matrix else { return Ok(matrix) };
        let means = means.unwrap_or(&read_report.means);
        for (row, mut values) in array.rows_mut().into_iter().enumerate() {
            check_interrupt()?;
            for (column, value) in values.iter_mut().enumerate() {
                if value.is_nan() {
                    *value = if missing == Missing::Mean { means[column] } else { 0.0 };
                    read_report.imputed += 1;
                } else if value.is_infinite() {
                    let problem = format!("{value}; allowed are finite numbers");
                    return Err(self.row_error(row, &self.names[column], problem));
                }
            }
        }
        Ok(matrix)
    }

    fn in_order(
        self,
        matrix: Matrix,
        rank: &[usize],
        order: &[usize],
        check_interrupt: &dyn Fn() -> Result<()>,
    ) -> Result<Dataset> {
        let duplicates = self.duplicates(order);
        let mut queries: Vec<usize> = (0..self.query_ids.len()).collect();
        queries.sort_by_key(|&query| rank[query]);
        let mut offsets = vec![0];
        for &query in &queries {
            offsets.push(offsets[offsets.len() - 1] + self.query_sizes[query] as usize);
        }
        let sorted = order.is_sorted();
        let doc_ids: Vec<Id> = order.iter().map(|&row| self.row_doc[row].clone()).collect();
        let groups: Vec<Id> = order.iter().filter_map(|&row| self.row_group.get(row).cloned()).collect();
        let per_query = self.query_values.first().map_or(0, Vec::len);
        let query_values: Vec<f64> =
            queries.iter().flat_map(|&query| self.query_values[query].iter().copied()).collect();
        let query_names = if self.query_names.len() == per_query {
            self.query_names
        } else {
            (1..=per_query).map(|number| format!("query_features[{number}]")).collect()
        };
        Ok(Dataset {
            names: self.names,
            features: if sorted { matrix } else { matrix.try_select_rows(order, check_interrupt)? },
            query_ids: queries.iter().map(|&query| self.query_ids[query].clone()).collect(),
            row_groups: row_groups(&doc_ids, &groups, &offsets),
            doc_ids,
            groups,
            relevance: order.iter().filter_map(|&row| self.relevance.get(row).copied()).collect(),
            weights: queries.iter().map(|&query| self.weights[query]).collect(),
            query_names,
            query_features: Array2::from_shape_vec((queries.len(), per_query), query_values)
                .unwrap_or_default(),
            offsets,
            duplicates,
        })
    }

    /// Rows that repeat a (query, document), and the slot where there are any; those of one query stand together in `order`.
    fn duplicates(&self, order: &[usize]) -> usize {
        if !self.has_docs {
            return 0;
        }
        let query_values = |rows: &[usize]| {
            let mut documents: Vec<(&Id, Option<&Id>)> =
                rows.iter().map(|&row| (&self.row_doc[row], self.row_group.get(row))).collect();
            if !documents.is_sorted() {
                documents.sort_unstable();
            }
            documents.windows(2).filter(|pair| pair[0] == pair[1]).count()
        };
        order.chunk_by(|&a, &b| self.row_query[a] == self.row_query[b]).map(query_values).sum()
    }

    /// The place of each query in the order of ids, or of first appearance.
    fn query_ranks(&self, order: RowOrder) -> Vec<usize> {
        let mut by_id: Vec<usize> = (0..self.query_ids.len()).collect();
        if order == RowOrder::Stream {
            return by_id;
        }
        by_id.sort_by(|&a, &b| self.query_ids[a].cmp(&self.query_ids[b]));
        let mut rank = vec![0; by_id.len()];
        for (place, query) in by_id.into_iter().enumerate() {
            rank[query] = place;
        }
        rank
    }

    /// Row numbers by first appearance of their query.
    fn stream_rows(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.rows()).collect();
        order.sort_by_key(|&row| self.row_query[row]);
        order
    }

    /// Row numbers in the order (query, document, block or slot, features, relevance).
    ///
    /// Documents without ids of their own are told apart by features and relevance alone, so that their order does
    /// not follow that of the rows.
    fn canonical_rows(&self, matrix: &Matrix, rank: &[usize]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.rows()).collect();
        let by_features = |a: usize, b: usize| {
            (0..matrix.columns())
                .map(|column| compare(matrix.at(a, column), matrix.at(b, column)))
                .find(|ordering| ordering.is_ne())
                .unwrap_or(std::cmp::Ordering::Equal)
        };
        let relevance = |row: usize| self.relevance.get(row).copied().unwrap_or(0.0);
        order.sort_by(|&a, &b| {
            let docs = || {
                if self.has_docs { self.row_doc[a].cmp(&self.row_doc[b]) } else { std::cmp::Ordering::Equal }
            };
            rank[self.row_query[a]]
                .cmp(&rank[self.row_query[b]])
                .then_with(docs)
                .then_with(|| self.row_group.get(a).cmp(&self.row_group.get(b)))
                .then_with(|| by_features(a, b))
                .then_with(|| compare(relevance(a), relevance(b)))
        });
        order
    }
}

/// What belongs to a row's query rather than to its document.
#[derive(Debug, Clone)]
pub struct QueryValues {
    /// Weight, > 0.
    pub weight: f64,
    /// Named query features.
    pub features: Vec<f64>,
}

impl Default for QueryValues {
    fn default() -> Self {
        Self { weight: 1.0, features: Vec::new() }
    }
}
