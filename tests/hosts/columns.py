"""Random tables of 33 kinds of columns: SQL and the Python package read them in the same way, with the same messages, and train
the same models, for any order of rows. tests/sql/random_tables.rs compares SQL with Rust.

columns.py LIBRARY [TABLES [SEED]]      200 tables by default; prints what was read, fails with an assertion
"""

import collections
import datetime
import decimal
import json
import os
import random
import sqlite3
import sys
import types
import warnings

LIBRARY = os.path.abspath(sys.argv[1])
TABLES, SEED = (int(text) for text in (sys.argv[2:] + ["200", "1"][len(sys.argv) - 2 :])[:2])
# Instead of this folder, whose platform.py is none of the standard library.
sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python")

# The module that the build of the wheel writes.
sys.modules["sqlite_ltr._version"] = types.ModuleType("sqlite_ltr._version")
sys.modules["sqlite_ltr._version"].__version__ = "0"
import sqlite_ltr  # noqa: E402
import sqlite_ltr._load  # noqa: E402
from sqlite_ltr._error import in_python as in_words_of_python  # noqa: E402

sqlite_ltr._load.loadable_path = lambda: LIBRARY

DAY = datetime.date(2021, 3, 7)
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def day(x):
    return DAY + datetime.timedelta(int(x))


def clock(x):
    return f"{x // 60}:{x % 60:02}"


# Kinds of columns: for a whole number from 0 to 9999 the value in a frame, and in SQL if it is written in another way.
KINDS = {
    "whole": lambda x: x,
    "real": lambda x: x / 8,
    "digits": str,
    "decimals": lambda x: f"{x / 8:.3f}",
    "decimal": (lambda x: decimal.Decimal(x) / 8, lambda x: x / 8),
    "truth": (lambda x: x % 2 == 0, lambda x: int(x % 2 == 0)),
    "dollars": lambda x: f"${x:,}.50",
    "rupees": lambda x: f"Rs. {x}",
    "euros": lambda x: f"{x:,}.{x % 90 + 10} €".translate({44: 46, 46: 44}),
    "francs": lambda x: f"CHF {x}.25",
    "currencies": lambda x: f"{'$€'[x % 2]}{x}",
    "percent": lambda x: f"{x / 4} %",
    "minus": lambda x: f"\u2212{x}.5",
    "thousands": lambda x: f"{x % 9 + 1},{x % 1000:03}",
    "magnitude": lambda x: f"{x % 70}{'KM'[x % 2]}",
    "unit": lambda x: f"{x} kg",
    "range": lambda x: f"{x}-{x + 7}",
    "size": lambda x: f"{x}x{x % 7}",
    "place": lambda x: f"POINT ({x / 8} -{x % 90}.5)",
    "list": lambda x: f"[{x} {x % 7}]",
    "version": lambda x: f"{x % 3}.{x % 7}.{x % 11}",
    "zeros": lambda x: f"{x % 500:05}",
    "date": (day, lambda x: day(x).isoformat()),
    "datetime": (
        lambda x: datetime.datetime(2021, 3, 7) + datetime.timedelta(minutes=x),
        lambda x: f"{DAY + datetime.timedelta(x // 1440)} {x // 60 % 24:02}:{x % 60:02}:00",
    ),
    "words": lambda x: f"{MONTHS[day(x).month - 1]} {day(x).day}, {day(x).year}",
    "american": lambda x: f"{day(x):%m/%d/%Y}",
    "german": lambda x: f"{day(x):%d.%m.%Y}",
    "clock": clock,
    "duration": lambda x: f"{x // 60}h {x % 60}m",
    "timedelta": (lambda x: datetime.timedelta(seconds=x), lambda x: str(datetime.timedelta(seconds=x))),
    "object": (lambda x: {"bm25": x / 8, "clicks": x % 5}, lambda x: f'{{"bm25": {x / 8}, "clicks": {x % 5}}}'),
    "log": (
        lambda x: [{"name": "title", "value": x / 4}, {"name": "body", "value": x % 7}],
        lambda x: f'[{{"name": "title", "value": {x / 4}}}, {{"name": "body", "value": {x % 7}}}]',
    ),
    "brand": lambda x: "abcde"[x % 5],
}


TEXTS = [kind for kind, write in KINDS.items() if not isinstance(write, tuple) and isinstance(write(0), str)]


