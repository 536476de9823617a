//! Reading a source into a data set.
//!
//! Contract (numbers):
//! 1. REAL, INTEGER and JSON features stay f64, BLOBs are f32; TEXT that is a well-formed number counts as one.
//! 2. A NULL feature is missing: an error unless the option `missing` allows it.
//! 3. NaN, infinities, a BLOB whose length is no multiple of 4 or differs between rows, a NULL relevance: errors that
//!    name source, row (query and document) and column. Never a silent skip.
//! 4. Ranking a table matches columns by name: missing ones are an error that lists them, extra ones are ignored. A
//!    vector is matched by position and length.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, Statement};
use serde_json::Value;

use super::roles::{FeatureColumns, Roles, absent};
use super::{QUERY_PARAMETER, Source};
use crate::arrange::ListConstraint;
use crate::data::{
    Cell, ColumnSummary, Dataset, DatasetBuilder, FinishOptions, Id, Missing, QueryValues, ReadReport,
    RowOrder,
};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::param::Params;
use crate::sqlite::glue::value::{describe, id_of, id_value, number_of, vector_argument};
use crate::sqlite::glue::work::RunLimits;

/// What to read from a source.
#[derive(Debug, Clone, Copy)]
pub struct ReadSpec<'a> {
    /// The model whose features are needed; none while training.
    pub model: Option<&'a Model>,
    /// Whether relevance is needed.
    pub relevance: bool,
    /// Whether a query column is needed.
    pub query: bool,
    /// Whether features are needed; without, documents are known by their ids.
    pub features: bool,
    /// Only the rows of this query.
    pub only: Option<&'a Id>,
    /// The groups of documents that are needed.
    pub constraint: ListConstraint,
    /// The order of the data set.
    pub order: RowOrder,
    /// What was counted of features before these rows; empty where nothing was.
    pub before: &'a [ColumnSummary],
}

impl ReadSpec<'_> {
    /// Whether documents are known by their ids, or have a row for each slot.
    fn by_ids(&self) -> bool {
        !self.features || self.constraint == ListConstraint::Slots
    }

    /// Judged rows of a training.
    pub fn judged(constraint: ListConstraint, order: RowOrder, features: bool) -> Self {
        Self {
            model: None,
            relevance: true,
            query: true,
            features,
            only: None,
            constraint,
            order,
            before: &[],
        }
    }
}

/// What was read.
#[derive(Debug)]
pub struct SourceRows {
    /// The documents.
    pub data: Dataset,
    /// The roles of the columns.
    pub roles: Roles,
    /// What was found besides.
    pub read_report: ReadReport,
}

/// A column of features: its number and, for wide tables, its place among the features.
type WideColumn = (usize, usize);

/// One pass over a source.
struct Reader<'a> {
    source: &'a Source,
    roles: &'a Roles,
    spec: ReadSpec<'a>,
    wide: Option<Vec<WideColumn>>,
    query_features: Option<FeatureColumns>,
    max_memory: Option<u64>,
    limits: &'a RunLimits,
}

/// Reads a source.
///
/// # Errors
/// Everything of the contract above and of `source` and `roles`; more bytes than `max_memory`; the time limit.
pub fn read(
    connection: &Connection,
    source: &Source,
    spec: ReadSpec<'_>,
    options: &Params,
    limits: &RunLimits,
) -> Result<SourceRows> {
    let mut statement = connection.prepare(&source.select).map_err(|error| source.host_error(&error))?;
    let names = statement.column_names().into_iter().map(str::to_owned).collect();
    let roles = Roles::find(source, names, spec.constraint, options)?;
    let roles = if spec.features { roles } else { roles.without_features() };
    let pushed = spec.only.zip(roles.query);
    if let Some((_, column)) = pushed {
        let select = source.of_query(&roles.names[column]);
        statement = connection.prepare(&select).map_err(|error| source.host_error(&error))?;
    }
    bind(&mut statement, source, options, pushed.map(|(id, _)| id))?;
    let missing = missing(options, spec.model);
    let (data, read_report) = {
        let reader = Reader::new(source, &roles, spec, options, limits)?;
        let builder = reader.rows(&mut statement)?;
        let settling = FinishOptions {
            missing,
            required: spec.model.is_some(),
            means: spec.model.map(|model| &model.card.means[..]),
            order: spec.order,
            before: spec.before,
        };
        builder.finish(settling, &limits.interrupt_checker(connection))?
    };
    check_width(source, &data, spec.model)?;
    Ok(SourceRows { data, roles, read_report })
}

