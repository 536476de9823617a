//! The tables of the papers: each numbered item of a paper in its order, with options, tests and pages that exist. The section
//! that a row cites names its numbers.

use std::collections::BTreeSet;

use super::names::section;
use super::page::{Page, connect, pages, root, texts};

/// The items of each paper in the order of its text. The text of Xu, Fang & Wang (2014) that was read has no formulas; it names
/// no number of a formula above these but in proofs.
const PAPERS: [(&str, &str); 5] = [
    (
        "Dai & Wang (2019)",
        "(2.1), (2.2), lemma 1, (2.3), (3.1) to (3.7), lemma 2, theorem 1, tables 1 to 3, figure 1, tables 4 to 6,
         (6.1) to (6.7)",
    ),
    (
        "Chaudhuri & Tewari (2014)",
        "(1) to (4), lemma 1, (5), (6), theorem 2, (7) to (9), theorem 3, (10) to (14), algorithm 1, (15), proposition 4,
         (16), theorem 5, (17), (18), corollary 6, corollary 7, (19) to (22), theorem 8, (23), corollary 9, (24),
         theorem 10, (25) to (28), theorem 11, (29) to (31)",
    ),
    (
        "Le, Smola, Chapelle & Teo",
        "table 1, definition 1, (1), definition 2, (2), theorem 3, (3) to (13), (14), (16), (15), definition 4,
         (17) to (24), algorithm 1, (25) to (28), algorithm 2, (29), (30), algorithm 3, (31) to (33), (34a), (34b),
         (35) to (37), algorithm 4, figures 1 to 4, (38), definition 5, (39) to (41), theorem 6, corollary 7, (42)",
    ),
    (
        "Xu, Fang & Wang (2014)",
        "(1) to (14), lemmas 1 to 5, theorem 6, (15), (16), theorem 7, (17) to (19), lemmas 8 to 11, theorems 12 to 13,
         remarks 14 to 15",
    ),
    ("Olinto & Fokoue (2018)", "theorem 2.1, algorithm 1, table 1"),
];

const KINDS: [&str; 9] =
    ["algorithm", "corollary", "definition", "figure", "lemma", "proposition", "remark", "table", "theorem"];

/// Rows that name no option.
const WITHOUT: [&str; 2] = ["theory", "not implemented"];

/// One row: where in the paper, what with deviations, options, page, test.
type Row = [String; 5];

fn page() -> Page {
    pages().into_iter().find(|page| page.path == "docs/papers.md").expect("the page")
}

/// The rows below a heading. A `\|` does not end a cell.
fn rows(page: &Page, heading: &str) -> Vec<Row> {
    let title = format!("\n## {heading}\n");
    let below = page.text.split(&title).nth(1).unwrap_or_else(|| panic!("no heading {heading}"));
    let table = below.split("\n## ").next().unwrap_or_default();
    let lines = table.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| where |"));
    let cells = |line: &str| {
        let line = line.replace("\\|", "\u{1}");
        let cells: Vec<String> =
            line.trim_matches('|').split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect();
        Row::try_from(cells).unwrap_or_else(|cells| panic!("{} cells: {cells:?}", cells.len()))
    };
    lines.map(cells).collect()
}

