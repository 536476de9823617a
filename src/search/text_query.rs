//! Conversion of a user's text to a query that FTS5 accepts.

use std::collections::HashSet;
use std::ops::Range;

use crate::base::{Result, Ticks, named};

/// Whether a match must have one or all of the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// At least one.
    Any,
    All,
}

named!(Words { Any = "any", All = "all" });

/// Most words and phrases in a query; the rest is dropped. FTS5 takes seconds for 100,000.
pub const MAX_WORDS: usize = 1000;

/// Cost, for [`Ticks`], of inspecting a character and of adding a string.
const CHAR_COST: usize = 10;
const STRING_COST: usize = 100;

/// A query that matches nothing.
pub(super) const NOTHING: &str = "\"\"";

/// Where a full-text table's tokenizer finds tokens in a text.
#[derive(Debug)]
pub struct Tokens {
    ranges: Vec<Range<usize>>,
    /// Whether tokens overlap, like n-grams.
    overlap: bool,
}

impl Tokens {
    /// `ranges`: byte ranges in the text, in the order of the tokens.
    pub fn new(ranges: Vec<Range<usize>>) -> Self {
        let overlap = ranges.windows(2).any(|pair| pair[1].start < pair[0].end);
        Self { ranges, overlap }
    }

    /// Whether the character at this byte belongs to a token. N-grams cover all characters.
    fn keep(&self, at: usize) -> bool {
        let next = self.ranges.partition_point(|range| range.end <= at);
        !self.overlap && self.ranges.get(next).is_some_and(|range| range.start <= at)
    }

    /// The tokens within a range of the text.
    fn within(&self, part: Range<usize>) -> &[Range<usize>] {
        let first = self.ranges.partition_point(|range| range.start < part.start);
        let rest = &self.ranges[first..];
        &rest[..rest.partition_point(|range| range.end <= part.end)]
    }
}

/// A user's text, and a table's tokens for it, if the table is known.
struct Typed<'a> {
    text: &'a str,
    tokens: Option<&'a Tokens>,
}

impl<'a> Typed<'a> {
    /// The range of a slice of the text.
    fn range(&self, part: &str) -> Range<usize> {
        let start = part.as_ptr() as usize - self.text.as_ptr() as usize;
        start..start + part.len()
    }

    fn is_kept(&self, at: usize) -> bool {
        self.tokens.is_some_and(|tokens| tokens.keep(at))
    }

    /// Where the next space, or the next character that is not a space, is from this byte on. The tokenizer may keep
    /// spaces.
    fn find_space(&self, from: usize, is_space: bool) -> usize {
        let mut ticks = Ticks::default();
        let found = |(at, c): &(usize, char)| {
            ticks.add(CHAR_COST);
            (c.is_whitespace() && !self.is_kept(from + at)) == is_space
        };
        let rest = &self.text[from..];
        from + rest.char_indices().find(found).map_or(rest.len(), |(at, _)| at)
    }

    /// Words and phrases, and whether they are phrases.
    fn words_and_phrases(&self) -> impl Iterator<Item = (&'a str, bool)> {
        let (mut at, mut closing, mut ticks) = (self.find_space(0, false), 0..0, Ticks::default());
        std::iter::from_fn(move || {
            let rest = self.text.get(at..).filter(|rest| !rest.is_empty())?;
            let phrase = opened_phrase(rest).and_then(|phrase| {
                let start = self.range(phrase).start;
                // The next closing quote is the same for all quotes before it. Searching each time would be quadratic.
                if closing.start < start {
                    closing = closing_quote(self.text, start);
                }
                let phrase = self.text.get(start..closing.start)?;
                let is_kept = self.is_kept(start - 1) || self.is_kept(closing.start);
                let has_words = !phrase.chars().all(|c| is_quote(c) || is_punctuation(c));
                (has_words && !is_kept).then_some(phrase)
            });
            let end = if phrase.is_some() { closing.end } else { self.find_space(at, true) };
            let term = phrase.unwrap_or(&self.text[at..end]);
            ticks.add(CHAR_COST * (end - at));
            at = self.find_space(end, false);
            Some((term, phrase.is_some()))
        })
    }

    /// Words and phrases with a token. Without a table, quotes separate words.
    fn strings(&self) -> impl Iterator<Item = (&'a str, bool)> {
        let pieces = |(string, is_phrase): (&'a str, bool)| {
            let is_whole = is_phrase || self.tokens.is_some();
            split(string, if is_whole { |_| false } else { is_quote }).map(move |piece| (piece, is_phrase))
        };
        self.words_and_phrases().flat_map(pieces).filter(|(string, _)| match self.tokens {
            None => !string.chars().all(is_punctuation),
            Some(tokens) => !tokens.within(self.range(string)).is_empty(),
        })
    }

    /// The parts of a word that are also words; empty if there is only one part.
    fn parts(&self, word: &'a str) -> Box<dyn Iterator<Item = &'a str> + '_> {
        let Some(tokens) = self.tokens else { return Box::new(parts_of(word)) };
        match tokens.within(self.range(word)) {
            found @ [_, _, ..] if !tokens.overlap => {
                Box::new(found.iter().filter_map(|range| self.text.get(range.clone())))
            }
            _ => Box::new(std::iter::empty()),
        }
    }
}

