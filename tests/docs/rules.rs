//! Rules and tests are tied both ways: every rule that code, tests and pages cite is in `docs/reference/rules.md`, and every
//! rule there is cited by a test, in a file that its section names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::page::root;

/// How a rule ends that no test can check, before the reason.
const NO_TEST: &str = " *No test: ";

/// Rules that no test checks: at most this many.
const MOST_WITHOUT_TEST: usize = 3;

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

/// The citations of each file in a folder, by its path from the root.
fn citations(folder: &Path, found: &mut BTreeMap<String, BTreeSet<String>>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            citations(&path, found);
        } else if path
            .extension()
            .is_some_and(|end| ["rs", "slt", "py", "md"].iter().any(|known| end == *known))
        {
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let name = path.strip_prefix(root()).expect("a path below the root");
            let rules = cited(&text).map(str::to_owned).collect();
            found.insert(name.to_string_lossy().replace('\\', "/"), rules);
        }
    }
}

/// A section of the page: the files of its tests, and its rules by number.
struct Section {
    title: String,
    tests: Vec<String>,
    rules: BTreeMap<String, String>,
}

fn sections() -> Vec<Section> {
    let page = std::fs::read_to_string(root().join("docs/reference/rules.md")).expect("the page of rules");
    let mut sections: Vec<Section> = Vec::new();
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            let title = title.to_owned();
            sections.push(Section { title, tests: Vec::new(), rules: BTreeMap::new() });
        } else if let Some(section) = sections.last_mut() {
            if let Some(files) = line.strip_prefix("Tests: ") {
                section.tests = files.split('`').skip(1).step_by(2).map(str::to_owned).collect();
            } else if let Some((number, text)) =
                line.strip_prefix("* **").and_then(|rest| rest.split_once("**"))
            {
                section.rules.insert(number.to_owned(), text.to_owned());
            }
        }
    }
    sections
}

#[test]
fn every_cited_rule_is_on_the_page() {
    let known: BTreeSet<String> =
        sections().into_iter().flat_map(|section| section.rules.into_keys()).collect();
    let mut found = BTreeMap::new();
    for folder in ["src", "tests", "docs/adr"] {
        citations(&root().join(folder), &mut found);
    }
    for (file, rules) in found {
        let unknown: Vec<&String> = rules.difference(&known).collect();
        assert!(unknown.is_empty(), "{file}: rules {unknown:?} are not on the page");
    }
}

#[test]
fn every_rule_is_cited_by_a_test_that_its_section_names() {
    let mut found = BTreeMap::new();
    citations(&root().join("tests"), &mut found);
    // The tests of the pages cite rules as examples.
    found.retain(|file, _| !file.starts_with("tests/docs/"));
    let (mut without_test, mut problems) = (0, Vec::new());
    for Section { title, tests, rules } in sections() {
        let mut named = BTreeSet::new();
        for file in tests {
            let own = found.get(&file).into_iter().flatten().filter(|rule| rules.contains_key(*rule));
            let own: BTreeSet<&String> = own.collect();
            if own.is_empty() {
                problems.push(format!("section '{title}' names {file}, which cites none of its rules"));
            }
            named.extend(own);
        }
        for (rule, text) in &rules {
            let is_cited = found.values().any(|cited| cited.contains(rule));
            if let Some((_, reason)) = text.split_once(NO_TEST) {
                without_test += 1;
                if is_cited || !reason.ends_with('*') {
                    problems.push(format!("rule {rule} is cited by a test, or its mark does not end it"));
                }
            } else if !is_cited {
                problems.push(format!(
                    "rule {rule} is cited by no test; write one, or end the rule with '{NO_TEST}REASON*'"
                ));
            } else if !named.contains(rule) {
                problems.push(format!("section '{title}' names no test that cites rule {rule}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(without_test <= MOST_WITHOUT_TEST, "{without_test} rules have no test");
}
