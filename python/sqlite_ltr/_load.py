"""Loads the library into a connection."""

from __future__ import annotations

import os
import sqlite3
import sys

from sqlite_ltr._error import LoadError

# The module typing takes longer to import than the rest, so only type checkers read this block.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Protocol

    class Connection(Protocol):
        """A connection that can load extensions, from `sqlite3`, `apsw` or others with the same two methods."""

        def enable_load_extension(self, enable: bool, /) -> object:
            """Allow or refuse extensions."""

        def load_extension(self, path: str, /) -> object:
            """Load an extension."""

    class PooledConnection(Protocol):
        """A pooled connection, as returned by SQLAlchemy's `raw_connection()`."""

        @property
        def driver_connection(self) -> Any:
            """The driver's connection."""


_NO_LOADING = """\
this Python cannot load SQLite extensions: its module sqlite3 was built without them. Alternatives:
1. the package apsw, which has its own SQLite; train(), rank() and LtrRanker use it automatically:
       pip install apsw
       import apsw; connection = apsw.Connection("shop.db"); connection.set_busy_timeout(5000)
       sqlite_ltr.load(connection)
2. another Python: Python from Debian, Ubuntu, Fedora or Homebrew, such as /usr/bin/python3, can load extensions
3. the package pysqlite3, which can load extensions: pip install pysqlite3-binary
   Datasette and sqlite-utils use it if it is installed; SQLAlchemy takes it as create_engine(url, module=pysqlite3)"""

# Before Python 3.12, sqlite3's load_extension() takes no entry point, and SQL cannot load the library a second time.
_LOAD_NO_FILES = """\
SELECT load_extension(?, 'sqlite3_sqliteltr_nofiles_init')
 WHERE NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'ltr_version')"""


# Folders with copies of the library, for additional SQLite libraries in this process.
_copies: list[str] = []


def loadable_path() -> str:
    """Return the absolute path of the library, for hosts that load it themselves, such as `datasette --load-extension`.

    The path does not change while the package is installed. It has the platform's suffix: .so, .dylib or .dll.

    Example:
        >>> import sqlite_ltr
        >>> "sqlite_ltr" in sqlite_ltr.loadable_path()
        True
    """
    name = {"win32": "sqlite_ltr.dll", "darwin": "libsqlite_ltr.dylib"}.get(sys.platform, "libsqlite_ltr.so")
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), name)


def load(connection: Connection | PooledConnection, *, read_files: bool = True) -> None:
    """Add the functions `ltr_...` to a connection of `sqlite3` or `apsw`.

    Extension loading is only enabled during this call; afterwards SQL cannot load extensions.
    Connections from SQLAlchemy's pool also work, including asynchronous engines. Call this for every connection.

    Args:
        connection: an open connection.
        read_files: False omits `ltr_letor`, the only function that reads files. Use it if people you do not trust
            write SQL. A connection that already has the functions does not change.

    Raises:
        sqlite3.NotSupportedError: this Python cannot load extensions. The message lists alternatives.
        TypeError: `connection` is not a connection of sqlite3 or apsw; the message has the right line for this object.
        sqlite3.Error, apsw.Error: errors of the driver pass through, such as for a closed connection.

    Example:
        >>> import sqlite3, sqlite_ltr
        >>> connection = sqlite3.connect(":memory:")
        >>> sqlite_ltr.load(connection)
        >>> connection.execute("SELECT ltr_metric('mrr', column1, column2) FROM (VALUES (0, 2.5), (1, 1.5))").fetchone()
        (0.5,)
    """
    driver: Any = getattr(connection, "driver_connection", connection)
    _check(driver, connection)
    if _is_async(driver):
        # The connection of an asyncio driver in SQLAlchemy, which waits for a coroutine.
        connection.run_async(lambda driver: load_async(driver, read_files=read_files))  # type: ignore[union-attr]
        return
    driver.enable_load_extension(True)
    try:
        for path in _paths():
            with _Taken() as found:
                if read_files:
                    driver.load_extension(path)
                else:
                    driver.execute(_LOAD_NO_FILES, (path,)).fetchall()
            if not found.taken:
                return
    finally:
        driver.enable_load_extension(False)