/// The inline code of a cell.
fn code(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// A number such as 3, 3.1 or 34a at the start of a text, and the rest.
fn number(text: &str) -> Option<(&str, &str)> {
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let number = text[..end].trim_end_matches('.');
    let letter = text[number.len()..].starts_with(['a', 'b']) && text[number.len() + 1..].starts_with(')');
    let number = &text[..number.len() + usize::from(letter)];
    number.starts_with(|c: char| c.is_ascii_digit()).then(|| (number, &text[number.len()..]))
}

/// The numbers after `first` up to `last`, which count in their last part.
fn up_to(first: &str, last: &str) -> Vec<String> {
    let parts = |text: &str| match text.rsplit_once('.') {
        Some((before, last)) => (format!("{before}."), last.parse::<usize>()),
        None => (String::new(), text.parse()),
    };
    let ((before, first), (same, last)) = (parts(first), parts(last));
    assert_eq!(before, same, "a range within one section");
    let (Ok(first), Ok(last)) = (first, last) else { return Vec::new() };
    (first + 1..=last).map(|number| format!("{before}{number}")).collect()
}

/// The equations at the start of a text, such as `(5)` and `(5) to (9)`.
fn equations(text: &str) -> Vec<String> {
    let Some((first, rest)) = text.strip_prefix('(').and_then(number) else { return Vec::new() };
    let Some(rest) = rest.strip_prefix(')') else { return Vec::new() };
    let last = rest.strip_prefix(" to (").and_then(number).filter(|(_, rest)| rest.starts_with(')'));
    let others = last.map(|(last, _)| up_to(first, last)).unwrap_or_default();
    std::iter::once(first.to_owned()).chain(others).map(|number| format!("({number})")).collect()
}

/// The items of a kind at the start of a text, such as `lemma 1` and `lemmas 1 to 3 and 5`.
fn of_kind(text: &str, kind: &str) -> Vec<String> {
    let Some(rest) = text.strip_prefix(kind) else { return Vec::new() };
    let is_plural = rest.starts_with('s');
    let start = rest.strip_prefix('s').unwrap_or(rest).strip_prefix(' ').and_then(number);
    let Some((first, mut rest)) = start else { return Vec::new() };
    let mut numbers = vec![first.to_owned()];
    let next = |rest| {
        let after = |between: &'static str| {
            str::strip_prefix(rest, between).and_then(number).map(|found| (between, found))
        };
        [", ", " and ", " to "].into_iter().find_map(after)
    };
    while let Some((between, (last, after))) = next(rest).filter(|_| is_plural) {
        numbers.extend(if between == " to " { up_to(first, last) } else { vec![last.to_owned()] });
        rest = after;
    }
    numbers.into_iter().map(|number| format!("{kind} {number}")).collect()
}

/// The numbered items that a text names, in its order.
fn items(text: &str) -> Vec<String> {
    let text = text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    let mut items = Vec::new();
    for (at, _) in text.char_indices() {
        items.extend(equations(&text[at..]));
        if !text[..at].ends_with(char::is_alphabetic) {
            items.extend(KINDS.iter().flat_map(|kind| of_kind(&text[at..], kind)));
        }
    }
    let mut seen = BTreeSet::new();
    items.into_iter().filter(|item| seen.insert(item.clone())).collect()
}

