use std::fmt;

use super::numbers::{NUMBER, is_scaled, shape};

/// Why texts are not read although they are probably quantities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// Most texts have a form, others do not.
    Others,
    /// A mark may separate thousands or decimals.
    ThousandsOrDecimals,
    /// Day, month and two-digit year may be in several orders.
    OrderOfDate,
    /// Dates without a year, or with a number that may be a day or a year.
    NoYear,
    /// Two numbers with a colon: a time, a duration or a score.
    TimeOrScore,
    /// Times with and without seconds, or durations with and without hours.
    PartsOfTime,
    /// A year and a month, or two years.
    MonthOrSeason,
    /// A letter that may or may not be a unit of time.
    Letter,
    /// Suffixes that scale: K, M, MB.
    Magnitude,
    /// Several currencies.
    Currencies,
    /// Several units, or numbers with and without one.
    Units,
    /// The same words around each number.
    Words,
    /// Numbers that begin with 0.
    LeadingZeros,
    /// Numbers with equally many digits and no decimals.
    Code,
    /// Marks that separate neither thousands nor decimals: versions, addresses, lists.
    Marks,
    /// Numbers in parentheses.
    Parentheses,
    /// Several numbers in each text.
    Several,
}

impl Unread {
    /// The reason if other rows have plain numbers: then a word that may scale is not the same in all rows. `example`: one of
    /// the texts.
    #[must_use]
    pub fn among_numbers(self, example: &str) -> Self {
        let mut found = String::new();
        let around = shape(example, &mut found).and_then(|_| found.split_once(NUMBER));
        let scales = around.is_some_and(|(before, after)| is_scaled(before, after));
        if self == Self::Words && scales { Self::Magnitude } else { self }
    }
}

impl fmt::Display for Unread {
    /// The reason, as the end of a sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Others => "other texts have a different form",
            Self::ThousandsOrDecimals => "it is unclear whether a mark separates thousands or decimals",
            Self::OrderOfDate => "the order of day, month and year is unclear",
            Self::NoYear => "the dates have no year, or one that may be a day",
            Self::TimeOrScore => "the texts may be times, durations or scores",
            Self::PartsOfTime => "it is unclear whether hours or seconds are omitted",
            Self::MonthOrSeason => "the texts may be months or pairs of years",
            Self::Letter => "the letter after the numbers may or may not be a unit of time",
            Self::Magnitude => "suffixes such as K, M or MB scale the numbers",
            Self::Currencies => "the amounts are in several currencies, or write one in several ways",
            Self::Units => "the numbers have different units",
            Self::Words => "the numbers have words or a unit around them",
            Self::LeadingZeros => "numbers with leading zeros are usually codes",
            Self::Code => "whole numbers with equally many digits are usually codes",
            Self::Marks => "the marks in the numbers separate neither thousands nor decimals",
            Self::Parentheses => "numbers in parentheses may be negative or counts",
            Self::Several => "each text has several numbers",
        })
    }
}
