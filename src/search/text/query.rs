//! Conversion of a user's text to a query that FTS5 accepts.

use std::collections::HashSet;
use std::ops::Range;

use crate::base::{Result, named};

/// Whether a match has one or all of the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Words {
    /// At least one.
    #[default]
    Any,
    /// All.
    All,
}

named!(Words { Any = "any", All = "all" });

/// The most words and phrases of a query; further ones are left out. FTS5 takes seconds for 100,000.
pub const MAX_WORDS: usize = 1000;

/// A query that matches nothing.
pub(super) const NOTHING: &str = "\"\"";

/// Where the tokenizer of a full-text table finds tokens in a text.
#[derive(Debug)]
pub struct Tokens {
    ranges: Vec<Range<usize>>,
    /// Whether tokens overlap, as n-grams do.
    overlap: bool,
}

impl Tokens {
    /// `ranges`: bytes of the text, in the order of the tokens.
    pub fn new(ranges: Vec<Range<usize>>) -> Self {
        let overlap = ranges.windows(2).any(|pair| pair[1].start < pair[0].end);
        Self { ranges, overlap }
    }

    /// Whether the character at this byte belongs to a token. N-grams have all characters.
    fn keep(&self, at: usize) -> bool {
        let next = self.ranges.partition_point(|range| range.end <= at);
        !self.overlap && self.ranges.get(next).is_some_and(|range| range.start <= at)
    }

    /// The tokens in a part of the text.
    fn within(&self, part: Range<usize>) -> &[Range<usize>] {
        let first = self.ranges.partition_point(|range| range.start < part.start);
        let rest = &self.ranges[first..];
        &rest[..rest.partition_point(|range| range.end <= part.end)]
    }
}

/// A user's text, and the tokens that a table makes of it, if the table is known.
struct Typed<'a> {
    text: &'a str,
    tokens: Option<&'a Tokens>,
}

impl<'a> Typed<'a> {
    /// The range of a part of the text.
    fn range(&self, part: &str) -> Range<usize> {
        let start = part.as_ptr() as usize - self.text.as_ptr() as usize;
        start..start + part.len()
    }

    fn is_kept(&self, at: usize) -> bool {
        self.tokens.is_some_and(|tokens| tokens.keep(at))
    }

    /// Where the next space is, or is not, from this byte on. The tokenizer may keep spaces.
    fn find_space(&self, from: usize, is_space: bool) -> usize {
        let found = |(at, c): &(usize, char)| (c.is_whitespace() && !self.is_kept(from + at)) == is_space;
        let rest = &self.text[from..];
        from + rest.char_indices().find(found).map_or(rest.len(), |(at, _)| at)
    }

    /// Words and phrases that have a token.
    fn strings(&self) -> Vec<(&'a str, bool)> {
        let (mut at, mut strings) = (self.find_space(0, false), Vec::new());
        while at < self.text.len() {
            let is_quoted = |phrase: &str| {
                let Range { start, end } = self.range(phrase);
                !self.is_kept(start - 1) && !self.is_kept(end)
            };
            let phrase = leading_phrase(&self.text[at..]).filter(|(phrase, _)| is_quoted(phrase));
            if let Some((phrase, after)) = phrase {
                strings.push((phrase, true));
                at = self.text.len() - after.len();
            } else {
                let end = self.find_space(at, true);
                let word = &self.text[at..end];
                match self.tokens {
                    None => strings.extend(word.split(is_quote).map(|word| (word, false))),
                    Some(_) => strings.push((word, false)),
                }
                at = end;
            }
            at = self.find_space(at, false);
        }
        strings.retain(|(string, _)| match self.tokens {
            None => !string.chars().all(is_punctuation),
            Some(tokens) => !tokens.within(self.range(string)).is_empty(),
        });
        // Words that are too short for n-grams.
        let has_tokens = self.tokens.is_some_and(|tokens| !tokens.ranges.is_empty());
        if strings.is_empty() && has_tokens {
            strings.push((self.text, true));
        }
        strings
    }

