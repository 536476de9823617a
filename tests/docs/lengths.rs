//! Pages are short. Words in fenced blocks count only for the README and for the total.

use super::page::pages;

/// Pages that hold tables of results.
const LONG: &[&str] = &["docs/papers.md", "docs/benchmarks.md"];

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

#[test]
fn the_readme_is_one_look() {
    let readme = pages().into_iter().find(|page| page.path == "README.md").expect("the README");
    let (lines, words) = (readme.text.lines().count(), words(&readme.text));
    assert!(lines <= 150 && words <= 900, "{lines} lines, {words} words");
}

#[test]
fn pages_outside_the_reference_are_short() {
    let mut all = 0;
    for page in pages().iter().filter(|page| page.path.starts_with("docs/")) {
        if page.path.starts_with("docs/reference/") {
            continue;
        }
        let prose = words(&page.prose());
        assert!(prose <= 1500 || LONG.contains(&page.path.as_str()), "{}: {prose} words", page.path);
        all += words(&page.text);
    }
    assert!(all <= 58_000, "{all} words");
}
