//! The format `json`: a complete model with one function as text, read and written.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::parse::object;
use super::term::Term;
use super::text::Text;
use crate::base::param::list;
use crate::base::{Error, Memory, Result, Strict, bytes_of, check_size, checkpoint, json_problem, shorten};
use crate::data::{Categories, Fingerprint, Missing, Quantiles, Quantities, Scaling, ScalingKind};
use crate::learn::kernel::{Basis, Kernel};
use crate::learn::space::{AnySpace, Form, Function, Member, Scorer, Space, SumSpace, WeightsOf};
use crate::model::{CandidateView, Card, GeneralTrees, Linear, Model, Probability, Ranker, TrainingColumns};
use crate::trees::{Forest, Split};

/// The value of the key `format`.
const FORMAT: &str = "sqlite-ltr model";

/// The value of the key `format_version`.
const VERSION: u32 = 1;

/// Name of the argument in errors.
const ARGUMENT: &str = "argument 'text'";

/// Advice for a model that is too large.
const WAY_OUT: &str = "copy its row of ltr_models";

/// Longest accepted text (bytes). Reading has checkpoints between numbers, but not within a name.
const LONGEST: usize = 32_000_000;

/// A model in JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: String,
    format_version: u32,
    algorithm: String,
    /// Names of the features, in the order of a vector.
    #[serde(with = "list")]
    features: Vec<String>,
    /// Category columns. Their features come last: one per value, one for other values, one for NULL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    categories: Option<Categories>,
    /// Columns whose texts are numbers, dates or durations, and their forms.
    #[serde(default, skip_serializing_if = "Quantities::is_empty")]
    quantities: Quantities,
    /// The view that candidates come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    candidates: Option<CandidateView>,
    /// Map from scores to grade probabilities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    probability: Option<Probability>,
    /// Replacement for missing features.
    missing: String,
    /// Mean of each feature over the training documents.
    #[serde(with = "list")]
    means: Vec<f64>,
    /// Whether documents are matched to slots.
    #[serde(default)]
    slots: bool,
    /// The score is the sum of the terms' scores.
    #[serde(with = "list")]
    terms: Vec<TermText>,
    /// Instead of terms: trees from another library.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    general_trees: Option<GeneralTrees>,
    #[serde(default)]
    objective: f64,
    #[serde(default)]
    gap: f64,
    #[serde(default)]
    columns: TrainingColumns,
    #[serde(default, deserialize_with = "object")]
    settings: Map<String, Value>,
    #[serde(default, deserialize_with = "object")]
    training: Map<String, Value>,
    /// Objective and gap of each step.
    #[serde(default, with = "list")]
    log: Vec<(f64, f64)>,
    /// The training data, for `ltr_monitor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fingerprint: Option<Fingerprint>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TermText {
    scaling: ScalingText,
    form: String,
    /// A name, or an object with the parameters.
    #[serde(deserialize_with = "value")]
    kernel: Value,
    /// One per scaled feature, or per document of the kernel.
    #[serde(with = "list")]
    weights: Vec<f64>,
    /// Support documents of the kernel, scaled; empty for linear functions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    documents: Option<List<List<f64>>>,
    /// Trees. The weights belong to their leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trees: Option<TreesText>,
}

/// Oblivious trees.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TreesText {
    /// Splits of each tree.
    depth: usize,
    /// By level, then by tree: index of the feature from 0, threshold, whether a missing value counts as above. A
    /// value above the threshold of level i adds 2^i to the leaf's index.
    #[serde(with = "list")]
    splits: Vec<(usize, f64, bool)>,
}

/// An optional list.
#[derive(Serialize, Deserialize)]
#[serde(transparent, bound(serialize = "T: Serialize", deserialize = "T: Deserialize<'de>"))]
struct List<T>(#[serde(with = "list")] Vec<T>);

/// A value without repeated keys.
fn value<'de, D: Deserializer<'de>>(from: D) -> Result<Value, D::Error> {
    Strict::deserialize(from).map(|Strict(value)| value)
}

/// A term's scaling: the name and the numbers.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScalingText {
    kind: String,
    /// `standard`: (x - center) * factor of each feature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    centers: Option<List<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    factors: Option<List<f64>>,
    /// `max_norm`: x * factor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    factor: Option<f64>,
    /// `quantile`, `quantile_minmax`: pairs of value and score of each feature. The score is linear between them, constant
    /// outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    points: Option<List<Quantiles>>,
}

