//! What texts of a column are that a number would say better: dates, numbers with a unit, ranges, JSON.

use std::collections::BTreeMap;

use super::conversion::{MARKS, number_sql};

/// Most texts of a sample, and the characters that are kept of each.
const MOST_TEXTS: usize = 500;
const LONGEST_TEXT: usize = 400;

/// Currencies that stand before a number in letters.
const CURRENCIES: [&str; 32] = [
    "US$", "AU$", "CA$", "NZ$", "HK$", "MX$", "R$", "S$", "A$", "C$", "Rs.", "Rs", "kr.", "kr", "AED", "AUD",
    "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "INR", "JPY", "NOK", "PLN", "RM", "SEK", "TRY",
    "USD",
];
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// What texts are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// Months as YYYY-MM.
    Months,
    /// Dates that `julianday` of SQLite reads.
    Dates,
    /// Dates in other forms.
    OtherDates,
    /// Times of day and durations.
    Times,
    /// Two numbers with a dash or a word between them.
    Ranges,
    /// Numbers with a sign, a unit or marks.
    Numbers,
    /// JSON arrays of numbers.
    Vectors,
    /// Other JSON arrays.
    Arrays,
    /// JSON objects, also as Python prints them.
    Objects,
}

impl TextKind {
    /// What a text is; `None` for a word, a blank text, or prose.
    pub fn of(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(values) = text.strip_prefix('[').filter(|_| text.ends_with(']')) {
            let is_vector = values.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '-');
            return Some(if is_vector { Self::Vectors } else { Self::Arrays });
        }
        if text.starts_with('{') && text.ends_with('}') {
            return Some(Self::Objects);
        }
        if text.len() > 60 || !text.contains(|c: char| c.is_ascii_digit()) {
            return None;
        }
        match () {
            () if is_month(text) => Some(Self::Months),
            () if is_sqlite_date(text) => Some(Self::Dates),
            () if is_other_date(text) => Some(Self::OtherDates),
            () if is_time(text) => Some(Self::Times),
            () if is_range(text) => Some(Self::Ranges),
            () if is_number(text) => Some(Self::Numbers),
            () => None,
        }
    }

    /// What texts of these two kinds are together.
    fn with(self, other: Self) -> Option<Self> {
        let is_date = |kind: Self| matches!(kind, Self::Months | Self::Dates | Self::OtherDates);
        let is_number = |kind: Self| matches!(kind, Self::Ranges | Self::Numbers);
        let is_array = |kind: Self| matches!(kind, Self::Vectors | Self::Arrays);
        match () {
            () if self == other => Some(self),
            () if is_date(self) && is_date(other) => Some(Self::OtherDates),
            () if is_number(self) && is_number(other) => Some(Self::Ranges),
            () if is_array(self) && is_array(other) => Some(Self::Arrays),
            () => None,
        }
    }
}

/// The texts with the smallest hashes: the same for any order of rows.
#[derive(Debug, Clone, Default)]
pub struct TextSample(BTreeMap<u64, Box<str>>);

impl TextSample {
    /// Adds a text with its hash.
    pub(super) fn add(&mut self, hash: u64, text: &str) {
        let is_full = self.0.len() == MOST_TEXTS;
        if is_full && self.0.last_key_value().is_some_and(|(last, _)| hash >= *last) {
            return;
        }
        self.0.entry(hash).or_insert_with(|| text.chars().take(LONGEST_TEXT).collect::<String>().into());
        if self.0.len() > MOST_TEXTS {
            self.0.pop_last();
        }
    }

    /// Texts that are not blank.
    fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(|text| &**text).filter(|text| !text.trim().is_empty())
    }

    /// Whether some text is not blank.
    pub fn has_text(&self) -> bool {
        self.texts().next().is_some()
    }

    /// The smallest text that is not blank.
    pub fn example(&self) -> &str {
        self.texts().min().unwrap_or_default()
    }

    /// What at least half of the texts are, and the smallest text that is something else.
    pub fn kind(&self) -> Option<(TextKind, Option<&str>)> {
        let all: Option<Option<TextKind>> =
            self.texts().map(TextKind::of).reduce(|a, b| a?.with(b?)).filter(Option::is_some);
        if let Some(Some(kind)) = all {
            return Some((kind, None));
        }
        let mut counts: Vec<(TextKind, usize)> = Vec::new();
        for kind in self.texts().filter_map(TextKind::of) {
            match counts.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, count)) => *count += 1,
                None => counts.push((kind, 1)),
            }
        }
        let half = self.texts().count().div_ceil(2);
        let (kind, _) = counts.into_iter().find(|(_, count)| *count >= half)?;
        let other = self.texts().filter(|text| TextKind::of(text) != Some(kind)).min();
        Some((kind, other))
    }

    /// The word before the number in each text, such as "Price: " or "v".
    pub fn word_before_numbers(&self) -> Option<&str> {
        let word = |text| -> Option<&str> {
            let number = str::find(text, |c: char| c.is_ascii_digit())?;
            let (word, rest) = text.split_at(number);
            // A word and a whole number is a code, such as SKU 12.
            let is_apart = word.trim_end().ends_with([':', '.', '$']) || rest.contains(['.', ',']);
            (is_apart && word.contains(char::is_alphabetic) && is_number(rest)).then_some(word)
        };
        let first = word(self.texts().next()?)?;
        self.texts().all(|text| word(text) == Some(first)).then_some(first)
    }

    /// SQL that makes numbers of the texts of a column, whose name is in quotes, if it is right for all texts of the sample.
    pub fn number_sql(&self, quoted: &str) -> Option<String> {
        number_sql(self.texts(), quoted)
    }
}

