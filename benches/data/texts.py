"""Collections of texts with graded judgments, from their official files into tables of SQLite.

docs (doc_id, title, text), queries (query_id, text), judgments (part, query_id, doc_id, relevance). A larger relevance
is better; a pair without a row isn't judged. Two formats:

* smart: files of records that begin with `.I ID`; `.T` is the title, `.W` the text, and other letters are other fields.
* beir: corpus.jsonl, queries.jsonl, and tables of judgments with tabs.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE docs (doc_id TEXT PRIMARY KEY, title TEXT, text TEXT);
CREATE TABLE queries (query_id TEXT PRIMARY KEY, text TEXT);
CREATE TABLE judgments (part TEXT, query_id TEXT, doc_id TEXT, relevance INTEGER);
"""
# Cranfield's codes: 1 is a complete answer, 4 of minimum interest, 5 of none.
WORST_CODE = 5


def smart_records(path: Path) -> Iterator[dict[str, str]]:
    """The records of a file: letter of a field to text, "I" to the id."""
    # Latin 1 reads any bytes: the files are ASCII, but copies have stray ones.
    for record in re.split(r"^\.I[ \t]+", path.read_text(encoding="latin-1"), flags=re.MULTILINE)[1:]:
        head, *fields = re.split(r"^\.([A-Z])[ \t]*$", record, flags=re.MULTILINE)
        found = {"I": head.strip()}
        for letter, text in zip(fields[::2], fields[1::2], strict=True):
            found[letter] = f"{found.get(letter, '')} {text}".strip()
        yield found


def smart(folder: Path) -> tuple[list[Any], list[Any], list[Any]]:
    """Cranfield. The judgments count the queries from 1; the ids in the query file have gaps."""
    docs = [(doc["I"], doc.get("T", ""), doc.get("W", "")) for doc in smart_records(folder / "cran.all.1400")]
    queries = [(str(number), query["W"]) for number, query in enumerate(smart_records(folder / "cran.qry"), 1)]
    judgments = []
    for line in (folder / "cranqrel").read_text().splitlines():
        query, doc, code = line.split()
        judgments.append(("all", query, doc, WORST_CODE - int(code) if int(code) > 0 else -1))
    return docs, queries, judgments


def beir(folder: Path) -> tuple[list[Any], list[Any], list[Any]]:
    """A set of BEIR. Each file in qrels is a part."""
    docs, queries = (
        [json.loads(line) for line in (folder / file).read_text(encoding="utf-8").split("\n") if line]
        for file in ("corpus.jsonl", "queries.jsonl")
    )
    judgments = []
    for path in sorted((folder / "qrels").glob("*.tsv")):
        for line in path.read_text(encoding="utf-8").splitlines()[1:]:
            query, doc, relevance = line.split("\t")
            judgments.append((path.stem, query, doc, int(relevance)))
    return (
        [(doc["_id"], doc.get("title", ""), doc["text"]) for doc in docs],
        [(query["_id"], query["text"]) for query in queries],
        judgments,
    )


READERS = {"smart": smart, "beir": beir}


def write(given: dict[str, Any], folder: Path, file: Path) -> bool:
    """Write the database `file`; whether the folder has as many rows as the official set."""
    docs, queries, judgments = READERS[given["text"]](folder)
    # -1: Cranfield's README doesn't explain it, and TREC-COVID has two.
    kept = [row for row in judgments if row[3] >= 0]
    db = sqlite3.connect(file)
    with db:
        db.executescript(SCHEMA)
        db.executemany("INSERT INTO docs VALUES (?, ?, ?)", docs)
        db.executemany("INSERT INTO queries VALUES (?, ?)", queries)
        db.executemany("INSERT INTO judgments VALUES (?, ?, ?, ?)", kept)
    db.close()
    right = True
    for what, rows in (("documents", docs), ("queries", queries), ("judgments", judgments)):
        expected = given[what]
        print(f"{len(rows):,} {what}" + ("" if len(rows) == expected else f"; the official set has {expected:,}"))
        right &= len(rows) == expected
    print(f"{len(judgments) - len(kept):,} judgments of relevance -1 left out")
    return right
