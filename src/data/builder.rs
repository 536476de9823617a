//! Collects the rows of a source, checking each one; [`DatasetBuilder::finish`] turns them into a [`Dataset`](super::Dataset).
//!
//! For each row the reader calls [`DatasetBuilder::begin`] and then adds the features: one [`DatasetBuilder::cell`] per
//! column, or one vector. Errors name source, row and column. Checks that depend on all rows (text columns, missing
//! values) run at the end, in `finish.rs`.

use std::collections::HashMap;

use super::categories::{CategoryColumn, Codes};
use super::columns::{ColumnFacts, Seen};
use super::id::Id;
use super::matrix::{ADVICE_ON_64_BITS, are_64_bits};
use super::new_row::{NewRow, QueryValues, RowContext};
use super::quantity::{Form, Pending};
use super::query_columns::QueryValue;
use crate::base::{
    Error, FINITE_OR_NAN, Memory, Reservation, Result, bytes_of, grow, grown_bytes, most_elements, numbers,
    shorten, text_number,
};
use crate::math::compare;

/// Advice for rows that take too much memory.
pub(super) const FEWER_ROWS: &str =
    "read fewer rows or columns, use shorter ids, or give features as BLOBs of ltr_vec (4 bytes per feature)";

/// Bytes for the name, the state and the sums of a numbered feature.
const POSITION_BYTES: u64 = 256;

/// Feature values as read, row-major; NaN is missing.
pub(super) enum Values {
    /// From BLOBs.
    F32(Vec<f32>),
    /// From columns and JSON.
    F64(Vec<f64>),
}

impl Default for Values {
    fn default() -> Self {
        Self::F64(Vec::new())
    }
}

/// The state of a feature column.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about the values")]
pub(super) struct Column {
    pub numeric: bool,
    /// The first row that holds neither a number nor NULL, and its value.
    pub first_other: Option<(usize, String)>,
    /// Facts about these rows.
    pub others: Option<Box<ColumnFacts>>,
    /// Whether it may be a category.
    pub may_be_category: bool,
    /// Its texts, if it may be a category.
    pub codes: Option<Box<Codes>>,
    /// Whether any value is a BLOB or not UTF-8.
    pub has_other: bool,
    /// The texts so far, if they may be numbers, dates or durations.
    pub pending: Option<Box<Pending>>,
    /// The form of the texts.
    pub form: Option<Form>,
    /// SQL that converts them.
    pub sql: Option<String>,
    /// Whether the texts have one form, with exceptions that may count as missing.
    pub fits_with_missing: bool,
    pub first_missing: Option<usize>,
}

impl Column {
    /// Whether all values that are not numbers mark missing values, such as NA.
    pub fn are_others_missing(&self) -> bool {
        self.others.as_ref().is_some_and(|others| others.readings.are_missing())
    }
}

/// The rows read so far.
#[derive(Default)]
pub struct DatasetBuilder {
    pub(super) source: String,
    pub(super) names: Vec<String>,
    pub(super) columns: Vec<Column>,
    pub(super) values: Values,
    pub(super) width: Option<usize>,
    /// Names of vector values, if given.
    pub(super) value_names: Option<Vec<String>>,
    /// Whether `width` comes from a model.
    is_of_model: bool,
    query_numbers: HashMap<Id, usize>,
    pub(super) query_ids: Vec<Id>,
    pub(super) query_sizes: Vec<i64>,
    pub(super) weights: Vec<f64>,
    pub(super) query_names: Vec<String>,
    pub(super) query_features: Vec<Vec<QueryValue>>,
    pub(super) row_query: Vec<usize>,
    pub(super) row_doc: Vec<Id>,
    pub(super) has_docs: bool,
    pub(super) relevance: Vec<f64>,
    pub(super) doc_weights: Vec<f64>,
    pub(super) row_group: Vec<Id>,
    /// Scores of the first rows, whose features were dropped. May be empty.
    pub(super) scores: Vec<f64>,
    /// Bytes of ids on the heap.
    id_bytes: u64,
    /// Columns that are not features.
    pub(super) observed: Vec<ColumnFacts>,
    /// Features with texts that may turn out to be categories or quantities.
    pub(super) texts: Vec<usize>,
    /// Query features whose texts may be quantities.
    pub(super) pending_query_features: Vec<usize>,
    /// The share of a column's texts that must have one form.
    pub(super) share_of_form: f64,
    pub(super) categories: Vec<CategoryColumn>,
    /// Memory of all rows.
    pub(super) memory: Reservation,
    /// Whether bytes are counted.
    is_limited: bool,
}

