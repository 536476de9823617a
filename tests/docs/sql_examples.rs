//! The worked examples of `sql/` that make their own data, run statement by statement, as in a host.

use super::page::connect;
use crate::common::Answer;
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{Batch, Connection};

/// The rows of every statement that has any, as the sqlite3 shell prints them.
fn run(text: &str) -> Vec<Vec<String>> {
    run_in(&connect(), text)
}

fn run_in(connection: &Connection, text: &str) -> Vec<Vec<String>> {
    let mut batch = Batch::new(connection, text);
    let mut answers = Vec::new();
    while let Some(mut statement) = batch.next().unwrap_or_else(|error| panic!("{error}")) {
        let sql = statement.expanded_sql().unwrap_or_default();
        let answer = Answer::of(&mut statement).unwrap_or_else(|error| panic!("{error} in\n{sql}"));
        if statement.column_count() > 0 {
            answers.push(answer.lines());
        }
    }
    answers
}

#[test]
fn a_script_can_be_read_twice() {
    let scripts = [
        include_str!("../../sql/hotels.sql"),
        include_str!("../../sql/diversity.sql"),
        include_str!("../../sql/slots.sql"),
        include_str!("../../sql/recommend.sql"),
    ];
    for script in scripts {
        let connection = connect();
        let first = run_in(&connection, script);
        assert_eq!(run_in(&connection, script), first);
    }
}

#[test]
fn diversity_shows_one_page_per_site() {
    let answers = run(include_str!("../../sql/diversity.sql"));
    let [trained, list, short, two, block, measured, covered] = &answers[..] else { panic!("{answers:#?}") };
    assert_eq!(trained[2..], ["1"]);
    let mut sites: Vec<&str> =
        list[2..].iter().map(|line| line.rsplit(' ').next().expect("a site")).collect();
    sites.sort_unstable();
    sites.dedup();
    assert_eq!(sites.len(), 4, "{list:?}");
    assert_eq!(
        (&short[2..], &two[2..], &block[2..]),
        (&["6".into()][..], &["10".into()][..], &["site".into()][..])
    );
    for line in &measured[2..] {
        let value: f64 = line.rsplit(' ').next().and_then(|text| text.parse().ok()).expect("a measure");
        assert!(value > 0.75, "{line}");
    }
    let shares: Vec<f64> = covered[2].split_whitespace().map(|text| text.parse().expect("a share")).collect();
    assert!(shares[1] > shares[0] && (shares[1] - 0.83).abs() < 0.01, "five of six sites: {shares:?}");
}

#[test]
fn slots_are_filled_as_the_editors_did() {
    let answers = run(include_str!("../../sql/slots.sql"));
    let [roles, page, right] = &answers[..] else { panic!("{answers:#?}") };
    assert_eq!(roles[2..], ["slot"]);
    assert_eq!(page.len(), 5, "three places: {page:?}");
    assert_eq!(right[2].split_whitespace().collect::<Vec<_>>(), ["60", "60"]);
}

#[test]
fn readers_get_books_of_their_genre() {
    let answers = run(include_str!("../../sql/recommend.sql"));
    let [ratings, best, new, pairs, rows] = &answers[..] else { panic!("{answers:#?}") };
    assert!(ratings[2].parse::<i64>().expect("a number") > 600, "{ratings:?}");
    assert!(best.len() == 5 && best[2..].iter().all(|line| line.contains("crime")), "{best:?}");
    assert!(new.len() == 5 && new[2..].iter().all(|line| line.contains("poetry")), "{new:?}");
    assert!(pairs[2].starts_with("10 "), "{pairs:?}");
    let rows: Vec<String> = rows[2..].iter().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows, ["item40", "user60"]);
}
