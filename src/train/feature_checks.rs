//! Features that cannot rank, or that are ids or dates rather than properties of a document.
//!
//! | sign | condition |
//! |---|---|
//! | constant | one value in all rows |
//! | constant in queries | one value in every query |
//! | code | whole numbers from 1000 on with a name such as `zip`, `plz`, `phone` or `isbn`; texts such as 00501 |
//! | running number | whole numbers that increase from row to row, or each once: consecutive ones with gaps, or of a name such as `index` |
//! | date | whole numbers, all of the form YYYYMMDD, all of the form DDMMYYYY, or all plausible Unix times in seconds or milliseconds |
//!
//! With the scaling `none` a feature counts by its spread, so very different spreads are a sign, too.

use crate::base::{ColumnAdvice, Control, Result, checkpoint, parallel, quote};
use crate::data::{ADVICE_ON_64_BITS, Dataset, ReadReport, Slice, are_64_bits, is_code, is_row_number};
use crate::math::sort_indices;
use crate::train::select::significant;

/// Numbers that increase in fewer rows may do so by chance.
const FEWEST_ROWS: usize = 8;
/// Row numbers have gaps if only some of the rows are left, such as the training rows of a split frame. These are
/// the largest number of numbers per row, and the least number of rows.
const NUMBERS_PER_ROW: f64 = 4.0;
const FEWEST_ROWS_WITH_GAPS: usize = 50;
/// Smallest number that may be a code, such as a postal code.
const SMALLEST_CODE: f64 = 1e3;
/// Smallest number that can be an id by its value alone.
pub const SMALLEST_ID: f64 = 1e7;
/// Smallest number that is an id although it occurs in several queries, such as an ISBN.
const SMALLEST_SHARED_ID: f64 = 1e10;
/// Largest number of features that a warning names.
const NAMED: usize = 10;
/// Plausible Unix times: 2000 to 2039, in seconds.
const UNIX_SECONDS: std::ops::Range<f64> = 946_684_800.0..2_208_988_800.0;
/// Standard deviations that differ by a larger factor need a scaling.
const LARGEST_SPREAD_RATIO: f64 = 10.0;

/// A suspicious property of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Constant,
    ConstantInQueries,
    Code,
    RunningNumber,
    Date(DateFormat),
}

/// How dates are written as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DateFormat {
    Calendar,
    DayFirst,
    Seconds,
    Milliseconds,
}

impl DateFormat {
    fn name(self) -> &'static str {
        match self {
            Self::Calendar => "YYYYMMDD",
            Self::DayFirst => "DDMMYYYY",
            Self::Seconds => "Unix seconds",
            Self::Milliseconds => "Unix milliseconds",
        }
    }

    /// SQL for the days since a fixed date. With the current date the features would differ from call to call.
    fn days(self, column: &str) -> String {
        let column = quote(column);
        match self {
            Self::Calendar => format!(
                "julianday(substr({column}, 1, 4) || '-' || substr({column}, 5, 2) || '-' || substr({column}, 7, 2)) - \
                 julianday('2024-01-01')"
            ),
            Self::DayFirst => format!(
                "julianday(substr({column}, -4) || '-' || substr({column}, -6, 2) || '-' || substr('0' || {column}, -8, 2)) - \
                 julianday('2024-01-01')"
            ),
            Self::Seconds => format!("({column} - unixepoch('2024-01-01')) / 86400.0"),
            Self::Milliseconds => format!("({column} / 1000.0 - unixepoch('2024-01-01')) / 86400.0"),
        }
    }
}

/// The unusual features of a training set.
#[derive(Debug, Default)]
pub struct FeatureChecks {
    signs: Vec<(String, Sign)>,
    /// The warnings about different spreads without a scaling, and about vectors of different types.
    others: Vec<String>,
}

