//! `ltr_train` and `ltr_fit` on packs, and on rows with the option `buckets`.

use rusqlite::{Row, Rows};
use serde_json::Value;

use super::arguments::{blob, columns, named, one_setting, whole};
use crate::base::{Control, Error, Memory, Params, Reservation, Result, cores, parallel};
use crate::buckets::state::{Columns, State};
use crate::buckets::{self, Answer, pack};
use crate::data::{RowOrder, check_buckets, position_names};
use crate::sqlite::functions::training::{
    About, CANDIDATES, Trained, TrainingReport, read_judged, read_spec,
};
use crate::sqlite::glue::{retry_busy, within_time};
use crate::sqlite::source::parameters::{SourceCall, bind};
use crate::sqlite::source::reader::{CategoryColumns, ReadSpec, SourceRows};
use crate::train::algorithm::AlgorithmDef;
use crate::train::protocol::{Rows as JudgedRows, Training};
use crate::train::report::Finished;

/// Advice for packs that take too much memory.
const SMALLER: &str = "use more buckets or fewer threads";

/// Memory for a pack's answer, as a multiple of the pack's bytes: the rows, scaled and in the form that the solver needs.
const PACK_FACTOR: u64 = 15;

/// Trains in buckets if the source has packs or the option `buckets` is given; otherwise `None`.
///
/// # Errors
/// Errors of the training.
pub fn train(call: SourceCall<'_>, training: &Training, text: &str) -> Result<Option<Trained>> {
    let SourceCall { connection, source, options, limits, .. } = call;
    let algorithm = training.algorithm;
    let columns = source.columns(connection, limits)?;
    let is = |index: usize, name: &str| columns[index].eq_ignore_ascii_case(name);
    let has_packs =
        columns.len() == 2 && (is(0, "bucket") && is(1, "rows") || is(0, "rows") && is(1, "bucket"));
    let buckets = options.count("buckets").map(|count| check_buckets("option 'buckets'", count as u64));
    let buckets = buckets.transpose()?;
    if !has_packs && buckets.is_none() {
        return Ok(None);
    }
    if options.has(CANDIDATES) {
        let problem = "option 'candidates': a training in buckets reads its features from the source";
        return Err(Error::Unsupported(problem.to_owned()));
    }
    one_setting(training)?;
    buckets::training(algorithm, options)?;
    let TrainedOnSource { finished, roles, reading } = match buckets {
        Some(buckets) if !has_packs => train_rows(call, training, buckets)?,
        _ => {
            let columns = if is(0, "bucket") { [0, 1] } else { [1, 0] };
            let threads = options.count("threads").unwrap_or_else(cores);
            let finished = Packs { call, columns, threads }.train(algorithm, buckets)?;
            TrainedOnSource { finished, roles: Value::Null, reading: 0.0 }
        }
    };
    let about = About { algorithm, source: text, roles, added: None, reading };
    let (model, mut report) = TrainingReport::new(finished, about);
    report.log_seconds = None; // They cover only one replay.
    report.encode(connection, model, limits).map(Some)
}

/// Training, and what the report says about the source.
struct TrainedOnSource {
    finished: Finished,
    /// The column roles; null for packs.
    roles: Value,
    /// Seconds for reading it; 0 for packs, which are read in each round.
    reading: f64,
}

/// Trains on rows that fit into memory, after packing them.
fn train_rows(call: SourceCall<'_>, training: &Training, buckets: u32) -> Result<TrainedOnSource> {
    let SourceCall { options, limits, .. } = call;
    let (algorithm, spec) = (training.algorithm, one_setting(training)?);
    let read_spec = ReadSpec {
        keep_missing: true,
        categories: CategoryColumns::Refused,
        ..read_spec(spec.input(), RowOrder::Canonical)
    };
    let SourceRows { data, roles, read_report } = read_judged(call, spec.input(), read_spec)?;
    let reading = limits.seconds();
    let advice = roles.advice(options);
    // Packs store no forms of texts.
    if let Some(problem) = data.quantities.problem(|name| data.names.iter().any(|known| known == name)) {
        let problem = format!("{problem}; a training in buckets takes numbers only");
        return Err(call.source.error(problem));
    }
    let column_report = roles.column_report(&data, &read_report, advice);
    let ignored = read_report.ignored.clone();
    let column_roles = roles.training_columns(&ignored);
    let rows = JudgedRows { data, read_report, validation: None, roles: column_roles, advice, column_report };
    let train = |rows: JudgedRows<'_>, control: &Control| {
        let JudgedRows { data, read_report: _read_report, roles, .. } = rows;
        let names =
            if data.names == position_names(data.names.len()) { Vec::new() } else { data.names.clone() };
        let columns = Columns { names, roles: named(roles) };
        let what = format_args!("packing {} documents", data.n_docs());
        let _packs =
            control.reserve(data.bytes(), what, "pack the rows with ltr_pack and train on the packs")?;
        let packs = pack::split(&data, buckets)?;
        drop(data);
        let mut state = State::of(algorithm, &of_training(options), buckets, columns)?.begun(control)?;
        while !state.is_done() {
            let mut merged = Merged::new(control.memory());
            for packs in packs.chunks(parallel::threads().max(1)) {
                merged.add(answers(&state, packs, control)?)?;
            }
            state.step(merged.finish()?, control)?;
        }
        state.finish(control)
    };
    let counts_spread = spec.input().counts_spread;
    let finished = limits.run(|control| {
        rows.explained(counts_spread, (algorithm, options), control, |rows, _| train(rows, control))
    })?;
    let roles = roles.report(&ignored, &finished.model.card.categories);
    Ok(TrainedOnSource { finished, roles, reading })
}