/// Writes the model as JSON.
///
/// # Errors
/// Text that would be too long for [`read`]; too much memory.
pub(super) fn text(model: &Model, terms: &[Term<'_>], memory: &Memory) -> Result<String> {
    let card = &model.card;
    let numbers = |term: &Term<'_>| match term.space.weights_of() {
        WeightsOf::Documents(basis) => basis.points.len() * (basis.points.dim + 4),
        WeightsOf::Leaves(forest) => term.weights.len() + 3 * forest.splits().count(),
        WeightsOf::Features | WeightsOf::Pairs => term.weights.len(),
    };
    let nodes = model.ranker.as_general_trees().map_or(0, |trees| trees.forest.nodes());
    let copied = bytes_of::<f64>(terms.iter().map(numbers).sum()) + bytes_of::<[f64; 16]>(nodes);
    let _copy = memory.reserve(copied, "a copy of the model", WAY_OUT)?;
    let object = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let function = model.ranker.global_function();
    let document = Document {
        format: FORMAT.to_owned(),
        format_version: VERSION,
        algorithm: card.algorithm.clone(),
        features: card.features.clone(),
        categories: Some(card.categories.clone()).filter(|categories| !categories.is_empty()),
        quantities: card.quantities.clone(),
        candidates: card.candidates.clone(),
        probability: card.probability.clone(),
        missing: card.missing.name().to_owned(),
        means: card.means.clone(),
        slots: card.slots,
        terms: terms.iter().map(TermText::new).collect(),
        general_trees: model.ranker.as_general_trees().cloned(),
        objective: function.map_or(0.0, |function| function.objective),
        gap: function.map_or(0.0, |function| function.gap),
        columns: card.columns.clone(),
        settings: object(&card.settings),
        training: object(&card.summary),
        log: card.log.clone(),
        fingerprint: model.fingerprint.clone(),
    };
    let mut text = Text::new(memory, LONGEST, WAY_OUT);
    text.push_json(&document)?;
    text.finish()
}

impl TermText {
    fn new(term: &Term<'_>) -> Self {
        let (mut kernel, mut documents, mut trees) = (Value::from("linear"), None, None);
        match term.space.weights_of() {
            WeightsOf::Documents(basis) => {
                let points = &basis.points;
                let rows = (0..points.len()).map(|document| points.row(document).collect());
                (kernel, documents) = (basis.kernel.to_json(), Some(List(rows.map(List).collect())));
            }
            WeightsOf::Leaves(forest) => {
                let split = |split: Split| (split.feature, split.threshold, split.missing_above);
                let splits = forest.splits().map(split).collect();
                trees = Some(TreesText { depth: forest.depth(), splits });
            }
            WeightsOf::Features | WeightsOf::Pairs => {}
        }
        Self {
            scaling: ScalingText::from(term.scaling),
            form: term.space.form.name().to_owned(),
            kernel,
            weights: term.weights.to_vec(),
            documents,
            trees,
        }
    }

    /// The scaling, the space and the weights.
    fn into_parts(self, n_features: usize) -> Result<(Scaling, Space, Vec<f64>)> {
        let scaling = Scaling::try_from(self.scaling)?;
        let form = named(&self.form, "form", Form::parse, Form::NAMES)?;
        let width = scaling.width(n_features);
        let kernel = Kernel::from_json(&self.kernel)?;
        let space = match (self.documents, self.trees) {
            (None, Some(trees)) if kernel.is_linear() && form == Form::Scoring => trees.space(width),
            (_, Some(_)) => {
                let problem = "'trees' with a kernel, documents or another form";
                return Err(refused(problem, "trees with \"kernel\": \"linear\" and \"form\": \"scoring\""));
            }
            (documents, None) => Self::of_kernel(documents, kernel, form, width)?,
        };
        check_size(&"number of weights of a term", self.weights.len(), space.dim())?;
        Ok((scaling, space, self.weights))
    }

