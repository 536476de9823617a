//! The ranking perceptron (Chaudhuri & Tewari 2014, Algorithm 1): learns query by query in the order of the rows.
//! `rounds` computes the update of a query, `bounds` the bounds of the mistakes.
//!
//! `model::OnlineState` holds the state between rounds. Training that is interrupted between two queries and resumed gives the
//! same bits as one training. Documents are not scaled by default: a scaling learned on the first rows would differ from
//! a scaling of all rows.
//!
//! With a kernel whose parameters are numbers, an update equals one training too. By default they depend on the spread of
//! the documents of the first training.

use super::super::algorithm::{
    AlgorithmDef, Columns, DocWeights, InBuckets, Input, PreviousFit, Trained, TrainingSet, TrainingSpec,
    entries, refuse_query_weights, scale,
};
use super::bounds::Start;
use super::rounds::Perceptron;
use super::spec::{MEASURE, PerceptronSpec};
use crate::base::{Control, Error, Reservation, Result};
use crate::cost::metric::Ties;
use crate::data::{Dataset, ListConstraint, RowOrder, Scaling, ScalingKind};
use crate::math::Random;
use crate::model::{Online, OnlineState, Ranker};
use crate::train::options::Reader;
use serde_json::{Map, Value, json};

pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "perceptron",
    summary: "online perceptron for rankings: learns query by query in the order of the rows; ltr_update resumes it",
    objective: "w <- w - eta sum_i v_i X' (e_k - e_i) after each query with a loss 1 - measure > 0, over documents i with max_{k: y_k < y_i} (1 + s_k - s_i) > 0, s = X w; v from the measure; no penalty, no lambda",
    source: "Chaudhuri & Tewari 2014, Algorithm 1",
    defaults: &[("scale", ScalingKind::None.name()), ("measure", MEASURE)],
    reads: |option| Reader::Perceptron.reads(option),
    parse: |params| Ok(Box::new(PerceptronSpec::parse(params)?)),
    resume: Some(resume),
    in_buckets: InBuckets::No(
        "reads the documents one query after the other, so it does not train in buckets; train it on rows",
    ),
};

impl TrainingSpec for PerceptronSpec {
    fn input(&self) -> Input<'_> {
        Input {
            columns: Columns::Features,
            constraint: ListConstraint::None,
            order: RowOrder::Stream,
            missing: self.missing,
            validation: None,
            doc_weights: DocWeights::RefusedByAlgorithm("perceptron"),
            prior: None,
            counts_spread: self.scale == ScalingKind::None,
        }
    }

    fn fit(&self, set: TrainingSet, control: &Control) -> Result<Trained> {
        // 1. Scaled documents.
        let TrainingSet { mut data, summaries, .. } = set;
        refuse_query_weights(&data, "query", "the perceptron")?;
        let scaling = Scaling::fit(self.scale, &data, control)?;
        let _memory = scale(&scaling, self.scale, &mut data, control)?;
        // 2. One round per query and epoch.
        let width = data.features.columns();
        let state = if self.kernel.is_linear() {
            OnlineState::new(width)
        } else {
            OnlineState::with_kernel(self.kernel.fit(&data.features, self.seed, control)?, width)
        };
        let mut perceptron =
            Perceptron::new(self.rules.clone(), OnlineState { summaries, ..state }, Ties::Worst)?;
        let start = Start::of(&perceptron);
        let mut memory = control.memory().nothing();
        control.expect(self.epochs.saturating_mul(data.n_queries()));
        let mut order: Vec<usize> = (0..data.n_queries()).collect();
        let mut random = Random::new(self.seed);
        let mut counted = vec![0; data.n_docs()];
        for _ in 0..self.epochs {
            if self.shuffle {
                random.shuffle(&mut order);
            }
            learn(&mut perceptron, &data, &order, &mut counted, &mut memory, control)?;
        }
        // 3. Bounds of the losses.
        let bounds = super::bounds::report(&perceptron, &start, &data, &counted, control)?;
        Ok(trained(perceptron, scaling, bounds))
    }

    fn settings(&self) -> Map<String, Value> {
        self.settings()
    }
}

/// One pass over more documents.
fn resume(previous: PreviousFit<'_>, set: TrainingSet, control: &Control) -> Result<Trained> {
    let Ranker::Online(online) = previous.ranker else {
        return Err(Error::Corrupt("a perceptron without its progress".to_owned()));
    };
    let TrainingSet { mut data, summaries, .. } = set;
    refuse_query_weights(&data, "query", "the perceptron")?;
    let scaling = previous.scaling.clone();
    let _memory = scale(&scaling, scaling.kind(), &mut data, control)?;
    let progress = OnlineState { summaries, ..online.state.clone() };
    let mut memory = control.memory().nothing();
    super::rounds::reserve(&online.rules, &progress, 0, &mut memory)?;
    let mut perceptron = Perceptron::new(online.rules.clone(), progress, Ties::Worst)?;
    let start = Start::of(&perceptron);
    control.expect(data.n_queries());
    let order: Vec<usize> = (0..data.n_queries()).collect();
    let mut counted = vec![0; data.n_docs()];
    learn(&mut perceptron, &data, &order, &mut counted, &mut memory, control)?;
    let bounds = super::bounds::report(&perceptron, &start, &data, &counted, control)?;
    Ok(trained(perceptron, scaling, bounds))
}

/// One round for each query of `order`. `counted`: number of rounds that used each document. `memory`: the bytes of support
/// documents.
pub(super) fn learn(
    perceptron: &mut Perceptron,
    data: &Dataset,
    order: &[usize],
    counted: &mut [u32],
    memory: &mut Reservation,
    control: &Control,
) -> Result<()> {
    for &query in order {
        control.check()?;
        super::rounds::reserve(&perceptron.rules, &perceptron.progress, data.rows(query).len(), memory)?;
        let round = perceptron.round(&data.documents(query), data.labels(query), control);
        let round = round.map_err(|error| match error {
            Error::Data(problem) => Error::Data(format!("query {}: {problem}", data.query_ids[query])),
            other => other,
        })?;
        for document in round.counted {
            let count = &mut counted[data.offsets[query] + document];
            *count = count.saturating_add(1);
        }
        control.step();
    }
    Ok(())
}

fn trained(perceptron: Perceptron, scaling: Scaling, bounds: Value) -> Trained {
    let (rules, progress) = perceptron.into_parts();
    let mut warnings = Vec::new();
    if progress.updates == 0 {
        let rounds = progress.rounds;
        warnings.push(format!("no query has a loss, so all scores are 0 (rounds: {rounds})"));
    }
    let details = entries(json!({
        "rounds": progress.rounds,
        "updates": progress.updates,
        "cumulative_loss": progress.cumulative_loss,
        "cumulative_surrogate": progress.cumulative_surrogate,
        "largest_norm": progress.largest_norm,
        "largest_weight_ratio_of_updates": progress.largest_ratio,
        "most_weighted_documents_of_updates": progress.most_weighted,
    }));
    let volatile = Map::from_iter([("bounds".to_owned(), bounds)]);
    Trained {
        warnings,
        details,
        volatile,
        ..Trained::new(Ranker::Online(Box::new(Online::new(rules, progress))), scaling)
    }
}
