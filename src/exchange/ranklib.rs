//! RankLib: trees in XML after comment lines (LambdaMART, MART, random forests), and the text of linear models
//! (coordinate ascent, linear regression). Features are numbered from 1; missing features are 0.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::names::Names;
use super::{Format, Function, ImportedModel, LinearModel, LinearTerm, Source};
use crate::base::{Control, Error, Result, Ticks, shorten};
use crate::trees::general::{Builder, RawNode, RawSplit, Test, at_most_single, corrupt};

/// Approximate nanoseconds per tag, for [`Ticks`].
const TAG_COST: usize = 100;

pub(super) fn read(text: &str, control: &Control) -> Result<ImportedModel> {
    // 1. The name of the algorithm: the first comment.
    let comment = text.lines().find_map(|line| line.strip_prefix("##")).map_or("", str::trim);
    let source = Source::new(Format::RankLib, "", comment);
    let mut names = Names::new(control);
    // 2. Text without XML is a linear model, if the algorithm has linear models.
    let Some(start) = text.find('<') else {
        if !["Coordinate Ascent", "Linear Regression"].contains(&comment) {
            let supported = "LambdaMART, MART, Random Forests, Coordinate Ascent, Linear Regression";
            let name = shorten(comment);
            return Err(Error::Unsupported(format!("RankLib's algorithm '{name}'; known: {supported}")));
        }
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let linear = linear(lines.flat_map(str::split_ascii_whitespace), &mut names)?;
        return Ok(ImportedModel { source, features: names.features, function: Function::Linear(linear) });
    };
    // 3. The ensembles. A single ensemble sums in 32-bit floats; a random forest averages several in 64 bits.
    let ensembles = text.matches("<ensemble").count();
    let builder = Builder::new(usize::MAX, 0.0, ensembles == 1);
    let mut trees = Trees { names, ensembles, builder, weight: None, nodes: Vec::new(), open: Vec::new() };
    trees.read(text, start)?;
    let function = Function::Trees(trees.builder.finish(trees.names.features.len())?);
    Ok(ImportedModel { source, features: trees.names.features, function })
}

/// Pairs `feature:weight`; feature 0 is the bias.
fn linear<'a>(pairs: impl Iterator<Item = &'a str>, names: &mut Names) -> Result<LinearModel> {
    let (mut model, mut ticks) = (LinearModel { bias: 0.0, terms: Vec::new() }, Ticks::default());
    for pair in pairs {
        ticks.add(TAG_COST);
        let wrong = || Error::Corrupt(format!("'{}' is not a pair of feature and weight", shorten(pair)));
        let (feature, weight) = pair.split_once(':').ok_or_else(wrong)?;
        let number: u32 = feature.parse().map_err(|_| wrong())?;
        let weight: f64 = weight.parse().map_err(|_| wrong())?;
        if number == 0 {
            model.bias = weight;
        } else {
            model.terms.push(LinearTerm::plain(names.number(&number.to_string())?, weight));
        }
    }
    if model.terms.is_empty() {
        return Err(Error::Corrupt("the model has no weights".to_owned()));
    }
    model.checked()
}

/// The trees read so far.
struct Trees {
    names: Names,
    /// Ensembles of the text.
    ensembles: usize,
    builder: Builder,
    /// Weight of the current tree.
    weight: Option<f32>,
    /// The nodes of this tree. An open split counts as a leaf until it ends.
    nodes: Vec<RawNode>,
    /// Open splits, from the root down.
    open: Vec<OpenSplit>,
}

#[derive(Default)]
struct OpenSplit {
    node: usize,
    feature: Option<u32>,
    threshold: Option<f32>,
    output: Option<f32>,
    /// Indices of the left and the right child.
    children: [Option<usize>; 2],
}

impl Trees {
    /// Reads the XML that begins at byte `first`.
    fn read(&mut self, text: &str, first: usize) -> Result<()> {
        let mut reader = Reader::from_str(&text[first..]);
        reader.config_mut().expand_empty_elements = true;
        let (mut found, mut is_in_ensemble, mut ticks) = (0, false, Ticks::default());
        loop {
            ticks.add(TAG_COST);
            let at = first as u64 + reader.buffer_position();
            let wrong = |problem: String| Error::Corrupt(format!("the XML at byte {at}: {problem}"));
            match reader.read_event().map_err(|problem| wrong(problem.to_string()))? {
                Event::Start(tag) => match tag.name().into_inner() {
                    "ensemble" if !is_in_ensemble => {
                        let [] = attributes(&tag, []).map_err(wrong)?;
                        (found, is_in_ensemble) = (found + 1, true);
                    }
                    "tree" if is_in_ensemble && self.weight.is_none() => {
                        let [_, weight] = attributes(&tag, ["id", "weight"]).map_err(wrong)?;
                        self.weight = Some(weight.map_or(Ok(1.0), |weight| single(&weight)).map_err(wrong)?);
                    }
                    "split" if self.weight.is_some() => {
                        let [side] = attributes(&tag, ["pos"]).map_err(wrong)?;
                        self.begin_split(side.as_deref()).map_err(wrong)?;
                    }
                    name @ ("feature" | "threshold" | "output") if !self.open.is_empty() => {
                        let [] = attributes(&tag, []).map_err(wrong)?;
                        let text =
                            reader.read_text(tag.name()).map_err(|problem| wrong(problem.to_string()))?;
                        self.value(name, text.trim()).map_err(wrong)?;
                    }
                    name => return Err(wrong(format!("the element '{}' is unknown", shorten(name)))),
                },
                Event::End(tag) => match tag.name().into_inner() {
                    "split" => self.end_split()?,
                    "tree" => {
                        self.builder.add(&std::mem::take(&mut self.nodes))?;
                        self.weight = None;
                    }
                    _ => is_in_ensemble = false,
                },
                Event::Text(text) if text.trim().is_empty() => {}
                Event::Text(text) => {
                    return Err(wrong(format!("the text '{}' is not inside a value", shorten(text.trim()))));
                }
                Event::Comment(_) | Event::Decl(_) => {}
                Event::Eof if !is_in_ensemble && found == self.ensembles => return Ok(()),
                Event::Eof => return Err(wrong("the text ends within an element: it is cut off".to_owned())),
                _ => return Err(wrong("only elements, numbers and comments are allowed".to_owned())),
            }
        }
    }

