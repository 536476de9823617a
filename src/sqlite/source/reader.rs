//! Reads a source into a data set.
//!
//! Rules (docs/reference/rules.md, 3):
//! * 3.1: REAL, INTEGER and JSON features stay f64, BLOBs are f32. TEXT that is a well-formed number is a number.
//! * 3.3: A NULL feature is missing: an error unless the option `missing` allows it.
//! * 3.4: Any other unusable value is an error with source, row and column. Rows are never skipped.
//! * 3.6, 3.7: Ranking finds feature columns by name. Vectors are matched by position and dimension.
//! * 3.9: Columns whose texts have one form are read as numbers.
//! * 3.10: The keys of JSON objects are features.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rusqlite::types::ValueRef;
use rusqlite::{Row, Statement};
use serde_json::{Value, json};

use super::cells::{LastObject, days_before, is_words, no_id, no_number, seen};
use super::judged::JudgedDocuments;
use super::parameters::{SourceCall, bind};
use super::quote;
use super::read_spec::FeatureColumns;
use super::roles::Roles;
use crate::base::{Error, Result, matrix_bytes};
use crate::data::{
    Dataset, DatasetBuilder, FinishOptions, Form as QuantityForm, Id, ListConstraint, Missing, NewRow,
    QUERY_WEIGHTS, QueryValue, QueryValues, ReadReport, Readings, TextColumns, is_query_weight, is_weight,
    not_a_value,
};
use crate::sqlite::glue::{
    category_value, describe, from_host, number_of, query_value, query_values, retry_busy, row_id,
    within_time,
};
use crate::train::column_rules::is_row_number_or_split;
use crate::train::select::in_order;

pub use super::read_spec::{CategoryColumns, FeatureSet, Judgments, ReadSpec};

/// Rows between two checks of the time limit; they are scored together.
const TOGETHER: usize = 256;

pub struct SourceRows {
    pub data: Dataset,
    /// The roles of the columns.
    pub roles: Rc<Roles>,
    /// Facts about the rows.
    pub read_report: ReadReport,
}

/// Prepares a source's statement, and determines the roles of its columns.
///
/// # Errors
/// Errors of the roles and of the database.
pub fn prepare<'a>(call: SourceCall<'a>, spec: ReadSpec<'_>) -> Result<(Statement<'a>, Roles)> {
    let SourceCall { source, options, .. } = call;
    // 1. Roles: prepare the statement to get its column names.
    let statement = call.statement(&source.select)?;
    let judged = spec.judged.iter().flat_map(|judged| judged.names());
    let names = statement.column_names().into_iter().chain(judged).map(str::to_owned).collect();
    let roles = Roles::find(source, names, spec, options)?;
    // 2. For rows of one query, prepare the statement again with a comparison of the query column.
    let Some((_, column)) = spec.only.zip(roles.query) else { return Ok((statement, roles)) };
    let statement = call.statement(&source.with_query(&roles.names[column], roles.doc.is_some()))?;
    Ok((statement, roles))
}

/// Reads the rows of a statement of [`prepare`].
///
/// # Errors
/// As [`read`].
pub fn read_prepared(
    call: SourceCall<'_>,
    roles: &Roles,
    statement: &mut Statement<'_>,
    spec: ReadSpec<'_>,
) -> Result<(Dataset, ReadReport)> {
    bind(statement, &call, spec.only.filter(|_| roles.query.is_some()))?;
    let reader = Reader::new(call, roles, spec)?;
    let read_all = || retry_busy(call.limits, || reader.read_all(statement));
    let (builder, [mut split, groups]) = within_time(call.limits, read_all)?;
    if let Some(column) = roles.split {
        in_order(&mut split, &roles.names[column]).map_err(|problem| call.source.error(problem))?;
    }
    let (mut data, mut read_report) = builder.finish(reader.finish)?;
    let [sum, count] = reader.determined.get();
    read_report.determined = (count > 0.0).then(|| sum / count);
    read_report.times = reader.times.take().map(|times| times.outcome(1.0));
    let split = roles.split.map(|_| read_report.of_rows(&split));
    let groups = roles.fold_group.map(|_| read_report.of_rows(&groups));
    data.set_fold_keys(split.as_deref(), groups.as_deref()).map_err(|problem| call.source.error(problem))?;
    read_report.split = split;
    Ok((data, read_report))
}

