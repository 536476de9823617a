"""`ltr_fts` against an independent computation from the texts, and on all kinds of FTS5 tables.

fts.py LIBRARY    prints what it compared, fails with an assertion
"""

import math
import random
import re
import sqlite3
import struct
import sys

LIBRARY = sys.argv[1]
FEATURES = ["bm25", "hits", "coverage", "first", "window", "phrase", "length"]
K, B = 1.2, 0.75
WORDS = ["red", "run", "runs", "shoe", "blue", "bag", "rune", "sh"]


def connect():
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(LIBRARY)
    return db


def tokens(text):
    return re.findall(r"[a-z0-9]+", text.lower())


class Term:
    """A phrase of a query: words, whether the last one is a prefix, and the columns it is limited to."""

    def __init__(self, words, prefix, columns):
        self.words, self.prefix, self.columns = words, prefix, columns

    def sql(self):
        limit = "" if self.columns is None else "{" + " ".join(f"c{c}" for c in self.columns) + "} : "
        return limit + '"' + " ".join(self.words) + '"' + (" *" if self.prefix else "")

    def starts(self, column, text):
        """Where the term begins in a list of tokens."""
        if self.columns is not None and column not in self.columns:
            return []
        size = len(self.words)

        def fits(at):
            last = text[at + size - 1]
            same = last.startswith(self.words[-1]) if self.prefix else last == self.words[-1]
            return same and text[at : at + size - 1] == self.words[:-1]

        return [at for at in range(len(text) - size + 1) if fits(at)]


def idf(rows, having):
    return math.log(1 + (rows - having + 0.5) / (having + 0.5))


def smallest_window(hits):
    """Tokens of the smallest window with a whole hit of each term. hits: for each term (starts, size)."""
    starts = sorted({at for term, _ in hits for at in term})
    best = math.inf
    for start in starts:
        ends = [min((at + size for at in term if at >= start), default=math.inf) for term, size in hits]
        best = min(best, max(ends) - start)
    return best


def is_phrase(hits):
    for start in hits[0][0]:
        at, ok = start, True
        for term, size in hits:
            ok = ok and at in term
            at += size
        if ok:
            return True
    return False


def expected(table, row, terms):
    """The features of a row. table: rows of lists of tokens."""
    result, present_anywhere = [], set()
    rows = len(table)
    for column in range(len(row)):
        text = row[column]
        average = sum(len(other[column]) for other in table) / rows
        hits = [(term.starts(column, text), len(term.words)) for term in terms]
        present = [index for index, (starts, _) in enumerate(hits) if starts]
        present_anywhere.update(present)
        bm25 = 0.0
        for index in present:
            having = sum(bool(terms[index].starts(column, other[column])) for other in table)
            count = len(hits[index][0])
            bm25 += idf(rows, having) * count * (K + 1) / (count + K * (1 - B + B * len(text) / average))
        found = [hits[index] for index in present]
        size = sum(size for _, size in found)
        result += [
            bm25,
            sum(len(starts) for starts, _ in hits),
            len(present) / len(terms),
            1 / (1 + min(min(starts) for starts, _ in found)) if found else 0,
            min(1, size / smallest_window(found)) if found else 0,
            float(len(present) == len(terms) and is_phrase(hits)),
            len(text),
        ]
    idf_sum = 0.0
    for index in sorted(present_anywhere):
        having = sum(any(terms[index].starts(c, text) for c, text in enumerate(other)) for other in table)
        idf_sum += idf(rows, having)
    return [*result, idf_sum]


def random_table(rng):
    columns = rng.randint(1, 3)
    return [
        [" ".join(rng.choice(WORDS) for _ in range(rng.choice([0, 1, 3, 10, 30]))) for _ in range(columns)]
        for _ in range(rng.randint(1, 40))
    ]


def random_terms(rng, kind, columns):
    """FTS5 refuses phrases without positions, and limits to columns without columns."""
    terms = []
    for _ in range(rng.randint(1, 4)):
        size = 1 if kind.startswith("detail") else rng.choice([1, 1, 1, 2, 3])
        words = [rng.choice(WORDS) for _ in range(size)]
        limited = kind != "detail=none" and rng.random() < 0.3
        limit = sorted(rng.sample(range(columns), rng.randint(1, columns))) if limited else None
        terms.append(Term(words, rng.random() < 0.3, limit))
    return terms


