//! The arguments (model, source, options) of `ltr_rank` and `ltr_evaluate`, and of `ltr_compare` for each model.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use rusqlite::types::ValueRef;
use serde_json::Value;

use crate::apply::{Scored, ScoringJob, Step};
use crate::base::{Control, Error, Params, Result, shorten};
use crate::cost::metric::{DEFAULT_METRIC, Metric};
use crate::data::{Dataset, Id, ListConstraint};
use crate::model::{CandidateView, Card, Key, Model};
use crate::sqlite::glue::{Asked, Call, ModelHandle, RunLimits, Ticket, is_first_version, text_argument};
use crate::sqlite::source::Source;
use crate::sqlite::source::candidates::has_name;
use crate::sqlite::source::judgments::{Unjudged, read_judgments, read_view};
use crate::sqlite::source::parameters::SourceCall;
use crate::sqlite::source::passes::read;
use crate::sqlite::source::reader::{Judgments, ReadSpec, SourceRows, prepare, read_prepared};
use crate::sqlite::source::roles::Roles;
use crate::sqlite::store::{cached_model, model as find_model};
use crate::train::options::{self, Use};

/// Their parameters.
pub const PARAMETERS: &str = "model, source [, options] [, value1, ...]";

/// The number of the first value, for a function without values.
pub const NO_VALUES: usize = usize::MAX;

/// Advice for documents that take too much memory.
pub const FEWER_RANKED: &str = "rank fewer queries in one call (WHERE query_id = ...)";

/// A model, with the ticket of [`crate::sqlite::glue::statements::Statements::begin`] taken before it was looked up.
pub struct FoundModel {
    pub handle: ModelHandle,
    pub ticket: Ticket,
}

impl FoundModel {
    /// The model of an argument.
    ///
    /// # Errors
    /// A model that does not exist or is not valid.
    pub fn find(call: &Call<'_>, model: ValueRef<'_>, options: &Params, limits: &RunLimits) -> Result<Self> {
        let ticket = call.statements.begin();
        let schema = options.text("schema");
        let cached = match model {
            ValueRef::Text(name) if schema.is_none() => std::str::from_utf8(name).ok(),
            _ => None,
        };
        let cached = cached.and_then(|name| cached_model(call, ticket, name));
        let handle =
            cached.map_or_else(|| find_model(call.connection, model, schema, call.state, limits), Ok)?;
        Ok(Self { handle, ticket })
    }
}

/// The checked arguments of a call.
pub struct RankingCall<'a> {
    pub call: &'a Call<'a>,
    pub options: Params,
    /// Threads, interrupts and the time limit. The time starts with the call.
    pub limits: RunLimits,
    pub handle: ModelHandle,
    pub source: Rc<Source>,
    /// The view of the model, if the source does not have the features of the model.
    pub features: Option<Rc<Source>>,
    /// The only query to read, from a comparison with `query_id` or an argument.
    pub only: Option<Id>,
    /// Whether the source is the model's view. While it is read, `ltr_query` has the query `only`.
    is_view: bool,
    /// The parameters of `ltr_query` then, as JSON.
    params: Option<String>,
    /// Warnings about the view.
    noted: RefCell<Vec<String>>,
    /// The column by which a NULL model ranks.
    pub by_column: Option<String>,
    /// The source as named in the call. If a function reads a modified copy, no statement is kept.
    named: Rc<Source>,
    /// The source argument; `None` for a model's view.
    text: Option<String>,
    /// The number of the argument after the options.
    first_value: usize,
    ticket: Ticket,
    /// The key of its statement.
    key: String,
}

/// How a call reads the source.
struct Plan {
    source: Rc<Source>,
    roles: Rc<Roles>,
    spec_key: SpecKey,
}

/// The parts of a [`ReadSpec`] on which the statement and the roles depend.
type SpecKey = (bool, bool, bool, Judgments, ListConstraint);

