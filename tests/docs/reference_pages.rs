//! The tables of `docs/reference/` that come from `ltr_options`, `ltr_metrics` and `ltr_algorithms`, and that of `docs/hosts.md`.
//!
//! A generated part is between `<!-- generated: KIND NAMES -->` and `<!-- end -->`. To write all of them anew:
//!
//! ```text
//! LTR_BLESS=1 cargo test --test docs reference_pages
//! ```
//!
//! Without `LTR_BLESS` a page may lack new entries, which this test then prints, but it must not contradict the library.
//! So a branch that adds an option or a metric passes, and the pages are completed before a release.

use rusqlite::Connection;

use super::hosts;
use super::page::{Page, connect, pages, root};

const START: &str = "<!-- generated: ";
const END: &str = "<!-- end -->";

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The rows of a query; NULL is the empty text.
fn rows<const N: usize>(connection: &Connection, sql: &str) -> Vec<[String; N]> {
    let mut statement = connection.prepare(sql).expect("a statement");
    let mut found = statement.query([]).expect("rows");
    let mut rows = Vec::new();
    while let Some(row) = found.next().expect("a row") {
        rows.push(std::array::from_fn(|column| {
            row.get::<_, Option<String>>(column).expect("a text").unwrap_or_default()
        }));
    }
    rows
}

/// One row for each option that `chosen` accepts.
fn options(connection: &Connection, chosen: impl Fn(&str) -> bool) -> Vec<String> {
    let head = ["| option | meaning | default | allowed | accepted by |", "|---|---|---|---|---|"];
    let listed = rows(connection, "SELECT name, summary, \"default\", range, functions FROM ltr_options");
    let line = |[name, summary, default, range, functions]: &[String; 5]| {
        let default = if default.is_empty() { String::new() } else { format!("`{default}`") };
        format!("| `{name}` | {} | {default} | {} | {functions} |", cell(summary), cell(range))
    };
    let lines = listed.iter().filter(|row| chosen(&row[0])).map(line);
    head.map(str::to_owned).into_iter().chain(lines).collect()
}

/// The options that take arrays of values, in one line.
fn searchable(connection: &Connection) -> Vec<String> {
    let names: Vec<[String; 1]> = rows(connection, "SELECT name FROM ltr_options WHERE searchable");
    let quoted: Vec<String> = names.iter().map(|[name]| format!("`{name}`")).collect();
    vec![format!("{}.", quoted.join(", "))]
}

fn metrics(connection: &Connection) -> Vec<String> {
    let head = ["| metric | aggregate | meaning | formula | source |", "|---|---|---|---|---|"];
    let listed = rows(connection, "SELECT name, function, summary, formula, source FROM ltr_metrics");
    let line = |[name, function, summary, formula, source]: &[String; 5]| {
        format!("| `{name}` | `{function}` | {} | {} | {} |", cell(summary), cell(formula), cell(source))
    };
    head.map(str::to_owned).into_iter().chain(listed.iter().map(line)).collect()
}

/// Options whose other values give other options an effect.
const CHOICES: &[&str] = &["smoothing", "loss", "measure", "decoder", "kernel", "penalty"];

/// Whether an option of an algorithm has an effect with the defaults of the others: training refuses it otherwise.
fn acts(connection: &Connection, algorithm: &str, [option, default, range]: &[String; 3]) -> bool {
    // 1. A value of the option: its default, else the first name that it allows, else a number or a metric.
    let first_name = range.strip_prefix("one of ").and_then(|names| names.split(", ").next());
    let number = match range.as_str() {
        "a text" => "\"ndcg\"",
        range if range.starts_with("an array of") => "[1]",
        _ => "1",
    };
    let value = if default == "null" { first_name.unwrap_or(number) } else { default };
    // 2. Options are checked before the source, which has no rows to train on.
    let options = format!("{{\"{option}\": {value}}}");
    let fit = connection.query_row("SELECT ltr_fit(?1, 'SELECT 1', ?2)", [algorithm, &options], |_| Ok(()));
    let error = fit.expect_err("a source without relevance").to_string();
    let without_effect = error.contains("has no effect with") || error.contains("has no meaning without");
    !(error.contains(&format!("option '{option}'")) && without_effect)
}

