"""Agent memory that learns from outcomes: FTS5, embeddings, a log of recalled lists, nightly training, a monitor.

agent_memory.py LIBRARY [DAYS [SEEDS]]   simulates agents with 30 tasks a day (40 days, 1 agent), and prints how often tasks succeed

The part to copy ends before `simulate`. The simulation has 400 notes. Half of them are wrong, which no column says.
"""

import json
import math
import random
import sqlite3
import struct
import sys
from statistics import mean

SCHEMA = """
-- `created` and `day` count days from any date.
CREATE TABLE notes (
  note_id INTEGER PRIMARY KEY, text, embedding, created CHECK (typeof(created) <> 'text'), uses DEFAULT 0, successes DEFAULT 0.0);
CREATE VIRTUAL TABLE notes_fts USING fts5(text, content = 'notes', content_rowid = 'note_id');
-- What was recalled, with the features at that moment. The outcome comes later, for the whole list.
CREATE TABLE lists (
  list_id INTEGER PRIMARY KEY, day CHECK (typeof(day) <> 'text'), outcome CHECK (typeof(outcome) <> 'text' AND outcome BETWEEN 0 AND 1));
CREATE TABLE recalled (list_id, note_id, fused, bm25, distance, success_rate, age, PRIMARY KEY (list_id, note_id));
-- The outcome of a list is the relevance of its notes. Ten lists form one query: training compares notes of lists that succeeded
-- with notes of lists that failed.
CREATE VIEW judged AS
SELECT list_id / 10 AS query_id, list_id || '/' || note_id AS doc_id, outcome AS relevance, fused, bm25, distance, success_rate, age
  FROM recalled JOIN lists USING (list_id) WHERE outcome IS NOT NULL;
"""
# The best 30 notes by text and the best 30 by vector. success_rate is shrunk to the mean of all notes, where new notes begin.
CANDIDATES = """
WITH texts AS (SELECT rowid AS note_id, -rank AS bm25 FROM notes_fts WHERE notes_fts MATCH ltr_fts_query(?1) ORDER BY rank LIMIT 30),
scored AS (
  SELECT n.*, coalesce(bm25, 0) AS bm25, distance(embedding, ?2) AS distance FROM notes AS n LEFT JOIN texts USING (note_id)),
ranked AS (
  SELECT *, row_number() OVER (ORDER BY bm25 DESC) AS text_rank, row_number() OVER (ORDER BY distance) AS vector_rank FROM scored)
SELECT 0 AS query_id, note_id AS doc_id, iif(bm25 = 0, 0, 1.0 / (60 + text_rank)) + 1.0 / (60 + vector_rank) AS fused, bm25, distance,
       (successes + 5 * m.rate) / (uses + 5) AS success_rate, ?3 - created AS age
  FROM ranked, (SELECT (sum(successes) + 1) / (sum(uses) + 2) AS rate FROM notes) AS m WHERE vector_rank <= 30 OR bm25 > 0"""

# With fewer lists a first model may be worse than the fused order.
FEWEST_LISTS = 300


