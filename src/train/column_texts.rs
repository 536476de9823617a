//! Texts of columns in messages: how they are read, what they could be read as, and SQL that converts them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::base::{quote, shorten};
use crate::data::{
    ColumnFacts, Dataset, Form, JsonKind, Outcome, QueryValue, Unread, is_missing_mark, null_in_sql,
    one_in_sql, outcome_of, spelling_variants, two_numbers_in_sql,
};

/// Queries that share a value of a query feature whose spelling is compared.
const FREQUENT: usize = 3;

/// Keys of JSON objects in a message.
const KEYS_SHOWN: usize = 5;

/// A warning if two of the frequent values of a column are probably one.
pub fn spelling<'a>(name: &str, values: impl Iterator<Item = &'a str>) -> Option<String> {
    let (one, other) = spelling_variants(values)?;
    let example = one_in_sql(&one.into(), &other.into(), name);
    let example = example.map(|sql| format!(", as in {sql}")).unwrap_or_default();
    Some(format!(
        "the column \"{name}\" has the values '{}' and '{}', which differ in case, blanks or Unicode form only and count as two; make \
         them one in the source{example}",
        shorten(one),
        shorten(other),
    ))
}

/// Texts of a query feature that several queries have.
pub fn frequent_texts(data: &Dataset, column: usize) -> Vec<&str> {
    let mut counts = BTreeMap::new();
    for text in data.query_features.column(column).into_iter().filter_map(QueryValue::text) {
        *counts.entry(text).or_insert(0) += 1;
    }
    counts.into_iter().filter(|(_, count)| *count >= FREQUENT).map(|(text, _)| text).collect()
}

/// A warning if the texts of a query feature are probably quantities, but are compared as texts.
pub fn quantities_among_texts(name: &str, data: &Dataset, column: usize) -> Option<String> {
    let values = data.query_features.column(column).into_iter().filter_map(QueryValue::text);
    let texts: Vec<&str> = values.collect();
    if texts.iter().any(|text| JsonKind::of(text).is_some()) {
        return None;
    }
    let outcome = outcome_of(texts.iter().copied(), 1.0);
    let Outcome::Unread { kind, example, .. } = &outcome else { return None };
    let is_meant = outcome.is_quantity() || *kind == Unread::Others;
    let how = conversion(&outcome, &quote(name), true, || texts.iter().copied());
    is_meant.then(|| {
        format!(
            "the query feature \"{name}\" has {} as text, which are compared as texts (such as '{}'): {kind}; {how}",
            outcome.what(),
            shorten(example)
        )
    })
}

/// How to make numbers of the texts of a column, whose name is in quotes. `are_all`: whether these are all of its texts.
pub fn conversion<'a, T: Iterator<Item = &'a str> + Clone>(
    outcome: &Outcome,
    quoted: &str,
    are_all: bool,
    texts: impl Fn() -> T,
) -> String {
    let forms = match outcome {
        Outcome::Form(form) => std::slice::from_ref(form),
        Outcome::Unread { kind: Unread::Several, .. } => {
            let sql = two_numbers_in_sql(quoted, texts());
            let sql = sql.map(|[one, other]| format!(", as in {one} and {other}")).unwrap_or_default();
            return format!("give each number a column of its own in the source{sql}");
        }
        Outcome::Unread { forms, .. } => forms,
        Outcome::Text => &[],
    };
    // 1. Texts without the form become NULL.
    if let [form] = forms {
        let (fitting, others): (Vec<&str>, Vec<&str>) = texts().partition(|text| form.value(text).is_some());
        let are_missing = others.iter().all(|text| is_missing_mark(text.trim()));
        let others = others.into_iter().filter(|_| are_all).collect();
        if matches!(outcome, Outcome::Unread { kind: Unread::Others, .. }) {
            let sql = null_in_sql(quoted, &others, None);
            let sql =
                sql.map(|sql| format!(", as in {sql}, with the option \"missing\"")).unwrap_or_default();
            return format!("make the other texts NULL in the source{sql}, or write them in the same form");
        }
        let number = form.sql(quoted, fitting.into_iter()).filter(|_| are_missing);
        if let Some(sql) = number.and_then(|number| null_in_sql(quoted, &others, Some(&number))) {
            return format!("convert it in the source, as in {sql}, with the option \"missing\"");
        }
    }
    // 2. All texts become numbers.
    let sql: Vec<String> = forms.iter().filter_map(|form| form.sql(quoted, texts())).collect();
    match &sql[..] {
        [only] => format!("convert it in the source, as in {only}"),
        [one, other] => {
            let (a, b) = (&forms[0], &forms[1]);
            format!("convert it in the source, as in {one} for the form {a}, or {other} for the form {b}")
        }
        _ if outcome.what() == "dates" => "write them as YYYY-MM-DD in the source".to_owned(),
        _ => "write them as numbers of one unit in the source".to_owned(),
    }
}

