//! `ltr_recommend(model, user [, k] [, options])` and `ltr_factors(model)`: models of users and items (`cofi_rank`).
//!
//! Rules (docs/reference/rules.md, 11):
//! * 11.1: Rows `user_id, doc_id, score, rank, new_user` of the k best items, by default those that the user has not rated.
//! * 11.2: The option `ratings` replaces the user's training ratings. Only the user is fitted to them, not the items.
//! * 11.3: A new user without ratings gets the items with the best biases.
//! * 11.5: The option `candidates` names the items to choose from.
//! * 11.6: A JSON array of users gets a list for each.
//! * 11.7: An id that the model knows with a different type, or whose type no known id has, is an error.

use std::collections::HashSet;

use rusqlite::types::ValueRef;
use serde_json::{Value, json};

use crate::apply::{DEFAULT_K, candidate_items, new_users, user_of_ratings};
use crate::base::{Error, Params, Reservation, Result, Strict, each_element, long_integer};
use crate::data::{Dataset, Id, ListConstraint};
use crate::model::{Candidates, Factored, Model, Ranker};
use crate::sqlite::glue::{
    Call, Output, OutputRows, RunLimits, TableFunction, describe, id_of, row, whole_of,
};
use crate::sqlite::source::parameters::SourceCall;
use crate::sqlite::source::passes::read;
use crate::sqlite::source::reader::{Judgments, ReadSpec, SourceRows};
use crate::sqlite::source::{Source, is_query};
use crate::sqlite::store::model;
use crate::train::options::Use;

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
    "user_id, doc_id, score, rank, new_user",
    "model, user [, k] [, options]",
    recommend,
);

fn recommend(call: &Call<'_>) -> Result<OutputRows> {
    let (k, options, limits) = arguments(call)?;
    limits.run_here(|| recommend_rows(call, k, &options, &limits))
}

fn recommend_rows(call: &Call<'_>, k: usize, options: &Params, limits: &RunLimits) -> Result<OutputRows> {
    let handle = model(call.connection, call.argument(0), options.text("schema"), call.state, limits)?;
    let factored = factored(&handle.model)?;
    let mut warnings = Vec::new();
    // 1. The users, and the items to choose from.
    let (ids, ids_memory) = users(call.argument(1), factored, limits)?;
    let lists = Lists { call, options, limits, model: &handle.model, factored };
    let among = lists.candidates(&mut warnings)?;
    let (users, folded) = match lists.ratings(&mut warnings)? {
        Some(_) if ids.len() > 1 => {
            let given = format!("{} users and the option 'ratings'", ids.len());
            let allowed = "one user; without ratings, an array of users";
            return Err(Error::value("argument 'user'", given, allowed));
        }
        Some(ratings) => {
            let user = user_of_ratings(&handle.model, factored, ratings, "option 'ratings'", &mut warnings)?;
            (vec![None; ids.len()], Some(user))
        }
        None => {
            let users = factored.user_indices(&ids, "argument 'user'")?;
            warnings.extend(new_users(&ids, &users));
            (users, None)
        }
    };
    call.state.set_warnings(warnings);
    // 2. Lists are made one user at a time, and rows on demand.
    let rated = if options.flag("include_seen") { Candidates::All } else { Candidates::Unrated };
    let limits = limits.clone();
    let list = move |user_id: Id, index: Option<usize>| -> Result<OutputRows> {
        let _counted = (&handle.memory, &ids_memory);
        let factored = self::factored(&handle.model)?;
        let user = folded.clone().unwrap_or_else(|| factored.user(index));
        let is_new = user.is_new;
        limits.check_time()?;
        let best = limits.run_here(|| factored.best(&user, k, rated, among.as_deref()))?;
        let handle = handle.clone();
        let row = move |((item, score), rank): ((usize, f64), i64)| {
            let item = self::factored(&handle.model)?.items[item].clone();
            Ok(row![&user_id, item, score, rank, is_new])
        };
        Ok(Box::new(best.into_iter().zip(1..).map(row)))
    };
    Ok(Box::new(ids.into_iter().zip(users).flat_map(move |(id, index)| {
        list(id, index).unwrap_or_else(|problem| Box::new(std::iter::once(Err(problem))))
    })))
}

/// Longest JSON text with users (bytes). Parsing does not check for interrupts.
const LONGEST_USERS: usize = 4_000_000;

/// Bytes of ids in a list per byte of JSON text: a short number takes 2 bytes of text.
const ID_BYTES: u64 = 48;

