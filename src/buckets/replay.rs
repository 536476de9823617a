//! Trainings as replays. A training is an ordinary function that asks questions. Between two rounds its state keeps the
//! answers. In the next round the function runs again: it reads the recorded answers, and ends early where one is lacking.
//!
//! Work that can run side by side, such as one fit per fold, is divided into tasks. A round has the question of each
//! unfinished task, so one pass over the buckets serves all of them. A finished task keeps its result instead of its
//! answers.

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use super::bytes::{Reader, Writer, check_bytes};
use super::sums::BucketSums;
use crate::base::parallel::lock;
use crate::base::{Error, Result, stopped, unwind};

/// Number of folds.
pub const FOLDS: u32 = 5;

/// The buckets that take part in an answer. Bucket b is in fold b modulo [`FOLDS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All.
    All,
    /// The buckets of a fold.
    Only(u32),
    /// The buckets of the other folds.
    Without(u32),
}

impl Part {
    /// Whether a bucket takes part.
    pub fn has(self, bucket: u32) -> bool {
        match self {
            Self::All => true,
            Self::Only(fold) => bucket % FOLDS == fold,
            Self::Without(fold) => bucket % FOLDS != fold,
        }
    }

    /// The folds that take part.
    pub fn folds(self) -> impl Iterator<Item = u32> {
        (0..FOLDS).filter(move |fold| self.has(*fold))
    }

    fn code(self) -> u64 {
        match self {
            Self::All => 0,
            Self::Only(fold) => u64::from(1 + 2 * fold),
            Self::Without(fold) => u64::from(2 + 2 * fold),
        }
    }

    fn from_code(code: u32) -> Self {
        match (code, code % 2) {
            (0, _) => Self::All,
            (_, 1) => Self::Only(code / 2),
            _ => Self::Without(code / 2 - 1),
        }
    }
}

/// What each bucket is asked. The trainer defines its meaning.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// What is asked.
    pub kind: u64,
    /// The buckets that take part.
    pub part: Part,
    /// Points and parameters.
    pub numbers: Vec<f64>,
}

impl Question {
    /// A question without numbers.
    pub fn new(kind: u64, part: Part) -> Self {
        Self { kind, part, numbers: Vec::new() }
    }
}

/// What is known of a task.
#[derive(Debug, Clone, PartialEq)]
enum Record {
    /// The answers to its questions so far.
    Open(Vec<BucketSums>),
    /// Its result.
    Done(Vec<u8>),
}

/// The tasks of a training.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Replay {
    records: Vec<Record>,
    /// The task and the question of each unfinished task.
    pub questions: Vec<(usize, Question)>,
    /// Objective and gap of the last solution or point.
    progress: Option<(f64, f64)>,
}

/// The recorded answers of a task.
pub struct Asking<'a> {
    answers: &'a [BucketSums],
    used: AtomicUsize,
    lacking: Mutex<Option<Question>>,
    progress: Mutex<Option<(f64, f64)>>,
}

impl Asking<'_> {
    /// The answer to the next question. Without one the work of the task ends, by unwinding. So a solver asks through the
    /// objective that it minimizes.
    pub fn ask(&self, question: Question) -> BucketSums {
        if let Some(sums) = self.answers.get(self.used.fetch_add(1, Ordering::Relaxed)) {
            sums.clone()
        } else {
            *lock(&self.lacking) = Some(question);
            unwind(Error::Internal("an answer is lacking".to_owned()))
        }
    }

    /// Tells the objective and the gap of a point.
    pub fn show(&self, objective: f64, gap: f64) {
        *lock(&self.progress) = Some((objective, gap));
    }
}

/// What all answers of a training need, decoded at its first use.
#[derive(Debug, Default)]
pub struct Decoded(OnceLock<Arc<dyn Any + Send + Sync>>);

impl Decoded {
    /// The value, otherwise the one that `decode` returns.
    ///
    /// # Errors
    /// Errors of `decode`.
    pub fn get<T: Any + Send + Sync>(&self, decode: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        if let Some(known) = self.0.get().and_then(|known| Arc::clone(known).downcast().ok()) {
            return Ok(known);
        }
        let new = Arc::new(decode()?);
        // Another thread may have been faster, with an equal value.
        drop(self.0.set(Arc::clone(&new) as Arc<dyn Any + Send + Sync>));
        Ok(new)
    }
}

