//! The table of the papers: 129 rows without a gap, whose options, tests and pages exist.

use std::collections::BTreeSet;

use super::page::{Page, connect, pages, root, texts};

/// Rows of the table.
const ROWS: usize = 129;

/// One row: number, where in the paper, what, options, test, page.
type Row = [String; 6];

fn page() -> Page {
    pages().into_iter().find(|page| page.path == "docs/papers.md").expect("the page")
}

/// The rows that begin with a number. A `\|` is no border of a cell.
fn rows(page: &Page) -> Vec<Row> {
    let numbered = page.text.lines().filter(|line| {
        let number = line.strip_prefix("| ").and_then(|rest| rest.split(' ').next());
        number.is_some_and(|number| number.parse::<usize>().is_ok())
    });
    let cells = |line: &str| {
        let line = line.replace("\\|", "\u{1}");
        let cells: Vec<String> =
            line.trim_matches('|').split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect();
        Row::try_from(cells).unwrap_or_else(|cells| panic!("{} cells: {cells:?}", cells.len()))
    };
    numbered.map(cells).collect()
}

/// The inline code of a cell.
fn code(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// What the column of options may have: options, algorithms, metrics, functions and keys of the report.
struct Known {
    names: BTreeSet<String>,
    /// Option and allowed values, as in `bound one of "convex", "nonconvex"`.
    options: BTreeSet<String>,
}

impl Known {
    fn new() -> Self {
        let connection = connect();
        let mut names = BTreeSet::new();
        for sql in [
            "SELECT name FROM ltr_options",
            "SELECT name FROM ltr_algorithms",
            "SELECT name FROM ltr_metrics",
            "SELECT name FROM pragma_function_list UNION SELECT name FROM pragma_module_list",
        ] {
            names.extend(texts(&connection, sql));
        }
        let report =
            pages().into_iter().find(|page| page.path == "docs/reference/report.md").expect("the page");
        names.extend(report.text.lines().flat_map(code).map(str::to_owned));
        Self { names, options: texts(&connection, "SELECT name || ' ' || range FROM ltr_options") }
    }

    /// Whether inline code is a known name, an option with an allowed value, or a kernel with parameters.
    fn has(&self, code: &str) -> bool {
        if code.starts_with("{\"") {
            return true;
        }
        let Some((name, value)) = code.strip_prefix('"').and_then(|rest| rest.split_once("\": ")) else {
            return self.names.contains(code);
        };
        let option = self.options.iter().find(|option| option.starts_with(&format!("{name} ")));
        option.is_some_and(|option| !option.contains("one of \"") || option.contains(value))
    }
}

/// Whether a text such as `tests/rust/golden/eigen.rs::name` or `tests/slt/train.slt::Rule 5.1` is a test.
fn is_test(citation: &str) -> bool {
    let Some((file, name)) = citation.split_once("::") else { return false };
    let Ok(text) = std::fs::read_to_string(root().join(file)) else { return false };
    if file.starts_with("tests/slt/") {
        return text.contains(&format!("# {name}:"));
    }
    let function = text.find(&format!("fn {name}("));
    // Attributes such as `expect` may be between `#[test]` and the function.
    let before = function.map(|start| text[..start].trim_end().rsplit("\n\n").next().unwrap_or_default());
    before.is_some_and(|before| before.contains("#[test]"))
}

#[test]
fn every_row_of_the_papers_has_an_option_a_test_and_a_page() {
    let (page, known) = (page(), Known::new());
    let rows = rows(&page);
    let numbers: Vec<usize> = rows.iter().map(|row| row[0].parse().expect("a number")).collect();
    assert!(numbers.iter().copied().eq(1..=ROWS), "{numbers:?}");
    let mut wrong = Vec::new();
    for [number, _, what, options, test, pages] in &rows {
        let unknown = code(options).filter(|name| !known.has(name));
        wrong.extend(unknown.map(|name| format!("row {number}: `{name}` is no option")));
        let missing = code(test).filter(|test| !is_test(test));
        wrong.extend(missing.map(|test| format!("row {number}: {test} is no test")));
        let empty = code(options).next().is_none() || code(test).next().is_none() || !pages.contains("](");
        if empty || what.is_empty() || what.contains("open row") {
            wrong.push(format!("row {number} is not complete"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
