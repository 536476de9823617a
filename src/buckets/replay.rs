//! Trainings as replays. A training is an ordinary function that asks questions. Between rounds its state keeps the
//! answers. In the next round the function runs again: it reads the recorded answers, and stops at the first missing one.
//!
//! Work that can run side by side, such as one fit per fold, is divided into tasks. A round has the question of each
//! unfinished task, so one pass over the buckets serves all of them. A finished task keeps its result instead of its
//! answers.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use super::bytes::{Kind, check_bytes};
use super::round::of_another_training;
use super::sums::BucketSums;
use crate::base::parallel::lock;
use crate::base::param::list;
use crate::base::{Error, Result, stopped, unwind};
use crate::model::{byte_string, encode_header};

/// Number of folds.
pub const FOLDS: u32 = 5;

/// The buckets that an answer covers. Bucket b is in fold b modulo [`FOLDS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    All,
    /// The buckets of a fold.
    Only(u32),
    /// The buckets of the other folds.
    Without(u32),
}

impl Part {
    /// Whether it includes a bucket.
    pub fn has(self, bucket: u32) -> bool {
        match self {
            Self::All => true,
            Self::Only(fold) => bucket % FOLDS == fold,
            Self::Without(fold) => bucket % FOLDS != fold,
        }
    }

    /// The included folds.
    pub fn folds(self) -> impl Iterator<Item = u32> {
        (0..FOLDS).filter(move |fold| self.has(*fold))
    }
}

/// A question to each bucket. The trainer defines its meaning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The kind of question.
    pub kind: u64,
    /// The buckets that answer.
    pub part: Part,
    /// Points and parameters.
    #[serde(deserialize_with = "list::whole")]
    pub numbers: Vec<f64>,
}

impl Question {
    /// A question without numbers.
    pub fn new(kind: u64, part: Part) -> Self {
        Self { kind, part, numbers: Vec::new() }
    }
}

/// The recorded data of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Record {
    /// The answers to its questions so far.
    Open(Vec<BucketSums>),
    Done(#[serde(serialize_with = "byte_string", deserialize_with = "owned")] Vec<u8>),
}

fn owned<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Vec<u8>, D::Error> {
    <&[u8]>::deserialize(from).map(<[u8]>::to_vec)
}

/// The tasks of a training.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    records: Vec<Record>,
    /// The task and the question of each unfinished task.
    pub questions: Vec<(usize, Question)>,
    /// Objective and gap of the last solution or point.
    pub progress: Option<(f64, f64)>,
}

/// The recorded answers of a task.
pub struct Asking<'a> {
    answers: &'a [BucketSums],
    used: AtomicUsize,
    missing: Mutex<Option<Question>>,
    progress: Mutex<Option<(f64, f64)>>,
}

impl Asking<'_> {
    /// The answer to the next question. If it is missing, the task unwinds, so a solver can ask from within the
    /// objective that it minimizes.
    pub fn ask(&self, question: Question) -> BucketSums {
        if let Some(sums) = self.answers.get(self.used.fetch_add(1, Ordering::Relaxed)) {
            sums.clone()
        } else {
            *lock(&self.missing) = Some(question);
            unwind(Error::Internal("an answer is missing".to_owned()))
        }
    }

    /// Reports a point's objective and gap.
    pub fn show(&self, objective: f64, gap: f64) {
        *lock(&self.progress) = Some((objective, gap));
    }
}

impl Replay {
    /// The result of task number `number`: the recorded one, otherwise the result of `work`; `None` if an answer
    /// is missing. It is always read from its bytes, so that a training that continues from a state is the same.
    ///
    /// # Errors
    /// Errors of `work`; too many bytes.
    pub fn task<T: Serialize + DeserializeOwned>(
        &mut self,
        number: usize,
        work: impl FnOnce(&Asking<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        // Several parts of a training may need the same task.
        if self.questions.iter().any(|(asked, _)| *asked == number) {
            return Ok(None);
        }
        if self.records.len() <= number {
            self.records.resize(number + 1, Record::Open(Vec::new()));
        }
        if let Record::Open(answers) = &self.records[number] {
            let (used, missing, progress) = (AtomicUsize::new(0), Mutex::new(None), Mutex::new(None));
            let asking = Asking { answers, used, missing, progress };
            let result = stopped(|| work(&asking));
            let shown = lock(&asking.progress).take();
            self.progress = shown.or(self.progress);
            if let Some(question) = lock(&asking.missing).take() {
                self.questions.push((number, question));
                return Ok(None);
            }
            self.records[number] = Record::Done(encode_header(&result?)?);
            self.check_bytes()?;
        }
        self.result(number)
    }

    /// The result of a task; `None` if it is not finished.
    ///
    /// # Errors
    /// Bytes of a different type of result.
    pub fn result<T: DeserializeOwned>(&self, number: usize) -> Result<Option<T>> {
        match self.records.get(number) {
            Some(Record::Done(result)) => Kind::State.decode_body(result).map(Some),
            _ => Ok(None),
        }
    }

    /// Reports the solution's objective and gap.
    pub fn show(&mut self, objective: f64, gap: f64) {
        self.progress = Some((objective, gap));
    }

    /// Records the answers to the questions of this round.
    ///
    /// # Errors
    /// A different number of answers; too many bytes.
    pub fn record(&mut self, answers: Vec<BucketSums>) -> Result<()> {
        let questions = std::mem::take(&mut self.questions);
        if answers.len() != questions.len() {
            return Err(of_another_training("answer", "wrong number of sums"));
        }
        for ((number, _), sums) in questions.into_iter().zip(answers) {
            if let Record::Open(answers) = &mut self.records[number] {
                answers.push(sums);
            }
        }
        self.check_bytes()
    }

    /// Refuses a state with too many bytes.
    fn check_bytes(&self) -> Result<()> {
        let bytes = |record: &Record| match record {
            Record::Open(answers) => answers.iter().map(BucketSums::bytes).sum(),
            Record::Done(result) => result.len(),
        };
        let bytes: usize = self.records.iter().map(bytes).sum();
        check_bytes(bytes)
    }

    /// Checks records and questions that were read from bytes.
    ///
    /// # Errors
    /// A question of a task that is finished, or two of one task.
    pub fn check(&self) -> Result<()> {
        let is_open =
            |(number, _): &(usize, Question)| matches!(self.records.get(*number), Some(Record::Open(_)));
        let mut asked: Vec<usize> = self.questions.iter().map(|(number, _)| *number).collect();
        asked.sort_unstable();
        if self.questions.iter().all(is_open) && asked.is_sorted_by(|a, b| a < b) {
            return Ok(());
        }
        Err(Kind::State.forged("one question of each unfinished task"))
    }
}
