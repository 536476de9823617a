"""Learning to rank in SQLite.

    import sqlite3, sqlite_ltr

    connection = sqlite3.connect("shop.db")
    sqlite_ltr.load(connection)
    connection.execute("SELECT ltr_train('auto', 'judgments')")

Manual: docs/guide/python.md of the project.
"""

from sqlite_ltr._load import load, loadable_path
from sqlite_ltr._version import __version__

__all__ = ["__version__", "load", "loadable_path"]