/// Makes an error about a value in a column of the current row.
type Refuse<'a> = dyn Fn(usize, String) -> Error + 'a;

/// One pass over a source.
pub(super) struct Reader<'a> {
    call: SourceCall<'a>,
    roles: &'a Roles,
    spec: ReadSpec<'a>,
    pub(super) finish: FinishOptions<'a>,
    /// Advice if rows of a query have different weights.
    weight_advice: String,
    /// Sum and count of the column `determined`.
    determined: Cell<[f64; 2]>,
    /// The texts of the column `query_time`.
    times: RefCell<Option<Readings>>,
    /// The last JSON object.
    object: LastObject,
    /// Index of the first feature that is a key of JSON objects.
    first_key: usize,
    /// Index of the first column from [`ReadSpec::judged`].
    first_judged: usize,
    /// Query and row of the current candidate's judgment.
    judgment: Cell<(usize, usize)>,
}

impl<'a> Reader<'a> {
    /// A reader for a source with these roles.
    pub(super) fn new(call: SourceCall<'a>, roles: &'a Roles, spec: ReadSpec<'a>) -> Result<Self> {
        let is_empty = roles.features == FeatureColumns::Wide(Vec::new()) && roles.categories.is_empty();
        if spec.features && is_empty {
            let pairs = roles.doc.filter(|_| spec.learns() && roles.query.is_some());
            let pairs = pairs.map_or("", |_| "; join columns of the documents, or train cofi_rank, which learns from ids and relevance");
            return Err(call.source.error(format!("no column is left for features{pairs}")));
        }
        let finish = spec.finish_options(call.options, Roles::lists_features(call.options))?;
        let weight = roles.weight.map(|column| roles.names[column].as_str());
        let weight_advice = weight.map_or_else(String::new, |name| {
            let advice = roles.advice(call.options);
            format!(
                "; if it is a property of the documents, use the options {}; if it weighs documents, {}",
                advice.role("weight", Value::Null),
                advice.role("doc_weight", json!(name)),
            )
        });
        let first_key = roles.names.len() - roles.keys.len();
        let first_judged = first_key - spec.judged.map_or(0, |judged| judged.names().count());
        let (determined, times, object) = (Cell::default(), RefCell::default(), LastObject::default());
        let judgment = Cell::default();
        Ok(Self {
            call,
            roles,
            spec,
            finish,
            weight_advice,
            determined,
            times,
            object,
            first_key,
            first_judged,
            judgment,
        })
    }

    /// Starts without rows.
    pub(super) fn builder(&self) -> DatasetBuilder {
        let names_of =
            |columns: &[usize]| columns.iter().map(|&column| self.roles.names[column].clone()).collect();
        let names = match (&self.roles.features, self.spec.model) {
            (FeatureColumns::Vector(_), _) => None,
            (FeatureColumns::Wide(_), Some(model)) => {
                Some(model.card.features[..model.card.numbers()].to_vec())
            }
            (FeatureColumns::Wide(columns), None) => Some(names_of(columns)),
        };
        let query_names = match &self.roles.query_features {
            Some(FeatureColumns::Wide(columns)) => names_of(columns),
            _ => Vec::new(),
        };
        let mut builder =
            DatasetBuilder::new(&self.call.source.shown, names, query_names).within(&self.call.limits.memory);
        if let (FeatureColumns::Vector(_), Some(model)) = (&self.roles.features, self.spec.model) {
            builder = builder.of_width(model.card.numbers());
        }
        builder = match self.spec.known_categories() {
            Some(known) => builder.with_categories(known),
            None => builder.with_new_categories(names_of(&self.roles.categories)),
        };
        if let FeatureColumns::Wide(columns) = &self.roles.features {
            let candidates = (0..columns.len()).filter(|index| self.may_be_category(columns[*index]));
            builder = builder.may_be_categories(candidates);
        }
        if let Some(names) = &self.roles.feature_names {
            builder = builder.with_value_names(names.clone());
        }
        if let Some(known) = self.spec.known_quantities() {
            return builder.with_quantities(known);
        }
        let builder = self.with_pending_quantities(builder);
        self.spec.derived.into_iter().fold(builder, DatasetBuilder::with_quantities)
    }

