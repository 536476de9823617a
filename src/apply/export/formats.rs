//! Models as text for other programs, and back from JSON.
//!
//! | format | for |
//! |---|---|
//! | `json` | every part of a model with one function; [`read_json`] makes the model again |
//! | `sql` | an expression of the columns of a table, for an SQLite without this library |
//! | `elasticsearch`, `opensearch`, `solr` | the linear models and the trees of their modules for learning to rank |
//! | `xgboost` | trees |

use super::term::{Format, Term, terms};
use super::text::Text;
use crate::base::{Error, Memory, Result, Ticks, named, shorten};
use crate::data::{Missing, Scaling, ScalingKind};
use crate::learn::space::{Form, WeightsOf};
use crate::model::{GeneralTrees, Model};
use serde_json::{Map, Value, json};

named!(Format {
    Json = "json",
    Sql = "sql",
    Elasticsearch = "elasticsearch",
    OpenSearch = "opensearch",
    Solr = "solr",
    XgBoost = "xgboost"
});

/// Bytes that a feature of a linear model takes in JSON values, besides its name.
const LINEAR_BYTES: usize = 1000;

/// What scores the documents of a model.
pub(super) enum Parts<'a> {
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

/// The text of these parts in a format.
///
/// # Errors
/// [`Error::Unsupported`] with the reason if the model has none in this format.
pub(super) fn text(
    model: &Model,
    parts: &Parts<'_>,
    name: &str,
    format: Format,
    memory: &Memory,
) -> Result<String> {
    match (parts, format) {
        (Parts::Trees(_), Format::Json) => super::json::text(model, &[], memory),
        (Parts::Trees(forest), Format::Sql) => {
            super::sql::check_names(model).map_err(Error::Unsupported)?;
            super::trees::expression(model, forest, memory)
        }
        (Parts::Trees(forest), _) => {
            super::trees::text(&super::trees::of_import(model, forest), name, format, memory)
        }
        (Parts::Terms(terms), format) => {
            check(model, terms, format).map_err(Error::Unsupported)?;
            match format {
                Format::Json => super::json::text(model, terms, memory),
                Format::Sql => super::sql::expression(model, terms, memory),
                _ if with_trees(terms) => {
                    super::trees::text(&super::trees::of_terms(model, terms, memory)?, name, format, memory)
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
            None => super::sql::check_names(model),
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
        return super::trees::check(terms);
    }
    if format == Format::XgBoost {
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
