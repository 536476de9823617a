//! The parameters of SQL functions.

/// A parameter of an SQL function; of a table-valued one it is a hidden column.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Whether a call without it is an error.
    pub required: bool,
    /// Whether it is a value for the statement of a source.
    pub is_value: bool,
}

/// Values for the statement of a source; the last arguments of functions that read one.
const VALUES: [Parameter; 8] = [
    Parameter::value("value1"),
    Parameter::value("value2"),
    Parameter::value("value3"),
    Parameter::value("value4"),
    Parameter::value("value5"),
    Parameter::value("value6"),
    Parameter::value("value7"),
    Parameter::value("value8"),
];

/// `N` parameters of a function, and after them the values for the statement of its source: `M = N + 8`.
pub const fn with_values<const N: usize, const M: usize>(own: [Parameter; N]) -> [Parameter; M] {
    assert!(M == N + VALUES.len());
    let mut all = [VALUES[0]; M];
    let mut index = 0;
    while index < M {
        all[index] = if index < N { own[index] } else { VALUES[index - N] };
        index += 1;
    }
    all
}

impl Parameter {
    /// A parameter that every call gives.
    pub const fn required(name: &'static str) -> Self {
        Self { name, required: true, is_value: false }
    }

    /// A parameter that a call may leave out.
    pub const fn optional(name: &'static str) -> Self {
        Self { name, required: false, is_value: false }
    }

    const fn value(name: &'static str) -> Self {
        Self { name, required: false, is_value: true }
    }
}

/// A call as documentation writes it: `name(a, b [, c] [, value1, ...])`.
pub fn usage(name: &str, parameters: &[Parameter]) -> String {
    let mut text = String::new();
    for parameter in parameters.iter().filter(|parameter| !parameter.is_value) {
        text += match (parameter.required, text.is_empty()) {
            (true, true) => "",
            (true, false) => ", ",
            (false, true) => "[",
            (false, false) => " [, ",
        };
        text += parameter.name;
        text += if parameter.required { "" } else { "]" };
    }
    let values = parameters.iter().find(|parameter| parameter.is_value);
    let values = values.map(|first| format!(" [, {}, ...]", first.name)).unwrap_or_default();
    format!("{name}({text}{values})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_parameters_are_in_brackets() {
        let a = Parameter::required("a");
        let b = Parameter::optional("b");
        assert_eq!(usage("f", &[]), "f()");
        assert_eq!(usage("f", &[a, a, b, b]), "f(a, a [, b] [, b])");
        assert_eq!(usage("f", &[b]), "f([b])");
    }
}