/// The FTS5 query of a text. Every word becomes an FTS5 string, so that no character acts as an operator. Quoted text is a
/// phrase if the first quote begins a word; other quotes are marks such as inches. FTS5 turns a word with punctuation,
/// such as `red,shoes`, into a phrase; if one word is enough for a match, the parts are added as words. Words that are
/// only punctuation are dropped, and so are repeated words, because FTS5 would find each of their hits again. With
/// `prefix`, the last word also matches its continuations. `tokenize` returns the text's tokens in a table; without it,
/// punctuation alone is assumed not to be a word.
///
/// Time is linear in the text. Checkpoints check for interrupts.
///
/// # Errors
/// Errors of `tokenize`.
pub fn match_query(
    text: &str,
    words: Words,
    prefix: bool,
    tokenize: Option<impl FnOnce(&str) -> Result<Tokens>>,
) -> Result<String> {
    // 1. Words and phrases. If they are too short for n-grams, they form one phrase.
    let text = text.replace('\0', " ");
    let tokens = tokenize.map(|tokenize| tokenize(&text)).transpose()?;
    let typed = Typed { text: &text, tokens: tokens.as_ref() };
    let has_tokens = tokens.as_ref().is_some_and(|tokens| !tokens.ranges.is_empty());
    let whole = (has_tokens && typed.strings().next().is_none()).then_some((&*text, true));
    let mut strings = typed.strings().chain(whole).peekable();
    // 2. Distinct strings, and whether a string may be a prefix, which only the last word may.
    let (mut known, mut parts, mut ticks) = (HashSet::new(), Vec::new(), Ticks::default());
    'text: while let Some((string, is_phrase)) = strings.next() {
        let goes_on = prefix && strings.peek().is_none() && !is_phrase;
        let has_parts = words == Words::Any && !is_phrase;
        let mut pieces = has_parts.then(|| typed.parts(string)).into_iter().flatten().peekable();
        let mut next = Some((string, goes_on));
        while let Some((string, goes_on_here)) = next {
            ticks.add(STRING_COST + CHAR_COST * string.len());
            // The tokenizer sees two quotes as one.
            let (inside, key) = if tokens.is_some() {
                (string.replace('"', "\"\""), string.to_owned())
            } else {
                let inside = string.replace(is_quote, " ").trim().to_owned();
                let key = inside.to_lowercase();
                (inside, key)
            };
            if known.insert((key, goes_on_here)) {
                parts.push(format!("\"{inside}\"{}", if goes_on_here { "*" } else { "" }));
            }
            if parts.len() == MAX_WORDS {
                break 'text;
            }
            next = pieces.next().map(|piece| (piece, goes_on && pieces.peek().is_none()));
        }
    }
    // 3. The query. Without AND between strings, FTS5 ignores the ones in which its tokenizer finds no tokens.
    let separator = match words {
        Words::Any => " OR ",
        Words::All => " ",
    };
    Ok(if parts.is_empty() { NOTHING.to_owned() } else { parts.join(separator) })
}

/// The parts of a text between separators.
fn split(text: &str, separates: fn(char) -> bool) -> impl Iterator<Item = &str> {
    let mut ticks = Ticks::default();
    let separates = move |c| {
        ticks.add(CHAR_COST);
        separates(c)
    };
    text.split(separates).filter(|part| !part.is_empty())
}

/// The parts of a word with punctuation; empty if there is only one. Symbols separated by punctuation also count as parts.
fn parts_of(word: &str) -> impl Iterator<Item = &str> {
    let several = |separates: fn(char) -> bool| {
        split(word, separates).nth(1).map(|_| split(word, separates)).into_iter().flatten()
    };
    let words: HashSet<&str> = several(joins_words).collect();
    several(is_punctuation).filter(move |part| !words.contains(part)).chain(several(joins_words))
}

/// The text after its opening quote.
fn opened_phrase(text: &str) -> Option<&str> {
    let mut chars = text.trim_start_matches(['(', '[', '{']).chars();
    let open = chars.next().filter(|first| is_quote(*first))?;
    let inner = chars.as_str();
    // French has spaces between marks and words.
    let is_mark = inner.starts_with(char::is_whitespace) && !matches!(open, '\u{ab}' | '\u{bb}');
    (!is_mark).then_some(inner)
}

/// The next quote from this byte on that ends a word; without one, an empty range past the end of every text.
fn closing_quote(text: &str, from: usize) -> Range<usize> {
    let mut ticks = Ticks::default();
    let is_any = |c| {
        ticks.add(CHAR_COST);
        is_quote(c)
    };
    let place = |(at, mark): (usize, &str)| from + at..from + at + mark.len();
    let ends = |place: &Range<usize>| !text[place.end..].starts_with(char::is_alphanumeric);
    text[from..].match_indices(is_any).map(place).find(ends).unwrap_or(usize::MAX..usize::MAX)
}

/// Double quotes: straight, typographic and French.
fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{ab}' | '\u{bb}')
}

/// Whether a character is a space or punctuation, which tokenizers do not put into words. Symbols and emoji can be words.
fn is_punctuation(c: char) -> bool {
    let is_symbol = "$+<=>^`|~".contains(c);
    let is_general = matches!(c, '\u{a1}' | '\u{a7}' | '\u{ab}' | '\u{b6}' | '\u{b7}' | '\u{bb}' | '\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{feff}');
    c.is_whitespace() || c.is_control() || c.is_ascii_punctuation() && !is_symbol || is_general
}

/// Whether a character separates parts of a word, because it is not a letter, digit or mark of a script.
fn joins_words(c: char) -> bool {
    let is_other = matches!(c, '\u{a1}'..='\u{f7}' | '\u{2010}'..='\u{20cf}' | '\u{2100}'..='\u{2bff}' | '\u{3000}'..='\u{3029}' | '\u{3030}'..='\u{303f}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff01}'..='\u{ff65}' | '\u{1f000}'..='\u{1faff}');
    !c.is_alphanumeric() && (c.is_ascii_punctuation() || is_other)
}