/// What JSON in the texts of a column is, and how to make features of it. `lacks_keys`: whether objects are not read because
/// rows lack keys. `vector`: the options that make it the column of vectors.
pub fn json_in_text(
    kind: JsonKind,
    facts: &ColumnFacts,
    quoted: &str,
    lacks_keys: bool,
    vector: impl Fn() -> String,
) -> (&'static str, String) {
    let use_missing = "a row lacks some of the numbers: use the option \"missing\" to read them";
    let in_source = "make numbers of them in the source, as in";
    let texts = &facts.texts;
    match kind {
        JsonKind::Objects => {
            let lacks = if lacks_keys { format!("{use_missing}, or ") } else { String::new() };
            let columns = keys_in_sql(texts.all(), quoted);
            ("JSON objects", format!("{lacks}give each number a column in the source{columns}"))
        }
        JsonKind::Arrays if lacks_keys => ("lists of names and numbers", use_missing.to_owned()),
        _ if !texts.are_json() => ("lists", "write them as JSON arrays in the source".to_owned()),
        JsonKind::Vectors if texts.have_one_length() && facts.facts().missing == 0 => (
            "JSON arrays",
            format!(
                "if they are vectors of features, use the options {}, otherwise {in_source} {quoted} ->> 0",
                vector()
            ),
        ),
        JsonKind::Vectors => {
            ("JSON arrays", format!("{in_source} (SELECT avg(value) FROM json_each({quoted}))"))
        }
        JsonKind::Arrays => (
            "JSON arrays",
            format!("{in_source} EXISTS (SELECT 1 FROM json_each({quoted}) WHERE value = '...')"),
        ),
    }
}

/// SQL for the numbers in JSON objects, if all texts are valid.
fn keys_in_sql<'a>(mut texts: impl Iterator<Item = &'a str>, quoted: &str) -> String {
    let mut keys = BTreeSet::new();
    let is_valid = texts.all(|text| {
        let object = serde_json::from_str::<Map<String, Value>>(text);
        let numbers = object.iter().flatten().filter(|(_, value)| value.is_number());
        keys.extend(numbers.map(|(key, _)| key.clone()));
        object.is_ok()
    });
    let columns: Vec<String> = keys
        .iter()
        .take(KEYS_SHOWN)
        .map(|key| format!("{quoted} ->> '{}' AS {}", key.replace('\'', "''"), quote(key)))
        .collect();
    if is_valid && !columns.is_empty() { format!(", as in {}", columns.join(", ")) } else { String::new() }
}

/// How the texts of a feature are read.
pub fn read_as(name: &str, form: &Form) -> String {
    if let Form::Key { column, .. } = form {
        format!("numbers in the JSON objects of {}", quote(column))
    } else if let Form::Age { column, .. } = form {
        format!("dates, read as days before the time of the query in {}", quote(column))
    } else if form.is_date() {
        let is_iso = form.name() == "date Y-m-d";
        let sql = if is_iso {
            format!(", as in julianday('now') - julianday({})", quote(name))
        } else {
            String::new()
        };
        format!(
            "dates, read as days since 1970-01-01; documents newer than the training data fall outside its range, so prefer \
             the age at query time{sql}; a column query_time, the time of the query, makes it the age"
        )
    } else {
        "text, read as numbers".to_owned()
    }
}