    /// The parts of a word that are words, too; none if it has one part.
    fn parts(&self, word: &'a str) -> Vec<&'a str> {
        let Some(tokens) = self.tokens else { return parts_of(word) };
        match tokens.within(self.range(word)) {
            [_, _, ..] if tokens.overlap => Vec::new(),
            found @ [_, _, ..] => found.iter().filter_map(|range| self.text.get(range.clone())).collect(),
            _ => Vec::new(),
        }
    }
}

/// The FTS5 query of a text. Every word becomes a string of FTS5, so that no character is an operator. Text in quotes is a
/// phrase, if the first quote begins a word: others are marks such as inches. FTS5 makes a phrase of a word with punctuation, as
/// in `red,shoes`; if one word is enough, its parts are words, too. Words of punctuation alone are left out, and words that are
/// there already: FTS5 would find each of their places again. With `prefix` the last word also matches its continuations.
/// `tokenize` gives the tokens of the text in a table; without it, no tokenizer makes a word of punctuation alone.
///
/// # Errors
/// Errors of `tokenize`.
pub fn match_query(
    text: &str,
    words: Words,
    prefix: bool,
    tokenize: Option<impl FnOnce(&str) -> Result<Tokens>>,
) -> Result<String> {
    // 1. Words and phrases.
    let text = text.replace('\0', " ");
    let tokens = tokenize.map(|tokenize| tokenize(&text)).transpose()?;
    let typed = Typed { text: &text, tokens: tokens.as_ref() };
    let strings = typed.strings();
    // 2. Their strings, each once, and whether a string may be the beginning of a word. Only the last word can go on.
    let last = strings.len();
    let mut parts: Vec<(String, bool)> = Vec::new();
    for (number, (string, is_phrase)) in (1..).zip(strings) {
        let goes_on = prefix && number == last && !is_phrase;
        let mut pieces = if words == Words::Any && !is_phrase { typed.parts(string) } else { Vec::new() };
        let last_piece = pieces.pop().map(|piece| (piece, goes_on));
        let pieces = pieces.into_iter().map(|piece| (piece, false));
        // Two quotes are one that the tokenizer gets.
        let inside = |string: &str| match tokens {
            Some(_) => string.replace('"', "\"\""),
            None => string.replace(is_quote, " ").trim().to_owned(),
        };
        let all = std::iter::once((string, goes_on)).chain(pieces).chain(last_piece);
        parts.extend(all.map(|(string, goes_on)| (inside(string), goes_on)));
    }
    let mut known = HashSet::new();
    let key = |string: &String| if tokens.is_some() { string.clone() } else { string.to_lowercase() };
    parts.retain(|(string, goes_on)| known.insert((key(string), *goes_on)));
    parts.truncate(MAX_WORDS);
    // 3. The query. Without AND between them FTS5 ignores strings that its tokenizer finds empty.
    if parts.is_empty() {
        return Ok(NOTHING.to_owned());
    }
    let quoted =
        |(string, goes_on): (String, bool)| format!("\"{string}\"{}", if goes_on { "*" } else { "" });
    let separator = match words {
        Words::Any => " OR ",
        Words::All => " ",
    };
    Ok(parts.into_iter().map(quoted).collect::<Vec<_>>().join(separator))
}

/// The parts of a word with punctuation; none if it has one part. Symbols are parts, too, if punctuation separates them.
fn parts_of(word: &str) -> Vec<&str> {
    let split = |separates: fn(char) -> bool| -> Vec<&str> {
        let parts: Vec<&str> = word.split(separates).filter(|part| !part.is_empty()).collect();
        if parts.len() < 2 { Vec::new() } else { parts }
    };
    let words = split(joins_words);
    let symbols = split(is_punctuation).into_iter().filter(|part| !words.contains(part));
    symbols.chain(words.iter().copied()).collect()
}

/// The phrase that a text begins with, and the rest. Its last quote ends a word; its first one is at the beginning of one.
fn leading_phrase(text: &str) -> Option<(&str, &str)> {
    let mut chars = text.trim_start_matches(['(', '[', '{']).chars();
    let open = chars.next().filter(|first| is_quote(*first))?;
    let inner = chars.as_str();
    // French has spaces between marks and words.
    if inner.starts_with(char::is_whitespace) && !matches!(open, '\u{ab}' | '\u{bb}') {
        return None;
    }
    let ends = |(at, mark): &(usize, &str)| !inner[at + mark.len()..].starts_with(char::is_alphanumeric);
    let (end, mark) = inner.match_indices(is_quote).find(ends)?;
    let phrase = &inner[..end];
    let has_words = !phrase.chars().all(|c| is_quote(c) || is_punctuation(c));
    has_words.then_some((phrase, &inner[end + mark.len()..]))
}

/// Double quotes: straight, typographic and French ones.
fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{ab}' | '\u{bb}')
}

/// Whether a character is a space or punctuation, of which no tokenizer makes a word. Symbols and emoji can be words.
fn is_punctuation(c: char) -> bool {
    let is_symbol = "$+<=>^`|~".contains(c);
    let is_general = matches!(c, '\u{a1}' | '\u{a7}' | '\u{ab}' | '\u{b6}' | '\u{b7}' | '\u{bb}' | '\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{feff}');
    c.is_whitespace() || c.is_control() || c.is_ascii_punctuation() && !is_symbol || is_general
}

/// Whether a character within a word separates parts of it: no letter, digit or mark of a script.
fn joins_words(c: char) -> bool {
    let is_other = matches!(c, '\u{a1}'..='\u{f7}' | '\u{2010}'..='\u{20cf}' | '\u{2100}'..='\u{2bff}' | '\u{3000}'..='\u{3029}' | '\u{3030}'..='\u{303f}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff01}'..='\u{ff65}' | '\u{1f000}'..='\u{1faff}');
    !c.is_alphanumeric() && (c.is_ascii_punctuation() || is_other)
}
