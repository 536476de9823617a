//! Every rule that code, tests and pages cite is in `docs/reference/rules.md`.

use std::collections::BTreeSet;
use std::path::Path;

use super::page::root;

/// The numbers `N.M`, separated by commas, at the start of a text.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',' | ' ')).unwrap_or(text.len());
    let parts = text[..end].split(',').map(|part| part.trim().trim_end_matches('.'));
    parts.filter(|part| part.split('.').filter(|digits| !digits.is_empty()).count() == 2)
}

/// The rules that a text cites: `Rule 2.3`, `rules 2.3, 2.4`, or a list of rules in the header of a source file.
fn cited(text: &str) -> impl Iterator<Item = &str> {
    let citations = ["Rule ", "rule ", "Rules ", "rules ", "//! * "];
    text.lines().flat_map(move |line| {
        citations.into_iter().flat_map(|word| line.split(word).skip(1)).flat_map(numbers)
    })
}

fn check(path: &Path, known: &BTreeSet<String>, found: &mut BTreeSet<String>) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("a readable folder") {
            check(&entry.expect("a readable entry").path(), known, found);
        }
    } else if path.extension().is_some_and(|end| ["rs", "slt", "md"].iter().any(|known| end == *known)) {
        let text = std::fs::read_to_string(path).expect("a readable file");
        for number in cited(&text) {
            assert!(known.contains(number), "{}: rule {number} is not on the page", path.display());
            found.insert(number.to_owned());
        }
    }
}

#[test]
fn every_cited_rule_is_on_the_page() {
    let page = std::fs::read_to_string(root().join("docs/reference/rules.md")).expect("the page of rules");
    let numbers = page.lines().filter_map(|line| line.strip_prefix("* **")?.split_once("**"));
    let known: BTreeSet<String> = numbers.map(|(number, _)| number.to_owned()).collect();
    let mut found = BTreeSet::new();
    for folder in ["src", "tests", "docs/adr"] {
        check(&root().join(folder), &known, &mut found);
    }
    assert!(found.len() > 60, "only {} rules are cited", found.len());
}
