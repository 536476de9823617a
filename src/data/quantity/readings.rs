use super::dates::{self, DOUBTS, FORMS};
use super::form::{Form, LONGEST, NumberForm};
use super::numbers::{
    self, MARKS, NUMBER, Split, is_currency, is_missing_mark, is_money, is_percent, is_scaled, is_sign,
};
use super::unread::Unread;
use crate::base::text_number;

/// Shapes that are kept.
const MOST_SHAPES: usize = 32;
/// Shapes of numbers with different units.
const MOST_UNITS: usize = 16;
/// Fewest digits for which numbers of equal length are codes.
const DIGITS_OF_CODES: usize = 5;
/// Most numbers in a text that is not a code or a list.
const MOST_NUMBERS: usize = 4;
/// The share of texts above which a column is probably meant as a quantity.
pub const HALF: f64 = 0.5;
/// Differences in share below this do not matter.
const NEARLY: f64 = 0.02;

/// What the texts of a column are.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// All texts have this form, or at least the required share.
    Form(Form),
    /// The texts are probably quantities, but cannot be read safely.
    Unread {
        /// Why.
        kind: Unread,
        /// An example text.
        example: String,
        /// Forms that may be meant.
        forms: Vec<Form>,
    },
    /// The texts are not quantities.
    Text,
}

impl Outcome {
    /// What the texts are, in the plural.
    pub fn what(&self) -> &'static str {
        use Unread::{Letter, MonthOrSeason, NoYear, OrderOfDate, PartsOfTime, TimeOrScore};
        let of_form = |form: &Form| match form {
            Form::Number(_) | Form::Key { .. } | Form::Age { .. } => "numbers",
            date if date.is_date() => "dates",
            Form::Listed(_) => "times or durations",
        };
        match self {
            Self::Form(form) => of_form(form),
            Self::Unread { kind: OrderOfDate | NoYear | MonthOrSeason, .. } => "dates",
            Self::Unread { kind: TimeOrScore | PartsOfTime | Letter, .. } => "times or durations",
            Self::Unread { forms, .. } => forms.first().map_or("numbers", of_form),
            Self::Text => "texts",
        }
    }

    /// Whether the texts should be converted to numbers. Codes, and words before numbers, may be category values.
    pub fn is_quantity(&self) -> bool {
        use Unread::{Code, LeadingZeros, Marks, Others, Words};
        match self {
            Self::Text | Self::Unread { kind: Code | LeadingZeros | Marks | Others, .. } => false,
            Self::Unread { kind: Words, forms, .. } => {
                !matches!(&forms[..], [Form::Number(form)] if form.after.is_empty())
            }
            Self::Form(_) | Self::Unread { .. } => true,
        }
    }
}

/// Texts of one kind: how many, and the shortest one (ties by bytes).
#[derive(Debug, Clone, Default, PartialEq)]
struct Texts {
    count: u64,
    example: Option<String>,
}

impl Texts {
    fn add(&mut self, text: &str) {
        self.count += 1;
        let is_better = |held: &String| (text.len(), text) < (held.len(), held.as_str());
        if self.example.as_ref().is_none_or(is_better) {
            self.example = Some(text.to_owned());
        }
    }

    fn merge(&mut self, other: &Self) {
        let count = self.count + other.count;
        other.example.iter().for_each(|text| self.add(text));
        self.count = count;
    }

    fn unread(&self, kind: Unread, forms: Vec<Form>) -> (u64, Outcome) {
        (self.count, Outcome::Unread { kind, example: self.example.clone().unwrap_or_default(), forms })
    }
}

/// Texts with the same words around their numbers. Counts how the marks in the first number can be read: with a decimal
/// point, a decimal comma, both (with different values), or neither.
#[derive(Debug, Clone, Default, PartialEq)]
struct Shape {
    all: Texts,
    /// With decimals after a point, and after a comma.
    fits: [u64; 2],
    /// Thousands separators that then occur: bits, by index in `MARKS`.
    marks: [u8; 2],
    two_values: Texts,
    no_value: Texts,
    /// With a leading zero.
    zeros: u64,
    in_parentheses: u64,
    /// Digits of the shortest and the longest number; 0 if a number is not whole.
    digits: Option<[usize; 2]>,
}