fn spec_key(spec: &ReadSpec<'_>) -> SpecKey {
    (spec.only.is_some(), spec.query, spec.features, spec.judgments, spec.constraint)
}

/// Everything on which a plan depends, besides the schema and the function.
fn plan_key(call: &Call<'_>, text: &str, options: &Params, model: Key) -> String {
    let filtered = if call.only.is_some() { "one query" } else { "" };
    let columns = options.get("columns").map(Value::to_string).unwrap_or_default();
    let diversify_by = options.get("diversify_by").map(Value::to_string).unwrap_or_default();
    [text, filtered, &columns, &diversify_by, &format!("{model:x}")].join("\0")
}

/// Whether these columns have the features of a model; otherwise the missing ones.
pub(super) fn has_features(model: &Model, names: &[String]) -> Result<(), String> {
    let Card { columns, .. } = &model.card;
    let features = columns.features.clone().map_or_else(|| model.card.input_names(), |vector| vec![vector]);
    let is_missing = |feature: &&String| !names.iter().any(|name| name.eq_ignore_ascii_case(feature));
    let missing: Vec<&str> = features.iter().filter(is_missing).map(String::as_str).collect();
    if missing.is_empty() { Ok(()) } else { Err(shorten(&missing.join(", "))) }
}

/// An error from reading a view, with what changed in the view since training.
pub(super) fn after_change(error: Error, change: Option<&str>) -> Error {
    let Some(change) = change else { return error };
    match error {
        Error::Row { source_text, row, column, problem } => {
            Error::Row { source_text, row, column, problem: format!("{problem} ({change})") }
        }
        Error::Source { source_text, problem } => {
            Error::Source { source_text, problem: format!("{problem} ({change})") }
        }
        error => error,
    }
}

impl<'a> RankingCall<'a> {
    /// Checks the arguments of a call.
    ///
    /// # Errors
    /// Options, a model or a source that do not exist or are not valid.
    pub fn new(call: &'a Call<'a>, used: Use) -> Result<Self> {
        let (options, limits) = call.options(2, used)?;
        Self::of(call, call.argument(0), call.argument(1), 3, options, limits)
    }

    /// Runs `work` with the arguments of a call, within its limits.
    ///
    /// # Errors
    /// As [`Self::new`]; errors of `work`; the limits.
    pub fn run<T>(call: &'a Call<'a>, used: Use, work: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        let request = Self::new(call, used)?;
        request.limits.run_here(|| work(&request))
    }

    /// A call with this model and source. Arguments from index `first_value` on are values for the source's statement.
    ///
    /// # Errors
    /// A model or a source that does not exist or is not valid.
    pub fn of(
        call: &'a Call<'a>,
        model: ValueRef<'_>,
        source: ValueRef<'_>,
        first_value: usize,
        options: Params,
        limits: RunLimits,
    ) -> Result<Self> {
        let found = FoundModel::find(call, model, &options, &limits)?;
        Self::with_model(call, found, source, first_value, options, limits)
    }

    /// Like [`Self::of`], with this model.
    ///
    /// # Errors
    /// A source that does not exist or is not valid.
    pub fn with_model(
        call: &'a Call<'a>,
        found: FoundModel,
        source: ValueRef<'_>,
        first_value: usize,
        options: Params,
        limits: RunLimits,
    ) -> Result<Self> {
        let text = text_argument("argument 'source'", source)?;
        let model = Arc::clone(&found.handle.model);
        let view = model.card.candidates.as_ref();
        if let Some(view) = view.filter(|view| view.name.eq_ignore_ascii_case(&text)) {
            return Ok(Self { first_value, ..Self::of_view(call, found, view, options, limits)? });
        }
        let key = plan_key(call, &text, &options, found.handle.key);
        let resolve = |limits: &_| Source::resolve(call.connection, &text, limits);
        let mut request = Self::with_source(call, found, key, resolve, options, limits)?;
        if let Some(view) = view
            && has_features(&model, &request.source.columns(call.connection, &request.limits)?).is_err()
        {
            let schema = request.handle.schema();
            let view = Source::of_model(call.connection, schema, view, &request.limits)?;
            request.features = Some(Rc::new(view));
        }
        Ok(Self { text: Some(text), first_value, ..request })
    }