impl DatasetBuilder {
    /// A builder for rows of `source` (as the caller wrote it), with these feature columns.
    ///
    /// Without `names` the features come as one vector per row.
    pub fn new(source: &str, names: Option<Vec<String>>, query_names: Vec<String>) -> Self {
        let width = names.as_ref().map(Vec::len);
        let names = names.unwrap_or_default();
        Self {
            source: source.to_owned(),
            columns: vec![Column::default(); names.len()],
            names,
            width,
            query_names,
            has_docs: true,
            ..Self::default()
        }
    }

    /// The same builder, reserving from this memory. Only before the first row.
    #[must_use]
    pub fn within(self, memory: &Memory) -> Self {
        Self { memory: memory.nothing(), is_limited: memory.is_limited(), ..self }
    }

    /// The same builder, for vectors of a model's features. Only before the first row.
    #[must_use]
    pub fn of_width(self, width: usize) -> Self {
        Self { width: Some(width), is_of_model: true, ..self }
    }

    /// The same builder, with these names for vector values.
    #[must_use]
    pub fn with_value_names(self, names: Vec<String>) -> Self {
        Self { value_names: Some(names), ..self }
    }

    /// Notes the row's value in a column that is not a feature. Columns are numbered from 0.
    pub fn observe(&mut self, column: usize, value: Seen<'_>) {
        if self.observed.len() <= column {
            self.observed.resize_with(column + 1, ColumnFacts::default);
        }
        let query = self.row_query.last().copied().unwrap_or(0);
        self.observed[column].add(query, value);
    }

    /// Number of rows begun.
    pub fn n_rows(&self) -> usize {
        self.row_query.len()
    }

    /// Bytes of the rows after `rows` more rows.
    fn grown_bytes(&self, rows: usize) -> u64 {
        let features = rows * self.width.unwrap_or(0);
        let values = match &self.values {
            Values::F32(values) => grown_bytes(values, features),
            Values::F64(values) => grown_bytes(values, features),
        };
        let has_groups = usize::from(!self.row_group.is_empty());
        let has_weights = usize::from(!self.doc_weights.is_empty());
        values
            + self.position_bytes()
            + self.query_bytes()
            + self.id_bytes
            + grown_bytes(&self.row_query, rows)
            + grown_bytes(&self.row_doc, rows)
            + grown_bytes(&self.relevance, rows)
            + grown_bytes(&self.doc_weights, rows * has_weights)
            + grown_bytes(&self.row_group, rows * has_groups)
            + self.grown_scores(rows)
            + self.category_bytes()
    }

    /// Bytes of category values, and of texts that may be quantities, after one more row.
    pub(super) fn category_bytes(&self) -> u64 {
        let texts = || self.texts.iter().map(|column| &self.columns[*column]);
        let codes = texts().filter_map(|column| column.codes.as_deref());
        let codes = codes.chain(self.categories.iter().map(|column| &column.codes));
        let pending = texts().filter_map(|column| column.pending.as_deref());
        codes.map(Codes::grown_bytes).sum::<u64>() + pending.map(Pending::grown_bytes).sum::<u64>()
    }

    /// Bytes of the scores after `rows` more rows, if rows are scored.
    fn grown_scores(&self, rows: usize) -> u64 {
        if self.scores.is_empty() {
            0
        } else {
            grown_bytes(&self.scores, self.n_rows() + rows - self.scores.len())
        }
    }

    /// Bytes of the names and sums of numbered features.
    pub(super) fn position_bytes(&self) -> u64 {
        if self.names.is_empty() { POSITION_BYTES * self.width.unwrap_or(0) as u64 } else { 0 }
    }

    /// Bytes of per-query data, without ids on the heap.
    fn query_bytes(&self) -> u64 {
        let per_query = self.query_features.first().map_or(0, Vec::len);
        // The map allocates at least 8/7 of its capacity, in entries of an id, a number and a byte.
        let map = bytes_of::<(Id, usize, usize)>(self.query_numbers.capacity());
        map + bytes_of::<QueryValue>(per_query).saturating_mul(self.query_ids.len() as u64)
            + grown_bytes(&self.query_ids, 1)
            + grown_bytes(&self.query_features, 1)
            + grown_bytes(&self.query_sizes, 1)
            + grown_bytes(&self.weights, 1)
    }