impl Shape {
    fn add(&mut self, text: &str, split: &Split<'_>) {
        self.all.add(text);
        self.in_parentheses += u64::from(split.in_parentheses);
        self.zeros += u64::from(numbers::begins_with_zero(split.number));
        let values = ['.', ','].map(|decimal| numbers::parse(split.number, decimal));
        for (side, value) in values.iter().enumerate() {
            self.fits[side] += u64::from(value.is_some());
            let mark =
                value.and_then(|(_, thousands)| MARKS.iter().position(|mark| Some(*mark) == thousands));
            self.marks[side] |= mark.map_or(0, |place| 1 << place);
        }
        match values {
            [Some((point, _)), Some((comma, _))] if (point - comma).abs() > 0.0 => self.two_values.add(text),
            [None, None] => self.no_value.add(text),
            _ => {}
        }
        let is_whole = !split.number.contains(['.', ',']);
        let digits = split.number.bytes().filter(|b| is_whole && b.is_ascii_digit()).count();
        self.add_digits([digits; 2]);
    }

    fn add_digits(&mut self, [least, most]: [usize; 2]) {
        self.digits = Some(self.digits.map_or([least, most], |held| [held[0].min(least), held[1].max(most)]));
    }

    fn add_exponent(&mut self, text: &str) {
        self.all.add(text);
        self.fits[0] += 1;
        self.add_digits([0; 2]);
    }

    /// Whether a number has decimals.
    fn has_decimals(&self) -> bool {
        self.digits.is_some_and(|[least, _]| least == 0)
    }

    fn merge(&mut self, other: &Self) {
        self.all.merge(&other.all);
        self.two_values.merge(&other.two_values);
        self.no_value.merge(&other.no_value);
        self.zeros += other.zeros;
        self.in_parentheses += other.in_parentheses;
        other.digits.into_iter().for_each(|digits| self.add_digits(digits));
        for side in 0..2 {
            self.fits[side] += other.fits[side];
            self.marks[side] |= other.marks[side];
        }
    }

    /// The outcomes for numbers with this text before and after, each with its number of texts.
    fn outcomes(&self, before: &str, after: &str) -> Vec<(u64, Outcome)> {
        let form = |side: usize| {
            let thousands =
                (0..MARKS.len()).find(|place| self.marks[side] & 1 << place > 0).map(|place| MARKS[place]);
            let (before, after, decimal) = (before.to_owned(), after.to_owned(), ['.', ','][side]);
            Form::Number(NumberForm { before, after, thousands, decimal })
        };
        let side = usize::from(self.fits[1] > self.fits[0]);
        let is_plain = before.is_empty() && after.is_empty();
        let is_unit = is_money(before, after) || is_percent(before, after);
        let has_one_length =
            self.digits.is_some_and(|[least, most]| least == most && least >= DIGITS_OF_CODES);
        // A word and whole numbers, such as SKU 12.
        let is_label = before.contains(char::is_alphabetic)
            && after.is_empty()
            && !before.ends_with(|c: char| is_sign(c) || ":.".contains(c))
            && !is_unit;
        if is_label && !self.has_decimals() {
            return Vec::new();
        }
        let outcome = if self.fits[0] == self.fits[1] && self.two_values.count > 0 {
            self.two_values.unread(Unread::ThousandsOrDecimals, vec![form(0), form(1)]).1
        } else if self.marks[side].count_ones() > 1 {
            self.all.unread(Unread::Marks, Vec::new()).1
        } else if self.in_parentheses > 0
            && !(is_money(before, after) && self.in_parentheses < self.all.count)
        {
            self.all.unread(Unread::Parentheses, Vec::new()).1
        } else if has_one_length && !is_unit && (!is_plain || self.marks[side] > 0) {
            self.all.unread(Unread::Code, Vec::new()).1
        } else if is_unit || is_plain {
            Outcome::Form(form(side))
        } else {
            self.all.unread(Unread::Words, vec![form(side)]).1
        };
        let mut outcomes = vec![(self.fits[side], outcome)];
        if self.no_value.count > 0 {
            let is_code = self.zeros * 2 > self.no_value.count;
            let kind = if is_code { Unread::LeadingZeros } else { Unread::Marks };
            outcomes.push((self.all.count, self.no_value.unread(kind, Vec::new()).1));
        }
        outcomes
    }
}

