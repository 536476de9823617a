//! Trees of any shape, trained by another library.
//!
//! The library reads a category as a code; here a category has one feature per value. So a document's row
//! is first converted to the library's format.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Card;
use super::codec::decode_header;
use crate::base::{Control, Result, parallel, require};
use crate::data::{Categories, Documents, Shuffle, Slice};
use crate::learn::space::{Function, Scorer};
use crate::math::Element;
use crate::trees::Keyed;
use crate::trees::general::{Feature, GeneralForest, Node};

pub(super) const TAG: &str = "general_trees";

/// Documents that one thread scores together.
const DOCUMENTS: usize = 512;

/// Trees of another library.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneralTrees {
    /// Number of features of a document.
    width: usize,
    /// How each feature of the library is computed from a document's features.
    pub inputs: Vec<TreeInput>,
    /// The trees, on the library's features.
    pub forest: GeneralForest,
    /// The function for all queries. Trees have no weights.
    #[serde(skip, default = "no_weights")]
    pub function: Arc<Function>,
}

/// How a feature of the library is computed from a document's features.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeInput {
    /// The feature with this number.
    Number(usize),
    Category {
        /// The feature of its first value.
        first: usize,
        /// The codes of its values, in their order.
        codes: Vec<u32>,
    },
}

fn no_weights() -> Arc<Function> {
    Arc::new(Function::zero(0))
}

impl TreeInput {
    /// Index of the input's first feature.
    fn first(&self) -> usize {
        match self {
            Self::Number(first) | Self::Category { first, .. } => *first,
        }
    }

    /// The value in the library's format. NaN is missing, and so are values that it does not know.
    fn read<T: Element>(&self, document: &[T]) -> f64 {
        match self {
            Self::Number(feature) => document[*feature].to_f64(),
            Self::Category { first, codes } => {
                let values = &document[*first..first + codes.len()];
                let category = values.iter().position(|value| value.to_f64() > 0.5);
                category.map_or(f64::NAN, |value| f64::from(codes[value]))
            }
        }
    }
}

impl GeneralTrees {
    /// Trees of documents with `width` features.
    pub fn new(width: usize, inputs: Vec<TreeInput>, forest: GeneralForest) -> Self {
        Self { width, inputs, forest, function: no_weights() }
    }

    pub fn score<T: Element>(&self, document: &[T]) -> f64 {
        if self.is_same_row() {
            return self.forest.score_row(document);
        }
        self.forest.score_row(&self.row(document))
    }

    /// Appends the scores of documents, row-major.
    pub fn add_scores<T: Keyed + Default>(&self, documents: &[T], scores: &mut Vec<f64>) {
        let first = scores.len();
        scores.resize(first + documents.len() / self.width.max(1), 0.0);
        self.score_rows(documents, &mut scores[first..]);
    }

    /// Contribution of each feature to a document's score (a category's is at its first feature), and the base.
    ///
    /// # Errors
    /// Trees without training weights.
    pub fn contributions(&self, document: &[f64]) -> Result<(Vec<f64>, f64)> {
        let contributions = self.forest.contributions(&self.row(document))?;
        let mut added = vec![0.0; self.width];
        for (input, contributions) in self.inputs.iter().zip(&contributions) {
            added[input.first()] = *contributions;
        }
        Ok((added, contributions.last().copied().unwrap_or_default()))
    }

    /// The library's features, with the column names used here.
    pub fn features(&self, card: &Card) -> Vec<Feature> {
        let mut is_category = vec![false; self.inputs.len()];
        for node in 0..self.forest.nodes() {
            if let Node::Split(split) = self.forest.node(node) {
                is_category[split.feature] |= split.set.is_some();
            }
        }
        let starts = card.categories.inputs(self.width);
        let inputs = self.inputs.iter().zip(is_category);
        inputs
            .map(|(input, is_category)| match input {
                TreeInput::Number(feature) => {
                    Feature { name: card.features[*feature].clone(), is_category, categories: Vec::new() }
                }
                TreeInput::Category { first, codes } => {
                    let number = starts.partition_point(|input| input.features().start < *first);
                    let category = card.categories.iter().nth(number - card.numbers());
                    let mut texts =
                        vec![String::new(); codes.iter().max().map_or(0, |last| *last as usize + 1)];
                    let values = category.map_or(&[][..], |category| &category.values);
                    codes
                        .iter()
                        .zip(values)
                        .for_each(|(code, value)| texts[*code as usize].clone_from(value));
                    let name = category.map_or("", |category| &category.name).to_owned();
                    Feature { name, is_category: true, categories: texts }
                }
            })
            .collect()
    }

