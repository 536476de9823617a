//! What a user types, as a query that FTS5 accepts.

use std::collections::HashSet;

use crate::base::param::named;

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
const NOTHING: &str = "\"\"";

/// A string of FTS5, and whether it may be the beginning of a word.
type Part = (String, bool);

/// The FTS5 query of a text. Every word becomes a string of FTS5, so that no character is an operator. Text in quotes is a
/// phrase, if the first quote begins a word: others are marks such as inches. FTS5 makes a phrase of a word with punctuation, as
/// in `red,shoes`; if one word is enough, its parts are words, too. Words of punctuation alone are left out, and words that are
/// there already: FTS5 would find each of their places again. With `prefix` the last word also matches its continuations.
pub fn match_query(text: &str, words: Words, prefix: bool) -> String {
    // 1. Words and phrases.
    let text = text.replace('\0', " ");
    let (mut rest, mut strings) = (text.trim(), Vec::new());
    while !rest.is_empty() {
        if let Some((phrase, after)) = leading_phrase(rest) {
            strings.push((phrase, true));
            rest = after.trim_start();
            continue;
        }
        let (word, after) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
        strings.extend(word.split(is_quote).map(|word| (word.to_owned(), false)));
        rest = after.trim_start();
    }
    strings.retain(|(string, _)| !string.chars().all(is_punctuation));
    // 2. Their strings, each once. Only the last word can go on.
    let last = strings.len();
    let mut parts: Vec<Part> = Vec::new();
    for (number, (string, is_phrase)) in (1..).zip(strings) {
        let goes_on = prefix && number == last && !is_phrase;
        let is_split = words == Words::Any && !is_phrase;
        let mut pieces = if is_split { parts_of(&string) } else { Vec::new() };
        let last_piece = pieces.pop().map(|piece| (piece.to_owned(), goes_on));
        let pieces: Vec<Part> = pieces.into_iter().map(|piece| (piece.to_owned(), false)).collect();
        parts.extend(std::iter::once((string, goes_on)).chain(pieces).chain(last_piece));
    }
    let mut known = HashSet::new();
    parts.retain(|(string, goes_on)| known.insert((string.to_lowercase(), *goes_on)));
    parts.truncate(MAX_WORDS);
    // 3. The query. Without AND between them FTS5 ignores strings that its tokenizer finds empty.
    if parts.is_empty() {
        return NOTHING.to_owned();
    }
    let quoted = |(string, goes_on): Part| format!("\"{string}\"{}", if goes_on { "*" } else { "" });
    let separator = match words {
        Words::Any => " OR ",
        Words::All => " ",
    };
    parts.into_iter().map(quoted).collect::<Vec<_>>().join(separator)
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
fn leading_phrase(text: &str) -> Option<(String, &str)> {
    let mut chars = text.trim_start_matches(['(', '[', '{']).chars();
    let open = chars.next().filter(|first| is_quote(*first))?;
    let inner = chars.as_str();
    // French has spaces between marks and words.
    if inner.starts_with(char::is_whitespace) && !matches!(open, '\u{ab}' | '\u{bb}') {
        return None;
    }
    let ends = |(at, mark): &(usize, &str)| !inner[at + mark.len()..].starts_with(char::is_alphanumeric);
    let (end, mark) = inner.match_indices(is_quote).find(ends)?;
    let phrase = inner[..end].replace(is_quote, " ");
    let has_words = !phrase.chars().all(is_punctuation);
    has_words.then(|| (phrase.trim().to_owned(), &inner[end + mark.len()..]))
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
