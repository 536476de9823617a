//! Rounds of validation: who lends judgments, and which queries the functions fitted on them are judged by.

use std::sync::Arc;

use ndarray::Array2;
use rayon::prelude::*;

use super::spec::{LambdaChoice, Prior, Validation};
use super::train::{Session, query_features, scale};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::fit::{Neighbor, Neighborhood, TrainingBlocks};
use crate::loss::Loss;
use crate::select::{Folds, held_out_documents};
use crate::smoothing::Kind;

/// Share of the documents of each query that validation on documents holds out.
const HELD_OUT_DOCUMENTS: f64 = 0.2;

/// One round.
pub(super) struct Round {
    /// Whose judgments count.
    pub neighborhood: Neighborhood,
    /// The documents that functions are judged by, their features scaled.
    pub judge: Arc<Dataset>,
    /// The queries of `judge` that count, ascending.
    pub queries: Vec<usize>,
    /// What was held out, as a sentence.
    pub held_out: String,
    targets: Targets,
}

/// What the queries of the judge are to the training set.
#[derive(Clone)]
enum Targets {
    /// Training queries that are held out.
    HeldOut,
    /// Training queries some of whose documents are held out.
    Observed,
    /// Queries of another source: their features, and their number among the training queries where they are observed.
    Others { features: Arc<Array2<f64>>, own: Arc<Vec<Option<usize>>> },
}

/// One function to fit and the queries of the judge that it is for.
#[derive(Debug)]
pub(super) struct Trial {
    /// Whose judgments support it.
    pub neighbors: Vec<Neighbor>,
    /// Numbers of queries of the judge, ascending.
    pub queries: Vec<usize>,
}

impl Round {
    /// The same round for one function of all queries with this loss.
    pub fn uniform(&self, loss: &Loss) -> Result<Self> {
        Ok(Self {
            neighborhood: self.neighborhood.uniform(loss)?,
            judge: Arc::clone(&self.judge),
            queries: self.queries.clone(),
            held_out: self.held_out.clone(),
            targets: self.targets.clone(),
        })
    }

    /// True where the judge's queries are the training queries.
    pub fn judges_observed(&self) -> bool {
        matches!(self.targets, Targets::Observed)
    }

    /// One trial per query, or one for all of them where one function serves all.
    pub fn trials(&self, control: &Control) -> Result<Vec<Trial>> {
        if self.neighborhood.smoothing.kind == Kind::Uniform {
            return Ok(vec![Trial {
                neighbors: self.neighborhood.neighbors(&[]),
                queries: self.queries.clone(),
            }]);
        }
        let trial = |query: &usize| {
            control.check()?;
            Ok(Trial { neighbors: self.neighbors(*query), queries: vec![*query] })
        };
        self.queries.par_iter().map(trial).collect()
    }

    fn neighbors(&self, query: usize) -> Vec<Neighbor> {
        let neighborhood = &self.neighborhood;
        match &self.targets {
            Targets::HeldOut => neighborhood.neighbors(&neighborhood.features.row(query).to_vec()),
            Targets::Observed => neighborhood.neighbors_of(query),
            Targets::Others { own, .. } if neighborhood.smoothing.kind == Kind::Individual => {
                own[query].map_or_else(Vec::new, |own| neighborhood.neighbors_of(own))
            }
            Targets::Others { features, .. } => neighborhood.neighbors(&features.row(query).to_vec()),
        }
    }
}

impl Session<'_> {
    /// The rounds that the recipe's validation asks for; none where nothing is to be chosen.
    pub(super) fn rounds(&self, source: Option<Dataset>) -> Result<Vec<Round>> {
        let nothing_to_choose = matches!(self.recipe.lambda, LambdaChoice::Fixed(_));
        if nothing_to_choose && self.recipe.prior == Prior::Zero && !self.begins_elsewhere() {
            return Ok(Vec::new());
        }
        match (&self.recipe.validation, source) {
            (_, Some(source)) => Ok(vec![self.on_source(source)?]),
            (Validation::Documents, _) => Ok(vec![self.on_documents()]),
            (Validation::Queries(share), _) => Ok(self.on_queries(*share)),
            (Validation::Source(name), None) => {
                Err(Error::Internal(format!("validation source '{name}' was not read")))
            }
        }
    }

    fn on_queries(&self, share: f64) -> Vec<Round> {
        let n = self.data.n_queries();
        let judged: Vec<bool> = (0..n).map(|query| self.neighborhood.blocks.is_informative(query)).collect();
        let folds = Folds::by_query(&self.data.query_ids, &judged, share, self.recipe.seed).held_out;
        let queries: usize = folds.iter().flatten().filter(|held_out| **held_out).count();
        let sentence = format!("{queries} of {n} queries, in {} folds", folds.len());
        let round = |held_out: Vec<bool>| Round {
            queries: (0..n).filter(|query| held_out[*query]).collect(),
            neighborhood: Neighborhood { held_out: Arc::new(held_out), ..self.neighborhood.clone() },
            judge: Arc::clone(&self.data),
            held_out: sentence.clone(),
            targets: Targets::HeldOut,
        };
        folds.into_iter().map(round).collect()
    }

    fn on_documents(&self) -> Round {
        let held_out = held_out_documents(&self.data, HELD_OUT_DOCUMENTS, self.recipe.seed);
        let rows =
            |held: bool| -> Vec<usize> { (0..held_out.len()).filter(|row| held_out[*row] == held).collect() };
        let (kept, held) = (rows(false), rows(true));
        let space = Arc::clone(self.neighborhood.blocks.space());
        let blocks =
            TrainingBlocks::from_rows(space, Arc::new(self.data.with_rows(&kept)), self.recipe.loss.clone());
        Round {
            neighborhood: Neighborhood { blocks: Arc::new(blocks), ..self.neighborhood.clone() },
            judge: Arc::new(self.data.with_rows(&held)),
            queries: (0..self.data.n_queries()).collect(),
            held_out: format!("{} of {} documents", held.len(), held_out.len()),
            targets: Targets::Observed,
        }
    }

    fn on_source(&self, mut source: Dataset) -> Result<Round> {
        let features = Arc::new(query_features(self.rule.as_ref(), &source)?);
        scale(&self.scaling, &mut source, self.control)?;
        let own = source.query_ids.iter().map(|id| self.data.query_ids.binary_search(id).ok()).collect();
        Ok(Round {
            neighborhood: self.neighborhood.clone(),
            queries: (0..source.n_queries()).collect(),
            held_out: format!("{} queries of the validation source", source.n_queries()),
            judge: Arc::new(source),
            targets: Targets::Others { features, own: Arc::new(own) },
        })
    }
}
