//! The forms of dates, times and durations, and the readers of their texts.
//!
//! A date is days since 1970-01-01 in UTC, a time or duration is seconds. A text without an offset from UTC counts as UTC.

use super::scanner::Scanner;
use super::unread::Unread;

/// Patterns of dates. Y year, y year of two digits (30 to 99 are 1930 to 1999), m month, b month in words, d day, V week,
/// u day of the week, q quarter, T time. Blanks are optional. A weekday may come before the date, and a time after it.
const DATES: [&str; 46] = [
    "Y-m-d", "Y/m/d", "Y.m.d", "Y.m.d.", "YmdT", "Y-WV", "Y-WV-u", "YWV", "Y-Qq", "Y Qq", "Qq Y", "d/m/Y",
    "m/d/Y", "d-m-Y", "m-d-Y", "d.m.Y", "m.d.Y", "d/m/y", "m/d/y", "y/m/d", "d-m-y", "m-d-y", "y-m-d",
    "d.m.y", "m.d.y", "y.m.d", "b d, Y", "b d Y", "d b Y", "d b, Y", "d. b Y", "d-b-Y", "d/b/Y", "Y-b-d",
    "Y b d", "b d T Y", "d-b-y", "d b y", "b Y", "b-Y", "m/Y", "Y-m", "b-y", "b y", "Y, b", "T d b Y",
];
const EAST_ASIAN_DATES: [&str; 2] = ["Y年m月d日", "Y년m월d일"];

type Read = fn(&str) -> Option<f64>;

/// Forms of times and durations. Parts in brackets are optional.
const TIMES: [(&str, Read); 6] = [
    ("duration h:mm:ss", |text| Clock::read(text, true)?.seconds(|clock| clock.parts == 3)),
    // In units of the second part.
    ("duration h:mm or m:ss", |text| Clock::read(text, false)?.seconds(|clock| clock.parts == 2)),
    ("duration [h:]mm:ss", |text| {
        Clock::read(text, false)?.seconds(|clock| clock.parts == 2 || clock.first > 0)
    }),
    ("duration h:mm[:ss]", |text| {
        let clock = Clock::read(text, false)?;
        let factor = if clock.parts == 2 { 60.0 } else { 1.0 };
        clock.seconds(|clock| clock.first < 24).map(|value| value * factor)
    }),
    ("time h:mm AM", time_of_day),
    ("duration 1h 47m", duration),
];

/// Texts that look like a form but may be something else.
pub const DOUBTS: [(Read, &str, Unread); 7] = [
    (season, "date Y-m", Unread::MonthOrSeason),
    (score, "duration h:mm or m:ss", Unread::TimeOrScore),
    (letter, "duration 1h 47m", Unread::Letter),
    (|text| date("b-d", text), "date b-y", Unread::NoYear),
    (|text| date("b d", text), "date b y", Unread::NoYear),
    (|text| date("d b", text).or_else(|| date("d-b", text)), "", Unread::NoYear),
    (|text| any_date(text.split_once(": ")?.1), "", Unread::Words),
];

/// Number of forms.
pub const FORMS: usize = DATES.len() + EAST_ASIAN_DATES.len() + TIMES.len();
const DATE_FORMS: usize = FORMS - TIMES.len();

fn pattern(form: usize) -> &'static str {
    DATES.get(form).unwrap_or_else(|| &EAST_ASIAN_DATES[form - DATES.len()])
}

pub fn name(form: usize) -> String {
    if is_date(form) { format!("date {}", pattern(form)) } else { TIMES[form - DATE_FORMS].0.to_owned() }
}

pub fn is_date(form: usize) -> bool {
    form < DATE_FORMS
}

/// The value of a trimmed text in a form.
pub fn value(form: usize, text: &str) -> Option<f64> {
    if is_date(form) { date(pattern(form), text) } else { TIMES[form - DATE_FORMS].1(text) }
}

