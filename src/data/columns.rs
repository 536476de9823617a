//! Columns of a row-major matrix, a few at a time: those on the same cache lines are read together.

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use ndarray::Array2;
use serde::Serialize;
use xxhash_rust::xxh64::xxh64;

use super::dataset::Dataset;
use super::matrix::Matrix;
use super::missing::MissingRows;
use super::text_values::LONGEST_VALUE;
use crate::base::{Control, Result, bytes_of, checkpoint, parallel, shorten};
use crate::math::Element;

/// Columns that are gathered together, because they are on the same cache lines.
const GATHERED: usize = 8;
/// Rows that are gathered together, so that their cache lines are still near for the next column.
const ROWS: usize = 256;

/// What is learned of columns.
#[derive(Clone, Copy)]
pub(super) struct ColumnWork {
    /// For messages about memory.
    pub what: &'static str,
    /// Bytes for each value of the column that is worked on, besides the value itself.
    pub bytes: usize,
}

/// Applies `learn` to the number and the values of each feature, on all threads. `value`: what becomes of a value.
///
/// # Errors
/// Errors of `learn`; an interruption; too little memory for a column on each thread.
pub(super) fn each_column<V: Copy + Default + Send, T: Send>(
    data: &Dataset,
    work: ColumnWork,
    control: &Control,
    value: impl Fn(f64) -> V + Sync,
    learn: impl Fn(usize, Vec<V>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let (rows, columns) = (data.n_docs(), data.features.columns());
    // Fewer features at a time if memory is short.
    let threads = parallel::threads().min(columns) as u64;
    let [gathered, worked] = [bytes_of::<V>(rows), bytes_of::<u8>(rows).saturating_mul(work.bytes as u64)];
    let share = (control.memory().available() / 2 / threads.max(1)).saturating_sub(worked);
    let together = (share / gathered.max(1)).clamp(1, GATHERED as u64);
    let bytes = gathered.saturating_mul(together).saturating_add(worked).saturating_mul(threads);
    let what = format_args!("{} {rows} documents", work.what);
    let _memory = control.reserve(bytes, what, "use fewer threads or rows")?;
    let learned = |chunk: usize| -> Result<Vec<T>> {
        let first = chunk * together as usize;
        let gathered = gather(&data.features, first, columns.min(first + together as usize), &value);
        let learned = gathered.into_iter().enumerate().map(|(number, values)| {
            control.check()?;
            learn(first + number, values)
        });
        learned.collect()
    };
    let chunks = columns.div_ceil(together as usize);
    Ok(parallel::try_map(chunks, learned)?.into_iter().flatten().collect())
}

/// The values of the columns from `first` to `end`.
fn gather<V: Copy + Default>(
    features: &Matrix,
    first: usize,
    end: usize,
    value: &impl Fn(f64) -> V,
) -> Vec<Vec<V>> {
    match features {
        Matrix::F32(array) => gather_from(array, first, end, value),
        Matrix::F64(array) => gather_from(array, first, end, value),
    }
}

fn gather_from<E: Element, V: Copy + Default>(
    array: &Array2<E>,
    first: usize,
    end: usize,
    value: &impl Fn(f64) -> V,
) -> Vec<Vec<V>> {
    let (rows, width) = array.dim();
    let mut columns = vec![vec![V::default(); rows]; end - first];
    for start in (0..rows).step_by(ROWS) {
        checkpoint();
        let block = start..rows.min(start + ROWS);
        for (column, out) in (first..).zip(&mut columns) {
            let out = &mut out[block.clone()];
            match array.as_slice() {
                Some(all) => {
                    for (out, row) in out.iter_mut().zip(all[block.start * width..].chunks_exact(width)) {
                        *out = value(row[column].to_f64());
                    }
                }
                None => {
                    for (out, row) in out.iter_mut().zip(block.clone()) {
                        *out = value(array[[row, column]].to_f64());
                    }
                }
            }
        }
    }
    columns
}

// Facts about a column that is no feature: counts and the kinds of its values, in little memory. Once the facts are
// certain, a row costs one count.

/// Different values that are counted in text and in other columns that are no features.
const MOST_DISTINCT: usize = 2000;
/// Different values that are counted in features.
const MOST_DISTINCT_OF_FEATURES: usize = 1000;
/// Rows after which a column whose values differ within each query does so for good.
const ROWS_OF_IDS: usize = 2000;

/// A value of a column.
#[derive(Debug, Clone, Copy)]
pub enum Seen<'a> {
    /// NULL.
    Missing,
    /// A number, or text that is one.
    Number(f64),
    /// Other text.
    Text(&'a [u8]),
    /// A BLOB.
    Blob(&'a [u8]),
}

/// Facts of a column for reports.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Facts {
    /// "number", "text", "blob", "mixed", or "null" if every row is NULL.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Rows that are NULL.
    pub missing: u64,
    /// Different values besides NULL; `None` if there are too many to count.
    pub distinct: Option<u64>,
    /// Whether all rows of each query have the same value.
    pub constant_within_query: bool,
}

/// Whether something holds within each query.
#[derive(Debug, Clone)]
struct Within {
    constant: bool,
    /// The first value of each query, while the column is constant.
    firsts: Vec<Option<u64>>,
    unique: bool,
    /// Hashes of query and value, while the column may be one of ids.
    values: HashSet<u64>,
}

/// What is known of a column.
#[derive(Debug, Clone)]
pub struct ColumnFacts {
    /// Rows.
    pub rows: u64,
    /// Rows with a number, a text and a BLOB.
    kinds: [u64; 3],
    /// Smallest and largest number.
    pub range: (f64, f64),
    whole: bool,
    distinct: HashSet<u64>,
    within: Within,
    /// The last hash: most columns with few values repeat it.
    last: u64,
    /// The first text, shortened.
    pub first_text: String,
    /// Whether all texts are UTF-8.
    is_utf8: bool,
    /// Whether a text is short enough for a value of a category.
    has_short_text: bool,
    /// Number of bytes of the first BLOB, if all BLOBs have this number.
    pub blob_bytes: Option<usize>,
}

impl Default for ColumnFacts {
    fn default() -> Self {
        let within = Within { constant: true, firsts: Vec::new(), unique: true, values: HashSet::new() };
        Self {
            rows: 0,
            kinds: [0; 3],
            range: (f64::INFINITY, f64::NEG_INFINITY),
            whole: true,
            distinct: HashSet::new(),
            within,
            last: 0,
            first_text: String::new(),
            is_utf8: true,
            has_short_text: false,
            blob_bytes: None,
        }
    }
}

impl ColumnFacts {
    /// Adds the value of a row of this query.
    pub fn add(&mut self, query: usize, value: Seen<'_>) {
        self.rows += 1;
        let is_id = !self.within.unique || self.within.values.len() >= ROWS_OF_IDS;
        let has_all = self.distinct.len() > MOST_DISTINCT && !self.within.constant && is_id;
        let hash = match value {
            Seen::Missing => 0,
            Seen::Number(number) => {
                self.kinds[0] += 1;
                self.range = (self.range.0.min(number), self.range.1.max(number));
                self.whole &= number.fract().abs() <= 0.0;
                if has_all { 0 } else { xxh64(&(number + 0.0).to_le_bytes(), 1) }
            }
            Seen::Text(text) => {
                if self.kinds[1] == 0 {
                    self.first_text = shorten(&String::from_utf8_lossy(&text[..text.len().min(400)]));
                }
                self.kinds[1] += 1;
                self.is_utf8 &= std::str::from_utf8(text).is_ok();
                self.has_short_text |= text.len() <= LONGEST_VALUE;
                if has_all { 0 } else { xxh64(text, 2) }
            }
            Seen::Blob(bytes) => {
                let is_first = self.kinds[2] == 0;
                self.blob_bytes =
                    Some(bytes.len()).filter(|bytes| is_first || self.blob_bytes == Some(*bytes));
                self.kinds[2] += 1;
                if has_all { 0 } else { xxh64(bytes, 3) }
            }
        };
        if !has_all {
            self.add_hash(query, hash);
        }
    }

    fn add_hash(&mut self, query: usize, hash: u64) {
        let is_value = hash != 0;
        if is_value && hash != self.last && self.distinct.len() <= MOST_DISTINCT {
            self.distinct.insert(hash);
        }
        self.last = hash;
        let Within { constant, firsts, unique, values } = &mut self.within;
        if *constant {
            if firsts.len() <= query {
                firsts.resize(query + 1, None);
            }
            *constant = *firsts[query].get_or_insert(hash) == hash;
            if !*constant {
                *firsts = Vec::new();
            }
        }
        if *unique && values.len() < ROWS_OF_IDS {
            *unique = is_value && values.insert(hash ^ (query as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            if !*unique {
                *values = HashSet::new();
            }
        }
    }

    /// The facts for a report.
    pub fn facts(&self) -> Facts {
        let kinds = ["number", "text", "blob"].into_iter().zip(self.kinds);
        let mut found = kinds.filter(|(_, count)| *count > 0).map(|(kind, _)| kind);
        let kind = match (found.next(), found.next()) {
            (None, _) => "null",
            (Some(only), None) => only,
            _ => "mixed",
        };
        let distinct = self.distinct.len();
        Facts {
            kind,
            missing: self.rows - self.kinds.iter().sum::<u64>(),
            distinct: (distinct <= MOST_DISTINCT).then_some(distinct as u64),
            constant_within_query: self.within.constant,
        }
    }

    /// Adds rows without a value, up to this number of rows.
    pub(super) fn of_rows(&mut self, rows: usize) {
        self.rows = rows as u64;
    }

    /// Whether each row has another value than the others of its query, in queries with several rows.
    pub fn is_unique_within_query(&self, queries: usize) -> bool {
        self.within.unique && self.rows > queries as u64
    }

    /// Whether all numbers are whole.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Why a column of texts cannot be a category because of them.
    pub fn text_problem(&self) -> Option<String> {
        if !self.is_utf8 {
            return Some("a text in it is not UTF-8".to_owned());
        }
        (!self.has_short_text).then(|| format!("its texts have more than {LONGEST_VALUE} bytes"))
    }

    /// The kinds of its values.
    pub fn kinds(&self) -> impl Iterator<Item = &'static str> {
        ["numbers", "texts", "BLOBs"]
            .into_iter()
            .zip(self.kinds)
            .filter(|(_, rows)| *rows > 0)
            .map(|(kind, _)| kind)
    }
}

/// The facts of a feature. `missing`: its missing values, which the data set may have filled.
pub fn facts_of_feature(data: &Dataset, column: usize, missing: &MissingRows) -> Facts {
    let value = |row: usize| (!missing.contains(row)).then(|| data.features.at(row, column).to_bits());
    let (mut known, mut last) = (HashSet::new(), None);
    for row in 0..data.n_docs() {
        if row.is_multiple_of(4096) {
            checkpoint();
        }
        let value = value(row);
        if value.is_some() && value != last && known.insert(value) && known.len() > MOST_DISTINCT_OF_FEATURES
        {
            break;
        }
        last = value;
    }
    let is_constant = |query: usize| {
        let mut rows = data.rows(query).map(value);
        let first = rows.next();
        rows.all(|value| Some(value) == first)
    };
    Facts {
        kind: "number",
        missing: missing.count(),
        distinct: (known.len() <= MOST_DISTINCT_OF_FEATURES).then_some(known.len() as u64),
        constant_within_query: (0..data.n_queries()).all(is_constant),
    }
}

// Clues from names and texts of columns.

/// Whether a column with this name is probably an id: `id`, `rowid`, `uuid`, `guid`, or a name that ends as in
/// `product_id`, `product id`, `product-id`, `product_uuid` or `productId`.
pub fn is_like_id(name: &str) -> bool {
    let name = name.trim();
    let lower = name.to_ascii_lowercase().replace([' ', '-'], "_");
    let before = name.strip_suffix("Id").or_else(|| name.strip_suffix("ID"));
    lower == "rowid"
        || ["id", "uuid", "guid"].contains(&lower.rsplit('_').next().unwrap_or_default())
        || before.is_some_and(|before| before.ends_with(|last: char| last.is_ascii_lowercase()))
}

/// Whether SQLite reads a text as a date: it begins with YYYY-MM-DD.
pub fn is_date(text: &str) -> bool {
    let bytes = text.trim().as_bytes();
    let digits = |range: std::ops::Range<usize>| {
        bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    digits(0..4) && digits(5..7) && digits(8..10) && bytes[4] == b'-' && bytes[7] == b'-'
}

/// Whether a text is a date in another form, such as 11.10.2025 or 11/10/25.
pub fn is_like_date(text: &str) -> bool {
    let day = text.trim().split([' ', 'T']).next().unwrap_or_default();
    ['.', '/', '-'].into_iter().any(|separator| {
        let parts: Vec<&str> = day.split(separator).collect();
        let is_number =
            |part: &&str| (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        parts.len() == 3
            && parts.iter().all(is_number)
            && [parts[0], parts[2]].iter().any(|part| part.len() >= 2)
    })
}

/// Characters between the digits of a number.
const MARKS: &str = ".,' \u{a0}\u{2019}\u{202f}";

/// Whether a text may be meant as a number: with digits and without letters, a number and a unit, or a range of numbers.
pub fn is_like_number(text: &str) -> bool {
    let text = text.trim();
    let is_digit = |c: char| c.is_ascii_digit();
    if !text.contains(is_digit) {
        return false;
    }
    let is_mark = |c: char| is_digit(c) || "+-".contains(c) || MARKS.contains(c);
    let unit = text.trim_start_matches(is_mark);
    let has_number = text[..text.len() - unit.len()].contains(is_digit);
    let is_unit = !unit.contains(|c: char| is_digit(c) || c.is_whitespace());
    !text.contains(char::is_alphabetic) || has_number && is_unit || is_range_of_numbers(text)
}

/// Whether a text with a number may be a code, such as 61 A or 12/7: it has a slash, or ends with a single letter.
pub fn is_like_code(text: &str) -> bool {
    let letters = text.trim().chars().rev().take_while(|c| c.is_alphabetic()).count();
    letters == 1 || text.contains('/')
}

/// Whether a text is a month, such as 2025-10.
pub fn is_month(text: &str) -> bool {
    text.trim().split_once('-').is_some_and(|(year, month)| {
        year.len() == 4
            && month.len() == 2
            && is_date(&format!("{year}-{month}-01"))
            && ("01"..="12").contains(&month)
    })
}

/// Whether a text has two numbers with a dash or a word such as "to" between them, as a range of salaries has.
pub fn is_range_of_numbers(text: &str) -> bool {
    let is_end = |part: &str| {
        let part = part.trim();
        let number = part.trim_start_matches(|c: char| !c.is_alphanumeric());
        let letters = part.chars().filter(|c| c.is_alphabetic()).count();
        number.starts_with(|c: char| c.is_ascii_digit()) && letters <= 6 && part.len() - number.len() <= 4
    };
    !is_month(text) && ["\u{2013}", "\u{2014}", "-", " to ", " bis ", ".."].into_iter().any(|dash| {
        let mut ends = text.trim().split(dash);
        matches!((ends.next(), ends.next(), ends.next()), (Some(low), Some(high), None) if is_end(low) && is_end(high))
    })
}

/// SQL that makes a number of texts such as this one in a column, whose name is in quotes.
pub fn number_in_text(text: &str, quoted: &str) -> String {
    let is_digit = |c: char| c.is_ascii_digit();
    // 1. The number, and what is before it.
    let before = &text[..text.find(|c: char| is_digit(c) || "+-".contains(c)).unwrap_or(0)];
    let number = text[before.len()..].trim_start_matches(['+', '-']);
    let end = number.find(|c: char| !is_digit(c) && !MARKS.contains(c)).unwrap_or(number.len());
    let number = number[..end].trim_end_matches(|c: char| !is_digit(c));
    // 2. Its last mark may be that of the decimals, the others separate thousands.
    let marks: Vec<char> = number.chars().filter(|c| !is_digit(*c)).collect();
    let last = marks.last().copied().filter(|last| ".,".contains(*last));
    let decimals = last.and_then(|last| number.rsplit(last).next()).map_or(0, str::len);
    let is_once = |mark: &char| marks.iter().filter(|other| *other == mark).count() == 1;
    let may_be_thousands = marks.len() == 1 && decimals == 3;
    let decimal = last.filter(|last| is_once(last) && !may_be_thousands);
    let mut sql = quoted.to_owned();
    if !before.is_empty() {
        sql = format!("ltrim({sql}, '{}')", before.replace('\'', "''"));
    }
    let mut others: Vec<char> = marks.iter().copied().filter(|mark| Some(*mark) != decimal).collect();
    others.dedup();
    for mark in others {
        sql = format!(
            "replace({sql}, '{}', '')",
            if mark == '\'' { "''".to_owned() } else { mark.to_string() }
        );
    }
    if decimal == Some(',') {
        sql = format!("replace({sql}, ',', '.')");
    }
    let condition = last.filter(|_| may_be_thousands);
    let condition = condition.map(|mark| format!(" if '{mark}' separates thousands"));
    format!("CAST({sql} AS REAL){}", condition.unwrap_or_default())
}
