//! Values in a source's rows that did not occur in the model's training (rule 2.24).
//!
//! A model stores category values that have a feature or a mean, and all values of text query features. So a category
//! value without either is new, or was rare in training. The fraction of such rows in training is the expected rate. NULL
//! counts as a value: trees accept it even in a feature that always had a number in training.

use super::categories::Category;
use super::category_rows::CategoryRows;

/// Below this probability, the number of rows is not due to chance.
const RARELY: f64 = 0.01;

/// How many rows of a column have values unknown to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct UnknownValues {
    /// The column.
    pub name: String,
    /// The counted unit: "rows" or "queries".
    pub counted: &'static str,
    /// Their number.
    pub total: usize,
    /// How many have an unknown value.
    pub unknown: usize,
    /// The fraction in training whose values were too rare to be stored.
    pub usual: f64,
    /// One of the values, for messages.
    pub example: String,
}

impl UnknownValues {
    /// The unknown values of a category. `training`: means of its features in training; NULL is known if a training row
    /// had it. They are all
    /// 0 in models from other libraries, which may omit values on which no tree splits.
    pub fn of_category(category: &Category, rows: &CategoryRows, total: usize, training: &[f64]) -> Self {
        let other = category.values.len();
        let is_measured = training.iter().any(|mean| *mean > 0.0);
        let (usual, has_null) =
            if is_measured { (training[other], training[other + 1] > 0.0) } else { (0.5, true) };
        Self {
            name: category.name.clone(),
            counted: "rows",
            total,
            unknown: rows.unknown + if has_null { 0 } else { rows.null },
            usual,
            example: rows.example.as_ref().map_or_else(|| "NULL".to_owned(), |value| format!("'{value}'")),
        }
    }

    /// Missing values of a numeric feature, in `missing` of `total` rows, if training had none.
    pub fn of_number(name: &str, missing: usize, total: usize) -> Self {
        let (name, example) = (name.to_owned(), "NULL".to_owned());
        Self { name, counted: "rows", total, unknown: missing, usual: 0.0, example }
    }

    /// Adds the unknown values of more rows.
    pub fn add(&mut self, other: Self) {
        if self.unknown == 0 {
            self.example = other.example;
        }
        self.total += other.total;
        self.unknown += other.unknown;
    }

    /// The fraction of rows with an unknown value.
    pub fn share(&self) -> f64 {
        self.unknown as f64 / self.total.max(1) as f64
    }

    /// A warning if at least a quarter of the rows have an unknown value, and not by chance.
    pub fn warning(&self) -> Option<String> {
        let Self { name, counted, total, unknown, usual, example } = self;
        if *unknown == 0 || 4 * unknown < *total || self.chance() > RARELY {
            return None;
        }
        let rate =
            if *usual > 0.0 { "that are new or were rare in training" } else { "that training did not have" };
        let check = if example == "NULL" {
            "find out why they are NULL"
        } else {
            "check their spelling, case and type (the number 7 is not the text '007')"
        };
        Some(format!(
            "the column \"{name}\": {unknown} of {total} {counted} have values {rate}, such as {example}; train again with {counted} \
             that have these values, or {check}"
        ))
    }

    /// Upper bound (Chernoff) on the probability of so many rows at the training rate; exact if all are unknown.
    fn chance(&self) -> f64 {
        let (share, usual) = (self.share(), self.usual);
        if share <= usual {
            return 1.0;
        }
        let term = |a: f64, b: f64| if a > 0.0 { a * libm::log(a / b) } else { 0.0 };
        libm::exp(-(self.total as f64) * (term(share, usual) + term(1.0 - share, 1.0 - usual)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warns(unknown: usize, total: usize, usual: f64) -> bool {
        let example = "'x'".to_owned();
        let name = "brand".to_owned();
        UnknownValues { name, counted: "rows", total, unknown, usual, example }.warning().is_some()
    }

    #[test]
    fn null_is_known_if_the_training_had_it_or_is_not_known() {
        let category = Category::of_values("brand".to_owned(), vec!["acme".to_owned()]).unwrap();
        let mut rows = CategoryRows::default();
        [None, Some("new"), Some("other")].into_iter().for_each(|value| rows.add(value));
        // Means of `acme`, other values and NULL in the training; models of other libraries have none.
        for (training, unknown, usual) in
            [([1.0, 0.0, 0.0], 3, 0.0), ([0.5, 0.2, 0.3], 2, 0.2), ([0.0; 3], 2, 0.5)]
        {
            let found = UnknownValues::of_category(&category, &rows, 3, &training);
            assert_eq!((found.unknown, found.usual, found.example.as_str()), (unknown, usual, "'new'"));
        }
    }

    #[test]
    fn a_quarter_of_the_rows_warns_if_it_is_not_usual() {
        for (unknown, total, usual, expected) in [
            (0, 0, 0.0, false),
            (0, 10, 0.0, false),
            (1, 10, 0.0, false),
            (2, 10, 0.0, false),
            (3, 10, 0.0, true),
            (1, 1, 0.0, true),
            (1, 1, 0.05, false),
            (2, 2, 0.05, true),
            (6, 10, 0.5, false),
            (60, 100, 0.3, true),
            (1000, 1000, 1.0, false),
            (10, 10, 0.1, true),
        ] {
            assert_eq!(warns(unknown, total, usual), expected, "{unknown} of {total}, usual {usual}");
        }
    }
}
