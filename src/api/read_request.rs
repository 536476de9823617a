//! Selects and orders the rows of a data set for a computation.

use serde_json::{Map, Value};

use super::dataset::{Dataset, SOURCE};
use crate::api::features::Features;
use crate::base::{Error, Result, check_size};
use crate::data::{
    self, DatasetBuilder, FinishOptions, Id, ListConstraint, Missing, NewRow, QueryFeatureKind, QueryValues,
    ReadReport, RowOrder,
};
use crate::model;
use crate::train::column_rules::is_row_number_or_split;
use crate::train::select::in_order;

/// The rows, columns and order that a computation needs from its data set.
#[derive(Debug, Clone, Copy)]
pub(in crate::api) struct ReadRequest<'a> {
    /// The model whose features are needed; `None` for training.
    pub(in crate::api) model: Option<&'a model::Model>,
    /// The categories, and the texts that are numbers, if learned by earlier training.
    pub(in crate::api) known: Option<(&'a data::Categories, &'a data::Quantities)>,
    /// The option `query_distance`: query features whose texts stay texts.
    pub(in crate::api) compared: Option<&'a Map<String, Value>>,
    /// Whether relevance is needed.
    pub(in crate::api) relevance: bool,
    /// How missing features are treated.
    pub(in crate::api) missing: Missing,
    /// The groups that are needed.
    pub(in crate::api) constraint: ListConstraint,
    /// The order of the documents.
    pub(in crate::api) order: RowOrder,
    /// Whether features are needed; otherwise documents are identified by id.
    pub(in crate::api) features: bool,
    /// The query to read; `None` for all queries.
    pub(in crate::api) query: Option<&'a Id>,
}

