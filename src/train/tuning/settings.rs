//! The settings that a search compares: every combination of the values in arrays.

use serde_json::{Map, Value, json};

use crate::base::{Error, Params, Result, stored_model};
use crate::cost::metric::METRIC_ARGUMENTS;
use crate::train::algorithm::{AlgorithmDef, TrainingSpec};
use crate::train::options::OPTIONS;
use crate::train::select::FOLD_OPTIONS;

/// Largest number of settings.
const MOST_SETTINGS: usize = 10_000;

/// Options whose arrays name candidates of lambda, or of the parameter that replaces it.
pub(super) const PATHS: &[&str] = &["lambda", "components", "radius"];

/// One combination of values.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The options that the search varies, with their values in this setting; null for an option without effect in it. As a
    /// merge patch (RFC 7396) it turns the options of the search into the options of the setting.
    pub values: Map<String, Value>,
    /// The options of a training with this setting.
    pub params: Params,
}

/// Settings that differ at most in lambda, or in the parameter that replaces it.
pub struct Group {
    /// The training. If there are candidates, it chooses among them itself, and a fold gives it one.
    pub spec: Box<dyn TrainingSpec>,
    /// The settings, at least one.
    pub settings: Vec<Setting>,
    /// The candidate of each setting, largest first. Empty if the only setting leaves the choice to the training.
    pub candidates: Vec<f64>,
}

/// Treatment of the candidates for lambda.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lambdas {
    /// Each makes a setting.
    AreSettings,
    /// The training chooses among them in each fold.
    ChosenInFold,
}

/// Whether an option is an array whose values a search tries. Arrays of lambda, of its replacement and of
/// `decoder_power` are values that a training understands itself.
pub fn has_arrays(options: &Params) -> bool {
    arrays(options)
        .iter()
        .any(|(key, _)| !OPTIONS.iter().any(|def| def.key == *key && def.rule.takes_arrays()))
}

/// Whether any option is an array whose values a search tries.
pub fn has_any_arrays(options: &Params) -> bool {
    !arrays(options).is_empty() || PATHS.iter().any(|key| options.get(key).is_some_and(Value::is_array))
}

/// An option for which this algorithm takes several values.
pub fn example(algorithm: &AlgorithmDef) -> &'static str {
    let read = |key: &&'static str| (algorithm.reads)(key);
    ["lambda", "kernel", "scale"].into_iter().find(read).unwrap_or("scale")
}

/// The arrays among the options, except the arrays of [`PATHS`], in the order of the table of options.
fn arrays(options: &Params) -> Vec<(&'static str, &Vec<Value>)> {
    let searched = OPTIONS.iter().filter(|def| def.searchable && !PATHS.contains(&def.key));
    searched.filter_map(|def| Some((def.key, options.get(def.key)?.as_array()?))).collect()
}

