//! Turns all rows of a source into a [`Dataset`]: numeric columns, order of rows, missing values.

use std::cmp::Ordering;
use std::collections::HashMap;

use ndarray::Array2;
use serde_json::json;

use super::builder::{Column, DatasetBuilder, FEWER_ROWS, Values};
use super::categories::Learned;
use super::category_limits::{MOST_DISTINCT, ValueCount};
use super::columns::ColumnFacts;
use super::dataset::{Dataset, row_groups, selected};
use super::finish_options::{
    ColumnSummary, FinishOptions, RowOrder, TextColumns, names_column, summarize_columns,
};
use super::id::Id;
use super::matrix::{ColumnGroup, Matrix, shaped};
use super::missing::{Missing, MissingValues};
use super::quantity::Outcome;
use super::query_columns::QueryValue;
use crate::base::{Error, Reservation, Result, Ticks, bytes_of};
use crate::data::ListConstraint;
use crate::math::{Element, compare, sort_indices, sort_items};

/// Facts about the rows besides the data.
#[derive(Debug, Default)]
pub struct ReadReport {
    /// Columns that were ignored because they hold no number.
    pub ignored: Vec<String>,
    /// Facts about each of them.
    pub ignored_facts: Vec<ColumnFacts>,
    /// Facts about columns that are not features, in column order.
    pub observed: Vec<ColumnFacts>,
    /// Facts about columns that became categories, by column name.
    pub category_facts: Vec<(String, ColumnFacts)>,
    /// Columns of texts that are numbers, some with leading zeros.
    pub zero_padded: Vec<String>,
    /// Number of missing features that were replaced.
    pub imputed: usize,
    /// Where in the data set these are.
    pub missing: MissingValues,
    /// Summary of each feature, rows of earlier calls included.
    pub summaries: Vec<ColumnSummary>,
    /// Mean of each feature over the rows that have it.
    pub means: Vec<f64>,
    /// For each document of the data set, its row number, from 0.
    pub rows: Vec<usize>,
    /// Document scores, if rows were scored as they were read. Then the data set has no features.
    pub scores: Option<Vec<f64>>,
    /// The value of the column `split_by` for each document of the data set, if there is one.
    pub split: Option<Vec<Id>>,
    /// Mean of the column `determined` over the rows that have a value, if there is one.
    pub determined: Option<f64>,
    /// Whether a column is the baseline of the training.
    pub has_baseline: bool,
    /// The format of the texts in the column `query_time`, if it contains texts.
    pub times: Option<Outcome>,
    /// Memory for the data set and this report.
    pub memory: Reservation,
}

impl ReadReport {
    /// Reorders values from the order in which rows were read to the order of documents.
    pub fn of_rows(&self, values: &[Id]) -> Vec<Id> {
        self.rows.iter().map(|row| values[*row].clone()).collect()
    }
}

/// Operations, for [`Ticks`], of comparing or copying an id.
const ID_COST: usize = 32;

/// Feature names for a vector: positions, from 1.
pub fn position_names(count: usize) -> Vec<String> {
    (1..=count).map(|position| position.to_string()).collect()
}

