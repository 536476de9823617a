//! Rounds of validation: judgments to fit functions on, and queries to judge these functions.

use std::sync::Arc;

use super::session::{Session, query_features};
use crate::algorithm::selection::Validation;
use crate::algorithm::{Split, scale};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::fit::{LambdaScope, Neighbor, Neighborhood, TrainingBlocks};
use crate::loss::Loss;
use crate::memory::{Reservation, bytes_of};
use crate::parallel;
use crate::select::{Folds, held_out_documents};
use crate::smoothing::{SmoothingKind, Target};
use ndarray::Array2;

/// Fraction of the documents of each query that validation on documents holds out.
const HELD_OUT_DOCUMENTS: f64 = 0.2;

/// One round.
pub(super) struct Round {
    /// Judgments to fit functions on.
    pub neighborhood: Neighborhood,
    /// Documents that judge the functions, their features scaled.
    pub judge: Arc<Dataset>,
    /// The queries of `judge` that are evaluated, ascending.
    pub queries: Vec<usize>,
    /// What is held out.
    pub split: Split,
    targets: Targets,
    /// The bytes of what the round has of its own.
    memory: Arc<Vec<Reservation>>,
}

/// How the queries of the judge relate to the training set.
#[derive(Clone)]
enum Targets {
    /// Training queries that are held out.
    HeldOut,
    /// Training queries with some held-out documents.
    Observed,
    /// Queries of another source, with their features. `own`: the training queries whose functions they judge.
    Others { features: Arc<Array2<f64>>, own: Arc<Vec<Option<usize>>> },
}

/// One function to fit and the queries that judge it.
#[derive(Debug)]
pub(super) struct Trial {
    /// Training queries with a weight.
    pub neighbors: Vec<Neighbor>,
    /// Indices of queries of the judge, ascending.
    pub queries: Vec<usize>,
}

impl Round {
    /// The same round for one function of all queries with this loss.
    pub fn uniform(&self, loss: &Loss) -> Result<Self> {
        Ok(self.with_neighborhood(self.neighborhood.uniform(loss)?))
    }

    /// The same round with this loss.
    pub fn with_loss(&self, loss: &Loss) -> Result<Self> {
        Ok(self.with_neighborhood(self.neighborhood.with_loss(loss)?))
    }

    fn with_neighborhood(&self, neighborhood: Neighborhood) -> Self {
        Self {
            neighborhood,
            judge: Arc::clone(&self.judge),
            queries: self.queries.clone(),
            split: self.split,
            targets: self.targets.clone(),
            memory: Arc::clone(&self.memory),
        }
    }

    /// The training query whose function a query of the judge judges.
    pub fn training_query(&self, query: usize) -> Option<usize> {
        match &self.targets {
            Targets::HeldOut => None,
            Targets::Observed => Some(query),
            Targets::Others { own, .. } => own[query],
        }
    }

    /// One trial per query, or one in all with uniform smoothing; and the bytes of their neighbors.
    pub fn trials(&self, control: &Control) -> Result<(Vec<Trial>, Reservation)> {
        if self.neighborhood.smoothing.kind == SmoothingKind::Uniform {
            let neighbors = self.neighborhood.neighbors(&[], Target::Observed);
            let trial = Trial { neighbors, queries: self.queries.clone() };
            return Ok((vec![trial], control.memory().nothing()));
        }
        // Neighbors are kept until all trials are fitted.
        let smoothing = self.neighborhood.smoothing;
        let neighbors = smoothing.neighbors_for(smoothing.widest()).min(self.neighborhood.blocks.len());
        let bytes = bytes_of::<Neighbor>(neighbors).saturating_mul(self.queries.len() as u64);
        let what = format_args!("finding neighbors of {} queries", self.queries.len());
        let way_out = "use a smaller option 'neighbors', or give lambda as a number";
        let memory = control.reserve(bytes, what, way_out)?;
        let batches: Vec<&[usize]> = self.queries.chunks(Neighborhood::batch(self.queries.len())).collect();
        let trials = |number: usize| -> Result<Vec<Trial>> {
            control.check()?;
            let trials = batches[number].iter().zip(self.neighbors(batches[number]));
            Ok(trials.map(|(query, neighbors)| Trial { neighbors, queries: vec![*query] }).collect())
        };
        let trials = parallel::try_map(batches.len(), trials)?;
        Ok((trials.into_iter().flatten().collect(), memory))
    }