/// The groups of all combinations.
///
/// # Errors
/// A combination that the algorithm refuses, with the combination; an option without effect in all of them; too many.
pub(super) fn groups(algorithm: &AlgorithmDef, options: &Params, lambdas: Lambdas) -> Result<Vec<Group>> {
    let arrays = arrays(options);
    check(options, &arrays)?;
    let base = base(algorithm, options);
    let searched: Vec<&str> = arrays.iter().map(|(key, _)| *key).collect();
    let (mut groups, mut count): (Vec<Group>, usize) = (Vec::new(), 0);
    let mut useless: Vec<(&'static str, Error)> = Vec::new();
    let mut used: Vec<String> = Vec::new();
    for values in combinations(&arrays) {
        let (setting, spec, dropped) = setting(algorithm, &base, values, &searched)?;
        let is_left_out = |key: &&String| !dropped.iter().any(|(option, _)| option == key);
        used.extend(base.given().keys().filter(is_left_out).cloned());
        useless.extend(dropped);
        if groups.iter().any(|group: &Group| group.settings[0].is_of(&setting, &searched)) {
            continue;
        }
        let group = match lambdas {
            Lambdas::AreSettings => Group::expanded(spec, setting),
            Lambdas::ChosenInFold => Group::single(spec, setting),
        };
        count += group.settings.len();
        if count > MOST_SETTINGS {
            return Err(too_many());
        }
        groups.push(group);
    }
    match useless.into_iter().find(|(option, _)| !used.iter().any(|key| key == option)) {
        Some((_, problem)) => Err(problem),
        None => Ok(groups),
    }
}

fn too_many() -> Error {
    Error::Unsupported(format!(
        "the arrays have more than {MOST_SETTINGS} combinations with lambda; give fewer values"
    ))
}

/// Refuses arrays that make too many settings, and arrays of stored models.
fn check(options: &Params, arrays: &[(&str, &Vec<Value>)]) -> Result<()> {
    let product = arrays.iter().try_fold(1_usize, |product, (_, values)| product.checked_mul(values.len()));
    if product.is_none_or(|product| product > MOST_SETTINGS) {
        return Err(too_many());
    }
    let priors = options.get("prior").and_then(Value::as_array);
    if priors.is_some_and(|priors| priors.iter().any(|prior| stored_model(prior).is_some())) {
        let problem = "option 'prior': an array cannot name stored models; call for each of them";
        return Err(Error::Unsupported(problem.to_owned()));
    }
    Ok(())
}

/// The options of a training. Metric options are removed if the algorithm does not use them.
fn base(algorithm: &AlgorithmDef, options: &Params) -> Params {
    let mut search_keys = FOLD_OPTIONS.to_vec();
    let metric_keys = METRIC_ARGUMENTS.iter().chain(&["metric", "undefined"]);
    search_keys.extend(metric_keys.filter(|key| !(algorithm.reads)(key)));
    options.clone().without(&search_keys)
}

/// Every combination of the values, the last option varies first.
fn combinations(arrays: &[(&'static str, &Vec<Value>)]) -> Vec<Map<String, Value>> {
    let mut settings = vec![Map::new()];
    for (key, values) in arrays {
        let with = |before: &Map<String, Value>| {
            values
                .iter()
                .map(|value| {
                    let mut next = before.clone();
                    next.insert((*key).to_owned(), value.clone());
                    next
                })
                .collect::<Vec<_>>()
        };
        settings = settings.iter().flat_map(with).collect();
    }
    settings
}

/// A setting, its training, and the options that were removed because they have no effect in it.
type Parsed = (Setting, Box<dyn TrainingSpec>, Vec<(&'static str, Error)>);

/// Parses a combination. An option without effect because of a searched one is removed.
fn setting(
    algorithm: &AlgorithmDef,
    base: &Params,
    mut values: Map<String, Value>,
    searched: &[&str],
) -> Result<Parsed> {
    let mut params = values.iter().fold(base.clone(), |params, (key, value)| params.with(key, value.clone()));
    let mut dropped = Vec::new();
    loop {
        match algorithm.spec(&params) {
            Ok(spec) => return Ok((Setting { values, params }, spec, dropped)),
            Err(Error::NoEffect { option, reason, because_of })
                if searched.contains(&because_of) && params.has(option) =>
            {
                params = params.without(&[option]);
                values.insert(option.to_owned(), Value::Null);
                dropped.push((option, Error::NoEffect { option, reason, because_of }));
            }
            Err(problem) if values.is_empty() => return Err(problem),
            Err(problem) => {
                let setting = Value::Object(values);
                return Err(Error::Unsupported(format!("setting {setting}: {problem}")));
            }
        }
    }
}

impl Setting {
    /// Whether another setting has the same values of these options.
    fn is_of(&self, other: &Self, options: &[&str]) -> bool {
        options.iter().all(|key| self.params.get(key) == other.params.get(key))
    }
}

impl Group {
    fn single(spec: Box<dyn TrainingSpec>, setting: Setting) -> Self {
        Self { spec, settings: vec![setting], candidates: Vec::new() }
    }

    /// The setting with each candidate for lambda.
    fn expanded(spec: Box<dyn TrainingSpec>, setting: Setting) -> Self {
        let Some((key, candidates)) = spec.lambda_candidates() else { return Self::single(spec, setting) };
        let candidates = candidates.to_vec();
        let with = |candidate: &f64| {
            let mut values = setting.values.clone();
            values.insert(key.to_owned(), json!(candidate));
            Setting { values, params: setting.params.clone().with(key, json!(candidate)) }
        };
        let settings = candidates.iter().map(with).collect();
        Self { spec, settings, candidates }
    }
}