impl DatasetBuilder {
    /// Turns the rows into a data set. Every pass has checkpoints.
    ///
    /// # Errors
    /// Text in a column of numbers; missing values under [`Missing::Error`]; infinities; repeated feature names.
    pub fn finish(mut self, options: FinishOptions<'_>) -> Result<(Dataset, ReadReport)> {
        // 1. Features: the numeric columns, or the numbered values of vectors.
        let (vector, positions) = (self.names.is_empty(), self.position_bytes());
        if vector {
            self.names = self.names_of_values()?;
        }
        let is_scored = !self.scores.is_empty();
        if is_scored {
            (self.names, self.width) = (Vec::new(), Some(0));
        }
        let (observed, has_baseline) = (std::mem::take(&mut self.observed), options.baseline.is_some());
        let mut report = ReadReport { observed, has_baseline, ..ReadReport::default() };
        let columns = self.names.iter().zip(&self.columns);
        let is_padded = |column: &Column| column.pending.as_ref().is_some_and(|pending| pending.has_zeros);
        report.zero_padded = columns
            .filter(|(_, column)| column.numeric && is_padded(column))
            .map(|(name, _)| name.clone())
            .collect();
        let is_optional = options.text_columns == TextColumns::Ignore;
        self.read_quantities(is_optional && options.missing == Missing::Error);
        let (mut learned, facts) = self.listed_categories()?;
        report.category_facts = facts;
        self.allow_misfits(options.missing, options.text_columns);
        let kept = self.numeric_columns(options.text_columns, vector, &mut report, &mut learned)?;
        sort_items(&mut learned, |a, b| a.category.name.cmp(&b.category.name));
        self.check_missing(&options, &kept, vector)?;
        self.check_query_features(options.missing)?;
        let matrix = self.take_matrix();
        let mut rows_bytes = self.bytes_besides_features() + matrix.bytes() + positions;
        let matrix = self.kept_columns(matrix, &kept, &learned, &mut rows_bytes)?;
        let quantities = self.quantities(&kept);
        let kept_names = kept.iter().map(|&column| std::mem::take(&mut self.names[column])).collect();
        let category_rows = learned.iter_mut().map(|learned| std::mem::take(&mut learned.unknown)).collect();
        let (categories, mean_codes) = self.name_features(kept_names, learned, &report.ignored)?;
        let is_missing =
            |column: &&usize| self.columns.get(**column).is_some_and(|column| column.first_missing.is_some());
        let missing_bytes = MissingValues::bytes(matrix.rows(), kept.iter().filter(is_missing).count());
        rows_bytes += bytes_of::<[usize; 3]>(matrix.rows()) + missing_bytes;
        self.reserve_to_finish(rows_bytes)?;
        // 2. Order of queries and rows.
        let rank = self.query_ranks(options.order);
        let order = match options.order {
            RowOrder::Canonical => self.canonical_rows(&matrix, &rank),
            RowOrder::Stream => self.stream_rows(),
        };
        // 3. Summaries are floating-point sums, so they are computed in that order.
        let missing = &mut report.missing;
        report.summaries = match &matrix {
            // Columns of BLOBs are known only if values are missing.
            Matrix::F32(_) if !options.summarized && self.columns.is_empty() => Vec::new(),
            Matrix::F32(array) => summarize_columns(array, &order, options.previous, missing),
            Matrix::F64(array) => summarize_columns(array, &order, options.previous, missing),
        };
        report.means = report.summaries.iter().map(ColumnSummary::mean).collect();
        // 4. Missing values.
        let branches = options.missing == Missing::Branch;
        let is_kept = options.keep_missing || branches;
        let kept = vec![f64::NAN; if is_kept { matrix.columns() } else { 0 }];
        let means = match options.missing {
            _ if is_kept => Some(&kept[..]),
            Missing::Mean => Some(options.means.unwrap_or(&report.means)),
            _ => None,
        };
        let (matrix, imputed) = self.impute(matrix, means)?;
        report.imputed = if branches { 0 } else { imputed };
        // 5. Copy in that order. Ids are moved.
        let copied = if order.is_sorted() { 0 } else { matrix.bytes() };
        let ids = bytes_of::<Id>(order.len() + self.row_group.len());
        self.reserve_to_finish(rows_bytes + copied + ids + bytes_of::<[f64; 2]>(order.len()))?;
        let (mut memory, scores) = (std::mem::take(&mut self.memory), std::mem::take(&mut self.scores));
        let data = self.in_order(matrix, &rank, &order, options.constraint);
        let mean_codes = mean_codes.iter().map(|codes| selected(codes, &order)).collect();
        let missing = options.missing;
        let data = Dataset { categories, quantities, category_rows, mean_codes, missing, ..data };
        report.scores = is_scored.then(|| order.iter().map(|row| scores[*row]).collect());
        report.rows = order;
        let numbers = report.rows.len() + report.scores.as_ref().map_or(0, Vec::len);
        let bytes = data.bytes() + bytes_of::<usize>(numbers) + missing_bytes;
        memory.resize(bytes, "a data set", FEWER_ROWS)?;
        report.memory = memory;
        Ok((data, report))
    }