impl FeatureChecks {
    /// Checks the features before they are scaled. `read`: how they were read. `counts_spread`: whether different spreads
    /// are a sign.
    ///
    /// # Errors
    /// An interrupt.
    pub fn of(data: &Dataset, read: &ReadReport, counts_spread: bool, control: &Control) -> Result<Self> {
        let mut by_row: Vec<usize> = (0..data.n_docs()).collect();
        sort_indices(&mut by_row, &|a, b| read.rows[a].cmp(&read.rows[b]));
        let sign = |column: usize| {
            control.check()?;
            let is_padded = read.zero_padded.contains(&data.names[column]);
            Ok(Column { data, index: column, by_row: &by_row, is_padded }
                .sign()
                .map(|sign| (data.names[column].clone(), sign)))
        };
        // Category values are not suspicious.
        let numbers = data.categories.numbers(data.names.len());
        let signs: Vec<Option<(String, Sign)>> = parallel::try_map(numbers, sign)?;
        let spreads = if counts_spread { spread_warning(data, control)? } else { None };
        let doubles = match data.features.slice(0..data.n_docs()) {
            Some(Slice::F32(values)) if are_64_bits(values, data.names.len()) => {
                Some(ADVICE_ON_64_BITS.to_owned())
            }
            _ => None,
        };
        Ok(Self {
            signs: signs.into_iter().flatten().collect(),
            others: spreads.into_iter().chain(doubles).collect(),
        })
    }

    /// A warning for each sign. Features that are constant in queries are useful as query features, and to functions that
    /// are not linear.
    pub fn warnings(
        &self,
        is_linear: bool,
        query_features: &[String],
        advice: ColumnAdvice<'_>,
    ) -> Vec<String> {
        let named = |sign: Sign| -> Vec<&str> {
            let features = self.signs.iter().filter(|(_, found)| *found == sign);
            features.map(|(name, _)| name.as_str()).collect()
        };
        let mut in_queries = named(Sign::ConstantInQueries);
        in_queries.retain(|name| is_linear && !query_features.iter().any(|used| used == name));
        let leave_out = |what: &str, names: Vec<&str>, way_out: &str| {
            (!names.is_empty())
                .then(|| format!("features with one value in {what}; {way_out}: {}", listed(&names)))
        };
        let running = named(Sign::RunningNumber);
        let running = (!running.is_empty()).then(|| {
            format!(
                "features with a different value in every row, like row numbers and ids: {}; {}",
                listed(&running),
                advice.ids(&running)
            )
        });
        let codes = named(Sign::Code);
        let codes = (!codes.is_empty()).then(|| {
            format!(
                "features that look like codes, by name or leading zeros: {}; the size of a code means nothing, so make columns or categories of what \
                 it stands for, or {}",
                listed(&codes),
                advice.ignore_features(&codes)
            )
        });
        let date = |format: DateFormat| {
            let names = named(Sign::Date(format));
            let days = format.days(names.first()?);
            Some(format!(
                "features that look like dates ({}): {}; give the days since a fixed date, such as {days}, or {}",
                format.name(),
                listed(&names),
                advice.ignore_features(&names)
            ))
        };
        let warnings = [
            // Vectors have the values that their source makes; these do no harm.
            leave_out(
                "all rows cannot rank",
                if advice.vector.is_some() { Vec::new() } else { named(Sign::Constant) },
                "leave them out",
            ),
            leave_out(
                "every query cannot rank its documents",
                if advice.vector.is_some() { Vec::new() } else { in_queries },
                "leave them out, or make them query features of an algorithm such as q_svm",
            ),
            running,
            codes,
            date(DateFormat::Calendar),
            date(DateFormat::DayFirst),
            date(DateFormat::Seconds),
            date(DateFormat::Milliseconds),
        ];
        warnings.into_iter().flatten().chain(self.others.clone()).collect()
    }
}