/// The options, without options about the source.
fn of_training(options: &Params) -> Params {
    options.clone().without(&["columns", "params"])
}

fn no_packs() -> Error {
    Error::Data("0 packs; training needs judged documents".to_owned())
}

/// The answers of these packs, computed in parallel.
fn answers(state: &State, packs: &[(u32, Vec<u8>)], control: &Control) -> Result<Vec<Answer>> {
    parallel::try_map(packs.len(), |number| {
        let (bucket, rows) = &packs[number];
        state.answer(*bucket, rows, control)
    })
}

/// The sum of answers of buckets.
struct Merged {
    answer: Option<Answer>,
    memory: Reservation,
}

impl Merged {
    fn new(memory: &Memory) -> Self {
        Self { answer: None, memory: memory.nothing() }
    }

    fn add(&mut self, answers: Vec<Answer>) -> Result<()> {
        for answer in answers {
            match &mut self.answer {
                Some(merged) => merged.merge(answer)?,
                None => self.answer = Some(answer),
            }
        }
        let bytes = self.answer.as_ref().map_or(0, Answer::bytes);
        let way_out = "read the packs in the order of their buckets, or use fewer buckets";
        self.memory.resize(bytes, "the answers of buckets", way_out)
    }

    /// # Errors
    /// If there are no packs.
    fn finish(self) -> Result<Answer> {
        self.answer.ok_or_else(no_packs)
    }
}

/// A source of packs, which is read once per round.
struct Packs<'a> {
    call: SourceCall<'a>,
    /// Columns of the bucket and its rows.
    columns: [usize; 2],
    threads: usize,
}

impl Packs<'_> {
    fn train(&self, algorithm: &'static AlgorithmDef, buckets: Option<u32>) -> Result<Finished> {
        let (columns, options) = (columns(self.call.options)?, of_training(self.call.options));
        let buckets = buckets.map_or_else(|| self.read(|rows| self.least_buckets(rows)), Ok)?;
        let state = State::of(algorithm, &options, buckets, columns)?;
        let mut state = self.call.limits.run(|control| state.begun(control))?;
        while !state.is_done() {
            let answer = self.read(|rows| self.pass(rows, &state))?;
            self.call.limits.run(|control| state.step(answer, control))?;
        }
        self.call.limits.run(|control| state.finish(control))
    }

    /// Runs the source's statement, retrying while another connection holds a lock.
    fn read<T>(&self, work: impl Fn(&mut Rows<'_>) -> Result<T>) -> Result<T> {
        let mut statement = self.call.statement(&self.call.source.select)?;
        bind(&mut statement, &self.call, None)?;
        let attempt = || work(&mut statement.raw_query());
        within_time(self.call.limits, || retry_busy(self.call.limits, attempt))
    }

    /// The number of a bucket.
    fn bucket(&self, row: &Row<'_>) -> Result<u32> {
        whole("column \"bucket\"", self.call.source.value(row, self.columns[0])?)
    }

    /// The smallest number of buckets consistent with the packs.
    fn least_buckets(&self, rows: &mut Rows<'_>) -> Result<u32> {
        let mut largest = None;
        while let Some(row) = rows.next().map_err(|error| self.call.source.host_error(&error))? {
            largest = largest.max(Some(self.bucket(row)?));
        }
        let buckets = (u64::from(largest.ok_or_else(no_packs)?) + 1).next_power_of_two();
        check_buckets("column \"bucket\": the number of buckets", buckets)
    }

    /// The answer of all packs, with only a few in memory at a time.
    fn pass(&self, rows: &mut Rows<'_>, state: &State) -> Result<Answer> {
        let mut merged = Merged::new(&self.call.limits.memory);
        loop {
            let (mut packs, mut needed) = (Vec::with_capacity(self.threads), 0);
            let mut memory = self.call.limits.memory.nothing();
            while packs.len() < self.threads {
                let Some(row) = rows.next().map_err(|error| self.call.source.host_error(&error))? else {
                    break;
                };
                let bucket = self.bucket(row)?;
                let value = self.call.source.value(row, self.columns[1])?;
                let bytes = blob("column \"rows\"", value, "ltr_pack")?;
                needed += PACK_FACTOR * bytes.len() as u64;
                memory.resize(needed, format_args!("{} packs", packs.len() + 1), SMALLER)?;
                packs.push((bucket, bytes.to_vec()));
            }
            if packs.is_empty() {
                return merged.finish();
            }
            let answers = self.call.limits.run(|control| answers(state, &packs, control))?;
            merged.add(answers)?;
        }
    }
}
