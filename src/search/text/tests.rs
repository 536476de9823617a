//! Features against formulas over all positions; queries against a table of expected queries.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use super::{MAX_WORDS, *};
use crate::base::{Error, Result, stoppable};
use crate::math::Random;
use crate::search::text_query::NOTHING;

/// No table.
const ANY: Option<fn(&str) -> Result<Tokens>> = None;

/// Rows of random tokens with the positions of random terms: per row and column the tokens.
struct Table {
    rows: Vec<Vec<Vec<u32>>>,
    terms: Vec<Vec<u32>>,
}

impl Table {
    fn random(random: &mut Random) -> Self {
        let below = |random: &mut Random, bound: usize| random.below(bound);
        let columns = 1 + below(random, 3);
        let words = 2 + below(random, 5);
        let text = |random: &mut Random, most: usize| -> Vec<u32> {
            (0..below(random, most)).map(|_| below(random, words) as u32).collect()
        };
        let rows =
            (0..=below(random, 12)).map(|_| (0..columns).map(|_| text(random, 15)).collect()).collect();
        let terms = (0..=below(random, 4)).map(|_| text(random, 4)).collect();
        Self { rows, terms }
    }

    fn starts(&self, row: usize, column: usize, term: usize) -> Vec<usize> {
        let (tokens, term) = (&self.rows[row][column], &self.terms[term]);
        if term.is_empty() || term.len() > tokens.len() {
            return Vec::new();
        }
        (0..=tokens.len() - term.len()).filter(|at| tokens[*at..].starts_with(term)).collect()
    }

    fn columns(&self) -> usize {
        self.rows[0].len()
    }

    fn statistics(&self) -> Statistics {
        let (columns, rows) = (self.columns(), 0..self.rows.len());
        let has = |row: usize, column: usize, term: usize| !self.starts(row, column, term).is_empty();
        let rows_with = |test: &dyn Fn(usize) -> bool| rows.clone().filter(|row| test(*row)).count() as u64;
        let terms = 0..self.terms.len();
        let tokens = (0..columns).map(|column| self.rows.iter().map(|row| row[column].len() as u64).sum());
        Statistics::new(Counts {
            rows: self.rows.len() as u64,
            tokens: tokens.collect(),
            sizes: self.terms.iter().map(|term| term.len() as u32).collect(),
            having: terms
                .clone()
                .map(|term| rows_with(&|row| (0..columns).any(|column| has(row, column, term))))
                .collect(),
            having_in: terms
                .flat_map(|term| (0..columns).map(move |column| (term, column)))
                .map(|(term, column)| rows_with(&|row| has(row, column, term)))
                .collect(),
            gap: 0,
        })
    }

    fn hits(&self, row: usize) -> Vec<Hit> {
        let mut hits = Vec::new();
        for column in 0..self.columns() {
            for term in 0..self.terms.len() {
                hits.extend(self.starts(row, column, term).into_iter().map(|offset| Hit {
                    column: column as u32,
                    offset: offset as u32,
                    term: term as u32,
                }));
            }
        }
        hits.sort_by_key(|hit| (hit.column, hit.offset, hit.term));
        hits
    }

    /// The features by their definitions.
    fn expected(&self, row: usize) -> Vec<f64> {
        let n = self.rows.len() as f64;
        let idf = |having: usize| (1.0 + (n - having as f64 + 0.5) / (having as f64 + 0.5)).ln();
        let real: Vec<usize> = (0..self.terms.len()).filter(|term| !self.terms[*term].is_empty()).collect();
        let mut features = Vec::new();
        for column in 0..self.columns() {
            let length = self.rows[row][column].len() as f64;
            let average = self.rows.iter().map(|row| row[column].len() as f64).sum::<f64>() / n;
            let starts: Vec<Vec<usize>> = real.iter().map(|term| self.starts(row, column, *term)).collect();
            let bm25 = |(term, starts): (&usize, &Vec<usize>)| {
                let having = (0..self.rows.len()).filter(|row| !self.starts(*row, column, *term).is_empty());
                let hits = starts.len() as f64;
                idf(having.count()) * hits * 2.2
                    / (hits + 1.2 * (0.25 + 0.75 * length / average.max(f64::MIN_POSITIVE)))
            };
            let present: Vec<usize> = (0..real.len()).filter(|index| !starts[*index].is_empty()).collect();
            let first = starts.iter().flatten().min();
            let size = |index: usize| self.terms[real[index]].len();
            let total: usize = present.iter().map(|index| size(*index)).sum();
            features.extend([
                real.iter().zip(&starts).filter(|(_, starts)| !starts.is_empty()).map(bm25).sum::<f64>(),
                starts.iter().map(Vec::len).sum::<usize>() as f64,
                present.len() as f64 / real.len().max(1) as f64,
                first.map_or(0.0, |first| 1.0 / (*first as f64 + 1.0)),
                if present.is_empty() {
                    0.0
                } else {
                    (total as f64 / smallest_window(&present, &starts, &size) as f64).min(1.0)
                },
                f64::from(u8::from(is_phrase(&starts, &size))),
                length,
            ]);
        }
        let has = |row: usize, term: usize| {
            (0..self.columns()).any(|column| !self.starts(row, column, term).is_empty())
        };
        let having = |term: usize| (0..self.rows.len()).filter(|row| has(*row, term)).count();
        features.push(real.iter().filter(|term| has(row, **term)).map(|term| idf(having(*term))).sum());
        features
    }
}

