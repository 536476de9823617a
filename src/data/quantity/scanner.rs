//! Reads the parts of a date, time or duration from the start of a text.

/// English and German names with their first three letters, and other abbreviations; each line from January on.
const MONTHS: [&str; 3] = [
    "january february march april may june july august september october november december",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "jän feb mär apr may jun jul aug sept okt nov dez",
];
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const UTC: [&str; 4] = ["Z", "UTC", "GMT", "UT"];
/// Zones of RFC 2822, from 4 hours behind UTC on.
const ZONES: [&str; 5] = ["EDT", "EST CDT", "CST MDT", "MST PDT", "PST"];

/// The unread rest of a text.
pub struct Scanner<'a>(pub &'a str);

/// Whether a word is this name or its first three letters.
fn is_abbreviation(word: &str, name: &str) -> bool {
    let (word, name) = (word.as_bytes(), name.as_bytes());
    // Most names differ in the first letter.
    word.first().map(u8::to_ascii_lowercase) == name.first().copied()
        && (word.eq_ignore_ascii_case(name)
            || word.len() == 3 && name.len() > 3 && word.eq_ignore_ascii_case(&name[..3]))
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

impl<'a> Scanner<'a> {
    /// The prefix of the rest whose characters satisfy the predicate.
    fn take(&mut self, accepts: impl Fn(char) -> bool) -> &'a str {
        let (taken, rest) = self.0.split_at(self.0.find(|c| !accepts(c)).unwrap_or(self.0.len()));
        self.0 = rest;
        taken
    }

    pub fn blanks(&mut self) -> bool {
        !self.take(char::is_whitespace).is_empty()
    }

    pub fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    pub fn has_digit(&self) -> bool {
        self.0.starts_with(is_digit)
    }

    pub fn skip(&mut self, literal: &str) -> bool {
        let rest = self.0.strip_prefix(literal);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// -1 after a minus sign, otherwise 1.
    pub fn sign(&mut self) -> f64 {
        if self.skip("-") || self.skip("\u{2212}") { -1.0 } else { 1.0 }
    }

    /// A whole number with this many digits.
    pub fn number(&mut self, least: usize, most: usize) -> Option<i64> {
        let length = self.0.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.0.split_at_checked(length).filter(|_| length >= least)?;
        self.0 = rest;
        Some(digits.bytes().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
    }

    /// Digits, and a point with digits.
    pub fn decimal(&mut self) -> Option<f64> {
        self.take(|c| is_digit(c) || c == '.').parse().ok()
    }

    /// Letters, optionally followed by a point.
    pub fn word(&mut self) -> &'a str {
        let word = self.take(char::is_alphabetic);
        self.0 = self.0.strip_prefix('.').filter(|_| !word.is_empty()).unwrap_or(self.0);
        word
    }

    /// A weekday and a comma, if the text starts like that.
    pub fn weekday(&mut self) {
        let start = self.0;
        if !start.starts_with(['M', 'T', 'W', 'F', 'S', 'm', 't', 'w', 'f', 's']) {
            return;
        }
        let word = self.word();
        if WEEKDAYS.iter().any(|name| is_abbreviation(word, name)) {
            self.skip(",");
            self.blanks();
        } else {
            self.0 = start;
        }
    }

    pub fn month(&mut self) -> Option<i64> {
        let word = Some(self.word()).filter(|word| word.len() >= 3)?;
        let month = |names: &str| names.split_ascii_whitespace().position(|name| is_abbreviation(word, name));
        MONTHS.into_iter().find_map(month).map(|place| place as i64 + 1)
    }

    /// Minutes or seconds: two digits below 60. Seconds may have a fraction.
    pub fn sixtieth(&mut self, are_seconds: bool) -> Option<f64> {
        let whole = self.number(2, 2).filter(|part| *part < 60)? as f64;
        if !are_seconds || !self.skip(".") && !self.skip(",") {
            return Some(whole);
        }
        let digits = self.take(is_digit);
        format!("{whole}.{digits}").parse().ok().filter(|_| !digits.is_empty())
    }

    /// Seconds since midnight in UTC: 15:27, 15:27:30.5, 3:27 PM, 3 PM, each with or without a zone. `is_basic`: 152730.
    pub fn time(&mut self, is_basic: bool) -> Option<f64> {
        let mut hour = self.number(1, 2)?;
        let has_colon = self.skip(":");
        let is_basic = is_basic && !has_colon && self.has_digit();
        let mut seconds = if has_colon || is_basic { 60.0 * self.sixtieth(false)? } else { 0.0 };
        if has_colon && self.skip(":") || is_basic && self.has_digit() {
            seconds += self.sixtieth(true)?;
        }
        let noon = self.noon();
        if let Some(is_after) = noon {
            hour = Some(hour).filter(|hour| (1..=12).contains(hour))? % 12 + if is_after { 12 } else { 0 };
        }
        let is_time = hour < 24 && (has_colon || is_basic || noon.is_some());
        let zone = self.zone().filter(|_| is_time)?;
        Some((hour * 3600) as f64 + seconds - zone)
    }

    /// Whether a time is after noon, if AM or PM follows.
    fn noon(&mut self) -> Option<bool> {
        let rest = self.0.trim_start();
        let names = ["am", "pm", "a.m.", "p.m."].into_iter();
        let is_name =
            |name: &&str| rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        let name = names.rev().find(is_name)?;
        self.0 = &rest[name.len()..];
        Some(name.starts_with('p'))
    }

    /// Seconds to subtract for UTC: 0 without a zone, `None` for an unknown zone.
    fn zone(&mut self) -> Option<f64> {
        let mut zone = Scanner(self.0.trim_start());
        let sign = zone.sign();
        let seconds = if sign < 0.0 || zone.skip("+") {
            let hours = zone.number(2, 2).filter(|hours| *hours < 24)? as f64;
            let minutes = if zone.skip(":") || zone.has_digit() { zone.sixtieth(false)? } else { 0.0 };
            sign * (hours * 3600.0 + minutes * 60.0)
        } else {
            match zone.word() {
                "" => return Some(0.0),
                word if UTC.contains(&word) => 0.0,
                word => {
                    -3600.0
                        * (4 + ZONES.iter().position(|names| names.split(' ').any(|name| name == word))?)
                            as f64
                }
            }
        };
        self.0 = zone.0;
        // E-mails repeat the zone in parentheses.
        if let Some((_, rest)) = self.0.strip_prefix(" (").and_then(|rest| rest.split_once(')')) {
            self.0 = rest;
        }
        Some(seconds)
    }
}
