//! The order of values in the column `split_by`.
//!
//! Rules (docs/reference/rules.md, 5):
//! * 5.33: Texts of one form are numbers, dates or durations. Other texts are errors.

use crate::base::text_number;
use crate::data::{Form, Id, Outcome, outcome_of};

/// The values as ids, in chronological or numeric order.
///
/// # Errors
/// The problem, and what to write instead: texts without an unambiguous order, and values of several forms.
pub fn in_order(values: &mut [Id], column: &str) -> Result<(), String> {
    let no_order = |found: &str| {
        let quoted = format!("\"{}\"", column.replace('"', "\"\""));
        format!(
            "the column \"{column}\" of the option 'split_by' has {found}; expected numbers, dates and durations of one form, of \
             which the order is known; if the order of the texts is meant, use dense_rank() OVER (ORDER BY {quoted}) in the source"
        )
    };
    // 1. The form of the texts. Well-formed numbers do not need one.
    let form = match outcome_of(values.iter().filter_map(text_of), 1.0) {
        Outcome::Form(form) => Some(form),
        Outcome::Unread { kind, example, .. } => return Err(no_order(&format!("'{example}': {kind}"))),
        Outcome::Text => None,
    };
    // 2. The position of each value. Numbers are not dates.
    let is_date = form.as_ref().is_some_and(Form::is_date);
    for value in values {
        let place = match (&*value, text_of(value), &form) {
            (Id::Integer(_) | Id::Real(_), ..) if !is_date => continue,
            (_, Some(text), Some(form)) => form.value(text).map(Id::Real),
            (_, Some(text), None) => {
                text.trim().parse().map(Id::Integer).ok().or_else(|| finite(text).map(Id::Real))
            }
            _ => None,
        };
        *value = place.ok_or_else(|| no_order(&value.describe()))?;
    }
    Ok(())
}

fn text_of(value: &Id) -> Option<&str> {
    if let Id::Text(bytes) = value { std::str::from_utf8(bytes).ok() } else { None }
}

fn finite(text: &str) -> Option<f64> {
    text_number(text).filter(|number| number.is_finite())
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
        &["02.10.2022", "13.10.2022"],
        &["Apr 02, 2021", "Mar 02, 2022"],
        &["Sun, 02 Jan 2022 00:00:00 +0000", "Sun, 02 Jan 2022 01:00:00 +0000"],
        &["2020-01-05T10:00:00+02:00", "2020-01-05T08:30:00Z"],
        &["2020-01-05 09:00", "2020-01-05T10:00", "2020-01-05 10:00:01.5"],
        &["2020-01-05T10:00:00Z", "2020-01-05T10:00:00.5Z", "2020-01-05 10:00:01 UTC"],
        &["2020-01-05T10:00:00+02:00", "2020-01-05T10:00:01+02:00"],
    ];

    const WITHOUT_ORDER: &[&[&str]] = &[
        &["10/02/2022"],
        &["2020-01-05", "2020/10/01"],
        &["2022-31-12"],
        &["7", "2020-01-05"],
        &["1:30", "2:45"],
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
            assert!(texts.iter().any(|text| problem.contains(&format!("'{text}'"))), "{problem}");
        }
        let mut mixed = [Id::Integer(2), Id::text("10"), Id::Real(10.5)];
        in_order(&mut mixed, "day").unwrap();
        assert!(mixed.is_sorted_by(|a, b| a < b));
        assert!(in_order(&mut [Id::Blob([1].into())], "day").is_err());
    }
}
