"""The examples of the pages run unchanged, and the page lists the same refused checks as the tests."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import sys
from pathlib import Path

import pytest
from data import judgments
from test_sklearn import REFUSED

import sqlite_ltr

ROOT = Path(__file__).resolve().parents[2]


def examples(page):
    """The Python blocks of a page, including blocks in lists."""
    blocks = re.findall(r"^( *)```python\n(.*?)^\1```$", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    return [re.sub(f"^{indent}", "", block, flags=re.MULTILINE) for indent, block in blocks]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("page", "count"), [("python/README.md", 3), ("docs/guide/python.md", 6)])
def test_examples_run(page, count, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if page.startswith("docs"):
        sqlite3.connect("shop.db").executescript((ROOT / "sql" / "hotels.sql").read_text())
    else:
        import pandas as pd

        frame = pd.DataFrame(judgments()).rename(columns={"x": "bm25", "y": "age"})
        frame.to_csv("judgments.csv", index=False)
        frame.drop(columns="relevance").to_csv("candidates.csv", index=False)
    blocks = examples(page)
    assert len(blocks) == count
    names = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    assert capsys.readouterr().out


def test_a_suite_in_sql_names_what_fails(tmp_path, capsys):
    suite = (ROOT / "sql" / "test_suite.sql").read_text()
    names = {}
    (block,) = examples("docs/guide/test-suites.md")
    exec(compile(block, "test-suites.md", "exec"), names)
    for old, new, failure in [
        ("", "", ""),
        ("'3,1,5'", "'3,1,4'", "query 82 is 3,1,5, not 3,1,4"),
        ("value, 0.95, 1", "value, 1, 1", "mean ndcg@10 is 0.9"),
    ]:
        connection = sqlite3.connect(":memory:")
        sqlite_ltr.load(connection)
        connection.executescript((ROOT / "sql" / "hotels.sql").read_text())
        connection.execute("SELECT ltr_train('q_svm', 'judgments', '{\"name\": \"hotels\", \"lambda\": 0.01}')")
        (tmp_path / "suite.sql").write_text(suite.replace(old, new) if old else suite)
        with pytest.raises(SystemExit) if old else contextlib.nullcontext():
            names["run"](connection, tmp_path / "suite.sql")
        assert capsys.readouterr().out.startswith(f"FAILED: {failure}" if failure else "")


def test_the_reference_has_the_docstrings(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "python"), *sys.path])
    import reference

    if os.environ.get("LTR_BLESS"):
        reference.PAGE.write_text(reference.page(), encoding="utf-8")
    assert reference.PAGE.read_text(encoding="utf-8") == reference.page()
    shown = {name for _, *names in reference.CHAPTERS["sqlite_ltr"] for name in names}
    assert shown == {*sqlite_ltr.__all__} - {"__version__"}


def test_refused_checks_are_on_the_page():
    page = (ROOT / "docs" / "guide" / "python.md").read_text()
    table = page[page.index("| setting | refused check |") :]
    assert set(re.findall(r"`(check_\w+)`", table)) == {check for checks in REFUSED.values() for check in checks}
