//! The order of the values of the column `split_by`.
//!
//! Rules (docs/reference/rules.md, 5):
//! * 5.33: Texts that are numbers are numbers. Dates with the year first keep the order of their texts. Other texts are errors.

use crate::base::{Ticks, text_number};
use crate::data::{Id, TextKind};

/// Operations, for [`Ticks`], of reading a value.
const VALUE_COST: usize = 64;

/// The form of a value.
#[derive(Debug, Clone, PartialEq)]
enum Form {
    Number,
    /// A date or a month, with its zone if it has a time.
    Date(String),
}

/// The values as ids in the order of time or of numbers.
///
/// # Errors
/// What was found, and what to write in its place: texts without a sure order, and values of several forms.
pub fn in_order(values: &mut [Id], column: &str) -> Result<(), String> {
    let mut ticks = Ticks::default();
    let mut first: Option<(Form, String)> = None;
    for value in values {
        ticks.add(VALUE_COST);
        let shown = value.describe();
        let (form, ordered) = ordered(value).ok_or_else(|| no_order(&shown, column))?;
        let (known, example) = first.get_or_insert_with(|| (form.clone(), shown.clone()));
        if *known != form {
            let both = format!("{example} and {shown}, which are of two forms");
            return Err(no_order(&both, column));
        }
        *value = ordered;
    }
    Ok(())
}

fn no_order(found: &str, column: &str) -> String {
    let quoted = format!("\"{}\"", column.replace('"', "\"\""));
    format!(
        "the column \"{column}\" of the option 'split_by' has {found}; allowed are numbers, or dates as YYYY-MM-DD with times of \
         one zone, of which the order is known; if the order of the texts is meant, use dense_rank() OVER (ORDER BY {quoted}) in \
         the source"
    )
}

/// The form of a value, and an id with its place in the order.
fn ordered(value: &Id) -> Option<(Form, Id)> {
    let text = match value {
        Id::Integer(_) | Id::Real(_) => return Some((Form::Number, value.clone())),
        Id::Text(bytes) => std::str::from_utf8(bytes).ok()?.trim(),
        Id::Null | Id::Blob(_) => return None,
    };
    let whole = text.parse().map(Id::Integer).ok();
    if let Some(number) =
        whole.or_else(|| text_number(text).filter(|number| number.is_finite()).map(Id::Real))
    {
        return Some((Form::Number, number));
    }
    if TextKind::of(text) == Some(TextKind::Months) {
        return Some((Form::Date(String::new()), Id::text(text)));
    }
    let (day, time) = text.split_at_checked("YYYY-MM-DD".len())?;
    let day = day.replace(['/', '.'], "-");
    let is_date = TextKind::of(&day) == Some(TextKind::Dates);
    if !is_date || TextKind::of(&day[..7]) != Some(TextKind::Months) {
        return None;
    }
    if time.is_empty() {
        return Some((Form::Date(String::new()), Id::text(&day)));
    }
    let time = time.strip_prefix(['T', ' '])?;
    let clock = time.trim_end_matches(|c: char| !c.is_ascii_digit());
    let (clock, zone) = match time.rfind(['+', '-']) {
        Some(sign) => time.split_at(sign),
        None => (clock, &time[clock.len()..]),
    };
    let has_digits =
        |range| clock.as_bytes().get(range).is_some_and(|part: &[u8]| part.iter().all(u8::is_ascii_digit));
    let is_clock = has_digits(0..2)
        && has_digits(3..5)
        && clock.bytes().all(|byte| byte.is_ascii_digit() || b":.".contains(&byte));
    let zone = zone.trim();
    let is_zone = zone.is_empty() || zone == "Z" || zone == "UTC" || zone.starts_with(['+', '-']);
    let zone = if zone == "UTC" { "Z" } else { zone };
    (is_clock && is_zone).then(|| (Form::Date(zone.to_owned()), Id::text(&format!("{day} {clock}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each list is in the order that the values mean.
    const ORDERED: &[&[&str]] = &[
        &["9", "10", "100"],
        &["-1.5", " 2", "1e3"],
        &["20200105", "20210101"],
        &["2019-12-31", "2020-01-05", "2020-10-01"],
        &["2019-12", "2020-01", "2020-10"],
        &["2020/01/05", "2020/10/01"],
        &["2020.01.05", "2020-10-01"],
        &["2020-01-05 09:00", "2020-01-05T10:00", "2020-01-05 10:00:01.5"],
        &["2020-01-05T10:00:00Z", "2020-01-05T10:00:00.5Z", "2020-01-05 10:00:01 UTC"],
        &["2020-01-05T10:00:00+02:00", "2020-01-05T10:00:01+02:00"],
    ];

    const WITHOUT_ORDER: &[&[&str]] = &[
        &["10/02/2022"],
        &["02.10.2022"],
        &["Apr 02, 2022"],
        &["Sun, 02 Jan 2022 00:00:00 +0000"],
        &["2022-1-2"],
        &["2022-31-12"],
        &["2020-01-05T9:00"],
        &["2020-01-05T10:00:00 PM"],
        &["2020-01-05T10:00:00+02:00", "2020-01-05T10:00:00Z"],
        &["7", "2020-01-05"],
        &["spring"],
        &["1e999"],
    ];

    fn of(texts: &[&str]) -> Result<Vec<Id>, String> {
        let mut ids: Vec<Id> = texts.iter().map(|text| Id::text(text)).collect();
        in_order(&mut ids, "day").map(|()| ids)
    }

    #[test]
    fn numbers_and_dates_have_their_order_and_other_texts_are_refused() {
        for texts in ORDERED {
            let ids = of(texts).unwrap();
            assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
        }
        for texts in WITHOUT_ORDER {
            let problem = of(texts).unwrap_err();
            assert!(problem.contains(&Id::text(texts[texts.len() - 1]).describe()), "{problem}");
        }
        let mut mixed = [Id::Integer(2), Id::text("10"), Id::Real(10.5)];
        in_order(&mut mixed, "day").unwrap();
        assert!(mixed.is_sorted_by(|a, b| a < b));
        assert!(in_order(&mut [Id::Blob([1].into())], "day").is_err());
    }
}
