//! What a user types, as a query that FTS5 accepts.

use std::collections::HashSet;

use crate::param::named;

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

/// The FTS5 query of a text. Every word becomes a string of FTS5, so that no character is an operator. Text in double quotes
/// is a phrase. Words without a letter or a digit are left out, and words that are there already: FTS5 would find each of
/// their places again. With `prefix` the last word also matches its continuations.
pub fn match_query(text: &str, words: Words, prefix: bool) -> String {
    // 1. Words and phrases. The parts of the text with an odd number are in quotes; a last quote without a partner is a space.
    let text = text.replace('\0', " ");
    let parts: Vec<&str> = text.split(is_quote).collect();
    let is_open = parts.len().is_multiple_of(2);
    let mut strings: Vec<(&str, bool)> = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let is_phrase = index % 2 == 1 && !(is_open && index + 1 == parts.len());
        if is_phrase {
            strings.push((part.trim(), true));
        } else {
            strings.extend(part.split_whitespace().map(|word| (word, false)));
        }
    }
    strings.retain(|(string, _)| string.contains(char::is_alphanumeric));
    let last = strings.pop_if(|(_, is_phrase)| prefix && !*is_phrase);
    let mut known = HashSet::new();
    strings.retain(|(string, _)| known.insert(string.to_lowercase()));
    strings.extend(last);
    strings.truncate(MAX_WORDS);
    // 2. The query. Without AND between them FTS5 ignores strings that its tokenizer finds empty.
    if strings.is_empty() {
        return NOTHING.to_owned();
    }
    let star = if last.is_some() && strings.last() == last.as_ref() { "*" } else { "" };
    let quoted: Vec<String> = strings.iter().map(|(string, _)| format!("\"{string}\"")).collect();
    let separator = match words {
        Words::Any => " OR ",
        Words::All => " ",
    };
    quoted.join(separator) + star
}

/// Double quotes: straight, typographic and French ones.
fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{ab}' | '\u{bb}')
}
