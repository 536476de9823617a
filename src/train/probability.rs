//! The option `probability`: a map from the score of a document to the probability that it has at least the grade `threshold`.
//! Trainings without the option keep their bytes and their time, which held-out scores would cost.
//!
//! 1. Scores of documents by functions that were fitted without their queries ([`OutOfFold`]). The scores of a fold are shifted to
//!    the mean that the model has there.
//! 2. Two maps: the isotonic one of at most [`MOST_KNOTS`] groups of documents with about the same score, and a logistic curve with the
//!    targets of Platt (1999), "Probabilistic outputs for support vector machines". Each is learned on four fifths of these queries
//!    and predicts the others; the one with the smaller Brier score is learned on all of them.
//! 3. Everything else in a training compares scores within queries, so they need not have a meaning across queries. They have one
//!    if they predict better than ranks: of the document at a rank of each query, better than by the share of relevant documents
//!    at this rank, by more than two errors of the mean over queries and a fiftieth of the variance. The rank is the one of 1, 2,
//!    4, 8, ... whose share is nearest to a half, because nothing is to be predicted where all or none are relevant. Otherwise
//!    there is no map.

use serde_json::{Map, Value, json};

use super::algorithm::{AlgorithmDef, OutOfFold, TrainingSpec};
use super::options;
use super::report::Finished;
use super::select::{FoldScores, Gain, HeldOut, Validation, ValidationSpec};
use super::tuning::{fitted_model, scores_of};
use crate::base::{Control, Error, Params, Result, bytes_of};
use crate::data::{ColumnSummary, Dataset};
use crate::learn::fit;
use crate::math::{compare, sort_ascending, sort_items};
use crate::model::{MOST_KNOTS, Model, Probability};

/// The key of the option and of a part of the report.
pub const KEY: &str = "probability";
/// The lowest grade of a relevant document.
pub const THRESHOLD: &str = "threshold";

/// Smallest group of documents.
const FEWEST_IN_GROUP: usize = 20;
/// Parts of the queries that judge a map that was learned on the others.
const PARTS: usize = 5;
/// Steps of Newton's method for a curve of two parameters.
const STEPS: usize = 30;
/// Errors of the mean by which scores must predict better than a share.
const ERRORS: f64 = 2.0;
/// The smallest part of the variance of relevance at a rank by which they must.
const PART_OF_VARIANCE: f64 = 0.02;
/// With fewer queries nothing is known about other queries.
const FEWEST_HELD_OUT: usize = 20;
/// Fraction of the queries that a fold holds out.
const HELD_OUT_FRACTION: f64 = 0.2;
/// Numbers in memory for each document: four copies of a document, and what two forms and the best of them predict.
const NUMBERS: usize = 12;

/// Refuses a threshold that nothing reads.
///
/// # Errors
/// A threshold without probabilities.
pub fn check_threshold(params: &Params) -> Result<()> {
    if !params.has(THRESHOLD) || params.flag(KEY) {
        return Ok(());
    }
    let reason = format!("\"{KEY}\": false; use \"{KEY}\": true");
    Err(Error::NoEffect { option: THRESHOLD, reason, because_of: KEY })
}

/// The rows of a training from which a map is learned.
pub struct Rows {
    /// The training set; the validation source if there is one.
    pub data: Dataset,
    /// Whether it is the source, which the model has not seen.
    pub is_source: bool,
    /// Summary of each feature.
    pub summaries: Vec<ColumnSummary>,
}

