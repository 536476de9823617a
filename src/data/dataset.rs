//! Documents grouped by query.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use ndarray::Array2;

use super::categories::Categories;
use super::fold_keys::FoldKeys;
use super::id::Id;
use super::matrix::{Matrix, Shuffle};
use super::missing::Missing;
use super::quantity::Quantities;
use super::query_columns::QueryValue;
use crate::base::{Result, Ticks, bytes_of, matrix_bytes, parallel};
use crate::data::{CategoryRows, ListConstraint, RowGroup};
use crate::math::sort_items;

/// Documents grouped by query.
///
/// Queries are in the order of their ids, the documents of a query in the order of (document id, features, relevance, weight),
/// so the data set does not depend on the order of the rows. Online algorithms use `RowOrder::Stream` instead: queries by
/// first appearance, documents in the order of their rows.
#[derive(Debug, Clone, Default)]
pub struct Dataset {
    /// Feature names, one per column of `features`.
    pub names: Vec<String>,
    /// Features (`n_docs`, `n_features`).
    pub features: Matrix,
    /// The categories, whose features are the last ones.
    pub categories: Categories,
    /// The columns whose texts are numbers, dates or durations.
    pub quantities: Quantities,
    /// For each category of a model, the values that it does not know. May be empty.
    pub category_rows: Vec<CategoryRows>,
    /// For each category, each row's value number (`n_docs`), where a training learned means; may be empty.
    pub mean_codes: Vec<Vec<u32>>,
    /// Rows of query i are `offsets[i]..offsets[i + 1]` (`n_queries` + 1).
    pub offsets: Vec<usize>,
    /// Query ids (`n_queries`).
    pub query_ids: Vec<Id>,
    /// Document ids (`n_docs`); without ids, row numbers within the query.
    pub doc_ids: Vec<Id>,
    /// Relevance (`n_docs`); empty if it was not read.
    pub relevance: Vec<f64>,
    /// Weight of each document (`n_docs`), >= 0; empty if all are 1.
    pub doc_weights: Vec<f64>,
    /// The diversity value or slot of each row (`n_docs`); empty without a constraint.
    pub groups: Vec<Id>,
    /// Numbers of documents and groups in their queries (`n_docs`); empty without a constraint.
    pub row_groups: Vec<RowGroup>,
    /// The kind of groups.
    pub constraint: ListConstraint,
    /// Weight of each query (`n_queries`), > 0.
    pub weights: Vec<f64>,
    /// Names of the named query features; may be empty.
    pub query_names: Vec<String>,
    /// Named query features (`n_queries`, number of names).
    pub query_features: Array2<QueryValue>,
    /// Treatment of missing query features.
    pub missing: Missing,
    /// Query groups that validation keeps together, and the order of queries.
    pub fold_keys: FoldKeys,
    /// Number of rows that repeat the (query, document) of an earlier row.
    pub duplicates: usize,
}

/// The documents of one query, borrowed.
#[derive(Debug, Clone, Copy)]
pub struct Documents<'a> {
    /// The matrix with the documents.
    pub features: &'a Matrix,
    /// First row.
    pub start: usize,
    /// Row after the last.
    pub end: usize,
}