def table(chance):
    """Names, columns of a frame, and the same columns as SQL has them."""
    queries, documents = chance.randint(4, 30), chance.randint(4, 9)
    rows = queries * documents
    names = ["query_id", "doc_id", "relevance"]
    frame = [[row // documents for row in range(rows)], list(range(rows)), None]
    sql = [*frame]
    best = [0.0] * rows
    for kind in chance.sample(list(KINDS), chance.randint(2, 7)):
        of_frame, of_sql = KINDS[kind] if isinstance(KINDS[kind], tuple) else (KINDS[kind],) * 2
        numbers = [chance.randrange(chance.choice([20, 10000])) for _ in range(rows)]
        empty = {row for row in range(rows) if chance.random() < 0.1} if chance.random() < 0.2 else set()
        best = [score + number % 100 for score, number in zip(best, numbers)]
        names.append(f"{kind}_{len(names)}")
        frame.append([None if row in empty else of_frame(number) for row, number in enumerate(numbers)])
        sql.append([None if row in empty else of_sql(number) for row, number in enumerate(numbers)])
    # A property of the query, and its day.
    for name in chance.sample(["q_value", "day"], chance.randint(0, 2)):
        of_frame, of_sql = (KINDS["date"] if name == "day" else (KINDS[chance.choice(TEXTS)],) * 2)
        numbers = [chance.randrange(10000) for _ in range(queries)]
        names.append(name)
        frame.append([of_frame(numbers[row // documents]) for row in range(rows)])
        sql.append([of_sql(numbers[row // documents]) for row in range(rows)])
    middle = sorted(best)[rows // 2]
    frame[2] = sql[2] = [int(score > middle) for score in best]
    return names, frame, sql


def in_sql(names, columns, algorithm, options):
    """The model or the error, the warnings, and what became of each column."""
    connection = sqlite3.connect(":memory:")
    connection.enable_load_extension(True)
    connection.load_extension(LIBRARY)
    connection.execute(f"CREATE TABLE frame({', '.join(names)})")
    connection.executemany(f"INSERT INTO frame VALUES ({', '.join('?' * len(names))})", zip(*columns))
    try:
        (model,) = connection.execute("SELECT ltr_fit(?, 'frame', ?)", [algorithm, json.dumps(options)]).fetchone()
    except sqlite3.OperationalError as error:
        return in_words_of_python(str(error)), [], []
    (found,) = connection.execute("SELECT ltr_debug() -> 'last_warnings'").fetchone()
    (report,) = connection.execute(
        "SELECT ltr_train(?, 'frame', ?)", [algorithm, json.dumps({**options, "name": "m"})]
    ).fetchone()
    # Rankings read what the training read.
    (ranked,) = connection.execute("SELECT count(*) FROM ltr_rank('m', 'frame')").fetchone()
    assert ranked == len(columns[0])
    found = sorted(map(in_words_of_python, json.loads(found)))
    return model, found, json.loads(report)["columns"]


def in_python(names, columns, algorithm, options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = sqlite_ltr.train(dict(zip(names, columns)), algorithm=algorithm, options=options)
        except sqlite3.OperationalError as error:
            return str(error), [], []
    return model, sorted(str(warning.message) for warning in caught), model.report["columns"]


def differ(one, other):
    """Where two outcomes differ; models are not shown."""
    pairs = [pair for pair in zip(one, other) if pair[0] != pair[1]]
    return [pair for pair in pairs if not any(isinstance(part, bytes) for part in pair)] or "models"


def main():
    usages, errors = collections.defaultdict(collections.Counter), 0
    for number in range(TABLES):
        chance = random.Random(f"{SEED} {number}")
        names, frame, sql = table(chance)
        options = {"lambda": 0.1}
        if chance.random() < 0.4:
            options["missing"] = chance.choice(["mean", "zero"])
        algorithm = "rank_svm"
        if "day" in names and chance.random() < 0.5:
            options.update(split_by="day", **{"lambda": [0.1, 10]})
        if "q_value" in names and chance.random() < 0.5:
            algorithm, options["neighbors"] = "knn_svm", 3
        by_sql = in_sql(names, sql, algorithm, options)
        by_python = in_python(names, frame, algorithm, options)
        assert by_sql == by_python, (number, names, differ(by_sql, by_python))
        errors += isinstance(by_sql[0], str)
        order = list(range(len(sql[0])))
        chance.shuffle(order)
        shuffled = in_sql(names, [[column[row] for row in order] for column in sql], algorithm, options)
        is_error = isinstance(shuffled[0], str) and isinstance(by_sql[0], str)
        # An error names the first row that has it.
        assert shuffled == by_sql or is_error, (number, names, differ(by_sql, shuffled))
        for column in by_sql[2][3:]:
            kind = column["name"].rpartition("_")[0] or "keys"
            usages[kind][column["usage"] if "form" not in column else column["form"].split(" ")[0]] += 1
    for kind, counts in sorted(usages.items()):
        print(f"{kind:12}", dict(counts))
    print(f"{TABLES} tables, {errors} errors that both give; the same models, columns, warnings and errors")


main()
