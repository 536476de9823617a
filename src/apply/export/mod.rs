//! Models as text for other programs, and back from JSON.
//!
//! | format | for |
//! |---|---|
//! | `json` | every part of a model with one function; [`read_json`] makes the model again |
//! | `sql` | an expression of the columns of a table, for an SQLite without this library |
//! | `elasticsearch`, `opensearch`, `solr` | the linear models and the trees of their modules for learning to rank |
//! | `lightgbm`, `xgboost` | trees in the formats of these libraries |

mod json;
mod sql;
mod sql_columns;
mod text;
mod trees;

use serde_json::{Map, Value, json};

use crate::base::{Error, Memory, Result, Ticks, named, shorten};
use crate::data::{Missing, Scaling, ScalingKind};
use crate::learn::space::{Form, Space, Summand, WeightsOf};
use crate::model::{GeneralTrees, Model};
use text::Text;

pub use json::{FindName, not_a_model, read as read_json};

/// A text form of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// All of a model.
    Json,
    /// An expression that scores.
    Sql,
    /// A model of the plugin for learning to rank of Elasticsearch.
    Elasticsearch,
    /// The same for OpenSearch.
    OpenSearch,
    /// A model of the module `ltr` of Solr.
    Solr,
    /// A text model of LightGBM.
    LightGbm,
    /// A JSON model of XGBoost.
    XgBoost,
}

named!(Format {
    Json = "json",
    Sql = "sql",
    Elasticsearch = "elasticsearch",
    OpenSearch = "opensearch",
    Solr = "solr",
    LightGbm = "lightgbm",
    XgBoost = "xgboost"
});

/// Bytes that a feature of a linear model takes in JSON values, besides its name.
const LINEAR_BYTES: usize = 1000;

/// A summand of the scores of a model.
struct Term<'a> {
    /// How it scales the documents.
    scaling: &'a Scaling,
    /// The space of its function.
    space: &'a Space,
    /// The weights of its function.
    weights: &'a [f64],
}