/// Counts how many texts of a column fit each form. Row order does not matter.
#[derive(Debug, Clone)]
pub struct Readings {
    count: u64,
    /// Texts that mark a missing value.
    marks: Texts,
    /// Other texts without a number, and prose.
    others: Texts,
    /// Texts that fit each form in the table, and then each doubtful reading.
    fits: Vec<Texts>,
    /// The smallest shapes, sorted. A shape that is still here at the end was never dropped, so its counts are
    /// complete.
    shapes: Vec<(Key, Shape)>,
    /// The index of the last shape, which most columns repeat.
    last: usize,
    /// Counts for larger shapes, which are never read.
    spare: Shape,
    buffer: String,
}

/// The sort key of a shape: whether it is not a plain number, money or a percentage; then length; then the shape.
type Key = (bool, usize, String);

impl Default for Readings {
    fn default() -> Self {
        let (marks, others, spare) = (Texts::default(), Texts::default(), Shape::default());
        let fits = vec![Texts::default(); FORMS + DOUBTS.len()];
        Self { count: 0, marks, others, fits, shapes: Vec::new(), last: 0, spare, buffer: String::new() }
    }
}

/// Decides what the texts of queries, or of a column that orders rows, are, if this share must have one form. Columns of
/// only well-formed numbers need no form: they are [`Outcome::Text`].
pub fn outcome_of<'a>(texts: impl Iterator<Item = &'a str>, share: f64) -> Outcome {
    let (mut readings, mut has_other) = (Readings::default(), false);
    for text in texts {
        has_other |= text_number(text).is_none_or(f64::is_infinite);
        readings.add(text);
    }
    if has_other { readings.outcome(share) } else { Outcome::Text }
}