    /// Whether a feature column becomes a category if its texts are suitable (rule 2.18).
    fn may_be_category(&self, column: usize) -> bool {
        self.spec.feature_set == FeatureSet::New
            && matches!(self.spec.categories, CategoryColumns::Learned)
            && self.finish.text_columns == TextColumns::Ignore
            && !is_row_number_or_split(&self.roles.names[column])
    }

    /// The builder for training, which reads numbers, dates and durations in text (rule 3.9).
    fn with_pending_quantities(&self, builder: DatasetBuilder) -> DatasetBuilder {
        let distances = self.call.options.get("query_distance").and_then(Value::as_object);
        let places = |columns: Option<&FeatureColumns>| match columns {
            Some(FeatureColumns::Wide(columns)) => {
                (0..columns.len()).filter(|at| self.roles.may_be_quantity(columns[*at])).collect()
            }
            _ => Vec::new(),
        };
        let features: Vec<usize> = places(Some(&self.roles.features));
        let of_queries = places(self.roles.query_features.as_ref());
        let options = self.call.options.get("columns").and_then(|columns| columns.get("quantities"));
        let are_listed = options.is_some_and(Value::is_array);
        builder.may_be_quantities(features, of_queries, distances, self.finish.missing, are_listed)
    }

    /// The rows, and their values in the columns `split_by` and `group_by`.
    fn read_all(&self, statement: &mut Statement<'_>) -> Result<(DatasetBuilder, [Vec<Id>; 2])> {
        self.determined.take();
        self.times.take();
        self.spec.judged.iter().for_each(|judged| judged.begin());
        let mut builder = self.builder();
        let (mut folds, mut count) = ([Vec::new(), Vec::new()], 0_usize);
        for pass in 0..self.spec.asked.map_or(1, |asked| asked.queries.len()) {
            self.spec.asked.iter().for_each(|asked| asked.only(pass));
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next().map_err(|error| self.host_error(&error, pass))? {
                match self.spec.judged {
                    None => self.add_row(row, &mut builder, &mut folds)?,
                    Some(judged) => self.add_judged(judged, row, &mut builder, &mut folds)?,
                }
                count += 1;
                if count.is_multiple_of(TOGETHER) {
                    self.call.limits.check_time()?;
                    self.score_rows(&mut builder)?;
                }
            }
        }
        self.call.limits.check_time()?;
        self.score_rows(&mut builder)?;
        Ok((builder, folds))
    }

    /// An SQLite error, with the query if candidates are read.
    fn host_error(&self, error: &rusqlite::Error, pass: usize) -> Error {
        let query = self.spec.asked.and_then(|asked| asked.queries.get(pass));
        from_host(error, |problem| {
            let query = query.map_or_else(String::new, |query| format!("query {query}: "));
            self.call.source.error(format!("{query}{problem}"))
        })
    }

    /// Adds a row, and its values in the columns `split_by` and `group_by`.
    fn add_row(&self, row: &Row<'_>, builder: &mut DatasetBuilder, folds: &mut [Vec<Id>; 2]) -> Result<()> {
        self.read_row(row, builder)?;
        if let Some(column) = self.roles.query_time.filter(|_| self.spec.learns())
            && let ValueRef::Text(text) = self.value(row, column)?
        {
            let text = std::str::from_utf8(text).unwrap_or_default();
            self.times.borrow_mut().get_or_insert_default().add(text);
        }
        let columns =
            [(self.roles.split, "a value to split by"), (self.roles.fold_group, "a value to group by")];
        for ((column, needed), values) in columns.into_iter().zip(folds) {
            let Some(column) = column else { continue };
            let cell = self.value(row, column)?;
            let value = row_id(cell);
            if value == Id::Null {
                return Err(builder.last_context().error(&self.roles.names[column], no_id(cell, needed)));
            }
            values.push(value);
        }
        Ok(())
    }

    /// Adds a candidate with each of its judgments.
    fn add_judged(
        &self,
        judged: &JudgedDocuments,
        row: &Row<'_>,
        builder: &mut DatasetBuilder,
        folds: &mut [Vec<Id>; 2],
    ) -> Result<()> {
        let id = |column: Option<usize>| column.map(|column| self.value(row, column).map(row_id)).transpose();
        let (query, doc) = (id(self.roles.query)?, id(self.roles.doc)?);
        let judgments = judged.of(query.as_ref(), doc.as_ref());
        let (query, rows) = judgments.map_err(|problem| self.call.source.error(problem))?;
        let is_told = rows.is_empty() && self.finish.missing == Missing::Error;
        for &column in self.roles.features.all().iter().filter(|_| is_told) {
            if self.value(row, column)? == ValueRef::Null {
                judged.count_null(&self.roles.names[column]);
            }
        }
        for judgment in rows {
            self.judgment.set((query, judgment));
            self.add_row(row, builder, folds)?;
        }
        Ok(())
    }

