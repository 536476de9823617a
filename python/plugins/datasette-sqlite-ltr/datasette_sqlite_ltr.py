"""Datasette plugin: the functions of sqlite-ltr in every connection."""

from __future__ import annotations

import sqlite3

from datasette import hookimpl

from sqlite_ltr._load import load_in_plugin


@hookimpl
def prepare_connection(conn: sqlite3.Connection) -> None:
    """Load the library, without the function that reads files: visitors of Datasette write SQL."""
    load_in_plugin(conn)