/// Refuses vectors of another length than those that the model was trained on.
fn check_width(source: &Source, data: &Dataset, model: Option<&Model>) -> Result<()> {
    let found = data.features.columns();
    match model.map(|model| model.card.features.len()) {
        Some(expected) if data.n_docs() > 0 && found != expected => {
            Err(source.error(format!("vectors of {found} features; the model needs {expected}")))
        }
        _ => Ok(()),
    }
}

/// What a missing feature counts as: as the call says, else as in training.
fn missing(options: &Params, model: Option<&Model>) -> Missing {
    match model {
        Some(model) if !options.has("missing") => model.card.missing,
        _ => crate::algorithm::missing(options),
    }
}

/// Binds the option `params` and, where only one query is read, its id.
fn bind(statement: &mut Statement<'_>, source: &Source, options: &Params, only: Option<&Id>) -> Result<()> {
    let host = |error: rusqlite::Error| source.error(format!("option 'params': {error}"));
    let query_index = statement.parameter_index(QUERY_PARAMETER).map_err(host)?;
    let expected = statement.parameter_count() - usize::from(query_index.is_some());
    match options.get("params") {
        None if expected == 0 => {}
        None => {
            let problem = format!(
                "the statement has parameters ({expected}); give their values with the option 'params'"
            );
            return Err(source.error(problem));
        }
        Some(Value::Array(values)) => {
            if values.len() != expected {
                let problem = wrong_number(values.len(), expected);
                return Err(source.error(problem));
            }
            for (index, value) in values.iter().enumerate() {
                statement.raw_bind_parameter(index + 1, sql_value(value)?).map_err(host)?;
            }
        }
        Some(Value::Object(values)) => {
            for (name, value) in values {
                let bare = name.trim_start_matches([':', '@', '$']);
                let index = [":", "@", "$"]
                    .iter()
                    .find_map(|sign| statement.parameter_index(&format!("{sign}{bare}")).ok().flatten());
                let index =
                    index.ok_or_else(|| source.error(format!("option 'params': no parameter :{bare}")))?;
                statement.raw_bind_parameter(index, sql_value(value)?).map_err(host)?;
            }
            if values.len() != expected {
                let problem = wrong_number(values.len(), expected);
                return Err(source.error(problem));
            }
        }
        Some(_) => {}
    }
    if let (Some(index), Some(id)) = (query_index, only) {
        let value = rusqlite::types::ToSqlOutput::Borrowed(id_value(id));
        statement.raw_bind_parameter(index, value).map_err(host)?;
    }
    Ok(())
}

fn wrong_number(given: usize, expected: usize) -> String {
    format!(
        "number of values in the option 'params': got {given}, the statement has parameters for {expected}"
    )
}

fn sql_value(value: &Value) -> Result<rusqlite::types::Value> {
    use rusqlite::types::Value as Sql;
    Ok(match value {
        Value::Null => Sql::Null,
        Value::Bool(flag) => Sql::Integer(i64::from(*flag)),
        Value::Number(number) => {
            number.as_i64().map_or_else(|| Sql::Real(number.as_f64().unwrap_or(0.0)), Sql::Integer)
        }
        Value::String(text) => Sql::Text(text.clone()),
        other => {
            let allowed = "numbers, texts, true, false and null";
            return Err(Error::value("a value in the option 'params'", other.to_string(), allowed));
        }
    })
}

impl<'a> Reader<'a> {
    fn new(
        source: &'a Source,
        roles: &'a Roles,
        spec: ReadSpec<'a>,
        options: &Params,
        limits: &'a RunLimits,
    ) -> Result<Self> {
        let absent = |role: &str, names: &str| absent(source, &roles.names, role, names);
        if spec.query && roles.query.is_none() {
            return Err(absent("query", "one query_id, qid, query, user_id or user"));
        }
        if spec.relevance && roles.relevance.is_none() {
            return Err(absent("relevance", "one relevance, label, rel, grade or rating"));
        }
        if spec.by_ids() && roles.doc.is_none() {
            return Err(absent("doc", "one doc_id, docid, document_id, document, item_id or item"));
        }
        let wide = match &roles.features {
            FeatureColumns::Vector(_) => None,
            FeatureColumns::Wide(columns) => Some(match spec.model {
                None => columns.iter().enumerate().map(|(place, column)| (*column, place)).collect(),
                Some(model) => by_name(source, roles, &model.card.features, "feature")?,
            }),
        };
        if spec.features && wide.as_ref().is_some_and(Vec::is_empty) {
            return Err(source.error("no column is left for features".to_owned()));
        }
        let query_features = match spec.model.map(|model| model.ranker.query_rule()) {
            None => roles.query_features.clone(),
            Some(rule) => match rule.filter(|rule| rule.kind == crate::data::QueryFeatureKind::Named) {
                None => None,
                Some(rule) => Some(match &roles.query_features {
                    Some(vector @ FeatureColumns::Vector(_)) => vector.clone(),
                    _ => FeatureColumns::Wide(
                        by_name(source, roles, &rule.names, "query feature")?
                            .into_iter()
                            .map(|(column, _)| column)
                            .collect(),
                    ),
                }),
            },
        };
        let max_memory = options.get("max_memory").and_then(Value::as_u64);
        Ok(Self { source, roles, spec, wide, query_features, max_memory, limits })
    }