async def load_async(connection: Any, *, read_files: bool = True) -> None:
    """Add the functions `ltr_...` to an aiosqlite connection: `await sqlite_ltr.load_async(connection)`.

    Args:
        connection: an open connection whose methods are coroutines.
        read_files: as for `load`.

    Raises:
        sqlite3.NotSupportedError, sqlite3.Error, TypeError: as for `load`.

    Example:
        >>> import asyncio, aiosqlite, sqlite_ltr
        >>> async def ids():
        ...     async with aiosqlite.connect(":memory:") as connection:
        ...         await sqlite_ltr.load_async(connection)
        ...         return await connection.execute_fetchall("SELECT name FROM ltr_algorithms WHERE name = 'auto'")
        >>> asyncio.run(ids())
        [('auto',)]
    """
    _check(connection, None)
    if not _is_async(connection):
        raise TypeError("load_async() takes an asyncio connection; for this one: sqlite_ltr.load(connection)")
    try:
        await connection.enable_load_extension(True)
    except AttributeError as error:
        raise LoadError(_NO_LOADING) from error
    try:
        for path in _paths():
            with _Taken() as found:
                if read_files:
                    await connection.load_extension(path)
                else:
                    await connection.execute(_LOAD_NO_FILES, (path,))
            if not found.taken:
                return
    finally:
        await connection.enable_load_extension(False)


# Objects that are not connections, by package name, with the line that loads the library.
_LINES = {
    "sqlalchemy": 'sqlalchemy.event.listen(engine, "connect", lambda connection, _: sqlite_ltr.load(connection)), '
    "with engine.sync_engine of an asynchronous engine",
    "django": "connection.ensure_connection(); sqlite_ltr.load(connection.connection), for every connection in a "
    "receiver of django.db.backends.signals.connection_created",
    "peewee": "database.connect(); sqlite_ltr.load(database.connection()); for every connection: "
    "database.load_extension(sqlite_ltr.loadable_path())",
    "playhouse": "database.load_extension(sqlite_ltr.loadable_path())",
    "sqlite_utils": "sqlite_ltr.load(database.conn)",
    "builtins": 'connection = sqlite3.connect("shop.db"); sqlite_ltr.load(connection)',
    "pathlib": 'connection = sqlite3.connect("shop.db"); sqlite_ltr.load(connection)',
}


def _check(driver: Any, connection: Any) -> None:
    """Refuse objects into which the library cannot be loaded, with the line that works."""
    if not hasattr(driver, "enable_load_extension"):
        if isinstance(driver, sqlite3.Connection):
            raise LoadError(_NO_LOADING)
        kind = f"{type(driver).__module__}.{type(driver).__qualname__}"
        line = _LINES.get(kind.partition(".")[0])
        hint = f"; instead: {line}" if line else ""
        raise TypeError(f"load() takes a connection of sqlite3 or apsw, not {kind}{hint}")
    if connection is driver and _is_async(driver):
        kind = f"{type(driver).__module__}.{type(driver).__qualname__}"
        raise TypeError(f"{kind} is an asyncio connection: await sqlite_ltr.load_async(connection)")


def _is_async(driver: Any) -> bool:
    code = getattr(getattr(driver.enable_load_extension, "__func__", None), "__code__", None)
    # inspect.CO_COROUTINE, without importing the module, which is slow.
    return bool(code and code.co_flags & 0x80)


class _Taken:
    """A block that loads a file. Afterwards true if the file already serves another SQLite library."""

    def __init__(self) -> None:
        self.taken = False

    def __enter__(self) -> _Taken:
        return self

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> bool:
        self.taken = "into another SQLite library" in str(error)
        return self.taken


def _paths() -> Iterator[str]:
    """Yield the library, its copies, and a new copy.

    One file serves one SQLite library, and `sqlite3` and `apsw` have one each.
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
    """Add the functions except `ltr_letor`. Only warn if Python cannot load extensions, since other commands work."""
    try:
        load(connection, read_files=False)
    except sqlite3.NotSupportedError:
        import warnings

        text = "the functions of sqlite-ltr are missing: this Python cannot load SQLite extensions. Instead: "
        warnings.warn(text + "pip install pysqlite3-binary", UserWarning, stacklevel=2)


def connect(path: str = ":memory:") -> Any:
    """Open a database with the library.

    Uses `sqlite3`, or `apsw` if this Python's SQLite is too old or cannot load extensions.
    """
    connection: Any = None
    if not hasattr(sqlite3.Connection, "enable_load_extension") or sqlite3.sqlite_version_info < (3, 38):
        try:
            import apsw

            connection = apsw.Connection(path)
            connection.set_busy_timeout(5000)
        except ImportError:
            pass
    connection = connection or sqlite3.connect(path, isolation_level=None)
    load(connection)
    return connection