impl Replay {
    /// The result of task number `number`: the recorded one, otherwise the result of `work`; `None` if it lacks an
    /// answer.
    ///
    /// # Errors
    /// Errors of `work`; too many bytes.
    pub fn task(
        &mut self,
        number: usize,
        work: impl FnOnce(&Asking<'_>) -> Result<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>> {
        // Several parts of a training may need the same task.
        if self.questions.iter().any(|(asked, _)| *asked == number) {
            return Ok(None);
        }
        if self.records.len() <= number {
            self.records.resize(number + 1, Record::Open(Vec::new()));
        }
        let answers = match &self.records[number] {
            Record::Done(result) => return Ok(Some(result.clone())),
            Record::Open(answers) => answers,
        };
        let (used, lacking, progress) = (AtomicUsize::new(0), Mutex::new(None), Mutex::new(None));
        let asking = Asking { answers, used, lacking, progress };
        let result = stopped(|| work(&asking));
        let shown = lock(&asking.progress).take();
        self.progress = shown.or(self.progress);
        if let Some(question) = lock(&asking.lacking).take() {
            self.questions.push((number, question));
        } else {
            let result = result?;
            self.records[number] = Record::Done(result.clone());
            return self.check_bytes().map(|()| Some(result));
        }
        Ok(None)
    }

    /// As [`Self::task`], of a task whose result is numbers.
    ///
    /// # Errors
    /// As [`Self::task`].
    pub fn numbers(
        &mut self,
        number: usize,
        work: impl FnOnce(&Asking<'_>) -> Result<Vec<f64>>,
    ) -> Result<Option<Vec<f64>>> {
        let bytes = |numbers: Vec<f64>| {
            let mut writer = Writer::default();
            writer.numbers(&numbers);
            writer.into_bytes()
        };
        let found = self.task(number, |asking| work(asking).map(bytes))?;
        found.map(|found| Reader::of_state(&found).numbers()).transpose()
    }

    /// The result of a finished task.
    pub fn result(&self, number: usize) -> Option<&[u8]> {
        match self.records.get(number) {
            Some(Record::Done(result)) => Some(result),
            _ => None,
        }
    }

    /// Objective and gap of the last solution or point.
    pub fn progress(&self) -> Option<(f64, f64)> {
        self.progress
    }

    /// Tells the objective and the gap of the solution.
    pub fn show(&mut self, objective: f64, gap: f64) {
        self.progress = Some((objective, gap));
    }

    /// Records the answers to the questions of this round.
    ///
    /// # Errors
    /// Another number of answers; too many bytes.
    pub fn record(&mut self, answers: Vec<BucketSums>) -> Result<()> {
        let questions = std::mem::take(&mut self.questions);
        if answers.len() != questions.len() {
            return Err(Error::Data(
                "an answer of another training: it has another number of sums".to_owned(),
            ));
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

    /// Writes the records.
    pub fn write(&self, writer: &mut Writer) {
        writer.count(self.records.len() as u64);
        for record in &self.records {
            match record {
                Record::Open(answers) => {
                    writer.count(0);
                    writer.count(answers.len() as u64);
                    answers.iter().for_each(|sums| sums.write(writer));
                }
                Record::Done(result) => {
                    writer.count(1);
                    writer.bytes(result);
                }
            }
        }
        writer.count(self.questions.len() as u64);
        for (number, Question { kind, part, numbers }) in &self.questions {
            writer.count(*number as u64);
            writer.count(*kind);
            writer.count(part.code());
            writer.numbers(numbers);
        }
        writer.numbers(&self.progress.map_or_else(Vec::new, |(objective, gap)| vec![objective, gap]));
    }

    /// Reads the bytes.
    ///
    /// # Errors
    /// Bytes that [`Self::write`] does not write.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let record = |reader: &mut Reader<'_>| match reader.count_to(1)? {
            0 => (0..reader.length()?)
                .map(|_| BucketSums::read(reader))
                .collect::<Result<_>>()
                .map(Record::Open),
            _ => Ok(Record::Done(reader.bytes()?.to_vec())),
        };
        let records: Vec<Record> = (0..reader.length()?).map(|_| record(reader)).collect::<Result<_>>()?;
        let mut questions: Vec<(usize, Question)> = Vec::new();
        for _ in 0..reader.length()? {
            let (number, kind) = (reader.count()?, reader.count()?);
            let part = Part::from_code(reader.count_to(u64::from(2 * FOLDS))? as u32);
            let is_new = !questions.iter().any(|(asked, _)| *asked == number as usize);
            if !is_new || !matches!(records.get(number as usize), Some(Record::Open(_))) {
                return Err(reader.forged("one question of each unfinished task"));
            }
            questions.push((number as usize, Question { kind, part, numbers: reader.numbers()? }));
        }
        let progress = match reader.numbers()?[..] {
            [objective, gap] => Some((objective, gap)),
            [] => None,
            _ => return Err(reader.forged("an objective and a gap")),
        };
        Ok(Self { records, questions, progress })
    }
}
