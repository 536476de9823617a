//! `ltr_recommend(model, user [, k] [, options])` and `ltr_factors(model)`: models of users and items (`cofi_rank`).
//!
//! Rules (docs/reference/rules.md, 11):
//! * 11.1: Rows `doc_id, score, rank` of the k best items, by default those that the user has not rated.
//! * 11.2: The option `ratings` replaces the user's training ratings. The user is fitted to them, the items are not.
//! * 11.3: An unknown user without ratings gets the items with the best biases.

use rusqlite::types::ValueRef;
use serde_json::{Value, json};

use crate::arrange::ListConstraint;
use crate::data::Id;
use crate::error::{Error, Result};
use crate::memory::bytes_of;
use crate::model::{Candidates, Factored, Model, Ranker, User};
use crate::options::{self, Use};
use crate::param::Params;
use crate::sqlite::glue::run_limits::RunLimits;
use crate::sqlite::glue::value::{Output, describe, id_of, optional_text};
use crate::sqlite::glue::vtab::{Call, OutputRows, Parameter, TableFunction};
use crate::sqlite::source::Source;
use crate::sqlite::source::reader::{Judgments, ReadSpec, SourceRows, read};
use crate::sqlite::store::model;

const MODEL: Parameter = Parameter::required("model");

/// The default of k.
const DEFAULT_K: usize = 10;

fn factored(model: &Model) -> Result<&Factored> {
    if let Ranker::Factored(factored) = &model.ranker {
        return Ok(factored);
    }
    let name = &model.card.algorithm;
    Err(Error::Unsupported(format!("a model of '{name}' has no users and items; train one with 'cofi_rank'")))
}

/// `ltr_recommend`.
pub const RECOMMEND: TableFunction = TableFunction::new(
    "ltr_recommend",
    &["doc_id", "score", "rank"],
    &[MODEL, Parameter::required("user"), Parameter::optional("k"), Parameter::optional("options")],
    recommend,
);

fn recommend(call: &Call<'_>) -> Result<OutputRows> {
    let (k, options) = arguments(call)?;
    let limits = RunLimits::new(&options);
    limits.run_here(call.connection, || recommend_rows(call, k, &options, &limits))
}

fn recommend_rows(call: &Call<'_>, k: usize, options: &Params, limits: &RunLimits) -> Result<OutputRows> {
    let handle = model(call.connection, call.argument(0), options.text("schema"), call.state, limits)?;
    let factored = factored(&handle.model)?;
    let bytes = bytes_of::<(usize, f64)>(factored.items.len());
    let what = format_args!("scoring {} items", factored.items.len());
    let memory = limits.memory().reserve(bytes, what, "use a model of fewer items")?;
    let mut warnings = Vec::new();
    let user = match ratings(call, options, limits, &handle.model)? {
        Some(ratings) => fold_in(factored, &ratings, &mut warnings),
        None => known(factored, &id_of(call.argument(1)), &mut warnings),
    };
    let candidates = if options.flag("include_seen") { Candidates::All } else { Candidates::Unrated };
    let best = factored.best(&user, k, candidates)?;
    call.state.set_warnings(warnings);
    // Rows are made one at a time.
    Ok(Box::new(best.into_iter().zip(1..).map(move |((item, score), rank)| {
        let _counted = (&memory, &handle.memory);
        let id = self::factored(&handle.model)?.items[item].clone();
        Ok(vec![Output::Id(id), Output::Real(score), Output::Integer(rank)])
    })))
}

/// k and the options. Options may follow the user directly.
fn arguments(call: &Call<'_>) -> Result<(usize, Params)> {
    let (k, options) = match (call.arguments[2], call.arguments[3]) {
        (Some(ValueRef::Text(text)), None) => (None, Some(ValueRef::Text(text))),
        (Some(ValueRef::Null), options) => (None, options),
        given => given,
    };
    let options = optional_text("argument 'options'", options)?;
    let options = options::parse(options.as_deref(), Use::Recommend)?;
    let allowed = "a whole number from 1 on, once; options are a JSON text";
    match (k, options.count("k")) {
        (None, k) => Ok((k.unwrap_or(DEFAULT_K), options)),
        (Some(ValueRef::Integer(k)), None) if k > 0 => Ok((k as usize, options)),
        (Some(found), None) => Err(Error::value("argument 'k'", describe(found), allowed)),
        (Some(_), Some(_)) => Err(Error::value("argument 'k'", "the option 'k' besides", allowed)),
    }
}

fn known(factored: &Factored, id: &Id, warnings: &mut Vec<String>) -> User {
    if factored.user_index(id).is_none() {
        warnings.push(format!(
            "user {id} is not in the model and has no ratings; items are ranked by their biases"
        ));
    }
    factored.user(id)
}

fn fold_in(factored: &Factored, ratings: &[(Id, f64)], warnings: &mut Vec<String>) -> User {
    let number = |(id, rating): &(Id, f64)| Some((factored.item_index(id)? as u32, *rating));
    let mut rated: Vec<(u32, f64)> = ratings.iter().filter_map(number).collect();
    if rated.len() < ratings.len() {
        let unknown = ratings.len() - rated.len();
        warnings.push(format!("{unknown} ratings are of items that are not in the model; they are left out"));
    }
    if rated.len() < 2 {
        warnings.push(
            "fewer than two ratings of known items determine no order; items are ranked by their biases"
                .to_owned(),
        );
    }
    rated.sort_by_key(|(item, _)| *item);
    factored.fold_in(&rated)
}

