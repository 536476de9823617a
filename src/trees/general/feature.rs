//! The features of trees of another library.

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Feature {
    /// The name in the text, or the one that its library gives to features without names.
    pub name: String,
    /// Whether splits compare it with sets of categories.
    pub is_category: bool,
    /// The texts of the categories, by code. Empty: the values are the codes.
    pub categories: Vec<String>,
}

impl Feature {
    /// A feature of numbers.
    pub(crate) fn number(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}
