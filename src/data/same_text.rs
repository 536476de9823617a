//! Texts and ids that are probably the same in two spellings.
//!
//! Rules (docs/reference/rules.md, 2):
//! * 2.25: Values of a category, and texts of a query feature.
//! * 2.26: Ids of queries, documents and users.

use std::borrow::Cow;
use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use super::id::Id;
use crate::base::Ticks;

/// Lowercase letters that Unicode writes as one character (NFC) or as a letter and a mark (NFD), by mark: `áa` for á and a.
/// Letters with two marks and syllables of Hangul are not compared.
const MARKED: &[(char, &str)] = &[
    ('\u{300}', "àaèeìiòoùu"),
    ('\u{301}', "áaéeíióoúuýyćcńnśsźzĺlŕr"),
    ('\u{302}', "âaêeîiôoûuĉcĝgĥhĵjŝsŵwŷy"),
    ('\u{303}', "ãañnõoĩiũu"),
    ('\u{304}', "āaēeīiōoūu"),
    ('\u{306}', "ăaĕeğgĭiŏoŭuйи"),
    ('\u{307}', "ċcėeġgżz"),
    ('\u{308}', "äaëeïiöoüuÿyёеїі"),
    ('\u{30a}', "åaůu"),
    ('\u{30b}', "őoűu"),
    ('\u{30c}', "čcďděeňnřršsťtžzǎa"),
    ('\u{326}', "șsțt"),
    ('\u{327}', "çcģgķkļlņnŗrşsţt"),
    ('\u{328}', "ąaęeįiųu"),
];

/// Most ids that are compared, in the order of the data set. Limits memory.
const MOST_COMPARED: usize = 1_000_000;

/// Case is ignored if at least this fraction of the texts with three letters is written like words. Codes (base 64)
/// mix cases, and case matters.
const SHARE_OF_WORDS: (usize, usize) = (3, 4);

/// Longest id that is compared (bytes). Longer ids are unlikely to be typed twice.
const LONGEST_COMPARED: usize = 1000;

/// Operations, for [`Ticks`], of the key of an id.
const KEY_COST: usize = 256;

/// The canonical spelling of a text: single blanks, lowercase if `folds_case`, marks after their letters.
fn spelling_key(text: &str, folds_case: bool) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = if folds_case { text.to_lowercase() } else { text };
    if text.is_ascii() { text } else { text.chars().flat_map(decomposed).collect() }
}

/// A letter, and its mark if it has one.
fn decomposed(letter: char) -> impl Iterator<Item = char> {
    let with = |(mark, letters): &(char, &str)| {
        let base =
            letters.chars().zip(letters.chars().skip(1)).step_by(2).find(|(marked, _)| *marked == letter);
        base.map(|(_, base)| (base, *mark))
    };
    let decomposed = if letter.is_ascii() { None } else { MARKED.iter().find_map(with) };
    let (base, mark) = decomposed.map_or((letter, None), |(base, mark)| (base, Some(mark)));
    [Some(base), mark].into_iter().flatten()
}

/// The first two of these values that differ only in case, blanks or Unicode form.
pub fn spelling_variants<'a>(values: impl IntoIterator<Item = &'a str>) -> Option<(&'a str, &'a str)> {
    let mut first_spellings = HashMap::new();
    values.into_iter().find_map(|value| {
        let first = *first_spellings.entry(spelling_key(value, true)).or_insert(value);
        (first != value).then_some((first, value))
    })
}

/// A warning if ids of a column differ only in type, case, blanks, leading or trailing zeros of numbers, or Unicode form.
/// `name`: the column. `what`: their kind, such as "queries". `in_sql`: whether they come from an SQL source.
pub fn ids_written_in_two_ways<'a>(
    ids: impl Iterator<Item = &'a Id> + Clone,
    (name, what, in_sql): (&str, &str, bool),
) -> Option<String> {
    // Numbers have only one spelling.
    let mut ticks = Ticks::default();
    let mut is_text = |id: &Id| {
        ticks.add(1);
        matches!(id, Id::Text(_) | Id::Blob(_))
    };
    if !ids.clone().any(&mut is_text) {
        return None;
    }
    let folds_case = are_words(ids.clone());
    let mut first_ids: HashMap<u64, &Id> = HashMap::new();
    let mut first = None;
    for id in ids.take(MOST_COMPARED) {
        ticks.add(KEY_COST);
        let Some(key) = id_key(id, folds_case) else { continue };
        let other = *first_ids.entry(xxh3_64(key.as_bytes())).or_insert(id);
        if other != id && id_key(other, folds_case).as_ref() == Some(&key) {
            first = Some((other, id));
            break;
        }
    }
    let (one, other) = first?;
    let source = if in_sql { " in the source" } else { "" };
    let example = one_in_sql(one, other, name).filter(|_| in_sql);
    let example = example.map(|sql| format!(", as in {sql}")).unwrap_or_default();
    Some(format!(
        "the column \"{name}\" has {} and {}, which differ only in type, case, blanks, zeros or Unicode form and count as two {what}; \
         if they are the same, make them equal{source}{example}",
        one.describe(),
        other.describe(),
    ))
}

/// The text of an id; `None` for bytes that are not text, and for long ids.
fn text_of(id: &Id) -> Option<Cow<'_, str>> {
    match id {
        Id::Null => None,
        Id::Integer(_) | Id::Real(_) => Some(id.to_string().into()),
        Id::Text(bytes) | Id::Blob(bytes) => {
            let is_blob = matches!(id, Id::Blob(_));
            let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= LONGEST_COMPARED)?;
            (!is_blob || !text.contains(char::is_control)).then_some(text.into())
        }
    }
}