    /// Checks that a model has these features.
    pub(super) fn check_features(&self, features: usize, categories: &Categories) -> Result<()> {
        let mut inputs: Vec<&TreeInput> = self.inputs.iter().collect();
        inputs.sort_by_key(|input| input.first());
        let columns = categories.inputs(features);
        let fits = |(input, column): (&&TreeInput, &crate::data::InputColumn<'_>)| {
            let range = column.features();
            input.first() == range.start
                && match input {
                    TreeInput::Number(_) => range.len() == 1,
                    TreeInput::Category { codes, .. } => {
                        // Several values can share a code: the spellings of a truth value.
                        let mut sorted = codes.clone();
                        sorted.sort_unstable();
                        sorted.dedup();
                        codes.len() + 2 == range.len() && sorted.iter().copied().eq(0..sorted.len() as u32)
                    }
                }
        };
        require(
            "trees of another library",
            &[
                (self.width == features && self.width > 0, "the features of the model"),
                (inputs.len() == columns.len(), "a column for each feature"),
                (inputs.iter().zip(&columns).all(fits), "a code for each value of a category"),
            ],
        )
    }

    pub(super) fn decode(header: &[u8]) -> Result<Self> {
        let trees: Self = decode_header(header)?;
        trees.validate()?;
        Ok(trees)
    }

    /// Whether the library has the features of a document in their order.
    fn is_same_row(&self) -> bool {
        self.inputs.len() == self.width
            && self.inputs.iter().enumerate().all(|(at, input)| *input == TreeInput::Number(at))
    }

    fn row<T: Element>(&self, document: &[T]) -> Vec<f64> {
        self.inputs.iter().map(|input| input.read(document)).collect()
    }

    fn score_rows<T: Keyed + Default>(&self, documents: &[T], scores: &mut [f64]) {
        if self.is_same_row() {
            return self.forest.score_rows(documents, self.width, scores);
        }
        let mut rows = Vec::with_capacity(scores.len() * self.inputs.len());
        for document in documents.chunks_exact(self.width.max(1)) {
            rows.extend(self.inputs.iter().map(|input| input.read(document)));
        }
        self.forest.score_rows(&rows, self.inputs.len(), scores);
    }
}

impl Scorer for GeneralTrees {
    fn width(&self) -> usize {
        self.width
    }

    fn dim(&self) -> usize {
        0
    }

    fn pointwise(&self) -> bool {
        true
    }

    fn operations(&self) -> usize {
        self.forest.operations().saturating_add(self.width)
    }

    fn validate(&self) -> Result<()> {
        require(
            "trees of another library",
            &[(self.forest.width() == self.inputs.len(), "an input for each feature of the trees")],
        )
    }

    fn shuffled(
        &self,
        documents: &Documents<'_>,
        _: &[f64],
        shuffles: &[Shuffle],
        control: &Control,
    ) -> Result<Vec<Vec<f64>>> {
        let mut rows = Vec::with_capacity(documents.len() * self.inputs.len());
        for row in documents.range() {
            rows.extend(self.row(&documents.features.row_f64(row)));
        }
        // A feature of the library is one column here, or all features of a category.
        let of_library = |Shuffle { columns, orders }: &Shuffle| {
            let inputs = self.inputs.iter().enumerate();
            let changes = inputs.filter(|(_, input)| columns.contains(&input.first()));
            Shuffle { columns: changes.map(|(number, _)| number).collect(), orders: orders.clone() }
        };
        let shuffles: Vec<Shuffle> = shuffles.iter().map(of_library).collect();
        self.forest.shuffled(&rows, &shuffles, control)
    }

    fn scores(&self, documents: &Documents<'_>, _: &[f64], control: &Control) -> Result<Vec<f64>> {
        let (features, rows) = (documents.features, documents.range());
        let mut scores = vec![0.0; documents.len()];
        let chunk = |number: usize, scores: &mut [f64]| {
            control.check()?;
            let first = rows.start + number * DOCUMENTS;
            let rows = first..first + scores.len();
            match features.slice(rows.clone()) {
                Some(Slice::F32(documents)) => self.score_rows(documents, scores),
                Some(Slice::F64(documents)) => self.score_rows(documents, scores),
                None => self.score_rows(&features.rows_f64(rows), scores),
            }
            Ok(())
        };
        parallel::try_each_of(scores.chunks_mut(DOCUMENTS).collect(), chunk)?;
        Ok(scores)
    }
}