/// The forms that a text may have. The first characters rule out most.
pub fn candidates(text: &str) -> impl Iterator<Item = usize> {
    let mut start = Scanner(text);
    start.weekday();
    let digits = start.0.bytes().take_while(u8::is_ascii_digit).count();
    let mark = start.0.as_bytes().get(digits).copied();
    let has_word = digits == 0 && (start.0.starts_with('Q') || start.month().is_some());
    (0..FORMS).filter(move |form| {
        if !is_date(*form) {
            return digits > 0 || !has_word;
        }
        let pattern = pattern(*form).as_bytes();
        let has_length = match pattern[0] {
            b'Y' => digits >= 4,
            b'b' | b'Q' => return has_word,
            _ => (1..=2).contains(&digits),
        };
        has_length && (!b"-/.".contains(&pattern[1]) || mark == Some(pattern[1]))
    })
}

/// Whether two forms can read the same text differently: they have the same letters and marks.
pub fn are_rivals(a: usize, b: usize) -> bool {
    let sorted = |form: usize| {
        let mut letters: Vec<char> = name(form).chars().collect();
        letters.sort_unstable();
        letters
    };
    a != b && sorted(a) == sorted(b)
}

/// Days since 1970-01-01 in the Gregorian calendar: `None` if there is no such day.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    // Years begin in March, so the leap day comes last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    (1..=length).contains(&day).then_some(365 * year + leap_days + (153 * month + 2) / 5 + day - 719_469)
}

/// The first day of a year of ISO 8601: the Monday of the week with January 4.
fn first_monday(year: i64) -> Option<i64> {
    // 1970-01-01 was a Thursday.
    days(year, 1, 4).map(|fourth| fourth - (fourth + 3).rem_euclid(7))
}

/// A date in this pattern.
fn date(pattern: &str, text: &str) -> Option<f64> {
    let mut at = Scanner(text);
    at.weekday();
    let (mut year, mut month, mut day, mut week, mut seconds) = (1970, 1, 1, None, None);
    for item in pattern.chars() {
        match item {
            'Y' => year = at.number(4, 4)?,
            'y' => year = at.number(2, 2).map(|year| if year < 30 { 2000 + year } else { 1900 + year })?,
            'm' => month = at.number(1, 2)?,
            'b' => month = at.month()?,
            'q' => month = at.number(1, 1).filter(|quarter| (1..=4).contains(quarter))? * 3 - 2,
            'V' => week = at.number(2, 2),
            'd' => {
                day = at.number(1, 2)?;
                let _ = ["st", "nd", "rd", "th"].into_iter().any(|end| at.skip(end));
            }
            'u' => day = at.number(1, 1).filter(|day| (1..=7).contains(day))?,
            'T' => {
                let is_basic = at.skip("T");
                seconds = Some(at.time(is_basic)?);
            }
            ' ' => _ = at.blanks(),
            mark => {
                at.skip(mark.encode_utf8(&mut [0; 4])).then_some(())?;
                if !matches!(mark, 'W' | 'Q' | '-') {
                    at.blanks();
                }
            }
        }
    }
    let days = match week {
        None => days(year, month, day)?,
        Some(week) => {
            let monday = first_monday(year)? + 7 * (week - 1);
            Some(monday + day - 1)
                .filter(|_| week > 0 && first_monday(year + 1).is_some_and(|next| monday < next))?
        }
    };
    if seconds.is_none() && !at.is_at_end() {
        let is_basic = at.skip("T");
        let is_separate = is_basic || at.skip(":") || at.skip(",") | at.blanks();
        at.blanks();
        let _ = at.skip("at ") || at.skip("- ");
        seconds = Some(at.time(is_basic).filter(|_| is_separate)?);
    }
    at.is_at_end().then(|| (days as f64 * 86400.0 + seconds.unwrap_or(0.0)) / 86400.0)
}

fn any_date(text: &str) -> Option<f64> {
    (0..DATE_FORMS).find_map(|form| date(pattern(form), text))
}

/// Two successive years, such as 2021-22.
fn season(text: &str) -> Option<f64> {
    let (first, last) = text.split_once('-').filter(|(first, _)| first.len() == 4)?;
    let next = Scanner(first).number(4, 4)? + 1;
    (last == next.to_string() || last == format!("{:02}", next % 100)).then_some(next as f64)
}

