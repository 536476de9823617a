//! Suspicious values of roles: ids in two spellings, and relevance where 1 is best.
//!
//! Rules (docs/reference/rules.md, 2):
//! * 2.26: Ids of one query, user or document that differ in how they are written are a warning.
//! * 2.27: Relevance that looks like a rank is a warning.

use crate::base::{ColumnAdvice, Origin, Ticks};
use crate::data::{Dataset, ids_written_in_two_ways};
use crate::math::sort_items;
use crate::model::TrainingColumns;

/// Last words of the names of columns with ranks.
const RANKS: &[&str] =
    &["rank", "ranking", "rang", "place", "placing", "placement", "position", "pos", "standing"];

/// From this many documents on, a permutation within a query is not due to chance.
const FEWEST_IN_ORDER: usize = 5;

/// Queries with a permutation, at least.
const FEWEST_QUERIES: usize = 3;

/// Warnings about the ids and the relevance of a training.
pub fn role_warnings(data: &Dataset, roles: &TrainingColumns, advice: ColumnAdvice<'_>) -> Vec<String> {
    let in_sql = matches!(advice.origin, Origin::Source(_));
    let is_user = data.features.columns() == 0;
    let query =
        (roles.query.as_deref().unwrap_or("query_id"), if is_user { "users" } else { "queries" }, in_sql);
    let doc = (advice.doc.unwrap_or("doc_id"), if is_user { "items" } else { "documents" }, in_sql);
    let warnings = [
        ids_written_in_two_ways(data.query_ids.iter(), query),
        ids_written_in_two_ways(data.doc_ids.iter(), doc),
        relevance_like_rank(data, roles.relevance.as_deref(), in_sql),
    ];
    warnings.into_iter().flatten().collect()
}

/// Whether the name of a column says that it has ranks, as `finishing_position` and `finalRank` do.
fn is_rank_name(name: &str) -> bool {
    let start = name.rfind(|c: char| !c.is_alphanumeric()).map_or(0, |index| index + 1);
    let last = &name[start..];
    let capital = last.rfind(char::is_uppercase).filter(|_| last.contains(char::is_lowercase)).unwrap_or(0);
    RANKS.iter().any(|rank| [last, &last[capital..]].iter().any(|word| word.eq_ignore_ascii_case(rank)))
}

/// A warning if the relevance is named like a rank and has whole numbers from 0 or 1 on, or if most queries have each whole
/// number from 1 to their number of documents.
fn relevance_like_rank(data: &Dataset, column: Option<&str>, in_sql: bool) -> Option<String> {
    let (lowest, highest) = (data.relevance.iter())
        .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(*value), high.max(*value)));
    let may_be = (0.0..=1.0).contains(&lowest) && highest >= 2.0;
    if !may_be || !data.relevance.iter().all(|value| value.fract() <= 0.0) {
        return None;
    }
    let what = match column.filter(|name| is_rank_name(name)) {
        Some(_) => "is named like a rank",
        None if data.features.columns() > 0 && lowest > 0.0 && are_permutations(data) => {
            "has each number from 1 to the number of documents once in most queries, like ranks"
        }
        None => return None,
    };
    let name = column.unwrap_or("relevance");
    let quoted = format!("\"{}\"", name.replace('"', "\"\""));
    let rank = if lowest > 0.0 { quoted } else { format!("(1 + {quoted})") };
    let place = if in_sql { "select" } else { "use" };
    Some(format!(
        "the relevance \"{name}\" {what}, but a higher relevance is better here; if 1 is the best, {place} 1.0 / {rank} in its place"
    ))
}

/// Whether nearly all queries with enough documents have each number from 1 to their number of documents once.
fn are_permutations(data: &Dataset) -> bool {
    let mut ticks = Ticks::default();
    let (mut found, mut all) = (0, 0);
    for query in 0..data.n_queries() {
        let mut values = data.labels(query).to_vec();
        ticks.add(8 * values.len());
        if values.len() >= FEWEST_IN_ORDER {
            all += 1;
            sort_items(&mut values, f64::total_cmp);
            let is_next = |(index, value): (usize, &f64)| value.total_cmp(&(index as f64 + 1.0)).is_eq();
            found += usize::from(values.iter().enumerate().all(is_next));
        }
    }
    found >= FEWEST_QUERIES && 10 * found >= 9 * all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ranks_are_known_by_their_last_word() {
        for name in ["rank", "Ranking", "finishing_position", "finalRank", "race place", "POS"] {
            assert!(is_rank_name(name), "{name}");
        }
        for name in ["relevance", "rank_score", "franking", "compos", "marketplace", ""] {
            assert!(!is_rank_name(name), "{name}");
        }
    }
}
