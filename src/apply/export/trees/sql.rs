//! Trees of any shape as an expression of SQL: a `CASE` with a `CASE` in each branch.

use super::super::sql::{Columns, LONGEST_SUM, Sql};
use crate::base::{Error, Result};
use crate::model::{GeneralTrees, Model, TreeInput};
use crate::trees::general::{LIGHTGBM_ZERO, Node, Split};

/// Most levels of a tree: the parser of older SQLite has a stack of 100, of which each level takes 5.
const MOST_LEVELS: usize = 16;

/// The score as an expression of the columns of a table.
///
/// # Errors
/// Trees that are too deep or too many; an expression that is too long.
pub(in super::super) fn expression(model: &Model, trees: &GeneralTrees) -> Result<String> {
    let forest = &trees.forest;
    let writer = Writer { columns: Columns::new(model), trees };
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
    // Sums of sums, so that the expression is not too deep.
    let mut sql = Sql::default();
    sql.push(format_args!("{:?}", forest.start()))?;
    for tree in 0..forest.trees() {
        let (opens, closes) = (tree.is_multiple_of(LONGEST_SUM), (tree + 1).is_multiple_of(LONGEST_SUM));
        sql.push(format_args!(" + {}", if opens { "(" } else { "" }))?;
        writer.node(forest.nodes_of(tree).start, &mut sql)?;
        sql.push(format_args!("{}", if closes || tree + 1 == forest.trees() { ")" } else { "" }))?;
    }
    Ok(sql.text)
}

struct Writer<'a> {
    columns: Columns,
    trees: &'a GeneralTrees,
}

impl Writer<'_> {
    /// A node and what is below it. The depth is bounded by that of the trees.
    fn node(&self, node: usize, sql: &mut Sql) -> Result<()> {
        let split = match self.trees.forest.node(node) {
            Node::Leaf(leaf) => return sql.push(format_args!("{:?}", leaf.value)),
            Node::Split(split) => split,
        };
        sql.push(format_args!("CASE WHEN {} THEN ", self.question(&split)))?;
        self.node(split.left, sql)?;
        sql.push(format_args!(" ELSE "))?;
        self.node(split.left + 1, sql)?;
        sql.push(format_args!(" END"))
    }

    /// The condition to go left. NULL is none.
    fn question(&self, split: &Split<'_>) -> String {
        let features = &self.columns.features;
        match (&self.trees.inputs[split.feature], split.set) {
            (TreeInput::Category { first, codes }, set) => {
                let set = set.unwrap_or_default();
                let known = codes.iter().enumerate().filter(|(_, code)| set.binary_search(code).is_ok());
                let mut parts: Vec<&str> = known.map(|(value, _)| &features[first + value][..]).collect();
                if split.missing_left {
                    let rest = first + codes.len();
                    parts.extend([&features[rest][..], &features[rest + 1]]);
                }
                let groups: Vec<String> =
                    parts.chunks(LONGEST_SUM).map(|group| format!("({})", group.join(" OR "))).collect();
                if groups.is_empty() { "0".to_owned() } else { groups.join(" OR ") }
            }
            (TreeInput::Number(feature), Some(set)) => {
                let x = &features[*feature];
                let codes: Vec<String> = set.iter().map(ToString::to_string).collect();
                let known = format!(
                    "{x} > -1 AND {x} < 4294967295 AND CAST({x} AS INTEGER) IN ({})",
                    codes.join(", ")
                );
                if split.missing_left { format!("({known}) OR {x} IS NULL") } else { known }
            }
            (TreeInput::Number(feature), None) => {
                let (x, threshold) = (&features[*feature], split.threshold);
                match (split.zero_is_missing, split.missing_left) {
                    (false, false) => format!("{x} <= {threshold:?}"),
                    (false, true) => format!("coalesce({x} <= {threshold:?}, 1)"),
                    (true, false) => format!("{x} <= {threshold:?} AND abs({x}) > {LIGHTGBM_ZERO:?}"),
                    (true, true) => {
                        format!("{x} <= {threshold:?} OR abs({x}) <= {LIGHTGBM_ZERO:?} OR {x} IS NULL")
                    }
                }
            }
        }
    }
}
