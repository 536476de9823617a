//! A recipe as JSON.

use serde_json::{Value, json};

use super::spec::{PRIOR_NAMES, Prior, Recipe, Weighting};
use crate::fit::Penalty;
use crate::smoothing::{Bandwidth, Kind};

impl Recipe {
    /// The choices as JSON, for the model's card.
    pub fn settings(&self) -> Value {
        if let Some(online) = &self.online {
            let mut settings = online.settings();
            settings["scale"] = json!(self.scale.name());
            if online.shuffles() {
                settings["seed"] = json!(self.seed);
            }
            return settings;
        }
        if let Some(factorization) = &self.factorization {
            let mut settings = factorization.settings();
            for (key, value) in &self.loss_parameters {
                settings[key] = value.clone();
            }
            settings["seed"] = json!(self.seed);
            return settings;
        }
        let mut settings = json!({
            "smoothing": self.smoothing.kind.name(),
            "loss": self.loss.def().name,
            "form": self.form.name(),
            "kernel": self.given_kernel,
            "solver": self.solver.name,
            "scale": self.scale.name(),
            "tolerance": self.tolerance,
        });
        for (key, value) in &self.loss_parameters {
            settings[key] = value.clone();
        }
        if self.smoothing.kind != Kind::Uniform || self.prior != Prior::Zero {
            settings["prior"] = json!(PRIOR_NAMES[self.prior as usize]);
        }
        match self.weighting {
            Weighting::Queries => {}
            Weighting::Documents => settings["weighting"] = json!("documents"),
            Weighting::Pairs => settings["weighting"] = json!("pairs"),
        }
        if self.penalty != Penalty::Ridge {
            settings["penalty"] = json!(self.penalty_name());
        }
        if self.smoothing.kind != Kind::Uniform {
            settings["fit_at"] = json!(if self.fits_at_query_time { "query_time" } else { "training" });
        }
        if self.smoothing.kind.uses_distance() {
            settings["neighbors"] = json!(self.smoothing.neighbors);
            settings["query_scale"] = json!(if self.standardize_queries { "standard" } else { "none" });
            if self.smoothing.kind != Kind::Knn {
                settings["bandwidth"] = match self.smoothing.bandwidth {
                    Bandwidth::Median => json!("median"),
                    Bandwidth::Fixed(h) => json!(h),
                };
            }
        }
        settings
    }
}
