//! The choice among candidates of a training on data that is held out from it.
//!
//! Candidates are fitted on training data and measured on held-out data: folds of the queries, a fifth of the
//! documents of every query, or a source of the caller. A fit sees only its training data: scalings, landmarks and
//! neighbors come from there.
//!
//! Where coarse fits are faster, they only screen. The chosen candidate and its neighbors in the list are measured
//! again, fitted as a training with this candidate fits; then the rule picks again, until nothing new is picked.
//! So the value of the chosen candidate belongs to the model that the training returns, or would return on the training
//! data.

use super::report::{Selection, Split};
use super::rules::{SelectionRule, Values};
use super::split::{FoldScores, Folds, held_out_documents, unjudged};
use super::validation::{Validation, ValidationSpec};
use crate::base::{Control, Error, Reservation, Result, each_in_memory, parallel, stopped};
use crate::data::{Dataset, Id, means_without};

/// Fraction of each query's documents that validation on documents holds out.
const HELD_OUT_DOCUMENTS: f64 = 0.2;

/// Largest size in bytes of training data kept between two measurements.
const MOST_KEPT: u64 = 256_000_000;

/// Advice if data for validation take too much memory.
const WAY_OUT: &str = "give lambda as a number, or use fewer threads, rows or features";

/// How candidates are fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FitQuality {
    /// Coarsely, one starting at the other.
    Coarse,
    /// As a training with this candidate alone fits.
    Final,
}

/// Measures several candidates of one training on held-out queries.
pub trait CandidatePath: Sync {
    /// Prepares training data and the data held out from it.
    ///
    /// # Errors
    /// Errors of a fit on the training data, before it solves.
    fn prepare<'a>(
        &'a self,
        training: Dataset,
        held_out: Dataset,
        control: &'a Control,
    ) -> Result<Box<dyn Prepared + 'a>>;

    /// The metric of each held-out query (outer) with each candidate, largest first. Without candidates
    /// lambda is chosen within the training data, and each query has one value.
    ///
    /// # Errors
    /// Errors of a fit on the training data; documents that have no scores.
    fn values(
        &self,
        training: Dataset,
        held_out: Dataset,
        candidates: &[f64],
        control: &Control,
    ) -> Result<Vec<Vec<Option<f64>>>>;
}

/// Prepared training and held-out data.
pub trait Prepared: Send + Sync {
    /// The metric of each held-out query (outer) with each candidate, largest first.
    ///
    /// # Errors
    /// Errors of a fit on the training data; documents that have no scores.
    fn values(&self, candidates: &[f64], quality: FitQuality) -> Result<Vec<Vec<Option<f64>>>>;

    /// The scores of documents by the function of a candidate, if it was fitted as a training with this candidate fits, and kept.
    ///
    /// # Errors
    /// Documents that have no scores.
    fn scores(&self, candidate: f64, documents: Dataset) -> Result<Option<Vec<f64>>>;
}

/// Rows of a fold (`n_docs`); empty for a source.
#[derive(Default)]
struct Part {
    /// Whether a row is held out.
    held: Vec<bool>,
    /// Whether the training omits a row.
    left_out: Vec<bool>,
}

/// The data held out of a data set.
pub struct HeldOut<'a> {
    pub data: &'a Dataset,
    parts: Vec<Part>,
    source: Option<&'a Dataset>,
    /// The queries of each fold from which probabilities are learned: held out, or a fraction of those that no fold holds out.
    /// Empty if there are none.
    scored: Vec<Vec<usize>>,
    /// The kind of split, for reports.
    pub split: Split,
}

impl<'a> HeldOut<'a> {
    /// A training's held-out data. `judged`: whether a query of a data set can be learned from; `source`: the data to validate
    /// on, if set by the caller; `numbers`: see [`enough_folds`](super::enough_folds).
    ///
    /// # Errors
    /// As [`Folds::by_query`].
    pub fn new(
        validation: &ValidationSpec,
        data: &'a Dataset,
        source: Option<&'a Dataset>,
        judged: impl Fn(&Dataset, usize) -> bool,
        numbers: f64,
        seed: u64,
    ) -> Result<Self> {
        let all = data.n_queries();
        if let Some(source) = source {
            let split = Split::SourceQueries(source.n_queries());
            let parts = vec![Part::default()];
            return Ok(Self { data, parts, source: Some(source), scored: Vec::new(), split });
        }
        match validation.data {
            Validation::Queries(fraction) => {
                let judged: Vec<bool> = (0..all).map(|query| judged(data, query)).collect();
                let folds = Folds::by_query(data, &judged, fraction, numbers, seed)?;
                let of_rows = |of_query: &dyn Fn(usize) -> bool| -> Vec<bool> {
                    (0..all).flat_map(|query| vec![of_query(query); data.rows(query).len()]).collect()
                };
                let part = |fold: usize| Part {
                    held: of_rows(&|query| folds.of_query[query] == Some(fold)),
                    left_out: of_rows(&|query| !folds.trains(fold, query)),
                };
                let parts = (0..folds.count).map(part).collect();
                let held = folds.of_query.iter().flatten().count();
                let mut scored = unjudged(data, &judged, held, folds.count, seed);
                for (fold, queries) in scored.iter_mut().enumerate() {
                    queries.extend(folds.held_out(fold));
                    queries.sort_unstable();
                }
                Ok(Self { data, parts, source: None, scored, split: folds.split() })
            }
            Validation::Documents | Validation::Source(_) => {
                let held = held_out_documents(data, HELD_OUT_DOCUMENTS, seed);
                let count = held.iter().filter(|held| **held).count();
                let split = Split::Documents { held_out: count, all: held.len() };
                let kept: Vec<usize> = (0..held.len()).filter(|row| !held[*row]).collect();
                let kept = data.with_rows(&kept);
                let part = Part { left_out: held.clone(), held };
                let mut found = Self { data, parts: vec![part], source: None, scored: Vec::new(), split };
                if !(0..all).any(|query| judged(&kept, query)) {
                    (found.parts, found.split) = (Vec::new(), Split::Nothing);
                }
                Ok(found)
            }
        }
    }

