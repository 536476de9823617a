//! SQL for table columns: values as read by `ltr_rank`, and which values it refuses (rules 2.20, 3.1 to 3.4).

use std::fmt::{self, Display, Formatter};

use crate::data::{Category, CategoryFeature, CategoryValue, Missing};
use crate::model::Model;

/// Query column for models trained without SQL.
const QUERY_COLUMN: &str = "query_id";

/// The columns of a model.
pub(super) struct Columns<'a> {
    pub(super) features: Vec<Feature<'a>>,
    /// Replacement for missing features.
    pub(super) missing: Missing,
    /// The window with the rows of the same query.
    pub(super) window: String,
    /// A name that is not a prefix of any column name.
    pub(super) pieces: String,
    /// The column of a vector and the number of its features.
    vector: Option<(&'a str, usize)>,
    categories: Vec<&'a Category>,
}

/// A feature as a number; NULL if missing and not replaced.
#[derive(Clone)]
pub(super) enum Feature<'a> {
    Number {
        cell: Cell<'a>,
        /// Replacement for NULL.
        filled: Option<f64>,
    },
    /// A feature of a category: 1 or 0, or a mean (rules 2.20, 2.23).
    Category(&'a Category, CategoryFeature<'a>),
    /// A column of a subquery.
    Named(String),
}

/// A value in a row.
#[derive(Clone, Copy)]
pub(super) enum Cell<'a> {
    Column(&'a str),
    /// The vector element with this index.
    Element(&'a str, usize),
}

impl<'a> Columns<'a> {
    pub(super) fn new(model: &'a Model) -> Self {
        let card = &model.card;
        let number = |(index, name): (usize, &'a String)| Feature::Number {
            cell: match &card.columns.features {
                Some(vector) => Cell::Element(vector, index),
                None => Cell::Column(name),
            },
            filled: match card.missing {
                Missing::Error | Missing::Branch => None,
                Missing::Zero => Some(0.0),
                Missing::Mean => Some(card.means[index]),
            },
        };
        let mut features: Vec<Feature<'_>> =
            card.features[..card.numbers()].iter().enumerate().map(number).collect();
        for category in card.categories.iter() {
            let feature = |number| Feature::Category(category, category.feature(number));
            features.extend((0..category.width()).map(feature));
        }
        let query = card.columns.query.as_deref().unwrap_or(QUERY_COLUMN);
        let inputs = card.input_names();
        let mut pieces = "pieces".to_owned();
        let names = inputs.iter().chain(&card.columns.features).map(String::as_str).chain([query]);
        let begins = |name: &str, pieces: &str| {
            name.get(..pieces.len()).is_some_and(|start| start.eq_ignore_ascii_case(pieces))
        };
        while names.clone().any(|name| begins(name, &pieces)) {
            pieces.push('_');
        }
        Self {
            features,
            missing: card.missing,
            window: format!("OVER (PARTITION BY {})", name(query)),
            pieces,
            vector: card.columns.features.as_deref().map(|vector| (vector, card.numbers())),
            categories: card.categories.iter().collect(),
        }
    }

    /// Moves category means into columns of a subquery, and returns them with their names, because splits of trees repeat
    /// means often.
    pub(super) fn name_means(&mut self) -> Vec<(Feature<'a>, String)> {
        let is_mean =
            |feature: &&mut Feature<'_>| matches!(feature, Feature::Category(_, CategoryFeature::Mean));
        let named = |(number, feature): (usize, &mut Feature<'a>)| {
            let name = format!("`{}{number}`", self.pieces);
            (std::mem::replace(feature, Feature::Named(name.clone())), name)
        };
        self.features.iter_mut().filter(is_mean).enumerate().map(named).collect()
    }

    /// Conditions that are true (not NULL) if `ltr_rank` accepts the row's values.
    pub(super) fn checks(&self) -> impl Iterator<Item = Check<'_>> {
        let numbers = self.features.iter().filter_map(|feature| match feature {
            Feature::Number { cell, .. } => Some(Check::Number(*cell, self.missing != Missing::Error)),
            _ => None,
        });
        let vector = self.vector.map(|(name, length)| Check::Vector(name, length));
        let categories = self.categories.iter().map(|category| Check::Category(&category.name));
        vector.into_iter().chain(numbers).chain(categories)
    }
}

