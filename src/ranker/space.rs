//! The space in which a ranking function is linear, and what turns its weights into scores.
//!
//! | form | score of document j among k |
//! |---|---|
//! | `scoring` | s(x_j), equation (3.7) of Dai & Wang (2019) |
//! | `ranking` | (1 / k) sum_l f(x_j, x_l), the least-squares scores (3.6) of a ranking function f of pairs, (3.1) |
//!
//! A linear f of pairs is a difference of linear scores, and its squared norm is twice theirs, so the ranking form is the
//! scoring form with 2 lambda and centred scores.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::data::{Documents, Matrix};
use crate::error::Result;
use crate::math::dense::dot;
use crate::solve::PairBlock;

/// What is learned: a score of documents, or an order of pairs of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// A scoring function s(x).
    Scoring,
    /// A ranking function f(x, x'), antisymmetric.
    Ranking,
}

/// Names of the forms, as the option `form` has them.
pub const FORM_NAMES: &[&str] = &["scoring", "ranking"];

impl Form {
    /// The form of this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Scoring, Self::Ranking].into_iter().find(|form| form.name() == name)
    }

    /// The name in the option `form`.
    pub fn name(self) -> &'static str {
        FORM_NAMES[self as usize]
    }
}

/// A space of functions of scaled documents.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Space {
    width: usize,
    form: Form,
}

impl Space {
    /// Linear functions of `width` scaled features.
    pub fn linear(width: usize, form: Form) -> Self {
        Self { width, form }
    }

    /// Number of scaled features of a document.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of weights that a solver finds.
    pub fn dim(&self) -> usize {
        self.width
    }

    /// Number of weights of a function that scores.
    pub fn weights(&self) -> usize {
        self.width
    }

    /// True where one document can be scored without the rest of its query.
    pub fn pointwise(&self) -> bool {
        self.form == Form::Scoring
    }

    /// True where a score is a weighted sum of scaled features.
    pub fn is_linear(&self) -> bool {
        true
    }

    /// The lambda with which a solver finds the function that the caller's lambda means.
    pub fn solver_lambda(&self, lambda: f64) -> f64 {
        match self.form {
            Form::Scoring => lambda,
            Form::Ranking => 2.0 * lambda,
        }
    }

    /// Some rows of scaled documents, those of one query, prepared for a solver.
    ///
    /// # Errors
    /// Labels and documents that do not fit together.
    pub fn block(&self, documents: &Matrix, rows: Range<usize>, labels: &[f64]) -> Result<PairBlock> {
        match documents {
            Matrix::F32(_) => PairBlock::new(&documents.rows_f32(rows), labels, self.width),
            Matrix::F64(_) => PairBlock::new(&documents.rows_f64(rows), labels, self.width),
        }
    }

    /// The weights of the function that a solver has found.
    pub fn function(&self, w: Vec<f64>) -> Vec<f64> {
        w
    }

    /// Scores of the scaled documents of one query; higher is better.
    pub fn scores(&self, documents: &Documents<'_>, weights: &[f64]) -> Vec<f64> {
        let scores = documents.range().map(|row| documents.features.row_dot(row, weights)).collect();
        self.finished(scores)
    }

    /// What the scaled documents of one query are before weights come in: one row each.
    pub fn columns(&self, documents: &Documents<'_>) -> Vec<Vec<f64>> {
        documents.range().map(|row| documents.features.row_f64(row)).collect()
    }

    /// Scores of documents from their [`Self::columns`], for one function after the other.
    pub fn scores_of_columns(&self, columns: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
        self.finished(columns.iter().map(|row| dot(row, weights)).collect())
    }

    /// The scores of the form: centred in the ranking form.
    fn finished(&self, mut scores: Vec<f64>) -> Vec<f64> {
        if self.form == Form::Ranking {
            let mean = scores.iter().sum::<f64>() / scores.len().max(1) as f64;
            for score in &mut scores {
                *score -= mean;
            }
        }
        scores
    }

    /// True where the stored parts fit together.
    pub fn is_sound(&self) -> bool {
        self.width > 0
    }
}
