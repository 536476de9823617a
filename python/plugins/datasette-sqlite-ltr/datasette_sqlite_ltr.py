"""Datasette plugin: the functions of sqlite-ltr in every connection."""

from __future__ import annotations

import os
import sqlite3
from typing import Any

from datasette import hookimpl

from sqlite_ltr._load import load_in_plugin

# Bytes that a call of a visitor allocates at most.
MAX_MEMORY = 500_000_000


@hookimpl
def prepare_connection(conn: sqlite3.Connection, datasette: Any) -> None:
    """Load the library, with bounded memory and without the function that reads files: visitors write SQL."""
    config = datasette.plugin_config("datasette-sqlite-ltr") or {}
    os.environ.setdefault("SQLITE_LTR_MAX_MEMORY", str(config.get("max_memory", MAX_MEMORY)))
    load_in_plugin(conn)
