//! What the report tells about penalties without a lambda.

use serde_json::{Map, Value, json};

use super::fits::Fit;
use super::lambdas::default_components;
use super::spec::GridSpec;
use crate::learn::fit::Penalty;
use crate::learn::solve::Stop;
use crate::train::select::TunedValue;

/// Eigenfunctions of which the report has eigenvalues and coefficients: the leading ones.
const MOST_LISTED: usize = 100;

/// Lambda, or what the report has in its place, for the parameter that was chosen.
pub fn report(spec: &GridSpec, value: f64, fits: &[Fit]) -> (Option<f64>, Map<String, Value>) {
    let mut details = Map::new();
    let mut set = |key: &str, value: Value| details.insert(key.to_owned(), value);
    match spec.penalty {
        Penalty::Ridge | Penalty::L1 => {}
        Penalty::Threshold | Penalty::Components => {
            let most = fits.iter().map(kept).max();
            if spec.penalty == Penalty::Components {
                set("components", json!(most.unwrap_or(value as usize)));
            }
            if most.is_some() {
                set("eigenfunctions", eigenfunctions(fits));
            }
        }
        Penalty::Ball => {
            set("radius", json!(value));
        }
        Penalty::Sphere => {
            set("radius", json!(value));
            set("certified", json!(fits.iter().all(|fit| fit.report.stop != Stop::Stationary)));
        }
    }
    (matches!(spec.penalty, Penalty::Ridge | Penalty::Threshold | Penalty::L1).then_some(value), details)
}

/// A warning if fewer eigenfunctions exist than `asked`, the number in use. The default candidates may be larger than any
/// data set needs.
pub fn warning(spec: &GridSpec, asked: f64, fits: &[Fit]) -> Option<String> {
    if spec.penalty != Penalty::Components || spec.lambda == TunedValue::Among(default_components()) {
        return None;
    }
    let fewest = fits.iter().map(kept).min().filter(|fewest| (*fewest as f64) < asked)?;
    Some(format!(
        "option 'components': {asked} eigenfunctions are more than the {fewest} with an eigenvalue above 0; these are used"
    ))
}

/// Number of eigenfunctions of a fit.
fn kept(fit: &Fit) -> usize {
    fit.report.eigenfunctions.len()
}

/// How many eigenfunctions are kept; of a single function also their eigenvalues and coefficients.
fn eigenfunctions(fits: &[Fit]) -> Value {
    let [fit] = fits else {
        let counts = fits.iter().map(kept);
        return json!({ "fewest": counts.clone().min(), "most": counts.max() });
    };
    let listed = fit.report.eigenfunctions.iter().take(MOST_LISTED);
    let (values, coefficients): (Vec<f64>, Vec<f64>) = listed.copied().unzip();
    json!({ "kept": kept(fit), "eigenvalues": values, "coefficients": coefficients })
}
