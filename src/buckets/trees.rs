//! Training from packs that one process reads three times.
//!
//! | pass | kept data |
//! |---|---|
//! | statistics | counts and feature means, as for other trainings in buckets; grades and weights of all rows |
//! | bin edges | the sample of rows from which bin edges are computed |
//! | bins | the features of all rows in bins of a byte |
//!
//! Then trees are added as on rows. Queries are in the order of their ids, as rows in memory are, so bin edges,
//! bins, held-out queries and trees are the same as in a training on rows.

use std::sync::{Mutex, PoisonError, RwLock};

use super::grid::{Count, DataStatistics, First, STATISTICS, wrong_length};
use super::judgments::{Judgments, Rows};
use super::replay::{Part, Question, Replay};
use super::sums::BucketSums;
use super::training::unsupported;
use super::training::{BucketTraining, Outcome};
use crate::base::{Control, Error, Result, parallel};
use crate::data::{Dataset, Missing, Scaling, ScalingKind};
use crate::train::algorithm::TrainingSpec;
use crate::train::boosted_trees::early::{MOST_TREES, ScaledRows};
use crate::train::boosted_trees::{TreeCount, TreesSpec, Use};
use crate::train::grid;
use crate::trees::{BinnedParts, EdgeSample};

const STATISTICS_TASK: usize = 0;
const EDGES_TASK: usize = 1;
const BINS_TASK: usize = 2;

/// Kinds of questions, besides [`STATISTICS`].
const EDGES: u64 = 1;
const BINS: u64 = 2;

/// A training, and the data that it keeps from the packs.
pub(super) struct PackTrees {
    spec: TreesSpec,
    stage: RwLock<Stage>,
}

/// The results of the passes so far.
enum Stage {
    /// Grades and weights of each bucket.
    Judgments(Mutex<Judgments>),
    Edges(Rows, EdgeSample),
    Bins(Rows, BinnedParts),
    /// The trees were added.
    Done,
}

impl PackTrees {
    /// # Errors
    /// Choices that packs do not support.
    pub fn new(spec: TreesSpec) -> Result<Self> {
        let problem = if spec.both_scales || spec.scale != ScalingKind::None {
            format!(
                "\"scale\": \"{}\" is not supported; trees need no scaling, so leave it out",
                spec.scale_name()
            )
        } else if spec.baseline.is_some() {
            "the option 'baseline' is not supported; train on rows".to_owned()
        } else if !spec.monotone.is_empty() {
            "the option 'monotone' is not supported; train on rows".to_owned()
        } else if spec.query_columns == Use::Always {
            "packs have no query features; leave out the option 'query_columns', or train on rows".to_owned()
        } else if spec.validation.data.source().is_some() {
            "the option 'validation' takes the fraction of queries that are held out, and no source"
                .to_owned()
        } else {
            return Ok(Self { spec, stage: RwLock::new(Stage::Judgments(Mutex::default())) });
        };
        Err(unsupported(&problem))
    }

    /// Ends a pass, and returns the next stage.
    fn advance(&self, from: usize, statistics: &DataStatistics, control: &Control) -> Result<()> {
        let mut stage = self.stage.write().unwrap_or_else(PoisonError::into_inner);
        let options = self.spec.options;
        *stage = match (std::mem::replace(&mut *stage, Stage::Done), from) {
            (Stage::Judgments(judgments), STATISTICS_TASK) => {
                let rows = Rows::new(judgments.into_inner().unwrap_or_else(PoisonError::into_inner));
                if rows.data.relevance.len() != statistics.documents() as usize {
                    return Err(Error::Data(
                        "the packs changed while they were read; train again".to_owned(),
                    ));
                }
                self.spec.check(&rows.data)?;
                let (count, is_double) = (rows.data.relevance.len(), statistics.is_double());
                let sample = EdgeSample::new(count, statistics.dim(), is_double, options.seed, control)?;
                Stage::Edges(rows, sample)
            }
            (Stage::Edges(rows, sample), EDGES_TASK) => {
                let edges = sample.edges(options.bins, control)?;
                let bins = BinnedParts::new(edges, rows.data.relevance.len(), control)?;
                Stage::Bins(rows, bins)
            }
            (stage, _) => stage,
        };
        Ok(())
    }
}

