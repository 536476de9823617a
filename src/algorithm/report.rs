//! The report of a training: counts of the data, what the fit found, warnings.

use serde_json::{Value, json};

use super::Trained;
use crate::data::Dataset;

/// Appends the entries of one JSON object to another.
pub fn merge(report: &mut Value, more: Value) {
    if let (Some(report), Value::Object(more)) = (report.as_object_mut(), more) {
        report.extend(more);
    }
}

/// What is known of the training set; nothing volatile.
pub fn facts(data: &Dataset) -> Value {
    let pairs: u64 = (0..data.n_queries()).map(|query| crate::loss::pair_count(data.labels(query))).sum();
    json!({
        "queries": data.n_queries(),
        "documents": data.n_docs(),
        "pairs": pairs,
        "features": data.features.columns(),
        "feature_type": if data.features.element_bytes() == 4 { "f32" } else { "f64" },
    })
}

/// What training found, without anything volatile.
pub fn found(trained: &Trained) -> Value {
    let validation = trained.choice.as_ref().map(|choice| {
        let best = choice.winner.and_then(|winner| choice.curve[winner].1);
        let curve: Vec<Value> = choice.curve.iter().map(|(lambda, value)| json!([lambda, value])).collect();
        json!({ "metric": choice.metric, "held_out": choice.held_out, "best": best, "curve": curve })
    });
    let query_features =
        trained.ranker.query_rule().map(|rule| json!({ "kind": rule.kind.name(), "names": rule.names }));
    let worst = trained
        .log
        .iter()
        .skip(if trained.functions == 1 { trained.log.len().saturating_sub(1) } else { 0 })
        .map(|step| if step.objective > 0.0 { step.gap / step.objective } else { 0.0 })
        .fold(0.0, f64::max);
    // Without a penalty there is no optimum to be away from.
    let worst = trained.lambda.map(|_| worst);
    let mut found = json!({ "lambda": trained.lambda });
    if let Some(lambda) = trained.prior_lambda {
        found["prior_lambda"] = json!(lambda);
    }
    if let Some(space) = trained.ranker.scorer()
        && let Some(kernel) = space.kernel()
    {
        found["kernel"] = kernel.to_json();
        found["pivots"] = json!(space.dim());
    }
    let rest = json!({
        "validation": validation,
        "query_features": query_features,
        "functions": trained.functions,
        "unconverged": trained.unconverged,
        "largest_relative_gap": worst,
    });
    merge(&mut found, rest);
    merge(&mut found, trained.report.clone());
    found
}

/// What the caller should know from the trainer.
pub fn training_warnings(trained: &Trained) -> Vec<String> {
    let mut warnings = trained.warnings.clone();
    if trained.unconverged > 0 {
        warnings.push(format!("{} fits stopped before the tolerance was reached", trained.unconverged));
    }
    warnings
}

/// Signs of leakage (contract, sources), and rows that stand twice.
pub fn signs_of_leakage(data: &Dataset) -> Vec<String> {
    let mut warnings = Vec::new();
    for (column, name) in data.names.iter().enumerate() {
        let lower = name.to_lowercase();
        let like_id = ["id", "rowid", "fold", "split"].contains(&lower.as_str()) || lower.ends_with("_id");
        if like_id {
            warnings.push(format!("the feature \"{name}\" is named like an id; if it is one, ignore it with the option 'columns'"));
        }
        let equal = |row: usize| data.features.at(row, column).total_cmp(&data.relevance[row]).is_eq();
        if data.n_docs() > 1 && (0..data.n_docs()).all(equal) {
            warnings.push(format!("the feature \"{name}\" equals the relevance in every row (leakage?)"));
        }
    }
    if data.duplicates > 0 {
        warnings.push(format!("{} rows repeat a (query, document) of another row", data.duplicates));
    }
    warnings
}