impl Readings {
    /// Adds the text of a row.
    pub fn add(&mut self, text: &str) {
        self.count += 1;
        let text = text.trim();
        if is_missing_mark(text) {
            self.marks.add(text);
            return;
        }
        // Skip prose and words early.
        if text.len() > LONGEST || !text.bytes().any(|b| b.is_ascii_digit()) {
            let length =
                text.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= LONGEST).last();
            self.others.add(&text[..length.unwrap_or(0)]);
            return;
        }
        let mut is_listed = false;
        for form in dates::candidates(text).filter(|form| dates::value(*form, text).is_some()) {
            self.fits[form].add(text);
            is_listed = true;
        }
        for (place, _) in DOUBTS.iter().enumerate().filter(|(_, (read, ..))| read(text).is_some()) {
            self.fits[FORMS + place].add(text);
        }
        let mut shape = std::mem::take(&mut self.buffer);
        let first = numbers::shape(text, &mut shape);
        if numbers::with_exponent(text).is_some() {
            self.shape(NUMBER).add_exponent(text);
        } else if let Some(first) = first {
            let split = numbers::split(text, first);
            let is_single = shape.matches(NUMBER).count() == 1;
            if is_single {
                shape.clear();
                shape.extend([split.before, NUMBER, split.after]);
            }
            // Several numbers with leading zeros are a date or a code.
            if is_single || !numbers::has_leading_zero(text) {
                self.shape(&shape).add(text, &split);
            } else if !is_listed {
                self.others.add(text);
            }
        } else {
            self.others.add(text);
        }
        self.buffer = shape;
    }

    /// Adds a value other than UTF-8 text.
    pub fn add_other(&mut self) {
        self.count += 1;
        self.others.add("");
    }

    /// Whether there are texts and all of them mark missing values.
    pub fn are_missing(&self) -> bool {
        self.count > 0 && self.marks.count == self.count
    }

    fn shape(&mut self, shape: &str) -> &mut Shape {
        if self.shapes.get(self.last).is_none_or(|(key, _)| key.2 != shape) {
            let key = (!is_known(shape), shape.len(), shape.to_owned());
            match self.shapes.binary_search_by(|(held, _)| held.cmp(&key)) {
                Ok(place) => self.last = place,
                Err(MOST_SHAPES..) => return &mut self.spare,
                Err(place) => {
                    self.last = place;
                    self.shapes.insert(place, (key, Shape::default()));
                    self.shapes.truncate(MOST_SHAPES);
                }
            }
        }
        &mut self.shapes[self.last].1
    }

    /// Decides what the texts are, if at least this share must have one form. Texts that mark missing values only count if
    /// all texts must have the form.
    pub fn outcome(&self, share: f64) -> Outcome {
        let mut outcomes = self.listed();
        outcomes.extend(self.numbers());
        outcomes.retain(|(count, _)| *count > 0);
        let total = (self.count - self.marks.count) as f64;
        let needed = if share < 1.0 { share * total } else { self.count as f64 };
        if let Some(place) = outcomes.iter().position(|(count, _)| *count as f64 >= needed) {
            return outcomes.swap_remove(place).1;
        }
        // Among outcomes with about as many texts, take the first.
        outcomes.retain(|(count, _)| *count as f64 >= HALF * total);
        let exceeds = |next: u64, most: u64| next as f64 > most as f64 + NEARLY * total;
        match outcomes.into_iter().reduce(|most, next| if exceeds(next.0, most.0) { next } else { most }) {
            Some((_, Outcome::Form(form))) => {
                Outcome::Unread { kind: Unread::Others, example: self.misfit(&form), forms: vec![form] }
            }
            Some((_, outcome)) => outcome,
            None => Outcome::Text,
        }
    }

    /// A text without this form.
    fn misfit(&self, form: &Form) -> String {
        let shapes =
            self.shapes.iter().flat_map(|(_, shape)| [&shape.all, &shape.two_values, &shape.no_value]);
        let texts = shapes
            .chain([&self.others, &self.marks])
            .chain(&self.fits)
            .filter_map(|texts| texts.example.as_deref());
        let misfit = texts.filter(|text| form.value(text).is_none()).min_by_key(|text| (text.len(), *text));
        misfit.unwrap_or_default().to_owned()
    }

    /// The outcomes for dates, times and durations.
    fn listed(&self) -> Vec<(u64, Outcome)> {
        let Some(best) = (0..FORMS).rev().max_by_key(|form| self.fits[*form].count) else {
            return Vec::new();
        };
        let fits = &self.fits[best];
        // 1. Other readings and other meanings of the texts.
        let is_rival = |form: &usize| self.fits[*form].count == fits.count && dates::are_rivals(best, *form);
        let rivals: Vec<usize> = (0..FORMS).filter(is_rival).collect();
        let doubts = || DOUBTS.iter().zip(&self.fits[FORMS..]);
        let doubt =
            doubts().find(|((_, form, _), texts)| texts.count == fits.count && *form == dates::name(best));
        let kind = if dates::is_date(best) { Unread::OrderOfDate } else { Unread::PartsOfTime };
        let forms = [best].into_iter().chain(rivals.iter().copied()).map(Form::Listed).collect();
        let outcome = match doubt {
            Some(((_, _, doubt), _)) => fits.unread(*doubt, forms),
            None if rivals.is_empty() => (fits.count, Outcome::Form(Form::Listed(best))),
            None => fits.unread(kind, forms),
        };
        // 2. Meanings that are not read.
        let unread = doubts().map(|((_, _, doubt), texts)| texts.unread(*doubt, Vec::new()));
        [outcome].into_iter().chain(unread).collect()
    }

    /// The outcomes for numbers, most certain first.
    fn numbers(&self) -> Vec<(u64, Outcome)> {
        let mut outcomes = Vec::new();
        let singles = || self.shapes.iter().filter_map(|(key, shape)| Some((around(&key.2)?, shape)));
        // 1. One unit or none.
        for ((before, after), shape) in singles() {
            let mut shape = shape.clone();
            if is_money(before, after) {
                singles().filter(|(around, _)| *around == ("", "")).for_each(|(_, plain)| shape.merge(plain));
            }
            if !is_code(before, after) {
                outcomes.extend(shape.outcomes(before, after));
            }
        }
        // 2. Several units: the text around the numbers tells why they cannot be compared.
        let total = |accepts: &dyn Fn(&str, &Shape) -> bool| {
            let shapes = self.shapes.iter().filter(|(key, shape)| accepts(&key.2, shape));
            shapes.map(|(_, shape)| shape).fold((0, Texts::default()), |(different, mut texts), shape| {
                texts.merge(&shape.all);
                (different + 1, texts)
            })
        };
        let single = |accepts: &dyn Fn(&str, &str) -> bool| {
            total(&|shape, _| around(shape).is_some_and(|(before, after)| accepts(before, after)))
        };
        let is_amount =
            |before: &str, after: &str| before.len() + after.len() == 0 || is_money(before, after);
        if single(&is_money).0 > 1 {
            outcomes.push(single(&is_amount).1.unread(Unread::Currencies, Vec::new()));
        }
        if single(&is_scaled).0 > 0 {
            let (_, scaled) = single(&|before, after| is_amount(before, after) || is_scaled(before, after));
            outcomes.push(scaled.unread(Unread::Magnitude, Vec::new()));
        }
        // Words and signs, such as 'R +1.5' and 'D +2'.
        let (different, signed) = single(&is_signed_word);
        if (2..=MOST_UNITS).contains(&different) {
            outcomes.push(signed.unread(Unread::Words, Vec::new()));
        }
        let (_, mut several) = total(&|shape, texts| are_several(shape, texts.has_decimals()));
        let is_unit =
            |before: &str, after: &str| (before.is_empty() || is_currency(before)) && !is_code(before, after);
        let (different, units) = single(&is_unit);
        outcomes.push(several.unread(Unread::Several, Vec::new()));
        if different <= MOST_UNITS {
            outcomes.push(units.unread(Unread::Units, Vec::new()));
            // Ranges, and single numbers at the ends: '1000+' after '500 - 1000'.
            if several.count * 4 >= units.count {
                several.count += units.count;
                outcomes.push(several.unread(Unread::Several, Vec::new()));
            }
        }
        outcomes
    }
}