/// All windows, from the smallest to the largest.
fn smallest_window(present: &[usize], starts: &[Vec<usize>], size: &dyn Fn(usize) -> usize) -> usize {
    let fits = |from: usize, length: usize, index: &usize| {
        starts[*index].iter().any(|at| *at >= from && at + size(*index) <= from + length)
    };
    (1..100)
        .find(|length| (0..20).any(|from| present.iter().all(|index| fits(from, *length, index))))
        .unwrap()
}

fn is_phrase(starts: &[Vec<usize>], size: &dyn Fn(usize) -> usize) -> bool {
    let Some(first) = starts.first() else { return false };
    first.iter().any(|start| {
        let mut at = *start;
        (0..starts.len()).all(|index| {
            let found = starts[index].contains(&at);
            at += size(index);
            found
        })
    })
}

#[test]
fn features_match_their_definitions() {
    let mut random = Random::new(1);
    let mut rows = 0;
    for _ in 0..1000 {
        let table = Table::random(&mut random);
        let (mut statistics, mut features) = (table.statistics(), Vec::new());
        for row in 0..table.rows.len() {
            let lengths: Vec<Option<u32>> =
                table.rows[row].iter().map(|tokens| Some(tokens.len() as u32)).collect();
            statistics.features(&lengths, Found::Places(&table.hits(row)), &mut features);
            let expected = table.expected(row);
            assert_eq!(features.len(), expected.len());
            for (found, expected) in features.iter().zip(&expected) {
                assert!((found - expected).abs() <= 1e-9, "{found} for {expected}: {:?}", table.terms);
            }
            rows += 1;
        }
    }
    assert!(rows > 5000);
}

#[test]
fn what_is_unknown_is_nan() {
    let counts = Counts {
        rows: 2,
        tokens: vec![4, 2],
        sizes: vec![1, 1],
        having: vec![1, 2],
        having_in: vec![1, 0, 1, 1],
        gap: 0,
    };
    let (mut statistics, mut features) = (Statistics::new(counts), Vec::new());
    statistics.features(&[Some(2), None], Found::Columns(&[true, false, true, false]), &mut features);
    let is_known: Vec<bool> = features.iter().map(|value| !value.is_nan()).collect();
    let row = |coverage, length| [false, false, coverage, false, false, false, length];
    assert_eq!(is_known, [&row(true, true)[..], &row(true, false), &[true]].concat());
    assert_eq!((features[2], features[6], features[9]), (1.0, 2.0, 0.0));
    assert!((features[14] - (2f64.ln() + 1.2f64.ln())).abs() < 1e-12);
    statistics.features(&[Some(2), None], Found::Unknown, &mut features);
    assert_eq!(features.iter().filter(|value| !value.is_nan()).count(), 1);
    // Positions without lengths: only BM25 and the length are unknown.
    statistics.features(
        &[None, None],
        Found::Places(&[Hit { column: 1, offset: 3, term: 0 }]),
        &mut features,
    );
    let unknown: Vec<usize> = (0..features.len()).filter(|index| features[*index].is_nan()).collect();
    assert_eq!(unknown, [0, 6, 7, 13]);
}

#[test]
fn words_of_ngrams_follow_each_other_with_a_gap() {
    // "cat dog" in trigrams: cat at 0, dog at 4.
    let counts = Counts {
        rows: 1,
        tokens: vec![5],
        sizes: vec![1, 1],
        having: vec![1, 1],
        having_in: vec![1, 1],
        gap: 3,
    };
    let (mut statistics, mut features) = (Statistics::new(counts), Vec::new());
    let hit = |offset, term| Hit { column: 0, offset, term };
    statistics.features(&[Some(5)], Found::Places(&[hit(0, 0), hit(4, 1)]), &mut features);
    assert_eq!((features[4], features[5]), (1.0, 1.0));
    statistics.features(&[Some(5)], Found::Places(&[hit(0, 1), hit(4, 0)]), &mut features);
    assert_eq!((features[4], features[5]), (1.0, 0.0));
}

