"""The data of the measurements (benches/data): facts, checks of files, samples, and collections of texts."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import os
import random
import sqlite3
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import sqlite_ltr

BENCHES = Path(__file__).resolve().parents[2] / "benches"
CRANFIELD = {
    "cran.all.1400": ".I 1\n.T\nwings\n.A\nnobody\n.B\nno journal\n.W\na wing .\n.x in a slipstream .\n.I 2\n.T\n.W\n",
    "cran.qry": ".I 001\n.W\nwhich wing .\n.I 004\n.W\nwhich slip\nstream .\n",
    "cranqrel": "1 1 1 \n1 2 4\n2 2 3\n2 1 -1\n",
}
BEIR = {
    "corpus.jsonl": '{"_id": "MED-1", "title": "Diet", "text": "a\\u2028b"}\n{"_id": "MED-2", "text": ""}\n',
    "queries.jsonl": '{"_id": "PLAIN-1", "text": "what to eat", "metadata": {}}\n',
    "qrels/train.tsv": "query-id\tcorpus-id\tscore\nPLAIN-1\tMED-1\t2\n",
    "qrels/dev.tsv": "query-id\tcorpus-id\tscore\n",
    "qrels/test.tsv": "query-id\tcorpus-id\tscore\nPLAIN-1\tMED-2\t1\n",
}


def module():
    spec = importlib.util.spec_from_file_location("benches_data_sets", BENCHES / "data" / "sets.py")
    sets = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sets)
    return sets


def call(*arguments, **options):
    command = [sys.executable, str(BENCHES / "data"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, **options)


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


def test_each_set_says_what_it_is():
    listed = call("list").stdout
    sets = module()
    for name, given in sets.SETS.items():
        assert all(given[key] for key in ("name", "source", "license", "get", "drawn")), name
        assert given["name"] in listed
        for file, size, digest in sets.files(name):
            assert (len(digest) == 64 and size > 0) or (digest == "" and size == 0), file
            assert f"  {file}: " in listed


def test_samples_have_the_queries_of_the_pages():
    sample = module().sample
    for name, counts in {"yandex": (533, 133, 1334), "mslr-sample": (83, 18, 60)}.items():
        parts = [sample(f"{name}/{part}.txt") for part in ("train", "vali", "test")]
        assert tuple(map(len, parts)) == counts
        # A query is in either training or validation; Yandex's test ids come from another file.
        assert len({*parts[0], *parts[1]}) == counts[0] + counts[1]
        assert len(set(parts[2])) == counts[2]


def test_the_files_of_this_machine_are_those_that_were_measured():
    folder = Path(os.environ.get("LTR_DATA", BENCHES.parent / "../shared/data"))
    sets = module()
    names = [name for name in sets.SETS if any((folder / file).exists() for file, _, _ in sets.files(name))]
    if not names:
        pytest.skip(f"no data in {folder}")
    assert sets.check(folder, names)
    for file in (f"{name}/{part}.txt" for name in ("yandex", "mslr-sample") for part in ("train", "vali", "test")):
        if (folder / file).is_file():
            lines = (folder / file).read_text().splitlines()
            assert list(dict.fromkeys(line.split()[1][len("qid:") :] for line in lines)) == sets.sample(file)


def test_a_check_compares_bytes_and_tells_where_files_are_from(tmp_path, capsys):
    write(tmp_path, {"mq2008/S1.txt": "0 qid:1 1:0\n"})
    checked = call("check", tmp_path, "mq2008")
    assert checked.returncode == 1
    assert "mq2008/S1.txt: differs: 12 bytes" in checked.stdout
    assert "mq2008/S2.txt: missing" in checked.stdout
    assert "arXiv:1306.2597" in checked.stdout
    assert call("check", tmp_path, "no set").returncode == 2
    # Files with the expected bytes.
    sets = module()
    digest = hashlib.sha256(b"0 qid:1 1:0\n").hexdigest()
    sets.SETS["mq2008"]["files"] = [["S1.txt", 12, digest]]
    assert sets.check(tmp_path, ["mq2008"])
    assert capsys.readouterr().out == "mq2008/S1.txt: ok\n"


def test_yandex_rows_match_the_sample():
    row = module().yandex_row
    values = ["0.25", "0", "9.62001e-005", *["0"] * 47]
    for relevance, grade in {"0": 0, "0.069": 0, "0.07": 1, "0.14": 2, "0.408571": 2, "0.41": 3, "0.61": 4}.items():
        assert row("10", relevance, values) == f"{grade} qid:10 1:0.25 3:9.62001e-05 50:0"


def test_original_files_of_yandex_are_compared_first(tmp_path):
    write(tmp_path, {"features.txt.gz": "something else"})
    drawn = call("draw", "yandex", tmp_path, tmp_path / "data")
    assert drawn.returncode == 1
    assert "features.txt.gz: differs" in drawn.stderr


def test_files_are_taken_from_the_archive_of_a_package(tmp_path):
    sets = module()
    archive = tmp_path / "package.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for file, _, _ in sets.SETS["msn"]["files"]:
            member = tarfile.TarInfo(sets.SETS["msn"]["members"] + file)
            member.size = len(file)
            tar.addfile(member, io.BytesIO(file.encode()))
    sets.unpack(archive, "msn", tmp_path)
    for file, _, _ in sets.SETS["msn"]["files"]:
        assert (tmp_path / "msn" / file).read_text() == file


@pytest.mark.parametrize("line", ["\n", "\r\n"])
def test_cranfield_becomes_tables(tmp_path, line):
    write(tmp_path / "cranfield", {name: text.replace("\n", line) for name, text in CRANFIELD.items()})
    read = call("text", "cranfield", tmp_path, tmp_path / "new.db")
    assert "2 documents; the official set has 1,400" in read.stdout
    assert "1 judgments of relevance -1 left out" in read.stdout
    assert read.returncode == 1, read.stderr
    db = sqlite3.connect(tmp_path / "new.db")
    assert db.execute("SELECT * FROM docs").fetchall() == [
        ("1", "wings", "a wing .\n.x in a slipstream ."),
        ("2", "", ""),
    ]
    # The second query is 2 in the judgments, though its id is 004.
    assert db.execute("SELECT * FROM queries").fetchall() == [("1", "which wing ."), ("2", "which slip\nstream .")]
    grades = [("all", "1", "1", 4), ("all", "1", "2", 1), ("all", "2", "2", 2)]
    assert db.execute("SELECT * FROM judgments").fetchall() == grades
    # An existing file isn't written over.
    assert call("text", "cranfield", tmp_path, tmp_path / "new.db").returncode == 2


@pytest.mark.parametrize("name", ["nfcorpus", "trec-covid"])
def test_sets_of_beir_become_tables(tmp_path, name):
    write(tmp_path / name, BEIR)
    call("text", name, tmp_path, tmp_path / "new.db")
    db = sqlite3.connect(tmp_path / "new.db")
    assert db.execute("SELECT * FROM docs").fetchall() == [("MED-1", "Diet", "a\u2028b"), ("MED-2", "", "")]
    assert db.execute("SELECT * FROM queries").fetchall() == [("PLAIN-1", "what to eat")]
    judged = [("test", "PLAIN-1", "MED-2", 1), ("train", "PLAIN-1", "MED-1", 2)]
    assert db.execute("SELECT * FROM judgments").fetchall() == judged


def test_an_absent_collection_tells_where_it_is_from(tmp_path):
    read = call("text", "nfcorpus", tmp_path, tmp_path / "new.db")
    assert read.returncode == 1
    assert "doi:10.1007/978-3-319-30671-1_58" in read.stdout
    assert not (tmp_path / "new.db").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="the benchmarks use the module resource")
def test_trees_are_compared_on_the_files_of_the_package(tmp_path):
    chance = random.Random(5)
    for first, (file, _, _) in enumerate(module().SETS["msn"]["files"]):
        rows = []
        for query in range(8):
            for _ in range(10):
                good = chance.random()
                rows.append(f"{int(4.99 * good)} qid:{100 * first + query} 1:{good:.3f} 136:{chance.random():.3f}\n")
        write(tmp_path / "msn", {file: "".join(rows)})
    script = [sys.executable, BENCHES / "compare_trees.py", sqlite_ltr.loadable_path(), tmp_path, "msn", sys.executable]
    compared = subprocess.run([*map(str, script), "boosted_trees"], capture_output=True, text=True)
    assert compared.returncode == 0, compared.stderr
    # Grades follow the first feature: each file in turn is ranked nearly as it should be.
    name, found, *_ = compared.stdout.split()
    assert name == "msn"
    assert float(found) > 0.9
