//! The parameters of SQL functions, in the notation of the documentation: `model, source [, options] [, value1, ...]`.

/// The end of a signature: values for a source's statement.
const VALUES: &str = " [, value1, ...]";
const MOST_VALUES: usize = 8;

/// The parameters of an SQL function; a table-valued function has them as hidden columns.
#[derive(Debug, Clone)]
pub struct Parameters {
    /// Their names; the required ones come first.
    pub names: Vec<String>,
    /// How many are required.
    pub required: usize,
}

impl Parameters {
    /// Reads a signature.
    pub fn of(signature: &str) -> Self {
        let (own, values) = signature.strip_suffix(VALUES).map_or((signature, 0), |own| (own, MOST_VALUES));
        let names = |text: &str| -> Vec<String> {
            let names = text.split(',').map(|name| name.trim_matches([' ', '[', ']']));
            names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
        };
        let required = names(own.split_once('[').map_or(own, |(required, _)| required)).len();
        let values = (1..=values).map(|number| format!("value{number}"));
        Self { names: names(own).into_iter().chain(values).collect(), required }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_name_parameters_and_count_required_ones() {
        for (signature, names, required) in [
            ("", "", 0),
            ("a, b [, c] [, d]", "a b c d", 2),
            ("[a] [, b]", "a b", 0),
            ("a [, value1, ...]", "a value1 value2 value3 value4 value5 value6 value7 value8", 1),
        ] {
            let parameters = Parameters::of(signature);
            assert_eq!((parameters.names.join(" ").as_str(), parameters.required), (names, required));
        }
    }
}
