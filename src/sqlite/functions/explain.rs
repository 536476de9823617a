//! Explains a document's score, and why it ranks above another.
//!
//! Rules (docs/reference/rules.md, 9):
//! * 9.3: `ltr_explain(model, features [, query_features])`: rows `feature, value, contribution, standard_error`. The first row,
//!   `(base)`, is the score at the training means. The contributions add up to the score.
//! * 9.11: `ltr_explain(model, source, query, doc [, options])` works with every model; the base has the query's means.
//! * 9.12: `ltr_explain_rank(model, source, query, doc_a, doc_b [, options])`: rows `feature, value_a, value_b, contribution,
//!   standard_error` add up to the difference of the scores. The base is document b.

use rusqlite::types::ValueRef;

use super::inspect::{function_of, open_model};
use super::ranking_call::RankingCall;
use crate::apply::{
    DocumentOf, ExplainedRows, Explanation, Sampling, explain, explain_document, selected_rows,
};
use crate::base::{Error, Params, Result, shorten};
use crate::data::{CategoryFeature, Dataset, Id, InputColumn, Matrix};
use crate::model::Model;
use crate::sqlite::glue::{
    Call, Output, OutputRows, RunLimits, TableFunction, describe, id_of, ready, row, vector_argument,
};
use crate::sqlite::source::reader::ReadSpec;
use crate::train::options::Use;

/// With four arguments, the second and third are a source and a query.
pub const EXPLAIN: TableFunction = TableFunction {
    forms: Some(
        "ltr_explain(model, features [, query_features]) or \
         ltr_explain(model, source, query, doc [, options] [, value1, ...])",
    ),
    ..TableFunction::new(
        "ltr_explain",
        "feature, value, contribution, standard_error",
        "model, features [, query_features] [, doc] [, options] [, value1, ...]",
        explain_score,
    )
};

pub const EXPLAIN_RANK: TableFunction = TableFunction::new(
    "ltr_explain_rank",
    "feature, value_a, value_b, contribution, standard_error",
    "model, source, query, doc_a, doc_b [, options] [, value1, ...]",
    explain_rank,
);

/// Advice for models that need all documents of a query.
const IN_SOURCE: &str = "use ltr_explain(model, source, query, doc)";

fn explain_score(call: &Call<'_>) -> Result<OutputRows> {
    let explained = match (call.arguments[3], call.arguments[4]) {
        (None, Some(_)) => Err(Error::Unsupported(format!("argument 'doc' is missing; {IN_SOURCE}"))),
        (None, None) => explain_vector(call).map_err(|error| match error {
            Error::NotPointwise(reason) => Error::Unsupported(format!("{reason}; {IN_SOURCE}")),
            other => other,
        }),
        (Some(_), _) => explain_documents(call, &["doc"]),
    }?;
    let base = row!["(base)", Output::Null, explained.explanation.base, 0.0];
    Ok(ready(std::iter::once(base).chain(explained.rows()).collect()))
}

fn explain_rank(call: &Call<'_>) -> Result<OutputRows> {
    Ok(ready(explain_documents(call, &["doc_a", "doc_b"])?.rows().collect()))
}

/// An explanation of a document, or of its difference from a second one.
struct Explained {
    /// Names of the contributions.
    names: Vec<String>,
    /// Column values of each document, before scaling; empty without features.
    values: Vec<Vec<Output>>,
    explanation: Explanation,
}

impl Explained {
    /// A row for each contribution: name, document values, contribution and its standard error.
    fn rows(&self) -> impl Iterator<Item = Vec<Output>> {
        self.names.iter().zip(&self.explanation.contributions).enumerate().map(|(index, (name, part))| {
            let value = |values: &Vec<Output>| values.get(index).cloned().unwrap_or(Output::Null);
            let values = self.values.iter().map(value);
            let numbers = [Output::Real(part.value), Output::Real(part.standard_error)];
            std::iter::once(Output::from(name.clone())).chain(values).chain(numbers).collect()
        })
    }
}

/// Column values of a document with these features. A category shows its value if the model knows it.
fn shown(model: &Model, features: &[f64]) -> Vec<Output> {
    let value = |input: &InputColumn<'_>| match input {
        InputColumn::Number(feature) => Output::Real(features[*feature]),
        InputColumn::Category(category, range) => {
            let ones = range.start..range.start + category.values.len() + 2;
            let number = features[ones].iter().position(|value| *value > 0.5);
            match category.feature(number.unwrap_or(range.len())) {
                CategoryFeature::Value(value) => Output::Text(value.to_owned()),
                CategoryFeature::Other => Output::Text("(other)".to_owned()),
                CategoryFeature::Null | CategoryFeature::Mean => Output::Null,
            }
        }
    };
    model.card.categories.inputs(features.len()).iter().map(value).collect()
}

