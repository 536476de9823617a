//! The SQL aggregates `ltr_pack`, which packs rows, and `ltr_merge`, which sums answers.

use super::arguments::blob;
use crate::base::{Error, Memory, Reservation, Result};
use crate::buckets::{Answer, pack};
use crate::data::{DatasetBuilder, Id, NewRow, QueryValues, is_weight};
use crate::sqlite::glue::signature::Parameters;
use crate::sqlite::glue::{
    Database, PURE, State as ConnectionState, describe, interruptible, number_of, reading, row_id, usage,
};
use rusqlite::Connection;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::{Value as SqlValue, ValueRef};
use std::sync::Arc;

const PACK: &str = "ltr_pack";

const MERGE: &str = "ltr_merge";

const PACK_PARAMETERS: &str =
    "query_id, doc_id, relevance, features [, query_features] [, weight] [, doc_weight]";

/// Registers both aggregates.
pub fn register(connection: &Connection, state: &Arc<ConnectionState>) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | PURE;
    let Parameters { names, required } = Parameters::of(PACK_PARAMETERS);
    for arguments in required..=names.len() {
        connection.create_aggregate_function(PACK, arguments as i32, flags, Pack(Arc::clone(state)))?;
    }
    usage::answer_aggregate(connection, PACK, PACK_PARAMETERS)?;
    connection.create_aggregate_function(MERGE, 1, flags, Merge(Arc::clone(state)))?;
    usage::answer_aggregate(connection, MERGE, "answer")
}

struct Pack(Arc<ConnectionState>);

/// The rows of a group.
struct Rows {
    builder: DatasetBuilder,
    database: Database,
}

impl Rows {
    fn new(context: &Context<'_>) -> Self {
        let builder = DatasetBuilder::new(PACK, None, Vec::new()).within(&Memory::default());
        Self { builder, database: Database::of(context) }
    }

    fn push(&mut self, context: &Context<'_>) -> Result<()> {
        // 1. Check every value before adding the row.
        let row = self.builder.n_rows() + 1;
        let value =
            |index: usize| if index < context.len() { context.get_raw(index) } else { ValueRef::Null };
        let refuse = |index: usize, allowed: &str| {
            let name = &Parameters::of(PACK_PARAMETERS).names[index];
            let what = format!("argument '{name}' in row {row} of the group");
            Error::value(what, describe(value(index)), allowed)
        };
        let query = row_id(value(0));
        if query == Id::Null {
            return Err(refuse(0, "a query id"));
        }
        let relevance = number_of(value(2)).filter(|grade| grade.is_finite());
        let relevance = relevance.ok_or_else(|| refuse(2, "a finite number"))?;
        match value(4) {
            ValueRef::Null => {}
            ValueRef::Integer(_) | ValueRef::Real(_) => {
                return Err(refuse(4, "NULL; the query weight is the 6th argument"));
            }
            _ => {
                return Err(refuse(
                    4,
                    "NULL; query features are for query-dependent models: train those on rows, by ltr_fit with \
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
        // 2. Add the row. The builder checks the features.
        self.builder.begin(NewRow {
            query,
            doc: Some(row_id(value(1))),
            relevance: Some(relevance),
            doc_weight: Some(doc_weight),
            group: None,
            query_values: QueryValues { weight: query_weight, features: Vec::new() },
        })?;
        match value(3) {
            ValueRef::Blob(bytes) => self.builder.blob(bytes),
            ValueRef::Text(bytes) => self.builder.json(bytes),
            _ => Err(refuse(3, "an ltr_vec BLOB or a JSON array")),
        }
    }

    fn finish(self) -> Result<Vec<u8>> {
        interruptible(self.database, || pack::write(&pack::rows(self.builder)?))
    }
}

impl Aggregate<Rows, Option<Vec<u8>>> for Pack {
    fn init(&self, context: &mut Context<'_>) -> rusqlite::Result<Rows> {
        Ok(Rows::new(context))
    }

    fn step(&self, context: &mut Context<'_>, rows: &mut Rows) -> rusqlite::Result<()> {
        let outcome = self.0.guard(PACK, || reading(context, || rows.push(context)));
        if outcome.is_err() {
            // SQLite still asks for the result, and discards it.
            *rows = Rows::new(context);
        }
        outcome
    }

    fn finalize(&self, _: &mut Context<'_>, rows: Option<Rows>) -> rusqlite::Result<Option<Vec<u8>>> {
        self.0.guard(PACK, || rows.map(Rows::finish).transpose())
    }
}

struct Merge(Arc<ConnectionState>);

/// The sum of the answers so far, and the memory reserved for it.
type Merged = (Option<Answer>, Reservation);

/// Memory per byte of an answer: the answer, the sum so far, the decoded answer, the result and SQLite's copy.
const ANSWER_FACTOR: u64 = 5;

impl Aggregate<Merged, SqlValue> for Merge {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Merged> {
        Ok((None, Memory::default().nothing()))
    }

    fn step(&self, context: &mut Context<'_>, (merged, held): &mut Merged) -> rusqlite::Result<()> {
        let merge = || {
            let value = context.get_raw(0);
            if value == ValueRef::Null {
                return Ok(());
            }
            let bytes = blob("argument 'answer'", value, "ltr_partial or ltr_merge")?;
            let needed = ANSWER_FACTOR.saturating_mul(bytes.len() as u64);
            held.resize(needed, "merging answers", "use fewer features or landmarks")?;
            let next = Answer::from_bytes(bytes)?;
            if let Some(merged) = merged {
                merged.merge(next)
            } else {
                *merged = Some(next);
                Ok(())
            }
        };
        self.0.guard(MERGE, || reading(context, merge))
    }

    fn finalize(&self, _: &mut Context<'_>, merged: Option<Merged>) -> rusqlite::Result<SqlValue> {
        self.0.guard(MERGE, || {
            let merged = merged.and_then(|(merged, _held)| merged);
            let bytes = merged.map(|merged| merged.to_bytes()).transpose()?;
            Ok(bytes.map_or(SqlValue::Null, SqlValue::Blob))
        })
    }
}
