//! Parsing of the option `kernel`: `"gaussian"`, `{"gaussian": {"gamma": 0.01}}` or `{"gaussian": {"gamma": "median"}}`.

use serde_json::{Map, Value};

use super::typical_distances::{median_distance, total_variance};
use super::{Fallback, KERNELS, Kernel, KernelDef, ParameterDef, find};
use crate::base::{Control, Error, Result, Rule, shorten};
use crate::data::Matrix;

/// A kernel whose parameters are numbers, medians or defaults.
#[derive(Debug, Clone)]
pub struct KernelSpec {
    def: &'static KernelDef,
    /// One per parameter of the kernel.
    parameters: Vec<ParameterSpec>,
}

/// The source of a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ParameterSpec {
    /// A number in the option.
    Number(f64),
    /// 1 / (median distance between documents).
    Median,
    /// The default of the table.
    Fallback(Fallback),
}

impl Default for KernelSpec {
    /// The linear kernel.
    fn default() -> Self {
        Self { def: KERNELS[0], parameters: Vec::new() }
    }
}

impl KernelSpec {
    /// Parses the option: a name, or an object with one name whose value is an object of parameters.
    ///
    /// # Errors
    /// A value of another form, an unknown kernel or parameter, or a number outside its range.
    pub fn parse(value: &Value) -> Result<Self> {
        let nothing = Map::new();
        let (name, parameters) = match value {
            Value::String(name) => (name.as_str(), &nothing),
            Value::Object(object) => single(object).ok_or_else(|| malformed(value))?,
            _ => return Err(malformed(value)),
        };
        let def = find(name)?;
        for (key, value) in parameters {
            check(def, key, value)?;
        }
        let width = parameters.get(WIDTH).and_then(Value::as_f64);
        if width.is_some() && parameters.len() > 1 {
            let what = format!("option 'kernel', {}", def.name);
            return Err(Error::value(what, "width and gamma", "one of them"));
        }
        let parameters =
            def.parameters.iter().map(|parameter| match (width, parameters.get(parameter.name)) {
                (Some(width), _) => ParameterSpec::Fallback(parameter.fallback.of_width(width)),
                (None, None) => ParameterSpec::Fallback(parameter.fallback),
                (None, Some(value)) => value.as_f64().map_or(ParameterSpec::Median, ParameterSpec::Number),
            });
        Ok(Self { def, parameters: parameters.collect() })
    }

    /// The declaration of the kernel.
    pub fn def(&self) -> &'static KernelDef {
        self.def
    }

    /// True for the linear kernel, which needs no map.
    pub fn is_linear(&self) -> bool {
        self.def.name == KERNELS[0].name
    }

    /// The kernel for these (scaled) documents. The seed chooses the sample of a median over many documents.
    ///
    /// # Errors
    /// A parameter out of range because the spread of the documents overflows; an interrupt.
    pub fn fit(&self, features: &Matrix, seed: u64, control: &Control) -> Result<Kernel> {
        let per_variance = |parameter: &ParameterSpec| {
            matches!(parameter, ParameterSpec::Fallback(Fallback::PerVariance(_) | Fallback::PerDistance(_)))
        };
        let variance =
            if self.parameters.iter().any(per_variance) { total_variance(features, control)? } else { 0.0 };
        let median = || median_distance(self.def.inner, features, seed, control);
        let number = |parameter: &ParameterSpec| -> Result<f64> {
            Ok(match *parameter {
                ParameterSpec::Number(number) | ParameterSpec::Fallback(Fallback::Number(number)) => number,
                ParameterSpec::Median => 1.0 / scale(median()?.unwrap_or(0.0)),
                ParameterSpec::Fallback(Fallback::PerVariance(number)) => number / scale(variance),
                ParameterSpec::Fallback(Fallback::PerDistance(number)) => {
                    number / scale((2.0 * variance).sqrt())
                }
                ParameterSpec::Fallback(Fallback::PerFeature(number)) => {
                    number / scale(features.columns() as f64)
                }
            })
        };
        Kernel::new(self.def.name, self.parameters.iter().map(number).collect::<Result<_>>()?)
    }
}

/// A scale of 0, which equal documents have, counts as 1.
fn scale(value: f64) -> f64 {
    if value > 0.0 { value } else { 1.0 }
}

/// The only name of an object and its parameters.
fn single(object: &Map<String, Value>) -> Option<(&str, &Map<String, Value>)> {
    let (name, parameters) = object.iter().next().filter(|_| object.len() == 1)?;
    Some((name, parameters.as_object()?))
}

fn malformed(value: &Value) -> Error {
    let allowed = "the name of a kernel, or an object such as {\"gaussian\": {\"gamma\": 0.01}}";
    Error::value("option 'kernel'", shorten(&value.to_string()), allowed)
}

/// A parameter of every kernel of a distance: its gamma in units of the documents' spread.
const WIDTH: &str = "width";

