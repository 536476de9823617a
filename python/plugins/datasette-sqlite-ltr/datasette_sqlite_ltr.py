"""Datasette plugin: the functions of sqlite-ltr in every connection."""

from __future__ import annotations

import sqlite3

from datasette import hookimpl

import sqlite_ltr


@hookimpl
def prepare_connection(conn: sqlite3.Connection) -> None:
    """Load the library, without the function that reads files: visitors of Datasette write SQL."""
    sqlite_ltr.load(conn, read_files=False)
