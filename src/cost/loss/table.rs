//! The table of losses.

use super::def::LossDef;
use super::pair::{HINGE, LOGISTIC, PSI, SQUARED_HINGE};
use crate::base::{Error, Result, names_of};

const PAIRWISE: &[&LossDef] = &[&HINGE.def, &PSI.def, &LOGISTIC.def, &SQUARED_HINGE.def];

/// Every loss; the first is the default.
pub const LOSSES: &[&LossDef] = &{
    let mut losses = [PAIRWISE[0]; PAIRWISE.len() + super::list::LOSSES.len()];
    let mut index = 1;
    while index < losses.len() {
        let listwise = index.checked_sub(PAIRWISE.len());
        losses[index] = if let Some(index) = listwise { super::list::LOSSES[index] } else { PAIRWISE[index] };
        index += 1;
    }
    losses
};

/// Names of all losses, in the order of [`LOSSES`].
pub const NAMES: &[&str] = names_of!(LOSSES);

/// The loss of this name.
///
/// # Errors
/// An unknown name, with the known ones.
pub fn find(name: &str) -> Result<&'static LossDef> {
    let def = LOSSES.iter().find(|loss| loss.name == name).copied();
    def.ok_or_else(|| Error::unknown("loss", name, NAMES.iter().copied()))
}
