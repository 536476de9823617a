//! Training in rounds: a state asks, buckets answer, and the next state contains the sums of the answers.
//!
//! Rounds share nothing but the state. SQL functions, engines and `ltr_fit` run the same functions, so they give
//! the same bytes.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use super::algorithms::training;
use super::bytes::{Kind, checksum};
use super::pack;
use super::replay::Replay;
use super::round::Round;
use super::sums::{Answer, BucketSums};
use super::training::{BucketTraining, Outcome};
use crate::base::{Control, Error, Params, Result};
use crate::data::{Categories, Quantities, position_names};
use crate::model::{TrainingColumns, encode_header};
use crate::train::algorithm::{self, AlgorithmDef};
use crate::train::column_report::ColumnReport;
use crate::train::options::{self, Use};
use crate::train::report::{FeatureColumns, Finished};

/// A training between two rounds.
pub struct State {
    algorithm: &'static AlgorithmDef,
    /// The options of the training.
    pub options: Params,
    training: Box<dyn BucketTraining>,
    columns: Columns,
    round: Round,
    /// The buckets of the first round with the checksums of their packs, ascending.
    packs: Vec<(u32, u64)>,
    replay: Replay,
    /// The result of the last round.
    trained: Option<Outcome>,
}

/// The columns that the rows had before they were packed.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Columns {
    /// Names of the features; empty if they are numbered.
    pub names: Vec<String>,
    /// Columns by role, as named by the caller.
    pub roles: TrainingColumns,
}

impl State {
    /// A training with options that were checked, before its first round.
    ///
    /// # Errors
    /// Options that do not fit each other; choices that do not train in buckets.
    pub fn of(
        algorithm: &'static AlgorithmDef,
        options: &Params,
        buckets: u32,
        columns: Columns,
    ) -> Result<Self> {
        let identity = encode_header(&(algorithm.name, options_text(options), buckets))?;
        Ok(Self {
            algorithm,
            options: options.clone(),
            training: training(algorithm, options)?,
            columns,
            round: Round { training: xxh3_64(&identity), number: 1, buckets, present: None },
            packs: Vec::new(),
            replay: Replay::default(),
            trained: None,
        })
    }

    /// The training in its first round, on any number of machines.
    ///
    /// # Errors
    /// As [`Self::begun`]; choices that only train in one process.
    pub fn in_rounds(self, control: &Control) -> Result<Self> {
        self.training.check_rounds()?;
        self.begun(control)
    }

    /// The training in its first round; all rounds are in this process.
    ///
    /// # Errors
    /// A program whose panics do not unwind; an interrupt.
    pub fn begun(mut self, control: &Control) -> Result<Self> {
        self.run(control).map(|()| self)
    }

    /// Runs the training over the recorded answers.
    fn run(&mut self, control: &Control) -> Result<()> {
        if !cfg!(panic = "unwind") {
            let problem = "training in buckets needs a program whose panics unwind";
            return Err(Error::Unsupported(problem.to_owned()));
        }
        self.trained = self.training.run(&mut self.replay, control)?;
        Ok(())
    }

    /// Whether no round is left.
    pub fn is_done(&self) -> bool {
        self.replay.questions.is_empty()
    }

    /// The current round, from 1; the number of rounds once the training is done.
    pub fn round(&self) -> u64 {
        self.round.number - u64::from(self.is_done())
    }

    /// A description of the state, as JSON.
    pub fn to_json(&self) -> Value {
        let (objective, gap) = self.replay.progress.unzip();
        json!({
            "algorithm": self.algorithm.name,
            "buckets": self.round.buckets,
            "done": self.is_done(),
            "round": self.round(),
            "objective": objective,
            "gap": gap,
        })
    }