    /// Bytes of the rows without features and without unused capacity.
    pub(super) fn bytes_besides_features(&self) -> u64 {
        let ids = bytes_of::<Id>(self.row_doc.len() + self.row_group.len()) + self.id_bytes;
        let others = self.doc_weights.len() + 2 * self.scores.len();
        let numbers = bytes_of::<(usize, f64)>(self.n_rows()) + bytes_of::<f64>(others);
        ids + self.query_bytes() + numbers
    }

    /// Reserves memory for the next row, whose ids take `id_bytes` on the heap.
    fn reserve_row(&mut self, id_bytes: u64) -> Result<()> {
        if !self.is_limited {
            return Ok(());
        }
        self.id_bytes += id_bytes;
        let needed = self.grown_bytes(1);
        let what = format_args!("reading source {} up to row {}", self.source, self.row_query.len() + 1);
        self.memory.resize(needed, what, FEWER_ROWS)
    }

    /// The next row's context.
    pub fn next_context<'a>(&'a self, query: &'a Id, doc: Option<&Id>) -> RowContext<'a> {
        let number = self.query_numbers.get(query).map_or(1, |&number| self.query_sizes[number] + 1);
        let doc = doc.cloned().unwrap_or(Id::Integer(number));
        RowContext { source: &self.source, row: self.n_rows(), query, doc }
    }