    /// The space of a kernel.
    fn of_kernel(
        documents: Option<List<List<f64>>>,
        kernel: Kernel,
        form: Form,
        width: usize,
    ) -> Result<Space> {
        match documents {
            None if kernel.is_linear() => Ok(Space::linear(width, form)),
            None => Err(refused("a kernel without 'documents'", "the documents of a kernel")),
            Some(_) if form == Form::Ranking => {
                Err(refused("a kernel with \"form\": \"ranking\"", "a kernel of single documents"))
            }
            Some(List(documents)) => {
                let documents: Vec<Vec<f64>> = documents.into_iter().map(|List(row)| row).collect();
                let what = "number of scaled features of a document of a kernel";
                documents.iter().try_for_each(|document| check_size(&what, document.len(), width))?;
                let (count, rows) = (documents.len(), documents.concat());
                Basis::checked(kernel, count, width, rows.len(), |index| rows[index]).map(Space::of_basis)
            }
        }
    }
}

impl TreesText {
    fn space(self, width: usize) -> Space {
        let split = |(feature, threshold, missing_above)| Split { feature, threshold, missing_above };
        let splits: Vec<Split> = self.splits.into_iter().map(split).collect();
        Space::of_trees(width, Forest::new(self.depth, &splits))
    }
}

impl From<&Scaling> for ScalingText {
    fn from(scaling: &Scaling) -> Self {
        let text = Self { kind: scaling.kind().name().to_owned(), ..Self::default() };
        match scaling {
            Scaling::None | Scaling::QueryMinmax => text,
            Scaling::Standard(moments) => {
                let (centers, factors) = moments.iter().copied().unzip();
                Self { centers: Some(List(centers)), factors: Some(List(factors)), ..text }
            }
            Scaling::MaxNorm(factor) => Self { factor: Some(*factor), ..text },
            Scaling::Quantile(quantiles) | Scaling::QuantileMinmax(quantiles) => {
                Self { points: Some(List(quantiles.clone())), ..text }
            }
        }
    }
}

impl TryFrom<ScalingText> for Scaling {
    type Error = Error;

    fn try_from(text: ScalingText) -> Result<Self> {
        let kind = named(&text.kind, "kind", ScalingKind::parse, ScalingKind::NAMES)?;
        let ScalingText { centers, factors, factor, points, .. } = text;
        Ok(match (kind, centers, factors, factor, points) {
            (ScalingKind::None, None, None, None, None) => Self::None,
            (ScalingKind::Standard, Some(List(centers)), Some(List(factors)), None, None) => {
                check_size(&"number of factors of a scaling", factors.len(), centers.len())?;
                Self::Standard(centers.into_iter().zip(factors).collect())
            }
            (ScalingKind::MaxNorm, None, None, Some(factor), None) => Self::MaxNorm(factor),
            (ScalingKind::Quantile, None, None, None, Some(List(points))) => Self::Quantile(points),
            (ScalingKind::QueryMinmax, None, None, None, None) => Self::QueryMinmax,
            (ScalingKind::QuantileMinmax, None, None, None, Some(List(points))) => {
                Self::QuantileMinmax(points)
            }
            _ => {
                let problem = format!("other keys for the scaling \"{}\"", kind.name());
                let allowed = "'centers' and 'factors' for \"standard\", 'factor' for \"max_norm\", 'points' for \"quantile\" and \"quantile_minmax\", none for the others";
                return Err(refused(&problem, allowed));
            }
        })
    }
}

/// The error for text that is not a model, with the first reader's problem.
pub fn not_a_model(text: &[u8], problem: &str) -> Error {
    let start = shorten(&String::from_utf8_lossy(&text[..text.len().min(1000)]));
    let allowed = format!("the text of ltr_export(model, 'json') or a model of another library ({problem})");
    refused(&format!("'{start}'"), &allowed)
}