    /// The answer of one bucket, from its pack.
    ///
    /// # Errors
    /// A training that is done; a pack of another bucket; rows that it cannot learn from; an interrupt.
    pub fn answer(&self, bucket: u32, pack: &[u8], control: &Control) -> Result<Answer> {
        if self.is_done() {
            return Err(Error::Unsupported("the training is done; call ltr_finish(state)".to_owned()));
        }
        let Round { buckets, .. } = self.round;
        if bucket >= buckets {
            let allowed = format!("a whole number from 0 to {}", buckets - 1);
            return Err(Error::value("argument 'bucket'", bucket.to_string(), allowed));
        }
        let mut data = pack::read(pack, bucket, buckets)?;
        let refused = self.training.spec().input().doc_weights.problem();
        if let Some(problem) = refused.filter(|_| !data.doc_weights.is_empty()) {
            return Err(Error::Unsupported(format!("bucket {bucket} has weights of documents: {problem}")));
        }
        let features = data.features.columns();
        let names = &self.columns.names;
        if !names.is_empty() && names.len() != features {
            return Err(Error::Data(format!(
                "bucket {bucket} has {features} features, but \"columns\": {{\"features\": [...]}} has {} names",
                names.len()
            )));
        }
        data.names.clone_from(names);
        // The first round records the packs. Later ones need the same.
        let checksum = checksum(pack);
        let place = self.packs.binary_search_by(|(known, _)| known.cmp(&bucket));
        if place.is_ok_and(|place| self.packs[place].1 != checksum) {
            return Err(Error::Data(format!(
                "bucket {bucket} has a different pack than in the first round; a training needs the same rows in every round"
            )));
        }
        let mut sums = self.training.answer(&self.replay, bucket, data, control)?;
        if self.round.present.is_none() {
            sums.push(BucketSums { counts: vec![(bucket, checksum)], ..BucketSums::default() });
        }
        Answer::of_bucket(self.round.clone(), bucket, sums)
    }

    /// Goes on to the next round with the answers of all buckets.
    ///
    /// # Errors
    /// A missing bucket; answers from a different round or training; data that the training cannot learn from.
    pub fn step(&mut self, answer: Answer, control: &Control) -> Result<()> {
        let digest = answer.digest()?;
        let (mut sums, present) = answer.total(&self.round)?;
        if self.round.present.is_none() {
            self.packs = sums.pop().unwrap_or_default().counts;
            check_packs(&self.packs, &present)?;
        }
        self.round.training = xxh3_64(&[self.round.training.to_le_bytes(), digest.to_le_bytes()].concat());
        self.round.number = self.round.number.saturating_add(1);
        self.round.present = Some(present);
        self.replay.record(sums)?;
        self.run(control)
    }

    /// The model.
    ///
    /// # Errors
    /// A training that is not done.
    pub fn finish(mut self, control: &Control) -> Result<Finished> {
        if self.trained.is_none() && self.is_done() {
            self.run(control)?;
        }
        let Some(Outcome { trained, counts, means, missing_filled }) = self.trained.take() else {
            let problem = format!(
                "round {} is not answered yet; call ltr_step until ltr_info(state) ->> 'done'",
                self.round()
            );
            return Err(Error::Unsupported(problem));
        };
        let Columns { names, roles } = self.columns;
        let column_report = ColumnReport::of_packs(&roles, &names);
        let names = if names.is_empty() { position_names(means.len()) } else { names };
        let (categories, quantities) = (Categories::default(), Quantities::default());
        let columns = FeatureColumns { names, categories, quantities, means, roles };
        let mut finished = Finished::new(self.algorithm, self.training.spec(), counts, columns, trained);
        finished.model.card.settings["buckets"] = json!(self.round.buckets);
        finished.missing_filled = missing_filled;
        finished.columns = column_report;
        Ok(finished)
    }

    /// The BLOB.
    ///
    /// # Errors
    /// Contents that are too long.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let Self { algorithm, options, columns, round, packs, replay, .. } = self;
        Kind::State.encode(&(algorithm.name, options_text(options), columns, round, packs, replay))
    }

    /// The state of a BLOB.
    ///
    /// # Errors
    /// Bytes that [`Self::to_bytes`] does not write.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        type Stored = (String, String, Columns, Round, Vec<(u32, u64)>, Replay);
        let (name, options, columns, round, packs, replay): Stored = Kind::State.decode(bytes)?;
        let options = options::parse(Some(&options), Use::Fit)?;
        round.check()?;
        check_packs(&packs, round.present.as_deref().unwrap_or_default())?;
        replay.check()?;
        let state = Self::of(algorithm::find(&name)?, &options, round.buckets, columns)?;
        state.training.check_rounds()?;
        let is_first = round.present.is_none();
        if !(1..=u64::from(u32::MAX)).contains(&round.number) || (round.number == 1) != is_first {
            return Err(Kind::State.forged("rounds from 1, and the buckets of the first one"));
        }
        Ok(Self { round, packs, replay, ..state })
    }
}

fn options_text(options: &Params) -> String {
    Value::Object(options.given().clone()).to_string()
}

/// Refuses packs of the first round that belong to other buckets.
fn check_packs(packs: &[(u32, u64)], present: &[u32]) -> Result<()> {
    let problem = "not the packs of a first round: they need one of each bucket with rows, in order";
    let are_same = packs.iter().map(|(bucket, _)| bucket).eq(present);
    are_same.then_some(()).ok_or_else(|| Error::Data(problem.to_owned()))
}

#[cfg(test)]
mod tests;