    pub fn nothing(data: &'a Dataset) -> Self {
        Self { data, parts: Vec::new(), source: None, scored: Vec::new(), split: Split::Nothing }
    }

    fn rows(&self, part: usize, held: bool) -> Vec<usize> {
        let Part { held: is_held, left_out } = &self.parts[part];
        let is_wanted = |row: &usize| if held { is_held[*row] } else { !left_out[*row] };
        (0..self.data.n_docs()).filter(is_wanted).collect()
    }

    /// The held-out documents of each fold, with their memory.
    ///
    /// # Errors
    /// Too little memory.
    pub fn judges(&self, control: &Control) -> Result<(Vec<Dataset>, Reservation)> {
        let bytes = if self.parts.is_empty() { 0 } else { self.source.unwrap_or(self.data).bytes() };
        let memory = control.reserve(bytes, "a copy of the validation data", WAY_OUT)?;
        Ok(((0..self.parts.len()).map(|part| self.judge(part)).collect(), memory))
    }

    fn judge(&self, part: usize) -> Dataset {
        self.source.map_or_else(|| self.rows_of(part, true, &self.means(part)), Dataset::clone)
    }

    /// Category means of the training data, by feature (rule 2.23).
    fn means(&self, part: usize) -> Vec<(usize, Vec<f64>)> {
        means_without(self.data, &self.parts[part].left_out)
    }

    /// The rows of a fold, held out or not, with these means.
    fn rows_of(&self, part: usize, held: bool, means: &[(usize, Vec<f64>)]) -> Dataset {
        self.data.subset_with(&self.rows(part, held), means)
    }

    /// Whether all folds may be kept prepared: each is a copy of the training set.
    fn are_small(&self) -> bool {
        self.data.bytes().saturating_mul(self.parts.len() as u64) <= MOST_KEPT
    }

    /// Number of folds.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// A fold's training and held-out data, with the memory of both.
    ///
    /// # Errors
    /// Too little memory.
    pub fn part(&self, part: usize, control: &Control) -> Result<(Dataset, Dataset, Reservation)> {
        let bytes = self.data.bytes() + self.source.map_or(0, Dataset::bytes);
        let memory = control.reserve(bytes, "a copy of the training set for validation", WAY_OUT)?;
        if self.source.is_some() {
            return Ok((self.data.clone(), self.judge(part), memory));
        }
        let means = self.means(part);
        Ok((self.rows_of(part, false, &means), self.rows_of(part, true, &means), memory))
    }
}

/// Candidates, and how one of them is chosen.
pub struct Candidates<'a> {
    /// Largest first.
    pub values: &'a [f64],
    /// How they are measured.
    pub path: &'a dyn CandidatePath,
    /// The rule that picks one.
    pub rule: SelectionRule,
    /// How all of them are fitted at first.
    pub first: FitQuality,
    /// Whether scores with the chosen one are wanted.
    pub keeps_scores: bool,
}

/// The result of a choice.
pub struct Choice {
    pub selection: Selection,
    /// The held-out queries in the order of the folds, with the value at each candidate.
    pub queries: Vec<(Id, Vec<Option<f64>>)>,
    /// The scores with the chosen candidate, if they are wanted and at hand.
    pub scores: Vec<FoldScores>,
}

