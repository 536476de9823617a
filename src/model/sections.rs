//! Sections: optional parts of a model. When a new version of the library adds a section, models without
//! it keep their bytes. The library refuses sections that it does not know.
//!
//! A new section is a field of [`Card`] that serde skips, and its name in the table below. A field with its default value is
//! not stored.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::card::Card;
use super::codec::{decode_header, encode_header};
use crate::base::{Error, Result, shorten};

/// A stored field of the card.
#[derive(Serialize, Deserialize)]
pub(super) struct Section<'a> {
    name: &'a str,
    #[serde(borrow)]
    bytes: Cow<'a, [u8]>,
}

macro_rules! sections {
    ($($field:ident),*) => {
        /// The sections of a card, in the order of their names.
        ///
        /// # Errors
        /// A value that is too long.
        pub(super) fn encode(card: &Card) -> Result<Vec<Section<'static>>> {
            let empty = Card::default();
            let mut sections = Vec::new();
            $(if card.$field != empty.$field {
                let bytes = encode_header(&card.$field)?.into();
                sections.push(Section { name: stringify!($field), bytes });
            })*
            sections.sort_unstable_by_key(|section| section.name);
            Ok(sections)
        }

        /// Reads sections into a card without sections.
        ///
        /// # Errors
        /// [`Error::Corrupt`] for sections that [`encode`] doesn't write.
        pub(super) fn decode(sections: &[Section<'_>], card: &mut Card) -> Result<()> {
            let empty = Card::default();
            let mut is_written = sections.is_sorted_by(|a, b| a.name < b.name);
            for Section { name, bytes } in sections {
                is_written &= match *name {
                    $(stringify!($field) => {
                        card.$field = decode_header(bytes)?;
                        card.$field != empty.$field
                    })*
                    unknown => return Err(from_later_version(unknown)),
                };
            }
            if is_written { Ok(()) } else { Err(Error::Corrupt("an empty section, or sections out of order".to_owned())) }
        }
    };
}

sections!(candidates, categories, probability, quantities);

fn from_later_version(section: &str) -> Error {
    let name = shorten(section);
    Error::Corrupt(format!("section '{name}' of a later version; use a newer library"))
}
