//! SQL that converts text of a given form to numbers, suggested only if correct for every text of the column.

use std::collections::BTreeSet;

use super::dates;
use super::form::{Form, LONGEST, NumberForm};
use super::numbers::{self, NUMBER, is_sign};
use crate::base::text_number;

/// Most texts that the SQL lists.
const MOST_LISTED: usize = 5;

/// SQL for a column (quoted name), or for the expression `sql`, that replaces these texts by NULL. `None` if there are
/// none, many, or long ones.
pub fn null_in_sql(column: &str, texts: &BTreeSet<&str>, sql: Option<&str>) -> Option<String> {
    let are_short = texts.iter().all(|text| text.len() <= LONGEST && !text.contains('\0'));
    let listed: Vec<String> = texts.iter().map(|text| format!("'{}'", text.replace('\'', "''"))).collect();
    match (&listed[..], sql) {
        ([only], None) if are_short => Some(format!("nullif({column}, {only})")),
        ([_, ..], _) if are_short && listed.len() <= MOST_LISTED => {
            let (others, sql) = (listed.join(", "), sql.unwrap_or(column));
            Some(format!("CASE WHEN {column} NOT IN ({others}) THEN {sql} END"))
        }
        _ => None,
    }
}

/// SQL for each of the two numbers in the texts of a column (quoted name). `None` if wrong for any of the texts.
pub fn two_numbers_in_sql<'a>(
    column: &str,
    mut texts: impl Iterator<Item = &'a str> + Clone,
) -> Option<[String; 2]> {
    // 1. The text around the numbers, without their signs.
    let mut shape = String::new();
    numbers::shape(texts.clone().next()?, &mut shape)?;
    let (before, rest) = shape.split_once(NUMBER)?;
    let (signed, after) = rest.split_once(NUMBER)?;
    let before = before.trim_end_matches(is_sign);
    let unsigned = signed.trim_end_matches(is_sign);
    let between = if unsigned.is_empty() { signed } else { unsigned };
    // In '5 -7' it may be a sign or a dash.
    let may_be_dash = unsigned != signed && !unsigned.is_empty() && unsigned.trim().is_empty();
    // 2. Check the result of SQL for each text.
    let is_right = |text: &str| {
        let numbers = text.strip_prefix(before)?;
        let (one, other) = numbers.strip_suffix(after)?.split_once(between)?;
        let (_, second) = numbers.split_once(between)?;
        Some(Some(cast(numbers)) == text_number(one) && Some(cast(second)) == text_number(other))
    };
    if may_be_dash || !texts.all(|text| is_right(text) == Some(true)) {
        return None;
    }
    let numbers = match before.chars().count() {
        0 => column.to_owned(),
        length => format!("substr({column}, {})", length + 1),
    };
    let (length, between) = (between.chars().count(), between.replace('\'', "''"));
    let second = format!("substr({numbers}, instr({numbers}, '{between}') + {length})");
    Some([numbers, second].map(|number| format!("CAST({number} AS REAL)")))
}

impl Form {
    /// An SQL expression that converts a column (quoted name) with these texts. `None` if there is no simple expression,
    /// or if it is wrong for any of the texts.
    pub fn sql<'a>(&self, column: &str, mut texts: impl Iterator<Item = &'a str>) -> Option<String> {
        let form = match self {
            Self::Listed(form) => form,
            Self::Number(form) => {
                let is_right = |text: &str| Some(cast(&form.replaced(text))) == form.value(text);
                return texts.all(is_right).then(|| format!("CAST({} AS REAL)", form.replacements(column)));
            }
            Self::Key { .. } | Self::Age { .. } => return None,
        };
        let date = |year, month, day| {
            let parts = [(year, 4), (month, 2), (day, 2)]
                .map(|(start, length)| format!("substr({column}, {start}, {length})"));
            format!("strftime('%s', {}) / 86400.0", parts.join(" || '-' || "))
        };
        let (shape, sql) = match dates::name(*form).as_str() {
            "date Y-m-d" => ("0000-00-00", format!("strftime('%s', {column}) / 86400.0")),
            "date d/m/Y" | "date d-m-Y" | "date d.m.Y" => ("00?00?0000", date(7, 4, 1)),
            "date m/d/Y" | "date m-d-Y" | "date m.d.Y" => ("00?00?0000", date(7, 1, 4)),
            "date Y/m/d" | "date Y.m.d" => ("0000?00?00", date(1, 6, 9)),
            "duration h:mm:ss" => ("00:00:00", format!("strftime('%s', '1970-01-01 ' || {column}) * 1.0")),
            _ => return None,
        };
        let has_shape = |text: &str| {
            let fits = |(found, expected): (char, char)| match expected {
                '0' => found.is_ascii_digit(),
                '?' => !found.is_ascii_digit(),
                mark => found == mark,
            };
            // SQLite accepts hours up to 24.
            text.chars().count() == shape.len()
                && text.chars().zip(shape.chars()).all(fits)
                && !(shape == "00:00:00" && text > "24")
        };
        texts.all(has_shape).then_some(sql)
    }
}

impl NumberForm {
    /// Strings and their replacements: text around digits, thousands separator, decimal comma.
    fn pairs(&self) -> impl Iterator<Item = (String, &'static str)> {
        let thousands = self.thousands.map(String::from).unwrap_or_default();
        let decimal = if self.decimal == ',' { "," } else { "" }.to_owned();
        let pairs = [(self.before.clone(), ""), (self.after.clone(), ""), (thousands, ""), (decimal, ".")];
        pairs.into_iter().filter(|(from, _)| !from.is_empty())
    }

    fn replacements(&self, column: &str) -> String {
        self.pairs().fold(column.to_owned(), |sql, (from, to)| {
            format!("replace({sql}, '{}', '{to}')", from.replace('\'', "''"))
        })
    }

    fn replaced(&self, text: &str) -> String {
        self.pairs().fold(text.to_owned(), |text, (from, to)| text.replace(&from, to))
    }
}

/// What SQLite's `CAST(text AS REAL)` returns: the number at the start of the text, or 0.
fn cast(text: &str) -> f64 {
    let text = text.trim_start_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
    let ends = (1..=text.len()).rev().filter(|end| text.is_char_boundary(*end));
    let is_number = |text: &&str| text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    ends.map(|end| &text[..end]).filter(is_number).find_map(|text| text.parse().ok()).unwrap_or(0.0)
}