/// The condition on a value.
pub(super) enum Check<'a> {
    /// A finite number, text of a finite number, or NULL if allowed.
    Number(Cell<'a>, bool),
    /// A JSON array with this many elements, without truth values.
    Vector(&'a str, usize),
    /// No BLOB.
    Category(&'a str),
}

impl Display for Check<'_> {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(x, may_be_missing) => {
                // Comparison with a number converts text only if all of it is a number, up to a zero byte. A cast also
                // converts just the start of a text. Infinity minus infinity is NULL.
                let null = if *may_be_missing { format!("{x} IS NULL OR ") } else { String::new() };
                write!(
                    to,
                    "({null}{x} IS CAST({x} AS NUMERIC) AND {x} - {x} IS 0 AND NOT instr({x}, char(0)))"
                )
            }
            Self::Vector(column, length) => {
                let x = name(column);
                write!(
                    to,
                    "typeof({x}) IS 'text' AND json_valid({x}) AND json_array_length({x}) IS {length} \
                     AND instr({x}, 'true') + instr({x}, 'false') IS 0"
                )
            }
            Self::Category(column) => write!(to, "typeof({}) IS NOT 'blob'", name(column)),
        }
    }
}

impl Display for Cell<'_> {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(column) => name(column).fmt(to),
            Self::Element(column, index) => write!(to, "json_extract({}, '$[{index}]')", name(column)),
        }
    }
}

impl Display for Feature<'_> {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        match self {
            // Text of a number counts as a number in arithmetic, but not in comparisons.
            Self::Number { cell, filled: None } => write!(to, "{cell} + 0.0"),
            Self::Number { cell, filled: Some(number) } => write!(to, "coalesce({cell} + 0.0, {number:?})"),
            Self::Named(name) => to.write_str(name),
            Self::Category(category, feature) => of_category(category, *feature, to),
        }
    }
}

/// A feature of a category. Comparisons are 1 or 0.
fn of_category(category: &Category, feature: CategoryFeature<'_>, to: &mut Formatter<'_>) -> fmt::Result {
    let column = name(&category.name);
    match feature {
        CategoryFeature::Value(value) => Is(category, value).fmt(to),
        CategoryFeature::Null => write!(to, "({column} IS NULL)"),
        CategoryFeature::Other => {
            let is_text = |value: &&String| value.parse::<f64>().is_err();
            write!(to, "({column} IS NOT NULL AND CAST({column} AS TEXT) COLLATE BINARY NOT IN (")?;
            for (at, value) in category.values.iter().filter(is_text).enumerate() {
                write!(to, "{}{}", if at == 0 { "" } else { ", " }, Quoted(value, "'"))?;
            }
            to.write_str(")")?;
            for value in category.values.iter().filter(|value| !is_text(value)) {
                write!(to, " AND NOT {}", Is(category, value))?;
            }
            to.write_str(")")
        }
        CategoryFeature::Mean => {
            let Some(means) = category.means() else { return to.write_str("0.0") };
            write!(to, "CASE WHEN {column} IS NULL THEN {:?}", means.of(None))?;
            for (value, number) in means.entries() {
                write!(to, " WHEN {} THEN {number:?}", Is(category, value))?;
            }
            to.write_str(" ELSE 0.0 END")
        }
    }
}

/// Whether a category has a value.
struct Is<'a>(&'a Category, &'a str);

impl Display for Is<'_> {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let (column, value) = (name(&self.0.name), Quoted(self.1, "'"));
        let text = format!("CAST({column} AS TEXT) COLLATE BINARY IS {value}");
        let Ok(number) = self.1.parse::<f64>() else { return write!(to, "({text})") };
        // A number stored as REAL has a different text: 5.0 for the value 5.
        write!(to, "(typeof({column}) IS NOT 'real' AND {text}")?;
        if CategoryValue::Real(number).text().as_deref() == Some(self.1) {
            let number = format!("{number:?}").replace("inf", "9e999");
            write!(to, " OR typeof({column}) IS 'real' AND {column} = {number}")?;
        }
        to.write_str(")")
    }
}

/// A text between quotes.
struct Quoted<'a>(&'a str, &'static str);

/// A name quoted for SQL.
fn name(name: &str) -> Quoted<'_> {
    Quoted(name, "`")
}

impl Display for Quoted<'_> {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let Self(text, quote) = self;
        to.write_str(quote)?;
        for (at, part) in text.split(quote).enumerate() {
            // Quotes within the text are doubled.
            write!(to, "{}{part}", if at == 0 { String::new() } else { quote.repeat(2) })?;
        }
        to.write_str(quote)
    }
}

/// `- number` or `+ number`. Two signs in a row would start a comment.
pub(super) fn minus(number: f64) -> String {
    let sign = if number < 0.0 { '+' } else { '-' };
    format!("{sign} {:?}", number.abs())
}
