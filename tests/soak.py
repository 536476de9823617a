"""Many processes use the same two databases, one in WAL and one in rollback-journal mode: soak.py MINUTES

Eight processes rank, four train and update, one vacuums, one switches and deletes versions, and one that trains is killed at
random moments and started again. At the end every version that a call reported is there with the scores that it had then,
unless it was deleted; the databases and all models are intact; and after minute 10 no process has grown by more than 5 % of
its resident memory, or opened a file more. One line a minute, a table at the end; the exit code is 1 after a fault.

The library comes from `cargo ext`, or is the file that SQLITE_LTR names. Needs Linux, and a Python whose sqlite3 can load
extensions, such as Debian's /usr/bin/python3.
"""

import collections
import hashlib
import json
import multiprocessing
import os
import pathlib
import random
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
LIBRARY = os.environ.get("SQLITE_LTR", str(ROOT / "target" / "loadable" / "libsqlite_ltr.so"))
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="ltr-soak-"))
MODES = ("wal", "delete")
ROLES = ["rank"] * 8 + ["train"] * 4 + ["vacuum", "switch", "victim"]
COUNTS = ("ranked", "stored", "deleted", "vacuumed", "refused", "faults")
FORK = multiprocessing.get_context("fork")
COUNTERS = [FORK.Array("Q", len(COUNTS), lock=False) for _ in ROLES]
STOP = FORK.Event()
# Versions of a name that are kept; the minute from which on leaks are judged; the growth of memory that is allowed.
KEPT, WARM, GROWTH = 12, 10, 0.05
TRAININGS = {
    "linear": ("rank_svm", {"lambda": 0.1}),
    "local": ("q_svm", {"lambda": 0.1, "neighbors": 5}),
    "trees": ("boosted_trees", {"trees": 8, "depth": 3}),
    "online": ("perceptron", {}),
}
ROWS = """CREATE TABLE j AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 239)
SELECT i / 8 AS query_id, i AS doc_id, i * 7 % 3 AS relevance, i * 17 % 31 / 31.0 AS a, i * 29 % 37 / 37.0 AS b,
       i / 8 * 11 % 13 / 13.0 AS q_mean FROM n"""
MORE = "SELECT query_id + {} AS query_id, doc_id, relevance, a, b, q_mean FROM j WHERE query_id < 3"
# Errors that the other processes explain: locks, and versions that were deleted or replaced.
EXPLAINED = ("held a lock", "is locked", "replaced or deleted while", "no version", "attempts failed")