/// Finds the name of an algorithm, or refuses it.
pub type FindName = fn(&str) -> Result<&'static str>;

/// Reads a model from an untrusted text in the format `json`.
///
/// # Errors
/// A text that is not such a model, with the problem; an interrupt.
pub fn read(text: &[u8], find_algorithm: FindName) -> Result<Model> {
    if text.len() > LONGEST {
        let allowed = format!("at most {LONGEST} bytes; copy the row of ltr_models instead");
        return Err(refused(&format!("{} bytes", text.len()), &allowed));
    }
    let wrong = |problem: &str| not_a_model(text, problem);
    let parsed = std::str::from_utf8(text).map_err(|_| wrong("the text is not UTF-8"))?;
    let document: Document =
        serde_json::from_str(parsed).map_err(|problem| wrong(&json_problem(&problem)))?;
    if document.format != FORMAT || document.format_version != VERSION {
        let version = format!("'{}' version {}", shorten(&document.format), document.format_version);
        return Err(refused(&version, &format!("the format '{FORMAT}' version {VERSION}")));
    }
    checkpoint();
    let model = document.into_model(find_algorithm)?;
    checkpoint();
    model.check().map_err(|error| match error {
        Error::Corrupt(problem) => refused("a model with a wrong value", &problem),
        other => other,
    })?;
    Ok(model)
}

impl Document {
    fn into_model(self, find_algorithm: FindName) -> Result<Model> {
        let algorithm = find_algorithm(&self.algorithm)?.to_owned();
        let missing = named(&self.missing, "missing", Missing::parse, Missing::NAMES)?;
        let n = self.features.len();
        let card = Card {
            algorithm,
            features: self.features,
            categories: self.categories.unwrap_or_default(),
            quantities: self.quantities,
            candidates: self.candidates,
            probability: self.probability,
            columns: self.columns,
            missing,
            means: self.means,
            slots: self.slots,
            settings: Value::Object(self.settings),
            summary: Value::Object(self.training),
            log: self.log,
        };
        if let Some(trees) = self.general_trees {
            if !self.terms.is_empty() {
                return Err(refused("both 'terms' and 'general_trees'", "one of them"));
            }
            let ranker = Ranker::GeneralTrees(Box::new(trees));
            return Ok(Model::new(card, Scaling::None, ranker).with_fingerprint(self.fingerprint));
        }
        let parts: Vec<_> = self.terms.into_iter().map(|term| term.into_parts(n)).collect::<Result<_>>()?;
        let weights = parts.iter().flat_map(|(_, _, weights)| weights).copied().collect();
        let mut members: Vec<Member> =
            parts.into_iter().map(|(scaling, space, _)| Member { scaling: scaling.into(), space }).collect();
        // A single term becomes the model. With several, each term scales features, and the model does not.
        let (scaling, space) = match (members.pop(), members.is_empty()) {
            (None, _) => return Err(refused("no term", "one term or more")),
            (Some(Member { scaling, space }), true) => (Arc::unwrap_or_clone(scaling), AnySpace::One(space)),
            (Some(last), false) => {
                members.push(last);
                (Scaling::None, AnySpace::Sum(SumSpace::new(n, members)))
            }
        };
        let function = Function { weights, objective: self.objective, gap: self.gap };
        let ranker = Ranker::Linear(Linear::new(space, function));
        Ok(Model::new(card, scaling, ranker).with_fingerprint(self.fingerprint))
    }
}

/// The variant of a name.
fn named<T>(name: &str, key: &str, parse: impl Fn(&str) -> Option<T>, names: &[&str]) -> Result<T> {
    parse(name).ok_or_else(|| {
        let allowed = format!("one of \"{}\"", names.join("\", \""));
        Error::value(format!("{ARGUMENT}, key '{key}'"), format!("'{}'", shorten(name)), allowed)
    })
}

fn refused(found: &str, allowed: &str) -> Error {
    Error::value(ARGUMENT, found, allowed)
}