/// The option `ratings`: each item once (rule 11.2).
fn ratings(
    call: &Call<'_>,
    options: &Params,
    limits: &RunLimits,
    model: &Model,
) -> Result<Option<Vec<(Id, f64)>>> {
    let factored = factored(model)?;
    let mut ratings = match options.get("ratings") {
        None => return Ok(None),
        Some(Value::String(text)) => of_source(call, text, options, limits, model)?,
        Some(Value::Object(entries)) => entries
            .iter()
            .map(|(key, rating)| Ok((of_text(key, factored), number(key, rating)?)))
            .collect::<Result<_>>()?,
        Some(Value::Array(entries)) => {
            entries.iter().map(|entry| pair(entry, factored)).collect::<Result<_>>()?
        }
        Some(_) => Vec::new(),
    };
    for (id, rating) in &ratings {
        factored.fold_in.transform.check(*rating, || format!("option 'ratings', item {id}"))?;
    }
    ratings.sort_by(|a, b| a.0.cmp(&b.0));
    match ratings.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        None => Ok(Some(ratings)),
        Some(pair) => Err(Error::Data(format!("option 'ratings': item {} appears twice", pair[0].0))),
    }
}

/// The item of a text id, otherwise of the whole number in the text: keys of JSON objects are always text.
fn of_text(text: &str, factored: &Factored) -> Id {
    let whole = || text.parse().ok().map(Id::Integer).filter(|id| factored.item_index(id).is_some());
    let id = Id::text(text);
    if factored.item_index(&id).is_some() { id } else { whole().unwrap_or(id) }
}

fn pair(entry: &Value, factored: &Factored) -> Result<(Id, f64)> {
    let Some([item, rating]) = entry.as_array().map(Vec::as_slice) else {
        return Err(Error::value("an entry of the option 'ratings'", entry.to_string(), "[item, rating]"));
    };
    let id = match (item.as_str(), item.as_i64(), item.as_f64()) {
        (Some(text), ..) => of_text(text, factored),
        (_, Some(whole), _) => Id::Integer(whole),
        (_, _, Some(real)) => Id::Real(real),
        _ => {
            let allowed = "a number or a text";
            return Err(Error::value("an item in the option 'ratings'", item.to_string(), allowed));
        }
    };
    Ok((id, number(&item.to_string(), rating)?))
}

fn number(item: &str, rating: &Value) -> Result<f64> {
    rating.as_f64().ok_or_else(|| {
        let what = format!("the rating of item {item} in the option 'ratings'");
        Error::value(what, rating.to_string(), "a number")
    })
}

/// Items and ratings of a source.
fn of_source(
    call: &Call<'_>,
    text: &str,
    options: &Params,
    limits: &RunLimits,
    model: &Model,
) -> Result<Vec<(Id, f64)>> {
    let source = Source::resolve(call.connection, text, limits)?;
    let spec = ReadSpec { judgments: Judgments::Relevance, ..ReadSpec::ranked(model, ListConstraint::None) };
    let SourceRows { data, .. } = read(call.connection, &source, spec, options, limits)?;
    if data.n_queries() > 1 {
        let problem = format!("ratings of {} users; allowed are those of one user", data.n_queries());
        return Err(source.error(problem));
    }
    Ok(data.doc_ids.iter().cloned().zip(data.relevance.iter().copied()).collect())
}

/// `ltr_factors(model)`: rows `kind, id, bias, factors`; kind is user or item, factors are a JSON array. A score is
/// `bias of the item` times the model's bias_scale plus the sum of products of factors.
pub const FACTORS: TableFunction =
    TableFunction::new("ltr_factors", &["kind", "id", "bias", "factors"], &[MODEL], factors);

fn factors(call: &Call<'_>) -> Result<OutputRows> {
    let handle = model(call.connection, call.argument(0), None, call.state, &RunLimits::default())?;
    let model = handle.model;
    let entries = factored(&model)?.users.len() + factored(&model)?.items.len();
    Ok(Box::new((0..entries).map(move |entry| Ok(factor_row(factored(&model)?, entry)))))
}

/// The row of a user, or of an item: items are counted after the users.
fn factor_row(factored: &Factored, entry: usize) -> Vec<Output> {
    let Factored { users, items, factors, user_biases, item_biases, .. } = factored;
    let (kind, index, ids, biases, rows) = match entry.checked_sub(users.len()) {
        None => ("user", entry, users, user_biases, &factors.users),
        Some(item) => ("item", item, items, item_biases, &factors.items),
    };
    let row = &rows[index * factors.rank..(index + 1) * factors.rank];
    vec![
        Output::Text(kind.to_owned()),
        Output::Id(ids[index].clone()),
        Output::Real(biases[index]),
        Output::Json(json!(row)),
    ]
}