def create(db, kind, rows):
    """A full-text table `t` of one of the kinds."""
    columns = [f"c{c}" for c in range(len(rows[0]))]
    names, marks = ", ".join(columns), ", ".join("?" for _ in columns)
    option = {"plain": "", "contentless": ", content=''", "external": ", content='source'"}.get(kind, f", {kind}")
    db.execute("DROP TABLE IF EXISTS t")
    db.execute("DROP TABLE IF EXISTS source")
    if kind == "external":
        db.execute(f"CREATE TABLE source ({names})")
        db.executemany(f"INSERT INTO source (rowid, {names}) VALUES (?, {marks})", rows_with_ids(rows))
    db.execute(f"CREATE VIRTUAL TABLE t USING fts5({names}{option})")
    if kind == "external":
        db.execute("INSERT INTO t (t) VALUES ('rebuild')")
    else:
        db.executemany(f"INSERT INTO t (rowid, {names}) VALUES (?, {marks})", rows_with_ids(rows))


def rows_with_ids(rows):
    return [(number, *row) for number, row in enumerate(rows)]


def single(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


def compare(db, rng, kind):
    """One random table and query; returns the numbers compared, and how many are not the rounded number exactly."""
    rows = random_table(rng)
    terms = random_terms(rng, kind, len(rows[0]))
    create(db, kind, rows)
    table = [[tokens(text) for text in row] for row in rows]
    order = rng.choice(["", " ORDER BY rank", " ORDER BY rowid DESC"])
    sql = "SELECT rowid, ltr_fts(t) FROM t WHERE t MATCH ?" + order
    compared = inexact = 0
    for rowid, blob in db.execute(sql, (" OR ".join(term.sql() for term in terms),)):
        found = struct.unpack(f"<{len(blob) // 4}f", blob)
        wanted = expected(table, table[rowid], terms)
        assert len(found) == len(wanted) == len(FEATURES) * len(rows[0]) + 1
        for got, want in zip(found, wanted):
            # Half a unit in the last place of f32, and 1e-9 for the computation.
            assert abs(got - want) <= 2**-24 * abs(want) + 1e-9, (kind, rows[rowid], [t.sql() for t in terms], got, want)
            compared += 1
            inexact += got != single(want)
    return compared, inexact


def random_tables():
    db, rng = connect(), random.Random(17)
    kinds = ["plain", "plain", "contentless", "external", "detail=column", "detail=none", "columnsize=0", "prefix='2'"]
    compared = inexact = 0
    for number in range(1000):
        kind = kinds[number % len(kinds)]
        one, two = compare(db, rng, kind)
        compared, inexact = compared + one, inexact + two
    assert compared > 50_000 and inexact * 10_000 <= compared, (compared, inexact)
    print(f"ltr_fts on 1000 random tables: {compared} numbers, {inexact} of them not the f32 of Python's number")


TOKENIZERS = [
    "unicode61",
    "unicode61 remove_diacritics 0 tokenchars ''+ \"''",
    "unicode61 separators ''abc''",
    "unicode61 categories ''L* N* Co S*''",
    "ascii",
    "ascii tokenchars ''-_\"''",
    "porter",
    "porter ascii",
    "trigram",
    "trigram case_sensitive 1",
]
CONTENTS = {
    "full": "",
    "empty": "",
    "deleted": "",
    "contentless": ", content=''",
    "external": ", content='source'",
    "gone": ", content='lost'",
    "columns": ", detail=column",
    "nothing": ", detail=none, columnsize=0",
    "short": ", prefix='1 2'",
}
ROW = "VALUES (1, 'red running shoes', 'don''t AND NOT 5\" NEAR')"


def tables(db):
    """A table of each tokenizer and each kind of content, with its name."""
    for table in ("source", "lost"):
        db.execute(f"CREATE TABLE {table} (a, b)")
        db.execute(f"INSERT INTO {table} (rowid, a, b) {ROW}")
    for number, tokenizer in enumerate(TOKENIZERS):
        for kind, options in CONTENTS.items():
            name = f"{kind}_{number}"
            db.execute(f"CREATE VIRTUAL TABLE {name} USING fts5(a, b, tokenize='{tokenizer}'{options})")
            if kind != "empty":
                db.execute(f"INSERT INTO {name} (rowid, a, b) {ROW}")
            if kind == "deleted":
                db.execute(f"DELETE FROM {name}")
            yield name, kind
    db.execute("DELETE FROM lost")


def degenerate_texts():
    """Texts that FTS5 never gives its tokenizers: each with each table, and the features of the matches."""
    db = connect()
    texts = ["", None, b"", "\0", "\0\0\0", " ", '"', '""', "a", "ab", "abc", "\xe9", "\u6771\u4eac", "\U0001f600", "\ufeff", "red\0shoes"]
    texts += [b"\xff", b"\xf0\x9f", b"\xc3", "red\xc3", "*", "^", "+", "-", "'", "(", 0, -1, 1.5, float("inf"), "red" * 1000, "a " * 2000]
    made, calls, found = list(tables(db)), 0, 0
    for name, kind in made:
        for text in texts:
            for words in ("any", "all"):
                for prefix in ("false", "true"):
                    options = f'{{"table": "{name}", "words": "{words}", "prefix": {prefix}}}'
                    (query,) = db.execute("SELECT ltr_fts_query(?, ?)", (text, options)).fetchone()
                    assert text not in ("", None, b"") or query == '""', (name, text, query)
                    calls += 1
                    if kind in ("columns", "nothing"):
                        # FTS5 refuses phrases there.
                        continue
                    rows = db.execute(f"SELECT ltr_fts({name}) FROM {name} WHERE {name} MATCH ?", (query,)).fetchall()
                    assert all(len(features) == 60 for (features,) in rows), (name, text, query)
                    found += len(rows)
    assert found > 100, found
    print(f"ltr_fts_query with a table: {calls} calls on {len(made)} tables, {found} rows")


def hostile_texts():
    """FTS5 accepts the query of every text."""
    db, rng = connect(), random.Random(18)
    made = [name for name, kind in tables(db) if kind not in ("columns", "nothing")]
    pieces = ['"', "'", "*", "^", "(", ")", "+", "-", ":", "{", "}", ",", ".", "\\", ";", "--", "/*", "\0", "\n", "\t", " "]
    pieces += ["AND", "OR", "NOT", "NEAR", "NEAR(", "a", "red", "run", "\u201c", "\u201d", "\xab", "\xbb", "\xe9", "e\u0301"]
    pieces += ["\u6771\u4eac", "\U0001f600", "\u200d", "\ufeff", "\u202e", "\u0e33", "5", "1e9", "rank", "a:", "%", "\x7f", "\x01"]
    queries = 0
    for number in range(100_000):
        if number % 2:
            text = "".join(rng.choice(pieces) for _ in range(rng.randint(0, 12)))
        else:
            text = "".join(chr(rng.choice([rng.randint(0, 0x2FF), rng.randint(0, 0xD7FF)])) for _ in range(rng.randint(0, 8)))
        table = rng.choice(made)
        options = rng.choice(["{}", '{"words": "all"}', '{"prefix": true}', '{"words": "all", "prefix": true}'])
        if rng.random() < 0.5:
            options = options.replace("{", f'{{"table": "{table}"' + (", " if ":" in options else ""))
        try:
            db.execute(f"SELECT ltr_fts({table}) FROM {table} WHERE {table} MATCH ltr_fts_query(?, ?)", (text, options)).fetchall()
        except sqlite3.Error as error:
            raise AssertionError(f"{text!r} {options}: {error}") from error
        queries += 1
    for bytes_ in [b"\xff\xfe red", b"\xc3", b'"\xf0\x9f', b"\xed\xa0\x80"]:
        for cast in ["?", "CAST(? AS TEXT)"]:
            db.execute(f"SELECT * FROM full_0 WHERE full_0 MATCH ltr_fts_query({cast})", (bytes_,)).fetchall()
    print(f"FTS5 accepted all {queries} queries of ltr_fts_query")


random_tables()
degenerate_texts()
hostile_texts()