    fn rows(&self, statement: &mut Statement<'_>) -> Result<DatasetBuilder> {
        let name = |column: usize| self.roles.names[column].clone();
        let names = self.wide.as_ref().map(|wide| match self.spec.model {
            Some(model) => model.card.features.clone(),
            None => wide.iter().map(|(column, _)| name(*column)).collect(),
        });
        let query_names = match &self.query_features {
            Some(FeatureColumns::Wide(columns)) => columns.iter().map(|column| name(*column)).collect(),
            _ => Vec::new(),
        };
        let mut builder = DatasetBuilder::new(&self.source.shown, names, query_names);
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(|error| self.source.host_error(&error))? {
            self.row(row, &mut builder)?;
            if builder.rows().is_multiple_of(256) {
                self.check_limits(&builder)?;
            }
        }
        self.check_limits(&builder)?;
        Ok(builder)
    }

    fn check_limits(&self, builder: &DatasetBuilder) -> Result<()> {
        self.limits.check_time()?;
        match self.max_memory {
            Some(allowed) if builder.bytes() > allowed => {
                let what = format!("reading {} rows of source {}", builder.rows(), self.source.shown);
                Err(Error::Memory { what, needed: builder.bytes(), allowed })
            }
            _ => Ok(()),
        }
    }

    fn row(&self, row: &Row<'_>, builder: &mut DatasetBuilder) -> Result<()> {
        let at = |column: usize| row.get_ref(column).map_err(|error| self.source.host_error(&error));
        let query = self.roles.query.map_or(Ok(Id::Null), |column| at(column).map(id_of))?;
        let doc = self.roles.doc.map(|column| at(column).map(id_of)).transpose()?;
        let unknown_doc = doc == Some(Id::Null) && self.spec.by_ids();
        let unknown_query = self.roles.query.is_some() && query == Id::Null;
        let relevance = match self.roles.relevance.filter(|_| self.spec.relevance) {
            None => None,
            Some(column) => Some(at(column)?),
        };
        let number = relevance.and_then(number_of).filter(|value| value.is_finite());
        let of_query = self.of_query(row).map_err(|problem| match problem {
            OfQueryProblem::Host(error) => error,
            OfQueryProblem::Column(column, problem) => {
                let document = doc.as_ref().map_or_else(String::new, |doc| format!(", document {doc}"));
                let row = format!("row {} (query {query}{document})", builder.rows() + 1);
                let column = self.roles.names[column].clone();
                Error::Row { source_text: self.source.shown.clone(), row, column, problem }
            }
        })?;
        builder.begin(query, doc, relevance.map(|_| number.unwrap_or(0.0)), of_query)?;
        let group = self.roles.group.map(|column| at(column).map(id_of)).transpose()?;
        group.iter().for_each(|group| builder.group(group.clone()));
        let here = |column: Option<usize>, problem: String| {
            let name = column.map_or("", |column| &self.roles.names[column]);
            Err(builder.row_error(builder.rows() - 1, name, problem))
        };
        if group == Some(Id::Null) {
            let problem = match self.spec.constraint {
                ListConstraint::Slots => "NULL; every row needs its slot",
                _ => {
                    "NULL; every row needs its block (coalesce with the document's id makes it a block of its own)"
                }
            };
            return here(self.roles.group, problem.to_owned());
        }
        if unknown_doc {
            return here(self.roles.doc, "NULL; every row needs the id of its document or item".to_owned());
        }
        if unknown_query {
            return here(self.roles.query, "NULL; every row needs a query id".to_owned());
        }
        if let (Some(found), None) = (relevance, number) {
            let advice = match found {
                ValueRef::Null if self.spec.features => {
                    " (coalesce(relevance, 0) makes unjudged rows irrelevant)"
                }
                ValueRef::Null => " (leave the row out where there is no rating)",
                _ => "",
            };
            return here(
                self.roles.relevance,
                format!("{}; allowed are finite numbers{advice}", describe(found)),
            );
        }
        self.features(row, builder)
    }