/// A warning if the largest standard deviation of a feature is far above the smallest. Constant features do not count.
fn spread_warning(data: &Dataset, control: &Control) -> Result<Option<String>> {
    let deviation = |column: usize| {
        control.check()?;
        let rows = || (0..data.n_docs()).map(|row| data.features.at(row, column));
        let mean = rows().sum::<f64>() / data.n_docs() as f64;
        checkpoint();
        let variance = rows().map(|x| (x - mean) * (x - mean)).sum::<f64>() / data.n_docs() as f64;
        Ok((variance.sqrt(), column))
    };
    let numbers = data.categories.numbers(data.names.len());
    let mut deviations: Vec<(f64, usize)> = parallel::try_map(numbers, deviation)?;
    deviations.retain(|(deviation, _)| *deviation > 0.0);
    let by_size = |a: &&(f64, usize), b: &&(f64, usize)| a.0.total_cmp(&b.0);
    let range = (deviations.iter().min_by(by_size), deviations.iter().max_by(by_size));
    let (Some((low, narrow)), Some((high, wide))) = range else {
        return Ok(None);
    };
    Ok((high / low > LARGEST_SPREAD_RATIO).then(|| {
        format!(
            "without scaling, features with a large standard deviation dominate: it is {} for \"{}\", but {} for \"{}\"; \
             set \"scale\": \"quantile\"",
            significant(*high),
            data.names[*wide],
            significant(*low),
            data.names[*narrow]
        )
    }))
}

/// Quoted names; only the first if there are many.
fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().take(NAMED).map(|name| format!("\"{name}\"")).collect();
    let rest = names.len() - quoted.len();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    quoted.join(", ") + &more
}

/// One feature of all documents.
struct Column<'a> {
    data: &'a Dataset,
    index: usize,
    /// Documents in the order of their rows.
    by_row: &'a [usize],
    /// Whether its texts have zeros before their digits.
    is_padded: bool,
}

impl Column<'_> {
    fn sign(&self) -> Option<Sign> {
        if self.by_row.len() < 2 {
            return None;
        }
        // Rows in the order of their dates have increasing numbers too, so dates are checked first.
        let signs = [
            Sign::Constant,
            Sign::ConstantInQueries,
            Sign::Date(DateFormat::Calendar),
            Sign::Date(DateFormat::DayFirst),
            Sign::Date(DateFormat::Seconds),
            Sign::Date(DateFormat::Milliseconds),
            Sign::RunningNumber,
            Sign::Code,
        ];
        signs.into_iter().find(|sign| {
            checkpoint();
            match sign {
                Sign::Constant => self.is_constant(0..self.by_row.len()),
                Sign::ConstantInQueries => self.is_constant_in_queries(),
                Sign::Date(DateFormat::Calendar) => self.all(is_calendar_date),
                Sign::Date(DateFormat::DayFirst) => self.all(is_day_first),
                Sign::Date(DateFormat::Seconds) => self.all(is_unix_time),
                Sign::Date(DateFormat::Milliseconds) => {
                    self.all(|x| is_whole(x) && is_unix_time((x / 1000.0).floor()))
                }
                Sign::Code => {
                    self.is_padded
                        || is_code(&self.data.names[self.index])
                            && self.all(|x| is_whole(x) && x >= SMALLEST_CODE)
                }
                Sign::RunningNumber => self.is_running_number(),
            }
        })
    }

    fn value(&self, document: usize) -> f64 {
        self.data.features.at(document, self.index)
    }

    fn is_constant(&self, documents: std::ops::Range<usize>) -> bool {
        let first = self.value(documents.start);
        documents.into_iter().all(|document| (self.value(document) - first).abs() <= 0.0)
    }

    /// Queries with a single document do not count; without others nothing is known.
    fn is_constant_in_queries(&self) -> bool {
        let mut compared = (0..self.data.n_queries()).map(|query| self.data.rows(query));
        let any = compared.clone().any(|rows| rows.len() > 1);
        any && compared.all(|rows| rows.is_empty() || self.is_constant(rows))
    }

    fn all(&self, holds: impl Fn(f64) -> bool) -> bool {
        self.by_row.iter().all(|document| holds(self.value(*document)))
    }

    /// In a single query such a feature may be the position in a list.
    fn is_running_number(&self) -> bool {
        if self.by_row.len() < FEWEST_ROWS || self.data.n_queries() < 2 || !self.all(is_whole) {
            return false;
        }
        let increases = |pair: &[usize]| self.value(pair[0]) < self.value(pair[1]);
        self.by_row.windows(2).all(increases) || self.are_numbers_of_rows()
    }

    /// Whether each number occurs once, among at most [`NUMBERS_PER_ROW`] unless the name says so.
    fn are_numbers_of_rows(&self) -> bool {
        let rows = self.by_row.len();
        let values = || (0..rows).map(|document| self.value(document));
        let (low, high) =
            (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        let per_row = if rows < FEWEST_ROWS_WITH_GAPS { 1.0 } else { NUMBERS_PER_ROW };
        // Ids are large numbers with about the same number of digits.
        let is_long = rows >= FEWEST_ROWS_WITH_GAPS && low >= SMALLEST_ID && high < 10.0 * low;
        let is_named = is_row_number(&self.data.names[self.index]);
        if high - low >= per_row * rows as f64 && !is_named && !is_long {
            return false;
        }
        checkpoint();
        if is_long && low >= SMALLEST_SHARED_ID {
            return (0..self.data.n_queries()).all(|query| self.differ(self.data.rows(query)));
        }
        self.differ(0..rows)
    }

    /// Whether documents have different values.
    fn differ(&self, documents: std::ops::Range<usize>) -> bool {
        let mut values: Vec<f64> = documents.map(|document| self.value(document)).collect();
        values.sort_unstable_by(f64::total_cmp);
        values.windows(2).all(|pair| pair[0] < pair[1])
    }
}

