//! Training in buckets: two rounds. In the first, buckets give a sample of whole queries, on which candidates are tried as on
//! rows. In the second, they give the sums of least squares of the chosen ones.
//!
//! Scalings and landmarks of the chosen candidates come from the sample. Their functions are fitted on all rows.

use std::sync::Arc;

use serde_json::Value;

use super::{Asked, BucketTraining, Outcome};
use crate::base::{Control, Error, Result, Strict};
use crate::buckets::grid::{Count, FACTS, Facts, First, read_spaces, write_spaces, wrong_length};
use crate::buckets::{Asking, BucketSums, Part, Question, Reader, Replay, Unit, Writer};
use crate::cost::metric::StandardError;
use crate::data::{Dataset, position_names};
use crate::learn::solve::{Gram, fits_single_precision};
use crate::learn::space::{Member, Scorer};
use crate::math::is_positive;
use crate::train::algorithm::scale;
use crate::train::auto::folds::split;
use crate::train::auto::prepared::{Copies, are_judged, is_judged};
use crate::train::auto::refit::{self, solved};
use crate::train::auto::trial::Trial;
use crate::train::auto::{
    AutoSpec, Choice, FEWEST_QUERIES, Found, MOST_TRIED, QueryCounts, TRIED, check_judged,
};
use crate::train::averaged::total_weight;
use crate::train::select::{Curve, Selection, Split};

/// Numbers of tasks. A task for each chosen candidate comes after the last.
const TRIALS_TASK: usize = 0;
const GRAM_TASKS: usize = 1;

/// The question about the sums of a chosen candidate, besides [`FACTS`].
const GRAM: u64 = 1;

/// Bytes that the features of a sample take at most, about.
const SAMPLE_BYTES: usize = 64 << 20;

/// What the first round gave.
struct Tried {
    facts: Facts,
    choice: Choice,
    /// Of the chosen candidates.
    lambdas: Vec<f64>,
    members: Vec<Member>,
}

impl Tried {
    /// Asks for the sample and tries candidates on it.
    fn ask(spec: &AutoSpec, asking: &Asking<'_>, names: &[String], control: &Control) -> Result<Self> {
        let BucketSums { numbers, sample, .. } = asking.ask(Question::new(FACTS, Part::All));
        let facts = Facts::new(numbers)?;
        let [queries, judged] =
            [Count::Queries, Count::Informative].map(|count| facts.count(count, Part::All) as usize);
        check_judged(judged, queries)?;
        let mut data = sample.dataset(facts.dim(), facts.is_double())?;
        let _memory = control.reserve(data.bytes(), TRIED, "use one algorithm, such as rank_svm")?;
        let sampled = (0..data.n_queries()).filter(|query| is_judged(&data, *query)).count();
        if sampled < FEWEST_QUERIES {
            return Err(Error::Data(format!(
                "the sample of {} documents, in which 'auto' compares candidates, has {sampled} queries with documents of \
                 different relevance; it needs {FEWEST_QUERIES}; use one algorithm, such as rank_svm",
                data.n_docs()
            )));
        }
        facts.fill(&mut data, spec.missing);
        data.names = if names.is_empty() { position_names(facts.dim()) } else { names.to_vec() };
        let mut copies = Copies::new(&data, None);
        let Found { chosen, choice, .. } =
            spec.find(QueryCounts { judged, all: queries }, &mut copies, false, None, control)?;
        let mut members = Vec::with_capacity(chosen.len());
        for trial in &chosen {
            let scaled = copies.get(trial.candidate.scale, control)?;
            let prepared = scaled.prepare(spec, &trial.candidate, spec.landmarks(), control)?;
            members.push(Member { scaling: scaled.scaling.clone().into(), space: prepared.space });
        }
        let lambdas = chosen.iter().map(Trial::lambda).collect();
        Ok(Self { facts, choice, lambdas, members })
    }

    fn into_bytes(self) -> Result<Vec<u8>> {
        let Self { facts, choice: Choice { lambda, selection, warnings, details }, lambdas, members } = self;
        let mut writer = Writer::default();
        writer.numbers(facts.numbers());
        // 1. Members.
        writer.numbers(&lambdas);
        write_spaces(&mut writer, facts.dim(), members)?;
        // 2. The choice.
        let value = |(candidate, value): &(f64, Option<f64>)| [*candidate, value.unwrap_or(f64::NAN)];
        writer.numbers(&selection.curve.iter().flat_map(value).collect::<Vec<f64>>());
        let held_out = match selection.split {
            Split::Queries { held_out, .. } | Split::RepeatedQueries { held_out, .. } => held_out,
            _ => 0,
        };
        writer.count(held_out as u64);
        writer.count(selection.chosen.map_or(0, |chosen| chosen as u64 + 1));
        let error = |error: &StandardError| vec![error.error, error.factor, error.queries as f64];
        writer.numbers(&selection.error.as_ref().map_or_else(Vec::new, error));
        writer.numbers(&[lambda.unwrap_or(f64::NAN)]);
        writer.count(warnings.len() as u64);
        warnings.iter().for_each(|warning| writer.bytes(warning.as_bytes()));
        writer.bytes(Value::Object(details).to_string().as_bytes());
        Ok(writer.into_bytes())
    }

