//! `register` fails at any of its steps.

use rusqlite::Connection;

use crate::failed_loads::{in_own_process, walk_allocations, walk_functions_in_use};

fn load(connection: &Connection) -> Result<(), String> {
    sqlite_ltr::register(connection).map_err(|problem| problem.to_string())
}

#[test]
fn a_function_in_use_leaves_no_half_registration() {
    assert!(walk_functions_in_use(load) > 100);
}

#[test]
fn a_failed_allocation_leaves_no_half_registration() {
    if in_own_process("loads::a_failed_allocation_leaves_no_half_registration") {
        assert!(walk_allocations(load) > 400);
    }
}