    /// Keeps these numeric columns and appends the category columns. `rows_bytes`: memory of the rows.
    fn kept_columns(
        &mut self,
        matrix: Matrix,
        kept: &[usize],
        learned: &[Learned],
        rows_bytes: &mut u64,
    ) -> Result<Matrix> {
        if kept.len() == matrix.columns() && learned.is_empty() {
            return Ok(matrix);
        }
        let added: usize = learned.iter().map(|learned| learned.category.width()).sum();
        let row_bytes = matrix.element_bytes().saturating_mul(kept.len() + added);
        let bytes = (row_bytes as u64).saturating_mul(matrix.rows() as u64);
        let codes = bytes_of::<(u32, u32, f64)>(matrix.rows()).saturating_mul(learned.len() as u64);
        self.reserve_to_finish(*rows_bytes + bytes + codes)?;
        let groups: Vec<ColumnGroup<'_>> = learned
            .iter()
            .map(|Learned { category, codes, means, .. }| ColumnGroup {
                width: category.width(),
                ones: codes,
                last: means,
            })
            .collect();
        *rows_bytes = *rows_bytes - matrix.bytes() + bytes;
        Ok(matrix.with_groups(kept, &groups))
    }

    /// Scores the rows read since the last call, and drops their features. `score` appends the scores of documents of
    /// this width, row-major. Only rows whose features are BLOBs are scored. Missing values count as in
    /// [`Self::finish`].
    ///
    /// # Errors
    /// Errors of `score`; missing values that are not allowed.
    pub fn score_rows(
        &mut self,
        options: &FinishOptions<'_>,
        score: impl FnOnce(&[f32], usize, &mut Vec<f64>) -> Result<()>,
    ) -> Result<()> {
        // Columns of BLOBs are known only if values are missing.
        if matches!(self.values, Values::F32(_)) && !self.columns.is_empty() {
            self.fill_scored(options)?;
        }
        let (Values::F32(values), Some(width)) = (&mut self.values, self.width) else { return Ok(()) };
        score(values, width, &mut self.scores)?;
        values.clear();
        Ok(())
    }

    /// Fills the missing values of scored rows.
    fn fill_scored(&mut self, options: &FinishOptions<'_>) -> Result<()> {
        let columns: Vec<usize> = (0..self.columns.len()).collect();
        self.check_missing(options, &columns, true)?;
        self.columns.clear();
        let (Values::F32(values), true) = (&mut self.values, options.missing != Missing::Branch) else {
            return Ok(());
        };
        for row in values.chunks_exact_mut(columns.len()) {
            for (column, value) in row.iter_mut().enumerate().filter(|(_, value)| value.is_nan()) {
                let mean = options
                    .means
                    .filter(|_| options.missing == Missing::Mean)
                    .map_or(0.0, |means| means[column]);
                *value = mean as f32;
            }
        }
        Ok(())
    }

    /// Reserves memory for the rows and for the results of this module.
    fn reserve_to_finish(&mut self, bytes: u64) -> Result<()> {
        let what = format_args!("sorting the {} rows of source {}", self.row_query.len(), self.source);
        self.memory.resize(bytes, what, FEWER_ROWS)
    }

    /// The numeric features. Text columns become categories or are ignored.
    fn numeric_columns(
        &mut self,
        text_columns: TextColumns,
        vector: bool,
        report: &mut ReadReport,
        learned: &mut Vec<Learned>,
    ) -> Result<Vec<usize>> {
        let mut kept = Vec::with_capacity(self.names.len());
        let is_ignored = text_columns == TextColumns::Ignore && !vector;
        let has_texts = is_ignored && self.columns.iter().any(|column| column.codes.is_some());
        let documents = if has_texts { self.documents()? } else { None };
        for index in 0..self.names.len() {
            let codes = self.columns.get_mut(index).and_then(|column| column.codes.take());
            let column = self.columns.get(index).cloned().unwrap_or_default();
            let name = &self.names[index];
            let codes = codes.filter(|_| !column.numeric && !column.has_other && is_ignored);
            let rows = self.rows_of_codes(documents.as_deref());
            let is_word = column.others.as_ref().is_some_and(|facts| !facts.are_better_converted());
            if let Some(found) = codes.filter(|_| is_word).and_then(|codes| codes.found(name, rows)) {
                let mut facts = column.others.unwrap_or_default();
                facts.of_rows(self.n_rows());
                report.category_facts.push((name.clone(), *facts));
                learned.push(found);
                continue;
            }
            let mut ignore = |mut facts: Box<ColumnFacts>| {
                facts.of_rows(self.n_rows());
                report.ignored.push(name.clone());
                report.ignored_facts.push(*facts);
            };
            match column.first_other {
                Some((row, found)) if column.numeric || text_columns != TextColumns::Ignore => {
                    let others = column.others.as_deref();
                    return Err(self.text_among_numbers((row, &found), index, text_columns, others));
                }
                // Text, or NULL in every row (rule 2.5).
                Some(_) => ignore(column.others.unwrap_or_default()),
                None if !column.numeric && column.first_missing.is_some() && is_ignored => {
                    ignore(Box::default());
                }
                None => kept.push(index),
            }
        }
        if kept.is_empty() && learned.is_empty() && !report.ignored.is_empty() {
            let names = report.ignored.join(", ");
            return Err(
                self.source_error(format!("no column is left for features: no row of {names} is a number"))
            );
        }
        Ok(kept)
    }

