//! LETOR / SVMlight text: `grade qid:ID index:value ... # comment`, features numbered from 1, missing ones 0.

use std::io::{BufRead, Read};

use super::id::Id;
use crate::base::{Error, Result, shorten};

/// Higher feature numbers are errors.
pub const MAX_FEATURE: usize = 1_000_000;

/// Longest line in bytes, enough for all features.
const MAX_LINE: u64 = 1 << 26;

/// Spellings of a missing value in a file, in any case. C prints NaN with a sign, Windows as `nan(ind)`.
const MISSING: [&str; 7] = ["nan", "-nan", "-nan(ind)", "na", "n/a", "null", "none"];

/// The byte order mark that Windows editors write at the start of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// One line of a LETOR file.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Query id: INTEGER if the text is a whole number, otherwise TEXT.
    pub query: Id,
    /// The comment's `docid`, if it has one.
    pub doc: Option<Id>,
    /// Relevance grade.
    pub relevance: f64,
    /// Positions of features (from 0, increasing) and values; missing ones are NaN.
    pub features: Vec<(usize, f32)>,
    /// The text after `#`, trimmed; may be empty.
    pub comment: String,
}

impl Line {
    /// The features as a dense vector of `width` values.
    pub fn dense(&self, width: usize) -> Vec<f32> {
        let mut values = vec![0.0; width];
        for &(position, value) in &self.features {
            values[position] = value;
        }
        values
    }

    /// Length of the shortest vector with all features; 0 without features.
    pub fn width(&self) -> usize {
        self.features.last().map_or(0, |(position, _)| position + 1)
    }
}

/// Lines of a LETOR text with their numbers (from 1); blank lines and pure comments are skipped. `first_feature`: the number
/// of the first feature, 0 or 1.
pub fn lines<R: BufRead>(reader: R, first_feature: usize) -> impl Iterator<Item = Result<(usize, Line)>> {
    raw_lines(reader).enumerate().filter_map(move |(index, bytes)| {
        let number = index + 1;
        let read = bytes
            .map_err(|problem| Error::Host(format!("line {number}: {problem}")))
            .and_then(|bytes| {
                let text = std::str::from_utf8(&bytes).map_err(|_| Error::Data(NOT_UTF8.to_owned()))?;
                let text = if index == 0 { text.trim_start_matches(BYTE_ORDER_MARK) } else { text };
                parse(text, first_feature)
            })
            .map_err(|error| match error {
                Error::Data(problem) => Error::Data(format!("line {number}: {problem}")),
                other => other,
            });
        read.map(|line| line.map(|line| (number, line))).transpose()
    })
}

/// Lines as bytes. An overlong line is an error, so a file without line ends cannot fill memory.
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

/// The error for a line that does not begin like LETOR text.
const NOT_LETOR: &str = "not LETOR text; a line begins with a finite number (the grade) and 'qid:ID'";

/// The error for a line in another encoding, where ids that differ in such bytes would become equal.
const NOT_UTF8: &str = "not UTF-8; convert the file, as in iconv -f LATIN1 -t UTF-8 FILE";

/// Parses one line; `None` for a line without data.
fn parse(text: &str, first_feature: usize) -> Result<Option<Line>> {
    let (data, comment) = split_comment(text);
    check_spaces(data)?;
    let mut words = data.split_ascii_whitespace();
    let Some(grade) = words.next() else { return Ok(None) };
    // The line may come from the wrong file and be secret, so it is not quoted (rule 10.8).
    let not_letor = || Error::Data(NOT_LETOR.to_owned());
    let query = words.next().and_then(|word| word.strip_prefix("qid:")).ok_or_else(not_letor)?;
    let relevance = grade.parse().ok().filter(|grade: &f64| grade.is_finite()).ok_or_else(not_letor)?;
    let mut features: Vec<(usize, f32)> =
        words.map(|word| feature(word, first_feature)).collect::<Result<_>>()?;
    if !features.is_sorted_by_key(|(position, _)| *position) {
        features.sort_unstable_by_key(|(position, _)| *position);
    }
    if let Some(pair) = features.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(Error::Data(format!("feature {} appears twice", pair[0].0 + first_feature)));
    }
    let comment = comment.trim();
    Ok(Some(Line {
        query: id(query),
        doc: docid(comment)?,
        relevance,
        features,
        comment: comment.to_owned(),
    }))
}

/// The data and the comment of a line. `#` inside a word, such as `qid:c#` or `1:1.#IND`, does not begin a comment.
fn split_comment(text: &str) -> (&str, &str) {
    let is_comment =
        |(at, _): &(usize, &str)| text[..*at].chars().next_back().is_none_or(|c| c.is_ascii_whitespace());
    let comment = text.match_indices('#').find(is_comment);
    comment.map_or((text, ""), |(at, _)| (&text[..at], &text[at + 1..]))
}

