"""`load`, `loadable_path` and `__version__`, in every kind of connection and Python."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
import sqlalchemy

import sqlite_ltr

ROOT = Path(__file__).resolve().parents[2]
# Milliseconds of import and load, without opening the database. Time of the processor, since the clock also counts
# other programs.
PRINT_TIME = """\
import time
start = time.process_time()
import sqlite_ltr, sqlite3
imported = time.process_time() - start
connection = sqlite3.connect(":memory:")
start = time.process_time()
sqlite_ltr.load(connection)
print(1000 * (imported + time.process_time() - start))
"""
PRINT_REFUSAL = """\
import sqlite3, sqlite_ltr
try:
    sqlite_ltr.load(sqlite3.connect(":memory:"))
except sqlite3.NotSupportedError as error:
    print(error)
"""


def test_version_matches_cargo_toml():
    version = subprocess.run([ROOT / "packaging/version"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    assert sqlite_ltr.__version__ == version
    connection = sqlite3.connect(":memory:")
    sqlite_ltr.load(connection)
    assert connection.execute("SELECT ltr_version()").fetchone()[0].startswith(version)


def test_path_names_the_library():
    path = Path(sqlite_ltr.loadable_path())
    assert path.is_absolute()
    assert path.stat().st_size > 1_000_000


def test_importing_and_loading_take_at_most_20_ms():
    times = []
    for _ in range(5):
        run = subprocess.run([sys.executable, "-c", PRINT_TIME], capture_output=True, text=True, check=True)
        times.append(float(run.stdout))
    assert min(times) <= 20, times


def test_importing_all_functions_takes_at_most_60_ms():
    code = PRINT_TIME.partition("imported =")[0].replace("import sqlite_ltr, sqlite3", "from sqlite_ltr import *")
    code += "import sys; print(1000 * (time.process_time() - start), 'pandas' in sys.modules)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    assert min(float(run.stdout.split()[0]) for run in runs) <= 60
    assert {run.stdout.split()[1] for run in runs} == {"False"}


def trains_and_ranks(execute):
    execute("CREATE TABLE judgments(query_id, doc_id, relevance, x, y)")
    execute(
        "WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99) INSERT INTO judgments "
        "SELECT i / 10, i % 10, i % 3, i % 3 + (i * 7 % 5) / 10.0, i * 13 % 11 FROM n"
    )
    execute("SELECT ltr_train('rank_svm', 'judgments')")
    ranks = execute("SELECT rank FROM ltr_rank('rank_svm', 'judgments') WHERE query_id = 3 ORDER BY rank").fetchall()
    return [rank for (rank,) in ranks] == list(range(1, 11))


def test_sqlite3():
    connection = sqlite3.connect(":memory:")
    sqlite_ltr.load(connection)
    assert trains_and_ranks(connection.execute)


def test_apsw():
    connection = apsw.Connection(":memory:")
    sqlite_ltr.load(connection)
    assert trains_and_ranks(connection.execute)


@pytest.mark.parametrize("connect", [sqlite3.connect, apsw.Connection])
def test_files_can_be_denied(connect):
    connection = connect(":memory:")
    sqlite_ltr.load(connection, read_files=False)
    assert trains_and_ranks(connection.execute)
    with pytest.raises((sqlite3.OperationalError, apsw.SQLError), match="no such table: ltr_letor"):
        connection.execute("SELECT * FROM ltr_letor('judgments.txt')")


def refusal_of_the_file(connection):
    """The message with which the host refuses the file of the package; empty if it loads it."""
    connection.enable_load_extension(True)
    try:
        connection.load_extension(sqlite_ltr.loadable_path())
    except (sqlite3.OperationalError, apsw.ExtensionLoadingError) as error:
        return str(error)
    return ""


def test_each_sqlite_has_its_own_copy():
    # sqlite3 and apsw, each with its own SQLite. Kept statements are finalized by the SQLite that prepared them.
    connections = [connect(":memory:") for connect in (sqlite3.connect, apsw.Connection) * 2]
    for connection in connections:
        sqlite_ltr.load(connection)
    assert all(trains_and_ranks(connection.execute) for connection in connections)
    if sqlite3.sqlite_version != apsw.sqlite_lib_version():
        loaded, refused = sorted(refusal_of_the_file(connection) for connection in connections[:2])
        assert loaded == ""
        assert "into another SQLite library" in refused


def test_sqlalchemy_on_connect():
    engine = sqlalchemy.create_engine("sqlite://")
    sqlalchemy.event.listen(engine, "connect", lambda connection, _record: sqlite_ltr.load(connection))
    with engine.connect() as connection:
        assert trains_and_ranks(connection.exec_driver_sql)


def test_sqlalchemy_raw_connection():
    connection = sqlalchemy.create_engine("sqlite://").raw_connection()
    sqlite_ltr.load(connection)
    assert trains_and_ranks(connection.cursor().execute)


@pytest.mark.parametrize("connect", [sqlite3.connect, apsw.Connection])
def test_sql_cannot_load_extensions_afterwards(connect):
    connection = connect(":memory:")
    sqlite_ltr.load(connection)
    with pytest.raises((sqlite3.OperationalError, apsw.SQLError), match="not authorized"):
        connection.execute("SELECT load_extension(?)", (sqlite_ltr.loadable_path(),))


def test_loading_twice_does_no_harm():
    connection = sqlite3.connect(":memory:")
    sqlite_ltr.load(connection)
    sqlite_ltr.load(connection)
    assert trains_and_ranks(connection.execute)


def test_a_closed_connection():
    connection = sqlite3.connect(":memory:")
    connection.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        sqlite_ltr.load(connection)


@pytest.mark.parametrize("connect", [sqlite3.connect, apsw.Connection])
@pytest.mark.parametrize("first", [True, False])
def test_loading_again_without_files_changes_nothing(connect, first):
    connection = connect(":memory:")
    sqlite_ltr.load(connection, read_files=first)
    sqlite_ltr.load(connection, read_files=False)
    tables = connection.execute("SELECT count(*) FROM pragma_module_list WHERE name = 'ltr_letor'").fetchone()
    assert tables == (int(first),)
    assert trains_and_ranks(connection.execute)


@pytest.mark.parametrize("thing", ["shop.db", None, object()])
def test_no_connection(thing):
    with pytest.raises(TypeError, match=r"takes a connection of sqlite3 or apsw, not builtins\."):
        sqlite_ltr.load(thing)


class Incapable(sqlite3.Connection):
    """A connection as a Python without extension loading has it."""

    @property
    def enable_load_extension(self):
        raise AttributeError


def test_a_connection_without_extension_loading():
    with pytest.raises(sqlite3.NotSupportedError, match="pip install apsw"):
        sqlite_ltr.load(Incapable(":memory:"))


def incapable_pythons():
    """Pythons of this machine, 3.9 or newer, whose module sqlite3 loads no extensions."""
    loads = "hasattr(sqlite3.Connection, 'enable_load_extension')"
    test = f"import sqlite3, sys; sys.exit({loads} or sys.version_info < (3, 9))"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [shutil.which("python3", path=folder) for folder in os.get_exec_path()]
    found += [str(path) for path in sorted(pyenv.glob("versions/*/bin/python3"))]
    return [path for path in dict.fromkeys(found) if path and not subprocess.run([path, "-c", test]).returncode]


def test_pythons_without_extension_loading():
    pythons = incapable_pythons()
    if not pythons:
        pytest.skip("skipped: every Python of this machine loads extensions")
    packages = str(Path(sqlite_ltr.__file__).parents[1])
    for python in pythons:
        command = [python, "-c", PRINT_REFUSAL]
        run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": packages})
        assert not run.stderr, (python, run.stderr)
        assert "pip install apsw" in run.stdout
        assert "/usr/bin/python3" in run.stdout


def test_the_way_out_works_when_copied(tmp_path):
    """The message's lines that use apsw run unchanged."""
    lines = [line.strip() for line in refusal().splitlines()]
    code = "import sqlite_ltr\n" + "\n".join(line for line in lines if "apsw.Conn" in line or "ltr.load" in line)
    code += "\nprint(connection.execute('SELECT ltr_version()').fetchone()[0])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert run.stdout.startswith(sqlite_ltr.__version__), run.stderr


def refusal():
    with pytest.raises(sqlite3.NotSupportedError) as caught:
        sqlite_ltr.load(Incapable(":memory:"))
    return str(caught.value)