/// Chooses among candidates.
///
/// # Errors
/// Errors of the fits; too little memory.
pub fn choose(
    held_out: &HeldOut<'_>,
    candidates: &Candidates<'_>,
    validation: &ValidationSpec,
    control: &Control,
) -> Result<Choice> {
    let all: Vec<usize> = (0..candidates.values.len()).collect();
    let parts = Parts::new(held_out, candidates, control)?;
    // 1. All candidates.
    let factor = held_out.split.error_factor();
    let mut table = Values::new(validation, candidates.values).with_error_factor(factor);
    let mut queries = Vec::new();
    for (id, grades, values) in parts.measured(&all, candidates.first)? {
        table.add(&values, &grades);
        queries.push((id, values));
    }
    // 2. The chosen one and its neighbors, until they were measured as they are returned.
    let mut screened = vec![candidates.first == FitQuality::Coarse; all.len()];
    let chosen = loop {
        let chosen = table.best(candidates.rule);
        let near = |index: &usize| chosen.is_some_and(|chosen| index.abs_diff(chosen) <= 1);
        let again: Vec<usize> = all.iter().copied().filter(|index| near(index) && screened[*index]).collect();
        if again.is_empty() {
            break chosen;
        }
        let found = parts.measured(&again, FitQuality::Final)?;
        for (number, (_, _, values)) in found.into_iter().enumerate() {
            for (index, value) in again.iter().zip(values) {
                table.set(number, *index, value);
                queries[number].1[*index] = value;
            }
        }
        again.iter().for_each(|index| screened[*index] = false);
    };
    let wanted = chosen.filter(|_| candidates.keeps_scores);
    let scores = wanted.map(|chosen| parts.scores(candidates.values[chosen])).transpose()?.flatten();
    // 3. The report.
    let mut selection = table.selection(held_out.split, chosen);
    selection.screened = screened;
    if let SelectionRule::BaselineUnlessBetter { .. } = candidates.rule {
        selection.gain = table.best_gain(chosen);
    }
    Ok(Choice { selection, queries, scores: scores.unwrap_or_default() })
}

/// A held-out query's id, grades and values.
type Measured = (Id, Vec<f64>, Vec<Option<f64>>);

/// A fold that is kept prepared, with the ids and grades of its held-out queries.
struct Kept<'a> {
    prepared: Box<dyn Prepared + 'a>,
    queries: Vec<(Id, Vec<f64>)>,
    _memory: Reservation,
}

struct Parts<'a> {
    held_out: &'a HeldOut<'a>,
    candidates: &'a Candidates<'a>,
    control: &'a Control,
    /// Empty if they are large, or memory is short.
    kept: Vec<Kept<'a>>,
}

impl<'a> Parts<'a> {
    fn new(held_out: &'a HeldOut<'a>, candidates: &'a Candidates<'a>, control: &'a Control) -> Result<Self> {
        let mut parts = Self { held_out, candidates, control, kept: Vec::new() };
        if held_out.are_small() && (candidates.first == FitQuality::Coarse || candidates.keeps_scores) {
            parts.kept = match parallel::try_map(held_out.parts.len(), |part| stopped(|| parts.prepare(part)))
            {
                Err(Error::Memory { .. }) => Vec::new(),
                kept => kept?,
            };
        }
        Ok(parts)
    }

    fn prepare(&self, part: usize) -> Result<Kept<'a>> {
        let (training, judge, memory) = self.held_out.part(part, self.control)?;
        let of_query = |query: usize| (judge.query_ids[query].clone(), judge.labels(query).to_vec());
        let queries = (0..judge.n_queries()).map(of_query).collect();
        let prepared = self.candidates.path.prepare(training, judge, self.control)?;
        Ok(Kept { prepared, queries, _memory: memory })
    }

    /// The values of all held-out queries with some of the candidates.
    fn measured(&self, indices: &[usize], quality: FitQuality) -> Result<Vec<Measured>> {
        let tried: Vec<f64> = indices.iter().map(|index| self.candidates.values[*index]).collect();
        let values = |kept: &Kept<'_>| -> Result<Vec<Measured>> {
            let values = kept.prepared.values(&tried, quality)?;
            let queries = kept.queries.iter().zip(values);
            Ok(queries.map(|((id, grades), values)| (id.clone(), grades.clone(), values)).collect())
        };
        let numbers: Vec<usize> = (0..self.held_out.parts.len()).collect();
        let of_part = |part: &usize| match self.kept.get(*part) {
            Some(kept) => values(kept),
            None => values(&self.prepare(*part)?),
        };
        Ok(each_in_memory(&numbers, of_part)?.concat())
    }

    /// The scores of each part with a candidate; none unless all parts have kept its function.
    fn scores(&self, candidate: f64) -> Result<Option<Vec<FoldScores>>> {
        let HeldOut { data, scored, .. } = self.held_out;
        let _memory = self.control.reserve(data.bytes(), "a copy of the rows for probabilities", WAY_OUT)?;
        let of_part = |(part, (kept, queries)): (usize, (&Kept<'_>, &Vec<usize>))| {
            let rows: Vec<usize> = queries.iter().flat_map(|query| data.rows(*query)).collect();
            let documents = data.subset_with(&rows, &self.held_out.means(part));
            let scores = kept.prepared.scores(candidate, documents)?;
            Ok(scores.map(|scores| FoldScores { queries: queries.clone(), scores }))
        };
        self.kept.iter().zip(scored).enumerate().map(of_part).collect()
    }
}