    /// Whether a column of numbers and `others` may be listed as a category (rule 2.19).
    fn has_frequent_value(&self, column: usize, others: Option<&ColumnFacts>) -> bool {
        let Values::F64(values) = &self.values else { return false };
        let mut counts: HashMap<u64, ValueCount> = HashMap::new();
        for (row, query) in values.chunks_exact(self.width.unwrap_or(1)).zip(&self.row_query) {
            if !row[column].is_nan() && counts.len() <= MOST_DISTINCT {
                counts.entry(row[column].to_bits()).or_default().add(*query);
            }
        }
        let queries = self.query_ids.len();
        let are_numbers_few = counts.len() <= MOST_DISTINCT / 2;
        are_numbers_few
            && (counts.values().any(|count| count.is_frequent(queries))
                || others.is_some_and(|others| others.has_frequent_value(queries)))
    }

    /// The error for text in a feature, with its row. `others`: facts about values that are not numbers.
    fn text_among_numbers(
        &self,
        (row, found): (usize, &str),
        column: usize,
        text_columns: TextColumns,
        others: Option<&ColumnFacts>,
    ) -> Error {
        let name = &self.names[column];
        let categories = json!({ "columns": { "categories": [name] } });
        let allowed = if let Some(form) = &self.columns[column].form {
            format!("expected numbers and text in the form of the training, {form}")
        } else {
            let learned = others.filter(|_| text_columns != TextColumns::Refuse);
            let reason = match learned.map(|others| others.readings.outcome(1.0)) {
                Some(Outcome::Unread { kind, example, .. }) => format!("; {}", kind.among_numbers(&example)),
                _ => String::new(),
            };
            format!("expected numbers and text that is a well-formed number{reason}")
        };
        let state = &self.columns[column];
        let in_sql = || others.filter(|_| state.form.is_none())?.null_in_sql(name, self.n_rows());
        let advice = match text_columns {
            TextColumns::Refuse => String::new(),
            _ if state.are_others_missing() || state.fits_with_missing => {
                "; with the option \"missing\" such texts are missing values".to_owned()
            }
            TextColumns::RefuseListed => {
                "; list a text column under \"categories\" instead of \"features\"".to_owned()
            }
            TextColumns::Ignore => {
                let missing = in_sql().map(|sql| {
                    format!("; {sql} in the source, with the option \"missing\", makes other values missing")
                });
                let categories = self
                    .has_frequent_value(column, others)
                    .then(|| format!("; the options {categories} turn its values into categories"));
                missing.into_iter().chain(categories).collect()
            }
        };
        self.context(row).error(name, format!("{found} is not a number; {allowed}{advice}"))
    }

    /// Names of vector values: given names, or positions.
    fn names_of_values(&mut self) -> Result<Vec<String>> {
        let width = self.width.unwrap_or(0);
        match self.value_names.take().filter(|_| self.n_rows() > 0) {
            None => Ok(position_names(width)),
            Some(names) if names.len() == width => Ok(names),
            Some(names) => Err(self.source_error(format!(
                "option 'columns', key 'feature_names' has {} names, but the vectors have {width} values",
                names.len()
            ))),
        }
    }

