//! Training from packs that one process reads three times.
//!
//! | pass | what it keeps |
//! |---|---|
//! | facts | counts and means of features, as other trainings in buckets; grades and weights of all rows |
//! | borders | the sample of rows from which borders are found |
//! | bins | the features of all rows in bins of a byte |
//!
//! Then trees are added as on rows. Queries are in the order of their ids, which rows in memory have, too. So borders, bins,
//! held-out queries and trees are those of rows.

use std::sync::{Mutex, PoisonError, RwLock};

use super::training::{BucketTraining, TrainedInBuckets};
use super::tree_rows::{Judgments, Rows};
use crate::base::control::Control;
use crate::base::error::{Error, Result};
use crate::buckets::grid::{Count, FACTS, Facts, First, numbers_to_bytes, wrong_length};
use crate::buckets::{Decoded, Part, Question, Reader, Replay, Sums};
use crate::data::{Dataset, Missing, Scaling, ScalingKind};
use crate::train::boosted_trees::early::MOST_TREES;
use crate::train::boosted_trees::{TreeCount, TreesSpec, Use};
use crate::train::grid;
use crate::trees::{BinnedParts, BorderSample};

/// Numbers of tasks.
const FACTS_TASK: usize = 0;
const BORDERS_TASK: usize = 1;
const BINS_TASK: usize = 2;

/// Kinds of questions, besides [`FACTS`].
const BORDERS: u64 = 1;
const BINS: u64 = 2;

/// A training, and what it keeps of the packs.
pub(super) struct PackTrees {
    spec: TreesSpec,
    stage: RwLock<Stage>,
}

/// What the passes gave so far.
enum Stage {
    /// Grades and weights of each bucket.
    Facts(Mutex<Judgments>),
    Borders(Rows, BorderSample),
    Bins(Rows, BinnedParts),
    /// The trees were added.
    Done,
}

/// Why trees do not train in rounds: their histograms need the splits before.
pub(super) fn too_many_rounds(spec: &TreesSpec) -> Error {
    let (trees, most) = match spec.trees {
        TreeCount::Fixed(trees) => (trees, ""),
        TreeCount::Auto => (MOST_TREES, "up to "),
    };
    let rounds = trees.saturating_mul(spec.seeds).saturating_mul(spec.options.depth);
    Error::Unsupported(format!(
        "'boosted_trees' trains in buckets in one process only: in rounds it would need {most}{rounds}, one for each level of \
         each tree; call ltr_fit with the packs, or use \"regression\""
    ))
}

impl PackTrees {
    /// # Errors
    /// Choices that need more than packs have.
    pub fn new(spec: &TreesSpec) -> Result<Self> {
        let problem = if spec.scale != ScalingKind::None {
            format!(
                "\"scale\": \"{}\" is not supported; trees need no scaling, so leave it out",
                spec.scale.name()
            )
        } else if spec.query_columns == Use::Always {
            "packs have no query features; leave out the option 'query_columns', or train on rows".to_owned()
        } else if spec.validation.data.source().is_some() {
            "the option 'validation' takes the fraction of queries that are held out, and no source"
                .to_owned()
        } else {
            return Ok(Self { spec: spec.clone(), stage: RwLock::new(Stage::Facts(Mutex::default())) });
        };
        Err(Error::Unsupported(format!("training in buckets: {problem}")))
    }

    /// Ends a pass: what comes next.
    fn advance(&self, from: usize, facts: &Facts, control: &Control) -> Result<()> {
        let mut stage = self.stage.write().unwrap_or_else(PoisonError::into_inner);
        let options = self.spec.options;
        *stage = match (std::mem::replace(&mut *stage, Stage::Done), from) {
            (Stage::Facts(judgments), FACTS_TASK) => {
                let rows = Rows::new(judgments.into_inner().unwrap_or_else(PoisonError::into_inner));
                if rows.data.relevance.len() != facts.documents() as usize {
                    return Err(Error::Data(
                        "the packs changed while they were read; train again".to_owned(),
                    ));
                }
                self.spec.check(&rows.data)?;
                let size = (rows.data.relevance.len(), facts.dim());
                let sample = BorderSample::new(size, facts.is_double(), options.seed, control)?;
                Stage::Borders(rows, sample)
            }
            (Stage::Borders(rows, sample), BORDERS_TASK) => {
                let borders = sample.borders(options.bins, control)?;
                let bins = BinnedParts::new(borders, rows.data.relevance.len(), control)?;
                Stage::Bins(rows, bins)
            }
            (stage, _) => stage,
        };
        Ok(())
    }
}

