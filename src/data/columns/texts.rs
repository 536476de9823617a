//! A sample of the texts of a column, and whether they are JSON.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;

/// Most texts in a sample, and most characters kept of each.
const MOST_TEXTS: usize = 500;
const LONGEST_TEXT: usize = 400;

/// JSON in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonKind {
    /// Arrays of numbers.
    Vectors,
    /// Other arrays.
    Arrays,
    /// Objects, also as Python prints them.
    Objects,
}

impl JsonKind {
    /// What a text is; `None` if it is not a JSON array or object.
    pub fn of(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(values) = text.strip_prefix('[').filter(|_| text.ends_with(']')) {
            let is_vector = values.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '-');
            return Some(if is_vector { Self::Vectors } else { Self::Arrays });
        }
        (text.starts_with('{') && text.ends_with('}')).then_some(Self::Objects)
    }

    /// The kind of texts of these two kinds together.
    fn with(self, other: Self) -> Option<Self> {
        let is_object = |kind: Self| kind == Self::Objects;
        match () {
            () if self == other => Some(self),
            () if is_object(self) || is_object(other) => None,
            () => Some(Self::Arrays),
        }
    }
}

/// The texts with the smallest hashes, independent of row order.
#[derive(Debug, Clone, Default)]
pub struct TextSample(BTreeMap<u64, Box<str>>);

impl TextSample {
    pub(super) fn add(&mut self, hash: u64, text: &str) {
        let is_full = self.0.len() == MOST_TEXTS;
        if is_full && self.0.last_key_value().is_some_and(|(last, _)| hash >= *last) {
            return;
        }
        // The end decides whether it is JSON.
        let (start, end) =
            (text.chars().take(LONGEST_TEXT), text.trim_end().chars().skip(LONGEST_TEXT).last());
        self.0.entry(hash).or_insert_with(|| start.chain(end).collect::<String>().into());
        if self.0.len() > MOST_TEXTS {
            self.0.pop_last();
        }
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &str> + Clone {
        self.0.values().map(|text| &**text)
    }

    /// Texts that are not blank.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.all().filter(|text| !text.trim().is_empty())
    }

    /// Whether the sample has all texts of the column.
    pub fn is_whole(&self) -> bool {
        self.0.len() < MOST_TEXTS
    }

    /// Whether some text is not blank.
    pub fn has_text(&self) -> bool {
        self.texts().next().is_some()
    }

    /// The smallest text that is not blank.
    pub fn example(&self) -> &str {
        self.texts().min().unwrap_or_default()
    }

    /// Whether all texts are JSON. For long texts only the start is known.
    pub fn are_json(&self) -> bool {
        self.all().all(|text| is_cut(text) || serde_json::from_str::<IgnoredAny>(text).is_ok())
    }

    /// Whether all are arrays of numbers with the same length.
    pub fn have_one_length(&self) -> bool {
        let length = |text| serde_json::from_str::<Vec<f64>>(text).map_or(0, |numbers| numbers.len());
        let mut lengths = self.all().filter(|text| !is_cut(text)).map(length);
        let first = lengths.next();
        first != Some(0) && lengths.all(|length| Some(length) == first)
    }

    /// What all texts are.
    pub fn json_kind(&self) -> Option<JsonKind> {
        self.texts().map(JsonKind::of).reduce(|a, b| a?.with(b?)).flatten()
    }
}

/// Whether only the start of a text is kept.
fn is_cut(text: &str) -> bool {
    text.chars().nth(LONGEST_TEXT).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_json_depends_on_all_texts() {
        let kind = |texts: &[&str]| {
            let mut sample = TextSample::default();
            texts.iter().for_each(|text| sample.add(xxhash_rust::xxh64::xxh64(text.as_bytes(), 2), text));
            sample.json_kind()
        };
        for (texts, expected) in [
            (&["[1, 2]", " [-1]", ""][..], Some(JsonKind::Vectors)),
            (&["[]", "[1]"], Some(JsonKind::Arrays)),
            (&["{\"a\": 1}", "{'a': 1}"], Some(JsonKind::Objects)),
            (&["{\"a\": 1}", "[1]"], None),
            (&["[1]", "red"], None),
            (&["[draft] x"], None),
        ] {
            assert_eq!(kind(texts), expected, "{texts:?}");
        }
    }

    #[test]
    fn the_texts_tell_whether_they_are_json_and_vectors() {
        let long = format!("[{}1]", "0, ".repeat(200));
        for (texts, are_json, have_one_length) in [
            (&["[1, 2]", "[3, 4.5]"][..], true, true),
            (&["[1, 2]", "[3]"], true, false),
            (&["[1, null]", "[3, 4]"], true, false),
            (&["[1 2]"], false, false),
            (&["['a']"], false, false),
            (&["[1]", ""], false, false),
            (&["[1, 2]", &long[..]], true, true),
        ] {
            let mut sample = TextSample::default();
            texts.iter().for_each(|text| sample.add(xxhash_rust::xxh64::xxh64(text.as_bytes(), 2), text));
            assert_eq!(
                (sample.are_json(), sample.have_one_length()),
                (are_json, have_one_length),
                "{texts:?}"
            );
        }
    }
}
