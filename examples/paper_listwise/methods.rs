//! What is trained, with which options.

use serde_json::{Value, json};

/// Relative gap at which the slow fits end.
const TOLERANCE: f64 = 1e-2;

/// An algorithm with options.
pub struct Method {
    pub label: String,
    pub algorithm: &'static str,
    /// Options among which validation chooses, besides lambda.
    pub candidates: Vec<Value>,
    /// Whether training chooses a lambda, and scales features.
    pub has_lambda: bool,
}

impl Method {
    /// One that chooses its lambda.
    pub fn new(label: impl Into<String>, algorithm: &'static str, options: Value) -> Self {
        Self { label: label.into(), algorithm, candidates: vec![options], has_lambda: true }
    }

    /// One whose fits take long: a few values of lambda, each trained alone to [`TOLERANCE`], because a training that
    /// chooses lambda itself fits every candidate more closely.
    fn slow(label: &str, algorithm: &'static str, options: &Value, lambdas: &[f64]) -> Self {
        let candidate = |lambda: &f64| {
            let mut options = options.clone();
            options["lambda"] = json!(lambda);
            options["tolerance"] = json!(TOLERANCE);
            options
        };
        let candidates = lambdas.iter().map(candidate).collect();
        Self { label: label.to_owned(), algorithm, candidates, has_lambda: true }
    }

    fn plain(algorithm: &'static str) -> Self {
        Self::new(algorithm, algorithm, json!({}))
    }
}

/// The optimum is hardly below the objective at 0, so a wide gap would stop at 0.
pub fn convex() -> Method {
    let options = json!({ "bound": "convex", "prior": "zero", "lambda": [10.0, 1.0, 0.1, 0.01, 0.001] });
    Method::new("direct, convex", "direct", options)
}

pub fn nonconvex() -> Method {
    decoded("direct, nonconvex", None)
}

/// Direct optimization of the nonconvex bound with a decoder and the power of its weights; the default without one.
pub fn decoded(label: &str, decoder: Option<(&str, Option<f64>)>) -> Method {
    let mut options = json!({ "bound": "nonconvex", "prior": "regression" });
    if let Some((name, power)) = decoder {
        options["decoder"] = json!(name);
        if let Some(power) = power {
            options["decoder_power"] = json!(power);
        }
    }
    Method::slow(label, "direct", &options, &[10.0, 1.0, 0.1, 0.01])
}

fn smooth_grad() -> Method {
    Method::slow(
        "smooth_grad",
        "smooth_grad",
        &json!({ "prior": "regression" }),
        &[1.0, 0.1, 0.01, 0.001, 0.0001],
    )
}

/// The methods of figures 1, 2 and 4 of Le et al., direct optimization first.
pub fn of_the_curves() -> Vec<Method> {
    vec![nonconvex(), convex(), Method::plain("rank_svm"), Method::plain("regression"), smooth_grad()]
}

/// Every algorithm that learns one function for all queries.
pub fn all() -> Vec<Method> {
    let mut methods: Vec<Method> =
        ["rank_svm", "regression", "list_net", "list_mle"].map(Method::plain).into();
    methods.push(cs_list_mle(&json!({ "truncation": 10 })));
    methods.push(Method::plain("slam"));
    methods.push(perceptron());
    methods.extend([convex(), nonconvex()]);
    methods.push(smooth_grad());
    methods.push(Method::plain("eigen_rank"));
    methods
}

pub fn cs_list_mle(options: &Value) -> Method {
    Method::new("cs_list_mle", "cs_list_mle", options.clone())
}

/// The perceptron knows no lambda; its passes and active documents are chosen by validation. With averaged weights and
/// misordered documents eta changes nothing.
fn perceptron() -> Method {
    let candidates = [1, 5, 20].into_iter().flat_map(|epochs| {
        ["misorder", "margin"].map(|active| json!({ "epochs": epochs, "update_on": active, "scale": "none" }))
    });
    Method {
        label: "perceptron".to_owned(),
        algorithm: "perceptron",
        candidates: candidates.collect(),
        has_lambda: false,
    }
}
