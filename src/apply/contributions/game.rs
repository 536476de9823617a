//! What features add to a score: in a coalition, its features have the values of the document and all others those of the base.

use super::shapley::Game;
use crate::base::control::Control;
use crate::base::error::Result;
use crate::data::{Documents, Matrix, shaped};
use crate::learn::space::{Opponents, Scorer, Space, WeightsOf};
use crate::model::Model;

/// A summand of the score, with the explained document and the base in its scaled features.
pub(super) struct Part<'a> {
    space: &'a Space,
    weights: &'a [f64],
    query: Opponents,
    document: Vec<f64>,
    base: Vec<f64>,
}

/// A score that is a sum of parts.
pub(super) struct Parts<'a> {
    /// Number of features.
    n: usize,
    parts: Vec<Part<'a>>,
}

impl<'a> Parts<'a> {
    /// `scorer`, with the weights of a function: that of the model, or the trees of a query. `rows`: the documents of a query
    /// and the base, before scaling. `explained`: the row of a document.
    pub(super) fn new(
        model: &Model,
        (scorer, weights): (&'a dyn Scorer, &'a [f64]),
        rows: &Matrix,
        explained: usize,
        control: &Control,
    ) -> Result<Self> {
        let count = rows.rows();
        let scaled = model.scaling.matrix(rows.clone(), &[0, count], control)?;
        let mut parts = Vec::new();
        for summand in scorer.summands(weights) {
            let scaled = match summand.scaling {
                None => scaled.clone(),
                Some(scaling) => scaling.matrix(scaled.clone(), &[0, count], control)?,
            };
            let (document, base) = (scaled.row_f64(explained), scaled.row_f64(count - 1));
            let (space, weights) = (summand.space, summand.weights);
            let documents_of_query = Documents { features: &scaled, start: 0, end: count - 1 };
            let query = space.query(&documents_of_query, weights, control)?;
            parts.push(Part { space, weights, query, document, base });
        }
        Ok(Self { n: rows.columns(), parts })
    }

    /// Features that differ between the base and the document.
    pub(super) fn differing(&self) -> Vec<usize> {
        (0..self.n).filter(|feature| self.parts.iter().any(|part| part.differs(self.n, *feature))).collect()
    }

    /// The score of the base.
    pub(super) fn base(&self, control: &Control) -> Result<f64> {
        let mut sum = 0.0;
        for part in &self.parts {
            sum += part.scores(part.base.clone(), control)?.iter().sum::<f64>();
        }
        Ok(sum)
    }

    /// What each feature adds in the parts whose contributions are exact: linear functions and trees.
    pub(super) fn exact(&self) -> Vec<f64> {
        let mut added = vec![0.0; self.n];
        for part in &self.parts {
            match part.space.weights_of() {
                WeightsOf::Features => part.add_linear(&mut added),
                WeightsOf::Leaves(forest) => {
                    let found = forest.contributions(part.weights, &part.document, &part.base, self.n);
                    added.iter_mut().zip(found).for_each(|(added, found)| *added += found);
                }
                WeightsOf::Documents(_) | WeightsOf::Pairs => {}
            }
        }
        added
    }

    /// The other parts, as a game of these features.
    pub(super) fn game<'b>(&'b self, players: &'b [usize]) -> Option<FeatureGame<'b>> {
        let is_other =
            |part: &&Part<'_>| matches!(part.space.weights_of(), WeightsOf::Documents(_) | WeightsOf::Pairs);
        let parts: Vec<&Part<'_>> = self.parts.iter().filter(is_other).collect();
        (!parts.is_empty()).then_some(FeatureGame { n: self.n, parts, players })
    }
}

impl Part<'_> {
    /// Scores of documents with these scaled features, row-major, in place of a document of the query.
    fn scores(&self, rows: Vec<f64>, control: &Control) -> Result<Vec<f64>> {
        let width = self.base.len();
        let rows = Matrix::F64(shaped(rows.len() / width.max(1), width, rows));
        self.space.scores_in(&self.query, &rows, self.weights, control)
    }

    /// Adds what each feature adds in a linear function.
    fn add_linear(&self, added: &mut [f64]) {
        let n = added.len();
        for (column, (x, base)) in self.document.iter().zip(&self.base).enumerate() {
            // Equal values add nothing, whatever their size.
            if x.to_bits() != base.to_bits() {
                added[column % n] += self.weights[column] * (x - base);
            }
        }
    }

    fn differs(&self, n: usize, feature: usize) -> bool {
        let differs = |column: usize| self.document[column].to_bits() != self.base[column].to_bits();
        (feature..self.base.len()).step_by(n).any(differs)
    }
}

/// Features as players.
pub(super) struct FeatureGame<'a> {
    n: usize,
    parts: Vec<&'a Part<'a>>,
    players: &'a [usize],
}

impl Game for FeatureGame<'_> {
    fn players(&self) -> usize {
        self.players.len()
    }

    fn numbers(&self) -> usize {
        self.parts.iter().map(|part| part.base.len() + part.space.dim()).max().unwrap_or(0)
    }

    fn values(&self, members: &[bool], control: &Control) -> Result<Vec<f64>> {
        let coalitions = members.chunks_exact(self.players.len());
        let mut values = vec![0.0; coalitions.len()];
        for part in &self.parts {
            let mut rows = Vec::with_capacity(values.len() * part.base.len());
            for members in coalitions.clone() {
                let start = rows.len();
                rows.extend_from_slice(&part.base);
                for (&feature, _) in self.players.iter().zip(members).filter(|(_, is_member)| **is_member) {
                    for column in (feature..part.base.len()).step_by(self.n) {
                        rows[start + column] = part.document[column];
                    }
                }
            }
            let scores = part.scores(rows, control)?;
            values.iter_mut().zip(scores).for_each(|(value, score)| *value += score);
        }
        Ok(values)
    }
}