/// One section for each algorithm.
fn algorithms(connection: &Connection) -> Vec<String> {
    let listed = rows(connection, "SELECT name, summary, objective, source FROM ltr_algorithms");
    let quoted = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let section = |[name, summary, objective, source]: &[String; 4]| {
        let parameters: Vec<[String; 3]> = rows(
            connection,
            &format!(
                "SELECT key, value -> 'default', value ->> 'range' FROM ltr_algorithms, json_each(parameters) WHERE name = '{name}'"
            ),
        );
        let (active, idle): (Vec<_>, Vec<_>) =
            parameters.iter().partition(|parameter| acts(connection, name, parameter));
        let active: Vec<&str> = active.iter().map(|[option, ..]| option.as_str()).collect();
        let choices: Vec<&str> = CHOICES.iter().copied().filter(|choice| active.contains(choice)).collect();
        let mut options = if active.is_empty() { "none".to_owned() } else { quoted(&active) };
        if !idle.is_empty() {
            options.push_str(". With another choice of ");
            options.push_str(&quoted(&choices));
            options.push_str(": the options of that choice");
        }
        let lines = [
            &format!("## {name}"),
            "",
            &format!("{summary}."),
            "",
            "```text",
            objective,
            "```",
            "",
            &format!("* Source: {source}."),
            &format!("* Options: {options}."),
            "",
        ];
        lines.map(str::to_owned)
    };
    listed.iter().flat_map(section).collect()
}

/// The lines that belong into a generated part.
fn generated(connection: &Connection, page: &Page, header: &str) -> Vec<String> {
    let mut words = header.split_whitespace();
    match (words.next(), words.collect::<Vec<_>>().as_slice()) {
        (Some("metrics"), []) => metrics(connection),
        (Some("algorithms"), []) => algorithms(connection),
        (Some("hosts"), []) => hosts::table(),
        (Some("searchable"), []) => searchable(connection),
        (Some("options"), ["others"]) => {
            let headers = page.text.lines().filter(|line| line.starts_with(START));
            let named: Vec<&str> = headers.flat_map(str::split_whitespace).collect();
            options(connection, |name| !named.contains(&name))
        }
        (Some("options"), names) => options(connection, |name| names.contains(&name)),
        _ => panic!("{}: unknown generated part '{header}'", page.path),
    }
}

/// The generated parts of a page: header and present lines.
fn parts(page: &Page) -> Vec<(&str, Vec<&str>)> {
    let pieces = page.text.split(START).skip(1);
    pieces
        .map(|piece| {
            let (header, rest) = piece.split_once(" -->\n").expect("a closed comment");
            let (present, _) =
                rest.split_once(END).unwrap_or_else(|| panic!("{}: '{header}' has no end", page.path));
            (header, present.lines().collect())
        })
        .collect()
}

/// Whether a line of the library has all words of a line of the page, in the same order. Lists may have grown since.
fn contains_in_order(library: &str, page: &str) -> bool {
    let plain = |text: &str| text.replace([',', '.'], " ");
    let (library, page) = (plain(library), plain(page));
    let mut words = library.split_whitespace();
    page.split_whitespace().all(|wanted| words.any(|word| word == wanted))
}

/// The page with every generated part written anew.
fn rewritten(connection: &Connection, page: &Page) -> String {
    let mut text = page.text.clone();
    for (header, present) in parts(page) {
        let old: String = present.iter().flat_map(|line| [*line, "\n"]).collect();
        let new = generated(connection, page, header).join("\n");
        let opening = format!("{START}{header} -->\n");
        text = text.replace(&format!("{opening}{old}{END}"), &format!("{opening}{new}\n{END}"));
    }
    text
}

#[test]
fn reference_pages_agree_with_the_library() {
    let connection = connect();
    let bless = std::env::var_os("LTR_BLESS").is_some();
    let mut found = 0;
    for page in pages() {
        if bless && page.text.contains(START) {
            let text = rewritten(&connection, &page);
            std::fs::write(root().join(&page.path), text).expect("a page that can be written");
            continue;
        }
        for (header, present) in parts(&page) {
            let library = generated(&connection, &page, header);
            for line in &present {
                assert!(
                    library.iter().any(|known| contains_in_order(known, line)),
                    "{}, {header}: the library has no such line; LTR_BLESS=1 rewrites the page\n{line}",
                    page.path
                );
            }
            for line in library.iter().filter(|line| !present.contains(&line.as_str())) {
                eprintln!("{}, {header}: new or longer, LTR_BLESS=1 adds it\n{line}", page.path);
            }
            found += 1;
        }
    }
    assert!(bless || found >= 3, "only {found} generated parts found");
}