/// Whether the bytes are digits where the form has `#`, and the same elsewhere.
fn has_form(text: &str, form: &str) -> bool {
    text.len() == form.len()
        && text
            .bytes()
            .zip(form.bytes())
            .all(|(byte, expected)| if expected == b'#' { byte.is_ascii_digit() } else { byte == expected })
}

/// Whether a text is a month, such as 2025-10.
fn is_month(text: &str) -> bool {
    has_form(text, "####-##") && ("01"..="12").contains(&&text[5..])
}

/// Whether SQLite reads a text as a date.
fn is_sqlite_date(text: &str) -> bool {
    let Some((date, rest)) = text.split_at_checked(10) else { return false };
    let rest = rest.strip_prefix(['T', ' ']).unwrap_or(rest);
    let (time, zone) = match rest.find(['Z', '+', '-']) {
        Some(at) => (rest[..at].trim_end(), &rest[at..]),
        None => (rest, ""),
    };
    let seconds = time.split_once('.').map_or(time, |(seconds, fraction)| {
        if fraction.bytes().all(|byte| byte.is_ascii_digit()) { seconds } else { "?" }
    });
    has_form(date, "####-##-##")
        && (seconds.is_empty() || has_form(seconds, "##:##") || has_form(seconds, "##:##:##"))
        && (zone.is_empty() || zone == "Z" || has_form(&zone[1..], "##:##"))
}

