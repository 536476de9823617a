//! `ltr_pack(query_id, doc_id, relevance, features [, query_features, weight, doc_weight])` and `ltr_merge(answer)`.

use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};

use super::{PURE, blob};
use crate::base::error::{Error, Result};
use crate::buckets::{Answer, pack};
use crate::data::{DatasetBuilder, NewRow, QueryValues, is_weight};
use crate::sqlite::glue::probe::{Database, interruptible};
use crate::sqlite::glue::state::State;
use crate::sqlite::glue::usage;
use crate::sqlite::glue::value::{describe, id_of, number_of};
use crate::sqlite::glue::vtab::Parameter;

const PACK: &str = "ltr_pack";
const MERGE: &str = "ltr_merge";

const PACK_PARAMETERS: &[Parameter] = &[
    Parameter::required("query_id"),
    Parameter::required("doc_id"),
    Parameter::required("relevance"),
    Parameter::required("features"),
    Parameter::optional("query_features"),
    Parameter::optional("weight"),
    Parameter::optional("doc_weight"),
];

/// Registers both aggregates.
///
/// # Errors
/// Those of the database.
pub fn register(connection: &Connection, state: &Arc<State>) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8.union(PURE);
    for arguments in 4..=PACK_PARAMETERS.len() {
        connection.create_aggregate_function(PACK, arguments as i32, flags, Pack(Arc::clone(state)))?;
    }
    usage::answer_aggregate(connection, PACK, PACK_PARAMETERS)?;
    connection.create_aggregate_function(MERGE, 1, flags, Merge(Arc::clone(state)))?;
    usage::answer_aggregate(connection, MERGE, &[Parameter::required("answer")])
}

struct Pack(Arc<State>);

/// The rows of a group.
struct Rows {
    builder: DatasetBuilder,
    database: Database,
}

impl Rows {
    fn push(&mut self, context: &Context<'_>) -> Result<()> {
        // 1. Every value is checked before the row is added.
        let row = self.builder.n_rows() + 1;
        let value =
            |index: usize| if index < context.len() { context.get_raw(index) } else { ValueRef::Null };
        let refuse = |index: usize, allowed: &str| {
            let what = format!("argument '{}' in row {row} of the group", PACK_PARAMETERS[index].name);
            Error::value(what, describe(value(index)), allowed)
        };
        let query = id_of(value(0));
        if value(0) == ValueRef::Null {
            return Err(refuse(0, "an id of the query"));
        }
        let relevance = number_of(value(2)).filter(|grade| grade.is_finite());
        let relevance = relevance.ok_or_else(|| refuse(2, "a finite number"))?;
        match value(4) {
            ValueRef::Null => {}
            ValueRef::Integer(_) | ValueRef::Real(_) => {
                return Err(refuse(4, "NULL; the weight of the query is the 6th argument"));
            }
            _ => {
                return Err(refuse(
                    4,
                    "NULL; query features are for query-dependent models, which ltr_fit trains on rows with \
                     \"fit_at\": \"query_time\"",
                ));
            }
        }
        let weight = |index: usize, least: f64, allowed: &str| match value(index) {
            ValueRef::Null => Ok(1.0),
            found => {
                let accepted = |weight: &f64| *weight >= least && is_weight(*weight);
                number_of(found).filter(accepted).ok_or_else(|| refuse(index, allowed))
            }
        };
        let query_weight =
            weight(5, f64::MIN_POSITIVE, "a number from 2.2250738585072014e-308 to 1e100, or NULL")?;
        let doc_weight = weight(6, 0.0, "a number from 0 to 1e100, or NULL")?;
        // 2. The features, which the builder checks.
        self.builder.begin(NewRow {
            query,
            doc: Some(id_of(value(1))),
            relevance: Some(relevance),
            doc_weight: Some(doc_weight),
            group: None,
            query_values: QueryValues { weight: query_weight, features: Vec::new() },
        })?;
        match value(3) {
            ValueRef::Blob(bytes) => self.builder.blob(bytes),
            ValueRef::Text(bytes) => self.builder.json(bytes),
            _ => Err(refuse(3, "a BLOB of ltr_vec or a JSON array")),
        }
    }

    fn finish(self) -> Result<Vec<u8>> {
        interruptible(self.database, || Ok(pack::write(&pack::rows(self.builder)?)))
    }
}

impl Aggregate<Rows, Option<Vec<u8>>> for Pack {
    fn init(&self, context: &mut Context<'_>) -> rusqlite::Result<Rows> {
        let builder = DatasetBuilder::new(PACK, None, Vec::new());
        Ok(Rows { builder, database: Database::of(context) })
    }

    fn step(&self, context: &mut Context<'_>, rows: &mut Rows) -> rusqlite::Result<()> {
        self.0.guard(PACK, || rows.push(context))
    }

    fn finalize(&self, _: &mut Context<'_>, rows: Option<Rows>) -> rusqlite::Result<Option<Vec<u8>>> {
        self.0.guard(PACK, || rows.map(Rows::finish).transpose())
    }
}

struct Merge(Arc<State>);

impl Aggregate<Option<Answer>, Value> for Merge {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Option<Answer>> {
        Ok(None)
    }

    fn step(&self, context: &mut Context<'_>, merged: &mut Option<Answer>) -> rusqlite::Result<()> {
        self.0.guard(MERGE, || {
            let value = context.get_raw(0);
            if value == ValueRef::Null {
                return Ok(());
            }
            let next = Answer::from_bytes(blob("argument 'answer'", value, "ltr_partial or ltr_merge")?)?;
            if let Some(merged) = merged {
                merged.merge(next)
            } else {
                *merged = Some(next);
                Ok(())
            }
        })
    }

    fn finalize(&self, _: &mut Context<'_>, merged: Option<Option<Answer>>) -> rusqlite::Result<Value> {
        self.0.guard(MERGE, || {
            Ok(merged.flatten().map_or(Value::Null, |merged| Value::Blob(merged.to_bytes())))
        })
    }
}