#[test]
fn names_have_the_order_of_the_features() {
    let names = feature_names(&["title", "body"]);
    assert_eq!(names.len(), 15);
    assert_eq!((&*names[0], &*names[8], &*names[14]), ("title_bm25", "body_hits", "idf_sum"));
}

#[test]
fn words_are_strings_of_fts5() {
    use Words::{All, Any};
    for (text, words, prefix, query) in [
        ("red shoes", Any, false, r#""red" OR "shoes""#),
        ("red shoes", All, false, r#""red" "shoes""#),
        ("red sho", All, true, r#""red" "sho"*"#),
        (r#"red "running shoes""#, All, true, r#""red" "running shoes""#),
        ("\u{201c}running shoes\u{201d} red", Any, true, r#""running shoes" OR "red"*"#),
        (r#"5" pipe"#, Any, false, r#""5" OR "pipe""#),
        ("cats AND dogs", All, false, r#""cats" "AND" "dogs""#),
        ("title:cats -dogs (a* OR ^b)", All, false, r#""title:cats" "-dogs" "(a*" "OR" "^b)""#),
        ("title:cats -dogs", Any, false, r#""title:cats" OR "title" OR "cats" OR "-dogs""#),
        ("rock & roll", All, false, r#""rock" "roll""#),
        ("東京 cafe\u{301}", Any, false, "\"東京\" OR \"cafe\u{301}\""),
        ("a\0b", All, false, r#""a" "b""#),
        ("", Any, true, r#""""#),
        (" \" & \t", All, true, r#""""#),
        // Marks of inches open no phrase, whatever their form.
        (r#"27" monitor 24" stand"#, All, false, r#""27" "monitor" "24" "stand""#),
        ("27\u{201d} monitor 24\u{201d}", All, false, r#""27" "monitor" "24""#),
        ("27\u{2033} x 24\u{2033}", All, false, "\"27\u{2033}\" \"x\" \"24\u{2033}\""),
        (r#"24"x36" poster"#, All, false, r#""24" "x36" "poster""#),
        (r#"5'10" "tall man" 6""#, All, false, r#""5'10" "tall man" "6""#),
        (r#"pipe 3 " x 4 " brass"#, All, false, r#""pipe" "3" "x" "4" "brass""#),
        (r#"size="red shoes""#, All, false, r#""size=" "red" "shoes""#),
        (r#"("red shoes") bag"#, All, false, r#""red shoes" "bag""#),
        (r#""red shoes"#, All, false, r#""red" "shoes""#),
        (r#""12" pipe" x"#, All, false, r#""12" "pipe" "x""#),
        ("\u{ab} chaussures rouges \u{bb}", All, false, r#""chaussures rouges""#),
        ("\u{201e}rote Schuhe\u{201c}", All, false, r#""rote Schuhe""#),
        // Parts of words.
        ("red,shoes", Any, false, r#""red,shoes" OR "red" OR "shoes""#),
        ("red,shoes", All, false, r#""red,shoes""#),
        ("red,sho", Any, true, r#""red,sho"* OR "red" OR "sho"*"#),
        ("red, red", Any, false, r#""red," OR "red""#),
        ("a\u{2013}b\u{b7}c", Any, false, "\"a\u{2013}b\u{b7}c\" OR \"a\" OR \"b\" OR \"c\""),
        ("हिन्दी", Any, false, "\"हिन्दी\""),
        ("cafe\u{301}s", Any, false, "\"cafe\u{301}s\""),
        // Punctuation that a tokenizer may keep.
        ("☕,blau", Any, false, "\"☕,blau\" OR \"☕\" OR \"blau\""),
        ("Tasse ☕ + - …", All, false, "\"Tasse\" \"☕\" \"+\""),
    ] {
        assert_eq!(match_query(text, words, prefix, ANY).unwrap(), query, "{text}");
    }
    let long: Vec<String> = (0..5000).map(|number| number.to_string()).collect();
    assert_eq!(match_query(&long.join(" "), All, false, ANY).unwrap().split(' ').count(), MAX_WORDS);
}

#[test]
fn what_a_table_keeps_is_searched_and_what_it_splits_is_split() {
    for (kept, text, words, query) in [
        ("", "C++ _x_ 🙂", Words::Any, r#""C++" OR "_x_""#),
        ("+🙂", "C++ red_x 🙂🙂", Words::Any, r#""C++" OR "red_x" OR "red" OR "x" OR "🙂🙂""#),
        ("_+", "a+b_c,d", Words::All, r#""a+b_c,d""#),
        ("_+", "a+b_c,d", Words::Any, r#""a+b_c,d" OR "a+b_c" OR "d""#),
        ("", "\"red shoes\" 5\"", Words::Any, r#""red shoes" OR "5""""#),
        ("\"", "\"red shoes\"", Words::Any, r#""""red" OR "shoes""""#),
        (" ", " red  shoes ", Words::All, r#"" red  shoes ""#),
        ("", "Red red", Words::Any, r#""Red" OR "red""#),
        ("", "+ -", Words::Any, NOTHING),
    ] {
        assert_eq!(match_query(text, words, false, Some(tokenizer(kept, false))).unwrap(), query, "{text}");
    }
    for (text, query) in
        [("a-bc de, \"fgh\"", r#""a-bc" OR "de," OR "fgh""#), ("ab cd", r#""ab cd""#), ("ab", NOTHING)]
    {
        assert_eq!(match_query(text, Words::Any, false, Some(tokenizer("", true))).unwrap(), query, "{text}");
    }
}

/// A tokenizer: runs of letters, digits and `kept`, or trigrams.
fn tokenizer(kept: &'static str, is_grams: bool) -> impl Fn(&str) -> Result<Tokens> {
    move |text: &str| {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        if is_grams {
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            ranges.extend(places.windows(4).map(|places| places[0]..places[3]));
            return Ok(Tokens::new(ranges));
        }
        for (at, c) in text.char_indices().filter(|(_, c)| c.is_alphanumeric() || kept.contains(*c)) {
            match ranges.last_mut().filter(|last| last.end == at) {
                Some(last) => last.end += c.len_utf8(),
                None => ranges.push(at..at + c.len_utf8()),
            }
        }
        Ok(Tokens::new(ranges))
    }
}

type Tokenizer = dyn Fn(&str) -> Result<Tokens>;

/// Counted in checkpoints, which tests reach with each amount of work.
#[test]
fn work_is_linear_in_the_text_and_stops_at_checkpoints() {
    let patterns = [
        "\"a\"a",
        " \"a\"a",
        "a,",
        "\"",
        "\" ",
        "(",
        "( ",
        "(\"",
        "\"(",
        " [\"a",
        "\u{ab}",
        "\u{ab} ",
        "\",\"a",
        "é",
        "🙂,",
        "+,",
        "\0",
        "\u{200b}a",
        "\"a b\" ",
        "1 ",
        "a",
        "", // the last one: numbers
    ];
    let text = |pattern: &str, bytes: usize| match pattern {
        "" => (0..bytes / 5).map(|number| number.to_string()).collect::<Vec<_>>().join(","),
        pattern => pattern.repeat(bytes / pattern.len()),
    };
    // Checkpoints until the end, or until the limit, at which the call is interrupted.
    let run = |text: &str, words, tokenize: Option<&Tokenizer>, limit: usize| {
        let count = Rc::new(Cell::new(0));
        let counter = Rc::clone(&count);
        let check = move || {
            counter.set(counter.get() + 1);
            if counter.get() > limit { Err(Error::Interrupted) } else { Ok(()) }
        };
        let outcome = stoppable(Rc::new(check), || match_query(text, words, true, tokenize));
        (outcome, count.get())
    };
    let (runs, grams, quotes) = (tokenizer("", false), tokenizer("", true), tokenizer("\" ", false));
    let tokenizers: [Option<&Tokenizer>; 4] = [None, Some(&runs), Some(&grams), Some(&quotes)];
    let mut walked = 0;
    for pattern in patterns {
        let texts = [1 << 14, 1 << 15].map(|bytes| text(pattern, bytes));
        for (words, tokenize) in
            [Words::Any, Words::All].into_iter().flat_map(|words| tokenizers.map(|one| (words, one)))
        {
            let [(_, once), (query, twice)] =
                [0, 1].map(|which| run(&texts[which], words, tokenize, usize::MAX));
            query.unwrap();
            assert!(twice as f64 <= 2.4 * once as f64 + 50.0, "{pattern:?}: {once} and {twice}");
            for limit in [0, once / 2] {
                let (outcome, count) = run(&texts[0], words, tokenize, limit);
                assert!(matches!(outcome, Err(Error::Interrupted)) && count == limit + 1, "{pattern:?}");
            }
            walked += 1;
        }
    }
    assert_eq!(walked, patterns.len() * 8);
}