/// Refuses a parameter that the kernel does not have, or a value against its rule.
fn check(def: &KernelDef, key: &str, value: &Value) -> Result<()> {
    let scaled = |parameter: &ParameterDef| parameter.name == "gamma";
    let takes_width = def.parameters.iter().all(scaled) && !def.parameters.is_empty();
    if key == WIDTH && takes_width {
        let positive = Rule::Above(0.0, 1e9);
        if positive.accepts(value) {
            return Ok(());
        }
        let what = format!("option 'kernel', width of {}", def.name);
        return Err(Error::value(what, shorten(&value.to_string()), positive.to_string()));
    }
    let Some(parameter) = def.parameters.iter().find(|parameter| parameter.name == key) else {
        if def.parameters.is_empty() {
            let what = format!("option 'kernel', {}", def.name);
            return Err(Error::value(what, format!("the parameter '{}'", shorten(key)), "no parameter"));
        }
        let keys = def.parameters.iter().map(|parameter| parameter.name);
        let place = format!(" of the kernel {}", def.name);
        return Err(Error::unknown_in("parameter", key, &place, keys.chain(takes_width.then_some(WIDTH))));
    };
    if parameter.rule.accepts(value) {
        return Ok(());
    }
    let what = format!("option 'kernel', {key} of {}", def.name);
    Err(Error::value(what, shorten(&value.to_string()), parameter.rule.allowed_for(value)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::data::shaped;

    fn fitted(value: &Value, rows: usize, values: &[f64]) -> Vec<f64> {
        let features = Matrix::F64(shaped(rows, values.len() / rows, values.to_vec()));
        KernelSpec::parse(value).unwrap().fit(&features, 0, &Control::default()).unwrap().parameters
    }

    #[test]
    fn defaults_follow_the_spread_of_the_documents() {
        // Two features with the variances 1 and 3: v = 4.
        let documents = [0.0, 5.0, 2.0, 5.0, 0.0, 5.0, 2.0, 9.0];
        let of = |value: Value| fitted(&value, 4, &documents);
        assert_eq!(of(json!("gaussian")), [1.0 / 32.0]);
        assert_eq!(of(json!("laplace")), [0.25 / 8.0_f64.sqrt()]);
        assert_eq!(of(json!("laplace_l1")), [0.125]);
        assert_eq!(of(json!("polynomial")), [2.0, 0.25, 1.0]);
        assert_eq!(of(json!({"polynomial": {"degree": 3}})), [3.0, 0.25, 1.0]);
        assert_eq!(of(json!({"tanh": {"offset": -1}})), [0.0625, -1.0]);
        assert_eq!(of(json!({"gaussian": {}})), [1.0 / 32.0]);
        assert_eq!(of(json!({"gaussian": {"width": 2}})), [1.0 / 32.0]);
        assert_eq!(of(json!({"laplace": {"width": 4}})), [0.25 / 8.0_f64.sqrt()]);
        assert_eq!(of(json!({"laplace_l1": {"width": 8}})), [0.0625]);
        assert!(of(json!("linear")).is_empty());
    }

    #[test]
    fn the_median_rule_takes_the_distance_and_not_its_square() {
        let documents = [0.0, 0.0, 3.0, 4.0, 6.0, 8.0];
        for (name, expected) in [("gaussian", 0.2), ("laplace", 0.2), ("laplace_l1", 1.0 / 7.0)] {
            let value = json!({name: {"gamma": "median"}});
            assert!((fitted(&value, 3, &documents)[0] - expected).abs() < 1e-15, "{name}");
        }
    }

    #[test]
    fn equal_documents_count_as_a_scale_of_one() {
        for value in [json!("gaussian"), json!("laplace"), json!({"gaussian": {"gamma": "median"}})] {
            let found = fitted(&value, 2, &[3.0, 3.0])[0];
            assert!(found > 0.0 && found <= 1.0, "{value}: {found}");
        }
        assert_eq!(fitted(&json!("tanh"), 1, &[3.0]), [0.25, 0.0]);
    }

    #[test]
    fn invalid_values_are_refused_with_the_valid_ones() {
        for (value, expected) in [
            (json!(3), "option 'kernel': got 3, expected the name of a kernel, or an object such as"),
            (json!({"gaussian": 1}), "option 'kernel': got {\"gaussian\":1}, expected the name of a kernel"),
            (json!({"gaussian": {}, "tanh": {}}), "option 'kernel': got"),
            (json!("laplace_l2"), "unknown kernel 'laplace_l2', did you mean 'laplace_l1'?"),
            (
                json!({"gaussian": {"gama": 1}}),
                "unknown parameter 'gama' of the kernel gaussian, did you mean 'gamma'?",
            ),
            (
                json!({"linear": {"gamma": 1}}),
                "option 'kernel', linear: got the parameter 'gamma', expected no par",
            ),
            (
                json!({"gaussian": {"gamma": -1}}),
                "option 'kernel', gamma of gaussian: got -1, expected a number above 0 or \"median\"",
            ),
            (
                json!({"gaussian": {"width": 1, "gamma": 1}}),
                "option 'kernel', gaussian: got width and gamma, expected one of them",
            ),
            (
                json!({"tanh": {"width": 1}}),
                "unknown parameter 'width' of the kernel tanh; known: scale, offset",
            ),
            (
                json!({"polynomial": {"degree": 2.5}}),
                "option 'kernel', degree of polynomial: got 2.5, expected a w",
            ),
            (
                json!({"polynomial": {"scale": "median"}}),
                "option 'kernel', scale of polynomial: got \"median\"",
            ),
        ] {
            let error = KernelSpec::parse(&value).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