    /// Refuses missing features, unless an option allows them.
    ///
    /// # Errors
    /// The first row without a feature.
    pub fn check_missing(&self, options: &FinishOptions<'_>, kept: &[usize], vector: bool) -> Result<()> {
        let is_baseline =
            |index: &usize| options.baseline.is_some_and(|text| names_column(text, &self.names[*index]));
        let refused = |index: &&usize| options.missing == Missing::Error || is_baseline(index);
        let first = kept
            .iter()
            .filter(refused)
            .filter_map(|&index| Some((self.columns.get(index)?.first_missing?, index)))
            .min();
        let Some((row, index)) = first else { return Ok(()) };
        if is_baseline(&index) {
            let problem = "missing; it is the baseline, which needs a number in every row".to_owned();
            return Err(self.context(row).error(&self.names[index], problem));
        }
        let advice = "use the option \"missing\": \"zero\" or \"mean\" to allow missing features";
        let context = self.context(row);
        Err(if vector {
            let advice = format!("{advice}{}", self.advice_on_64_bits());
            context.error("features", format!("value {} is missing; {advice}", index + 1))
        } else {
            // Some rows to rank may have no value at all, but training needs one.
            let is_empty = options.means.is_none() && !self.columns[index].numeric;
            let advice = if is_empty { "the column has no number in any row" } else { advice };
            context.error(&self.names[index], format!("NULL; {advice}"))
        })
    }

    /// Refuses missing query features, unless the option `missing` allows them.
    fn check_query_features(&self, missing: Missing) -> Result<()> {
        if missing != Missing::Error {
            return Ok(());
        }
        let column = |values: &Vec<QueryValue>| values.iter().position(|value| *value == QueryValue::Missing);
        let first_missing =
            self.query_features.iter().enumerate().find_map(|(query, values)| Some((query, column(values)?)));
        let Some((query, column)) = first_missing else { return Ok(()) };
        let row = self.row_query.iter().position(|number| *number == query).unwrap_or(0);
        let (name, problem) = match self.query_names.get(column) {
            Some(name) => (name.as_str(), "NULL".to_owned()),
            None => ("query_features", format!("value {} is null", column + 1)),
        };
        let advice = "use the option \"missing\": \"zero\" or \"mean\" to allow missing query features";
        Err(self.context(row).error(name, format!("{problem}; {advice}")))
    }

    fn take_matrix(&mut self) -> Matrix {
        let (rows, columns) = (self.n_rows(), self.width.unwrap_or(0));
        match std::mem::replace(&mut self.values, Values::F64(Vec::new())) {
            Values::F32(values) => Matrix::F32(shaped(rows, columns, values)),
            Values::F64(values) => Matrix::F64(shaped(rows, columns, values)),
        }
    }

    /// Replaces missing values by these means (default 0), counts them, and refuses infinite values.
    fn impute(&self, mut matrix: Matrix, means: Option<&[f64]>) -> Result<(Matrix, usize)> {
        let imputed = match &mut matrix {
            Matrix::F32(_) if self.columns.is_empty() => 0,
            Matrix::F32(array) => self.fill(array, means)?,
            Matrix::F64(array) => self.fill(array, means)?,
        };
        Ok((matrix, imputed))
    }

    fn fill<T: Element>(&self, array: &mut Array2<T>, means: Option<&[f64]>) -> Result<usize> {
        let (mut imputed, mut ticks) = (0, Ticks::default());
        for (row, mut values) in array.rows_mut().into_iter().enumerate() {
            ticks.add(values.len());
            for (column, value) in values.iter_mut().enumerate() {
                let number = value.to_f64();
                if number.is_nan() {
                    *value = T::from_f64(means.map_or(0.0, |means| means[column]));
                    imputed += 1;
                } else if number.is_infinite() {
                    let problem = format!("{number}; expected finite numbers");
                    return Err(self.context(row).error(&self.names[column], problem));
                }
            }
        }
        Ok(imputed)
    }