/// Explains the score of a vector.
fn explain_vector(call: &Call<'_>) -> Result<Explained> {
    let handle = open_model(call)?;
    let model = &handle.model;
    model.scorer()?;
    let features = vector_argument("argument 'features'", call.argument(1), Some(model))?;
    let function = function_of(call, &handle, call.argument(2))?;
    model.check_pointwise()?;
    let n = features.len();
    let is_double = !matches!(call.argument(1), ValueRef::Blob(_));
    let query = Matrix::of(1, n, features.clone(), is_double);
    let document = DocumentOf { query: &query, row: 0 };
    let operations = Explanation::operations(model, 1);
    let explanation = RunLimits::of(call.connection).run_sized(operations, |control| {
        explain(model, &function, document, &model.card.means, Sampling::default(), control)
    })?;
    Ok(Explained { names: Explanation::names(model), values: vec![shown(model, &features)], explanation })
}

/// Explains the score of a source's document, or the difference between two documents' scores. `parameters`: names of the
/// arguments that name the documents, from the fourth on.
fn explain_documents(call: &Call<'_>, parameters: &[&str]) -> Result<Explained> {
    let after_documents = 3 + parameters.len();
    let (options, limits) = call.options(after_documents, Use::Explain)?;
    let request =
        RankingCall::of(call, call.argument(0), call.argument(1), after_documents + 1, options, limits)?;
    let request = request.for_query(Some(id_of(call.argument(2))).filter(|id| *id != Id::Null));
    request.limits.run_here(|| explain_rows(&request, parameters))
}

fn explain_rows(request: &RankingCall<'_>, parameters: &[&str]) -> Result<Explained> {
    let RankingCall { call, handle, .. } = request;
    let model = &handle.model;
    // 1. The documents of the query.
    let rows = request.read_source(ReadSpec::ranked(model, request.constraint()?))?;
    let data = rows.data;
    check_query(request, &data, call.argument(2))?;
    // The documents' scores, and the function of the query.
    let scored = request.scored(&data)?;
    let explained = parameters.iter().enumerate().map(|(number, parameter)| {
        let document = Document { data: &data, scores: &scored.scores, id: call.argument(3 + number) };
        document.row(request, parameter)
    });
    let explained: Vec<usize> = explained.collect::<Result<_>>()?;
    // 3. Contributions, relative to the second document or to the means.
    call.state.set_warnings(scored.warnings);
    let rows = ExplainedRows { row: explained[0], base: explained.get(1).copied() };
    let sampling = sampling(&request.options);
    let operations = Explanation::operations(model, data.n_docs());
    let explanation = request.limits.run_sized(operations, |control| {
        explain_document(model, &scored.functions, &data, rows, sampling, control)
    })?;
    let values = explained.iter().map(|row| shown(model, &data.features.row_f64(*row))).collect();
    Ok(Explained { names: Explanation::names(model), values, explanation })
}

fn sampling(options: &Params) -> Sampling {
    let default = Sampling::default();
    Sampling { pairs: options.count("samples").unwrap_or(default.pairs), seed: options.seed() }
}

/// Refuses rows that belong to no query or to several.
fn check_query(request: &RankingCall<'_>, data: &Dataset, query: ValueRef<'_>) -> Result<()> {
    match (data.n_queries(), query) {
        (0, ValueRef::Null) if request.has_no_query() => Err(request
            .source
            .error("a view has the candidates of one query; give it as the argument 'query'")),
        (0, ValueRef::Null) => Err(request.source.error("0 rows; there is nothing to explain")),
        (0, query) => Err(request.source.error(format!("query {}: 0 rows", describe(query)))),
        (1, _) => Ok(()),
        (n, _) => {
            let problem = format!("{n} queries; give the id of one as the argument 'query'");
            Err(request.source.error(problem))
        }
    }
}

/// A document to find in a query.
struct Document<'a> {
    data: &'a Dataset,
    scores: &'a [f64],
    id: ValueRef<'a>,
}

impl Document<'_> {
    /// The row. For a document with a row per slot, the row in the ranking.
    fn row(&self, request: &RankingCall<'_>, parameter: &str) -> Result<usize> {
        let (data, id) = (self.data, id_of(self.id));
        let rows: Vec<usize> = (0..data.n_docs()).filter(|row| data.doc_ids[*row] == id).collect();
        match rows[..] {
            [row] => return Ok(row),
            [] => {
                let ids: Vec<String> = data.doc_ids.iter().take(20).map(ToString::to_string).collect();
                let allowed =
                    format!("a document of query {}: {}", data.query_ids[0], shorten(&ids.join(", ")));
                return Err(Error::value(format!("argument '{parameter}'"), describe(self.id), allowed));
            }
            _ => {}
        }
        let constraint = request.constraint()?;
        let shown = selected_rows(data, 0, self.scores, constraint, 1)?;
        let shown: Vec<usize> = shown.into_iter().filter(|row| rows.contains(row)).collect();
        match shown[..] {
            [row] => Ok(row),
            _ => Err(request.source.error(format!(
                "document {} has {} rows in query {}; an explanation needs one",
                data.doc_ids[rows[0]],
                rows.len(),
                data.query_ids[0]
            ))),
        }
    }
}
