//! The drawing in SVG, and the text of plots and pages: escaping, shortening, numbers. Colors are classes of a style sheet,
//! so that one file serves light and dark.
//!
//! Marks carry a `<title>` and their numbers as `data-` attributes. Coordinates are whole tenths of a unit.

use std::cell::RefCell;
use std::fmt::{Arguments, Display, Formatter, Write};

/// Units between the edges of a plot.
pub const WIDTH: i32 = 4400;

/// Longest text in a `<title>` (characters).
const LONGEST_TITLE: usize = 300;

/// Text, lines, marks; for dark pages again. Blue and orange can be told apart with any kind of color vision. No
/// `var()`: some viewers do not support it.
const STYLE: &str = "\
.ltr text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:#1c2430}\
.ltr .h{font-size:15px;font-weight:600}.ltr .m{fill:#5a6472}.ltr .n{font-variant-numeric:tabular-nums}.ltr .bg{fill:#fff}\
.ltr .axis{stroke:#8a94a2}.ltr .grid{stroke:#e4e8ee}.ltr .guide{stroke:#5a6472;stroke-dasharray:4 3}\
.ltr path{fill:none;stroke-width:2;stroke-linejoin:round}.ltr path.a{stroke:#0b66a8}.ltr path.b{stroke:#c2500a}\
.ltr circle.a,.ltr rect.a{fill:#0b66a8}.ltr circle.b,.ltr rect.b{fill:#c2500a}\
.ltr circle.f{fill:#0b66a8;fill-opacity:.45}.ltr text.a{fill:#0b66a8}.ltr text.b{fill:#b04708}\
.ltr .e{stroke:#1c2430;stroke-width:1.5}.ltr .o{stroke:#c2500a;stroke-width:2}\
@media(prefers-color-scheme:dark){.ltr text{fill:#e6e9ef}.ltr .m{fill:#a6afbd}.ltr .bg{fill:#14181f}\
.ltr .axis{stroke:#6b7584}.ltr .grid{stroke:#2a313c}.ltr .guide{stroke:#a6afbd}.ltr .e{stroke:#e6e9ef}\
.ltr path.a{stroke:#5cb0f0}.ltr path.b,.ltr .o{stroke:#f5994b}.ltr circle.a,.ltr rect.a,.ltr circle.f{fill:#5cb0f0}\
.ltr circle.b,.ltr rect.b{fill:#f5994b}.ltr text.a{fill:#7cc0f5}.ltr text.b{fill:#f7ab6b}}";

/// A point of the drawing, in tenths of a unit.
pub type Spot = (i32, i32);

/// Which end of a text is anchored at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// Attributes of a mark.
#[derive(Debug, Clone, Copy)]
pub struct Mark<'a> {
    /// The class of its color.
    pub class: &'a str,
    /// Shown when a pointer is over it.
    pub title: &'a str,
    /// Exact numbers, as `data-*` attributes with these names.
    pub data: &'a [(&'a str, f64)],
}

/// A drawing that grows.
pub struct Canvas {
    out: RefCell<String>,
    pub height: i32,
}

/// A length in units.
struct Units(i32);

impl Display for Units {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        let (sign, size) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        write!(formatter, "{sign}{}", size / 10)?;
        if size.is_multiple_of(10) { Ok(()) } else { write!(formatter, ".{}", size % 10) }
    }
}

impl Canvas {
    /// An empty drawing.
    pub fn new(height: i32) -> Self {
        Self { out: RefCell::default(), height }
    }

