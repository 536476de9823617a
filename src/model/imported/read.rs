//! Reading a text of any format, which its first keys show.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Format, ImportedModel, catboost, engines, lightgbm, parse_json, ranklib, xgboost};
use crate::base::{Control, Error, Result, shorten};

/// Bytes that reading takes at most for each byte of a text.
const BYTES_PER_BYTE: u64 = 24;

/// The format of a text, and what reads it.
type Reader = (Format, fn(&str) -> Result<ImportedModel>);

/// The keys that tell JSON texts apart.
#[derive(Deserialize)]
struct Keys {
    learner: Option<IgnoredAny>,
    tree_info: Option<IgnoredAny>,
    tree_structure: Option<IgnoredAny>,
    features_info: Option<IgnoredAny>,
    class: Option<IgnoredAny>,
    model: Option<IgnoredAny>,
    definition: Option<IgnoredAny>,
}

/// The model of a text, which is not trusted.
///
/// # Errors
/// A text that is no model, or has what cannot be kept; with the place.
pub fn read(text: &[u8], format: Option<Format>, control: &Control) -> Result<ImportedModel> {
    let _memory = control.reserve(
        BYTES_PER_BYTE.saturating_mul(text.len() as u64),
        "reading a model",
        "import a smaller model",
    )?;
    let text = std::str::from_utf8(text)
        .map_err(|error| Error::Corrupt(format!("the text is not UTF-8 at byte {}", error.valid_up_to())))?;
    let text = text.trim_start_matches('\u{feff}');
    let (own, read) = reader_of(text)?;
    if let Some(format) = format.filter(|format| *format != own) {
        return Err(Error::value(
            format!("format '{}'", format.name()),
            format!("a text that begins with '{}'", shorten(text.trim_start())),
            format!("its own format (the text looks like '{}')", own.name()),
        ));
    }
    read(text)?.checked()
}

/// The format of a text, as far as its first keys show; `None` for a text that looks like none of them.
///
/// # Errors
/// A text that begins like JSON and is none.
pub fn recognize(text: &[u8]) -> Result<Option<Format>, serde_json::Error> {
    let Ok(text) = std::str::from_utf8(text) else { return Ok(None) };
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('{') {
        serde_json::from_str::<Keys>(text)?;
    }
    Ok(reader_of(text).ok().map(|(format, _)| format))
}

/// The reader of a text.
fn reader_of(text: &str) -> Result<Reader> {
    let unknown = |why: &str| {
        Error::Corrupt(format!(
            "a text that begins with '{}' is of no known format{why}; known: {}",
            shorten(text.trim_start()),
            Format::ALL.map(|(name, _)| name).join(", ")
        ))
    };
    match text.trim_start().as_bytes().first() {
        None => Err(Error::Corrupt("the text is empty".to_owned())),
        Some(b't') if text.trim_start().starts_with("tree") => Ok((Format::LightGbm, lightgbm::read)),
        Some(b'#' | b'<') => Ok((Format::RankLib, ranklib::read)),
        Some(b'[') => Ok((Format::XgBoost, xgboost::read_dump)),
        Some(b'{') => {
            let keys: Keys = parse_json(text)?;
            let readers: [(bool, Reader); 5] = [
                (keys.learner.is_some(), (Format::XgBoost, xgboost::read)),
                (
                    keys.tree_info.is_some() || keys.tree_structure.is_some(),
                    (Format::LightGbm, lightgbm::read_json),
                ),
                (keys.features_info.is_some(), (Format::CatBoost, catboost::read)),
                (keys.class.is_some(), (Format::Solr, engines::read_solr)),
                (
                    keys.model.is_some() || keys.definition.is_some(),
                    (Format::Elasticsearch, engines::read_plugin),
                ),
            ];
            let found = readers.into_iter().find(|(is_this, _)| *is_this);
            found.map(|(_, reader)| reader).ok_or_else(|| unknown(" (JSON without the keys of one)"))
        }
        Some(_) => Err(unknown("")),
    }
}