    fn features(&self, row: &Row<'_>, builder: &mut DatasetBuilder) -> Result<()> {
        let at = |column: usize| row.get_ref(column).map_err(|error| self.source.host_error(&error));
        let Some(wide) = &self.wide else {
            let FeatureColumns::Vector(column) = self.roles.features else { return Ok(()) };
            return match at(column)? {
                ValueRef::Blob(bytes) => builder.blob(bytes),
                ValueRef::Text(bytes) => builder.json(&String::from_utf8_lossy(bytes)),
                other => {
                    let problem =
                        format!("{}; allowed are a BLOB of f32 values or a JSON array", describe(other));
                    Err(builder.row_error(builder.rows() - 1, &self.roles.names[column], problem))
                }
            };
        };
        for &(column, place) in wide {
            match at(column)? {
                ValueRef::Real(value) => builder.cell(place, Cell::Number(value)),
                ValueRef::Null => builder.cell(place, Cell::Missing),
                other => match number_of(other) {
                    Some(value) => builder.cell(place, Cell::Number(value)),
                    None => builder.no_number(place, || describe(other)),
                },
            }
        }
        Ok(())
    }

    fn of_query(&self, row: &Row<'_>) -> Result<QueryValues, OfQueryProblem> {
        let at = |column: usize| {
            row.get_ref(column).map_err(|error| OfQueryProblem::Host(self.source.host_error(&error)))
        };
        let number = |column: usize, accepts: fn(f64) -> bool, allowed: &str| {
            let found = at(column)?;
            number_of(found).filter(|value| accepts(*value)).ok_or_else(|| {
                OfQueryProblem::Column(column, format!("{}; allowed are {allowed}", describe(found)))
            })
        };
        let mut of_query = QueryValues::default();
        if let Some(column) = self.roles.weight {
            of_query.weight = number(column, |value| value > 0.0 && value.is_finite(), "numbers above 0")?;
        }
        match &self.query_features {
            None => {}
            Some(FeatureColumns::Wide(columns)) => {
                let values = columns.iter().map(|column| number(*column, f64::is_finite, "finite numbers"));
                of_query.features = values.collect::<Result<_, _>>()?;
            }
            Some(FeatureColumns::Vector(column)) => {
                of_query.features = vector_argument("", at(*column)?).map_err(|error| match error {
                    Error::Value { got, allowed, .. } => {
                        OfQueryProblem::Column(*column, format!("{got}; allowed is {allowed}"))
                    }
                    other => OfQueryProblem::Host(other),
                })?;
            }
        }
        Ok(of_query)
    }
}

/// What is wrong with the part of a row that belongs to its query.
enum OfQueryProblem {
    /// The value of this column.
    Column(usize, String),
    /// Anything else.
    Host(Error),
}

/// The columns with these names, in their order.
fn by_name(source: &Source, roles: &Roles, names: &[String], what: &str) -> Result<Vec<WideColumn>> {
    let found: Vec<Option<usize>> = names.iter().map(|name| roles.column(name)).collect();
    let missing: Vec<&str> = names
        .iter()
        .zip(&found)
        .filter(|(_, column)| column.is_none())
        .map(|(name, _)| name.as_str())
        .collect();
    let twice =
        |name: &&String| roles.names.iter().filter(|other| other.eq_ignore_ascii_case(name)).count() > 1;
    if let Some(name) = names.iter().find(twice) {
        return Err(source.error(format!("two columns are named \"{name}\"; give one another name with AS")));
    }
    if missing.is_empty() {
        return Ok(found.into_iter().flatten().enumerate().map(|(place, column)| (column, place)).collect());
    }
    let of_vectors = names.iter().enumerate().all(|(place, name)| *name == (place + 1).to_string());
    if of_vectors && missing.len() == names.len() {
        return Err(source.error(format!(
            "the model was trained on vectors of {} features; give one column \"features\" (ltr_vec makes such vectors)",
            names.len()
        )));
    }
    Err(source.error(format!(
        "the model needs {what} columns that are not there: {}; the columns are {}",
        missing.join(", "),
        roles.names.join(", ")
    )))
}