    fn from_bytes(spec: &AutoSpec, bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::of_state(bytes);
        let facts = Facts::new(reader.numbers()?)?;
        // 1. Members.
        let lambdas = reader.numbers()?;
        let members = read_spaces(&mut reader, facts.dim())?;
        if lambdas.len() != members.len() {
            return Err(reader.forged("a lambda for each space"));
        }
        // 2. The choice.
        let value = |value: &[f64]| (value[0], Some(value[1]).filter(|value| !value.is_nan()));
        let curve: Curve = reader.numbers()?.chunks_exact(2).map(value).collect();
        let held_out = reader.count()? as usize;
        let chosen = reader.count_to(curve.len() as u64)?.checked_sub(1);
        let error = match reader.numbers()?[..] {
            [error, factor, queries] => Some(StandardError { error, factor, queries: queries as usize }),
            _ => None,
        };
        let queries = facts.count(Count::Queries, Part::All) as usize;
        let mut numbers =
            error.iter().flat_map(|of| [of.error, of.factor]).chain(curve.iter().map(|(lambda, _)| *lambda));
        let is_finite = numbers.all(f64::is_finite) && lambdas.iter().all(|lambda| is_positive(*lambda));
        if !is_finite || held_out > queries {
            return Err(reader.forged("positive lambdas, and a choice by some of the queries"));
        }
        let split = split(spec.effort.partitions, held_out, queries);
        let selection = Selection { error, ..Selection::new(&spec.validation.metric, split, curve, chosen) };
        let [lambda] = reader.numbers()?[..] else { return Err(reader.forged("a lambda")) };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let warnings =
            (0..reader.length()?).map(|_| reader.bytes().map(text)).collect::<Result<Vec<String>>>()?;
        let Ok(Strict(Value::Object(details))) = serde_json::from_slice(reader.bytes()?) else {
            return Err(reader.forged("a report"));
        };
        reader.end()?;
        let lambda = Some(lambda).filter(|lambda| !lambda.is_nan());
        Ok(Self { facts, choice: Choice { lambda, selection, warnings, details }, lambdas, members })
    }
}

impl BucketTraining for AutoSpec {
    fn run(&self, replay: &mut Replay, names: &[String], control: &Control) -> Result<Option<Outcome>> {
        let tried =
            replay.task(TRIALS_TASK, |asking| Tried::ask(self, asking, names, control)?.into_bytes())?;
        let Some(tried) = tried else { return Ok(None) };
        let Tried { facts, choice, lambdas, members } = Tried::from_bytes(self, &tried)?;
        let mut sums = Vec::with_capacity(members.len());
        for number in 0..members.len() {
            let question = Question { kind: GRAM, part: Part::All, numbers: vec![number as f64] };
            sums.extend(replay.numbers(GRAM_TASKS + number, |asking| Ok(asking.ask(question).numbers))?);
        }
        if sums.len() < members.len() {
            return Ok(None);
        }
        let mut fitted = Vec::with_capacity(members.len());
        for ((Member { scaling, space }, lambda), sums) in members.into_iter().zip(lambdas).zip(sums) {
            control.check()?;
            // The weight of the documents comes after the sums.
            let (weight, sums) =
                sums.split_last().filter(|(weight, _)| is_positive(**weight)).ok_or_else(wrong_length)?;
            let gram = Gram::of_numbers(space.dim(), sums).ok_or_else(wrong_length)?;
            fitted.push((solved(&gram, lambda, *weight, Arc::unwrap_or_clone(scaling), &space)?, 0.0));
        }
        let objective: f64 = fitted.iter().map(|(fitted, _)| fitted.objective).sum();
        replay.show(objective, 0.0);
        Ok(Some(facts.trained(choice.trained(facts.dim(), fitted, None))))
    }

    fn answer(&self, asked: &Asked<'_>, bucket: u32, mut data: Dataset) -> Result<Vec<BucketSums>> {
        let Asked { replay, decoded, control } = *asked;
        let questions = &replay.questions;
        let columns = data.features.columns();
        if let [(_, Question { kind: FACTS, .. })] = questions[..] {
            let most = MOST_TRIED.min(SAMPLE_BYTES / (8 * columns.max(1))).max(1);
            let first = First {
                informative: &are_judged,
                missing: self.missing,
                counts_bins: false,
                sample: Some((Unit::Query, most)),
                seed: self.seed,
            };
            return first.answer(bucket, &data).map(|sums| vec![sums]);
        }
        let tried = || Tried::from_bytes(self, replay.result(TRIALS_TASK).ok_or_else(wrong_length)?);
        let tried = decoded.get(tried)?;
        tried.facts.complete(&mut data, bucket, self.missing)?;
        let of_question = |(_, question): &(usize, Question)| {
            let number = question.numbers.first().filter(|_| question.kind == GRAM);
            let member = number.and_then(|number| tried.members.get(*number as usize));
            let Member { scaling, space } = member.ok_or_else(wrong_length)?;
            let _copy =
                control.reserve(data.bytes(), "a scaled copy of the documents", "use more buckets")?;
            let mut scaled = data.clone();
            let _more = scale(scaling, scaling.kind(), &mut scaled, control)?;
            let bytes = space.single_map_bytes();
            let _map = control.reserve(bytes, "a kernel space in single precision", "use fewer landmarks")?;
            let single = if fits_single_precision(&scaled) { space.single_map() } else { None };
            let mut numbers = refit::gram(space, single.as_ref(), &Arc::new(scaled), control)?.numbers();
            numbers.push(total_weight(&data));
            Ok(BucketSums { numbers, ..BucketSums::default() })
        };
        questions.iter().map(of_question).collect()
    }
}
