"""Loads the library into a connection."""

from __future__ import annotations

import os
import sqlite3
import sys

# The module typing takes longer to import than the rest, so only type checkers read this block.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Protocol

    class Connection(Protocol):
        """A connection that can load extensions: of `sqlite3`, `apsw` and others with the same two methods."""

        def enable_load_extension(self, enable: bool, /) -> object:
            """Allow or refuse extensions."""

        def load_extension(self, path: str, /) -> object:
            """Load an extension."""

    class PooledConnection(Protocol):
        """A connection of a pool, as `raw_connection()` of SQLAlchemy returns it."""

        @property
        def driver_connection(self) -> Any:
            """The connection of the database driver."""


_NO_LOADING = """\
this Python cannot load SQLite extensions: its module sqlite3 was built without them. Ways out:
1. the package apsw, which has its own SQLite; train(), rank() and LtrRanker use it by themselves:
       pip install apsw
       import apsw; connection = apsw.Connection("shop.db"); connection.set_busy_timeout(5000)
       sqlite_ltr.load(connection)
2. another Python: that of Debian, Ubuntu, Fedora or Homebrew, such as /usr/bin/python3, can load extensions
3. the package pysqlite3, which can load extensions: pip install pysqlite3-binary
   Datasette and sqlite-utils use it if it is there; SQLAlchemy takes it as create_engine(url, module=pysqlite3)"""

# Before Python 3.12, load_extension() of sqlite3 takes no entry point, and SQL cannot load the library a second time.
_LOAD_NO_FILES = """\
SELECT load_extension(?, 'sqlite3_sqliteltr_nofiles_init')
 WHERE NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'ltr_version')"""


# Folders with copies of the library, for the second and further SQLite libraries of this process.
_copies: list[str] = []


def loadable_path() -> str:
    """Return the absolute path of the library, for hosts that load it themselves, such as `datasette --load-extension`.

    The path does not change while the package is installed. It has the ending of the platform: .so, .dylib or .dll.
    """
    name = {"win32": "sqlite_ltr.dll", "darwin": "libsqlite_ltr.dylib"}.get(sys.platform, "libsqlite_ltr.so")
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), name)


def load(connection: Connection | PooledConnection, *, read_files: bool = True) -> None:
    """Add the functions `ltr_...` to a connection of `sqlite3` or `apsw`.

    Loading of extensions is switched on for this call only: afterwards SQL cannot load any.
    A connection of SQLAlchemy's pool works too. Every connection needs its own call.

    Args:
        connection: an open connection.
        read_files: False leaves out `ltr_letor`, the only function that reads files. Use it if people you do not
            trust write SQL. A connection that already has the functions stays as it is.

    Raises:
        sqlite3.NotSupportedError: this Python cannot load extensions. The message has the ways out.
        TypeError: `connection` is no connection of sqlite3 or apsw.
        sqlite3.Error, apsw.Error: those of the host come through as they are, for example of a closed connection.
    """
    driver: Any = getattr(connection, "driver_connection", connection)
    if not hasattr(driver, "enable_load_extension"):
        if isinstance(driver, sqlite3.Connection):
            raise sqlite3.NotSupportedError(_NO_LOADING)
        kind = f"{type(driver).__module__}.{type(driver).__qualname__}"
        raise TypeError(f"load() takes a connection of sqlite3 or apsw, not {kind}")
    driver.enable_load_extension(True)
    try:
        next(path for path in _paths() if _serves(driver, path, read_files))
    finally:
        driver.enable_load_extension(False)


def _serves(driver: Any, path: str, read_files: bool) -> bool:
    """Load one file. False: it serves another SQLite library already."""
    try:
        if read_files:
            driver.load_extension(path)
        else:
            driver.execute(_LOAD_NO_FILES, (path,)).fetchall()
    except Exception as error:
        if "into another SQLite library" in str(error):
            return False
        raise
    return True


def _paths() -> Iterator[str]:
    """Yield the library, its copies, and a new copy.

    One file serves one SQLite library. `sqlite3` and `apsw` have one each.
    """
    yield loadable_path()
    name = os.path.basename(loadable_path())
    for folder in _copies:
        yield os.path.join(folder, name)
    import atexit
    import shutil
    import tempfile

    _copies.append(tempfile.mkdtemp(prefix="sqlite_ltr"))
    atexit.register(shutil.rmtree, _copies[-1], ignore_errors=True)
    yield shutil.copy(loadable_path(), _copies[-1])


def load_in_plugin(connection: sqlite3.Connection) -> None:
    """Add the functions except `ltr_letor`; only warn if this Python cannot load extensions: other commands work."""
    try:
        load(connection, read_files=False)
    except sqlite3.NotSupportedError:
        import warnings

        text = "the functions of sqlite-ltr are missing: this Python cannot load SQLite extensions. Way out: "
        warnings.warn(text + "pip install pysqlite3-binary", UserWarning, stacklevel=2)


def memory() -> Any:
    """Return a database in memory with the library.

    It belongs to `sqlite3`, or to `apsw` if the SQLite of this Python is too old or cannot load extensions.
    """
    connection: Any = None
    if not hasattr(sqlite3.Connection, "enable_load_extension") or sqlite3.sqlite_version_info < (3, 38):
        try:
            import apsw

            connection = apsw.Connection(":memory:")
        except ImportError:
            pass
    connection = connection or sqlite3.connect(":memory:", isolation_level=None)
    load(connection)
    return connection