    /// The current row's context.
    pub fn last_context(&self) -> RowContext<'_> {
        self.context(self.n_rows() - 1)
    }

    /// The context of an earlier row.
    pub(super) fn context(&self, row: usize) -> RowContext<'_> {
        let query = &self.query_ids[self.row_query[row]];
        RowContext { source: &self.source, row, query, doc: self.row_doc[row].clone() }
    }

    /// Adds a row; its features follow.
    ///
    /// # Errors
    /// A weight or query feature that differs from an earlier row of the query.
    pub fn begin(&mut self, row: NewRow) -> Result<()> {
        let number = self.query_number(&row.query);
        self.check_query_values(&row, number)?;
        // The id of a new query is stored twice.
        let texts = row.query_values.features.iter().map(QueryValue::heap_bytes).sum::<u64>();
        let query_bytes = if number.is_none() { 2 * row.query.heap_bytes() + texts } else { 0 };
        let row_bytes = [&row.doc, &row.group].into_iter().flatten().map(Id::heap_bytes).sum::<u64>();
        self.reserve_row(query_bytes + row_bytes)?;
        let number = number.unwrap_or_else(|| self.add_query(row.query, row.query_values));
        self.has_docs &= row.doc.is_some();
        self.query_sizes[number] += 1;
        self.make_room()?;
        self.row_query.push(number);
        self.row_doc.push(row.doc.unwrap_or(Id::Integer(self.query_sizes[number])));
        self.relevance.extend(row.relevance);
        self.doc_weights.extend(row.doc_weight);
        self.row_group.extend(row.group);
        Ok(())
    }

    /// Capacity for the features of one more row.
    fn make_room(&mut self) -> Result<()> {
        let width = self.width.unwrap_or(0);
        match &mut self.values {
            Values::F32(values) => grow(values, width),
            Values::F64(values) => grow(values, width),
        }
    }

    /// The number of a previously read query.
    fn query_number(&self, query: &Id) -> Option<usize> {
        // Most rows follow a row of the same query.
        let last = self.row_query.last().copied().filter(|&last| self.query_ids[last] == *query);
        last.or_else(|| self.query_numbers.get(query).copied())
    }

    fn add_query(&mut self, query: Id, values: QueryValues) -> usize {
        let number = self.query_ids.len();
        self.query_numbers.insert(query.clone(), number);
        self.query_ids.push(query);
        self.query_sizes.push(0);
        self.weights.push(values.weight);
        self.query_features.push(values.features);
        number
    }

    /// Compares a row's query values with earlier rows.
    fn check_query_values(&self, row: &NewRow, number: Option<usize>) -> Result<()> {
        let QueryValues { weight, features } = &row.query_values;
        let refuse = |column: &str, problem: String| {
            Err(self.next_context(&row.query, row.doc.as_ref()).error(column, problem))
        };
        let first = self.query_features.first();
        if let Some(expected) = first.map(Vec::len).filter(|expected| *expected != features.len()) {
            let problem = format!("{} query features, but {expected} in earlier rows", features.len());
            return refuse("query_features", problem);
        }
        let Some(number) = number else { return Ok(()) };
        if compare(self.weights[number], *weight).is_ne() {
            let expected = self.weights[number];
            let problem = format!(
                "weight {weight} differs from {expected} in an earlier row of the query; all rows of a query need the same weight"
            );
            return refuse("weight", problem);
        }
        let earlier = &self.query_features[number];
        let Some(index) = earlier.iter().zip(features).position(|(a, b)| a != b) else { return Ok(()) };
        let problem = format!(
            "{} differs from {} in an earlier row of the query; all rows of a query need the same query features; if users \
             differ, make the user a part of the query id",
            features[index], earlier[index]
        );
        refuse(self.query_names.get(index).map_or("query_features", String::as_str), problem)
    }

    /// Adds the next feature of the row, for column number `column`; `None` is a missing value.
    #[inline]
    pub fn cell(&mut self, column: usize, value: Option<f64>) {
        let row = self.row_query.len() - 1;
        let state = &mut self.columns[column];
        if value.is_some() {
            state.numeric = true;
        } else {
            state.first_missing.get_or_insert(row);
            if let Some(others) = &mut state.others {
                others.add(self.row_query[row], Seen::Missing);
            }
            if let Some(codes) = &mut state.codes {
                codes.push(None);
            }
        }
        self.push(value);
    }

    /// Adds a text as the next feature of the row: a well-formed number, or a text in the form of its column.
    pub fn text(&mut self, index: usize, bytes: &[u8], found: impl FnOnce() -> String) {
        let text = std::str::from_utf8(bytes).ok();
        let column = &mut self.columns[index];
        let number = match &column.form {
            Some(form) => text.and_then(|text| form.value(text)),
            None => text.and_then(text_number),
        };
        match number {
            Some(number) => {
                if let (Some(pending), Some(text)) = (&mut column.pending, text) {
                    pending.number(text);
                }
                self.cell(index, Some(number));
            }
            None => self.no_number(index, Seen::Text(bytes), found),
        }
    }

    /// Adds a value that is not a number as the next feature of the row.
    pub fn no_number(&mut self, index: usize, value: Seen<'_>, found: impl FnOnce() -> String) {
        let row = self.row_query.len() - 1;
        let column = &mut self.columns[index];
        column.first_other.get_or_insert_with(|| (row, found()));
        if let Some(others) = &mut column.others {
            others.add(self.row_query[row], value);
        } else {
            let others = column.others.insert(Box::default());
            // No number was read so far, so all earlier rows are missing.
            let numeric = || column.first_missing.map_or(0..0, |row| row..row + 1);
            let earlier = if column.numeric { numeric() } else { 0..row };
            earlier.for_each(|row| others.add(self.row_query[row], Seen::Missing));
            others.add(self.row_query[row], value);
            if column.may_be_category {
                column.codes = Some(Box::new(Codes::new(row)));
            }
            if column.may_be_category || column.pending.is_some() {
                self.texts.push(index);
            }
        }
        if column.numeric {
            // The column is refused after the last row.
            column.codes = None;
        }
        let text = if let Seen::Text(bytes) = value { std::str::from_utf8(bytes).ok() } else { None };
        if let Some(codes) = &mut column.codes {
            codes.push(text);
            column.has_other |= text.is_none();
        }
        if let Some(pending) = &mut column.pending {
            pending.add(row, text);
        }
        self.push(None);
    }

    #[inline]
    fn push(&mut self, value: Option<f64>) {
        if let Values::F64(values) = &mut self.values {
            values.push(value.unwrap_or(f64::NAN));
        }
    }

    /// Adds the features of the row as a BLOB of little-endian `f32`; NaN is a missing value.
    ///
    /// # Errors
    /// A size that is not a multiple of 4 or differs from earlier rows, infinities, a mix with JSON.
    pub fn blob(&mut self, bytes: &[u8]) -> Result<()> {
        let (chunks, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() {
            let problem =
                format!("BLOB of {} bytes; its length must be a multiple of 4 (f32 values)", bytes.len());
            return Err(self.vector_error(problem));
        }
        self.check_width(chunks.len()).map_err(|error| self.of_64_bits(error, chunks.len()))?;
        if self.n_rows() == 1 {
            self.values = Values::F32(Vec::new());
        }
        let Values::F32(values) = &mut self.values else {
            return Err(self.vector_error("a BLOB, but earlier rows have JSON; use one of the two"));
        };
        let start = values.len();
        values.extend(chunks.iter().map(|chunk| f32::from_le_bytes(*chunk)));
        // No early exit, so that the loop vectorizes.
        let finite = values[start..].iter().fold(true, |finite, value| finite & value.is_finite());
        if finite { Ok(()) } else { self.find_missing(start) }
    }

    /// Notes the missing values of the BLOB that begins at this index.
    fn find_missing(&mut self, start: usize) -> Result<()> {
        let Values::F32(values) = &self.values else { return Ok(()) };
        let row = self.n_rows() - 1;
        if let Some(at) = values[start..].iter().position(|value| value.is_infinite()) {
            let value = values[start + at];
            let advice = self.advice_on_64_bits();
            return Err(
                self.vector_error(format!("value {} is {value}; expected {FINITE_OR_NAN}{advice}", at + 1))
            );
        }
        let missing: Vec<usize> = values[start..]
            .iter()
            .enumerate()
            .filter(|(_, value)| value.is_nan())
            .map(|(at, _)| at)
            .collect();
        self.columns.resize(values.len() - start, Column::default());
        for column in missing {
            self.columns[column].first_missing.get_or_insert(row);
        }
        Ok(())
    }

    /// Advice for BLOBs that look like 64-bit numbers; otherwise empty.
    pub(super) fn advice_on_64_bits(&self) -> String {
        match &self.values {
            Values::F32(values) if are_64_bits(values, self.width.unwrap_or(0)) => {
                format!("; {ADVICE_ON_64_BITS}")
            }
            _ => String::new(),
        }
    }

    /// The error for a BLOB of the wrong size; a BLOB of twice the model's size may hold 64-bit numbers.
    fn of_64_bits(&self, error: Error, found: usize) -> Error {
        match error {
            Error::Row { source_text, row, column, problem }
                if self.width.is_some_and(|width| found == 2 * width) =>
            {
                Error::Row { source_text, row, column, problem: format!("{problem}; {ADVICE_ON_64_BITS}") }
            }
            error => error,
        }
    }

    /// Adds the features of the row as a JSON array; `null` is a missing value.
    ///
    /// # Errors
    /// Text that is not an array of numbers, a dimension that differs from earlier rows, a mix with BLOBs.
    pub fn json(&mut self, text: &[u8]) -> Result<()> {
        // In the first row, the array determines the length.
        if self.width.is_none() && self.is_limited {
            let bytes = self.grown_bytes(1).saturating_add(bytes_of::<f64>(most_elements(text)));
            self.memory.resize(bytes, format_args!("reading source {}", self.source), FEWER_ROWS)?;
        }
        let (list, found) = numbers(text, self.width).map_err(|problem| {
            let start_of_text = shorten(&String::from_utf8_lossy(&text[..text.len().min(1000)]));
            self.vector_error(format!("text '{start_of_text}' is not a JSON array of numbers ({problem})"))
        })?;
        self.check_width(found)?;
        if matches!(self.values, Values::F32(_)) {
            return Err(self.vector_error("JSON, but earlier rows have BLOBs; use one of the two"));
        }
        self.columns.resize(list.len(), Column::default());
        for (column, value) in list.into_iter().enumerate() {
            self.cell(column, Some(value).filter(|value| !value.is_nan()));
        }
        Ok(())
    }

    fn check_width(&mut self, found: usize) -> Result<()> {
        if found == 0 {
            return Err(self.vector_error("an empty vector; at least one feature is needed"));
        }
        if self.width.is_none() {
            self.width = Some(found);
            self.reserve_row(0)?;
        }
        match self.width.unwrap_or(found) {
            width if width == found => Ok(()),
            width if self.is_of_model => {
                Err(self.vector_error(format!("{found} features; the model needs {width}")))
            }
            width => Err(self.vector_error(format!("{found} features, but {width} in earlier rows"))),
        }
    }

    pub(super) fn source_error(&self, problem: String) -> Error {
        Error::Source { source_text: self.source.clone(), problem }
    }

    fn vector_error(&self, problem: impl Into<String>) -> Error {
        self.last_context().error("features", problem)
    }
}
