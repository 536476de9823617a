//! Listwise losses, penalties and starts in a query-dependent model; the sum of functions that `auto` leaves behind.

use sqlite_ltr::internals::data::{Quantiles, Scaling};
use sqlite_ltr::internals::learn::fit::Penalty;
use sqlite_ltr::internals::model::encode_header;

use super::parts::{Change, Dependent, Opened, StoredLoss, Sum};
use super::{connect, fit, refusal, use_it};

fn loss(d: &mut Dependent, name: &str, parameters: &str) {
    d.fitting.loss = StoredLoss { name: name.to_owned(), parameters: parameters.to_owned() };
}

fn slam(d: &mut Dependent, margin: &str, measure: &str) {
    loss(d, "slam", &format!(r#"{{"margin": {margin}, "measure": "{measure}"}}"#));
}

fn smooth(d: &mut Dependent, measure: &str) {
    loss(d, "smooth_grad", &format!(r#"{{"measure": "{measure}"}}"#));
}

fn direct(d: &mut Dependent, parameters: &str) {
    loss(d, "direct", &format!(r#"{{"bound": "convex", {parameters}}}"#));
}

fn tables(d: &mut Dependent, pair: &str, document: &str) {
    loss(d, "cs_list_mle", &format!(r#"{{"cost_weights": {{"pair": {pair}, "document": {document}}}}}"#));
}

/// Changes of a query-dependent ranker with the loss slam that make it wrong.
const WRONG: &[Change<Dependent>] = &[
    ("a start of another length", |d| d.fitting.start = Some(vec![0.0; 3])),
    ("a start that is NaN", |d| d.fitting.start = Some(vec![f64::NAN, 0.0])),
    ("a center of another length", |d| d.fitting.center = Some(Vec::new())),
    ("a center that is infinite", |d| d.fitting.center = Some(vec![0.0, f64::INFINITY])),
    ("a solver of pairs", |d| "admm".clone_into(&mut d.fitting.solver)),
    ("a solver of other lists", |d| "least_squares".clone_into(&mut d.fitting.solver)),
    ("a solver of lists for pairs", |d| {
        loss(d, "hinge", "{}");
        "bundle".clone_into(&mut d.fitting.solver);
    }),
    ("eigenfunctions without least squares", |d| d.fitting.penalty = Penalty::Components),
    ("eigenvalues without least squares", |d| d.fitting.penalty = Penalty::Threshold),
    ("a margin of 0", |d| slam(d, "0", "map")),
    ("a negative margin", |d| slam(d, "-1", "map")),
    ("a margin that is NaN", |d| slam(d, "NaN", "map")),
    ("an infinite margin", |d| slam(d, "1e999", "map")),
    ("no document that counts", |d| slam(d, "1", "ndcg@0")),
    ("no place that counts", |d| smooth(d, "precision@0")),
    ("a measure of other losses", |d| smooth(d, "eru")),
    ("no first place", |d| direct(d, r#""measure": "precision@0", "decoder": "log""#)),
    ("a half-life of 1", |d| direct(d, r#""measure": "eru", "half_life": 1"#)),
    ("a half-life that is NaN", |d| direct(d, r#""measure": "eru", "half_life": NaN"#)),
    ("a neutral grade that is infinite", |d| direct(d, r#""measure": "eru", "neutral_grade": 1e999"#)),
    ("an unknown decoder", |d| direct(d, r#""decoder": "square""#)),
    ("a decoder that rises", |d| direct(d, r#""decoder": "power", "decoder_power": -1"#)),
    ("a decoder that is NaN", |d| direct(d, r#""decoder": "power", "decoder_power": NaN"#)),
    ("own weights of positions that rise", |d| direct(d, r#""position_weights": [1, 2]"#)),
    ("own weights of positions that are not a list", |d| direct(d, r#""position_weights": 1"#)),
    ("own weights of grades below 0", |d| direct(d, r#""grade_weights": [-1, 1]"#)),
    ("own weights of the decoder that are not numbers", |d| direct(d, r#""discounts": ["x"]"#)),
    ("a sigma of 0", |d| loss(d, "smooth_grad", r#"{"sigma": 0}"#)),
    ("tables of no grade", |d| tables(d, "[]", "[]")),
    ("a table that is not square", |d| tables(d, "[[0, 0], [0]]", "[0, 0]")),
    ("a weight too few", |d| tables(d, "[[0, 0], [0, 0]]", "[0]")),
    ("a negative weight", |d| tables(d, "[[-1, -1], [-1, -1]]", "[0, 0]")),
    ("a weight that is NaN", |d| tables(d, "[[1, 1], [1, 1]]", "[NaN, NaN]")),
    ("costs of slots beyond the option", |d| loss(d, "matching", r#"{"slot_costs": [1e300, 1e300]}"#)),
    ("a cost of a slot that is not a number", |d| loss(d, "matching", r#"{"slot_costs": [1, "x"]}"#)),
    ("costs of slots that are not a list", |d| loss(d, "matching", r#"{"slot_costs": 1}"#)),
    ("an unknown loss", |d| loss(d, "slum", "{}")),
    ("a loss without a name", |d| loss(d, "", "{}")),
    ("no parameters", |d| loss(d, "slam", "")),
    ("parameters that are not an object", |d| loss(d, "slam", "[1]")),
    ("parameters of another loss", |d| loss(d, "slam", r#"{"truncation": 3}"#)),
    ("parameters without end", |d| loss(d, "slam", &"[".repeat(100_000))),
    ("a word that is not a tie rule", |d| loss(d, "slam", r#"{"label_ties": "random"}"#)),
];

/// Allowed, but extreme.
const EXTREME: &[Change<Dependent>] = &[
    ("a huge margin", |d| slam(d, "1.7e308", "map")),
    ("a tiny margin", |d| slam(d, "5e-324", &format!("ndcg@{}", usize::MAX))),
    ("a huge start", |d| d.fitting.start = Some(vec![1.7e308, -1.7e308])),
    ("a huge center", |d| d.fitting.center = Some(vec![1.7e308, -1.7e308])),
    ("tables of fewer grades", |d| tables(d, "[[0]]", "[1]")),
    ("huge cutoffs", |d| smooth(d, &format!("precision@{}", usize::MAX))),
    ("a deep decoder", |d| direct(d, &format!(r#""measure": "precision@{}""#, usize::MAX))),
    ("a steep decoder", |d| {
        let eru = r#""measure": "eru", "half_life": 1.0000000000000002, "neutral_grade": -1.7e308"#;
        direct(d, &format!(r#"{eru}, "decoder": "power", "decoder_power": 1.7e308"#));
    }),
    ("another loss", |d| loss(d, "logistic", "{}")),
];

fn with(opened: &Opened, change: fn(&mut Dependent)) -> Vec<u8> {
    let (mut other, mut dependent) = (opened.clone(), opened.dependent());
    change(&mut dependent);
    other.parts.ranker = encode_header(&dependent).expect("bytes");
    other.seal()
}

#[test]
fn sealed_listwise_models_with_wrong_contents_are_refused() {
    let connection = connect();
    let options = r#"{"lambda": 0.01, "smoothing": "gaussian", "neighbors": 3, "prior": "regression"}"#;
    let opened = Opened::new(&fit(&connection, ("slam", options)));
    assert!(opened.dependent().fitting.center.is_some(), "the center of the penalty is kept");
    for (what, change) in WRONG {
        assert!(refusal(&connection, &with(&opened, *change)).is_some(), "{what}");
    }
    for (what, change) in EXTREME {
        use_it(&connection, &with(&opened, *change), what);
    }
    let options = r#"{"components": 1, "smoothing": "gaussian", "neighbors": 3}"#;
    let opened = Opened::new(&fit(&connection, ("eigen_rank", options)));
    let extremes: [Change<Dependent>; 3] = [
        ("countless components", |d| d.fitting.lambda = 1.7e308),
        ("no component", |d| d.fitting.lambda = 5e-324),
        ("a huge eigenvalue", |d| {
            d.fitting.penalty = Penalty::Threshold;
            d.fitting.lambda = 1.7e308;
        }),
    ];
    for (what, change) in extremes {
        use_it(&connection, &with(&opened, change), what);
    }
}

/// Changes of a sum of linear functions that make it wrong.
const WRONG_SUM: &[Change<Sum>] = &[
    ("no members", |s| s.members.clear()),
    ("no members and no weights", |s| {
        s.members.clear();
        s.weights.clear();
    }),
    ("a member too few", |s| s.members.truncate(1)),
    ("a member too many", |s| s.members.push(s.members[0].clone())),
    ("a sum in a sum", |s| s.members[0].space.map = 4),
    ("an unknown map", |s| s.members[0].space.map = 9),
    ("an unknown kind of space", |s| s.kind_of_space = 2),
    ("an unknown form of a member", |s| s.members[0].space.form = 7),
    ("a member of another width", |s| s.members[0].space.width += 1),
    ("a member of a huge width", |s| s.members[0].space.width = u64::MAX),
    ("a sum of another width", |s| s.width += 1),
    ("a scaling of another width", |s| s.members[0].scaling = Scaling::Standard(vec![(0.0, 1.0); 3])),
    ("a scaling that is NaN", |s| s.members[0].scaling = Scaling::Standard(vec![(f64::NAN, 1.0); 2])),
    ("a scaling without quantiles", |s| {
        s.members[0].scaling = Scaling::Quantile(vec![Quantiles::from(Vec::new()); 2]);
    }),
    ("a weight that is NaN", |s| s.weights[0] = f64::NAN),
    ("a weight too few", |s| s.weights.truncate(1)),
    ("an objective that is NaN", |s| s.objective = f64::NAN),
];

#[test]
fn sealed_sums_with_wrong_contents_are_refused() {
    let connection = connect();
    let opened = Opened::new(&fit(&connection, ("auto", r#"{"kernel": "linear"}"#)));
    let with = |change: fn(&mut Sum)| {
        let (mut other, mut sum) = (opened.clone(), opened.sum());
        change(&mut sum);
        other.parts.ranker = encode_header(&sum).expect("bytes");
        other.seal()
    };
    assert_eq!(opened.sum().kind_of_space, 1);
    assert_eq!(refusal(&connection, &with(|_| {})), None);
    for (what, change) in WRONG_SUM {
        assert!(refusal(&connection, &with(*change)).is_some(), "{what}");
    }
    use_it(&connection, &with(|s| s.weights.fill(1.7e308)), "huge weights");
    use_it(&connection, &with(|s| s.members[0].scaling = Scaling::QueryMinmax), "another scaling");
}
