//! The text of trees in a format.

use super::super::Format;
use super::super::text::Text;
use super::checked_trees::{FEWER_TREES, Trees};
use crate::base::{Memory, Result};

/// The text of trees in a format.
///
/// # Errors
/// [`Error::Unsupported`](crate::base::Error::Unsupported) with the place of what the format cannot express; a text that is too long; too much memory.
pub fn text(trees: &Trees<'_>, name: &str, format: Format, memory: &Memory) -> Result<String> {
    let mut text = Text::new(memory, trees.longest(), FEWER_TREES);
    match format {
        Format::XgBoost => super::xgboost::write(trees, memory, &mut text)?,
        Format::Solr => super::engines::write_solr(trees, name, &mut text)?,
        // Elasticsearch and OpenSearch.
        _ => {
            let mut definition = Text::new(memory, trees.longest(), FEWER_TREES);
            super::engines::write_definition(trees, &mut definition)?;
            super::engines::write_plugin(name, &definition.finish()?, &mut text)?;
        }
    }
    text.finish()
}
