//! Users and items of a recommendation, and warnings about them.

use crate::base::{Error, Result};
use crate::data::Id;
use crate::model::{Factored, Model, User};

/// Number of recommended items without the option `k`.
pub const DEFAULT_K: usize = 10;

/// Indices of items to choose from, ascending. `what` names the ids.
///
/// # Errors
/// An id whose type differs from the model's items.
pub fn candidate_items(
    factored: &Factored,
    ids: &[Id],
    what: &str,
    warnings: &mut Vec<String>,
) -> Result<Vec<u32>> {
    let (items, unknown) = factored.candidates(ids, what)?;
    if unknown > 0 {
        warnings.push(format!("{unknown} candidates are not in the model; they are ignored"));
    }
    Ok(items)
}

/// A new user with these ratings. `what` names them.
///
/// # Errors
/// A repeated item; a rating that is too large or far from the training ratings; an id whose type differs from the
/// model's items.
pub fn user_of_ratings(
    model: &Model,
    factored: &Factored,
    ratings: Vec<(Id, f64)>,
    what: &str,
    warnings: &mut Vec<String>,
) -> Result<User> {
    let in_range = if factored.implicit.is_none() { check_range(model, &ratings, what) } else { Ok(()) };
    let (user, unknown) = factored.user_of_ratings(ratings, what)?;
    in_range?;
    if unknown > 0 {
        warnings.push(format!("{unknown} ratings are of items that are not in the model; they are ignored"));
    }
    if user.is_new {
        let problem = match factored.implicit {
            Some(_) => format!("no item of the {what} is in the model"),
            None => "an order needs two or more ratings of known items".to_owned(),
        };
        warnings.push(format!("{problem}; items are ranked by their biases"));
    }
    Ok(user)
}

/// Refuses ratings more than one range width outside the training range.
fn check_range(model: &Model, ratings: &[(Id, f64)], what: &str) -> Result<()> {
    let Some(known) = model.fingerprint.as_ref().map(|known| &known.relevance) else { return Ok(()) };
    // Stored in single precision.
    let (low, high) = (f64::from(known.low), f64::from(known.high));
    let allowed = 2.0 * low - high..=2.0 * high - low;
    let refuse = |(item, rating): &(Id, f64)| {
        let (least, most) = (allowed.start(), allowed.end());
        let allowed =
            format!("a number from {least} to {most}, because training ratings range from {low} to {high}");
        Error::value(format!("{what}, item {item}"), rating.to_string(), allowed)
    };
    let outside = ratings.iter().find(|(_, rating)| !allowed.contains(&f64::from(*rating as f32)));
    outside.map_or(Ok(()), |outside| Err(refuse(outside)))
}

/// A warning about users that the model does not have. `users`: the index of each in the model.
pub fn new_users(ids: &[Id], users: &[Option<usize>]) -> Option<String> {
    let mut new = ids.iter().zip(users).filter(|(_, index)| index.is_none());
    let (first, _) = new.next()?;
    Some(match new.count() {
        0 => format!("user {first} is not in the model and has no ratings; items are ranked by their biases"),
        more => format!(
            "{} users, such as {first}, are not in the model and have no ratings; items are ranked by their biases",
            more + 1
        ),
    })
}