/// The user, or the users in a JSON array (rule 11.6). Text that is the id of a user in the model means that user.
fn users(argument: ValueRef<'_>, factored: &Factored, limits: &RunLimits) -> Result<(Vec<Id>, Reservation)> {
    let whole = id_of(argument);
    let text = match argument {
        ValueRef::Text(text) if factored.user_index(&whole).is_none() => text,
        _ => return Ok((vec![whole], limits.memory.nothing())),
    };
    if std::str::from_utf8(text).is_ok_and(is_query) {
        let allowed =
            "an id, or a JSON array of ids, such as (SELECT json_group_array(DISTINCT user_id) FROM ratings)";
        return Err(Error::value("argument 'user'", describe(argument), allowed));
    }
    if !text.trim_ascii_start().starts_with(b"[") {
        return Ok((vec![whole], limits.memory.nothing()));
    }
    let refuse = |got: String| {
        Error::value(
            "argument 'user'",
            got,
            format!("an id, or a JSON array of ids of at most {LONGEST_USERS} bytes"),
        )
    };
    if text.len() > LONGEST_USERS {
        return Err(refuse(format!("{} bytes", text.len())));
    }
    if let Some(long) = std::str::from_utf8(text).ok().and_then(long_integer) {
        return Err(Error::value("argument 'user'", long, "64-bit integers and texts"));
    }
    let bytes = ID_BYTES.saturating_mul(text.len() as u64);
    let memory = limits.memory.reserve(bytes, "an array of users", "give fewer users in one call")?;
    let mut ids = Vec::new();
    let add = |Strict(entry)| id_of_json(&entry, Id::text).map(|id| ids.push(id)).ok_or_else(String::new);
    each_element(text, add).map_err(|_| refuse(describe(argument)))?;
    let mut seen = HashSet::with_capacity(ids.len());
    if let Some(repeated) = ids.iter().find(|id| !seen.insert(*id)) {
        return Err(Error::Data(format!("argument 'user': user {repeated} appears twice")));
    }
    Ok((ids, memory))
}

/// An id from a number or text in a JSON array. `of_text` converts text to an id.
fn id_of_json(value: &Value, of_text: impl Fn(&str) -> Id) -> Option<Id> {
    match (value.as_str(), value.as_i64(), value.as_f64()) {
        (Some(text), ..) => Some(of_text(text)),
        (_, Some(whole), _) => Some(Id::Integer(whole)),
        (_, _, Some(real)) => Some(Id::Real(real)),
        _ => None,
    }
}

/// Lists of items given to a call, in options or in sources.
struct Lists<'a> {
    call: &'a Call<'a>,
    options: &'a Params,
    limits: &'a RunLimits,
    model: &'a Model,
    factored: &'a Factored,
}

