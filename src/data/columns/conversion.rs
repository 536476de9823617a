//! SQL that converts the texts of a column to numbers, proposed only if it is right for all texts at hand.

/// Characters between the digits of a number.
pub(super) const MARKS: &str = ".,' \u{a0}\u{2019}\u{202f}";

/// A text around its first number.
struct Parts<'a> {
    before: &'a str,
    /// Digits and marks, without a sign.
    number: &'a str,
    after: &'a str,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let text = text.trim();
        let (before, rest) = text.split_at(text.find(|c: char| c.is_ascii_digit() || "+-".contains(c))?);
        let unsigned = rest.strip_prefix(['+', '-']).unwrap_or(rest);
        let end = unsigned.find(|c: char| !c.is_ascii_digit() && !MARKS.contains(c));
        let number =
            unsigned[..end.unwrap_or(unsigned.len())].trim_end_matches(|c: char| !c.is_ascii_digit());
        number.starts_with(|c: char| c.is_ascii_digit()).then(|| Self {
            before,
            number,
            after: unsigned[number.len()..].trim(),
        })
    }

    /// Whether this mark, if it occurs, separates groups of three digits.
    fn separates_thousands(&self, mark: char, decimal: Option<char>) -> bool {
        let whole = decimal.map_or(self.number, |decimal| {
            self.number.rsplit_once(decimal).map_or(self.number, |(whole, _)| whole)
        });
        let mut groups = whole.split(|c: char| MARKS.contains(c));
        let first = groups.next().map_or(0, str::len);
        !whole.contains(mark) || (1..=3).contains(&first) && groups.all(|group| group.len() == 3)
    }

    /// Whether this mark, if it occurs, is before the decimals.
    fn is_decimal(&self, mark: char) -> bool {
        let last = self.number.rfind(|c: char| MARKS.contains(c));
        self.number.find(mark).is_none_or(|at| Some(at) == last)
    }
}

/// SQL that makes numbers of these texts of a column, whose name is in quotes. `None` if the texts differ in more than their
/// numbers (currencies, units), or if no reading of their marks fits all.
pub fn number_sql<'a>(texts: impl Iterator<Item = &'a str>, quoted: &str) -> Option<String> {
    let parts: Vec<Parts<'_>> = texts.map(Parts::of).collect::<Option<_>>()?;
    // 1. The same text around each number. A dash or a parenthesis before it may be a sign.
    let first = parts.first()?;
    let is_sign = |c: char| "(\u{2010}\u{2011}\u{2012}\u{2013}\u{2212}".contains(c);
    let differs = |part: &Parts<'_>| part.before != first.before || part.after != first.after;
    if first.before.contains(is_sign) || parts.iter().any(differs) {
        return None;
    }
    // 2. What the marks mean. One mark before three digits may be of either kind.
    let marks: Vec<char> =
        MARKS.chars().filter(|mark| parts.iter().any(|part| part.number.contains(*mark))).collect();
    let fits = |decimal: Option<char>| {
        let is_thousands = |mark: &char| parts.iter().all(|part| part.separates_thousands(*mark, decimal));
        decimal.is_none_or(|mark| parts.iter().all(|part| part.is_decimal(mark)))
            && marks.iter().filter(|mark| Some(**mark) != decimal).all(is_thousands)
    };
    let decimals = marks.iter().copied().filter(|mark| ".,".contains(*mark));
    let readings: Vec<Option<char>> =
        std::iter::once(None).chain(decimals.map(Some)).filter(|decimal| fits(*decimal)).collect();
    let (decimal, condition) = match readings[..] {
        [only] => (only, String::new()),
        [None, Some(mark)] => (None, format!(" if '{mark}' separates thousands")),
        _ => return None,
    };
    // 3. The SQL.
    let mut sql = quoted.to_owned();
    if !first.before.is_empty() {
        sql = format!("ltrim({sql}, '{}')", first.before.replace('\'', "''"));
    }
    for mark in marks.into_iter().filter(|mark| Some(*mark) != decimal) {
        let mark = if mark == '\'' { "''".to_owned() } else { mark.to_string() };
        sql = format!("replace({sql}, '{mark}', '')");
    }
    if decimal == Some(',') {
        sql = format!("replace({sql}, ',', '.')");
    }
    Some(format!("CAST({sql} AS REAL){condition}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_is_proposed_where_it_is_right_for_all_texts() {
        for (texts, sql) in [
            (&["$12.50", "$3.99"][..], Some("CAST(ltrim(c, '$') AS REAL)")),
            (&["1.299,00 \u{20ac}"], Some("CAST(replace(replace(c, '.', ''), ',', '.') AS REAL)")),
            (&["1'299.50"], Some("CAST(replace(c, '''', '') AS REAL)")),
            (&["1.234.567"], Some("CAST(replace(c, '.', '') AS REAL)")),
            (&["12.500 EUR"], Some("CAST(replace(c, '.', '') AS REAL) if '.' separates thousands")),
            (&["12.500 EUR", "12.50 EUR"], Some("CAST(c AS REAL)")),
            (&["3,5 kg", "2 kg"], Some("CAST(replace(c, ',', '.') AS REAL)")),
            (&["1 299,00 EUR"], Some("CAST(replace(replace(c, ',', '.'), ' ', '') AS REAL)")),
            (&["80%", "5 %"], Some("CAST(c AS REAL)")),
            (&["5 kg", "300 g"], None),
            (&["1.5K", "2M"], None),
            (&["$5", "\u{20ac}7"], None),
            (&["00:21:45", "01:02:03"], None),
            (&["\u{2212}65", "\u{2212}7"], None),
            (&["(65)"], None),
            (&["1.18.8", "2.0.1"], None),
            (&["5'11\"", "6'2\""], None),
            (&["2022. 12. 8."], None),
            (&["no number"], None),
        ] {
            let found = number_sql(texts.iter().copied(), "c");
            let same = |sql: &str| {
                let mut a: Vec<char> = sql.chars().collect();
                a.sort_unstable();
                a
            };
            // Replacements may stand in another order.
            assert_eq!(found.as_deref().map(same), sql.map(same), "{texts:?}: {found:?}");
        }
    }
}
