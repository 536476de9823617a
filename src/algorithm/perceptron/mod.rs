//! The ranking perceptron (Chaudhuri & Tewari 2014, Algorithm 1): learns query by query, in the order of the rows, and
//! goes on from where it stands.
//!
//! What is kept between rounds is `model::OnlineState`; a training that is cut between two queries and goes on later is the
//! same, bit by bit, as one that was not. Documents are taken as they are unless the option `scale` asks for more: a
//! scaling that is learned on the first rows would not be that of all rows.
//!
//! The measure is ndcg@10 unless given: it is what validation and reports show, and its bound has k = 10 where that of
//! ndcg has the number of documents of a query (Corollary 7).

mod bounds;
mod rounds;

use serde_json::{Value, json};

use super::{AlgorithmDef, Earlier, Recipe, Trained, TrainingSet};
use crate::control::Control;
use crate::data::{Dataset, RowOrder, Scaling, ScalingKind};
use crate::error::{Error, Result};
use crate::loss::list::Active;
use crate::math::random::Random;
use crate::metric::Ties;
use crate::model::{LABEL_TIES_NAMES, LabelTies, Online, OnlineRules, OnlineState, Ranker, UPDATE_ON_NAMES};
use crate::param::Params;
use crate::smoothing::Kind;

pub use rounds::{Perceptron, Round};

/// The definition.
pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "perceptron",
    summary: "online perceptron for rankings: learns query by query in the order of the rows, and goes on with ltr_update",
    objective: "w <- w - eta sum_i v_i X' (e_k - e_i) after each query with a loss 1 - measure > 0, over documents i with max_{k: y_k < y_i} (1 + s_k - s_i) > 0, s = X w; v from the measure; no penalty, no lambda",
    source: "Chaudhuri & Tewari 2014, Algorithm 1",
    smoothing: Kind::Uniform,
    loss: "slam",
    penalty: "ridge",
    prior: "zero",
    scale: ScalingKind::None,
    order: RowOrder::Stream,
    features: true,
    parameters: &[
        "scale",
        "measure",
        "label_ties",
        "learning_rate",
        "update_on",
        "average",
        "epochs",
        "shuffle",
    ],
    train,
    go_on: Some(go_on),
};

/// The choices of one training.
#[derive(Debug, Clone)]
pub struct Choices {
    rules: OnlineRules,
    epochs: usize,
    /// Whether each epoch has an order of its own.
    shuffle: bool,
}

impl Choices {
    /// The caller's choices.
    ///
    /// # Errors
    /// A measure that SLAM does not bound.
    pub(super) fn new(options: &Params) -> Result<Self> {
        let last = |key: &str, names: &[&str]| options.text(key) == names.last().copied();
        let rules = OnlineRules {
            measure: options.text("measure").unwrap_or("ndcg@10").to_owned(),
            learning_rate: options.number("learning_rate").unwrap_or(1.0),
            update_on: if last("update_on", UPDATE_ON_NAMES) { Active::Misorder } else { Active::Margin },
            label_ties: if last("label_ties", LABEL_TIES_NAMES) {
                LabelTies::Stable
            } else {
                LabelTies::Average
            },
            average: options.get("average").and_then(Value::as_bool).unwrap_or(true),
        };
        rules.metric()?;
        let epochs = options.count("epochs").unwrap_or(1);
        Ok(Self { rules, epochs, shuffle: options.flag("shuffle") })
    }

    /// Whether the seed matters.
    pub(super) fn shuffles(&self) -> bool {
        self.shuffle
    }

    /// The choices as JSON, for the model's card.
    pub(super) fn settings(&self) -> Value {
        let OnlineRules { measure, learning_rate, update_on, label_ties, average } = &self.rules;
        json!({
            "measure": measure,
            "learning_rate": learning_rate,
            "update_on": UPDATE_ON_NAMES[*update_on as usize],
            "label_ties": LABEL_TIES_NAMES[*label_ties as usize],
            "average": average,
            "epochs": self.epochs,
            "shuffle": self.shuffle,
        })
    }
}