impl Rows {
    /// The documents of queries that their functions did not see.
    ///
    /// # Errors
    /// Errors of the fits; too little memory; an interruption.
    pub fn held(
        self,
        model: &Model,
        found: OutOfFold,
        (algorithm, params): (&AlgorithmDef, &Params),
        control: &Control,
    ) -> Result<Vec<Vec<Document>>> {
        let (data, threshold) = (&self.data, options::number(params, THRESHOLD));
        // Losses within queries leave the level of all scores open, so each fold is shifted to the mean of the model.
        let model_scores = scores_of(model, data, control)?;
        let folds = match found {
            _ if self.is_source => {
                vec![FoldScores { queries: (0..data.n_queries()).collect(), scores: model_scores.clone() }]
            }
            OutOfFold::Scores(folds) => folds,
            OutOfFold::Folds(spec) => self.refitted(&*spec, (algorithm, params), control)?,
        };
        let mut held = Vec::new();
        for FoldScores { queries, scores } in folds {
            control.check()?;
            let of_fold = queries.iter().flat_map(|query| &model_scores[data.rows(*query)]).copied();
            let shift = mean(&of_fold.collect::<Vec<f64>>()) - mean(&scores);
            let mut scores = scores.into_iter().map(|score| score + shift);
            held.extend(queries.into_iter().map(|query| -> Vec<Document> {
                data.labels(query)
                    .iter()
                    .zip(&mut scores)
                    .map(|(grade, score)| (score, *grade >= threshold))
                    .collect()
            }));
        }
        held.retain(|query| !query.is_empty());
        Ok(held)
    }

    /// The scores of folds by trainings with these numbers.
    fn refitted(
        &self,
        spec: &dyn TrainingSpec,
        (algorithm, params): (&AlgorithmDef, &Params),
        control: &Control,
    ) -> Result<Vec<FoldScores>> {
        let data = &self.data;
        let validation = ValidationSpec::parse(params, fit::HeldOut::Queries)?;
        let validation = ValidationSpec { data: Validation::Queries(HELD_OUT_FRACTION), ..validation };
        let numbers = data.n_docs() as f64 * data.features.columns() as f64;
        let parts = HeldOut::new(&validation, data, None, |_, _| true, numbers, params.seed())?;
        let of_part = |part| {
            let (training, judge, _memory) = parts.part(part, control)?;
            let model = fitted_model(algorithm, spec, training, &self.summaries, control)?;
            let number = |id| data.query_ids.binary_search(id).unwrap_or_default();
            let queries = judge.query_ids.iter().map(number).collect();
            Ok(FoldScores { queries, scores: scores_of(&model, &judge, control)? })
        };
        (0..parts.parts()).map(of_part).collect()
    }
}

/// A document: its score, and whether it is relevant.
pub type Document = (f64, bool);

/// A probability map learned in training, or why there is none.
pub struct LearnedProbability {
    /// The map, unless scores have no meaning across queries.
    pub map: Option<Probability>,
    /// The part of the report.
    pub report: Value,
    /// Why there is no map.
    pub warning: Option<String>,
}

impl LearnedProbability {
    /// Adds the map, or why there is none.
    pub fn add_to(self, finished: &mut Finished) {
        finished.add_detail(KEY, self.report);
        finished.warnings.extend(self.warning);
        finished.model.card.probability = self.map;
    }
}

/// Learns a map from the documents of each query.
///
/// # Errors
/// Too little memory; an interruption.
pub fn learn(queries: &[Vec<Document>], params: &Params, control: &Control) -> Result<LearnedProbability> {
    let threshold = options::number(params, THRESHOLD);
    let documents = queries.iter().map(Vec::len).sum::<usize>();
    let bytes = bytes_of::<[f64; NUMBERS]>(documents);
    let _memory = control.reserve(bytes, "learning probabilities", "use fewer rows")?;
    let relevant = queries.iter().flatten().filter(|(_, relevant)| *relevant).count();
    let mut report = Map::from_iter([
        (THRESHOLD.to_owned(), json!(threshold)),
        ("queries".to_owned(), json!(queries.len())),
        ("documents".to_owned(), json!(documents)),
        ("base_rate".to_owned(), json!(relevant as f64 / documents.max(1) as f64)),
        (
            "holds_for".to_owned(),
            json!("judged documents; not for candidates that nobody judged, and not if grades are clicks"),
        ),
    ]);
    let problem = if queries.len() < FEWEST_HELD_OUT {
        Some(format!("there are {} held-out queries, and {FEWEST_HELD_OUT} are needed", queries.len()))
    } else if relevant == 0 || relevant == documents {
        let which = if relevant == 0 { "no" } else { "every" };
        Some(format!(
            "{which} held-out document has a grade of at least {threshold}; give another 'threshold'"
        ))
    } else {
        None
    };
    let (form, problem) = if let Some(problem) = problem {
        (None, Some(problem))
    } else {
        let (form, told, problem) = judge(queries, control)?;
        report.extend(told);
        (Some(form), problem)
    };
    let knots = form.filter(|_| problem.is_none()).map(|form| form.knots(queries.concat()));
    report.insert("knots".to_owned(), json!(knots.as_ref().map(Vec::len)));
    let warning = problem.map(|problem| {
        report.insert("problem".to_owned(), json!(problem));
        format!("no probabilities: {problem}. The column probability is NULL, and the option 'min_probability' an error")
    });
    let map = knots.map(|knots| Probability { threshold, knots });
    Ok(LearnedProbability { map, report: report.into(), warning })
}

