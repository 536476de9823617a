"""The plugins, installed with the package, in Datasette and sqlite-utils."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlencode

import pytest
import sqlite_utils
from test_load import Incapable

import sqlite_ltr

ROOT = Path(__file__).resolve().parents[2]
ROWS = "\n".join(
    ["query,doc,price,stars,relevance", *(f"{i // 5},d{i},{i * 7 % 11},{i % 5},{i % 5 // 2}" for i in range(50))]
)
RANK = "SELECT doc_id FROM ltr_rank('rank_svm', 'judgments') WHERE query_id = 3 ORDER BY rank LIMIT 1"


def run(*command, **options):
    return subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False, **options)


def shell(commands, folder):
    """Run lines of a page, with the programs of this environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    bash = ["bash", "-euc", commands]
    return subprocess.run(bash, cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": path})


@pytest.fixture
def shop(tmp_path):
    """A database with judgments from a CSV file and a model, both made by sqlite-utils."""
    path = tmp_path / "shop.db"
    imported = run("sqlite_utils", "insert", path, "judgments", "-", "--csv", input=ROWS)
    assert imported.returncode == 0, imported.stderr
    trained = run("sqlite_utils", "query", path, "SELECT ltr_train('rank_svm', 'judgments') ->> 'queries' AS queries")
    assert json.loads(trained.stdout) == [{"queries": 10}], trained.stderr
    return path


def get(shop, sql, *settings):
    url = f"/shop.json?{urlencode({'sql': sql, '_shape': 'array'})}"
    answer = run("datasette", shop, *settings, "--get", url)
    return json.loads(answer.stdout)


def test_sqlite_utils_ranks(shop):
    assert json.loads(run("sqlite_utils", "query", shop, RANK).stdout) == [{"doc_id": "d19"}]


def test_sqlite_utils_ranks_in_memory(tmp_path):
    table = tmp_path / "judgments.csv"
    table.write_text(ROWS)
    train = "SELECT count(*) AS n FROM ltr_rank(ltr_fit('rank_svm', 'judgments'), 'judgments')"
    ranked = run("sqlite_utils", "memory", table, train)
    assert json.loads(ranked.stdout) == [{"n": 50}], ranked.stderr


def test_datasette_ranks(shop):
    assert get(shop, RANK) == [{"doc_id": "d19"}]


def test_datasette_neither_trains_nor_reads_files(shop):
    assert "read-only" in get(shop, "SELECT ltr_train('rank_svm', 'judgments')")["error"]
    assert get(shop, "SELECT * FROM ltr_letor('judgments.txt')")["error"] == "no such table: ltr_letor"


@pytest.mark.parametrize("options", ["{}", '{"max_memory": 1000000000000}'])
def test_datasette_bounds_the_memory(shop, tmp_path, options):
    config = tmp_path / "metadata.json"
    config.write_text('{"plugins": {"datasette-sqlite-ltr": {"max_memory": 1000}}}')
    sql = f"SELECT doc_id FROM ltr_rank('rank_svm', 'judgments', '{options}') LIMIT 1"
    assert "more than the 1000 of" in get(shop, sql, "-m", config)["error"]
    assert len(get(shop, sql)) == 1


def test_without_extension_loading_other_commands_work():
    with pytest.warns(UserWarning, match="Instead: pip install pysqlite3-binary"):
        database = sqlite_utils.Database(Incapable(":memory:"))
    assert database["t"].insert({"a": 1}).count == 1


@pytest.mark.parametrize("datasette_first", [True, False])
def test_with_both_plugins_no_connection_reads_files(datasette_first):
    """Plugins of Datasette wrap its connections, before or after ours sees them."""
    connection = sqlite3.connect(":memory:")
    if datasette_first:
        sqlite_ltr.load(connection, read_files=False)
    sqlite_utils.Database(connection)
    sqlite_ltr.load(connection, read_files=False)
    assert connection.execute("SELECT ltr_version()").fetchone()
    with pytest.raises(sqlite3.OperationalError, match="no such table: ltr_letor"):
        connection.execute("SELECT * FROM ltr_letor('judgments.txt')")


def test_sqlite_utils_reads_files_if_told(tmp_path):
    """The commands of the plugin's page that load the library by its path, unchanged."""
    page = ROOT / "python" / "plugins" / "sqlite-utils-sqlite-ltr" / "README.md"
    (tmp_path / "train.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:0.25\n")
    done = shell(page.read_text().split("```sh\n")[-1].split("```")[0], tmp_path)
    assert json.loads(done.stdout) == [{"count(*)": 2}], done.stderr


def test_the_commands_rank_own_data(tmp_path):
    """The commands of the page on your own data, unchanged, after its `pip install`."""
    page = (ROOT / "docs" / "guide" / "your-data.md").read_text()
    commands = page.split("## With sqlite-utils")[1].split("```sh\n")[1].split("```")[0].splitlines()
    (tmp_path / "judgments.csv").write_text(ROWS)
    (tmp_path / "candidates.csv").write_text("query,doc,price,stars\nnew,a,9,0\nnew,b,1,4\nnew,c,5,2\n")
    assert commands[0].startswith("pip install ")
    done = shell("\n".join(commands[1:]), tmp_path)
    assert done.returncode == 0, done.stderr
    ranking = [line.split()[:3] for line in done.stdout.splitlines() if line.startswith("new ")]
    assert ranking == [["new", "1", "b"], ["new", "2", "c"], ["new", "3", "a"]], done.stdout