class Memory:
    def __init__(self, path, library):
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.enable_load_extension(True)
        self.db.load_extension(library)
        # With sqlite-vec: vec_distance_l2.
        self.db.create_function("distance", 2, distance, deterministic=True)
        if not self.one("SELECT count(*) FROM sqlite_schema WHERE name = 'notes'"):
            self.db.executescript(SCHEMA)

    def one(self, sql, *values):
        return (self.db.execute(sql, values).fetchone() or [None])[0]

    def has_model(self):
        known = self.one("SELECT count(*) FROM sqlite_schema WHERE name = 'ltr_models'")
        return known and self.one("SELECT count(*) FROM ltr_models WHERE name = 'memory' AND active")

    def remember(self, text, embedding, day):
        note = self.one("INSERT INTO notes (text, embedding, created) VALUES (?, ?, ?) RETURNING note_id", text, blob(embedding), day)
        self.db.execute("INSERT INTO notes_fts (rowid, text) VALUES (?, ?)", (note, text))
        return note

    def recall(self, text, embedding, day, k=3):
        """The id of the list, and the best notes: by the model, before there is one by reciprocal rank fusion."""
        rows = self.db.execute(CANDIDATES, (text, blob(embedding), day)).fetchall()
        if self.has_model():
            names = ["query_id", "doc_id", "fused", "bm25", "distance", "success_rate", "age"]
            source = "SELECT " + ", ".join(f"value ->> {i} AS {name}" for i, name in enumerate(names)) + " FROM json_each(?1)"
            sql = "SELECT doc_id FROM ltr_rank('memory', ?, json_object('k', ?), ?) ORDER BY rank"
            best = [note for (note,) in self.db.execute(sql, (source, k, json.dumps(rows)))]
        else:
            best = [row[1] for row in sorted(rows, key=lambda row: -row[2])[:k]]
        list_id = self.one("INSERT INTO lists (day) VALUES (?) RETURNING list_id", day)
        shown = [(list_id, *row[1:]) for row in rows if row[1] in best]
        self.db.executemany("INSERT INTO recalled VALUES (?, ?, ?, ?, ?, ?, ?)", shown)
        return list_id, best

    def outcome(self, list_id, value):
        """How well the task went that used a list, from 0 to 1. A list has one outcome."""
        if not self.one("UPDATE lists SET outcome = ? WHERE list_id = ? AND outcome IS NULL RETURNING 1", value, list_id):
            raise ValueError(f"list {list_id} doesn't exist or has an outcome already")
        sql = "UPDATE notes SET uses = uses + 1, successes = successes + ? WHERE note_id IN (SELECT note_id FROM recalled WHERE list_id = ?)"
        self.db.execute(sql, (value, list_id))

    def learn(self):
        """Every night: the warnings of a new version, and alerts of the monitor. The version keeps the fused order of rows until
        held-out lists show that another is better."""
        if self.one("SELECT count(*) FROM lists WHERE outcome IS NOT NULL") < FEWEST_LISTS:
            return [], []
        alerts, recent = [], "SELECT * FROM judged WHERE query_id > (SELECT max(query_id) - 20 FROM judged)"
        if self.has_model():
            sql = "SELECT kind, name FROM ltr_monitor('memory', ?) WHERE status = 'alert'"
            alerts = self.db.execute(sql, (recent,)).fetchall()
        options = {"name": "memory", "baseline": "fused", "lambda": 0.1, "keep_versions": 7}
        warnings = self.one("SELECT ltr_train('rank_svm', 'judged', ?) ->> 'warnings'", json.dumps(options))
        return json.loads(warnings), alerts


def blob(numbers):
    return struct.pack(f"<{len(numbers)}f", *numbers)


def distance(a, b):
    if len(a) != len(b):
        raise ValueError("embeddings of different lengths")
    return math.dist(struct.unpack(f"<{len(a) // 4}f", a), struct.unpack(f"<{len(b) // 4}f", b))


def simulate(library, days, learns, seed):
    """The share of tasks that succeed, in the first and the last quarter of the days."""
    draw = random.Random(seed)
    meanings = [[draw.gauss(0, 1) for _ in range(4)] for _ in range(200)]

    def words(place, count):
        near = sorted(range(200), key=lambda word: math.dist(meanings[word], place))
        return " ".join(f"word{draw.choice(near[:20])}" for _ in range(count))

    def noisy(place):
        return [x + draw.gauss(0, 0.5) for x in place]

    memory, hidden = Memory(":memory:", library), {}
    for _ in range(400):
        place = [draw.gauss(0, 1) for _ in range(4)]
        note = memory.remember(words(place, 8), noisy(place), day=-draw.randrange(60))
        hidden[note] = place, draw.random() < 0.5
    log = []
    for day in range(1, days + 1):
        for task in range(30):
            # The same tasks for every memory.
            draw = random.Random(f"{seed} {day} {task}")
            place = [draw.gauss(0, 1) for _ in range(4)]
            list_id, notes = memory.recall(words(place, 3), noisy(place), day)
            helps = [math.exp(-math.dist(place, hidden[note][0])) if hidden[note][1] else 0.0 for note in notes]
            success = draw.random() < 1 - math.prod(1 - chance for chance in helps)
            memory.outcome(list_id, float(success))
            log.append(success)
        if learns and day % 5 == 0:
            memory.learn()
    quarter = len(log) // 4
    return sum(log[:quarter]) / quarter, sum(log[-quarter:]) / quarter


def main():
    library = sys.argv[1]
    days = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    seeds = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    for name, learns in [("reciprocal rank fusion", False), ("learned every five days", True)]:
        first, last = zip(*(simulate(library, days, learns, seed) for seed in range(1, seeds + 1)), strict=True)
        print(f"{name}: {mean(first):.3f} of the tasks of the first quarter succeed, {mean(last):.3f} of the last")


if __name__ == "__main__":
    main()