/// The better form, what predictions of other queries show, and what speaks against a map.
fn judge(queries: &[Vec<Document>], control: &Control) -> Result<(Form, Map<String, Value>, Option<String>)> {
    // 1. Predictions of each part by both forms, which were learned on the others.
    let mut predicted = vec![[Vec::new(), Vec::new()]; queries.len()];
    let (rank, at_rank) = uncertain_rank(queries);
    for part in 0..PARTS {
        let is_other = |query: &usize| query % PARTS != part;
        let learned: Vec<Document> =
            (0..queries.len()).filter(is_other).flat_map(|query| &queries[query]).copied().collect();
        for (number, form) in [Form::Isotonic, Form::Logistic].into_iter().enumerate() {
            control.check()?;
            let map = Probability { threshold: 0.0, knots: form.knots(learned.clone()) };
            for query in (part..queries.len()).step_by(PARTS) {
                predicted[query][number] = queries[query].iter().map(|(score, _)| map.at(*score)).collect();
            }
        }
    }
    // 2. The form with the smaller Brier score.
    let documents = queries.iter().map(Vec::len).sum::<usize>() as f64;
    let squared = |query: usize, number: usize| {
        let errors =
            queries[query].iter().zip(&predicted[query][number]).map(|((_, is), p)| (p - rate(*is)).powi(2));
        errors.collect::<Vec<f64>>()
    };
    let brier = [0, 1]
        .map(|number| (0..queries.len()).flat_map(|query| squared(query, number)).sum::<f64>() / documents);
    let number = usize::from(brier[1] <= brier[0]);
    let form = [Form::Isotonic, Form::Logistic][number];
    // 3. What scores predict beyond the rank. The share is the mean of these queries: as the mean of other queries it would have an
    //    error, and maps, which are smoother, would seem to predict better.
    let shares: Vec<f64> = at_rank.iter().flatten().map(|(_, share)| *share).collect();
    let share = mean(&shares);
    let gain = |query: usize| {
        let (documents, (at, _)) = (&queries[query], at_rank[query].as_ref()?);
        let share_error = at.mean(documents, documents.iter().map(|(_, is)| (share - rate(*is)).powi(2)));
        Some((share_error - at.mean(documents, squared(query, number).into_iter()), 1.0))
    };
    let gain = Gain::of(&(0..queries.len()).filter_map(gain).collect::<Vec<_>>(), 1.0);
    let (mean, error) = gain.map_or((0.0, 0.0), |gain| (gain.mean, gain.error.error));
    let least = (ERRORS * error).max(PART_OF_VARIANCE * share * (1.0 - share));
    let entries = [
        ("map", json!(form.name())),
        ("brier", json!(brier[number])),
        ("rank", json!(rank)),
        ("gain", json!(mean)),
        ("error_of_gain", json!(error)),
    ];
    let entries = entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let problem = (mean <= least || share <= 0.0 || share >= 1.0).then(|| {
        format!(
            "the scores do not carry from query to query: at rank {rank} they predict which documents are relevant no better than the \
             share of relevant ones at this rank (gain in squared error {mean:.4}, standard error {error:.4})"
        )
    });
    Ok((form, entries, problem))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn rate(is_relevant: bool) -> f64 {
    f64::from(u8::from(is_relevant))
}

/// The documents of a query at a rank; equal scores share their ranks.
struct AtRank {
    score: f64,
}

impl AtRank {
    /// None if the query has fewer documents.
    fn of(documents: &[Document], rank: usize) -> Option<Self> {
        let mut scores: Vec<f64> = documents.iter().map(|(score, _)| *score).collect();
        sort_ascending(&mut scores);
        let score = *scores.get(scores.len().checked_sub(rank)?)?;
        Some(Self { score })
    }

    /// The mean of their values. `values`: of each document of the query.
    fn mean(&self, documents: &[Document], values: impl Iterator<Item = f64>) -> f64 {
        let tied = documents.iter().zip(values).filter(|((score, _), _)| compare(*score, self.score).is_eq());
        let (sum, count) = tied.fold((0.0, 0.0), |(sum, count), (_, value)| (sum + value, count + 1.0));
        sum / f64::max(count, 1.0)
    }
}

/// The share of relevant documents at a rank of each query; none for queries with fewer documents.
fn shares_at(queries: &[Vec<Document>], rank: usize) -> Vec<Option<(AtRank, f64)>> {
    let of_query = |documents: &Vec<Document>| {
        let at = AtRank::of(documents, rank)?;
        let share = at.mean(documents, documents.iter().map(|(_, is_relevant)| rate(*is_relevant)));
        Some((at, share))
    };
    queries.iter().map(of_query).collect()
}

/// The rank where relevance is least certain, and what [`shares_at`] returns for it.
fn uncertain_rank(queries: &[Vec<Document>]) -> (usize, Vec<Option<(AtRank, f64)>>) {
    let (mut found, mut least) = ((1, shares_at(queries, 1)), f64::INFINITY);
    for rank in (0..usize::BITS).map(|power| 1 << power) {
        let shares = shares_at(queries, rank);
        let defined: Vec<f64> = shares.iter().flatten().map(|(_, share)| *share).collect();
        if defined.len() < FEWEST_HELD_OUT || 2 * defined.len() < queries.len() {
            break;
        }
        let distance = (defined.iter().sum::<f64>() / defined.len() as f64 - 0.5).abs();
        if distance < least {
            (found, least) = ((rank, shares), distance);
        }
    }
    found
}

/// How a map is learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Isotonic,
    Logistic,
}

