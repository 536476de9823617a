//! "Did you mean": the known name nearest to an unknown one.

/// The known name nearest to a name, ignoring case, if at least half of the letters match.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    // The cost of a comparison grows with the length.
    const LONGEST: usize = 100;
    if name.len() > LONGEST {
        return None;
    }
    let name = name.to_lowercase();
    known
        .map(|known| (strsim::damerau_levenshtein(&name, &known.to_lowercase()), known))
        .filter(|(distance, known)| {
            *distance <= 1 + known.len() / 3 && 2 * distance <= known.len().max(name.len())
        })
        .min()
        .map(|(_, known)| known.to_owned())
}
