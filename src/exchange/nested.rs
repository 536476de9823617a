//! Trees as nested text.

use super::checked_trees::Children;
use super::text::Text;
use crate::base::Result;

/// Writes a node and its subtree. `write` writes the start of a node at this depth. Works without recursion, so for
/// trees of any depth.
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