impl Dataset {
    /// The name of the document ids in warnings, if the caller gave ids.
    pub(in crate::api) fn doc_name(&self) -> Option<&'static str> {
        self.doc_ids.as_ref().map(|_| "doc_ids")
    }

    /// The rows in canonical order, as an SQL source with the same rows returns them.
    pub(in crate::api) fn ordered(&self, request: ReadRequest<'_>) -> Result<(data::Dataset, ReadReport)> {
        if request.relevance && self.relevance.is_none() {
            return Err(Error::Data("the data set has no relevance; use Dataset::from_arrays".to_owned()));
        }
        if request.constraint != ListConstraint::None && self.groups.is_none() {
            return Err(Error::Data("the data set has no groups; use Dataset::with_groups".to_owned()));
        }
        if self.doc_ids.is_none() && (!request.features || request.constraint == ListConstraint::Slots) {
            return Err(Error::Data(
                "the data set has no document ids; use Dataset::with_doc_ids".to_owned(),
            ));
        }
        let builder = self.builder(request)?;
        let options = FinishOptions {
            missing: request.missing,
            means: request.model.map(|model| &model.card.means[..]),
            order: request.order,
            constraint: request.constraint,
            summarized: request.model.is_none(),
            ..FinishOptions::default()
        };
        let (mut data, mut read_report) = builder.finish(options)?;
        if request.model.is_none() {
            let of_rows = |values: &Vec<Id>| read_report.of_rows(values);
            let [mut split, groups] = self.fold_columns.each_ref().map(|values| values.as_ref().map(of_rows));
            let values = split.as_deref_mut().unwrap_or_default();
            in_order(values, "split_by").map_err(Error::Data)?;
            data.set_fold_keys(split.as_deref(), groups.as_deref()).map_err(Error::Data)?;
            read_report.split = split;
        }
        Ok((data, read_report))
    }

    fn builder(&self, request: ReadRequest<'_>) -> Result<DatasetBuilder> {
        let columns = self.columns(request)?;
        let query_columns = self.query_columns(request)?;
        let names = match (&self.features, &self.names) {
            (Features::F32(_), _) if request.features => None,
            (_, Some(names)) => Some(columns.iter().map(|&column| names[column].clone()).collect()),
            (_, None) => Some(columns.iter().map(|column| (column + 1).to_string()).collect()),
        };
        let query_names = query_columns.iter().map(|&column| self.query_names[column].clone()).collect();
        let builder = DatasetBuilder::new(SOURCE, names, query_names);
        let (mut builder, categories) = self.with_categories(builder, request)?;
        // Numbers, dates and durations in texts of queries (rule 3.9).
        if request.known.is_none() {
            let may_be = |column: &usize| !is_row_number_or_split(&self.query_names[*column]);
            let columns = query_columns.iter().copied().filter(may_be).collect();
            builder = builder.may_be_quantities([], columns, request.compared, request.missing, false);
        }
        for row in self.rows_of(request.query) {
            let query_features = query_columns.iter().map(|&column| {
                let value = self.query_features[[row, column]].clone();
                match request.known {
                    Some((_, known)) => known.query_value(&self.query_names[column], value, request.missing),
                    None => value,
                }
            });
            let group = self.groups.as_ref().filter(|_| request.constraint != ListConstraint::None);
            builder.begin(NewRow {
                query: self.query_ids[row].clone(),
                doc: self.doc_ids.as_ref().map(|ids| ids[row].clone()),
                relevance: self.relevance.as_ref().filter(|_| request.relevance).map(|grades| grades[row]),
                doc_weight: self.doc_weights.as_ref().map(|weights| weights[row]),
                group: group.map(|groups| groups[row].clone()),
                query_values: QueryValues {
                    weight: self.weights.as_ref().map_or(1.0, |weights| weights[row]),
                    features: query_features.collect(),
                },
            })?;
            match &self.features {
                Features::F32(array) if request.features => {
                    let bytes: Vec<u8> =
                        array.row(row).iter().flat_map(|value| value.to_le_bytes()).collect();
                    builder.blob(&bytes)?;
                }
                Features::F32(_) => {}
                Features::F64(array) => {
                    for (index, &column) in columns.iter().enumerate() {
                        let value = array[[row, column]];
                        builder.cell(index, (!value.is_nan()).then_some(value));
                    }
                }
            }
            categories.iter().enumerate().for_each(|(number, column)| column.push(row, number, &mut builder));
        }
        Ok(builder)
    }

    /// The rows of this query, or of all queries.
    pub(in crate::api) fn rows_of<'a>(&'a self, query: Option<&'a Id>) -> impl Iterator<Item = usize> + 'a {
        (0..self.rows()).filter(move |row| query.is_none_or(|query| *query == self.query_ids[*row]))
    }

    /// The query of a row.
    ///
    /// # Errors
    /// A row number out of range.
    pub(in crate::api) fn query_of(&self, row: usize) -> Result<&Id> {
        let problem = || Error::value("row", row.to_string(), format!("a number below {}", self.rows()));
        self.query_ids.get(row).ok_or_else(problem)
    }

    /// The columns to read: all for training, otherwise the model's.
    fn columns(&self, request: ReadRequest<'_>) -> Result<Vec<usize>> {
        let all = || (0..self.features()).collect();
        match (request.model, &self.names) {
            _ if !request.features => Ok(Vec::new()),
            (None, _) => Ok(all()),
            (Some(model), Some(names)) => {
                by_name(names, &model.card.features[..model.card.numbers()], "features")
            }
            (Some(model), None) => {
                check_size(&"features", self.features(), model.card.numbers())?;
                Ok(all())
            }
        }
    }

    fn query_columns(&self, request: ReadRequest<'_>) -> Result<Vec<usize>> {
        let Some(model) = request.model else { return Ok((0..self.query_names.len()).collect()) };
        match model.ranker.query_rule().filter(|rule| rule.kind == QueryFeatureKind::Named) {
            Some(rule) => by_name(&self.query_names, &rule.names, "query features"),
            None => Ok(Vec::new()),
        }
    }
}

/// The positions of the wanted names.
fn by_name(known: &[String], wanted: &[String], what: &str) -> Result<Vec<usize>> {
    let refuse = |missing| Error::Data(format!("the data set does not have {what} of the model: {missing}"));
    data::positions(wanted, known).map_err(refuse)
}
