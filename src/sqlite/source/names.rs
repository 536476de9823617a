//! Names of tables and columns in SQL.

/// An identifier in double quotes.
pub fn quote(identifier: &str) -> String {
    format!("\"{}\"", identifier.replace('"', "\"\""))
}

/// A possible meaning of a table name in an argument.
pub struct TableName {
    /// Quoted, for SQL.
    pub sql: String,
    /// As in SQLite's messages.
    pub plain: String,
    /// The table without its schema.
    pub table: String,
}

/// The meanings of a text as a table name: exactly this name, then `schema.name`.
pub fn name_forms(text: &str) -> impl Iterator<Item = TableName> {
    let exact = TableName { sql: quote(text), plain: text.to_owned(), table: text.to_owned() };
    let qualified = schema_and_name(text).map(|(schema, table)| TableName {
        sql: format!("{}.{}", quote(&schema), quote(&table)),
        plain: format!("{schema}.{table}"),
        table,
    });
    std::iter::once(exact).chain(qualified)
}

/// The two identifiers of `schema.name`.
pub(super) fn schema_and_name(text: &str) -> Option<(String, String)> {
    let (schema, rest) = identifier(text.trim())?;
    let (name, rest) = identifier(rest.strip_prefix('.')?)?;
    rest.is_empty().then_some((schema, name))
}

/// The identifier at the start of a text, bare or double-quoted, and the rest of the text.
fn identifier(text: &str) -> Option<(String, &str)> {
    let Some(mut rest) = text.strip_prefix('"') else {
        let end = text.find('.').unwrap_or(text.len());
        return (end > 0).then(|| (text[..end].to_owned(), &text[end..]));
    };
    let mut name = String::new();
    loop {
        let (part, after) = rest.split_once('"')?;
        name.push_str(part);
        match after.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Some((name, after)),
        }
    }
}
