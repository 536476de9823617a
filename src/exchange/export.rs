//! Writes a model in a format, or explains why that is not possible.

use super::checked_trees::{self, FEWER_TREES, Trees};
use super::term::{Term, terms};
use super::text::Text;
use super::{Format, elasticsearch, json, solr, sql, weights, xgboost};
use crate::base::{Error, Memory, Result, shorten};
use crate::data::{Missing, ScalingKind};
use crate::learn::space::{Form, WeightsOf};
use crate::model::{GeneralTrees, Model};

/// A model's scoring function, in the form that formats need.
pub(super) enum Parts<'a> {
    /// A sum of functions.
    Terms(Vec<Term<'a>>),
    /// Trees from another library.
    Trees(&'a GeneralTrees),
}

/// Writes a model in a format. `name` is the model's name there.
///
/// # Errors
/// A model that cannot be written in this format, with the formats that work; a model without one function for all
/// queries; too much memory.
pub fn export(model: &Model, name: &str, format: Format, memory: &Memory) -> Result<String> {
    let parts = match model.ranker.as_general_trees() {
        Some(trees) => Parts::Trees(trees),
        None => Parts::Terms(terms(model)?),
    };
    text(model, &parts, name, format, memory).map_err(|problem| {
        let Error::Unsupported(reason) = problem else { return problem };
        let is_possible = |other: &Format| text(model, &parts, name, *other, memory).is_ok();
        let possible = Format::WRITTEN.iter().filter(|other| is_possible(other));
        let possible: Vec<String> = possible.map(|format| format!("'{}'", format.name())).collect();
        let way_out = if possible.is_empty() {
            "no format can express it; copy its row of ltr_models".to_owned()
        } else {
            format!("it can be exported as {}", possible.join(" or "))
        };
        let format = format.name();
        Error::Unsupported(format!("the model cannot be exported as '{format}': {reason}; {way_out}"))
    })
}

/// Writes these parts in a format.
///
/// # Errors
/// [`Error::Unsupported`] with the reason if the format cannot express the model.
pub(super) fn text(
    model: &Model,
    parts: &Parts<'_>,
    name: &str,
    format: Format,
    memory: &Memory,
) -> Result<String> {
    let problem = model.card.quantities.problem(|_| format != Format::Json);
    if let Some(problem) = problem {
        return Err(Error::Unsupported(format!("{problem}, and train again")));
    }
    match (parts, format) {
        (Parts::Trees(_), Format::Json) => json::text(model, &[], memory),
        (Parts::Trees(forest), Format::Sql) => {
            sql::check_names(model).map_err(Error::Unsupported)?;
            sql::tree_expression(model, forest, memory)
        }
        (Parts::Trees(forest), _) => {
            tree_text(&checked_trees::of_import(model, forest), name, format, memory)
        }
        (Parts::Terms(terms), format) => {
            check(model, terms, format).map_err(Error::Unsupported)?;
            match format {
                Format::Json => json::text(model, terms, memory),
                Format::Sql => sql::expression(model, terms, memory),
                _ if with_trees(terms) => {
                    tree_text(&checked_trees::of_terms(model, terms, memory)?, name, format, memory)
                }
                _ => linear_text(model, &terms[0], name, format, memory),
            }
        }
    }
}

/// Writes a weighted sum in a format.
///
/// # Errors
/// [`Error::Unsupported`] for a format without weighted sums; too much memory.
fn linear_text(
    model: &Model,
    term: &Term<'_>,
    name: &str,
    format: Format,
    memory: &Memory,
) -> Result<String> {
    let names: usize = model.card.features.iter().map(|name| 4 * name.len() + weights::BYTES).sum();
    let _values = memory.reserve(names as u64, "the weights as JSON", "export fewer features")?;
    let value = match format {
        Format::Solr => solr::linear_model(model, term, name),
        Format::Elasticsearch | Format::OpenSearch => elasticsearch::linear_model(model, term, name),
        Format::Json
        | Format::Sql
        | Format::XgBoost
        | Format::LightGbm
        | Format::CatBoost
        | Format::RankLib => return Err(Error::Unsupported("the format has no weighted sums".to_owned())),
    };
    let mut text = Text::new(memory, usize::MAX, "export fewer features");
    text.push_json(&value)?;
    text.finish()
}

/// Writes trees in a format.
///
/// # Errors
/// [`Error::Unsupported`] with the location of what the format cannot express; text that is too long; too much memory.
fn tree_text(trees: &Trees<'_>, name: &str, format: Format, memory: &Memory) -> Result<String> {
    let mut text = Text::new(memory, trees.longest(), FEWER_TREES);
    match format {
        Format::XgBoost => xgboost::write(trees, memory, &mut text)?,
        Format::Solr => solr::write_trees(trees, name, &mut text)?,
        Format::Elasticsearch | Format::OpenSearch => {
            let mut definition = Text::new(memory, trees.longest(), FEWER_TREES);
            elasticsearch::write_definition(trees, &mut definition)?;
            elasticsearch::write_body(name, &definition.finish()?, &mut text)?;
        }
        Format::Json | Format::Sql | Format::LightGbm | Format::CatBoost | Format::RankLib => {
            return Err(Error::Unsupported("the format has no trees".to_owned()));
        }
    }
    text.finish()
}

/// Whether a term consists of trees.
fn with_trees(terms: &[Term<'_>]) -> bool {
    terms.iter().any(Term::is_trees)
}

/// Why a model cannot be written in a format.
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
    // For sums with trees, the error below names the members.
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
        return Err(format!("it has the category \"{name}\", but the format has only numbers"));
    }
    if with_trees(terms) {
        return checked_trees::check(terms);
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
                "this format has no scaling \"{}\"; train with \"scale\": \"standard\", \"max_norm\" or \"none\"",
                kind.name()
            ));
        }
    }
    if model.card.missing == Missing::Mean {
        return Err("the model replaces missing features by their mean, but the format by 0; train with \"missing\": \"zero\""
            .to_owned());
    }
    weights::check_numbers(model, term)
}
