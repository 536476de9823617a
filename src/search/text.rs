//! Features of the match of a full-text query, from the positions of its terms and statistics of each column.
//!
//! A term is a phrase of the query: a word, a prefix, or several tokens in a row. For a column with the average length a in a
//! table of N rows, a term that n rows have in this column, f hits of the term and the length d of the row's column:
//!
//! * idf = ln(1 + (N - n + 0.5) / (n + 0.5))
//! * bm25 = sum over terms of idf f (k + 1) / (f + k (1 - b + b d / a)), k = 1.2, b = 0.75
//!
//! Source: Robertson & Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond", eq. 3.15, with the idf of
//! Lucene, which is above 0 for every n. BM25 of single columns: the same, section 3.6.1.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::ops::Range;

use crate::base::{Result, Ticks, named};

/// The features of a column, in their order. The name of a feature is the name of its column, `_`, and one of these.
pub const COLUMN_FEATURES: [&str; 7] = ["bm25", "hits", "coverage", "first", "window", "phrase", "length"];

/// The feature of all columns together, after those of the columns.
pub const IDF_SUM: &str = "idf_sum";

/// Saturation of hits: the value of Lucene and of FTS5.
const K: f64 = 1.2;

/// Strength of the correction for length: the value of Lucene and of FTS5.
const B: f64 = 0.75;

/// The names of the features of a table with these columns.
pub fn feature_names<S: AsRef<str>>(columns: &[S]) -> Vec<String> {
    let of_column = |column: &S| COLUMN_FEATURES.map(|feature| format!("{}_{feature}", column.as_ref()));
    columns.iter().flat_map(of_column).chain([IDF_SUM.to_owned()]).collect()
}

/// The offset of a term without a hit.
const NONE: u32 = u32::MAX;

/// A place where a term begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    /// Number of the column.
    pub column: u32,
    /// Position of the first token in the column, from 0.
    pub offset: u32,
    /// Number of the term.
    pub term: u32,
}

/// What a full-text table knows about the terms of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    /// Rows of the table.
    pub rows: u64,
    /// Tokens of each column in all rows.
    pub tokens: Vec<u64>,
    /// Tokens of each term; 0 for a term without any, which no row has.
    pub sizes: Vec<u32>,
    /// Rows that have each term.
    pub having: Vec<u64>,
    /// Rows that have the term t in the column c, at t * columns + c.
    pub having_in: Vec<u64>,
    /// Tokens between the end of a word and the start of the next one: 0, with n-grams of characters n.
    pub gap: u32,
}

