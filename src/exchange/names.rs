//! The features of a model: the names in a text, and a limit on their number.

use std::collections::HashMap;

use crate::base::{Control, Error, Reservation, Result};
use crate::trees::general::Feature;

/// Largest number of features per model.
const MOST_FEATURES: usize = 100_000;

/// Bytes for a feature while text is read: the name, here and in a table of names.
const FEATURE_BYTES: u64 = 300;

/// Advice for a text that takes too much memory.
pub const SMALLER: &str = "import a smaller model";

/// Feature names in a text, numbered by first appearance.
#[derive(Default)]
pub(super) struct Names {
    pub(super) numbers: HashMap<String, usize>,
    pub(super) features: Vec<Feature>,
    /// Counts them.
    memory: Reservation,
}

impl Names {
    pub(super) fn new(control: &Control) -> Self {
        Self { memory: control.memory().nothing(), ..Self::default() }
    }

    /// The number of a name.
    pub(super) fn number(&mut self, name: &str) -> Result<usize> {
        if let Some(number) = self.numbers.get(name) {
            return Ok(*number);
        }
        let number = self.features.len();
        check_width(number + 1, &mut self.memory)?;
        self.features.push(Feature::number(name));
        self.numbers.insert(name.to_owned(), number);
        Ok(number)
    }
}

/// Checks the number of features, and counts their memory.
pub(super) fn check_width(width: usize, memory: &mut Reservation) -> Result<usize> {
    if width > MOST_FEATURES {
        return Err(Error::Unsupported(format!("a model of {width} features; at most {MOST_FEATURES}")));
    }
    memory.resize(FEATURE_BYTES * width as u64, format_args!("{width} features"), SMALLER)?;
    Ok(width)
}
