use super::form::{Form, LONGEST};
use super::numbers::begins_with_zero;
use super::readings::{Outcome, Readings};
use super::unread::Unread;
use crate::base::{grown_bytes, text_number};

/// The texts of a feature column, kept until it is known after the last row whether they have one form.
#[derive(Debug, Clone, Default)]
pub struct Pending {
    /// The share of texts that must have the form.
    share: f64,
    /// The smallest well-formed number of each kind: without a point, with a point before three digits (which may separate
    /// thousands), and with another point.
    numbers: [Option<Box<str>>; 3],
    /// Whether any has zeros before three or more digits, like codes.
    pub has_zeros: bool,
    /// Rows of the other texts, and the end of each in `texts`.
    rows: Vec<(usize, usize)>,
    texts: String,
    /// The first row with a value that is not a quantity.
    first_other: Option<usize>,
}

impl Pending {
    /// Starts without text. `share`: the share of texts that must have the form, at most 1.
    pub fn new(share: f64) -> Self {
        Self { share, ..Self::default() }
    }

    /// Adds a text that is a well-formed number.
    pub fn number(&mut self, text: &str) {
        let kind = match text.bytes().position(|byte| byte == b'.') {
            None => 0,
            Some(point) if text.len() == point + 4 => 1,
            Some(_) => 2,
        };
        self.has_zeros |= kind == 0 && text.len() >= 3 && begins_with_zero(text);
        let is_smaller = |held: &str| (text.len(), text) < (held.len(), held);
        if self.numbers[kind].as_deref().is_none_or(is_smaller) {
            self.numbers[kind] = Some(text.into());
        }
    }

    /// Adds another row's value; `None` is a value other than UTF-8 text.
    pub fn add(&mut self, row: usize, text: Option<&str>) {
        let text = text.filter(|text| text.len() <= LONGEST && text.bytes().any(|b| b.is_ascii_digit()));
        let Some(text) = text else {
            self.first_other.get_or_insert(row);
            if self.share >= 1.0 {
                (self.rows, self.texts) = (Vec::new(), String::new());
            }
            return;
        };
        if self.share < 1.0 || self.first_other.is_none() {
            self.texts.push_str(text);
            self.rows.push((row, self.texts.len()));
        }
    }

    /// Bytes after a text is added.
    pub fn grown_bytes(&self) -> u64 {
        grown_bytes(&self.rows, 1) + 2 * (self.texts.len() + LONGEST) as u64
    }

    /// Decides what the texts are, if this share must have one form. `readings` has the texts that are not well-formed
    /// numbers.
    pub fn outcome(&self, readings: &Readings, share: f64) -> Outcome {
        // 1. A few of the well-formed numbers stand for all of them.
        let mut readings = readings.clone();
        let numbers = || self.numbers.iter().flatten().map(|text| &**text);
        numbers().for_each(|text| readings.add(text));
        let outcome = readings.outcome(share);
        // 2. They are already in the matrix, so the form must give the same values.
        let Outcome::Form(form) = outcome else { return outcome };
        let is_other = |text: &&str| form.value(text) != text_number(text);
        match numbers().find(is_other) {
            None => Outcome::Form(form),
            Some(text) => {
                let is_read = form.value(text).is_some();
                let kind = if is_read { Unread::ThousandsOrDecimals } else { Unread::Others };
                Outcome::Unread { kind, example: text.to_owned(), forms: vec![form] }
            }
        }
    }

    /// The rows of the texts, with their values in this form; and the first row, if any, whose value is not a quantity.
    pub fn values(&self, form: &Form) -> impl Iterator<Item = (usize, Option<f64>)> {
        let kept = self.texts().map(|(row, text)| (row, form.value(text)));
        kept.chain(self.first_other.map(|row| (row, None)))
    }

    /// SQL that converts the column (quoted name) to this form, if correct for all values. `has_numbers`: whether some are
    /// numbers.
    pub fn sql(&self, form: &Form, column: &str, has_numbers: bool) -> Option<String> {
        let texts = self.texts().map(|(_, text)| text).chain(has_numbers.then_some("1.5"));
        form.sql(column, texts).filter(|_| self.first_other.is_none())
    }

    /// Rows and texts.
    fn texts(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut start = 0;
        self.rows.iter().map(move |(row, end)| (*row, &self.texts[std::mem::replace(&mut start, *end)..*end]))
    }
}
