//! Numbers, dates and durations written as text: the form of all texts in a column, and the value of a text.
//!
//! `Readings` collects the texts of a column and decides. A `Form` reads one text. `dates` has the forms of dates and
//! durations; `numbers` reads numbers and the text around them. While a source is read, `Pending` keeps the texts of a
//! feature column. docs/adr/0031-quantities.md.
//!
//! | file | contents |
//! |---|---|
//! | `readings` | how a column's texts are read: numbers, dates or text |
//! | `form`, `keys` | what a text of a form is; keys of JSON objects |
//! | `numbers` | digits, currencies, missing marks |
//! | `dates`, `scanner` | dates, times and durations; parts of them |
//! | `quantities`, `pending` | the forms of a model's columns; texts while a source is read |
//! | `sql`, `unread` | SQL that converts texts; texts that are not read |

mod dates;
mod form;
mod keys;
mod numbers;
mod pending;
mod quantities;
mod readings;
mod scanner;
mod sql;
mod unread;

pub use form::Form;
pub use keys::{Keys, numbers_by_key};
pub use numbers::is_missing_mark;
pub use pending::Pending;
pub use quantities::Quantities;
pub use readings::{HALF, Outcome, Readings, outcome_of};
pub use sql::{null_in_sql, two_numbers_in_sql};
pub use unread::Unread;

#[cfg(test)]
mod tests;