    /// A call with this model and its view of candidates.
    ///
    /// # Errors
    /// A view that does not exist or that SQLite refuses.
    pub fn of_view(
        call: &'a Call<'a>,
        found: FoundModel,
        view: &CandidateView,
        options: Params,
        limits: RunLimits,
    ) -> Result<Self> {
        let schema = found.handle.schema().to_owned();
        let key = plan_key(call, &[&schema, &*view.name].join("\0"), &options, found.handle.key);
        let resolve = |limits: &_| Source::of_model(call.connection, &schema, view, limits);
        let mut request = Self::with_source(call, found, key, resolve, options, limits)?;
        request.read_as_view();
        Ok(request)
    }

    fn with_source(
        call: &'a Call<'a>,
        FoundModel { handle, ticket }: FoundModel,
        key: String,
        resolve: impl FnOnce(&RunLimits) -> Result<Source>,
        options: Params,
        limits: RunLimits,
    ) -> Result<Self> {
        let source = match call.statements.facts::<Plan>(&key) {
            Some(plan) => Rc::clone(&plan.source),
            None => Rc::new(resolve(&limits)?),
        };
        let named = Rc::clone(&source);
        Ok(Self {
            call,
            options,
            limits,
            handle,
            source,
            features: None,
            only: call.only.clone(),
            is_view: false,
            params: None,
            noted: RefCell::default(),
            by_column: None,
            named,
            text: None,
            first_value: NO_VALUES,
            ticket,
            key,
        })
    }

    /// The same call for one query. If the source does not have the features, the call reads candidates from the view
    /// instead.
    #[must_use]
    pub fn for_query(mut self, query: Option<Id>) -> Self {
        self.only = query;
        if let Some(view) = self.features.take() {
            (self.source, self.first_value) = (view, NO_VALUES);
            self.read_as_view();
        }
        self
    }

    fn read_as_view(&mut self) {
        self.is_view = true;
        self.params = self.options.get("params").map(Value::to_string);
        self.options = self.options.clone().without(&["params"]);
    }

    /// The constraint of the model (slots) or of the option `diversify_by`.
    ///
    /// # Errors
    /// Options that depend on `diversify_by` without it; `diversify_by` for a model with slots.
    pub fn constraint(&self) -> Result<ListConstraint> {
        let diversity = self.options.has("diversify_by");
        let by_vectors = self.vector_weight()?.is_some();
        let dependent = ["max_per_value", "allow_short"].into_iter().find(|key| self.options.has(key));
        if let Some(key) = dependent.filter(|_| !diversity || by_vectors) {
            let needed = if by_vectors { "a column of values in the option" } else { "the option" };
            return Err(Error::Unsupported(format!("option '{key}': it needs {needed} 'diversify_by'")));
        }
        match (self.handle.model.card.slots, diversity) {
            (true, true) => {
                let reason = "option 'diversify_by': the model assigns documents to slots; slots cannot be diversified";
                Err(Error::Unsupported(reason.to_owned()))
            }
            (true, false) => Ok(ListConstraint::Slots),
            (false, true) if by_vectors => Ok(ListConstraint::Vectors),
            (false, true) => Ok(ListConstraint::Diversity),
            (false, false) => Ok(ListConstraint::None),
        }
    }

    /// The weight of diversity by vectors, if there is one.
    ///
    /// # Errors
    /// As [`options::vector_weight`].
    pub fn vector_weight(&self) -> Result<Option<f64>> {
        options::vector_weight(&self.options)
    }

    /// Whether an unjudged document counts as one of grade 0 (option `unjudged`).
    pub fn counts_unjudged(&self) -> bool {
        self.options.get("unjudged").is_some_and(Value::is_number)
    }

