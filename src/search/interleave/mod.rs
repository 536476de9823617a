//! Comparing two rankers on users: interleaved lists, and what clicks on them tell.
//!
//! Team draft (Radlinski, Kurup & Joachims 2008): two rankings take turns to add their best document that is not in the list
//! yet. A coin decides who begins each round. The ranking whose documents get more clicks wins the impression.

mod draft;
mod outcome;

pub use draft::{Coins, Team, team_draft};
pub use outcome::{Outcome, Tally, Target};

#[cfg(test)]
mod tests;
