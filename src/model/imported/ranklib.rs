//! RankLib: trees in XML after comment lines (LambdaMART, MART, random forests), and the text of linear models
//! (coordinate ascent, linear regression). Features have numbers from 1; a feature that a document lacks is 0.

use roxmltree::{Document, Node, ParsingOptions};

use super::{Format, Function, ImportedModel, LinearModel, Names, Source, Term};
use crate::base::{Error, Result, shorten};
use crate::trees::general::{Builder, Nested, RawSplit, Test, at_most_single};

/// The model of a text.
pub(super) fn read(text: &str) -> Result<ImportedModel> {
    // 1. The name of the algorithm: the first comment.
    let comment = text.lines().find_map(|line| line.strip_prefix("##")).map_or("", str::trim);
    let source = Source::new(Format::RankLib, "", comment);
    let start = text.find('<');
    let mut names = Names::default();
    // 2. A text without XML is a linear model, if its algorithm has one.
    let Some(start) = start else {
        if !["Coordinate Ascent", "Linear Regression"].contains(&comment) {
            let known = "LambdaMART, MART, Random Forests, Coordinate Ascent, Linear Regression";
            let name = shorten(comment);
            return Err(Error::Unsupported(format!("RankLib's algorithm '{name}'; known: {known}")));
        }
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let linear = linear(lines.flat_map(str::split_ascii_whitespace), &mut names)?;
        return Ok(ImportedModel { source, features: names.features, function: Function::Linear(linear) });
    };
    // 3. Ensembles, one after the other. A random forest predicts their mean.
    let wrapped = format!("<model>{}</model>", &text[start..]);
    let options = ParsingOptions { nodes_limit: u32::MAX - 1, ..ParsingOptions::default() };
    let document = Document::parse_with_options(&wrapped, options)
        .map_err(|error| Error::Corrupt(format!("the XML cannot be read: {error}")))?;
    let ensembles: Vec<Node<'_, '_>> = elements(document.root_element(), "ensemble").collect();
    let mut builder = Builder::new(usize::MAX, 0.0, false);
    for tree in ensembles.iter().flat_map(|ensemble| elements(*ensemble, "tree")) {
        let weight = tree.attribute("weight").map_or(Ok(1.0), |text| text.trim().parse::<f32>());
        let root = elements(tree, "split").next();
        let (Ok(weight), Some(root)) = (weight, root) else {
            return Err(Error::Corrupt(
                "a tree without 'split', or with a 'weight' that is no number".to_owned(),
            ));
        };
        let weight = f64::from(weight) / ensembles.len() as f64;
        builder.add_nested(root, |node| read_node(node, weight, &mut names))?;
    }
    let function = Function::Trees(builder.finish(names.features.len())?);
    Ok(ImportedModel { source, features: names.features, function })
}

/// The children with this name.
fn elements<'a, 'b>(node: Node<'a, 'b>, name: &'static str) -> impl Iterator<Item = Node<'a, 'b>> {
    node.children().filter(move |child| child.has_tag_name(name))
}

/// Pairs `feature:weight`; feature 0 is the bias.
fn linear<'a>(pairs: impl Iterator<Item = &'a str>, names: &mut Names) -> Result<LinearModel> {
    let mut model = LinearModel { bias: 0.0, terms: Vec::new() };
    for pair in pairs {
        let wrong = || Error::Corrupt(format!("'{}' is no pair of feature and weight", shorten(pair)));
        let (feature, weight) = pair.split_once(':').ok_or_else(wrong)?;
        let number: u32 = feature.parse().map_err(|_| wrong())?;
        let weight: f64 = weight.parse().map_err(|_| wrong())?;
        if number == 0 {
            model.bias = weight;
        } else {
            model.terms.push(Term::plain(names.number(&number.to_string()), weight));
        }
    }
    if model.terms.is_empty() {
        return Err(Error::Corrupt("the model has no weights".to_owned()));
    }
    model.checked()
}

/// A node of a tree.
fn read_node<'a, 'b>(
    node: Node<'a, 'b>,
    weight: f64,
    names: &mut Names,
) -> Result<Nested<Node<'a, 'b>>, String> {
    let text = |name: &'static str| elements(node, name).next().and_then(|child| child.text()).map(str::trim);
    let single = |text: &str| text.parse::<f32>().map_err(|_| format!("'{}' is no number", shorten(text)));
    if let Some(output) = text("output") {
        return Ok(Nested::Leaf(f64::from(single(output)?) * weight, f64::NAN));
    }
    let (Some(feature), Some(threshold)) = (text("feature"), text("threshold")) else {
        return Err("no 'output', and no 'feature' with a 'threshold'".to_owned());
    };
    let feature: u32 = feature.parse().map_err(|_| "'feature' is no number")?;
    let threshold = single(threshold)?;
    if !threshold.is_finite() {
        return Err("'threshold' is not finite".to_owned());
    }
    let child = |side: &str| elements(node, "split").find(|child| child.attribute("pos") == Some(side));
    let (Some(left), Some(right)) = (child("left"), child("right")) else {
        return Err("no 'left' and 'right' split".to_owned());
    };
    let (feature, test) = (names.number(&feature.to_string()), Test::AtMost(at_most_single(threshold)));
    Ok(Nested::Split(RawSplit::new(feature, test, 0.0 <= threshold), left, right))
}