    /// The values for the source's statement.
    pub fn values(&self) -> Vec<ValueRef<'a>> {
        self.call.values(self.first_value)
    }

    /// Refuses a source without the features of a model whose view has them. `advice`: what to write instead.
    ///
    /// # Errors
    /// Names of missing columns.
    pub fn check_features(&self, advice: &str) -> Result<()> {
        let Some(view) = &self.features else { return Ok(()) };
        let names = self.source.columns(self.call.connection, &self.limits)?;
        has_features(&self.handle.model, &names).map_err(|missing| {
            let view = &view.shown;
            self.source.error(format!(
                "the model needs feature columns that are missing: {missing}; its view {view} has them: {advice}"
            ))
        })
    }

    /// Whether the source is the model's view without a query, which has no rows.
    pub fn has_no_query(&self) -> bool {
        self.is_view && self.only.is_none()
    }

    /// Why a view of candidates has no rows, if it has no query. `rows`: how many rows the source has.
    ///
    /// # Errors
    /// A statement without rows that reads the view: the query doesn't reach it.
    pub fn empty_view(&self, rows: usize) -> Result<Option<String>> {
        let view = self.handle.model.card.candidates.as_ref().map(|view| &view.name);
        let is_read = |view: &&String| rows == 0 && !self.is_view && has_name(&self.source.select, view);
        if let Some(view) = view.filter(is_read) {
            return Err(self.source.error(format!(
                "no rows, because ltr_query is empty when a statement reads the view \"{view}\"; give the view's name as the \
                 source, and the query in the WHERE of this call, as in ... '{view}') WHERE query_id = 'a text'"
            )));
        }
        let problem = "no rows, because ltr_query is empty without a query; compare query_id with one, or use ltr_search";
        Ok(self.has_no_query().then(|| format!("source {}: {problem}", self.source.shown)))
    }

    /// Warnings about the view that [`Self::scored`] has not reported.
    pub fn noted(&self) -> Vec<String> {
        self.noted.take()
    }

    /// A warning about a view that had parameters in training but has none now.
    pub fn without_params(&self, has_params: bool) -> Option<String> {
        let view = self.handle.model.card.candidates.as_ref().filter(|view| !view.judged[3].is_empty())?;
        (!has_params).then(|| {
            format!(
                "candidates '{}': the training had \"params\" for each query, this call has none (ltr_search: option 'params'; \
                 judgments: column params)",
                view.name
            )
        })
    }

    /// Reads the source, or the candidates of the view.
    ///
    /// # Errors
    /// As [`read`]; a source that has no features in a call that reads no judgments.
    pub fn read_source(&self, spec: ReadSpec<'_>) -> Result<SourceRows> {
        let spec = ReadSpec { query: spec.query || self.only.is_some(), ..spec };
        if let Some(view) = &self.features {
            return self.read_judged(view, spec);
        }
        if !self.is_view {
            return self.read_rows(ReadSpec { only: self.only.as_ref(), ..spec });
        }
        let Self { source, call, .. } = self;
        if self.only.is_none() && spec.reads_relevance() {
            return Err(
                source.error("a view has no judgments; give a source of query, document and relevance")
            );
        }
        let without_params = self.only.as_ref().and_then(|_| self.without_params(self.params.is_some()));
        self.noted.borrow_mut().extend(source.warning.clone().into_iter().chain(without_params));
        let asked = self.only.clone().map(|query| Asked::new(vec![query], vec![self.params.clone()]));
        let _mark = asked.map(|asked| call.state.ask(asked)).transpose()?;
        let rows = self.read_rows(spec).map_err(|error| after_change(error, source.warning.as_deref()))?;
        let is_other = |id: &&Id| **id != Id::Null && self.only.as_ref().is_some_and(|only| only != *id);
        match (rows.data.query_ids.iter().find(is_other), &self.only) {
            (Some(other), Some(query)) => Err(source.error(format!(
                "a candidate of the query {other}, but the query is {query}; select q.query AS query_id from ltr_query AS q"
            ))),
            _ => Ok(rows),
        }
    }

    /// Reads the judged documents of the source, with their features from the view.
    fn read_judged(&self, view: &Source, spec: ReadSpec<'_>) -> Result<SourceRows> {
        let Self { call: Call { connection, state, .. }, source, options, limits, handle, .. } = self;
        if !spec.reads_relevance() {
            let name = handle.model.card.candidates.as_ref().map_or("", |view| &view.name);
            let advice = format!(
                "search with ltr_search, or give the source '{name}' and compare query_id with the query"
            );
            self.check_features(&advice)?;
        }
        let call = SourceCall { connection, source, options, values: &self.values(), limits };
        let judged = read_judgments(call, spec, handle.model.card.candidates.as_ref())?;
        let rows = read_view(&judged, SourceCall { source: view, ..call }, state, spec, Unjudged::Skipped);
        let rows = rows.map_err(|error| after_change(error, view.warning.as_deref()))?;
        judged.check_found(|problem| view.error(problem))?;
        let missing = judged.warning(view, &Metric::parse(DEFAULT_METRIC)?);
        let warnings = view.warning.clone().into_iter().chain(missing);
        self.noted.borrow_mut().extend(warnings.chain(self.without_params(!judged.params.is_empty())));
        Ok(rows)
    }

    fn read_rows(&self, spec: ReadSpec<'_>) -> Result<SourceRows> {
        let Self { call: Call { connection, statements, .. }, source, options, limits, .. } = self;
        let values = &self.values();
        let call = SourceCall { connection, source, options, values, limits };
        if !Rc::ptr_eq(source, &self.named) {
            return read(call, spec);
        }
        let kept = statements.take::<Plan>(&self.key);
        let kept = kept.filter(|(_, plan)| plan.spec_key == spec_key(&spec));
        let may_be_kept = kept.is_some() || !statements.sees_attached();
        let (mut statement, plan) = if let Some(kept) = kept {
            kept
        } else {
            let (statement, roles) = prepare(call, spec)?;
            let (source, roles) = (Rc::clone(source), Rc::new(roles));
            (statement, Rc::new(Plan { source, roles, spec_key: spec_key(&spec) }))
        };
        let Plan { source, roles, .. } = &*plan;
        let rows = read_prepared(SourceCall { source, ..call }, roles, &mut statement, spec);
        if !is_first_version(&statement) {
            // The schema changed after the statement was prepared, so its columns may be different.
            let text = self.text.as_deref();
            let again = text.map(|text| Source::resolve(connection, text, limits)).transpose()?;
            return read(SourceCall { source: again.as_ref().unwrap_or(source), ..call }, spec);
        }
        let (data, read_report) = rows?;
        let roles = Rc::clone(roles);
        if may_be_kept {
            statements.keep(self.ticket, self.key.clone(), statement, plan);
        }
        Ok(SourceRows { data, roles, read_report })
    }

    /// Scores the documents. Small numbers of documents are scored on the calling thread. Functions for new queries are
    /// fitted in batches (rule 6.4). Before each batch, the calling thread reads the data that it needs from the stored
    /// model.
    ///
    /// # Errors
    /// Errors of scoring and of reading blocks of the model.
    pub fn scored(&self, data: &Dataset) -> Result<Scored> {
        let ModelHandle { model, key, .. } = &self.handle;
        let fits = &self.call.state.fits;
        let run = |control: &Control| ScoringJob::start(model, *key, data, fits, control);
        let operations = ScoringJob::operations(model, data);
        let mut progress = self.limits.run_sized(operations, run)?;
        loop {
            progress = match progress {
                Step::Done(mut scored) => {
                    scored.warnings.extend(self.noted());
                    return Ok(scored);
                }
                Step::NeedsFits(job, queries) => {
                    self.handle.fetch(self.call.connection, &job.targets(&queries), &self.limits)?;
                    self.limits.run(|control| job.advance(&queries, control))?
                }
            };
        }
    }
}