fn is_whole(x: f64) -> bool {
    x.fract().abs() <= 0.0
}

fn is_unix_time(seconds: f64) -> bool {
    is_whole(seconds) && UNIX_SECONDS.contains(&seconds)
}

/// Whether a number is YYYYMMDD of the years 1900 to 2100. Single precision rounds days to even numbers, up to 32.
fn is_calendar_date(x: f64) -> bool {
    let (year, month, day) = (x / 10_000.0, x / 100.0 % 100.0, x % 100.0);
    is_whole(x) && (1900.0..2101.0).contains(&year) && (1.0..13.0).contains(&month) && day <= 32.0
}

/// Whether a number is DDMMYYYY of the same years.
fn is_day_first(x: f64) -> bool {
    let (day, month, year) = ((x / 1e6).floor(), (x / 1e4).floor() % 100.0, x % 1e4);
    is_calendar_date(1e4 * year + 100.0 * month + day)
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::base::Origin;
    use crate::data::{Id, Matrix};

    /// Three queries of four documents, in the order of their rows.
    fn signs(columns: &[(&str, [f64; 12])]) -> Vec<(String, Sign)> {
        let data = Dataset {
            names: columns.iter().map(|(name, _)| (*name).to_owned()).collect(),
            features: Matrix::F64(Array2::from_shape_fn((12, columns.len()), |(row, column)| {
                columns[column].1[row]
            })),
            offsets: vec![0, 4, 8, 12],
            query_ids: (0..3).map(Id::Integer).collect(),
            doc_ids: (0..12).map(Id::Integer).collect(),
            relevance: vec![0.0; 12],
            weights: vec![1.0; 3],
            query_features: Array2::default((3, 0)),
            ..Dataset::default()
        };
        let rows: Vec<usize> = (0..12).collect();
        let read = ReadReport { rows, ..ReadReport::default() };
        FeatureChecks::of(&data, &read, false, &Control::default()).unwrap().signs
    }

    fn advice() -> ColumnAdvice<'static> {
        ColumnAdvice { origin: Origin::DataSet, doc: None, vector: None }
    }

    fn sign(values: [f64; 12]) -> Option<Sign> {
        signs(&[("x", values)]).first().map(|(_, sign)| *sign)
    }

    fn column(value: impl Fn(usize) -> f64) -> [f64; 12] {
        std::array::from_fn(value)
    }

    #[test]
    fn each_sign_is_found() {
        assert_eq!(sign([7.0; 12]), Some(Sign::Constant));
        assert_eq!(sign(column(|row| (row / 4) as f64)), Some(Sign::ConstantInQueries));
        assert_eq!(sign(column(|row| 1.0 + row as f64)), Some(Sign::RunningNumber));
        assert_eq!(sign(column(|row| (3 * row + row % 2) as f64)), Some(Sign::RunningNumber), "with gaps");
        assert_eq!(sign(column(|row| (5 * row % 12) as f64)), Some(Sign::RunningNumber), "in another order");
        for name in crate::data::ROW_NUMBERS.iter().copied().chain(["Unnamed: 0", " Index"]) {
            let gaps = column(|row| (7 * (row + 3) % 13 * 31) as f64);
            assert_eq!(signs(&[(name, gaps)]), [(name.to_owned(), Sign::RunningNumber)]);
        }
        // Codes of books, some of them in several queries.
        let books = |row: usize| 9.78e12 + (row % 5 * 7_919_777) as f64;
        let data = Dataset {
            names: vec!["isbn".to_owned()],
            features: Matrix::F64(Array2::from_shape_fn((60, 1), |(row, _)| books(row))),
            offsets: (0..=15).map(|query| 4 * query).collect(),
            query_ids: (0..15).map(Id::Integer).collect(),
            ..Dataset::default()
        };
        let by_row: Vec<usize> = (0..60).collect();
        assert_eq!(
            Column { data: &data, index: 0, by_row: &by_row, is_padded: false }.sign(),
            Some(Sign::RunningNumber)
        );
        let days = [20_240_131.0, 20_231_105.0, 19_991_231.0, 20_240_229.0];
        assert_eq!(sign(column(|row| days[row % 4])), Some(Sign::Date(DateFormat::Calendar)));
        assert_eq!(
            sign(column(|row| f64::from(days[row % 4] as f32))),
            Some(Sign::Date(DateFormat::Calendar)),
            "in single precision"
        );
        let days = [31_012_024.0, 5_112_023.0, 31_121_999.0, 1_022_024.0];
        assert_eq!(sign(column(|row| days[row % 4])), Some(Sign::Date(DateFormat::DayFirst)));
        let seconds = column(|row| 1.7e9 + (row * 86_400 % 500_000) as f64);
        assert_eq!(sign(seconds), Some(Sign::Date(DateFormat::Seconds)));
        assert_eq!(
            sign(column(|row| 1.7e9 + (row * 3600) as f64)),
            Some(Sign::Date(DateFormat::Seconds)),
            "in order"
        );
        assert_eq!(sign(seconds.map(|x| 1000.0 * x)), Some(Sign::Date(DateFormat::Milliseconds)));
    }

    #[test]
    fn ordinary_features_have_no_sign() {
        // Ranks and counts in each query, prices, years, fractions, a flag, large amounts.
        assert_eq!(sign(column(|row| 1.0 + (row % 4) as f64)), None);
        assert_eq!(sign(column(|row| (7 * row % 12 * 3) as f64)), None);
        assert_eq!(sign(column(|row| 1990.0 + (row * 5 % 31) as f64)), None);
        assert_eq!(sign(column(|row| row as f64 + 0.5)), None);
        assert_eq!(sign(column(|row| f64::from(row % 3 == 0))), None);
        assert_eq!(sign(column(|row| (row * 7_919_777 % 29_000_000) as f64)), None);
        assert_eq!(sign(column(|row| if row == 5 { 3e8 } else { 1.7e9 + (row % 5) as f64 })), None);
    }

    #[test]
    fn warnings_name_features_and_leave_out_query_features() {
        let constant_in_queries = column(|row| (row / 4) as f64);
        let columns = [("a", [0.0; 12]), ("b", [1.0; 12]), ("mood", constant_in_queries)];
        let checks = FeatureChecks { signs: signs(&columns), others: Vec::new() };
        let warnings = checks.warnings(true, &[], advice());
        assert_eq!(
            warnings[0],
            "features with one value in all rows cannot rank; leave them out: \"a\", \"b\""
        );
        assert!(warnings[1].ends_with("such as q_svm: \"mood\""), "{}", warnings[1]);
        assert_eq!(checks.warnings(true, &["mood".to_owned()], advice()).len(), 1);
        assert_eq!(checks.warnings(false, &[], advice()).len(), 1);
        let many: Vec<String> = (0..12).map(|number| number.to_string()).collect();
        let names: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(listed(&names).ends_with("\"9\" and 2 more"));
    }
}
