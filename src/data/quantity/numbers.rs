//! Numbers in text: the digits and marks of a number, and the shape of a text, in which `NUMBER` replaces numbers.

/// Marks that may separate groups of digits; all blanks count as ' ' and all apostrophes as '\''.
pub const MARKS: [char; 5] = [',', '.', ' ', '\'', '_'];
/// Stands for a number in a shape.
pub const NUMBER: &str = "\u{1}";
/// Longest shape, in bytes. Longer texts are prose.
const LONGEST_SHAPE: usize = 40;
/// ISO 4217 codes, abbreviations and names. Case matters: 'rs' begins names of genes.
const CURRENCIES: [&str; 91] = [
    "AED", "ARS", "AUD", "BDT", "BGN", "BHD", "BRL", "CAD", "CHF", "CLP", "CNY", "COP", "CZK", "DKK", "EGP",
    "EUR", "GBP", "GHS", "HKD", "HUF", "IDR", "ILS", "INR", "IRR", "ISK", "JOD", "JPY", "KES", "KRW", "KWD",
    "KZT", "LKR", "MAD", "MXN", "MYR", "NGN", "NOK", "NZD", "OMR", "PEN", "PHP", "PKR", "PLN", "QAR", "RMB",
    "RON", "RSD", "RUB", "SAR", "SEK", "SGD", "THB", "TND", "TRY", "TWD", "TZS", "UAH", "UGX", "USD", "UYU",
    "VND", "XAF", "XOF", "ZAR", "Rs", "Rs.", "kr", "kr.", "Kr", "Kr.", "RM", "Rp", "Rp.", "KSh", "TL", "lei",
    "Ft", "Fr.", "SFr.", "zł", "Kč", "euro", "Euro", "euros", "Euros", "dollars", "руб", "руб.", "元", "円",
    "원",
];
/// Texts that mark a missing value, in lower case.
const MISSING: [&str; 24] = [
    "", "-", "--", "---", "\u{2013}", "\u{2014}", "?", "??", ".", "..", "...", "na", "n/a", "#n/a", "n.a.",
    "nan", "null", "(null)", "nil", "none", "\\n", "missing", "unknown", "tbd",
];
/// Words after a number that multiply it; case does not matter.
const MAGNITUDES: [&str; 38] = [
    "K", "K+", "M", "M+", "B", "B+", "T", "BN", "MN", "MM", "TN", "MIL", "MIO", "MIO.", "MRD", "MRD.", "MLN",
    "MLD", "THOUSAND", "MILLION", "BILLION", "TRILLION", "LAKH", "LAKHS", "CRORE", "CRORES", "CR", "万",
    "億", "KB", "MB", "GB", "TB", "PB", "KIB", "MIB", "GIB", "TIB",
];

/// The number in a text, and the trimmed text before and after it.
#[derive(Debug, PartialEq)]
pub struct Split<'a> {
    pub before: &'a str,
    pub after: &'a str,
    pub number: &'a str,
    pub is_negative: bool,
    pub in_parentheses: bool,
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{200b}'
}

/// Normalizes a mark to one in [`MARKS`].
fn mark(c: char) -> Option<char> {
    let c = match c {
        ' ' | '\u{a0}' | '\u{2009}' | '\u{202f}' => ' ',
        '\u{2019}' => '\'',
        other => other,
    };
    MARKS.contains(&c).then_some(c)
}

fn is_minus(c: char) -> bool {
    matches!(c, '-' | '\u{2212}' | '\u{2013}' | '\u{fe63}' | '\u{ff0d}')
}

/// Whether a character is a sign.
pub fn is_sign(c: char) -> bool {
    is_minus(c) || c == '+'
}

/// Whether a text without blanks at its ends marks a missing value.
pub fn is_missing_mark(text: &str) -> bool {
    text.len() <= 7 && MISSING.iter().any(|mark| mark.eq_ignore_ascii_case(text))
}

/// Whether a text names a currency: a symbol, an ISO code, or a symbol after letters such as 'US$'.
pub fn is_currency(text: &str) -> bool {
    let is_symbol = |c| matches!(c, '$' | '¢' | '£' | '¥' | '฿' | '\u{20a0}'..='\u{20c0}');
    let last = text.chars().next_back();
    let letters = &text[..text.len() - last.map_or(0, char::len_utf8)];
    last.is_some_and(is_symbol) && letters.len() <= 3 && letters.chars().all(|c| c.is_ascii_uppercase())
        || CURRENCIES.contains(&text)
}

/// Whether the text around a number is one currency.
pub fn is_money(before: &str, after: &str) -> bool {
    before.is_empty() && is_currency(after) || after.is_empty() && is_currency(before)
}

pub fn is_percent(before: &str, after: &str) -> bool {
    let is_sign = |text: &str| matches!(text, "%" | "\u{ff05}" | "percent");
    before.is_empty() && is_sign(after) || after.is_empty() && is_sign(before)
}

/// Whether the text around a number multiplies it, as in '5K' and '$5 M'.
pub fn is_scaled(before: &str, after: &str) -> bool {
    let mut words =
        before.split_whitespace().chain(after.split_whitespace()).filter(|word| !is_currency(word));
    let is_magnitude = |word: &str| MAGNITUDES.iter().any(|other| other.eq_ignore_ascii_case(word));
    words.next().is_some_and(is_magnitude) && words.next().is_none()
}

