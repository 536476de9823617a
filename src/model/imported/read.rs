//! Reading a text of any format, which its first keys show.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Format, ImportedModel, catboost, engines, lightgbm, parse_json, ranklib, xgboost};
use crate::base::{Control, Error, Result, shorten};

/// Bytes that reading takes at most for each byte of a text.
const BYTES_PER_BYTE: u64 = 24;

/// The kinds of text that are told apart.
enum Kind {
    LightGbmText,
    LightGbmJson,
    XgBoostModel,
    XgBoostDump,
    CatBoost,
    Plugin,
    Solr,
    RankLib,
}

impl Kind {
    fn format(&self) -> Format {
        match self {
            Self::LightGbmText | Self::LightGbmJson => Format::LightGbm,
            Self::XgBoostModel | Self::XgBoostDump => Format::XgBoost,
            Self::CatBoost => Format::CatBoost,
            Self::Plugin => Format::Elasticsearch,
            Self::Solr => Format::Solr,
            Self::RankLib => Format::RankLib,
        }
    }
}

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
    let kind = kind_of(text)?;
    if let Some(format) = format.filter(|format| *format != kind.format()) {
        return Err(Error::value(
            format!("format '{}'", format.name()),
            format!("a text that begins with '{}'", shorten(text.trim_start())),
            format!("its own format (the text looks like '{}')", kind.format().name()),
        ));
    }
    let model = match kind {
        Kind::LightGbmText => lightgbm::read(text),
        Kind::LightGbmJson => lightgbm::read_json(text),
        Kind::XgBoostModel => xgboost::read(text),
        Kind::XgBoostDump => xgboost::read_dump(text),
        Kind::CatBoost => catboost::read(text),
        Kind::Plugin => engines::read_plugin(text),
        Kind::Solr => engines::read_solr(text),
        Kind::RankLib => ranklib::read(text),
    };
    model?.checked()
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
    Ok(kind_of(text).ok().map(|kind| kind.format()))
}

/// What a text is.
fn kind_of(text: &str) -> Result<Kind> {
    let unknown = |why: &str| {
        Error::Corrupt(format!(
            "a text that begins with '{}' is of no known format{why}; known: {}",
            shorten(text.trim_start()),
            Format::ALL.map(|(name, _)| name).join(", ")
        ))
    };
    match text.trim_start().as_bytes().first() {
        None => Err(Error::Corrupt("the text is empty".to_owned())),
        Some(b't') if text.trim_start().starts_with("tree") => Ok(Kind::LightGbmText),
        Some(b'#' | b'<') => Ok(Kind::RankLib),
        Some(b'[') => Ok(Kind::XgBoostDump),
        Some(b'{') => {
            let keys: Keys = parse_json(text)?;
            let kinds = [
                (keys.learner.is_some(), Kind::XgBoostModel),
                (keys.tree_info.is_some() || keys.tree_structure.is_some(), Kind::LightGbmJson),
                (keys.features_info.is_some(), Kind::CatBoost),
                (keys.class.is_some(), Kind::Solr),
                (keys.model.is_some() || keys.definition.is_some(), Kind::Plugin),
            ];
            let found = kinds.into_iter().find(|(is_this, _)| *is_this);
            found.map(|(_, kind)| kind).ok_or_else(|| unknown(" (JSON without the keys of one)"))
        }
        Some(_) => Err(unknown("")),
    }
}