/// Numbers with a colon between them, without leading zeros: a score such as 25:23.
fn score(text: &str) -> Option<f64> {
    let (left, right) = text.split_once(':')?;
    let is_number =
        |text: &str| text == "0" || !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit());
    left.parse().ok().filter(|_| is_number(left.trim()) && is_number(right.trim()))
}

fn time_of_day(text: &str) -> Option<f64> {
    let mut at = Scanner(text);
    // Without AM, PM or a zone it may be a duration.
    at.time(false).filter(|_| at.is_at_end() && text.contains(char::is_alphabetic))
}

/// A time or duration with colons.
struct Clock {
    parts: usize,
    first: i64,
    /// In units of the last part.
    value: f64,
}

impl Clock {
    /// `with_days`: days may come first, as in Python: '1 day, 2:03:04', '-1 days +23:59:59'.
    fn read(text: &str, with_days: bool) -> Option<Self> {
        let mut at = Scanner(text);
        let mut sign = at.sign();
        let mut first = at.number(1, 9)?;
        let mut days = 0.0;
        if with_days && at.skip(" day") {
            days = sign * first as f64;
            at = Scanner(at.0.trim_start_matches(['s', ',', ' ', '+']));
            sign = at.sign();
            first = at.number(1, 9)?;
        }
        let (mut parts, mut value) = (1, first as f64);
        while parts < 3 && at.skip(":") {
            value = value * 60.0 + at.sixtieth(parts == 2)?;
            parts += 1;
        }
        at.is_at_end().then_some(Self { parts, first, value: days * 86400.0 + sign * value })
    }

    fn seconds(self, accepts: impl Fn(&Self) -> bool) -> Option<f64> {
        (self.parts > 1 && accepts(&self)).then_some(self.value)
    }
}

/// Units of durations in seconds.
const UNITS: [(&[&str], f64); 8] = [
    (&["w", "wk", "wks", "week", "weeks"], 604_800.0),
    (&["d", "day", "days"], 86400.0),
    (&["h", "hr", "hrs", "hour", "hours"], 3600.0),
    (&["m", "min", "mins", "minute", "minutes"], 60.0),
    (&["s", "sec", "secs", "second", "seconds"], 1.0),
    (&["ms", "millisecond", "milliseconds"], 1e-3),
    (&["us", "µs", "μs", "microsecond", "microseconds"], 1e-6),
    (&["ns", "nanosecond", "nanoseconds"], 1e-9),
];

/// A duration with units in descending order: '1h 47m', '12h30', '90 min', '2 hours, 5 minutes', 'PT1H47M'.
fn duration(text: &str) -> Option<f64> {
    let mut at = Scanner(text);
    let sign = at.sign();
    let is_iso = at.skip("P");
    let (mut total, mut smallest) = (0.0, f64::INFINITY);
    while !at.is_at_end() {
        if is_iso {
            at.skip("T");
        }
        let number = at.decimal()?;
        at.blanks();
        let word = match at.word() {
            // 12h30
            "" if (3600.0..7200.0).contains(&smallest) => "m",
            // P1DT2H
            word if is_iso => word.strip_suffix('T').unwrap_or(word),
            word => word,
        };
        // W may be watts, and US a system of sizes.
        let is_unit =
            |unit: &&str| *unit == word || (is_iso || word.len() > 2) && unit.eq_ignore_ascii_case(word);
        let (_, seconds) =
            UNITS.iter().find(|(units, _)| units.iter().any(is_unit)).filter(|unit| unit.1 < smallest)?;
        (total, smallest) = (total + number * seconds, *seconds);
        at.skip(",");
        at.blanks();
        at.skip("and ");
    }
    (smallest < f64::INFINITY).then_some(sign * total)
}

/// A number and one letter, which could also mean meters, millions, decades or watts.
fn letter(text: &str) -> Option<f64> {
    let number = text.strip_suffix(['w', 'd', 'm', 's'])?.trim_end();
    number.parse::<f64>().ok()
}