/// The length in bytes of the number at the start of a text that begins with a digit, or with a point and a digit.
fn length(text: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(text);
    let (first_group, mut has_point) = (end, false);
    while let Some(next) = text[end..].chars().next() {
        let after = end + next.len_utf8();
        let group = digits(&text[after..]);
        let is_group = match mark(next) {
            Some('.' | ',') => group > 0,
            // Two numbers, such as 52.5 103.1.
            Some(_) if has_point => false,
            Some(_) => group == 3 && (1..=3).contains(&first_group),
            None => false,
        };
        if !is_group {
            break;
        }
        has_point |= matches!(next, '.' | ',');
        end = after + group;
    }
    end
}

/// Writes the shape of a text and returns the position of its first number; `None` for prose or without a number. Digits
/// after a letter are not a number, unless the letter belongs to a currency.
pub fn shape(text: &str, shape: &mut String) -> Option<(usize, usize)> {
    shape.clear();
    let (mut first, mut at, mut last) = (None, 0, ' ');
    while let Some(next) = text[at..].chars().next() {
        let digits = &text[at + usize::from(next == '.')..];
        let is_start =
            digits.starts_with(|c: char| c.is_ascii_digit()) && !(next == '.' && last.is_ascii_digit());
        let mut end = at + next.len_utf8();
        if is_start && (!last.is_alphanumeric() || ends_in_unit(shape)) {
            end = at + length(&text[at..]);
            first = first.or(Some((at, end)));
            shape.push_str(NUMBER);
            last = '0';
        } else if is_start {
            end = at + 1 + text[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
            shape.push_str(&text[at..end]);
            last = '0';
        } else {
            // Collapse and trim blanks.
            match is_blank(next) {
                false => shape.push(next),
                true if shape.is_empty() || shape.ends_with(' ') => {}
                true => shape.push(' '),
            }
            last = next;
        }
        at = end;
        if shape.len() > LONGEST_SHAPE {
            return None;
        }
    }
    shape.truncate(shape.trim_end().len());
    first
}

/// Whether a number may follow the letters at the end of a shape: 'v' of versions, 'x' of sizes, or a currency that
/// does not look like part of a room or model name.
fn ends_in_unit(shape: &str) -> bool {
    shape == "v"
        || shape.ends_with("\u{1}x")
        || shape.ends_with("\u{1}X")
        || is_currency(shape) && shape != "RM" && shape != "TL"
}

/// Splits a text at its first number, which is at this position.
pub fn split(text: &str, (start, end): (usize, usize)) -> Split<'_> {
    let (mut before, mut after) = (text[..start].trim_matches(is_blank), text[end..].trim_matches(is_blank));
    let mut in_parentheses = false;
    if let (Some(inner), Some(rest)) = (before.strip_prefix('('), after.strip_suffix(')')) {
        (before, after, in_parentheses) = (inner.trim(), rest.trim(), true);
    }
    let mut is_negative = in_parentheses;
    let unsigned = before.trim_matches(is_sign).trim_matches(is_blank);
    if !in_parentheses
        && before.chars().filter(|c| is_sign(*c)).count() == 1
        && (unsigned.is_empty() || is_currency(unsigned))
    {
        is_negative = before.contains(is_minus);
        before = unsigned;
    }
    Split { before, after, number: &text[start..end], is_negative, in_parentheses }
}

/// The value of an unsigned number and its thousands separator, if digits and marks fit this decimal mark.
pub fn parse(number: &str, decimal: char) -> Option<(f64, Option<char>)> {
    let (whole, fraction) =
        number.split_once(decimal).map_or((number, None), |(whole, rest)| (whole, Some(rest)));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if whole.len() > 1 && whole.starts_with('0') || fraction.is_some_and(|fraction| !is_digits(fraction)) {
        return None;
    }
    // Groups have three digits, or two as in 12,34,567; the last has three.
    let (mut thousands, mut group, mut sizes) = (None, 0, [false; 2]);
    let mut digits = String::with_capacity(number.len());
    for c in whole.chars() {
        if c.is_ascii_digit() {
            group += 1;
            digits.push(c);
            continue;
        }
        match (thousands, mark(c)?) {
            (None, found) if (1..=3).contains(&group) => thousands = Some(found),
            (Some(first), found) if first == found && (2..=3).contains(&group) => sizes[group - 2] = true,
            _ => return None,
        }
        group = 0;
    }
    if thousands.is_some() && group != 3 || sizes == [true; 2] {
        return None;
    }
    if let Some(fraction) = fraction {
        digits.push('.');
        digits.push_str(fraction);
    }
    Some((digits.parse().ok()?, thousands))
}

/// The value of a number with an exponent.
pub fn with_exponent(text: &str) -> Option<f64> {
    let is_number = text.contains(['e', 'E']) && text.bytes().all(|b| b"0123456789+-.eE".contains(&b));
    is_number.then(|| text.parse().ok()).flatten().filter(|value: &f64| value.is_finite())
}

/// Whether a number in a text begins with 0 and another digit.
pub fn has_leading_zero(text: &str) -> bool {
    let numbers = text.split(|c: char| !c.is_ascii_digit() && !".,".contains(c));
    numbers.into_iter().any(begins_with_zero)
}

/// Whether a number begins with 0 and another digit.
pub fn begins_with_zero(number: &str) -> bool {
    number.starts_with('0') && number[1..].starts_with(|c: char| c.is_ascii_digit())
}