impl BucketTraining for PackTrees {
    fn run(
        &self,
        replay: &mut Replay,
        _names: &[String],
        control: &Control,
    ) -> Result<Option<TrainedInBuckets>> {
        // 1. Three passes.
        let ask = |kind| Question { kind, part: Part::All, numbers: Vec::new() };
        let facts = replay.task(FACTS_TASK, |asking| {
            let facts = Facts::new(asking.ask(ask(FACTS)).numbers)?;
            if facts.count(Count::Pairs, Part::All) < 1.0 {
                return Err(grid::nothing_to_learn(facts.count(Count::Queries, Part::All) as usize));
            }
            Ok(numbers_to_bytes(facts.numbers()))
        })?;
        let Some(facts) = facts else { return Ok(None) };
        let facts = Facts::new(Reader::of_state(&facts).numbers()?)?;
        self.advance(FACTS_TASK, &facts, control)?;
        for (task, kind) in [(BORDERS_TASK, BORDERS), (BINS_TASK, BINS)] {
            let asked = replay.task(task, |asking| {
                asking.ask(ask(kind));
                Ok(Vec::new())
            })?;
            if asked.is_none() {
                return Ok(None);
            }
            self.advance(task, &facts, control)?;
        }
        // 2. The trees.
        let stage =
            std::mem::replace(&mut *self.stage.write().unwrap_or_else(PoisonError::into_inner), Stage::Done);
        let Stage::Bins(rows, bins) = stage else {
            return Err(Error::Internal("trees without bins".to_owned()));
        };
        let trained = self.spec.boost((bins.prepared(), Scaling::None), &rows.data, None, control)?;
        let trained = facts.trained(trained);
        let missing_filled = if self.spec.missing == Missing::Branch { 0 } else { trained.missing_filled };
        Ok(Some(TrainedInBuckets { missing_filled, ..trained }))
    }

    fn answer(
        &self,
        replay: &Replay,
        decoded: &Decoded,
        (bucket, mut data): (u32, Dataset),
        control: &Control,
    ) -> Result<Vec<Sums>> {
        let stage = self.stage.read().unwrap_or_else(PoisonError::into_inner);
        if let Stage::Facts(judgments) = &*stage {
            let TreesSpec { missing, options, .. } = &self.spec;
            let first = First {
                informative: &|grades, _| crate::cost::loss::pair_count(grades) > 0,
                missing: *missing,
                counts_bins: false,
                sample: None,
                seed: options.seed,
            };
            let sums = first.answer(bucket, &data)?;
            let mut judgments = judgments.lock().unwrap_or_else(PoisonError::into_inner);
            judgments.insert(bucket, data, control.memory())?;
            return Ok(vec![sums]);
        }
        let facts = || {
            let numbers = replay.result(FACTS_TASK).ok_or_else(wrong_length)?;
            Facts::new(Reader::of_state(numbers).numbers()?)
        };
        let facts = decoded.get(facts)?;
        facts.complete(&mut data, bucket, self.spec.missing)?;
        match &*stage {
            Stage::Borders(rows, sample) => sample.add(rows.of_bucket(bucket, &data)?, &data.features)?,
            Stage::Bins(rows, bins) => bins.add(rows.of_bucket(bucket, &data)?, &data.features, control)?,
            Stage::Facts(_) | Stage::Done => return Err(Error::Internal("no question is left".to_owned())),
        }
        Ok(vec![Sums::default()])
    }
}
