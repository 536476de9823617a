//! Reads text in any format, detected from the first keys.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::advice::advice;
use super::parse::any_json;
use super::{
    Format, IMPORT_FORMATS, ImportedModel, catboost, elasticsearch, lightgbm, ranklib, solr, xgboost,
};
use crate::base::{Control, Error, Result, shorten};

/// Reads a format.
type Read = fn(&str, &Control) -> Result<ImportedModel>;

/// The reader of a text.
pub struct Reader {
    /// The format of the text.
    pub format: Format,
    read: Read,
}

/// Keys that distinguish JSON formats.
#[derive(Deserialize)]
struct Keys {
    learner: Option<IgnoredAny>,
    tree_info: Option<IgnoredAny>,
    tree_structure: Option<IgnoredAny>,
    features_info: Option<IgnoredAny>,
    class: Option<IgnoredAny>,
    model: Option<IgnoredAny>,
    definition: Option<IgnoredAny>,
    #[serde(rename = "_source")]
    source: Option<IgnoredAny>,
    hits: Option<IgnoredAny>,
}

/// Decodes bytes as text.
///
/// # Errors
/// What the bytes are instead of text.
pub fn text_of(bytes: &[u8]) -> Result<Cow<'_, str>> {
    if let Some(advice) = advice(bytes) {
        return Err(Error::Unsupported(format!("argument 'text' {advice}")));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let problem = format!("bytes that are not UTF-8 from byte {}", error.valid_up_to());
        Error::value("argument 'text'", problem, "a model as text")
    })?;
    Ok(with_numbers(text.trim_start_matches('\u{feff}')))
}

/// Before version 3, XGBoost writes the unused threshold of a category split as NaN, which is not JSON. Replaces it by the
/// smallest number: no value is below that, just as none is below NaN.
fn with_numbers(text: &str) -> Cow<'_, str> {
    const THRESHOLDS: &str = "\"split_conditions\":";
    if !text.contains(THRESHOLDS) || !text.contains("NaN") {
        return text.into();
    }
    let mut parts = text.split(THRESHOLDS);
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (list, rest) = part.split_at(part.find(']').unwrap_or(part.len()));
        whole.extend([THRESHOLDS, &list.replace("NaN", "-3.4028235e38"), rest]);
    }
    whole.into()
}

impl Reader {
    /// The reader for a text, judging by its first keys; `None` if it does not look like any format.
    ///
    /// # Errors
    /// Text that begins like JSON but is not JSON.
    pub fn of(text: &str) -> Result<Option<Self>, serde_json::Error> {
        let (format, read): (Format, Read) = match text.trim_start().as_bytes().first() {
            Some(b't') if text.trim_start().starts_with("tree") => (Format::LightGbm, lightgbm::read),
            Some(b'#' | b'<') => (Format::RankLib, ranklib::read),
            Some(b'[') => (Format::XgBoost, xgboost::dump::read),
            Some(b'{') => {
                let keys: Keys = any_json(text, |_| {})?;
                let is_plugin = keys.model.is_some() || keys.definition.is_some();
                let is_stored = keys.source.is_some() || keys.hits.is_some();
                let readers: [(bool, Format, Read); 5] = [
                    (keys.learner.is_some(), Format::XgBoost, xgboost::read),
                    (
                        keys.tree_info.is_some() || keys.tree_structure.is_some(),
                        Format::LightGbm,
                        lightgbm::read_json,
                    ),
                    (keys.features_info.is_some(), Format::CatBoost, catboost::read),
                    (keys.class.is_some(), Format::Solr, solr::read),
                    (is_plugin || is_stored, Format::Elasticsearch, elasticsearch::read),
                ];
                let Some((_, format, read)) = readers.into_iter().find(|(is_this, ..)| *is_this) else {
                    return Ok(None);
                };
                (format, read)
            }
            _ => return Ok(None),
        };
        Ok(Some(Self { format, read }))
    }

    /// Reads the model from the text, which need not be trusted.
    ///
    /// # Errors
    /// Text that is not a model, or has unsupported parts, with the location.
    pub fn read(&self, text: &str, control: &Control) -> Result<ImportedModel> {
        (self.read)(text, control)?.checked()
    }

    /// Refuses text in a format other than this.
    ///
    /// # Errors
    /// The format that the text looks like.
    pub fn expect(self, format: Format, text: &str) -> Result<Self> {
        let engines = [Format::Elasticsearch, Format::OpenSearch];
        if self.format == format || engines.contains(&self.format) && engines.contains(&format) {
            return Ok(self);
        }
        Err(Error::value(
            format!("format '{}'", format.name()),
            format!("a text that begins with '{}'", shorten(text.trim_start())),
            format!("its own format (the text looks like '{}')", self.format.name()),
        ))
    }
}

/// The error for text in an unknown format.
pub fn unknown(text: &str) -> Error {
    Error::Corrupt(format!(
        "a text that begins with '{}' has no known format; known: {}",
        shorten(text.trim_start()),
        IMPORT_FORMATS[1..].join(", ")
    ))
}
