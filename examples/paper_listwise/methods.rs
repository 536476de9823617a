//! What is trained, with which options.

use serde_json::{Value, json};

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

    fn plain(algorithm: &'static str) -> Self {
        Self::new(algorithm, algorithm, json!({}))
    }
}

pub fn convex() -> Method {
    Method::new("direct, convex", "direct", json!({ "bound": "convex" }))
}

pub fn nonconvex() -> Method {
    let options = json!({ "bound": "nonconvex", "prior": "regression" });
    Method::new("direct, nonconvex", "direct", options)
}

/// Those of figures 1, 2 and 4 of Le et al., direct optimisation first.
pub fn of_the_curves() -> Vec<Method> {
    vec![
        nonconvex(),
        convex(),
        Method::plain("rank_svm"),
        Method::plain("regression"),
        Method::new("smooth_grad", "smooth_grad", json!({ "prior": "regression" })),
    ]
}

/// Every algorithm that learns one function for all queries.
pub fn all() -> Vec<Method> {
    let mut methods: Vec<Method> =
        ["rank_svm", "regression", "list_net", "list_mle"].map(Method::plain).into();
    methods.push(cs_list_mle(&json!({ "truncation": 10 })));
    methods.push(Method::plain("slam"));
    methods.push(perceptron());
    methods.extend([convex(), nonconvex()]);
    methods.push(Method::new("smooth_grad", "smooth_grad", json!({ "prior": "regression" })));
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
        ["misorder", "margin"].map(|active| json!({ "epochs": epochs, "active": active, "scale": "none" }))
    });
    Method {
        label: "perceptron".to_owned(),
        algorithm: "perceptron",
        candidates: candidates.collect(),
        has_lambda: false,
    }
}