/// Whether a text is a date in another form, such as 11.10.2025, 11/10/25, Aug 25, 2022 or 2022-W34.
fn is_other_date(text: &str) -> bool {
    if text.is_char_boundary(10) && has_form(&text[..10.min(text.len())], "####-##-##") {
        return true;
    }
    // 1. A month in words, with a day or a year.
    let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let is_month_name = |word: &str| {
        let word = word.to_ascii_lowercase();
        word.len() >= 3 && MONTHS.iter().any(|month| month.starts_with(&word))
    };
    if words.any(is_month_name) && text.len() <= 40 {
        return true;
    }
    // 2. ISO 8601 without dashes and by weeks; years, months and days in Chinese and Japanese.
    let has_start = |form: &str| text.get(..form.len()).is_some_and(|start| has_form(start, form));
    if has_start("########T") || has_start("####-W##") || has_start("####\u{5e74}") {
        return true;
    }
    // 3. Three numbers.
    let day = text.split(['T', ' ']).next().unwrap_or_default();
    let spaced = text.replace(". ", ".");
    [day, spaced.trim_end_matches('.')].into_iter().any(|day| {
        ['.', '/', '-'].into_iter().any(|separator| {
            let parts: Vec<&str> = day.split(separator).collect();
            let is_number =
                |part: &&str| (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
            parts.len() == 3
                && parts.iter().all(is_number)
                && [parts[0], parts[2]].iter().any(|part| part.len() >= 2)
        })
    })
}

/// Whether a text is a time of day or a duration, such as 10:30 AM, 00:21:45 or 1h 47m.
fn is_time(text: &str) -> bool {
    let clock = text.to_ascii_lowercase();
    let clock = clock.trim_end_matches(|c: char| c.is_alphabetic() || c == '.' || c == ' ');
    let parts: Vec<&str> = clock.split(':').collect();
    let is_part = |part: &&str| {
        let digits = part.split('.').next().unwrap_or_default();
        (1..=2).contains(&digits.len()) && part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    if (2..=3).contains(&parts.len()) && parts.iter().all(is_part) {
        return true;
    }
    let units: Vec<&str> =
        text.split(|c: char| c.is_ascii_digit() || c == ' ').filter(|unit| !unit.is_empty()).collect();
    let is_unit = |unit: &&str| ["d", "h", "hr", "hrs", "m", "min", "mins", "s", "sec"].contains(unit);
    units.len() >= 2 && units.iter().all(is_unit)
}

/// Whether a text has two numbers with a dash or a word such as "to" between them, as a range of salaries has.
fn is_range(text: &str) -> bool {
    let is_end = |part: &str| {
        let part = part.trim();
        let number = part.trim_start_matches(|c: char| !c.is_alphanumeric());
        let letters = part.chars().filter(|c| c.is_alphabetic()).count();
        number.starts_with(|c: char| c.is_ascii_digit()) && letters <= 6 && part.len() - number.len() <= 4
    };
    !is_month(text)
        && ["\u{2013}", "\u{2014}", "-", " to ", " bis ", ".."].into_iter().any(|dash| {
            let mut ends = text.split(dash);
            let ends = (ends.next(), ends.next(), ends.next());
            matches!(ends, (Some(low), Some(high), None) if is_end(low) && is_end(high))
        })
}

/// Whether a text may be meant as a number: with digits and without letters, or a number with a unit or a currency.
fn is_number(text: &str) -> bool {
    let currency = CURRENCIES.iter().find_map(|currency| text.strip_prefix(currency));
    let text = currency.map_or(text, str::trim_start);
    let is_digit = |c: char| c.is_ascii_digit();
    let is_mark = |c: char| is_digit(c) || "+-".contains(c) || MARKS.contains(c);
    let unit = text.trim_start_matches(is_mark);
    let has_number = text[..text.len() - unit.len()].contains(is_digit);
    let is_unit = !unit.contains(|c: char| is_digit(c) || c.is_whitespace());
    text.contains(is_digit) && (!text.contains(char::is_alphabetic) || has_number && is_unit)
}

/// Whether a text with a number may be a code, such as 61 A or 12/7: it has a slash, or ends with a single letter.
fn is_like_code(text: &str) -> bool {
    let letters = text.trim().chars().rev().take_while(|c| c.is_alphabetic()).count();
    letters == 1 || text.contains('/')
}

impl TextSample {
    /// Whether the texts may be codes rather than numbers.
    pub fn are_like_codes(&self) -> bool {
        self.texts().all(is_like_code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_known_by_their_marks() {
        use TextKind::{Arrays, Dates, Months, Numbers, Objects, OtherDates, Ranges, Times, Vectors};
        for (kind, texts) in [
            (Some(Months), &["2025-10"][..]),
            (
                Some(Dates),
                &["2025-10-01", "2025-10-01 12:30", "2025-10-01T12:30:15.5Z", "2025-10-01 12:30:15+02:00"],
            ),
            (
                Some(OtherDates),
                &[
                    "2025-10-01 12:30:00 UTC",
                    "2025-10-01T12:30:00+0200",
                    "11.10.2025",
                    "11/10/25",
                    "Aug 25, 2022",
                    "25 August 2022",
                    "25-AUG-22",
                    "Thu, 25 Aug 2022 15:27:30 +0000",
                    "Thu Aug 25 15:27:30 2022",
                    "20220825T152730Z",
                    "2022-W34",
                    "2022\u{5e74}8\u{6708}25\u{65e5}",
                    "2022. 8. 25.",
                    "25. Aug 2022",
                ],
            ),
            (Some(Times), &["10:30 AM", "00:21:45", "21:45", "1h 47m", "0:12.5"]),
            (
                Some(Ranges),
                &["50.000 - 60.000 \u{20ac}", "$40k-$60k", "3\u{2013}5 years", "100 to 200", "1..2"],
            ),
            (
                Some(Numbers),
                &[
                    "$12.50",
                    "1.299,00 \u{20ac}",
                    "80%",
                    "USD 32.27",
                    "R$ 32,27",
                    "Rs. 500",
                    "kr 100",
                    "\u{2212}65",
                    "5'11\"",
                    "1.18.8",
                    "358K",
                    "12 GB",
                ],
            ),
            (Some(Vectors), &["[1, 2]", "[-1]"]),
            (Some(Arrays), &["[]", "[\"a\"]"]),
            (Some(Objects), &["{\"a\": 1}", "{'a': 1}"]),
            (
                None,
                &[
                    "",
                    " ",
                    "red",
                    "12-pack of beer",
                    "A4-A5",
                    "COVID-19",
                    "3 room flat",
                    "[draft] x",
                    "market 5",
                ],
            ),
        ] {
            for text in texts {
                assert_eq!(TextKind::of(text), kind, "{text}");
            }
        }
    }

    #[test]
    fn most_texts_decide_whatever_their_order() {
        let sample = |texts: &[&str]| {
            let mut sample = TextSample::default();
            texts.iter().for_each(|text| sample.add(xxhash_rust::xxh64::xxh64(text.as_bytes(), 2), text));
            sample
        };
        let prices = sample(&["$5", "$7.50", "n/a", "$9"]);
        assert_eq!(prices.kind(), Some((TextKind::Numbers, Some("n/a"))));
        assert_eq!(sample(&["n/a", "$9", "$5", "$7.50"]).kind(), prices.kind());
        assert_eq!(sample(&["10 kg", "note 1", "note 2"]).kind(), None);
        assert_eq!(sample(&["5", "5-10", " "]).kind(), Some((TextKind::Ranges, None)));
        assert_eq!(sample(&["Price: 5", "Price: 7.5"]).word_before_numbers(), Some("Price: "));
        assert_eq!(sample(&["A001", "A002"]).word_before_numbers(), None);
        assert_eq!(sample(&["SKU 1", "SKU 2"]).word_before_numbers(), None);
    }
}