/// Refuses spaces that do not separate words, such as a no-break space, because they would become part of an id.
fn check_spaces(text: &str) -> Result<()> {
    let is_invisible = |c: char| {
        let has_no_width = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | BYTE_ORDER_MARK);
        !c.is_ascii_whitespace() && (c.is_whitespace() || c.is_control() || has_no_width)
    };
    text.chars().find(|c| is_invisible(*c)).map_or(Ok(()), |found| {
        let code = u32::from(found);
        Err(Error::Data(format!(
            "the invisible character U+{code:04X} (U+00A0 is a no-break space); separate words with plain spaces"
        )))
    })
}

/// NaN as printed by programs built with older Windows compilers, such as `-1.#IND00`.
fn is_old_nan(text: &str) -> bool {
    let text = text.trim_start_matches('-').trim_end_matches('0');
    ["1.#IND", "1.#QNAN", "1.#SNAN"].iter().any(|nan| nan.eq_ignore_ascii_case(text))
}

/// The position and the value of a feature. Numbers beyond single precision become its largest or smallest number.
fn feature(word: &str, first_feature: usize) -> Result<(usize, f32)> {
    let (index, text) =
        word.split_once(':').ok_or_else(|| Error::Data(format!("found '{word}', expected 'index:value'")))?;
    let (first, last) = (first_feature, MAX_FEATURE - 1 + first_feature);
    let number: usize =
        index.parse().ok().filter(|number| (first..=last).contains(number)).ok_or_else(|| {
            Error::Data(match index {
                "0" => "feature 0, but features are numbered from 1 by default; set first_feature to 0"
                    .to_owned(),
                _ => format!("feature number '{index}' is not between {first} and {last}"),
            })
        })?;
    let position = number - first_feature;
    if MISSING.iter().any(|missing| missing.eq_ignore_ascii_case(text)) || is_old_nan(text) {
        return Ok((position, f32::NAN));
    }
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
    let value = value.ok_or_else(|| {
        let advice = if text.contains('#') { "; write a space before the '#' of a comment" } else { "" };
        Error::Data(format!(
            "feature {number} is '{}', expected a finite number, or NaN, NULL or NA if it is missing{advice}",
            shorten(text)
        ))
    })?;
    Ok((position, (value as f32).clamp(f32::MIN, f32::MAX)))
}

fn id(text: &str) -> Id {
    // '007' is not 7.
    let whole = text.parse::<i64>().ok().filter(|number| number.to_string() == text);
    whole.map_or_else(|| Id::text(text), Id::Integer)
}