/// Documents with about the same score: the sum of their scores, the number of relevant ones, and their number.
type Group = [f64; 3];

impl Form {
    const fn name(self) -> &'static str {
        match self {
            Self::Isotonic => "isotonic",
            Self::Logistic => "logistic",
        }
    }

    /// The knots of the map of these documents, at least one.
    fn knots(self, documents: Vec<Document>) -> Vec<[f64; 2]> {
        let groups = groups(documents);
        let score = |group: &Group| group[0] / group[2];
        let mut knots: Vec<[f64; 2]> = match self {
            Self::Isotonic => {
                pooled(&groups).iter().map(|group| [score(group), group[1] / group[2]]).collect()
            }
            Self::Logistic => {
                let curve = logistic(&groups);
                groups.iter().map(|group| [score(group), curve(score(group))]).collect()
            }
        };
        knots.dedup_by(|next, before| next[0] <= before[0]);
        knots
    }
}

/// Groups of about the same size, by score; equal scores are in one group.
fn groups(mut documents: Vec<Document>) -> Vec<Group> {
    sort_items(&mut documents, |a, b| compare(a.0, b.0));
    let size = documents.len().div_ceil(MOST_KNOTS).max(FEWEST_IN_GROUP);
    let mut groups: Vec<Group> = Vec::new();
    let mut last = f64::NEG_INFINITY;
    for (score, is_relevant) in documents {
        match groups.last_mut().filter(|group| group[2] < size as f64 || compare(score, last).is_eq()) {
            Some(group) => {
                (0..3).zip([score, rate(is_relevant), 1.0]).for_each(|(index, value)| group[index] += value);
            }
            None => groups.push([score, rate(is_relevant), 1.0]),
        }
        last = score;
    }
    groups
}

