//! LETOR / SVMlight text: `grade qid:ID index:value ... # comment`, features numbered from 1, missing ones 0.

use std::io::{BufRead, Read};

use super::id::Id;
use crate::error::{Error, Result};

/// Higher feature numbers are errors.
const MAX_FEATURE: usize = 1_000_000;

/// Maximum bytes of a line, enough for all features.
const MAX_LINE: u64 = 1 << 26;

/// One line of a LETOR file.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Query id: INTEGER if the text is a whole number, otherwise TEXT.
    pub query: Id,
    /// The comment's `docid`, if it has one.
    pub doc: Option<Id>,
    /// Relevance grade.
    pub relevance: f64,
    /// Feature numbers (from 1, increasing) and values.
    pub features: Vec<(usize, f32)>,
    /// The text after `#`, trimmed; may be empty.
    pub comment: String,
}

impl Line {
    /// Features as a dense vector of `width` values.
    pub fn dense(&self, width: usize) -> Vec<f32> {
        let mut values = vec![0.0; width];
        for &(number, value) in &self.features {
            values[number - 1] = value;
        }
        values
    }

    /// Highest feature number; 0 without features.
    pub fn highest_feature(&self) -> usize {
        self.features.last().map_or(0, |(number, _)| *number)
    }
}

/// Lines of a LETOR text with their numbers (from 1); blank lines and pure comments are left out.
pub fn lines<R: BufRead>(reader: R) -> impl Iterator<Item = Result<(usize, Line)>> {
    raw_lines(reader).enumerate().filter_map(|(index, bytes)| {
        let number = index + 1;
        let read = bytes
            .map_err(|problem| Error::Host(format!("line {number}: {problem}")))
            .and_then(|bytes| parse(&String::from_utf8_lossy(&bytes)))
            .map_err(|error| match error {
                Error::Data(problem) => Error::Data(format!("line {number}: {problem}")),
                other => other,
            });
        read.map(|line| line.map(|line| (number, line))).transpose()
    })
}

/// Lines as bytes. A line that is too long is an error: a file without line ends must not fill the memory.
fn raw_lines<R: BufRead>(mut reader: R) -> impl Iterator<Item = std::io::Result<Vec<u8>>> {
    std::iter::from_fn(move || {
        let mut bytes = Vec::new();
        match reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes) {
            Ok(0) => None,
            Ok(_) if bytes.len() as u64 == MAX_LINE => {
                Some(Err(std::io::Error::other(format!("longer than {MAX_LINE} bytes"))))
            }
            Ok(_) => Some(Ok(bytes)),
            Err(problem) => Some(Err(problem)),
        }
    })
}

/// What is wrong with a line that does not begin like LETOR text.
const NOT_LETOR: &str = "not LETOR text; a line begins with a finite number (the grade) and 'qid:ID'";

/// Parses one line; `None` for a line without data.
fn parse(text: &str) -> Result<Option<Line>> {
    let (data, comment) = text.split_once('#').unwrap_or((text, ""));
    let mut words = data.split_ascii_whitespace();
    let Some(grade) = words.next() else { return Ok(None) };
    // A line of another file can be a secret, so it is not quoted (rule 10.8).
    let not_letor = || Error::Data(NOT_LETOR.to_owned());
    let query = words.next().and_then(|word| word.strip_prefix("qid:")).ok_or_else(not_letor)?;
    let relevance = grade.parse().ok().filter(|grade: &f64| grade.is_finite()).ok_or_else(not_letor)?;
    let mut features = Vec::new();
    for word in words {
        features.push(feature(word, features.last().map_or(0, |(number, _)| *number))?);
    }
    let comment = comment.trim();
    Ok(Some(Line { query: id(query), doc: docid(comment), relevance, features, comment: comment.to_owned() }))
}

fn number(text: &str, what: &str) -> Result<f64> {
    text.parse::<f64>()
        .ok()
        .filter(|value| value.is_finite())
        .ok_or_else(|| Error::Data(format!("{what} is '{text}', expected a finite number")))
}

fn feature(word: &str, previous: usize) -> Result<(usize, f32)> {
    let (index, value) =
        word.split_once(':').ok_or_else(|| Error::Data(format!("found '{word}', expected 'index:value'")))?;
    let index: usize =
        index.parse().ok().filter(|index| (1..=MAX_FEATURE).contains(index)).ok_or_else(|| {
            Error::Data(format!("feature number '{index}' is not between 1 and {MAX_FEATURE}"))
        })?;
    if index <= previous {
        return Err(Error::Data(format!(
            "feature {index} follows feature {previous}; numbers must increase"
        )));
    }
    let value = number(value, &format!("feature {index}"))? as f32;
    if value.is_finite() {
        Ok((index, value))
    } else {
        Err(Error::Data(format!("feature {index} is beyond single precision")))
    }
}

fn id(text: &str) -> Id {
    // '007' is not 7.
    let whole = text.parse::<i64>().ok().filter(|number| number.to_string() == text);
    whole.map_or_else(|| Id::text(text), Id::Integer)
}

/// The document id in comments such as `docid = GX008-86-4444840 inc = 1`.
fn docid(comment: &str) -> Option<Id> {
    let (_, rest) = comment.split_once("docid")?;
    let rest = rest.trim_start().strip_prefix('=')?;
    rest.split_ascii_whitespace().next().map(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Result<Option<Line>> {
        lines(text.as_bytes()).next().transpose().map(|line| line.map(|(_, line)| line))
    }

    #[test]
    fn a_line_is_read_with_its_document_id() {
        let line = only("2 qid:10 1:0.5 3:-1e2 #docid = GX1 inc = 1").unwrap().unwrap();
        assert_eq!((line.query, line.doc), (Id::Integer(10), Some(Id::text("GX1"))));
        assert_eq!(line.features, [(1, 0.5), (3, -100.0)]);
        assert_eq!(line.comment, "docid = GX1 inc = 1");
    }

    #[test]
    fn blank_lines_and_carriage_returns_do_no_harm() {
        let text = "\r\n# only a comment\n1 qid:a 2:3\r\n\n";
        let all: Vec<_> = lines(text.as_bytes()).map(Result::unwrap).collect();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].0, 3);
        assert_eq!(all[0].1.dense(3), [0.0, 3.0, 0.0]);
    }

    #[test]
    fn a_text_without_lines_is_refused_before_it_fills_the_memory() {
        let endless = std::io::BufReader::new(std::io::repeat(b'1'));
        let error = lines(endless).next().unwrap().unwrap_err().to_string();
        assert_eq!(error, "line 1: longer than 67108864 bytes");
    }

    #[test]
    fn damage_is_named_with_its_line() {
        for (text, problem) in [
            ("x qid:1 1:1", &format!("line 1: {NOT_LETOR}")[..]),
            ("inf qid:1 1:1", &format!("line 1: {NOT_LETOR}")),
            ("1 1:1", &format!("line 1: {NOT_LETOR}")),
            ("secret", &format!("line 1: {NOT_LETOR}")),
            ("1 qid:1 0:1", "line 1: feature number '0' is not between 1 and 1000000"),
            ("1 qid:1 2:1 1:1", "line 1: feature 1 follows feature 2; numbers must increase"),
            ("1 qid:1 1:nan", "line 1: feature 1 is 'nan', expected a finite number"),
            ("1 qid:1 1:1e300", "line 1: feature 1 is beyond single precision"),
            ("1 qid:1 junk", "line 1: found 'junk', expected 'index:value'"),
        ] {
            assert_eq!(only(text).unwrap_err().to_string(), problem);
        }
    }
}