#[test]
fn items_have_ranges_and_lists() {
    let found = items(
        "Theorem 2.1 (5) to (7), lemmas 1 to 3 and 5; f(x), 2^(1.5), sum(1) (34a), (3.1) to (3.3). Table 2.",
    );
    let wanted =
        "theorem 2.1|(5)|(6)|(7)|lemma 1|lemma 2|lemma 3|lemma 5|(1.5)|(1)|(34a)|(3.1)|(3.2)|(3.3)|table 2";
    assert_eq!(found.join("|"), wanted);
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

/// Whether a text has a test function of this name.
fn has_test(text: &str, name: &str) -> bool {
    let function = text.find(&format!("fn {name}("));
    // Attributes such as `expect` may be between `#[test]` and the function.
    let before = function.map(|start| text[..start].trim_end().rsplit("\n\n").next().unwrap_or_default());
    before.is_some_and(|before| before.contains("#[test]"))
}

/// The texts of the files below a folder.
fn files(folder: &std::path::Path) -> Vec<String> {
    let entries =
        std::fs::read_dir(folder).expect("a readable folder").map(|entry| entry.expect("an entry").path());
    let texts = entries.map(|path| {
        if path.is_dir() { files(&path) } else { std::fs::read_to_string(&path).into_iter().collect() }
    });
    texts.flatten().collect()
}

/// Whether a text such as `tests/rust/golden/eigen.rs::name`, `tests/slt/train.slt::Rule 5.1` or `src::name` is a test.
fn is_test(citation: &str, source: &[String]) -> bool {
    let Some((file, name)) = citation.split_once("::") else { return false };
    if file == "src" {
        return source.iter().any(|text| has_test(text, name));
    }
    let Ok(text) = std::fs::read_to_string(root().join(file)) else { return false };
    if file.starts_with("tests/slt/") { text.contains(&format!("# {name}:")) } else { has_test(&text, name) }
}

/// The section that a link of the page leads to, what stands before the first section of that page, and the page.
fn cited(link: &str) -> Option<[String; 3]> {
    let (path, anchor) = link.split_once('#')?;
    let text = std::fs::read_to_string(root().join("docs").join(path)).ok()?;
    let before = text.split("\n## ").next().unwrap_or_default().to_owned();
    Some([section(&text, anchor)?.to_owned(), before, text])
}

/// The name in inline code such as `loss`, `"loss": "hinge"` or `{"gaussian": {"gamma": "median"}}`.
fn name(code: &str) -> &str {
    code.trim_start_matches(['{', '"']).split('"').next().unwrap_or_default()
}

/// What is wrong with the pages of a row: each of its items is named in one of the cited sections, each option on one of the
/// pages, and each cited section or the beginning of its page names the author.
fn faults_of_pages(row: &Row, author: &str) -> Vec<String> {
    let [place, _, options, pages, ..] = row;
    let links = pages.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
    let (mut faults, mut named, mut whole) = (Vec::new(), BTreeSet::new(), String::new());
    for link in links {
        let Some([section, before, page]) = cited(link) else {
            faults.push(format!("{link} is not a section"));
            continue;
        };
        named.extend(items(&section));
        if ![&section, &before].iter().any(|text| text.contains(author)) {
            faults.push(format!("{link} does not name {author}"));
        }
        whole.push_str(&page);
    }
    let missing = items(place).into_iter().filter(|item| !named.contains(item));
    faults.extend(missing.map(|item| format!("{item} is not named in {pages}")));
    let silent = code(options).filter(|option| !whole.contains(name(option)));
    faults.extend(silent.map(|option| format!("{pages} does not have {option}")));
    faults
}

#[test]
fn every_row_of_the_papers_has_an_option_a_test_and_a_page_that_names_it() {
    let (page, known, source) = (page(), Known::new(), files(&root().join("src")));
    let mut wrong = Vec::new();
    for (paper, _) in PAPERS {
        let author = paper.split(" & ").next().unwrap_or_default();
        for row in rows(&page, paper) {
            let [place, what, options, pages, test] = &row;
            let unknown = code(options).filter(|name| !known.has(name));
            let mut faults: Vec<String> = unknown.map(|name| format!("`{name}` is not an option")).collect();
            let missing = code(test).filter(|test| !is_test(test, &source));
            faults.extend(missing.map(|test| format!("{test} is not a test")));
            let has_code = code(options).next().is_some() && code(test).next().is_some() && pages != "-";
            let is_without = WITHOUT.contains(&options.as_str()) && test == "-";
            if what.is_empty() || !(has_code || is_without) {
                faults.push("not complete".to_owned());
            }
            if pages != "-" {
                faults.extend(faults_of_pages(&row, author));
            }
            wrong.extend(faults.into_iter().map(|fault| format!("{paper}, {place}: {fault}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_item_of_each_paper_has_a_row_in_its_order() {
    let page = page();
    for (paper, wanted) in PAPERS {
        let places: Vec<String> = rows(&page, paper).into_iter().map(|[place, ..]| place).collect();
        assert_eq!(items(&places.join("; ")), items(wanted), "{paper}");
    }
}

#[test]
fn every_misprint_of_a_row_is_in_the_last_chapter() {
    let page = page();
    let chapter = page.text.split("\n## Misprints and deviations\n").nth(1).expect("the chapter");
    let parts: Vec<&str> = chapter.split("\n### ").skip(1).collect();
    assert_eq!(parts.len(), PAPERS.len());
    for ((paper, _), part) in PAPERS.iter().zip(parts) {
        let author = paper.split([' ', ',']).next().unwrap_or_default();
        assert!(part.starts_with(author), "{paper}");
        let listed = items(part);
        for [place, what, ..] in rows(&page, paper) {
            let mut places = items(&place).into_iter().peekable();
            // Unnumbered items: misprints are listed by section.
            let is_listed = if places.peek().is_none() {
                part.contains(&format!("| {place} |"))
            } else {
                places.any(|item| listed.contains(&item))
            };
            assert!(is_listed || !what.contains("misprint"), "{paper}, {place}");
        }
    }
}