    /// The neighbors of each of these queries of the judge.
    fn neighbors(&self, queries: &[usize]) -> Vec<Vec<Neighbor>> {
        let neighborhood = &self.neighborhood;
        if neighborhood.smoothing.kind == SmoothingKind::Individual {
            let of_query = |query: &usize| match self.training_query(*query) {
                Some(own) => neighborhood.neighbors_of(own),
                None => Vec::new(),
            };
            return queries.iter().map(of_query).collect();
        }
        let target = |query: &usize| match (self.training_query(*query), &self.targets) {
            (Some(own), _) => (neighborhood.features.row(own).to_vec(), Target::Observed),
            (None, Targets::Others { features, .. }) => (features.row(*query).to_vec(), Target::Novel),
            (None, _) => (neighborhood.features.row(*query).to_vec(), Target::Novel),
        };
        let targets: Vec<(Vec<f64>, Target)> = queries.iter().map(target).collect();
        let targets: Vec<(&[f64], Target)> =
            targets.iter().map(|(row, target)| (&row[..], *target)).collect();
        neighborhood.neighbors_of_all(&targets)
    }
}

impl Session<'_> {
    /// The rounds of validation; none if there is no lambda to choose.
    pub(super) fn rounds(&self, source: Option<Dataset>) -> Result<Vec<Round>> {
        let spec = self.spec;
        if !spec.lambda.is_validated() && !spec.fits_prior() {
            return Ok(Vec::new());
        }
        match (&spec.validation.data, source) {
            (_, Some(source)) => Ok(vec![self.on_source(source)?]),
            (Validation::Documents, None) => Ok(vec![self.on_documents()?]),
            (Validation::Queries(fraction), None) => Ok(self.on_queries(*fraction)),
            (Validation::Source(name), None) => {
                Err(Error::Internal(format!("validation source '{name}' was not read")))
            }
        }
    }

    fn on_queries(&self, fraction: f64) -> Vec<Round> {
        let n = self.data.n_queries();
        let judged: Vec<bool> = (0..n).map(|query| self.neighborhood.blocks.is_informative(query)).collect();
        let folds = Folds::by_query(&self.data.query_ids, &judged, fraction, self.spec.seed).held_out;
        let held_out: usize = folds.iter().flatten().filter(|held_out| **held_out).count();
        let split = Split::Queries { held_out, all: n, folds: folds.len() };
        let round = |held_out: Vec<bool>| Round {
            queries: (0..n).filter(|query| held_out[*query]).collect(),
            neighborhood: Neighborhood { held_out: Arc::new(held_out), ..self.neighborhood.clone() },
            judge: Arc::clone(&self.data),
            split,
            targets: Targets::HeldOut,
            memory: Arc::default(),
        };
        folds.into_iter().map(round).collect()
    }

    fn on_documents(&self) -> Result<Round> {
        let what = "a copy of the training set for validation";
        let copy =
            self.control.reserve(self.data.bytes(), what, "give lambda as a number, or use fewer rows")?;
        let held_out = held_out_documents(&self.data, HELD_OUT_DOCUMENTS, self.spec.seed);
        let rows =
            |held: bool| -> Vec<usize> { (0..held_out.len()).filter(|row| held_out[*row] == held).collect() };
        let (kept, held) = (rows(false), rows(true));
        let space = Arc::clone(self.neighborhood.blocks.space());
        let blocks =
            TrainingBlocks::from_rows(space, Arc::new(self.data.with_rows(&kept)), self.spec.loss.clone());
        let neighborhood = Neighborhood { blocks: Arc::new(blocks), ..self.neighborhood.clone() };
        let prepared = neighborhood.reserve_cache(self.data.n_queries(), self.control.memory())?;
        let memory = prepared.into_iter().chain([copy]).collect();
        Ok(Round {
            neighborhood,
            judge: Arc::new(self.data.with_rows(&held)),
            queries: (0..self.data.n_queries()).collect(),
            split: Split::Documents { held_out: held.len(), all: held_out.len() },
            targets: Targets::Observed,
            memory: Arc::new(memory),
        })
    }

    pub(super) fn on_source(&self, mut source: Dataset) -> Result<Round> {
        let features = Arc::new(query_features(self.rule.as_ref(), &source)?);
        let memory = scale(&self.scaling, self.spec.scale, &mut source, self.control)?;
        // A training query keeps its function if its features are the same, as in a ranking. Without other functions, and
        // to choose the lambda of that function, its id is enough.
        let by_id = self.spec.smoothing.kind == SmoothingKind::Individual
            || self.spec.lambda_scope == LambdaScope::Each;
        let own = |(query, id)| {
            let own: usize = self.data.query_ids.binary_search(id).ok()?;
            (by_id || self.neighborhood.features.row(own) == features.row(query)).then_some(own)
        };
        let own = source.query_ids.iter().enumerate().map(own).collect();
        Ok(Round {
            neighborhood: self.neighborhood.clone(),
            queries: (0..source.n_queries()).collect(),
            split: Split::SourceQueries(source.n_queries()),
            judge: Arc::new(source),
            targets: Targets::Others { features, own: Arc::new(own) },
            memory: Arc::new(vec![memory]),
        })
    }
}
