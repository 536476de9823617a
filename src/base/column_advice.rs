//! Advice in messages about column roles: options that work when copied.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Map, Value, json};

/// Where training columns come from, which decides what to advise.
#[derive(Debug, Clone, Copy)]
pub enum Origin<'a> {
    /// An SQL source, with the call's option `columns`.
    Source(Option<&'a Map<String, Value>>),
    /// A data set of the Rust interface. It has no option `columns`.
    DataSet,
}

/// Advice about training columns.
#[derive(Debug, Clone, Copy)]
pub struct ColumnAdvice<'a> {
    /// Where they come from.
    pub origin: Origin<'a>,
    /// Name of the document column, if there is one.
    pub doc: Option<&'a str>,
    /// Name of the vector column, if the features are vector values.
    pub vector: Option<&'a str>,
}

impl ColumnAdvice<'_> {
    /// Whether the call's option `columns` assigns a role.
    pub fn gives(&self, role: &str) -> bool {
        matches!(self.origin, Origin::Source(Some(columns)) if columns.contains_key(role))
    }

    /// The call's options with one more role.
    pub fn role(&self, role: &str, columns: Value) -> String {
        match self.origin {
            Origin::Source(given) => columns_text(given, Some((role, columns)), &[]),
            Origin::DataSet => columns_text(None, Some((role, columns)), &[]),
        }
    }

    /// The call's options with one more column in a role's list.
    pub fn listed(&self, role: &str, name: &str) -> String {
        let given = match self.origin {
            Origin::Source(given) => given.and_then(|columns| columns.get(role)).and_then(Value::as_array),
            Origin::DataSet => None,
        };
        let listed = given.into_iter().flatten().cloned().chain([json!(name)]);
        self.role(role, listed.collect())
    }

    /// How to exclude these features.
    pub fn ignore_features(&self, names: &[&str]) -> String {
        let them = if names.len() == 1 { "it" } else { "them" };
        match self.vector {
            Some(vector) => format!("leave {them} out of the vectors in \"{vector}\""),
            None => self.ignore(names),
        }
    }

    /// How to keep these columns from being features.
    pub fn ignore(&self, names: &[&str]) -> String {
        let them = if names.len() == 1 { "it" } else { "them" };
        match self.origin {
            Origin::Source(columns) => {
                format!("ignore {them} with the options {}", columns_text(columns, None, names))
            }
            Origin::DataSet => format!("leave {them} out"),
        }
    }

    /// Advice for features that are ids. Without a document column, the first may take that role.
    pub fn ids(&self, names: &[&str]) -> String {
        let ignore = self.ignore_features(names);
        let (an_id, another) = if names.len() == 1 {
            ("it is an id", "it is another id")
        } else {
            ("they are ids", "they are other ids")
        };
        match (self.origin, self.doc, names) {
            (Origin::Source(columns), None, [first, ..]) if self.vector.is_none() => format!(
                "if {an_id} of documents, use the options {}; without a document column, doc_id is the row number \
                 within the query; if {another}, {ignore}",
                columns_text(columns, Some(("doc", json!(first))), &names[1..])
            ),
            _ => format!("if {an_id}, {ignore}"),
        }
    }
}

/// A name quoted as an SQL identifier.
pub fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The option `columns` of a call with one more role and more ignored columns: quoted JSON options, ready to pass
/// to `ltr_train`.
pub fn columns_text(
    given: Option<&Map<String, Value>>,
    role: Option<(&str, Value)>,
    ignored: &[&str],
) -> String {
    let mut columns = given.cloned().unwrap_or_default();
    // 1. Columns that get a role or are ignored are no longer features.
    let named = role.iter().filter_map(|(_, name)| name.as_str());
    let others: Vec<&str> = named.chain(ignored.iter().copied()).collect();
    for key in ["features", "query_features", "categories"] {
        if let Some(Value::Array(list)) = columns.get_mut(key) {
            let is_other = |name: &str| others.iter().any(|other| other.eq_ignore_ascii_case(name));
            list.retain(|name| !name.as_str().is_some_and(is_other));
        }
    }
    // 2. The role and the ignored columns. If the column had another role, it loses that role.
    if let Some((role, Value::String(name))) = &role {
        columns.retain(|other, value| other == role || value.as_str().is_none_or(|value| value != name));
    }
    columns.extend(role.map(|(role, name)| (role.to_owned(), name)));
    if !ignored.is_empty() {
        let list = columns.entry("ignore").or_insert_with(|| json!([]));
        list.as_array_mut().into_iter().for_each(|list| list.extend(ignored.iter().map(|name| json!(name))));
    }
    // 3. Quoted as SQL text.
    format!("'{}'", spaced(&json!({ "columns": columns })).replace('\'', "''"))
}

/// JSON with a space after each colon and comma.
fn spaced(value: &Value) -> String {
    let mut bytes = Vec::new();
    let written = value.serialize(&mut Serializer::with_formatter(&mut bytes, Spaced));
    written.map_or_else(|_| value.to_string(), |()| String::from_utf8_lossy(&bytes).into_owned())
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.begin_array_value(writer, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_a_whole_object_in_quotes() {
        let given = json!({"features": ["job", "price"], "categories": ["IT's"], "ignore": ["shop"]});
        assert_eq!(
            columns_text(given.as_object(), Some(("doc", json!("job"))), &["it's"]),
            r#"'{"columns": {"features": ["price"], "categories": [], "ignore": ["shop", "it''s"], "doc": "job"}}'"#
        );
    }
}