impl Lists<'_> {
    /// The rows of a source, which must belong to one user; `problem` describes them otherwise.
    fn read(
        &self,
        text: &str,
        judgments: Judgments,
        problem: impl Fn(usize) -> String,
        warnings: &mut Vec<String>,
    ) -> Result<Dataset> {
        let Self { call, options, limits, model, .. } = *self;
        let (connection, source) = (call.connection, &Source::resolve(call.connection, text, limits)?);
        let spec = ReadSpec { judgments, ..ReadSpec::ranked(model, ListConstraint::None) };
        let call = SourceCall { connection, source, options, values: &[], limits };
        let SourceRows { data, roles, read_report } = read(call, spec)?;
        warnings.extend(roles.left_out_counts(&read_report, options));
        if data.n_queries() > 1 { Err(source.error(problem(data.n_queries()))) } else { Ok(data) }
    }

    /// The item of an entry of a JSON array.
    fn item(&self, entry: &Value, option: &str) -> Result<Id> {
        let what = || format!("an item in the option '{option}'");
        let refuse = || Error::value(what(), entry.to_string(), "a number or a text");
        id_of_json(entry, |text| self.of_text(text)).ok_or_else(refuse)
    }

    /// Item indices for the option `candidates`, ascending (rule 11.5).
    fn candidates(&self, warnings: &mut Vec<String>) -> Result<Option<Vec<u32>>> {
        let ids: Vec<Id> = match self.options.get("candidates") {
            Some(Value::String(text)) => {
                let problem = |users: usize| {
                    let allowed = "one list of items (ltr_rank ranks rows of users and items)";
                    format!("candidates of {users} users; expected {allowed}")
                };
                self.read(text, Judgments::Unread, problem, warnings)?.doc_ids
            }
            Some(Value::Array(entries)) => {
                entries.iter().map(|entry| self.item(entry, "candidates")).collect::<Result<_>>()?
            }
            _ => return Ok(None),
        };
        candidate_items(self.factored, &ids, "option 'candidates'", warnings).map(Some)
    }

    /// The option `ratings` (rule 11.2).
    fn ratings(&self, warnings: &mut Vec<String>) -> Result<Option<Vec<(Id, f64)>>> {
        let ratings = match self.options.get("ratings") {
            None => return Ok(None),
            Some(Value::String(text)) => {
                let is_implicit = self.factored.implicit.is_some();
                let judgments = if is_implicit { Judgments::Count } else { Judgments::Relevance };
                let problem = |users| format!("ratings of {users} users; one user is allowed");
                let data = self.read(text, judgments, problem, warnings)?;
                Ok(data.doc_ids.iter().cloned().zip(data.relevance.iter().copied()).collect())
            }
            Some(Value::Object(entries)) => {
                let pair = |(key, rating): (&String, &Value)| Ok((self.of_text(key), number(key, rating)?));
                entries.iter().map(pair).collect()
            }
            Some(Value::Array(entries)) => entries.iter().map(|entry| self.pair(entry)).collect(),
            Some(_) => Ok(Vec::new()),
        };
        ratings.map(Some)
    }

    /// The item with a text id, or else with the whole number in the text, because keys of JSON objects are always text.
    fn of_text(&self, text: &str) -> Id {
        let id = Id::text(text);
        let numbers = matches!(self.factored.items.first(), Some(Id::Integer(_) | Id::Real(_)));
        match text.parse() {
            Ok(whole) if numbers && self.factored.item_index(&id).is_none() => Id::Integer(whole),
            _ => id,
        }
    }

    /// An item and its rating. For a model of pairs, an item alone counts 1.
    fn pair(&self, entry: &Value) -> Result<(Id, f64)> {
        let is_implicit = self.factored.implicit.is_some();
        let one = Value::from(1);
        let (item, rating) = match entry.as_array().map(Vec::as_slice) {
            Some([item, rating]) => (item, rating),
            None if is_implicit => (entry, &one),
            _ => {
                let allowed = if is_implicit { "item or [item, count]" } else { "[item, rating]" };
                return Err(Error::value("an entry of the option 'ratings'", entry.to_string(), allowed));
            }
        };
        Ok((self.item(item, "ratings")?, number(&item.to_string(), rating)?))
    }
}

/// k and the options. Options may follow the user directly.
fn arguments(call: &Call<'_>) -> Result<(usize, Params, RunLimits)> {
    let (k, options) = match (call.arguments[2], call.arguments[3]) {
        (Some(ValueRef::Text(_)), None) => (None, 2),
        (Some(ValueRef::Null), _) => (None, 3),
        (k, _) => (k, 3),
    };
    let (options, limits) = call.options(options, Use::Recommend)?;
    let allowed = "a whole number from 1 on, once; options are a JSON text";
    match (k, options.count("k")) {
        (None, k) => Ok((k.unwrap_or(DEFAULT_K), options, limits)),
        (Some(found), None) => match whole_of(found) {
            Some(k) if k > 0 => Ok((k as usize, options, limits)),
            _ => Err(Error::value("argument 'k'", describe(found), allowed)),
        },
        (Some(_), Some(_)) => Err(Error::value("argument 'k'", "the option 'k' too", allowed)),
    }
}

fn number(item: &str, rating: &Value) -> Result<f64> {
    rating.as_f64().ok_or_else(|| {
        let what = format!("the rating of item {item} in the option 'ratings'");
        Error::value(what, rating.to_string(), "a number")
    })
}

/// `ltr_factors(model)`: rows `kind, id, bias, factors`; kind is user or item, factors are a JSON array. A score is
/// the item's bias times the model's bias_scale plus the sum of products of factors.
pub const FACTORS: TableFunction =
    TableFunction::new("ltr_factors", "kind, id, bias, factors", "model", factors);

fn factors(call: &Call<'_>) -> Result<OutputRows> {
    let handle = model(call.connection, call.argument(0), None, call.state, &RunLimits::of(call.connection))?;
    let model = handle.model;
    let entries = factored(&model)?.users.len() + factored(&model)?.items.len();
    Ok(Box::new((0..entries).map(move |entry| Ok(factor_row(factored(&model)?, entry)))))
}

/// The row of a user or an item. Items are numbered after users.
fn factor_row(factored: &Factored, entry: usize) -> Vec<Output> {
    let Factored { users, items, factors, user_biases, item_biases, .. } = factored;
    let (kind, index, ids, biases, rows) = match entry.checked_sub(users.len()) {
        None => ("user", entry, users, user_biases, &factors.users),
        Some(item) => ("item", item, items, item_biases, &factors.items),
    };
    let row = &rows[index * factors.rank..(index + 1) * factors.rank];
    row![kind, &ids[index], biases[index], json!(row)]
}