/// The text before and after a shape's only number.
fn around(shape: &str) -> Option<(&str, &str)> {
    shape.split_once(NUMBER).filter(|(_, after)| !after.contains(NUMBER))
}

fn is_known(shape: &str) -> bool {
    let is_known = |(before, after)| shape == NUMBER || is_money(before, after) || is_percent(before, after);
    around(shape).is_some_and(is_known)
}

/// Whether a shape has several numbers that are not a code: a range, a score, a fraction, a size, a place, a list.
/// `have_decimals`: whether the first ones do.
fn are_several(shape: &str, have_decimals: bool) -> bool {
    let Some((before, after)) = shape.split_once(NUMBER) else { return false };
    let between: Vec<&str> = after.split(NUMBER).collect();
    let is_joined = between.len() > 2 && between.iter().all(|text| text.is_empty() || *text == "-");
    let bracket = shape.find(['(', '[']).filter(|_| shape.ends_with([')', ']']));
    let is_separator = |text: &&str| [",", ";", "|"].contains(&text.trim_end_matches(is_sign).trim());
    let is_list = bracket.is_some() || between[..between.len() - 1].iter().all(is_separator);
    // Addresses and telephone numbers have blanks between whole numbers; places have brackets around them.
    let has_blank = |at: usize| !have_decimals && bracket.is_none_or(|bracket| at < bracket);
    let has_code = is_code(before, after)
        || shape.contains(|c: char| c.is_ascii_digit())
        || shape.find("\u{1} \u{1}").is_some_and(has_blank);
    between.len() > 1 && (between.len() <= MOST_NUMBERS || is_list) && !is_joined && !has_code
}

/// Whether a number is preceded by a word and a sign. A hyphen joins codes.
fn is_signed_word(before: &str, after: &str) -> bool {
    let word = before.strip_suffix(is_sign).unwrap_or_default();
    after.is_empty() && word.contains(char::is_alphabetic) && !is_code(before, after)
}

/// Whether a number between these texts is part of a code, such as INV-7 or 7_at.
fn is_code(before: &str, after: &str) -> bool {
    before.ends_with(['-', '_', '/']) || after.starts_with('_')
}
