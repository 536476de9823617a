"""sqlite-utils plugin: the functions of sqlite-ltr in every connection."""

from __future__ import annotations

import sqlite3

from sqlite_utils import hookimpl

import sqlite_ltr


@hookimpl
def prepare_connection(conn: sqlite3.Connection) -> None:
    """Load the library, without the function that reads files.

    Plugins of Datasette wrap connections in `sqlite_utils.Database`, which calls this too: visitors write SQL there.
    """
    sqlite_ltr.load(conn, read_files=False)
