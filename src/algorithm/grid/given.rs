//! What the caller's options say, one by one, and which of them have no meaning together.

use serde_json::Value;

use super::spec::{LambdaChoice, Validation, Weighting};
use crate::algorithm::{ALGORITHMS, AlgorithmDef};
use crate::data::Missing;
use crate::error::{Error, Result};
use crate::fit::Penalty;
use crate::loss::{LOSSES, LossDef};
use crate::metric::Metric;
use crate::param::Params;
use crate::smoothing::Kind;

/// Refuses parameters of other algorithms.
pub(super) fn check_parameters(algorithm: &AlgorithmDef, options: &Params) -> Result<()> {
    let of_another = |key: &&String| {
        let takes = |algorithm: &AlgorithmDef| algorithm.parameters.contains(&key.as_str());
        !takes(algorithm) && ALGORITHMS.iter().any(|other| takes(other))
    };
    match options.given().keys().find(of_another) {
        Some(key) => Err(Error::Unsupported(format!(
            "option '{key}': it is no option of '{}', which takes {}",
            algorithm.name,
            algorithm.parameters.join(", ")
        ))),
        None => Ok(()),
    }
}

/// Refuses parameters of other losses.
pub(super) fn check_loss_options(algorithm: &AlgorithmDef, loss: &LossDef, options: &Params) -> Result<()> {
    let of_another = |key: &&String| {
        let takes = |loss: &LossDef| loss.parameters.contains(&key.as_str());
        // What 'cofi_rank' sees of a rating is a choice of its own.
        let own = !algorithm.features && *key == "target";
        !takes(loss) && !own && LOSSES.iter().any(|other| takes(other))
    };
    match options.given().keys().find(of_another) {
        Some(key) => Err(Error::Unsupported(format!(
            "option '{key}': it has no meaning with the loss \"{}\"",
            loss.name
        ))),
        None => Ok(()),
    }
}

/// The penalty; what takes the place of lambda goes with its own one only.
pub(super) fn penalty(options: &Params, algorithm: &AlgorithmDef) -> Result<Penalty> {
    let name = options.text("penalty").unwrap_or(algorithm.penalty);
    let refused = |key: &str, reason: &str| Err(Error::Unsupported(format!("option '{key}': {reason}")));
    if options.has("components") && name != "spectral" {
        return refused("components", "it has no meaning without \"penalty\": \"spectral\"");
    }
    if options.has("radius") && name != "ball" {
        return refused("radius", "it has no meaning without \"penalty\": \"ball\"");
    }
    match (name, options.has("lambda")) {
        ("ball", true) => {
            refused("lambda", "it has no meaning with \"penalty\": \"ball\", which takes 'radius'")
        }
        ("ball", false) => Ok(Penalty::Ball),
        ("spectral", true) if options.has("components") => {
            refused("components", "give the number of components or the smallest eigenvalue lambda, not both")
        }
        ("spectral", _) if options.has("components") => {
            check_counts(options.get("components")).map(|()| Penalty::Components)
        }
        ("spectral", _) => Ok(Penalty::Threshold),
        _ => Ok(Penalty::Ridge),
    }
}

/// Refuses numbers of components that are not whole.
fn check_counts(given: Option<&Value>) -> Result<()> {
    let numbers = match given {
        Some(Value::Array(numbers)) => numbers.as_slice(),
        Some(other) => std::slice::from_ref(other),
        None => &[],
    };
    match numbers.iter().filter_map(Value::as_f64).find(|number| number.fract() > 0.0) {
        Some(number) => Err(Error::value(
            "option 'components'",
            number.to_string(),
            "a whole number, an array of such numbers, or \"auto\"",
        )),
        None => Ok(()),
    }
}

pub(super) fn check_smoothing_options(kind: Kind, options: &Params) -> Result<()> {
    let unused = |key: &str| {
        let reason = format!("it has no meaning with smoothing \"{}\"", kind.name());
        Err(Error::Unsupported(format!("option '{key}': {reason}")))
    };
    match kind {
        Kind::Uniform | Kind::Individual if options.has("neighbors") => unused("neighbors"),
        Kind::Uniform | Kind::Individual | Kind::Knn if options.has("bandwidth") => unused("bandwidth"),
        Kind::Uniform if options.has("query_features") => unused("query_features"),
        Kind::Uniform if options.has("query_scale") => unused("query_scale"),
        Kind::Uniform if options.text("prior") == Some("global") => unused("prior"),
        Kind::Uniform if options.has("fit_at") => unused("fit_at"),
        Kind::Uniform if options.has("lambda_scope") => unused("lambda_scope"),
        _ => Ok(()),
    }
}

pub(super) fn lambda(given: Option<&Value>, auto: impl FnOnce() -> Vec<f64>) -> LambdaChoice {
    match given {
        Some(Value::Number(number)) => LambdaChoice::Fixed(number.as_f64().unwrap_or(1.0)),
        Some(Value::Array(list)) => {
            let mut lambdas: Vec<f64> = list.iter().filter_map(Value::as_f64).collect();
            lambdas.sort_by(|a, b| b.total_cmp(a));
            lambdas.dedup_by(|a, b| a.to_bits() == b.to_bits());
            LambdaChoice::Among(lambdas)
        }
        _ => LambdaChoice::Among(auto()),
    }
}

pub(super) fn metric(given: Option<&Value>) -> Result<Metric> {
    match given {
        None => Metric::parse("ndcg@10"),
        Some(Value::String(name)) => Metric::parse(name),
        Some(other) => {
            Err(Error::value("option 'metric'", other.to_string(), "one metric, such as \"ndcg@10\""))
        }
    }
}

pub(super) fn weighting(given: Option<&str>) -> Weighting {
    match given {
        Some("documents") => Weighting::Documents,
        Some("pairs") => Weighting::Pairs,
        _ => Weighting::Queries,
    }
}

pub(super) fn validation(given: Option<&Value>, of_documents: bool) -> Validation {
    match given {
        Some(Value::Number(share)) => Validation::Queries(share.as_f64().unwrap_or(0.2)),
        Some(Value::String(text)) if text == "documents" => Validation::Documents,
        Some(Value::String(text)) => Validation::Source(text.clone()),
        _ if of_documents => Validation::Documents,
        _ => Validation::Queries(0.2),
    }
}

/// What a missing feature counts as, from the options of any call that reads a source.
pub fn missing(options: &Params) -> Missing {
    match options.text("missing") {
        Some("zero") => Missing::Zero,
        Some("mean") => Missing::Mean,
        _ => Missing::Error,
    }
}
