"""The library in the system's Python: the session, stopping a training, forked children, a killed training.

python.py LIBRARY               everything; prints what it measured, fails with an assertion
python.py LIBRARY train FILE    trains for long on FILE (to be killed)
"""

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

LIBRARY = sys.argv[1]
HERE = os.path.dirname(os.path.abspath(__file__))
# Every query borrows from all others: minutes.
LONG = "SELECT ltr_train('q_svm', 'long', '{\"name\": \"m\", \"smoothing\": \"gaussian\", \"neighbors\": 2000}')"
# The space of the kernel, its documents, the choice of lambda: seconds each.
CURVED = "SELECT ltr_train('rank_svm', 'long', '{\"name\": \"m\", \"kernel\": \"gaussian\", \"landmarks\": 500}')"
LATE = "SELECT ltr_train('q_svm', 'short', '{\"name\": \"late\", \"fit_at\": \"query_time\"}')"
SHORT = "SELECT ltr_train('q_svm', 'short', '{\"name\": \"m\"}')"

# Asked of a call that is to stop: 100 ms. Allowed here, on a machine that may be busy: 1 s.
LIMIT = 1.0


def connect(path=":memory:", **options):
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, **options)
    db.enable_load_extension(True)
    db.load_extension(LIBRARY)
    return db


def fill(db, table, queries, documents, features):
    """Judgments that look random, so that fitting them takes long."""
    columns = ", ".join(f"i * {7919 + 2 * k} % 10007 / 10007.0 AS f{k}" for k in range(features))
    db.execute(f"""
        CREATE TABLE {table} AS
        WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < {queries * documents - 1})
        SELECT i / {documents} AS query_id, i % {documents} AS doc_id, i * 104729 % 1009 % 4 AS relevance,
               i / {documents} * 37 % 101 / 101.0 AS q_taste, {columns}
          FROM n""")


def one(db, sql):
    return db.execute(sql).fetchone()[0]


def fails(db, sql):
    """The name of the code and the message of the error that a statement must give."""
    try:
        db.execute(sql).fetchall()
    except sqlite3.Error as error:
        # The name is known from Python 3.11 on.
        return getattr(error, "sqlite_errorname", "SQLITE_INTERRUPT"), str(error)
    raise AssertionError(f"no error: {sql}")