fn train(recipe: &Recipe, set: TrainingSet, control: &Control) -> Result<Trained> {
    let Some(Choices { rules, epochs, shuffle }) = recipe.online.clone() else {
        return Err(Error::Internal("a perceptron without its choices".to_owned()));
    };
    let TrainingSet { mut data, summaries, .. } = set;
    check_weights(&data)?;
    let scaling = Scaling::fit(recipe.scale, &data, control)?;
    scale(&scaling, &mut data, control)?;
    let progress = OnlineState { summaries, ..OnlineState::new(data.features.columns()) };
    let mut perceptron = Perceptron::new(rules, progress, Ties::Worst)?;
    control.expect(epochs.saturating_mul(data.n_queries()));
    let mut order: Vec<usize> = (0..data.n_queries()).collect();
    let mut random = Random::new(recipe.seed);
    let mut counted = vec![0; data.n_docs()];
    for _ in 0..epochs {
        if shuffle {
            random.shuffle(&mut order);
        }
        learn(&mut perceptron, &data, &order, &mut counted, control)?;
    }
    let bounds = bounds::report(&perceptron, &data, &counted, control)?;
    let mut trained = trained(perceptron, scaling);
    trained.aside = json!({ "bounds": bounds });
    Ok(trained)
}

/// One pass over more documents, from where an earlier training stopped.
fn go_on(earlier: Earlier<'_>, set: TrainingSet, control: &Control) -> Result<Trained> {
    let Ranker::Online(online) = earlier.ranker else {
        return Err(Error::Corrupt("a perceptron without what it goes on from".to_owned()));
    };
    let TrainingSet { mut data, summaries, .. } = set;
    check_weights(&data)?;
    let scaling = earlier.scaling.clone();
    scale(&scaling, &mut data, control)?;
    let progress = OnlineState { summaries, ..online.state().clone() };
    let mut perceptron = Perceptron::new(online.rules().clone(), progress, Ties::Worst)?;
    control.expect(data.n_queries());
    let order: Vec<usize> = (0..data.n_queries()).collect();
    let mut counted = vec![0; data.n_docs()];
    learn(&mut perceptron, &data, &order, &mut counted, control)?;
    Ok(trained(perceptron, scaling))
}

/// One round for every query of `order`; adds to `counted` in how many rounds each document counted.
fn learn(
    perceptron: &mut Perceptron,
    data: &Dataset,
    order: &[usize],
    counted: &mut [u32],
    control: &Control,
) -> Result<()> {
    for &query in order {
        control.check()?;
        let round = perceptron.round(&data.documents(query), data.labels(query));
        let round =
            round.map_err(|error| Error::Data(format!("query {}: {error}", data.query_ids[query])))?;
        for document in round.counted {
            let count = &mut counted[data.offsets[query] + document];
            *count = count.saturating_add(1);
        }
        control.step();
    }
    Ok(())
}

fn trained(perceptron: Perceptron, scaling: Scaling) -> Trained {
    let (rules, progress) = perceptron.into_parts();
    let mut warnings = Vec::new();
    if progress.updates == 0 {
        warnings.push(format!(
            "nothing was learnt: none of the {} rounds had a loss, so every score is 0",
            progress.rounds
        ));
    }
    let report = json!({
        "rounds": progress.rounds,
        "updates": progress.updates,
        "cumulative_loss": progress.cumulative_loss,
        "cumulative_surrogate": progress.cumulative_surrogate,
        "largest_norm": progress.largest_norm,
        "largest_weight_ratio": progress.largest_ratio,
        "most_weighted_documents": progress.most_weighted,
    });
    Trained {
        ranker: Ranker::Online(Online::new(rules, progress)),
        scaling,
        lambda: None,
        prior_lambda: None,
        choice: None,
        log: Vec::new(),
        functions: 1,
        unconverged: 0,
        warnings,
        report,
        aside: json!({}),
    }
}

fn scale(scaling: &Scaling, data: &mut Dataset, control: &Control) -> Result<()> {
    let features = data.take_features();
    data.features = scaling.matrix(features, &data.offsets, control)?;
    Ok(())
}

/// Algorithm 1 has no weights of queries.
fn check_weights(data: &Dataset) -> Result<()> {
    match data.weights.iter().position(|weight| (weight - 1.0).abs() > 0.0) {
        None => Ok(()),
        Some(query) => Err(Error::Unsupported(format!(
            "query {} has the weight {}; a perceptron takes every query alike, so leave the column of weights out \
             with the option \"columns\": {{\"ignore\": [...]}}",
            data.query_ids[query], data.weights[query]
        ))),
    }
}
