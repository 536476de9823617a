//! Checks the pages: the README, `docs/` and the worked examples of `sql/`.
//!
//! * `sessions` runs every SQL block and compares the outputs that the pages show.
//! * `names` checks that paths, functions and options named on a page exist.
//! * `rules` checks that every rule cited in code and tests is on the page of rules, and that tests cite every rule there.
//! * `papers` checks the tables of what each paper has and where it is, `misprints` computes what a paper prints wrong.
//! * `architecture` checks which modules use which, sizes of files, and versions.
//! * `circles` checks that files of one module use each other in one direction.
//! * `lengths` checks that pages are short.
//! * `hosts` compares the table of `docs/hosts.md` with the examples of `examples/hosts/`.
//! * `reference_pages` compares the generated tables of `docs/reference/` with the library.
#![allow(clippy::print_stderr, reason = "tests print why they are skipped and which tables lag behind")]

mod architecture;
mod circles;
#[path = "../../examples/common/mod.rs"]
mod common;
mod hosts;
mod lengths;
mod misprints;
mod names;
mod page;
mod papers;
mod reference_pages;
mod rules;
mod sessions;
mod sql_examples;