    /// Without document ids, the features order documents with equal scores.
    fn score_rows(&self, builder: &mut DatasetBuilder) -> Result<()> {
        match self.spec.scorer.filter(|_| self.roles.doc.is_some() && self.roles.categories.is_empty()) {
            Some(scorer) => {
                builder.score_rows(&self.finish, |rows, width, scores| scorer.add_scores(rows, width, scores))
            }
            None => Ok(()),
        }
    }

    /// Adds a row.
    pub(super) fn read_row(&self, row: &Row<'_>, builder: &mut DatasetBuilder) -> Result<()> {
        let id = |column: Option<usize>| column.map(|column| self.value(row, column).map(row_id)).transpose();
        let (query, doc, group) = (id(self.roles.query)?, id(self.roles.doc)?, id(self.roles.group)?);
        // 1. Check every value before adding the row; errors name the row by its ids.
        let ids = [query.as_ref(), doc.as_ref(), group.as_ref()];
        let shown = query.as_ref().unwrap_or(&Id::Null);
        let refuse = |column: usize, problem: String| {
            builder.next_context(shown, doc.as_ref()).error(&self.roles.names[column], problem)
        };
        let query_values = self.query_values(row, &refuse)?;
        self.check_ids(row, ids, &refuse)?;
        let relevance = self.relevance(row, &refuse)?;
        let doc_weight = self.doc_weight(row, &refuse)?;
        self.add_determined(row, &refuse)?;
        // 2. Numbers in columns named like ids (rule 2.12).
        if let Some(like_ids) = &self.roles.like_ids {
            for &column in &like_ids.columns {
                if number_of(self.value(row, column)?).is_some() {
                    return Err(like_ids.error.clone());
                }
            }
        }
        // 3. Features go directly to the builder, which checks them.
        let query = query.unwrap_or_default();
        let begun = builder.begin(NewRow { query, doc, relevance, doc_weight, group, query_values });
        begun.map_err(|error| self.with_weight_advice(error))?;
        for (number, &column) in self.roles.observed.iter().enumerate() {
            builder.observe(number, seen(self.value(row, column)?));
        }
        self.read_features(row, builder)
    }

    /// An error about a query weight, with the column name.
    fn with_weight_advice(&self, error: Error) -> Error {
        match (error, self.roles.weight) {
            (Error::Row { source_text, row, column, problem }, Some(weight)) if column == "weight" => {
                let problem = problem + &self.weight_advice;
                Error::Row { source_text, row, column: self.roles.names[weight].clone(), problem }
            }
            (error, _) => error,
        }
    }

    /// The error for words in place of a vector, with advice about text features.
    fn with_words_advice(&self, error: Error, column: usize, bytes: &[u8]) -> Error {
        match error {
            Error::Row { source_text, row, column: shown, problem } if is_words(bytes) => {
                let name = quote(&self.roles.names[column]);
                let advice = format!(
                    "; words are used under another name, as in {name} AS words, or as numbers, as in {name} LIKE '%...%' AS word"
                );
                Error::Row { source_text, row, column: shown, problem: problem + &advice }
            }
            other => other,
        }
    }

