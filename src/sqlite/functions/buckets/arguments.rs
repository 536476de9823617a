//! Arguments and options shared by the functions on packs.

use std::collections::HashSet;

use rusqlite::types::ValueRef;
use serde_json::Value;

use crate::base::{Error, Params, Result};
use crate::buckets::state::Columns;
use crate::model::TrainingColumns;
use crate::sqlite::glue::{describe, whole_of};
use crate::sqlite::source::is_default_name;
use crate::train::algorithm::TrainingSpec;
use crate::train::protocol::Training;

/// The bytes of an argument.
pub fn blob<'a>(what: &str, value: ValueRef<'a>, maker: &str) -> Result<&'a [u8]> {
    match value {
        ValueRef::Blob(bytes) => Ok(bytes),
        other => Err(Error::value(what, describe(other), format!("a BLOB of {maker}"))),
    }
}

/// A whole number from 0 to 2^32 - 1.
pub fn whole(what: &str, value: ValueRef<'_>) -> Result<u32> {
    let whole = whole_of(value).and_then(|number| u32::try_from(number).ok());
    whole.ok_or_else(|| Error::value(what, describe(value), "a whole number from 0"))
}

/// The training spec of a single setting.
///
/// # Errors
/// Arrays of values, from which cross-validation would choose.
pub fn one_setting(training: &Training) -> Result<&dyn TrainingSpec> {
    training.spec().ok_or_else(|| {
        let problem = "training in buckets takes one value for each option, except for lambda; compare several with \
                       ltr_cross_validate on a sample of the rows";
        Error::Unsupported(problem.to_owned())
    })
}

/// Roles of the columns in packs.
fn roles_of(columns: &mut TrainingColumns) -> [(&'static str, &mut Option<String>); 5] {
    let TrainingColumns { query, doc, relevance, weight, doc_weight, .. } = columns;
    [("query", query), ("doc", doc), ("relevance", relevance), ("weight", weight), ("doc_weight", doc_weight)]
}

/// The option `columns`, which describes the rows before they were packed.
///
/// # Errors
/// A role that packs do not have; a value that is not a name.
pub fn columns(options: &Params) -> Result<Columns> {
    let (mut names, mut roles) = (Vec::new(), TrainingColumns::default());
    for (key, value) in options.get("columns").and_then(Value::as_object).into_iter().flatten() {
        if key == "features" {
            let features = value.as_array().into_iter().flatten();
            names = features.filter_map(|name| name.as_str().map(str::to_owned)).collect();
            continue;
        }
        let Some((_, column)) = roles_of(&mut roles).into_iter().find(|(role, _)| role == key) else {
            let problem = format!(
                "option 'columns': packs have no '{key}'; expected features, query, doc, relevance, weight and doc_weight"
            );
            return Err(Error::Unsupported(problem));
        };
        let Some(name) = value.as_str() else {
            let what = format!("option 'columns', key '{key}'");
            return Err(Error::value(what, value.to_string(), "the name of a column"));
        };
        *column = Some(name.to_owned());
    }
    let mut seen = HashSet::with_capacity(names.len());
    if let Some(twice) = names.iter().find(|name| !seen.insert(*name)) {
        let problem = format!("option 'columns' names the feature \"{twice}\" twice");
        return Err(Error::Unsupported(problem));
    }
    Ok(Columns { names, roles: named(roles) })
}

/// The roles, without default names, which would be found anyway. So rows and packs give the same model.
pub fn named(columns: TrainingColumns) -> TrainingColumns {
    let mut kept =
        TrainingColumns { features: None, query_features: None, slot: None, ignored: Vec::new(), ..columns };
    for (role, column) in roles_of(&mut kept) {
        column.take_if(|name| is_default_name(role, name));
    }
    kept
}