/// The document id in comments such as `docid = GX008-86-4444840 inc = 1`. `docid` must be a word, not part of a link.
fn docid(comment: &str) -> Result<Option<Id>> {
    let after = comment.match_indices("docid").filter_map(|(at, name)| {
        let is_word = comment[..at].chars().next_back().is_none_or(|c| c.is_ascii_whitespace() || c == '#');
        comment[at + name.len()..].trim_start().strip_prefix('=').filter(|_| is_word)
    });
    let Some(word) = after.map(str::split_ascii_whitespace).find_map(|mut words| words.next()) else {
        return Ok(None);
    };
    check_spaces(word)?;
    Ok(Some(id(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Result<Option<Line>> {
        of_bytes(text.as_bytes(), 1)
    }

    fn of_bytes(text: &[u8], first_feature: usize) -> Result<Option<Line>> {
        lines(text, first_feature).next().transpose().map(|line| line.map(|(_, line)| line))
    }

    #[test]
    fn a_line_is_read_with_its_document_id() {
        let line = only("2 qid:10 1:0.5 3:-1e2 #docid = GX1 inc = 1").unwrap().unwrap();
        assert_eq!((line.query, line.doc), (Id::Integer(10), Some(Id::text("GX1"))));
        assert_eq!(line.features, [(0, 0.5), (2, -100.0)]);
        assert_eq!(line.comment, "docid = GX1 inc = 1");
    }

    #[test]
    fn blank_lines_and_carriage_returns_do_no_harm() {
        let text = "\r\n# only a comment\n1 qid:a 2:3\r\n\n";
        let all: Vec<_> = lines(text.as_bytes(), 1).map(Result::unwrap).collect();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].0, 3);
        assert_eq!(all[0].1.dense(3), [0.0, 3.0, 0.0]);
    }

    #[test]
    fn a_text_without_lines_is_refused_before_it_fills_the_memory() {
        let endless = std::io::BufReader::new(std::io::repeat(b'1'));
        let error = lines(endless, 1).next().unwrap().unwrap_err().to_string();
        assert_eq!(error, "line 1: longer than 67108864 bytes");
    }

    #[test]
    fn damage_is_named_with_its_line() {
        for (text, problem) in [
            ("x qid:1 1:1", &format!("line 1: {NOT_LETOR}")[..]),
            ("inf qid:1 1:1", &format!("line 1: {NOT_LETOR}")),
            ("1 1:1", &format!("line 1: {NOT_LETOR}")),
            ("secret", &format!("line 1: {NOT_LETOR}")),
            (
                "1 qid:1 0:1",
                "line 1: feature 0, but features are numbered from 1 by default; set first_feature to 0",
            ),
            ("1 qid:1 1000001:1", "line 1: feature number '1000001' is not between 1 and 1000000"),
            ("1 qid:1 2:1 1:1 2:1", "line 1: feature 2 appears twice"),
            (
                "1 qid:1 0:1 1:1 1:2",
                "line 1: feature 0, but features are numbered from 1 by default; set first_feature to 0",
            ),
            (
                "1 qid:1 1:inf",
                "line 1: feature 1 is 'inf', expected a finite number, or NaN, NULL or NA if it is missing",
            ),
            (
                "1 qid:1 1:1.#INF",
                "line 1: feature 1 is '1.#INF', expected a finite number, or NaN, NULL or NA if it is missing; write a space before the '#' of a comment",
            ),
            (
                "1 qid:1 1:1#docid=x",
                "line 1: feature 1 is '1#docid=x', expected a finite number, or NaN, NULL or NA if it is missing; write a space before the '#' of a comment",
            ),
            ("1 qid:1 junk", "line 1: found 'junk', expected 'index:value'"),
        ] {
            assert_eq!(only(text).unwrap_err().to_string(), problem);
        }
    }

    /// Rule 10.10.
    #[test]
    fn files_are_read_as_people_have_them() {
        // 1. Byte order marks at the start of a file, whose first line may be a comment.
        for text in ["\u{feff}1 qid:1 1:2", "\u{feff}# head\n1 qid:1 1:2", "\u{feff}\n1 qid:1 1:2"] {
            assert_eq!(only(text).unwrap().unwrap().features, [(0, 2.0)], "{text}");
        }
        // 2. Other encodings, with the line.
        for bytes in [&b"1 qid:caf\xe9 1:1"[..], b"1 qid:1 1:1 # M\xfcller", b"\xff\xfe1\0", b"1 qid:\x80"] {
            assert_eq!(of_bytes(bytes, 1).unwrap_err().to_string(), format!("line 1: {NOT_UTF8}"));
        }
        // 3. Invisible characters in data and ids.
        for space in ["\u{a0}", "\u{2009}", "\u{3000}", "\u{200b}", "\u{b}", "\0", "\u{feff}"] {
            for text in
                [format!("1 qid:1{space}1:1"), format!("1{space}qid:1"), format!("1 qid:1 1:1{space}2:2")]
            {
                assert!(
                    only(&text).unwrap_err().to_string().starts_with("line 1: the invisible character U+")
                );
            }
            let in_id = only(&format!("1 qid:1 1:1 # docid = a{space}b inc = 1"));
            assert!(in_id.unwrap_err().to_string().contains("invisible"), "{space:?}");
            assert!(only(&format!("1 qid:1 1:1 # a{space}b")).is_ok(), "comments are free text");
        }
        // 4. Values that are missing.
        for text in [
            "NULL",
            "nan",
            "NaN",
            "-nan",
            "NA",
            "N/A",
            "None",
            "null",
            "-nan(ind)",
            "1.#IND",
            "-1.#IND00",
            "1.#QNAN",
            "1.#QNAN0",
            "-1.#snan",
        ] {
            assert!(only(&format!("1 qid:1 2:{text}")).unwrap().unwrap().features[0].1.is_nan(), "{text}");
        }
        let line = only("1 qid:1 1:1.#IND 2:5").unwrap().unwrap();
        assert_eq!((line.features.len(), line.features[1]), (2, (1, 5.0)));
        // 5. Numbers beyond single precision keep their order.
        let line = only("1 qid:1 1:1.797e308 2:-1e39 3:3e38").unwrap().unwrap();
        assert_eq!(line.features, [(0, f32::MAX), (1, f32::MIN), (2, 3e38)]);
        // 6. Features in any order, from 0.
        let line = of_bytes(b"1 qid:1 2:7 0:5", 0).unwrap().unwrap();
        assert_eq!(line.features, [(0, 5.0), (2, 7.0)]);
        let line = of_bytes(b"1 qid:1 0:5 2:7", 0).unwrap().unwrap();
        assert_eq!(
            (line.dense(line.width()), line.features),
            (vec![5.0, 0.0, 7.0], vec![(0, 5.0), (2, 7.0)])
        );
    }

    #[test]
    fn a_comment_begins_outside_of_ids_and_docid_is_a_word() {
        let ids = |text: &str| only(text).unwrap().map(|line| (line.query, line.doc, line.comment)).unwrap();
        for (text, query, doc) in [
            ("1 qid:c# 1:1 # docid = f#", "c#", Some("f#")),
            ("1 qid:a#b#c 1:1 #docid=x", "a#b#c", Some("x")),
            ("1 qid:q 1:1 # http://x/?docid=7 a", "q", None),
            ("1 qid:q 1:1 # http://x/?docid=7 docid = d", "q", Some("d")),
            ("1 qid:q 1:1 # mydocid=7", "q", None),
            ("1 qid:q 1:1 # x&docid=7", "q", None),
            ("1 qid:q 1:1 # docids = 7", "q", None),
            ("1 qid:q 1:1 # docid =", "q", None),
            ("1 qid:q 1:1 ##docid= d", "q", Some("d")),
        ] {
            let (found, id, _) = ids(text);
            assert_eq!((found, id), (Id::text(query), doc.map(Id::text)), "{text}");
        }
        assert_eq!(ids("1 qid:q 1:1 # a # b").2, "a # b");
    }
}