    /// The value in a column of the row or of its judgment, or under a key of a JSON object.
    fn value<'r>(&'r self, row: &'r Row<'_>, column: usize) -> Result<ValueRef<'r>> {
        if column < self.first_judged {
            return self.call.source.value(row, column);
        }
        match (column.checked_sub(self.first_key), self.spec.judged) {
            (Some(key), _) => {
                let (column, key) = &self.roles.keys[key];
                Ok(self.object.value(self.value(row, *column)?, key))
            }
            (None, Some(judged)) => Ok(judged.value(column - self.first_judged, self.judgment.get())),
            (None, None) => self.call.source.value(row, column),
        }
    }

    /// Days from the date in a text to the query time; NaN without a time. `None` if the column has no ages, or the
    /// text is not a date in this format.
    fn age(
        &self,
        row: &Row<'_>,
        column: usize,
        text: &[u8],
        builder: &DatasetBuilder,
    ) -> Result<Option<f64>> {
        let name = &self.roles.names[column];
        let form = self.spec.known_derived().and_then(|known| known.of(name));
        let Some(QuantityForm::Age { date, time, .. }) = form else { return Ok(None) };
        let Some(date) = &std::str::from_utf8(text).ok().and_then(|text| date.value(text)) else {
            return Ok(None);
        };
        let refuse = |name: &str, problem: String| Err(builder.last_context().error(name, problem));
        let Some(column) = self.roles.query_time else {
            let advice = self.roles.advice(self.call.options).role("query_time", json!("..."));
            let problem = format!(
                "a date needs the time of the query, as in the training; name its column query_time or use the options {advice}, or \
                 give the age in days"
            );
            return refuse(name, problem);
        };
        match days_before(*date, time.as_deref(), self.value(row, column)?) {
            Ok(days) => Ok(Some(days)),
            Err(problem) => refuse(&self.roles.names[column], problem),
        }
    }

    /// Refuses NULL as the id of a query, of a document that needs one, or of a group.
    fn check_ids(&self, row: &Row<'_>, ids: [Option<&Id>; 3], refuse: &Refuse<'_>) -> Result<()> {
        let [query, doc, group] = ids;
        let group_advice = match self.spec.constraint {
            ListConstraint::Slots => "its slot",
            _ => "a value to diversify by (coalesce with the document's id makes it unique)",
        };
        let doc = doc.filter(|_| self.spec.needs_doc_ids());
        let group = group.filter(|_| self.spec.constraint != ListConstraint::Vectors);
        let checks = [
            (self.roles.group, group, group_advice),
            (self.roles.doc, doc, "the id of its document or item"),
            (self.roles.query, query, "a query id"),
        ];
        for (column, id, needed) in checks {
            if let (Some(column), Some(Id::Null)) = (column, id) {
                return Err(refuse(column, no_id(self.value(row, column)?, needed)));
            }
        }
        Ok(())
    }

    fn relevance(&self, row: &Row<'_>, refuse: &Refuse<'_>) -> Result<Option<f64>> {
        let Some(column) = self.roles.relevance.filter(|_| self.spec.reads_relevance()) else {
            return Ok((self.spec.judgments == Judgments::Count).then_some(1.0));
        };
        let cell = self.value(row, column)?;
        if cell == ValueRef::Null && self.spec.judgments == Judgments::RelevanceIfJudged {
            return Ok(Some(f64::NAN));
        }
        let number = number_of(cell).filter(|value| value.is_finite());
        number.map(Some).ok_or_else(|| {
            let advice = match cell {
                ValueRef::Null if self.spec.features => {
                    " (coalesce(relevance, 0) makes unjudged rows irrelevant)"
                }
                ValueRef::Null if self.spec.judgments == Judgments::Count => " (the counts of pairs)",
                ValueRef::Null => " (leave out rows without a rating)",
                _ => "",
            };
            refuse(column, format!("{}; expected finite numbers{advice}", describe(cell)))
        })
    }

    fn doc_weight(&self, row: &Row<'_>, refuse: &Refuse<'_>) -> Result<Option<f64>> {
        let Some(column) = self.roles.doc_weight else { return Ok(None) };
        let cell = self.value(row, column)?;
        let number = number_of(cell).filter(|value| is_weight(*value));
        let allowed = "expected numbers from 0 to 1e100";
        number.map(Some).ok_or_else(|| refuse(column, format!("{}; {allowed}", describe(cell))))
    }

    fn add_determined(&self, row: &Row<'_>, refuse: &Refuse<'_>) -> Result<()> {
        let Some(column) = self.roles.determined else { return Ok(()) };
        let cell = self.value(row, column)?;
        match (cell, number_of(cell).filter(|value| (0.0..=1.0).contains(value))) {
            (ValueRef::Null, _) => {}
            (_, Some(value)) => self.determined.update(|[sum, count]| [sum + value, count + 1.0]),
            _ => return Err(refuse(column, format!("{}; expected numbers from 0 to 1", describe(cell)))),
        }
        Ok(())
    }

    fn query_values(&self, row: &Row<'_>, refuse: &Refuse<'_>) -> Result<QueryValues> {
        let number = |column: usize, accepts: fn(f64) -> bool, allowed: &str| {
            let cell = self.value(row, column)?;
            let number = number_of(cell).filter(|value| accepts(*value));
            number.ok_or_else(|| refuse(column, format!("{}; expected {allowed}", describe(cell))))
        };
        let mut values = QueryValues::default();
        if let Some(column) = self.roles.weight {
            values.weight = number(column, is_query_weight, QUERY_WEIGHTS)?;
        }
        values.features = match &self.roles.query_features {
            None => Vec::new(),
            Some(FeatureColumns::Wide(columns)) => columns
                .iter()
                .enumerate()
                .map(|(position, &column)| self.query_feature(row, column, position, refuse))
                .collect::<Result<_>>()?,
            Some(FeatureColumns::Vector(column)) => {
                query_values("", self.value(row, *column)?).map_err(|error| match error {
                    Error::Value { got, allowed, .. } => {
                        refuse(*column, format!("{got}; expected {allowed}"))
                    }
                    other => other,
                })?
            }
        };
        Ok(values)
    }

    /// The query feature at this position. If the model expects a number, it must be one.
    fn query_feature(
        &self,
        row: &Row<'_>,
        column: usize,
        position: usize,
        refuse: &Refuse<'_>,
    ) -> Result<QueryValue> {
        let cell = self.value(row, column)?;
        let rule = self.spec.model.and_then(|model| model.ranker.query_rule());
        let is_number = rule.is_some_and(|rule| rule.is_number(position));
        let value = query_value(cell).map(|value| match self.spec.known_quantities() {
            Some(known) => known.query_value(&self.roles.names[column], value, self.finish.missing),
            None => value,
        });
        let value = value.filter(|value| !is_number || value.is_number());
        let allowed = if is_number { "finite numbers" } else { "finite numbers and text in UTF-8" };
        value.ok_or_else(|| refuse(column, format!("{}; expected {allowed}", describe(cell))))
    }

    fn read_features(&self, row: &Row<'_>, builder: &mut DatasetBuilder) -> Result<()> {
        match &self.roles.features {
            FeatureColumns::Vector(column) => match self.value(row, *column)? {
                ValueRef::Blob(bytes) => builder.blob(bytes)?,
                ValueRef::Text(bytes) => {
                    // A number takes at least 2 bytes of text, and up to 16 bytes in a growing vector.
                    let most = self.spec.model.map_or(usize::MAX, |model| model.card.numbers());
                    let needed = matrix_bytes(most.min(bytes.len() / 2 + 1), 2);
                    let what = format_args!("a vector in {} bytes of JSON", bytes.len());
                    let way_out = "give features as BLOBs of ltr_vec (4 bytes per feature)";
                    let _parsed = self.call.limits.memory.reserve(needed, what, way_out)?;
                    builder.json(bytes).map_err(|error| self.with_words_advice(error, *column, bytes))?;
                }
                other => {
                    let description = describe(other);
                    let allowed = "expected a BLOB of f32 values or a JSON array";
                    let name = &self.roles.names[*column];
                    return Err(builder.last_context().error(name, format!("{description}; {allowed}")));
                }
            },
            FeatureColumns::Wide(columns) => {
                for (index, &column) in columns.iter().enumerate() {
                    match self.value(row, column)? {
                        ValueRef::Real(value) => builder.cell(index, Some(value)),
                        ValueRef::Null => builder.cell(index, None),
                        ValueRef::Text(bytes) => match self.age(row, column, bytes, builder)? {
                            Some(age) => builder.cell(index, Some(age).filter(|age| !age.is_nan())),
                            None => builder.text(index, bytes, || {
                                no_number(ValueRef::Text(bytes), &self.roles.names[column])
                            }),
                        },
                        other => match number_of(other) {
                            Some(value) => builder.cell(index, Some(value)),
                            None => builder.no_number(index, seen(other), || {
                                no_number(other, &self.roles.names[column])
                            }),
                        },
                    }
                }
            }
        }
        for (number, &column) in self.roles.categories.iter().enumerate() {
            let cell = self.value(row, column)?;
            let Some(value) = category_value(cell) else {
                let name = &self.roles.names[column];
                return Err(builder.last_context().error(name, not_a_value(&describe(cell))));
            };
            builder.category(number, value.text().as_deref(), seen(cell));
        }
        Ok(())
    }
}
