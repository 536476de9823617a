//! Trees of any shape as an SQL expression: a `CASE` with a `CASE` in each branch.

use super::super::nested::write_nested;
use super::super::text::Text;
use super::columns::{Columns, Feature};
use super::expression::{LONGEST_SUM, Sql};
use crate::base::{Error, Memory, Result, shorten};
use crate::model::{GeneralTrees, Model, TreeInput};
use crate::trees::general::{LIGHTGBM_ZERO, Node, Split};

/// Largest tree depth: the parser of older SQLite versions has a stack of 100 entries, and each level takes 5.
const MOST_LEVELS: usize = 16;

/// The score as an expression of a table's columns.
///
/// # Errors
/// Trees that are too deep; too many trees; an expression that is too long; a split of a category by a number.
pub(in super::super) fn expression(model: &Model, trees: &GeneralTrees, memory: &Memory) -> Result<String> {
    let forest = &trees.forest;
    let columns = Columns::new(model);
    if let Some(tree) = (0..forest.trees()).find(|tree| forest.depth(*tree) > MOST_LEVELS) {
        let levels = forest.depth(tree);
        return Err(Error::Unsupported(format!(
            "tree {tree} has {levels} levels, but SQLite reads expressions of at most {MOST_LEVELS}"
        )));
    }
    if forest.trees() > LONGEST_SUM * LONGEST_SUM {
        return Err(Error::Unsupported(format!(
            "{} trees, at most {}",
            forest.trees(),
            LONGEST_SUM * LONGEST_SUM
        )));
    }
    let mut sql = Sql::new(memory);
    sql.checked(&columns, false, |sql| {
        // Nest sums, so that the expression is not too deep.
        sql.push(format_args!("{:?}", forest.start()))?;
        for tree in 0..forest.trees() {
            let (opens, closes) = (tree.is_multiple_of(LONGEST_SUM), (tree + 1).is_multiple_of(LONGEST_SUM));
            sql.push(format_args!(" + {}", if opens { "(" } else { "" }))?;
            write_nested(forest.nodes_of(tree).start, &mut sql.text, |node, _, text| {
                let split = match forest.node(node) {
                    Node::Leaf(leaf) => {
                        text.push(format_args!("{:?}", leaf.value))?;
                        return Ok(None);
                    }
                    Node::Split(split) => split,
                };
                text.push(format_args!("CASE WHEN "))?;
                let input = &trees.inputs[split.feature];
                match (input, split.set) {
                    (TreeInput::Category { first, .. }, None) => {
                        let name = shorten(&model.card.features[*first]);
                        return Err(Error::Unsupported(format!(
                            "tree {tree} compares the category '{name}' with a number"
                        )));
                    }
                    (TreeInput::Category { first, codes }, Some(set)) => {
                        let features = &columns.features[*first..];
                        category(features, codes, set, split.missing_left, text)?;
                    }
                    (TreeInput::Number(feature), _) => number(&columns.features[*feature], &split, text)?,
                }
                text.push(format_args!(" THEN "))?;
                Ok(Some((split.left, " ELSE ", split.left + 1, " END")))
            })?;
            sql.push(format_args!("{}", if closes || tree + 1 == forest.trees() { ")" } else { "" }))?;
        }
        Ok(())
    })?;
    sql.text.finish()
}

/// Whether a category's value is in a set, or is unknown to the library and `missing_left`.
fn category(
    features: &[Feature<'_>],
    codes: &[u32],
    set: &[u32],
    missing_left: bool,
    text: &mut Text,
) -> Result<()> {
    let listed = codes.iter().zip(features).filter(|(code, _)| set.binary_search(code).is_ok());
    let unknown = &features[codes.len()..codes.len() + 2 * usize::from(missing_left)];
    let mut count = 0;
    for feature in listed.map(|(_, feature)| feature).chain(unknown) {
        let between = match count {
            0 => "(",
            at if at % LONGEST_SUM == 0 => ") OR (",
            _ => " OR ",
        };
        text.push(format_args!("{between}{feature}"))?;
        count += 1;
    }
    text.push(format_args!("{}", if count == 0 { "0" } else { ")" }))
}

/// Whether a number goes left; false for NULL.
fn number(x: &Feature<'_>, split: &Split<'_>, text: &mut Text) -> Result<()> {
    let Split { threshold, missing_left, .. } = *split;
    if let Some(set) = split.set {
        text.push(format_args!("({x} > -1 AND {x} < 4294967295 AND CAST({x} AS INTEGER) IN ("))?;
        for (at, code) in set.iter().enumerate() {
            text.push(format_args!("{}{code}", if at == 0 { "" } else { ", " }))?;
        }
        return if missing_left {
            text.push(format_args!(")) OR {x} IS NULL"))
        } else {
            text.push(format_args!("))"))
        };
    }
    match (split.zero_is_missing, missing_left) {
        (false, false) => text.push(format_args!("{x} <= {threshold:?}")),
        (false, true) => text.push(format_args!("coalesce({x} <= {threshold:?}, 1)")),
        (true, false) => text.push(format_args!("{x} <= {threshold:?} AND abs({x}) > {LIGHTGBM_ZERO:?}")),
        (true, true) => {
            text.push(format_args!("{x} <= {threshold:?} OR abs({x}) <= {LIGHTGBM_ZERO:?} OR {x} IS NULL"))
        }
    }
}