impl Documents<'_> {
    /// Rows of the matrix.
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    pub fn len(&self) -> usize {
        self.end - self.start
    }

    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Scores with some features from other documents: for each shuffle, the scores of its orders, concatenated.
    ///
    /// # Errors
    /// Errors of `scores`.
    pub fn shuffled(
        &self,
        shuffles: &[Shuffle],
        scores: &(dyn Fn(&Documents<'_>) -> Result<Vec<f64>> + Sync),
    ) -> Result<Vec<Vec<f64>>> {
        let original = self.features.select_rows(&self.range().collect::<Vec<usize>>());
        let of = |number: usize| {
            let Shuffle { columns, orders } = &shuffles[number];
            let (mut rows, mut found) = (original.clone(), Vec::new());
            for order in orders {
                rows.copy_columns(&original, columns, order);
                found.extend(scores(&Documents { features: &rows, start: 0, end: rows.rows() })?);
            }
            Ok(found)
        };
        parallel::try_map(shuffles.len(), of)
    }
}

impl Dataset {
    pub fn n_queries(&self) -> usize {
        self.query_ids.len()
    }

    pub fn n_docs(&self) -> usize {
        self.doc_ids.len()
    }

    /// Some rows, with these feature values: for each feature, its index and its values in all rows.
    #[must_use]
    pub fn subset_with(&self, rows: &[usize], features: &[(usize, Vec<f64>)]) -> Self {
        let mut subset = self.subset(rows);
        for (feature, values) in features {
            subset.features.set_column(*feature, rows.iter().map(|row| values[*row]));
        }
        subset
    }

    /// Whether training learned means of categories.
    pub fn has_means(&self) -> bool {
        self.mean_codes.iter().any(|codes| !codes.is_empty())
    }

    /// A warning about rows that repeat a (query, document).
    pub fn repeated_rows(&self) -> Option<String> {
        let repeated = || {
            let count = self.duplicates;
            let rows = if count == 1 { "row repeats" } else { "rows repeat" };
            format!("{count} {rows} a (query, document) of another row; each row counts as a document")
        };
        (self.duplicates > 0).then(repeated)
    }

    /// Number of documents that also occur, in the same query, in another data set. That data set's queries must be in
    /// canonical order.
    pub fn documents_also_in(&self, other: &Self) -> usize {
        let in_query = |(query, id): (usize, &Id)| {
            let Ok(same) = other.query_ids.binary_search(id) else { return 0 };
            let documents: HashSet<&Id> = other.doc_ids[other.rows(same)].iter().collect();
            self.doc_ids[self.rows(query)].iter().filter(|doc| documents.contains(doc)).count()
        };
        self.query_ids.iter().enumerate().map(in_query).sum()
    }

    /// Sets which queries validation keeps together, and the order of queries. `order` and `groups`: a value for each
    /// row (`n_docs`).
    ///
    /// # Errors
    /// A query in two groups.
    pub fn set_fold_keys(&mut self, order: Option<&[Id]>, groups: Option<&[Id]>) -> Result<(), String> {
        let queries = self.query_ids.iter().enumerate().map(|(query, id)| (id, self.rows(query)));
        self.fold_keys = FoldKeys::of(queries, order, groups)?;
        Ok(())
    }

    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        let ids = [&self.query_ids, &self.doc_ids, &self.groups];
        let ids = ids.into_iter().flatten().map(|id| bytes_of::<Id>(1) + id.heap_bytes()).sum::<u64>();
        let texts = self.query_features.iter().map(QueryValue::heap_bytes).sum::<u64>();
        let queries = matrix_bytes(self.n_queries(), 2 + 3 * self.query_features.ncols());
        ids + queries
            + texts
            + self.features.bytes()
            + bytes_of::<f64>(self.relevance.len() + self.doc_weights.len())
            + bytes_of::<RowGroup>(self.row_groups.len())
            + self.mean_codes.iter().map(|codes| bytes_of::<u32>(codes.len())).sum::<u64>()
            + self.fold_keys.bytes()
    }

    pub fn rows(&self, query: usize) -> Range<usize> {
        self.offsets[query]..self.offsets[query + 1]
    }

    pub fn documents(&self, query: usize) -> Documents<'_> {
        Documents { features: &self.features, start: self.offsets[query], end: self.offsets[query + 1] }
    }

    /// Relevance of the documents of one query.
    pub fn labels(&self, query: usize) -> &[f64] {
        &self.relevance[self.rows(query)]
    }

    /// One query's document weights; empty if all weights of the data set are 1.
    pub fn doc_weights(&self, query: usize) -> &[f64] {
        self.doc_weights.get(self.rows(query)).unwrap_or_default()
    }

    /// Groups of the documents of one query; empty without a constraint.
    pub fn row_groups(&self, query: usize) -> &[RowGroup] {
        self.row_groups.get(self.rows(query)).unwrap_or_default()
    }

    /// Takes the features, leaving an empty matrix.
    #[must_use]
    pub fn take_features(&mut self) -> Matrix {
        let none = self.features.select_rows(&[]);
        std::mem::replace(&mut self.features, none)
    }

    /// The data set with some of the documents (ascending row numbers). Keeps all queries, even empty ones.
    #[must_use]
    pub fn with_rows(&self, rows: &[usize]) -> Self {
        let offsets: Vec<usize> =
            self.offsets.iter().map(|offset| rows.partition_point(|row| row < offset)).collect();
        let doc_ids: Vec<Id> = rows.iter().map(|&row| self.doc_ids[row].clone()).collect();
        let groups = selected(&self.groups, rows);
        Self {
            features: self.features.select_rows(rows),
            mean_codes: self.mean_codes.iter().map(|codes| selected(codes, rows)).collect(),
            row_groups: row_groups(&doc_ids, &groups, &offsets, self.constraint),
            doc_ids,
            relevance: selected(&self.relevance, rows),
            doc_weights: selected(&self.doc_weights, rows),
            groups,
            offsets,
            ..self.clone_queries()
        }
    }

    /// The data set with some of the documents (ascending row numbers), and only queries that have one of them. Equals the
    /// data set read from these rows alone, except for the replacements of missing features.
    #[must_use]
    pub fn subset(&self, rows: &[usize]) -> Self {
        let full = self.with_rows(rows);
        let kept: Vec<usize> = (0..full.n_queries()).filter(|query| !full.rows(*query).is_empty()).collect();
        let mut offsets: Vec<usize> = kept.iter().map(|query| full.offsets[*query]).collect();
        offsets.push(rows.len());
        Self {
            offsets,
            query_ids: kept.iter().map(|query| full.query_ids[*query].clone()).collect(),
            weights: kept.iter().map(|query| full.weights[*query]).collect(),
            query_features: full.query_features.select(ndarray::Axis(0), &kept),
            fold_keys: full.fold_keys.of_queries(&kept),
            ..full
        }
    }

    /// A copy of the per-query data, without documents.
    fn clone_queries(&self) -> Self {
        Self {
            names: self.names.clone(),
            categories: self.categories.clone(),
            features: self.features.select_rows(&[]),
            query_ids: self.query_ids.clone(),
            constraint: self.constraint,
            weights: self.weights.clone(),
            query_names: self.query_names.clone(),
            query_features: self.query_features.clone(),
            missing: self.missing,
            fold_keys: self.fold_keys.clone(),
            ..Self::default()
        }
    }

    /// The same documents with the features of `model`, matched by name, in its order. Both have the same categories.
    ///
    /// # Errors
    /// The names of missing features or query features.
    pub fn matching(mut self, model: &Self) -> Result<Self, String> {
        let columns = |needed: &[String], have: &[String], what: &str| {
            positions(needed, have).map_err(|missing| format!("it does not have the {what} {missing}"))
        };
        let numbers = |data: &Self| data.categories.numbers(data.names.len());
        let (needed, have) = (numbers(model), numbers(&self));
        let mut feature_columns = columns(&model.names[..needed], &self.names[..have], "features")?;
        feature_columns.extend(have..self.names.len());
        let query_columns = columns(&model.query_names, &self.query_names, "query features")?;
        self.features = self.features.select_columns(&feature_columns);
        self.query_features = self.query_features.select(ndarray::Axis(1), &query_columns);
        self.names.clone_from(&model.names);
        self.query_names.clone_from(&model.query_names);
        Ok(self)
    }
}

