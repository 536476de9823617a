//! Held-out queries measured with several lambdas.
//!
//! A trial is one function, fitted for every lambda on the judgments of its neighbors, and the queries that judge it. Trials
//! run in parallel; their values are in the order of the queries.

use std::sync::PoisonError;

use ndarray::Array2;

use super::checks;
use super::fits::{groups, in_order};
use super::session::{Scaled, Session, query_features};
use super::spec::GridSpec;
use crate::base::{Control, Error, Reservation, Result, bytes_of, each_in_memory, parallel};
use crate::cost::loss::{Loss, Shape};
use crate::data::{Dataset, push_down_unselected};
use crate::learn::fit::{FitSpec, LambdaScope, Neighbor, Neighborhood, Penalty, streamed_scores};
use crate::learn::smoothing::{SmoothingKind, Target};
use crate::train::algorithm::FoldUnit;
use crate::train::select::{CandidatePath, FitQuality, Prepared};

/// The metric of one query at every lambda.
type Values = Vec<Option<f64>>;

impl GridSpec {
    /// The option that validation chooses by this penalty.
    pub(super) fn candidate_option(&self) -> &'static str {
        match self.penalty {
            Penalty::Ridge | Penalty::Threshold | Penalty::L1 => "lambda",
            Penalty::Components => "components",
            Penalty::Ball | Penalty::Sphere => "radius",
        }
    }

    /// Queries, unless each query's function is fitted to that query alone.
    pub(super) fn unit(&self) -> Result<FoldUnit> {
        if self.smoothing.kind != SmoothingKind::Individual {
            return Ok(FoldUnit::Queries);
        }
        Err(Error::Unsupported(
            "smoothing \"individual\" has no function for queries that are held out; choose lambda with \"validation\": \
             \"documents\", or use another smoothing"
                .to_owned(),
        ))
    }
}

impl CandidatePath for GridSpec {
    fn prepare<'a>(
        &'a self,
        training: Dataset,
        held_out: Dataset,
        control: &'a Control,
    ) -> Result<Box<dyn Prepared + 'a>> {
        let session = Session::new(self, training, control)?;
        let round = session.round(held_out)?;
        Ok(Box::new(Measuring { session, round }))
    }

    fn values(
        &self,
        training: Dataset,
        held_out: Dataset,
        candidates: &[f64],
        control: &Control,
    ) -> Result<Vec<Values>> {
        checks::informative(self, &training)?;
        // 1. What is not given is chosen within the training data.
        let (mut spec, _) = self.for_rows(&training, None, control)?;
        let mut given = candidates.to_vec();
        if candidates.is_empty() || spec.prior_lambda.is_none() && spec.fits_prior() {
            let inner = spec.held_out(&training, None)?;
            if candidates.is_empty() {
                let chosen = spec.choose(&inner, control)?;
                given.extend(chosen.lambdas.map(|lambdas| lambdas.all));
                spec = chosen.spec;
            } else {
                spec.choose_prior(&inner, control)?;
            }
        }
        // 2. The functions, and the held-out queries.
        let session = Session::new(&spec, training, control)?;
        if given.is_empty() {
            given.push(session.rate());
        }
        let round = session.round(held_out)?;
        session.values(&round, &given, FitQuality::Final)
    }
}

/// Held-out documents, and the training rows without them.
struct Measuring<'a> {
    session: Session<'a>,
    round: Round,
}

impl Prepared for Measuring<'_> {
    fn values(&self, candidates: &[f64], quality: FitQuality) -> Result<Vec<Values>> {
        self.session.values(&self.round, candidates, quality)
    }

    fn scores(&self, candidate: f64, documents: Dataset) -> Result<Option<Vec<f64>>> {
        let kept = self.session.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, w)) = kept.iter().find(|(lambda, _)| lambda.total_cmp(&candidate).is_eq()) else {
            return Ok(None);
        };
        let (round, control) = (self.session.round(documents)?, self.session.control);
        let judge = &round.judge;
        let of_query = |query| {
            control.check()?;
            let scores =
                self.session.space().scores_by(&judge.documents(query), [&w[..]].into_iter(), control)?;
            Ok(scores.concat())
        };
        Ok(Some(parallel::try_map(judge.n_queries(), of_query)?.concat()))
    }
}

/// Documents that judge functions.
struct Round {
    /// Their features are scaled.
    judge: Dataset,
    /// Encoded query features (`n_queries`, width).
    features: Array2<f64>,
    /// The training query whose function a query judges.
    own: Vec<Option<usize>>,
    _memory: Vec<Reservation>,
}