/// What scores the documents of a model.
enum Parts<'a> {
    /// A sum of functions.
    Terms(Vec<Term<'a>>),
    /// Trees of another library.
    Trees(&'a GeneralTrees),
}

/// The text of a model in a format. `name` is the name of the model there.
///
/// # Errors
/// A model that has no such form, with the forms that it has; a model without one function for all queries; too much memory.
pub fn export(model: &Model, name: &str, format: Format, memory: &Memory) -> Result<String> {
    let parts = match model.ranker.as_general_trees() {
        Some(trees) => Parts::Trees(trees),
        None => Parts::Terms(terms(model)?),
    };
    text(model, &parts, name, format, memory).map_err(|problem| {
        let Error::Unsupported(reason) = problem else { return problem };
        let is_possible = |other: &Format| text(model, &parts, name, *other, memory).is_ok();
        let possible = Format::NAMES.iter().filter_map(|other| Format::parse(other)).filter(is_possible);
        let possible: Vec<String> = possible.map(|format| format!("'{}'", format.name())).collect();
        let way_out = if possible.is_empty() {
            "it has no other form; copy its row of ltr_models".to_owned()
        } else {
            format!("it can be exported as {}", possible.join(" or "))
        };
        let format = format.name();
        Error::Unsupported(format!("the model has no form '{format}': {reason}; {way_out}"))
    })
}

/// The text.
///
/// # Errors
/// [`Error::Unsupported`] with the reason if the model has none in this format.
fn text(model: &Model, parts: &Parts<'_>, name: &str, format: Format, memory: &Memory) -> Result<String> {
    match (parts, format) {
        (Parts::Trees(_), Format::Json) => json::text(model, &[], memory),
        (Parts::Trees(forest), Format::Sql) => {
            sql::check_names(model).map_err(Error::Unsupported)?;
            trees::expression(model, forest, memory)
        }
        (Parts::Trees(forest), _) => trees::text(&trees::of_import(model, forest), name, format, memory),
        (Parts::Terms(terms), format) => {
            check(model, terms, format).map_err(Error::Unsupported)?;
            match format {
                Format::Json => json::text(model, terms, memory),
                Format::Sql => sql::expression(model, terms, memory),
                _ if with_trees(terms) => {
                    trees::text(&trees::of_terms(model, terms, memory)?, name, format, memory)
                }
                _ => {
                    let names: usize =
                        model.card.features.iter().map(|name| 4 * name.len() + LINEAR_BYTES).sum();
                    let _values =
                        memory.reserve(names as u64, "the weights as JSON", "export fewer features")?;
                    let make = if format == Format::Solr { solr } else { elasticsearch };
                    let mut text = Text::new(memory, usize::MAX, "export fewer features");
                    text.push_json(&make(model, &terms[0], name))?;
                    text.finish()
                }
            }
        }
    }
}

/// Whether a term is trees.
fn with_trees(terms: &[Term<'_>]) -> bool {
    terms.iter().any(Term::is_trees)
}

impl Term<'_> {
    fn is_trees(&self) -> bool {
        matches!(self.space.weights_of(), WeightsOf::Leaves(_))
    }
}

/// The summands of the scores.
fn terms(model: &Model) -> Result<Vec<Term<'_>>> {
    let Some(linear) = model.ranker.as_linear() else {
        let algorithm = &model.card.algorithm;
        let (what, way_out) = if model.ranker.as_interactions().is_some() {
            ("has a function for each query", "train it with \"interaction\": \"none\", or")
        } else if model.capabilities().has_features {
            ("has a function for each query", "export a model of rank_svm, or")
        } else {
            ("has factors of users and items", "read them with ltr_factors, or")
        };
        return Err(Error::Unsupported(format!(
            "a model of '{algorithm}' {what} and has no text form; {way_out} copy the row of ltr_models"
        )));
    };
    let summands = linear.scorer().summands(&linear.function.weights);
    let term = |Summand { scaling, space, weights }| Term {
        scaling: scaling.unwrap_or(&model.scaling),
        space,
        weights,
    };
    Ok(summands.into_iter().map(term).collect())
}

/// Why a model has no such form.
fn check(model: &Model, terms: &[Term<'_>], format: Format) -> Result<(), String> {
    if terms.iter().any(|term| matches!(term.space.weights_of(), WeightsOf::Pairs)) {
        return Err("it is a function of pairs of documents with a kernel".to_owned());
    }
    if format == Format::Json {
        return Ok(());
    }
    if model.card.slots {
        return Err("it matches the documents of a query to slots".to_owned());
    }
    // A sum with trees names its members below.
    let names_members = with_trees(terms) && format != Format::Sql;
    if !names_members && terms.iter().any(|term| matches!(term.space.weights_of(), WeightsOf::Documents(_))) {
        return Err("its kernel is not linear".to_owned());
    }
    if format == Format::Sql {
        return match terms.iter().find(|term| term.is_trees() && !term.scaling.pointwise()) {
            None => sql::check_names(model),
            Some(term) => Err(format!(
                "its trees compare features that \"scale\": \"{}\" scales within queries; train with \"quantile\", \
                 \"standard\" or \"none\"",
                term.scaling.kind().name()
            )),
        };
    }
    if let Some(category) = model.card.categories.iter().next() {
        let name = shorten(&category.name);
        return Err(format!("it has the category \"{name}\", and there are only numbers there"));
    }
    if with_trees(terms) {
        return trees::check(terms);
    }
    if matches!(format, Format::LightGbm | Format::XgBoost) {
        return Err("it has no trees".to_owned());
    }
    let [term] = terms else { return Err("it is a sum of several functions".to_owned()) };
    if term.space.form == Form::Ranking {
        return Err("its form \"ranking\" needs all documents of a query; train with \"form\": \"scoring\""
            .to_owned());
    }
    match term.scaling.kind() {
        ScalingKind::None | ScalingKind::Standard | ScalingKind::MaxNorm => {}
        kind => {
            return Err(format!(
                "there is no scaling \"{}\" there; train with \"scale\": \"standard\", \"max_norm\" or \"none\"",
                kind.name()
            ));
        }
    }
    if model.card.missing == Missing::Mean {
        return Err("a missing feature counts as its mean, but as 0 there; train with \"missing\": \"zero\""
            .to_owned());
    }
    check_numbers(model, term)
}

// Linear models of search engines. Both compute with 32-bit floats.

/// A feature whose weight is not 0.
struct Weighted<'a> {
    name: &'a str,
    weight: f64,
    /// Mean and standard deviation, if the engine scales the feature.
    moments: Option<(f64, f64)>,
}