/// The positions of names among known names, ignoring case.
///
/// # Errors
/// Unknown names.
pub fn positions(names: &[String], known: &[String]) -> Result<Vec<usize>, String> {
    let position = |name: &String| known.iter().position(|other| other.eq_ignore_ascii_case(name));
    let missing: Vec<&str> =
        names.iter().filter(|name| position(name).is_none()).map(String::as_str).collect();
    if missing.is_empty() { Ok(names.iter().filter_map(position).collect()) } else { Err(missing.join(", ")) }
}

/// The items of these rows; empty if `items` is empty.
pub(super) fn selected<T: Clone>(items: &[T], rows: &[usize]) -> Vec<T> {
    rows.iter().filter_map(|&row| items.get(row).cloned()).collect()
}

/// Cost in operations, for [`Ticks`], of finding a row's numbers.
const LOOKUPS: usize = 500;

/// Numbers of documents and groups within their queries, by first appearance (slots in ascending order); empty without
/// groups.
pub(super) fn row_groups(
    documents: &[Id],
    groups: &[Id],
    offsets: &[usize],
    constraint: ListConstraint,
) -> Vec<RowGroup> {
    let mut ticks = Ticks::default();
    let query_values = |rows: &[usize]| -> Vec<RowGroup> {
        let (mut known_documents, mut known_groups) = (HashMap::new(), HashMap::new());
        if constraint == ListConstraint::Slots {
            let mut slots: Vec<&Id> = groups[rows[0]..rows[1]].iter().collect();
            sort_items(&mut slots, Ord::cmp);
            for slot in slots {
                number_in(&mut known_groups, slot);
            }
        }
        let row_group = |(document, group)| {
            ticks.add(LOOKUPS);
            RowGroup {
                document: number_in(&mut known_documents, document),
                group: number_in(&mut known_groups, group),
            }
        };
        documents[rows[0]..rows[1]].iter().zip(&groups[rows[0]..rows[1]]).map(row_group).collect()
    };
    let is_numbered = !groups.is_empty() && constraint != ListConstraint::Vectors;
    if is_numbered { offsets.windows(2).flat_map(query_values).collect() } else { Vec::new() }
}

/// The number of this id; new ids get the next number.
fn number_in<'a>(known: &mut HashMap<&'a Id, u32>, id: &'a Id) -> u32 {
    let next = known.len() as u32;
    *known.entry(id).or_insert(next)
}
