//! Users and items of a recommendation, with what the caller should know about them.

use crate::base::Result;
use crate::data::Id;
use crate::model::{Factored, User};

/// Indices of items to choose from, ascending. `what` names the ids.
///
/// # Errors
/// An id of another type than the items of the model.
pub fn candidate_items(
    factored: &Factored,
    ids: &[Id],
    what: &str,
    warnings: &mut Vec<String>,
) -> Result<Vec<u32>> {
    let (items, unknown) = factored.candidates(ids, what)?;
    if unknown > 0 {
        warnings.push(format!("{unknown} candidates are not in the model; they are left out"));
    }
    Ok(items)
}

/// A new user with these ratings. `what` names them.
///
/// # Errors
/// An item twice, a rating that is too large, an id of another type than the items of the model.
pub fn user_of_ratings(
    factored: &Factored,
    ratings: Vec<(Id, f64)>,
    what: &str,
    warnings: &mut Vec<String>,
) -> Result<User> {
    let (user, unknown) = factored.user_of_ratings(ratings, what)?;
    if unknown > 0 {
        warnings.push(format!("{unknown} ratings are of items that are not in the model; they are left out"));
    }
    if user.is_new {
        let problem = match factored.implicit {
            Some(_) => format!("no item of the {what} is in the model"),
            None => "fewer than two ratings of known items determine no order".to_owned(),
        };
        warnings.push(format!("{problem}; items are ranked by their biases"));
    }
    Ok(user)
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