    /// The whole SVG, with a text alternative for screen readers.
    pub fn finish(&self, title: &str, description: &str) -> String {
        let (width, height) = (Units(WIDTH), Units(self.height));
        let (title, description) = (escaped(title), escaped(description));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"ltr\" role=\"img\" aria-label=\"{title}\" width=\"{width}\" \
             height=\"{height}\" viewBox=\"0 0 {width} {height}\" style=\"max-width:100%;height:auto\"><title>{title}</title>\
             <desc>{description}</desc><style>{STYLE}</style><rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n{}</svg>\n",
            self.out.borrow()
        )
    }

    fn put(&self, text: Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.out.borrow_mut().write_fmt(text);
    }

    /// The attributes and the end of a mark.
    fn finish_mark(&self, name: &str, mark: &Mark<'_>) {
        for (key, value) in mark.data {
            self.put(format_args!(" data-{key}=\"{value:?}\""));
        }
        let title = escaped(&shortened(mark.title, LONGEST_TITLE));
        self.put(format_args!("><title>{title}</title></{name}>\n"));
    }

    pub fn circle(&self, (x, y): Spot, radius: i32, mark: &Mark<'_>) {
        let (x, y, radius, class) = (Units(x), Units(y), Units(radius), mark.class);
        self.put(format_args!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\""));
        self.finish_mark("circle", mark);
    }

    /// A rectangle between two opposite corners.
    pub fn rect(&self, from: Spot, to: Spot, mark: &Mark<'_>) {
        let (x, y) = (Units(from.0.min(to.0)), Units(from.1.min(to.1)));
        let (width, height) = (Units((to.0 - from.0).abs()), Units((to.1 - from.1).abs()));
        let class = mark.class;
        self.put(format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\""
        ));
        self.finish_mark("rect", mark);
    }

    /// A straight line.
    pub fn line(&self, from: Spot, to: Spot, class: &str) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(Units);
        self.put(format_args!("<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>\n"));
    }

    /// Straight lines. Lines that continue the previous one are drawn as one path.
    pub fn path(&self, lines: impl Iterator<Item = [Spot; 2]>, class: &str) {
        self.put(format_args!("<path class=\"{class}\" d=\""));
        let mut last = None;
        for [from, to] in lines {
            if last.replace(to) != Some(from) {
                self.put(format_args!("M{} {}", Units(from.0), Units(from.1)));
            }
            self.put(format_args!("L{} {}", Units(to.0), Units(to.1)));
        }
        self.put(format_args!("\"/>\n"));
    }

    /// Text of at most `most` characters; longer text is shortened, and its title has all of it.
    pub fn text(&self, (x, y): Spot, anchor: Anchor, class: &str, text: &str, most: usize) {
        let (x, y, short) = (Units(x), Units(y), shortened(text, most));
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let title = if short == text {
            String::new()
        } else {
            format!("<title>{}</title>", escaped(&shortened(text, LONGEST_TITLE)))
        };
        self.put(format_args!(
            "<text{class} x=\"{x}\" y=\"{y}\"{anchor}>{title}{}</text>\n",
            escaped(&short)
        ));
    }
}

/// Estimated width of a text of height 12.
pub fn text_width(text: &str) -> i32 {
    (text.chars().map(width).sum::<usize>() * 66 / MEDIUM) as i32
}

// Text of plots and pages: escaping, shortening, numbers.

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

/// Whether a character changes the direction of the surrounding text.
fn reorders(c: char) -> bool {
    matches!(c, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// At most `most` characters of medium width: the middle of a longer text becomes an ellipsis, since names often differ at
/// their ends.
pub fn shortened(text: &str, most: usize) -> String {
    let room = most.saturating_mul(MEDIUM);
    let shown = fitting(room, &mut text.chars());
    if shown.len() == text.chars().take(shown.len() + 1).count() {
        return text.to_owned();
    }
    let tail = most.saturating_sub(1) * 2 / 5;
    let mut end = fitting(tail * MEDIUM, &mut text.chars().rev());
    end.reverse();
    let head = fitting(most.saturating_sub(1 + tail) * MEDIUM, &mut text.chars());
    head.into_iter().chain(['…']).chain(end).collect()
}

/// The longest prefix that is at most this wide.
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

/// Width of a medium-wide letter.
const MEDIUM: usize = 4;

/// Width of a letter in common fonts: East Asian letters are twice as wide as others.
fn width(c: char) -> usize {
    match c {
        'W' | 'M' | 'm' | 'w' | '@' => 6,
        'A'..='Z' => 5,
        '\u{1100}'..='\u{11FF}' | '\u{2E80}'..='\u{FFFF}' | '\u{1F000}'.. => 8,
        _ => MEDIUM,
    }
}

/// Names of at most `most` characters. The common prefix is removed from the longer ones, then the middle of
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

/// A number with `decimals` decimals and a comma between thousands.
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

/// A decimal number without trailing zeros.
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