/// The features of a linear function with an affine scaling.
fn weighted<'a>(model: &'a Model, term: &Term<'a>) -> Vec<Weighted<'a>> {
    let mut ticks = Ticks::default();
    let feature = |(index, name): (usize, &'a String)| {
        ticks.add(LINEAR_BYTES);
        let (center, factor) = term.scaling.affine(index)?;
        let weight = term.weights[index];
        let (weight, moments) = match term.scaling {
            Scaling::Standard(_) if factor.abs() > 0.0 => (weight, Some((center, 1.0 / factor))),
            _ => (weight * factor, None),
        };
        (weight.abs() > 0.0).then_some(Weighted { name, weight, moments })
    };
    model.card.features.iter().enumerate().filter_map(feature).collect()
}

/// Why the engines, which compute in single precision and refuse a model without weights, do not score as the model does.
fn check_numbers(model: &Model, term: &Term<'_>) -> Result<(), String> {
    let features = weighted(model, term);
    if features.is_empty() {
        return Err("all its weights are 0".to_owned());
    }
    let fits = |number: f64| (number as f32).is_finite();
    let is_representable = |feature: &&Weighted<'_>| {
        let (mean, deviation) = feature.moments.unwrap_or((0.0, 1.0));
        fits(feature.weight) && fits(mean) && (deviation as f32).is_normal()
    };
    match features.iter().find(|feature| !is_representable(feature)) {
        None => Ok(()),
        Some(feature) => {
            let name = shorten(feature.name);
            Err(format!("weight or scaling of feature \"{name}\" is beyond single precision"))
        }
    }
}

fn weights_object(features: &[Weighted<'_>]) -> Value {
    let weights: Map<String, Value> =
        features.iter().map(|feature| (feature.name.to_owned(), json!(feature.weight))).collect();
    Value::Object(weights)
}

/// The body of a request `_createmodel` of Elasticsearch and OpenSearch.
fn elasticsearch(model: &Model, term: &Term<'_>, name: &str) -> Value {
    let features = weighted(model, term);
    let mut definition = json!({ "type": "model/linear" });
    let normalizer = |feature: &Weighted<'_>| {
        let (mean, deviation) = feature.moments?;
        let normalizer = json!({ "standard": { "mean": mean, "standard_deviation": deviation } });
        Some((feature.name.to_owned(), normalizer))
    };
    let normalizers: Map<String, Value> = features.iter().filter_map(normalizer).collect();
    if !normalizers.is_empty() {
        definition["feature_normalizers"] = Value::Object(normalizers);
    }
    // The plugin reads the weights from a text.
    definition["definition"] = json!(weights_object(&features).to_string());
    json!({ "model": { "name": name, "model": definition } })
}

/// The file of a model of Solr.
fn solr(model: &Model, term: &Term<'_>, name: &str) -> Value {
    let features = weighted(model, term);
    let entry = |feature: &Weighted<'_>| {
        let mut entry = json!({ "name": feature.name });
        if let Some((mean, deviation)) = feature.moments {
            entry["norm"] = json!({
                "class": "org.apache.solr.ltr.norm.StandardNormalizer",
                "params": { "avg": format!("{mean:?}"), "std": format!("{deviation:?}") },
            });
        }
        entry
    };
    json!({
        "class": "org.apache.solr.ltr.model.LinearModel",
        "name": name,
        "features": features.iter().map(entry).collect::<Vec<Value>>(),
        "params": { "weights": weights_object(&features) },
    })
}