/// One function to fit and the queries that judge it.
struct Trial {
    /// Training queries with a weight.
    neighbors: Vec<Neighbor>,
    /// Indices of queries of the judge, ascending.
    queries: Vec<usize>,
    /// The query features of its function.
    features: Vec<f64>,
}

impl Session<'_> {
    fn round(&self, mut judge: Dataset) -> Result<Round> {
        let features = query_features(self.rule.as_ref(), &judge)?;
        let Self { spec, scaling, products, baseline, .. } = self;
        let scaled = Scaled { scaling, products: products.as_ref(), baseline: baseline.as_ref() };
        let memory = scaled.scale_and_multiply(spec, &mut judge, self.control)?;
        // A training query keeps its function if its features are the same, as in a ranking. Without other functions, and
        // to choose the lambda of that function, its id is enough.
        let by_id = self.spec.smoothing.kind == SmoothingKind::Individual
            || self.spec.lambda_scope == LambdaScope::Each;
        let own = |(query, id)| {
            let own: usize = self.data.query_ids.binary_search(id).ok()?;
            let is_same = || self.neighborhood.features.row(own) == features.row(query);
            (by_id || is_same()).then_some(own)
        };
        let own = judge.query_ids.iter().enumerate().map(own).collect();
        Ok(Round { judge, features, own, _memory: memory })
    }

    /// One trial for the queries with the same features, or one in all with uniform smoothing; and the bytes of their neighbors.
    fn trials(&self, round: &Round) -> Result<(Vec<Trial>, [Reservation; 2])> {
        let (neighborhood, control) = (&self.neighborhood, self.control);
        let queries = 0..round.judge.n_queries();
        let nothing = || control.memory().nothing();
        if neighborhood.smoothing.kind == SmoothingKind::Uniform {
            let neighbors = neighborhood.neighbors(&[], Target::Observed);
            return Ok((
                vec![Trial { neighbors, queries: queries.collect(), features: Vec::new() }],
                [nothing(), nothing()],
            ));
        }
        let by_id = neighborhood.smoothing.kind == SmoothingKind::Individual;
        let key = |query: usize| {
            let own = round.own[query].map(|own| own as f64);
            let features = if by_id { Vec::new() } else { round.features.row(query).to_vec() };
            features.into_iter().chain(own).collect()
        };
        let groups = groups(queries.map(key));
        // Neighbors are kept until all trials are fitted.
        let smoothing = neighborhood.smoothing;
        let neighbors = smoothing.neighbors_for(smoothing.widest()).min(neighborhood.blocks.len());
        let reserve = |neighbors: usize| {
            let what = format_args!("finding neighbors of {} queries", round.judge.n_queries());
            let way_out = "use a smaller option 'neighbors', or give lambda as a number";
            control.reserve(bytes_of::<Neighbor>(neighbors), what, way_out)
        };
        let expected = neighbors.saturating_mul(groups.len());
        let memory = reserve(expected)?;
        let batches: Vec<&[Vec<usize>]> = groups.chunks(Neighborhood::batch(groups.len())).collect();
        let trials = |number: usize| -> Result<Vec<Trial>> {
            control.check()?;
            let firsts: Vec<usize> = batches[number].iter().map(|group| group[0]).collect();
            let trials = batches[number].iter().zip(self.neighbors(round, &firsts));
            let trial = |(queries, neighbors): (&Vec<usize>, _)| Trial {
                neighbors,
                queries: queries.clone(),
                features: self.target(round, queries[0]).0,
            };
            Ok(trials.map(trial).collect())
        };
        let trials: Vec<Trial> = parallel::try_map(batches.len(), trials)?.into_iter().flatten().collect();
        // Queries at the distance of the last neighbor.
        let further =
            trials.iter().map(|trial| trial.neighbors.len()).sum::<usize>().saturating_sub(expected);
        Ok((trials, [memory, reserve(further)?]))
    }

    /// The neighbors of each of these queries of the judge.
    fn neighbors(&self, round: &Round, queries: &[usize]) -> Vec<Vec<Neighbor>> {
        let neighborhood = &self.neighborhood;
        if neighborhood.smoothing.kind == SmoothingKind::Individual {
            let of_query = |query: &usize| round.own[*query].map(|own| neighborhood.neighbors_of(own));
            return queries.iter().map(|query| of_query(query).unwrap_or_default()).collect();
        }
        let targets: Vec<(Vec<f64>, Target)> =
            queries.iter().map(|query| self.target(round, *query)).collect();
        let targets: Vec<(&[f64], Target)> =
            targets.iter().map(|(row, target)| (&row[..], *target)).collect();
        neighborhood.neighbors_of_all(&targets)
    }

    /// Encoded features of a held-out query.
    fn target(&self, round: &Round, query: usize) -> (Vec<f64>, Target) {
        match round.own[query] {
            Some(own) => (self.neighborhood.features.row(own).to_vec(), Target::Observed),
            None => (round.features.row(query).to_vec(), Target::Novel),
        }
    }

    /// Values of each query in a round.
    fn values(&self, round: &Round, lambdas: &[f64], quality: FitQuality) -> Result<Vec<Values>> {
        let tolerance = match quality {
            FitQuality::Coarse => self.spec.tolerance.max(selection_tolerance(&self.spec.loss)),
            FitQuality::Final => self.spec.tolerance,
        };
        let prior = self.prior();
        let local = self.fit_spec(&self.neighborhood, lambdas[0], tolerance, prior.as_ref())?;
        let (trials, _memory) = self.trials(round)?;
        self.control.expect(trials.len());
        let evaluate = |trial: &Trial| {
            let spec = local.at(&trial.features, self.control)?;
            let values = self.trial_values(&round.judge, trial, &spec, lambdas, quality)?;
            self.control.step();
            Ok(values)
        };
        let values = each_in_memory(&trials, evaluate)?.into_iter().flatten();
        Ok(in_order(trials.iter().flat_map(|trial| &trial.queries).copied().zip(values)))
    }

    /// For each query of a trial the metric at every lambda.
    fn trial_values(
        &self,
        judge: &Dataset,
        trial: &Trial,
        spec: &FitSpec,
        lambdas: &[f64],
        quality: FitQuality,
    ) -> Result<Vec<Values>> {
        let (grid, neighborhood, control) = (self.spec, &self.neighborhood, self.control);
        let value = |query: usize, scores: Vec<f64>| {
            let scores = push_down_unselected(grid.loss.constraint(), judge.row_groups(query), scores)
                .map_err(|problem| Error::Data(format!("query {}: {problem}", judge.query_ids[query])))?;
            grid.validation.metric.finite_value(judge.labels(query), &scores)
        };
        let space = &neighborhood.blocks.space;
        let streams = neighborhood.streams(spec, control)?;
        // A factorization gives the same least-squares solution for one lambda and for several.
        let is_direct = grid.loss.shape() == Shape::Quadratic && streams.is_none();
        let functions: Vec<Vec<f64>> = if quality == FitQuality::Final && !is_direct {
            let fit = |lambda: &f64| {
                let spec = FitSpec { lambda: *lambda, ..spec.clone() };
                neighborhood.fit(&trial.neighbors, &spec, control).map(|(function, _)| function.weights)
            };
            lambdas.iter().map(fit).collect::<Result<_>>()?
        } else if let Some(map) = streams {
            let solutions = neighborhood.streamed_path(&trial.neighbors, spec, map, lambdas, control)?;
            control.check()?;
            let functions = solutions.into_iter().map(|solution| space.function(solution.w));
            let functions = functions.collect::<Result<Vec<_>>>()?;
            let scores = streamed_scores(map, &functions, judge, &trial.queries, control)?;
            let values = |number: usize, scores: Vec<Vec<f64>>| {
                control.check()?;
                scores.into_iter().map(|scores| value(trial.queries[number], scores)).collect()
            };
            return parallel::map_of(scores, values).into_iter().collect();
        } else {
            let _memory = neighborhood.reserve(&trial.neighbors, control)?;
            let blocks = neighborhood.weighted_blocks(&trial.neighbors, control)?;
            spec.path(space, &blocks, lambdas, control)?
        };
        if grid.keeps_scores && quality == FitQuality::Final {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend(lambdas.iter().copied().zip(functions.iter().cloned()));
        }
        let values = trial.queries.iter().map(|&query| {
            let scores =
                space.scores_by(&judge.documents(query), functions.iter().map(Vec::as_slice), control)?;
            scores.into_iter().map(|scores| value(query, scores)).collect()
        });
        values.collect()
    }
}

/// The relative gap of fits that only screen candidates.
pub fn selection_tolerance(loss: &Loss) -> f64 {
    match (loss, loss.shape()) {
        // Cutting planes that stop early rank like their start point, and would validate that.
        (Loss::Pair(..), _) | (_, Shape::Convex) => 1e-4,
        (_, Shape::Quadratic | Shape::Smooth) => 1e-3,
        _ => 1e-2,
    }
}
