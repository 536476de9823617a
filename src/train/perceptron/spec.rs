//! The options of the perceptron's training.
//!
//! The default measure is ndcg@10, as in validation and reports. The bound has k = 10; the bound of ndcg has the number of
//! documents of a query instead (Corollary 7).

use super::super::algorithm::entries;
use crate::base::{Error, Params, Result};
use crate::cost::loss::list::LabelTies;
use crate::data::{Missing, ScalingKind};
use crate::learn::kernel::KernelSpec;
use crate::model::OnlineRules;
use crate::train::options;
use serde_json::{Map, Value, json};

/// The default measure.
pub(super) const MEASURE: &str = "ndcg@10";

/// The choices of one training.
#[derive(Debug, Clone)]
pub struct PerceptronSpec {
    pub(super) rules: OnlineRules,
    pub(super) kernel: KernelSpec,
    /// The kernel as the caller gave it.
    given_kernel: Option<Value>,
    pub(super) epochs: usize,
    /// Whether each epoch reads the queries in another random order.
    pub(super) shuffle: bool,
    pub(super) scale: ScalingKind,
    pub(super) missing: Missing,
    pub(super) seed: u64,
}

impl PerceptronSpec {
    /// Parses and checks parameters.
    ///
    /// # Errors
    /// A measure that SLAM does not bound; a budget without a kernel.
    pub(super) fn parse(params: &Params) -> Result<Self> {
        let given_kernel = params.get("kernel").cloned();
        let kernel = given_kernel.as_ref().map(KernelSpec::parse).transpose()?.unwrap_or_default();
        if kernel.is_linear() && params.has("budget") {
            let default = if given_kernel.is_some() { "" } else { " (the algorithm's default)" };
            let problem = format!("option 'budget' has no effect with kernel \"linear\"{default}");
            return Err(Error::Unsupported(problem));
        }
        let rules = OnlineRules {
            measure: options::text(params, "measure").to_ascii_lowercase(),
            learning_rate: params.number("learning_rate").unwrap_or(1.0),
            update_on: options::choice(params, "update_on")?,
            label_ties: params.choice("label_ties")?.unwrap_or(LabelTies::Average),
            average: options::switch(params, "average"),
            budget: (!kernel.is_linear()).then(|| options::count(params, "budget")),
        };
        rules.metric()?;
        Ok(Self {
            rules,
            given_kernel: given_kernel.filter(|_| !kernel.is_linear()),
            kernel,
            epochs: options::count(params, "epochs"),
            shuffle: params.flag("shuffle"),
            scale: options::choice(params, "scale")?,
            missing: options::choice(params, "missing")?,
            seed: params.seed(),
        })
    }

    /// The choices as JSON, without those that have no effect.
    pub(super) fn settings(&self) -> Map<String, Value> {
        let OnlineRules { measure, learning_rate, update_on, label_ties, average, budget } = &self.rules;
        let mut settings = entries(json!({
            "kernel": self.given_kernel,
            "budget": budget,
            "measure": measure,
            "learning_rate": learning_rate,
            "update_on": update_on.name(),
            "label_ties": label_ties.name(),
            "average": average,
            "epochs": self.epochs,
            "shuffle": self.shuffle,
            "scale": self.scale.name(),
            "seed": self.shuffle.then_some(self.seed),
        }));
        settings.retain(|_, value| !value.is_null());
        settings
    }
}
