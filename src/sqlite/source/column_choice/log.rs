//! The columns of a log of impressions and clicks.

use serde_json::Value;

use super::{Source, default_names};
use crate::error::{Error, Result};
use crate::options::LOG_KEYS;
use crate::param::Params;

/// Default names of the roles that only logs have.
const NAMES: [&[&str]; 3] = [
    &["impression", "impression_id", "session", "session_id"],
    &["position", "rank", "pos"],
    &["clicked", "click"],
];

/// The names of the columns, in the order of [`LOG_KEYS`].
#[derive(Debug)]
pub struct LogColumns([String; LOG_KEYS.len()]);

impl LogColumns {
    /// Finds the columns.
    ///
    /// # Errors
    /// An unknown key in the option `columns`; a role without a column, or with several.
    pub fn find(source: &Source, names: &[String], options: &Params) -> Result<Self> {
        let columns = options.get("columns").and_then(Value::as_object);
        for key in columns.into_iter().flat_map(serde_json::Map::keys) {
            if !LOG_KEYS.contains(&key.as_str()) {
                return Err(Error::unknown_in(
                    "key",
                    key,
                    " in the option 'columns'",
                    LOG_KEYS.iter().copied(),
                ));
            }
        }
        let all = || names.join(", ");
        let of_role = |role: &str| {
            let given = columns.and_then(|columns| columns.get(role));
            let wanted: Vec<&str> = match given {
                Some(Value::String(name)) => vec![name],
                Some(other) => {
                    let what = format!("option 'columns', key '{role}'");
                    return Err(Error::value(what, other.to_string(), "the name of a column"));
                }
                None => match role {
                    "impression" => NAMES[0].to_vec(),
                    "position" => NAMES[1].to_vec(),
                    "clicked" => NAMES[2].to_vec(),
                    _ => default_names(role).to_vec(),
                },
            };
            let is_wanted = |name: &&String| wanted.iter().any(|wanted| name.eq_ignore_ascii_case(wanted));
            let found: Vec<&String> = names.iter().filter(is_wanted).collect();
            match found[..] {
                [only] => Ok(only.clone()),
                [] if given.is_some() => Err(source.error(format!(
                    "option 'columns' names the column \"{}\", which does not exist; the columns are {}",
                    wanted[0],
                    all()
                ))),
                [] => Err(source.error(format!(
                    "no column for the role {role} of a log: name one {}, or give it with the options {{\"columns\": \
                     {{\"{role}\": \"...\"}}}}; the columns are {}",
                    wanted.join(" or "),
                    all()
                ))),
                [a, b, ..] => Err(source.error(format!(
                    "both \"{a}\" and \"{b}\" could have the role {role} of a log; choose with the options \
                     {{\"columns\": {{\"{role}\": \"{a}\"}}}}"
                ))),
            }
        };
        let mut found: [String; LOG_KEYS.len()] = Default::default();
        for (found, role) in found.iter_mut().zip(LOG_KEYS) {
            *found = of_role(role)?;
        }
        Ok(Self(found))
    }

    /// The names.
    pub fn names(&self) -> [&str; LOG_KEYS.len()] {
        self.0.each_ref().map(String::as_str)
    }
}
