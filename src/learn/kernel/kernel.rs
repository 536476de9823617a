//! A kernel with its parameters.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::points::Points;
use super::{KERNELS, KernelDef, find};
use crate::base::{Error, Result, check_size, shorten};

/// A kernel with the numbers of its parameters, all inside their ranges.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Kernel {
    pub def: &'static KernelDef,
    /// The numbers of its parameters, in the order of the table.
    pub parameters: Vec<f64>,
}

impl PartialEq for Kernel {
    fn eq(&self, other: &Self) -> bool {
        self.def.name == other.def.name && self.parameters == other.parameters
    }
}

/// A kernel in a model.
#[derive(Serialize, Deserialize)]
struct Stored {
    name: String,
    parameters: Vec<f64>,
}

impl From<Kernel> for Stored {
    fn from(kernel: Kernel) -> Self {
        Self { name: kernel.def.name.to_owned(), parameters: kernel.parameters }
    }
}

impl TryFrom<Stored> for Kernel {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self> {
        Self::new(&stored.name, stored.parameters)
    }
}

impl Kernel {
    /// The kernel of this name with its parameters in the order of the table.
    ///
    /// # Errors
    /// An unknown name, a wrong number of parameters, or a number out of range.
    pub fn new(name: &str, parameters: Vec<f64>) -> Result<Self> {
        let def = find(name)?;
        let what = format_args!("number of parameters of the kernel {name}");
        check_size(&what, parameters.len(), def.parameters.len())?;
        for (parameter, value) in def.parameters.iter().zip(&parameters) {
            let value = json(*value);
            if !parameter.rule.accepts(&value) {
                let what = format!("{} of the kernel {name}", parameter.name);
                return Err(Error::value(what, value.to_string(), parameter.rule.allowed_for(&value)));
            }
        }
        Ok(Self { def, parameters })
    }

    /// True for the linear kernel, which needs no map.
    pub fn is_linear(&self) -> bool {
        self.def.name == KERNELS[0].name
    }

    /// The value of the option `kernel` for this kernel: a name, or an object with all parameters.
    pub fn to_json(&self) -> Value {
        if self.parameters.is_empty() {
            return Value::from(self.def.name);
        }
        let names = self.def.parameters.iter().map(|parameter| parameter.name.to_owned());
        let parameters: Map<String, Value> =
            names.zip(self.parameters.iter().map(|value| json(*value))).collect();
        Value::Object(Map::from_iter([(self.def.name.to_owned(), Value::Object(parameters))]))
    }

    /// Reads a kernel from a value that [`Self::to_json`] makes.
    ///
    /// # Errors
    /// A value that [`Self::to_json`] does not make.
    pub fn from_json(value: &Value) -> Result<Self> {
        let refused = || {
            let allowed = "a name, or an object of the name and all parameters, such as {\"gaussian\": {\"gamma\": 0.5}}";
            Error::value("key 'kernel'", shorten(&value.to_string()), allowed)
        };
        if let Value::String(name) = value {
            return Self::new(name, Vec::new());
        }
        let mut entries = value.as_object().ok_or_else(refused)?.iter();
        let (Some((name, Value::Object(given))), None) = (entries.next(), entries.next()) else {
            return Err(refused());
        };
        let parameters = &find(name)?.parameters;
        let numbers = parameters.iter().filter_map(|parameter| given.get(parameter.name)?.as_f64());
        let numbers: Vec<f64> = numbers.collect();
        if numbers.len() == given.len() { Self::new(name, numbers) } else { Err(refused()) }
    }

    /// q of two documents, in the order of additions of [`Points`].
    pub(super) fn inner_of(&self, x: &[f64], z: &[f64]) -> f64 {
        x.iter().zip(z).fold(0.0, |sum, (x, z)| sum + self.def.inner.term(*x, *z))
    }

    /// K of two documents.
    pub(super) fn of(&self, x: &[f64], z: &[f64]) -> f64 {
        let mut value = [self.inner_of(x, z)];
        self.outer(&mut value);
        value[0]
    }

    /// Turns each q into K.
    pub(super) fn outer(&self, values: &mut [f64]) {
        (self.def.outer)(&self.parameters, values);
    }

    /// K of every row of `x`, shape `(n, dim)`, with every document of `z`: shape `(n, z.len())`, row-major.
    pub fn block(&self, x: &[f64], n: usize, z: &Points) -> Vec<f64> {
        let mut values = z.inner(self.def.inner, x, n);
        self.outer(&mut values);
        values
    }
}

/// A number in JSON; integers without a fraction.
fn json(value: f64) -> Value {
    let whole = value as u64;
    #[expect(clippy::float_cmp, reason = "whole numbers are exact")]
    if whole as f64 == value { Value::from(whole) } else { Value::from(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_kernel_is_refused_with_the_nearest_name() {
        let error = find("gausian").unwrap_err().to_string();
        assert!(error.starts_with("unknown kernel 'gausian', did you mean 'gaussian'?"), "{error}");
    }

    #[test]
    fn values_follow_the_formulas() {
        let (x, z) = ([0.3, -1.0], Points::new(&[1.0, 0.5], 1, 2));
        let (dot, square, absolute) = (-0.2, 0.49 + 2.25, 0.7 + 1.5);
        let cases: [(&str, Vec<f64>, f64); 6] = [
            ("linear", vec![], dot),
            ("polynomial", vec![3.0, 2.0, 0.5], 0.1 * 0.1 * 0.1),
            ("gaussian", vec![0.4], (-0.4_f64 * square).exp()),
            ("laplace", vec![0.4], (-0.4 * square.sqrt()).exp()),
            ("laplace_l1", vec![0.4], (-0.4_f64 * absolute).exp()),
            ("tanh", vec![2.0, -0.5], (-0.9_f64).tanh()),
        ];
        let names = cases.each_ref().map(|(name, ..)| *name);
        assert_eq!(names.as_slice(), crate::learn::kernel::NAMES);
        for (name, parameters, expected) in cases {
            let kernel = Kernel::new(name, parameters).unwrap();
            let actual = kernel.block(&x, 1, &z);
            assert!((actual[0] - expected).abs() < 1e-15, "{name}: {actual:?}, expected {expected}");
        }
    }

    #[test]
    fn numbers_outside_their_ranges_make_no_kernel() {
        for (name, parameters) in [
            ("gaussian", vec![0.0]),
            ("gaussian", vec![f64::NAN]),
            ("gaussian", vec![f64::INFINITY]),
            ("gaussian", vec![]),
            ("polynomial", vec![1.5, 1.0, 0.0]),
            ("polynomial", vec![-1.0, 1.0, 0.0]),
            ("polynomial", vec![2.0, 1.0, -1.0]),
            ("linear", vec![1.0]),
            ("cosine", vec![]),
        ] {
            assert!(Kernel::new(name, parameters.clone()).is_err(), "{name} {parameters:?}");
            let stored = Stored { name: name.to_owned(), parameters };
            assert!(Kernel::try_from(stored).is_err(), "{name} from a model");
        }
    }

    #[test]
    fn a_kernel_survives_its_text() {
        let kernel = Kernel::new("polynomial", vec![2.0, 0.25, 1.0]).unwrap();
        assert_eq!(kernel.to_json().to_string(), r#"{"polynomial":{"degree":2,"scale":0.25,"offset":1}}"#);
        let text = serde_json::to_string(&kernel).unwrap();
        assert_eq!(serde_json::from_str::<Kernel>(&text).unwrap(), kernel);
    }
}
