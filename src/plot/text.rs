//! Texts of plots and pages: escaping, shortening, numbers.

/// Text for XML and HTML. Markup is escaped. Characters that XML forbids or that reorder text become U+FFFD.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            c if c.is_control() || reorders(c) || matches!(c, '\u{FFFE}' | '\u{FFFF}') => {
                out.push('\u{FFFD}');
            }
            c => out.push(c),
        }
    }
    out
}

/// Whether a character sets the direction of the text around it.
fn reorders(c: char) -> bool {
    matches!(c, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// At most `most` characters of medium width: the middle of a longer text becomes an ellipsis, since names often differ at
/// their ends.
pub fn shortened(text: &str, most: usize) -> String {
    let room = most.saturating_mul(MEDIUM);
    let all = fitting(room, &mut text.chars());
    if all.len() == text.chars().take(all.len() + 1).count() {
        return text.to_owned();
    }
    let tail = most.saturating_sub(1) * 2 / 5;
    let mut end = fitting(tail * MEDIUM, &mut text.chars().rev());
    end.reverse();
    let head = fitting(most.saturating_sub(1 + tail) * MEDIUM, &mut text.chars());
    head.into_iter().chain(['…']).chain(end).collect()
}

/// The first letters whose widths have at most this sum.
fn fitting(room: usize, letters: &mut dyn Iterator<Item = char>) -> Vec<char> {
    let (mut used, mut fitting) = (0, Vec::new());
    for c in letters {
        used += width(c);
        if used > room {
            break;
        }
        fitting.push(c);
    }
    fitting
}

/// The width of a letter of medium width.
const MEDIUM: usize = 4;

/// The width of a letter in common fonts: letters of East Asia are twice as wide as others.
fn width(c: char) -> usize {
    match c {
        'W' | 'M' | 'm' | 'w' | '@' => 6,
        'A'..='Z' => 5,
        '\u{1100}'..='\u{11FF}' | '\u{2E80}'..='\u{FFFF}' | '\u{1F000}'.. => 8,
        _ => MEDIUM,
    }
}

/// Names of at most `most` characters. What all names have at their start is left out of the longer ones, then the middle of
/// those that are still too long: names that differ only there become equal.
pub fn short_names(names: &[&str], most: usize) -> Vec<String> {
    let [first, others @ ..] = names else { return Vec::new() };
    let common = |name: &&str| first.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
    let common = others.iter().map(common).min().unwrap_or(0);
    let short = |name: &&str| {
        let full = shortened(name, most);
        if full == **name || common < 4 {
            return full;
        }
        shortened(&format!("…{}", name.chars().skip(common).collect::<String>()), most)
    };
    names.iter().map(short).collect()
}

/// A number with at most four significant digits, as in `0.8764`, `12,345` or `3.2e-7`.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e7).contains(&size) {
        let text = format!("{value:.2e}");
        return match text.split_once('e') {
            Some((digits, power)) => format!("{}e{power}", trimmed(digits)),
            None => text,
        };
    }
    let decimals = (3 - size.log10().floor() as i32).clamp(0, 7) as usize;
    trimmed(&decimal(value, decimals)).to_owned()
}

/// A number with so many decimals and a comma between thousands.
pub fn decimal(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    let (whole, fraction) = digits.find('.').map_or((digits, ""), |dot| digits.split_at(dot));
    let sign = if digits.chars().all(|c| matches!(c, '0' | '.')) { "" } else { sign };
    let mut out = sign.to_owned();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) && whole.len() > 4 {
            out.push(',');
        }
        out.push(digit);
    }
    out + fraction
}

/// A count and its noun, as in `1 query` and `12 queries`.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", decimal(count as f64, 0), if count == 1 { one } else { many })
}

/// A decimal number without zeros at its end.
fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_at_most() {
        let cases = [
            (0.0, "0"),
            (0.876_54, "0.8765"),
            (1.0, "1"),
            (-0.5, "-0.5"),
            (12_345.678, "12,346"),
            (1234.0, "1234"),
            (1e-5, "1e-5"),
            (-3.25e-7, "-3.25e-7"),
            (2e9, "2e9"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!(decimal(-0.001, 2), "0.00");
    }

    #[test]
    fn hostile_text_is_neither_markup_nor_forbidden() {
        let hostile = "<script>alert('1 & \"2\"')</script>\u{0}\u{1b}\n\u{202e}\u{ffff}";
        let text = escaped(hostile);
        assert_eq!(
            text,
            "&lt;script&gt;alert(&#39;1 &amp; &quot;2&quot;&#39;)&lt;/script&gt;\u{fffd}\u{fffd} \u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn a_long_name_keeps_both_ends() {
        assert_eq!(shortened("short", 5), "short");
        assert_eq!(shortened("tf_idf_of_the_title_of_the_page", 16), "tf_idf_of…e_page");
        assert_eq!(shortened(&"x".repeat(1 << 20), 20).chars().count(), 20);
        assert_eq!(shortened("ページの題名の長さと本文", 12), "ページ…本文");
        assert_eq!(shortened("WWWW", 4), "W…");
    }

    #[test]
    fn long_names_with_one_start_differ() {
        let names =
            ["feature_number_1_of_the_document", "feature_number_2_of_the_document", "feature_number_3"];
        assert_eq!(short_names(&names, 20), ["…1_of_the_document", "…2_of_the_document", "feature_number_3"]);
        assert_eq!(short_names(&["a long name of a feature"], 12), ["a long …ture"]);
        // Names that differ only in the middle become equal.
        let names = ["clicks_of_the_first_month_2026", "visits_of_the_first_month_2026"];
        assert_eq!(short_names(&names, 12), ["clicks_…2026", "visits_…2026"]);
        let names =
            ["visits_in_may_per_shop_2026", "orders_in_may_per_shop_2026", "orders_in_june_per_shop_2026"];
        assert_eq!(short_names(&names, 12), ["visits_…2026", "orders_…2026", "orders_…2026"]);
    }
}