/// The terms that a row has.
#[derive(Debug, Clone, Copy)]
pub enum Found<'a> {
    /// Every place, in the order of columns, offsets and terms.
    Places(&'a [Hit]),
    /// The term t is in the column c at t * columns + c. Places are unknown.
    Columns(&'a [bool]),
    /// Nothing is known.
    Unknown,
}

/// The statistics of a query, and space for the features of a row.
pub struct Statistics {
    columns: usize,
    sizes: Vec<u32>,
    /// Terms that have tokens.
    terms: usize,
    /// For each term the one before it that has tokens.
    previous: Vec<Option<usize>>,
    gap: u32,
    average: Vec<f64>,
    idf: Vec<f64>,
    idf_in: Vec<f64>,
    /// Hits of each term in a column.
    counts: Vec<u32>,
    /// Hits of a column in the order of their ends.
    by_end: Vec<Hit>,
    /// Offset of the last hit of each term.
    last: Vec<u32>,
    /// Offsets and terms, the smallest first.
    starts: BinaryHeap<Reverse<(u32, u32)>>,
    /// For each hit of a column, whether the terms up to its own are in a row there.
    chained: Vec<bool>,
    is_present: Vec<bool>,
}

/// ln(1 + (N - n + 0.5) / (n + 0.5)), above 0.
fn idf(rows: u64, having: u64) -> f64 {
    let (rows, having) = (rows as f64, having as f64);
    // A table that is being changed may count fewer rows than the index has.
    libm::log1p(((rows - having).max(0.0) + 0.5) / (having + 0.5))
}

/// The features of a column without the places of its terms.
fn of_unknown_places(length: Option<u32>, coverage: f64) -> [f64; COLUMN_FEATURES.len()] {
    let unknown = f64::NAN;
    [unknown, unknown, coverage, unknown, unknown, unknown, length.map_or(unknown, f64::from)]
}

impl Statistics {
    /// The statistics of these counts.
    pub fn new(counts: Counts) -> Self {
        let n_terms = counts.sizes.len();
        let has_tokens = |term: &usize| counts.sizes[*term] > 0;
        let rows = counts.rows;
        Self {
            columns: counts.tokens.len(),
            terms: (0..n_terms).filter(has_tokens).count(),
            previous: (0..n_terms).map(|term| (0..term).rev().find(has_tokens)).collect(),
            gap: counts.gap,
            average: counts.tokens.iter().map(|&tokens| tokens.max(1) as f64 / rows.max(1) as f64).collect(),
            idf: counts.having.iter().map(|&having| idf(rows, having)).collect(),
            idf_in: counts.having_in.iter().map(|&having| idf(rows, having)).collect(),
            counts: vec![0; n_terms],
            by_end: Vec::new(),
            last: vec![0; n_terms],
            starts: BinaryHeap::new(),
            chained: Vec::new(),
            is_present: vec![false; n_terms],
            sizes: counts.sizes,
        }
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of terms, also of those without tokens.
    pub fn terms(&self) -> usize {
        self.sizes.len()
    }

    /// Writes the features of a row, those of each column, then the sum of idf over the terms that the row has. NaN: unknown.
    /// `lengths`: the tokens of the row in each column, if they are known.
    pub fn features(&mut self, lengths: &[Option<u32>], found: Found<'_>, features: &mut Vec<f64>) {
        features.clear();
        self.is_present.fill(false);
        match found {
            Found::Places(mut hits) => {
                for (column, &length) in lengths.iter().enumerate() {
                    let (here, rest) =
                        hits.split_at(hits.partition_point(|hit| hit.column as usize <= column));
                    hits = rest;
                    self.of_places(column, length, here, features);
                }
            }
            Found::Columns(table) => {
                for (column, &length) in lengths.iter().enumerate() {
                    let terms = (0..self.sizes.len()).filter(|term| table[term * self.columns + column]);
                    let mut covered = 0;
                    terms.for_each(|term| {
                        self.is_present[term] = true;
                        covered += 1;
                    });
                    features.extend(of_unknown_places(length, self.coverage(covered)));
                }
            }
            Found::Unknown => {
                for &length in lengths {
                    features.extend(of_unknown_places(length, f64::NAN));
                }
            }
        }
        let present = self.is_present.iter().zip(&self.idf).filter(|(is_present, _)| **is_present);
        let sum = present.map(|(_, idf)| idf).sum();
        features.push(if matches!(found, Found::Unknown) { f64::NAN } else { sum });
    }

    fn coverage(&self, covered: usize) -> f64 {
        covered as f64 / self.terms.max(1) as f64
    }

    /// The features of a column. `hits`: all places there, in the order of offsets and terms.
    fn of_places(&mut self, column: usize, length: Option<u32>, hits: &[Hit], features: &mut Vec<f64>) {
        let known_length = length.map_or(f64::NAN, f64::from);
        let Some(first) = hits.first() else {
            let bm25 = if length.is_some() { 0.0 } else { f64::NAN };
            features.extend([bm25, 0.0, 0.0, 0.0, 0.0, 0.0, known_length]);
            return;
        };
        // 1. Hits of each term.
        self.counts.fill(0);
        hits.iter().for_each(|hit| self.counts[hit.term as usize] += 1);
        // 2. BM25, and the tokens of the terms that the column has.
        let norm = K * (1.0 - B + B * known_length / self.average[column]);
        let (mut bm25, mut covered, mut size) = (0.0, 0, 0u64);
        for (term, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let count = f64::from(count);
            bm25 += self.idf_in[term * self.columns + column] * count * (K + 1.0) / (count + norm);
            covered += 1;
            size += u64::from(self.sizes[term]);
            self.is_present[term] = true;
        }
        // 3. How close the terms are to each other.
        size += u64::from(self.gap) * (covered as u64 - 1);
        let window = self.window(hits, covered).max(1);
        let is_phrase = covered == self.terms && self.is_phrase(hits);
        features.extend([
            bm25,
            hits.len() as f64,
            self.coverage(covered),
            1.0 / (f64::from(first.offset) + 1.0),
            (size as f64 / window as f64).min(1.0),
            f64::from(u8::from(is_phrase)),
            known_length,
        ]);
    }

    /// Tokens of the smallest window that has a hit of each of the `covered` terms from its start to its end.
    fn window(&mut self, hits: &[Hit], covered: usize) -> u64 {
        if covered == 1 {
            return u64::from(self.sizes[hits[0].term as usize]);
        }
        // 1. Hits in the order of their ends. Terms of the same size have the order of their starts.
        let sizes = &self.sizes;
        let end = |hit: &Hit| u64::from(hit.offset) + u64::from(sizes[hit.term as usize]);
        self.by_end.clear();
        if !hits.is_sorted_by_key(end) {
            self.by_end.extend_from_slice(hits);
            self.by_end.sort_unstable_by_key(end);
        }
        let hits = if self.by_end.is_empty() { hits } else { &self.by_end };
        // 2. The best window that ends with a hit begins with the earliest of the last hits of all terms. The heap has the
        //    earliest hit first, and drops hits that are no longer the last of their term when they come first.
        self.last.fill(NONE);
        self.starts.clear();
        let (mut missing, mut smallest, mut ticks) = (covered, u64::MAX, Ticks::default());
        for hit in hits {
            ticks.add(10);
            let last = &mut self.last[hit.term as usize];
            missing -= usize::from(*last == NONE);
            *last = hit.offset;
            self.starts.push(Reverse((hit.offset, hit.term)));
            while let Some(&Reverse((start, term))) = self.starts.peek().filter(|_| missing == 0) {
                if self.last[term as usize] == start {
                    smallest = smallest.min(end(hit).saturating_sub(u64::from(start)));
                    break;
                }
                self.starts.pop();
            }
        }
        smallest
    }

    /// Whether all terms follow each other in the order of the query.
    fn is_phrase(&mut self, hits: &[Hit]) -> bool {
        let Some(last) = self.sizes.iter().rposition(|size| *size > 0) else { return false };
        let mut ticks = Ticks::default();
        self.chained.clear();
        for hit in hits {
            ticks.add(1);
            let is_chained = match self.previous[hit.term as usize] {
                None => true,
                Some(previous) => {
                    let before = u64::from(self.sizes[previous]) + u64::from(self.gap);
                    let at = u64::from(hit.offset).checked_sub(before);
                    let key = at.map(|offset| (offset, previous as u32));
                    key.and_then(|key| {
                        let before = &hits[..self.chained.len()];
                        before.binary_search_by_key(&key, |hit| (u64::from(hit.offset), hit.term)).ok()
                    })
                    .is_some_and(|index| self.chained[index])
                }
            };
            if is_chained && hit.term as usize == last {
                return true;
            }
            self.chained.push(is_chained);
        }
        false
    }
}

// Conversion of a user's text to a query that FTS5 accepts.

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
