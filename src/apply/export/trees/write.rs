//! The text of trees in a format.

use super::super::Format;
use super::super::text::Text;
use super::checked_trees::{Children, FEWER_TREES, Trees};
use crate::base::{Error, Memory, Result};

/// Most bytes of a text for each byte of its model.
pub(super) const LONGEST_OF_BYTE: usize = 100;

/// The text of trees in a format.
///
/// # Errors
/// [`Error::Unsupported`] with the place of what the format cannot express; a text that is too long; too much memory.
pub fn text(trees: &Trees<'_>, name: &str, format: Format, memory: &Memory) -> Result<String> {
    let mut text = Text::new(memory, trees.longest(), FEWER_TREES);
    match format {
        Format::LightGbm => super::lightgbm::write(trees, memory, &mut text)?,
        Format::XgBoost => super::xgboost::write(trees, memory, &mut text)?,
        Format::Elasticsearch | Format::OpenSearch => {
            let mut definition = Text::new(memory, trees.longest(), FEWER_TREES);
            super::engines::write_definition(trees, &mut definition)?;
            super::engines::write_plugin(name, &definition.finish()?, &mut text)?;
        }
        Format::Solr => super::engines::write_solr(trees, name, &mut text)?,
        Format::Json | Format::Sql => return Err(Error::Internal("trees in another format".to_owned())),
    }
    text.finish()
}

/// Writes a node and what is below it. `write` writes the beginning of a node of this depth. Trees of any depth need no stack.
pub(super) fn write_nested(
    root: usize,
    text: &mut Text,
    mut write: impl FnMut(usize, usize, &mut Text) -> Result<Option<Children>>,
) -> Result<()> {
    enum Part {
        Node(usize, usize),
        Between(&'static str),
    }
    let mut waiting = vec![Part::Node(root, 0)];
    while let Some(part) = waiting.pop() {
        match part {
            Part::Between(part) => text.push(format_args!("{part}"))?,
            Part::Node(node, depth) => {
                let Some((first, between, second, end)) = write(node, depth, text)? else { continue };
                let [first, second] = [first, second].map(|node| Part::Node(node, depth + 1));
                waiting.extend([Part::Between(end), second, Part::Between(between), first]);
            }
        }
    }
    Ok(())
}