def session():
    db = connect()
    steps = []
    with open(os.path.join(HERE, "session.sql"), encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("--> "):
                steps[-1][1] = line[4:]
            elif line.startswith("--! "):
                steps[-1][1] = "error: " + line[4:]
            elif line and not line.startswith("--"):
                steps.append([line, None])
    for sql, expected in steps:
        try:
            rows = db.execute(sql).fetchall()
            found = "|".join(str(value) for value in rows[0]) if rows else None
        except sqlite3.Error as error:
            found = f"error: {error}"
        assert found == expected, f"{sql}\nfound    {found}\nexpected {expected}"
    print(f"{len(steps)} statements of the session")


def is_untouched(db):
    """Nothing is left of a training that was stopped, and the connection goes on."""
    assert not db.in_transaction
    assert one(db, "SELECT count(*) FROM sqlite_master WHERE name = 'ltr_models'") == 0
    # The call's threads are ending; they need a moment.
    deadline = time.monotonic() + LIMIT
    while os.path.isdir("/proc/self/task") and len(os.listdir("/proc/self/task")) > threading.active_count():
        assert time.monotonic() < deadline, "threads outlive the call"
        time.sleep(0.001)
    db.execute("BEGIN")
    one(db, SHORT)
    assert one(db, "SELECT count(*) FROM ltr_rank('m', 'short') WHERE query_id = 3") == 5
    db.execute("ROLLBACK")


def interrupts(db, training, delays):
    for delay in delays:
        asked = []

        def stop():
            asked.append(time.monotonic())
            db.interrupt()

        timer = threading.Timer(delay, stop)
        timer.start()
        name, message = fails(db, training)
        waited = time.monotonic() - asked[0]
        timer.join()
        assert (name, message) == ("SQLITE_INTERRUPT", "interrupted"), (name, message)
        assert waited < LIMIT, f"stopped {waited:.3f} s after the interrupt"
        is_untouched(db)
        print(f"interrupt after {delay:.2f} s: stopped within {1000 * waited:.0f} ms")


def progress_handler(db):
    for delay in (0.05, 0.7):
        deadline = time.monotonic() + delay
        db.set_progress_handler(lambda: time.monotonic() > deadline, 1000)
        name, message = fails(db, LONG)
        waited = time.monotonic() - deadline
        db.set_progress_handler(None, 0)
        assert (name, message) == ("SQLITE_INTERRUPT", "interrupted"), (name, message)
        assert waited < LIMIT, f"stopped {waited:.3f} s after the handler said so"
        is_untouched(db)
        print(f"progress handler after {delay:.2f} s: stopped within {1000 * waited:.0f} ms")


def ranking_is_interrupted(db):
    """Fitting new queries stops too."""
    options = '{"smoothing": "gaussian", "neighbors": 60, "lambda": 0.001}'
    source = "SELECT * FROM long WHERE query_id < 60"
    db.execute(f"CREATE TEMP TABLE fitted AS SELECT ltr_fit('q_svm', '{source}', '{options}') AS model")
    # Query features that no query of the training has.
    db.execute("CREATE TEMP TABLE new_queries AS SELECT * FROM long")
    db.execute("UPDATE new_queries SET q_taste = q_taste + 0.001 * query_id")
    asked = []

    def stop():
        asked.append(time.monotonic())
        db.interrupt()

    timer = threading.Timer(0.7, stop)
    timer.start()
    name, _ = fails(db, "SELECT count(*) FROM ltr_rank((SELECT model FROM fitted), 'new_queries')")
    waited = time.monotonic() - asked[0]
    assert name == "SQLITE_INTERRUPT" and waited < LIMIT, (name, waited)
    print(f"ranking: stopped within {1000 * waited:.0f} ms")


def child(results):
    db = connect()
    fill(db, "short", 10, 5, 3)
    one(db, SHORT)
    results.put(one(db, "SELECT count(*) FROM ltr_rank('m', 'short')"))


def forks(db):
    """A child that is forked after the library has worked finds no dead pool of threads."""
    one(db, "SELECT length(ltr_fit('q_svm', 'short'))")
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    process = context.Process(target=child, args=(results,))
    process.start()
    assert results.get(timeout=60) == 50
    process.join(60)
    assert process.exitcode == 0
    print("a forked child answers")


def survives_kill(directory):
    """Killing a training leaves the earlier version active and whole."""
    for mode in ("delete", "wal"):
        path = os.path.join(directory, f"{mode}.db")
        db = connect(path)
        assert one(db, f"PRAGMA journal_mode = {mode}") == mode
        fill(db, "short", 20, 5, 3)
        fill(db, "long", 2000, 40, 20)
        one(db, SHORT)
        before = db.execute("SELECT * FROM ltr_models").fetchall()
        db.close()
        process = subprocess.Popen([sys.executable, __file__, LIBRARY, "train", path], stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(0.5)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, "the training ended before it was killed"
        db = connect(path)
        assert one(db, "PRAGMA integrity_check") == "ok"
        assert db.execute("SELECT * FROM ltr_models").fetchall() == before
        assert one(db, "SELECT count(*) FROM ltr_rank('m', 'short')") == 100
        db.close()
    print("a killed training leaves the earlier version")


def locks(directory):
    """The busy timeout holds when the model is stored; other connections see it."""
    for mode in ("delete", "wal"):
        path = os.path.join(directory, f"locks-{mode}.db")
        first, second = connect(path, timeout=20), connect(path, timeout=20)
        first.execute(f"PRAGMA journal_mode = {mode}")
        fill(first, "short", 20, 5, 3)
        second.execute("BEGIN IMMEDIATE")
        threading.Timer(0.5, lambda: second.execute("COMMIT")).start()
        one(first, SHORT)
        assert one(second, "SELECT count(*) FROM ltr_rank('m', 'short')") == 100
        # Judgments are read from the row of the model when they are needed.
        one(first, LATE)
        same = "SELECT sum(a.score = b.score) FROM ltr_rank('m', 'short') a JOIN ltr_rank('late', 'short') b USING (query_id, doc_id)"
        assert one(second, same) == 100
        second.execute("BEGIN IMMEDIATE")
        first.execute("PRAGMA busy_timeout = 100")
        problem = fails(first, SHORT)[1]
        assert "another connection held a lock for 5 seconds" in problem, problem
        second.execute("ROLLBACK")
        assert one(first, "SELECT max(version) FROM ltr_models WHERE name = 'm'") == 1 and not first.in_transaction
        first.close()
        second.close()
        only = connect(f"file:{path}?mode=ro", uri=True)
        assert one(only, "SELECT count(*) FROM ltr_rank('m', 'short')") == 100
        assert one(only, same) == 100
        assert one(only, "SELECT count(*) > 0 FROM ltr_evaluate('m', 'short')")
        assert isinstance(one(only, "SELECT ltr_score('m', ltr_vec(0.1, 0.2, 0.3), ltr_vec(0.5))"), float)
        assert isinstance(one(only, "SELECT ltr_fit('q_svm', 'short')"), bytes)
        assert "read-only" in fails(only, SHORT)[1]
        only.close()
    print("busy timeout, two connections, read-only files")


def main():
    if sys.argv[2:3] == ["train"]:
        db = connect(sys.argv[3])
        print("started", flush=True)
        db.execute(LONG).fetchall()
        return
    print(f"\nPython {sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}")
    session()
    db = connect()
    fill(db, "short", 20, 5, 3)
    fill(db, "long", 2000, 40, 20)
    interrupts(db, LONG, (0.01, 0.1, 0.3, 0.6, 1.0))
    interrupts(db, CURVED, (0.4, 0.8, 1.6, 3.2))
    progress_handler(db)
    ranking_is_interrupted(db)
    forks(db)
    with tempfile.TemporaryDirectory() as directory:
        survives_kill(directory)
        locks(directory)


main()