/// The canonical spelling of an id.
fn id_key(id: &Id, folds_case: bool) -> Option<String> {
    let key = spelling_key(&text_of(id)?, folds_case);
    let is_whole = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let whole = key.split_once('.').filter(|(_, zeros)| zeros.bytes().all(|byte| byte == b'0'));
    let whole = whole.map_or(&*key, |(whole, _)| whole);
    Some(match whole.trim_start_matches('0') {
        _ if !is_whole(whole) => key,
        "" => "0".to_owned(),
        digits => digits.to_owned(),
    })
}

/// Whether texts are written like words: in lowercase, in capitals, or with initial capitals.
fn are_words<'a>(ids: impl Iterator<Item = &'a Id>) -> bool {
    let is_word = |word: &str| {
        let rest = word.chars().skip(1).filter(|c| c.is_alphabetic());
        let (mut small, mut capital) = (false, false);
        rest.for_each(|c| if c.is_uppercase() { capital = true } else { small = true });
        !capital || !small && !word.starts_with(char::is_lowercase)
    };
    let mut ticks = Ticks::default();
    let (mut words, mut all) = (0, 0);
    for text in ids.take(MOST_COMPARED).filter_map(text_of) {
        ticks.add(KEY_COST);
        if text.chars().filter(|c| c.is_alphabetic()).count() >= 3 {
            all += 1;
            words += usize::from(text.split(|c: char| !c.is_alphanumeric()).all(is_word));
        }
    }
    all > 0 && SHARE_OF_WORDS.1 * words >= SHARE_OF_WORDS.0 * all
}

/// SQL that makes two ids of a column equal, if simple functions can.
pub fn one_in_sql(one: &Id, other: &Id, column: &str) -> Option<String> {
    type Step = (fn(&str) -> String, fn(&str) -> String);
    const STEPS: [Step; 4] = [
        (|text| text.replace('\u{a0}', " "), |sql| format!("replace({sql}, char(160), ' ')")),
        (|text| text.trim_matches(' ').to_owned(), |sql| format!("trim({sql})")),
        (|text| text.replace("  ", " "), |sql| format!("replace({sql}, '  ', ' ')")),
        (|text| text.to_ascii_lowercase(), |sql| format!("lower({sql})")),
    ];
    let quoted = format!("\"{}\"", column.replace('"', "\"\""));
    let mut texts = [text_of(one)?, text_of(other)?].map(Cow::into_owned);
    let mut sql = match (one, other) {
        (Id::Text(_), Id::Text(_)) => quoted.clone(),
        _ => format!("CAST({quoted} AS TEXT)"),
    };
    for (change, in_sql) in STEPS {
        let changed = [0, 1].map(|index| change(&texts[index]));
        if texts[0] != texts[1] && changed != texts {
            (texts, sql) = (changed, in_sql(&sql));
        }
    }
    // 18 digits fit a whole number of SQLite.
    let are_short =
        texts.iter().all(|text| text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit()));
    if texts[0] == texts[1] {
        return Some(sql);
    }
    are_short.then(|| {
        format!("iif({quoted} GLOB '*[^0-9]*' OR length({quoted}) > 18, {quoted}, CAST({quoted} AS INTEGER))")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(ids: &[Id]) -> Option<String> {
        ids_written_in_two_ways(ids.iter(), ("query_id", "queries", true))
    }

    #[test]
    fn spellings_of_one_id_are_found_and_other_ids_are_not() {
        let blob = |text: &str| Id::Blob(text.as_bytes().into());
        let (seven, text) = (Id::Integer(7), Id::text);
        for (one, other) in [
            (seven.clone(), text("7")),
            (seven, text("007")),
            (text("7"), text("7.0")),
            (text("0"), text("00")),
            (text("Red shoes"), text("red shoes")),
            (text("shoes "), text("shoes")),
            (text("red  shoes"), text("red shoes")),
            (text("red\u{a0}shoes"), text("red shoes")),
            (text("caf\u{e9}"), text("cafe\u{301}")),
            (text("q1"), blob("q1")),
            (text("\u{419}od"), text("\u{418}\u{306}od")),
        ] {
            let ids = [text("hat"), one.clone(), text("bag"), other.clone()];
            assert!(found(&ids).is_some_and(|line| line.contains(&one.describe())), "{one} {other}");
        }
        for ids in [
            vec![text("a"), text("b"), text("b")],
            vec![text("7.5"), text("7.50"), Id::Real(7.25)],
            vec![text("1e5"), text("100000"), Id::Null],
            vec![text("caf\u{e9}"), text("caf\u{e8}"), text("cafe")],
            vec![blob("\u{1}A b"), blob("\u{1}a b")],
            (0..1000).map(Id::Integer).collect(),
        ] {
            assert_eq!(found(&ids), None);
        }
    }

    /// Ids of four characters of base 62, more than half of all with the first character `a` or `A`.
    #[test]
    fn case_counts_in_codes() {
        let digits: Vec<char> = ('0'..='9').chain('a'..='z').chain('A'..='Z').collect();
        let code = |number: usize| -> String {
            let tail = [0, 1, 2].map(|place| digits[number / 62_usize.pow(place) % 62]);
            ["a", "A"][number / 62_usize.pow(3) % 2].chars().chain(tail).collect()
        };
        let codes: Vec<Id> = (0..300_000).map(|number| Id::from(code(number * 7919 % 476_656))).collect();
        assert_eq!(found(&codes), None);
    }

    #[test]
    fn the_first_pair_of_values_is_found() {
        assert_eq!(spelling_variants(["b", "a ", "A"]), Some(("a ", "A")));
        assert_eq!(spelling_variants(["b", "a"]), None);
    }
}