impl BucketTraining for PackTrees {
    fn spec(&self) -> &dyn TrainingSpec {
        &self.spec
    }

    /// Histograms need the previous splits, so each level of a tree would be a round.
    fn check_rounds(&self) -> Result<()> {
        let (trees, most) = match self.spec.trees {
            TreeCount::Fixed(trees) | TreeCount::OrNone(trees) => (trees, ""),
            TreeCount::Auto => (MOST_TREES, "up to "),
        };
        let rounds = trees.saturating_mul(self.spec.seeds).saturating_mul(self.spec.options.depth);
        Err(Error::Unsupported(format!(
            "'boosted_trees' trains in buckets in one process only: in rounds it would need {most}{rounds}, one for each level of \
             each tree; call ltr_fit with the packs, or use \"regression\""
        )))
    }

    fn run(&self, replay: &mut Replay, control: &Control) -> Result<Option<Outcome>> {
        // 1. Three passes.
        let statistics = replay.task(STATISTICS_TASK, |asking| {
            let statistics = DataStatistics::new(asking.ask(Question::new(STATISTICS, Part::All)).numbers)?;
            if statistics.count(Count::Pairs, Part::All) < 1.0 {
                return Err(grid::nothing_to_learn(statistics.count(Count::Queries, Part::All) as usize));
            }
            Ok(statistics.numbers().to_vec())
        })?;
        let Some(statistics) = statistics else { return Ok(None) };
        let statistics = DataStatistics::new(statistics)?;
        self.advance(STATISTICS_TASK, &statistics, control)?;
        for (task, kind) in [(EDGES_TASK, EDGES), (BINS_TASK, BINS)] {
            let asked = replay.task(task, |asking| {
                asking.ask(Question::new(kind, Part::All));
                Ok(())
            })?;
            if asked.is_none() {
                return Ok(None);
            }
            self.advance(task, &statistics, control)?;
        }
        // 2. The trees.
        let stage =
            std::mem::replace(&mut *self.stage.write().unwrap_or_else(PoisonError::into_inner), Stage::Done);
        let Stage::Bins(rows, bins) = stage else {
            return Err(Error::Internal("trees without bins".to_owned()));
        };
        let scaled =
            ScaledRows { data: &rows.data, scaling: &Scaling::None, start: &[], are_contradicting: false };
        let trained = self.spec.boost(bins.prepared(), scaled, None, control)?.trained(Scaling::None);
        let trained = statistics.trained(trained);
        let missing_filled = if self.spec.missing == Missing::Branch { 0 } else { trained.missing_filled };
        Ok(Some(Outcome { missing_filled, ..trained }))
    }

    fn answer(
        &self,
        replay: &Replay,
        bucket: u32,
        mut data: Dataset,
        control: &Control,
    ) -> Result<Vec<BucketSums>> {
        let stage = self.stage.read().unwrap_or_else(PoisonError::into_inner);
        if let Stage::Judgments(judgments) = &*stage {
            let first = First {
                informative: &|grades, _| crate::cost::loss::pair_count(grades) > 0,
                missing: self.spec.missing,
                counts_bins: false,
            };
            let sums = first.answer(bucket, &data)?;
            let mut judgments = parallel::lock(judgments);
            judgments.insert(bucket, data, control.memory())?;
            return Ok(vec![sums]);
        }
        let statistics = DataStatistics::new(replay.result(STATISTICS_TASK)?.ok_or_else(wrong_length)?)?;
        statistics.complete(&mut data, bucket, self.spec.missing)?;
        match &*stage {
            Stage::Edges(rows, sample) => sample.add(rows.of_bucket(bucket, &data)?, &data.features)?,
            Stage::Bins(rows, bins) => bins.add(rows.of_bucket(bucket, &data)?, &data.features, control)?,
            Stage::Judgments(_) | Stage::Done => return Err(Error::Internal("no question left".to_owned())),
        }
        Ok(vec![BucketSums::default()])
    }
}