/// Neighbors are pooled until their shares do not fall (Ayer et al. 1955).
fn pooled(groups: &[Group]) -> Vec<Group> {
    let mut pooled: Vec<Group> = Vec::with_capacity(groups.len());
    for group in groups {
        let mut group = *group;
        while let Some(before) = pooled.last().filter(|before| before[1] * group[2] >= group[1] * before[2]) {
            (0..3).for_each(|index| group[index] += before[index]);
            pooled.pop();
        }
        pooled.push(group);
    }
    pooled
}

/// The logistic curve of the scores, which never falls.
fn logistic(groups: &[Group]) -> impl Fn(f64) -> f64 + use<> {
    // 1. Scores less their mean, in units of their deviation.
    let sum = |value: &dyn Fn(&Group) -> f64| groups.iter().map(value).sum::<f64>();
    let (all, relevant) = (sum(&|group| group[2]), sum(&|group| group[1]));
    let mean = sum(&|group| group[0]) / all;
    let deviation = (sum(&|group| group[2] * (group[0] / group[2] - mean).powi(2)) / all).sqrt();
    let unit = if deviation > 0.0 { deviation } else { 1.0 };
    // 2. Newton's method on Platt's targets, from the base rate.
    let targets = [1.0 / (all - relevant + 2.0), (relevant + 1.0) / (relevant + 2.0)];
    let curve = |[slope, offset]: [f64; 2], x: f64| 1.0 / (1.0 + libm::exp(-(slope * x + offset)));
    let loss = |at: [f64; 2]| {
        sum(&|group| {
            let p = curve(at, (group[0] / group[2] - mean) / unit).clamp(1e-300, 1.0 - 1e-16);
            let target = group[1] * targets[1] + (group[2] - group[1]) * targets[0];
            -(target * libm::log(p) + (group[2] - target) * libm::log(1.0 - p))
        })
    };
    let mut at = [0.0, libm::log((relevant + 1.0) / (all - relevant + 1.0))];
    for _ in 0..STEPS {
        let (mut gradient, mut hessian) = ([0.0; 2], [1e-9 * all, 0.0, 1e-9 * all]);
        for group in groups {
            let x = (group[0] / group[2] - mean) / unit;
            let p = curve(at, x);
            let target = group[1] * targets[1] + (group[2] - group[1]) * targets[0];
            let (error, weight) = (group[2] * p - target, group[2] * p * (1.0 - p));
            gradient = [gradient[0] + error * x, gradient[1] + error];
            hessian = [hessian[0] + weight * x * x, hessian[1] + weight * x, hessian[2] + weight];
        }
        let determinant = hessian[0] * hessian[2] - hessian[1] * hessian[1];
        let step = [
            (hessian[2] * gradient[0] - hessian[1] * gradient[1]) / determinant,
            (hessian[0] * gradient[1] - hessian[1] * gradient[0]) / determinant,
        ];
        // Halve the step until the loss falls.
        let before = loss(at);
        let moved = |length: f64| [at[0] - length * step[0], at[1] - length * step[1]];
        let lengths = (0..STEPS).map(|halvings| 0.5f64.powi(halvings as i32));
        let Some(next) = lengths.map(moved).find(|next| loss(*next) < before) else { break };
        at = next;
    }
    let at = if at[0] > 0.0 { at } else { [0.0, libm::log((relevant + 1.0) / (all - relevant + 1.0))] };
    move |score: f64| 1.0 / (1.0 + libm::exp(-(at[0] * (score - mean) / unit + at[1])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    fn uniform(random: &mut Random) -> f64 {
        f64::midpoint(random.symmetric(), 1.0)
    }

    fn documents(random: &mut Random, n: usize) -> Vec<Document> {
        let document = |_| {
            let score = (8.0 * random.symmetric()).round() / 4.0;
            (score, uniform(random) < 1.0 / (1.0 + libm::exp(-score)))
        };
        (0..n).map(document).collect()
    }

    /// The isotonic map is max over a <= i of min over b >= i of the mean of groups a to b (Robertson et al. 1988).
    #[test]
    fn isotonic_maps_match_the_max_min_formula_in_any_row_order() {
        let mut random = Random::new(2);
        for case in 0..3000 {
            let rows = documents(&mut random, 1 + case % 400);
            let groups = groups(rows.clone());
            assert!(
                groups.len() <= MOST_KNOTS
                    && groups.iter().map(|group| group[2]).sum::<f64>() as usize == rows.len()
            );
            let pooled = pooled(&groups);
            let mut at = 0.0;
            for (i, group) in groups.iter().enumerate() {
                let mean = |a: usize, b: usize| {
                    let sum = |index: usize| groups[a..=b].iter().map(|group| group[index]).sum::<f64>();
                    sum(1) / sum(2)
                };
                let least = |a: usize| (i..groups.len()).map(|b| mean(a, b)).fold(f64::INFINITY, f64::min);
                let expected = (0..=i).map(least).fold(f64::NEG_INFINITY, f64::max);
                at += group[2];
                let mut end = 0.0;
                let actual = pooled.iter().find(|pool| {
                    end += pool[2];
                    end >= at
                });
                let actual = actual.map(|pool| pool[1] / pool[2]).unwrap_or_default();
                assert!((actual - expected).abs() < 1e-12, "case {case}");
            }
            let reversed: Vec<Document> = rows.iter().rev().copied().collect();
            for form in [Form::Isotonic, Form::Logistic] {
                let knots = form.knots(rows.clone());
                assert_eq!(knots, form.knots(reversed.clone()), "case {case}");
                assert!(knots.is_sorted_by(|a, b| a[0] < b[0] && a[1] <= b[1]), "case {case}: {knots:?}");
            }
        }
    }

    #[test]
    fn the_logistic_curve_finds_the_truth() {
        let mut random = Random::new(4);
        let groups = groups(documents(&mut random, 40_000));
        let curve = logistic(&groups);
        for score in [-1.5, -0.5, 0.0, 1.0, 2.0] {
            let truth = 1.0 / (1.0 + libm::exp(-score));
            assert!((curve(score) - truth).abs() < 0.012, "{score}: {} {truth}", curve(score));
        }
        // Separated documents have a curve, and falling shares a constant.
        let separated = logistic(&[[-20.0, 0.0, 20.0], [20.0, 20.0, 20.0]]);
        assert!(separated(-1.0) < 0.1 && separated(1.0) > 0.9);
        let falling = logistic(&[[-20.0, 15.0, 20.0], [20.0, 5.0, 20.0]]);
        assert!((falling(-1.0) - falling(1.0)).abs() < 1e-15);
    }

    /// Queries of 20 documents, with relevance by the rank and a level of the query that scores do not know: ranks, scores scaled
    /// within the query, or with their own level. `carries`: scores know the level of relevance.
    fn ranked(random: &mut Random, queries: usize, kind: usize, carries: f64) -> Vec<Vec<Document>> {
        let of_query = |random: &mut Random| {
            let (level, other) = (random.symmetric(), 9.0 * random.symmetric());
            let mut scores: Vec<f64> = (0..20).map(|_| random.symmetric()).collect();
            sort_ascending(&mut scores);
            let (low, high) = (scores[0], scores[19]);
            let documents = scores.into_iter().zip((0..20).rev()).map(|(score, rank)| {
                let rank = f64::from(rank);
                let score = [-rank, (score - low) / (high - low), score + other][kind] + carries * level;
                (score, uniform(random) < 1.0 / (1.0 + libm::exp(0.35 * rank - 1.5 - 2.0 * level)))
            });
            documents.collect()
        };
        (0..queries).map(|_| of_query(random)).collect()
    }

    /// Two standard errors leave 2.3 % to chance. Scores that know the level of relevance are accepted.
    #[test]
    fn maps_of_scores_that_say_no_more_than_ranks_are_hardly_ever_accepted() {
        let mut random = Random::new(6);
        for (queries, sets) in [(30, 200), (100, 60)] {
            for kind in 0..3 {
                let mut accepted = |carries: f64| {
                    let judged = (0..sets).map(|_| {
                        judge(&ranked(&mut random, queries, kind, carries), &Control::default()).unwrap().2
                    });
                    judged.filter(Option::is_none).count()
                };
                assert!(accepted(0.0) * 40 <= sets, "{queries} queries, kind {kind}");
                assert!(kind > 0 || queries < 100 || accepted(3.0) * 10 >= 9 * sets, "{queries} queries");
            }
        }
    }
}