    fn in_order(
        mut self,
        matrix: Matrix,
        rank: &[usize],
        order: &[usize],
        constraint: ListConstraint,
    ) -> Dataset {
        let mut ticks = Ticks::default();
        let duplicates = self.duplicates(order);
        let mut queries: Vec<usize> = (0..self.query_ids.len()).collect();
        sort_indices(&mut queries, &|a, b| rank[a].cmp(&rank[b]));
        let mut offsets = vec![0];
        for &query in &queries {
            offsets.push(offsets[offsets.len() - 1] + self.query_sizes[query] as usize);
        }
        let mut take = |ids: &mut Vec<Id>, row: usize| {
            ticks.add(ID_COST);
            ids.get_mut(row).map(std::mem::take)
        };
        let doc_ids: Vec<Id> = order.iter().filter_map(|&row| take(&mut self.row_doc, row)).collect();
        let groups: Vec<Id> = order.iter().filter_map(|&row| take(&mut self.row_group, row)).collect();
        // If all weights are 1, drop them, so that they have no effect.
        let weighs = self.doc_weights.iter().any(|weight| compare(*weight, 1.0).is_ne());
        let weight = |row: &usize| self.doc_weights.get(*row).copied().filter(|_| weighs);
        let doc_weights = order.iter().filter_map(weight).collect();
        let per_query = self.query_features.first().map_or(0, Vec::len);
        let query_values: Vec<QueryValue> =
            queries.iter().flat_map(|&query| std::mem::take(&mut self.query_features[query])).collect();
        let query_names = if self.query_names.len() == per_query {
            self.query_names
        } else {
            (1..=per_query).map(|number| format!("query_features[{number}]")).collect()
        };
        Dataset {
            names: self.names,
            features: if order.is_sorted() { matrix } else { matrix.select_rows(order) },
            query_ids: queries.iter().map(|&query| std::mem::take(&mut self.query_ids[query])).collect(),
            row_groups: row_groups(&doc_ids, &groups, &offsets, constraint),
            constraint,
            doc_ids,
            groups,
            relevance: selected(&self.relevance, order),
            doc_weights,
            weights: queries.iter().map(|&query| self.weights[query]).collect(),
            query_names,
            query_features: Array2::from_shape_vec((queries.len(), per_query), query_values)
                .unwrap_or_default(),
            offsets,
            duplicates,
            ..Dataset::default()
        }
    }

    /// Number of rows that repeat a (query, document), or a (query, document, group) if rows have groups.
    fn duplicates(&self, order: &[usize]) -> usize {
        if !self.has_docs {
            return 0;
        }
        let in_query = |rows: &[usize]| {
            let mut documents: Vec<(&Id, Option<&Id>)> =
                rows.iter().map(|&row| (&self.row_doc[row], self.row_group.get(row))).collect();
            if !documents.is_sorted() {
                sort_items(&mut documents, Ord::cmp);
            }
            documents.windows(2).filter(|pair| pair[0] == pair[1]).count()
        };
        order.chunk_by(|&a, &b| self.row_query[a] == self.row_query[b]).map(in_query).sum()
    }

    /// Each query's rank, by id or by first appearance.
    fn query_ranks(&self, order: RowOrder) -> Vec<usize> {
        let mut by_id: Vec<usize> = (0..self.query_ids.len()).collect();
        if order == RowOrder::Stream {
            return by_id;
        }
        sort_indices(&mut by_id, &|a, b| self.query_ids[a].cmp(&self.query_ids[b]));
        let mut ranks = vec![0; by_id.len()];
        for (rank, query) in by_id.into_iter().enumerate() {
            ranks[query] = rank;
        }
        ranks
    }

    /// Row numbers by first appearance of their query.
    fn stream_rows(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.n_rows()).collect();
        sort_indices(&mut order, &|a, b| self.row_query[a].cmp(&self.row_query[b]));
        order
    }

    /// Row numbers in the order (query, document, group, features, relevance, weight).
    ///
    /// Documents without ids are ordered only by features and relevance, so the result does not depend on row
    /// order.
    fn canonical_rows(&self, matrix: &Matrix, rank: &[usize]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.n_rows()).collect();
        let by_features = |a: usize, b: usize| {
            (0..matrix.columns())
                .map(|column| compare(matrix.at(a, column), matrix.at(b, column)))
                .find(|ordering| ordering.is_ne())
                .unwrap_or(Ordering::Equal)
        };
        let relevance = |row: usize| self.relevance.get(row).copied().unwrap_or(0.0);
        let weight = |row: usize| self.doc_weights.get(row).copied().unwrap_or(1.0);
        sort_indices(&mut order, &|a, b| {
            let docs = || if self.has_docs { self.row_doc[a].cmp(&self.row_doc[b]) } else { Ordering::Equal };
            rank[self.row_query[a]]
                .cmp(&rank[self.row_query[b]])
                .then_with(docs)
                .then_with(|| self.row_group.get(a).cmp(&self.row_group.get(b)))
                .then_with(|| by_features(a, b))
                .then_with(|| compare(relevance(a), relevance(b)))
                .then_with(|| compare(weight(a), weight(b)))
        });
        order
    }
}