    /// Starts a split: the root, or a child of the open split at this side.
    fn begin_split(&mut self, side: Option<&str>) -> Result<(), String> {
        let node = self.nodes.len();
        let place = match (self.open.last_mut(), side) {
            (None, None) if node == 0 => None,
            (Some(parent), Some("left")) => Some(&mut parent.children[0]),
            (Some(parent), Some("right")) => Some(&mut parent.children[1]),
            _ => return Err("a 'split' needs the 'pos' left or right, except for the root".to_owned()),
        };
        if place.is_some_and(|place| place.replace(node).is_some()) {
            return Err("two splits have the same 'pos'".to_owned());
        }
        self.nodes.push(RawNode::Leaf { value: 0.0, cover: f64::NAN });
        self.open.push(OpenSplit { node, ..OpenSplit::default() });
        Ok(())
    }

    /// Sets a number of the open split.
    fn value(&mut self, name: &str, text: &str) -> Result<(), String> {
        let Some(split) = self.open.last_mut() else { return Ok(()) };
        let is_repeated = match name {
            "feature" => {
                let feature = text.parse().map_err(|_| format!("'{}' is not a feature", shorten(text)))?;
                split.feature.replace(feature).is_some()
            }
            "threshold" => split.threshold.replace(single(text)?).is_some(),
            _ => split.output.replace(single(text)?).is_some(),
        };
        if is_repeated { Err(format!("a split has two elements '{name}'")) } else { Ok(()) }
    }

    /// Ends the open split, whose node is now known.
    fn end_split(&mut self) -> Result<()> {
        let Some(split) = self.open.pop() else { return Ok(()) };
        let weight = f64::from(self.weight.unwrap_or(1.0));
        let wrong = |problem: &str| corrupt(self.builder.trees(), split.node, problem);
        self.nodes[split.node] = match split {
            OpenSplit {
                output: Some(output),
                feature: None,
                threshold: None,
                children: [None, None],
                ..
            } => {
                let value = f64::from(output) * weight;
                let mean = || f64::from(value as f32) / self.ensembles as f64;
                let value = if self.ensembles == 1 { value } else { mean() };
                RawNode::Leaf { value, cover: f64::NAN }
            }
            OpenSplit {
                feature: Some(feature),
                threshold: Some(threshold),
                children: [Some(left), Some(right)],
                output: None,
                ..
            } => {
                if !threshold.is_finite() {
                    return Err(wrong("'threshold' is not finite"));
                }
                let feature = self.names.number(&feature.to_string())?;
                let test = Test::AtMost(at_most_single(threshold));
                // A missing feature is 0.
                let split = RawSplit::new(feature, test, 0.0 <= threshold);
                RawNode::Split(RawSplit { left, right, ..split })
            }
            _ => {
                return Err(wrong(
                    "a split needs either just 'output', or 'feature', 'threshold' and two splits",
                ));
            }
        };
        Ok(())
    }
}

fn single(text: &str) -> Result<f32, String> {
    text.trim().parse().map_err(|_| format!("'{}' is not a number", shorten(text)))
}

/// Values of these attributes of a tag. Others are refused, so tags with many attributes cost no time.
fn attributes<const N: usize>(tag: &BytesStart<'_>, names: [&str; N]) -> Result<[Option<String>; N], String> {
    let mut values = [const { None }; N];
    for attribute in tag.attributes().with_checks(false) {
        let attribute = attribute.map_err(|problem| problem.to_string())?;
        let name = attribute.key.into_inner();
        let Some(place) = names.iter().position(|known| *known == name) else {
            return Err(format!("the attribute '{}' is unknown", shorten(name)));
        };
        if values[place].replace(attribute.value.into_owned()).is_some() {
            return Err(format!("the attribute '{name}' twice in a tag"));
        }
    }
    Ok(values)
}