def connect(mode):
    # Statements that SQLite itself runs wait for the locks of all others.
    db = sqlite3.connect(FOLDER / f"{mode}.db", timeout=120, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(LIBRARY)
    return db


def note(file, **entry):
    """Appends a line to a file of the folder, in one write."""
    handle = os.open(FOLDER / file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, (json.dumps(entry) + "\n").encode())
    os.close(handle)


def notes(file, mode):
    path = FOLDER / file
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [entry for entry in map(json.loads, lines) if entry["mode"] == mode]


def version(entry):
    return entry["name"], entry["version"]


def scores(db, model):
    """A digest of the ranking of all documents, to the last bit."""
    rows = db.execute("SELECT query_id, doc_id, score, rank FROM ltr_rank(?, 'j') ORDER BY 1, 4", (model,)).fetchall()
    assert len(rows) == 240, len(rows)
    return hashlib.sha256(repr(rows).encode()).hexdigest()


class Worker:
    """A process: it does its work on one of the databases at a time until it is stopped."""

    def __init__(self, index):
        self.role, self.counts = ROLES[index], COUNTERS[index]
        self.known, self.offset = collections.deque(maxlen=100), 0

    def count(self, what, times=1):
        self.counts[COUNTS.index(what)] += times

    def run(self):
        self.random, self.queries = random.Random(os.getpid()), 1000 * os.getpid()
        dbs = {mode: connect(mode) for mode in MODES}
        work = self.train if self.role == "victim" else getattr(self, self.role)
        while not STOP.is_set():
            mode, name = self.random.choice(MODES), self.random.choice([*TRAININGS])
            try:
                work(dbs[mode], mode, name)
            except (sqlite3.Error, AssertionError) as error:
                if dbs[mode].in_transaction:
                    dbs[mode].execute("ROLLBACK")
                explained = isinstance(error, sqlite3.Error) and any(text in str(error) for text in EXPLAINED)
                self.count("refused" if explained else "faults")
                if not explained:
                    note("faults", mode=mode, role=self.role, error=f"{type(error).__name__}: {error}")

    def train(self, db, mode, name):
        if name == "online" and self.random.random() < 0.7:
            self.queries += 10
            call = ("SELECT ltr_update('online', ?, ?)", (MORE.format(self.queries), '{"on_conflict": "retry"}'))
        else:
            algorithm, options = TRAININGS[name]
            options = json.dumps({**options, "name": name, "threads": 1})
            call = ("SELECT ltr_train(?, 'j', ?)", (algorithm, options))
        report = json.loads(db.execute(*call).fetchone()[0])
        # From here on the version must be there.
        stored = {"mode": mode, "name": name, "version": report["version"]}
        note("stored", **stored)
        self.count("stored")
        note("scored", **stored, scores=scores(db, f"{name}@{report['version']}"))

    def rank(self, db, mode, name):
        if (FOLDER / "scored").exists():
            with open(FOLDER / "scored", encoding="utf-8") as lines:
                lines.seek(self.offset)
                while (line := lines.readline()).endswith("\n"):
                    self.known.append(json.loads(line))
                    self.offset = lines.tell()
        # 1. The active version: a transaction sees one.
        db.execute("BEGIN")
        active = db.execute("SELECT version FROM ltr_models WHERE name = ? AND active", (name,)).fetchall()
        assert len(active) == 1, f"{len(active)} active versions of {name}"
        self.compare(mode, (name, active[0][0]), scores(db, name))
        db.execute("COMMIT")
        # 2. A version that was stored not long ago.
        others = [version(entry) for entry in self.known if entry["mode"] == mode]
        if others:
            other = self.random.choice(others)
            self.compare(mode, other, scores(db, "{}@{}".format(*other)))
        time.sleep(self.random.random() * 0.02)

    def compare(self, mode, ranked, found):
        self.count("ranked")
        for entry in self.known:
            if entry["mode"] == mode and version(entry) == ranked:
                assert entry["scores"] == found, f"other scores of {ranked}"

    def switch(self, db, mode, name):
        versions = [row[0] for row in db.execute("SELECT version FROM ltr_models WHERE name = ? ORDER BY 1", (name,))]
        activate = """UPDATE ltr_models SET active = (version = ?2)
            WHERE name = ?1 AND EXISTS (SELECT 1 FROM ltr_models WHERE name = ?1 AND version = ?2)"""
        db.execute(activate, (name, self.random.choice(versions)))
        for old in versions[:-KEPT]:
            # What is deleted is written down first.
            note("deleted", mode=mode, name=name, version=old)
            gone = db.execute("DELETE FROM ltr_models WHERE name = ? AND version = ? AND NOT active", (name, old))
            self.count("deleted", gone.rowcount)
        time.sleep(0.05)

    def vacuum(self, db, _mode, _name):
        db.execute("VACUUM")
        self.count("vacuumed")
        time.sleep(0.5 + self.random.random())


def start(work):
    process = FORK.Process(target=work, daemon=True)
    process.start()
    return process


def prepare():
    for mode in MODES:
        db = connect(mode)
        db.execute(f"PRAGMA journal_mode = {mode}")
        db.execute(ROWS)
        for name, (algorithm, options) in TRAININGS.items():
            db.execute("SELECT ltr_train(?, 'j', ?)", (algorithm, json.dumps({**options, "name": name}))).fetchone()
        db.close()


def soak(minutes):
    """The faults of the processes, and for each lasting one its memory and open files by minute."""
    # This process must not load the library before it forks.
    first = start(prepare)
    first.join()
    if first.exitcode != 0:
        sys.exit("soak.py: the databases could not be made")
    processes = [start(Worker(index).run) for index in range(len(ROLES))]
    victim, kills, faults = len(ROLES) - 1, 0, []
    samples = [collections.defaultdict(list) for _ in ROLES[:victim]]
    began, next_kill, next_sample, minute = time.monotonic(), 1.0, 0.0, 0
    while (now := time.monotonic() - began) < 60 * minutes:
        time.sleep(0.05)
        if now >= next_kill:
            processes[victim].kill()
            processes[victim].join()
            processes[victim], kills = start(Worker(victim).run), kills + 1
            next_kill = now + 0.3 + 3 * random.random()
        for index, process in enumerate(processes[:victim]):
            if not process.is_alive():
                faults.append(f"{ROLES[index]}: the process ended with code {process.exitcode}")
                processes[index] = start(Worker(index).run)
            elif now >= next_sample:
                samples[index][int(now / 60)].append(usage(process.pid))
        next_sample = now + 2 if now >= next_sample else next_sample
        if int(now / 60) > minute:
            minute = int(now / 60)
            show(minute, kills, samples)
    STOP.set()
    for role, process in zip(ROLES, processes):
        process.join(180)
        if process.exitcode != 0:
            faults.append(f"{role}: the process did not end well: {process.exitcode}")
            process.kill()
    show("end", kills, samples)
    return faults, samples


def usage(pid):
    """Resident memory in MiB, and the number of open files."""
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20, len(os.listdir(f"/proc/{pid}/fd"))


def level(rows):
    """Memory and open files of a minute: the median, and the smallest number, which is that between two calls."""
    return statistics.median(row[0] for row in rows), min(row[1] for row in rows)


def show(minute, kills, samples):
    counts = [f"{sum(column)} {what}" for what, column in zip(COUNTS, zip(*COUNTERS))]
    memory = sum(level(sample[max(sample)])[0] for sample in samples)
    print(f"minute {minute}: {', '.join(counts)}, {kills} kills, {memory:.0f} MiB", flush=True)


def verify(mode):
    """What is wrong with a database at the end."""
    db = connect(mode)
    yield from (row[0] for row in db.execute("PRAGMA integrity_check") if row[0] != "ok")
    reports = db.execute("SELECT name, version, report FROM ltr_models").fetchall()
    reports, found = {row[:2]: json.loads(row[2]) for row in reports}, {}
    for (name, number), report in reports.items():
        try:
            found[name, number] = scores(db, f"{name}@{number}")
            # Every byte is checked.
            find = "SELECT ltr_info(model) FROM ltr_models WHERE name = ? AND version = ?"
            db.execute(find, (name, number)).fetchone()
        except (sqlite3.Error, AssertionError) as error:
            yield f"torn: {name}@{number}: {error}"
        base = reports.get((name, (report.get("from") or {}).get("version")))
        if base and report["documents"] != base["documents"] + report["added"]["documents"]:
            yield f"no update of its base: {name}@{number}"
    stored, deleted = ({version(entry) for entry in notes(file, mode)} for file in ("stored", "deleted"))
    yield from (f"lost: {gone}" for gone in stored - deleted - found.keys())
    yield from (
        f"other scores: {version(entry)}"
        for entry in notes("scored", mode)
        if found.get(version(entry), entry["scores"]) != entry["scores"]
    )
    several = "SELECT name FROM ltr_models GROUP BY name HAVING total(active) <> 1"
    yield from (f"not one active version: {row[0]}" for row in db.execute(several))
    yield from (f"{entry['role']}: {entry['error']}" for entry in notes("faults", mode))
    print(f"{mode}: {len(stored)} versions reported, {len(deleted)} deleted, {len(found)} at the end", flush=True)


def leaks(samples):
    """Prints a line for each lasting process, and returns what grew."""
    print(f"{'role':8} {'calls':>8} {'refused':>8} {'MiB':>16} {'growth':>8} {'files':>10}")
    for role, counter, sample in zip(ROLES, COUNTERS, samples):
        # The last minute may have few samples.
        last = max(sample) - 1 if max(sample) > WARM else max(sample)
        first = min(WARM, last)
        (before, opened), (after, still) = level(sample[first]), level(sample[last])
        calls, growth = sum(counter[:4]), after / before - 1
        line = f"{role:8} {calls:8} {counter[4]:8} {f'{before:.1f} > {after:.1f}':>16} {growth:8.1%} {f'{opened} > {still}':>10}"
        print(line)
        if calls == 0 or growth > GROWTH or still > opened:
            yield f"leak, or no work: {line}"
    if last <= WARM:
        print(f"not judged: memory and files, because the run ended before minute {WARM + 2}")


def main():
    faults, samples = soak(float(sys.argv[1]))
    faults += [f"{mode}: {problem}" for mode in MODES for problem in verify(mode)]
    faults += leaks(samples)
    for fault in faults[:50]:
        print("FAULT", fault)
    print(f"{len(faults)} faults; the databases are in {FOLDER}" if faults else "no faults")
    if not faults:
        shutil.rmtree(FOLDER)
    sys.exit(bool(faults))


main()
