"""The golden SQL of `tests/slt` in the SQLite of this Python, with the loadable library.

slt.py LIBRARY [FILE...]    compares as `tests/sql/slt.rs` does; prints every difference, and fails if there is one
"""

import pathlib
import re
import sqlite3
import sys

FOLDER = pathlib.Path(__file__).parents[1] / "slt"
TYPES = {int: "I", float: "R", str: "T"}

# What older versions of SQLite answer differently: file, a part of the SQL, the first version that agrees, and the reason.
# A line that no version needs any more fails.
DIGITS = "numbers in JSON have 15 digits"
EXCEPTIONS = [
    ("numbers.slt", "unhex(", (3, 42), "no unhex()"),
    ("numbers.slt", "FROM (SELECT ltr_train('rank_svm', 'doubles'", (3, 42), "no unhex()"),
    ("query_features.slt", "SELECT report ->> 'lambda' FROM ltr_models WHERE name = 'rates'), 'bandwidth'", (3, 53), DIGITS),
    ("rank.slt", "EXPLAIN QUERY PLAN", (3, 49), "EXPLAIN QUERY PLAN has no estimates"),
    ("rank.slt", "json_array(price, fit) AS features FROM candidates') b", (3, 53), DIGITS),
    ("rank.slt", "FULL JOIN", (3, 39), "no FULL JOIN"),
    ("score.slt", "json_array(c.price, c.fit)", (3, 53), DIGITS),
    ("security.slt", "CREATE TABLE checked", (3, 53), "CHECK may call functions that are for direct use only"),
]


class Record:
    """A record: its first line, the statements, and the expected rows or error."""

    def __init__(self, line, kind, arguments, sql, expected):
        self.line, self.kind, self.arguments, self.sql, self.expected = line, kind, arguments, sql, expected


def records(file):
    lines = file.read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        first, words = at + 1, lines[at].split()
        at += 1
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "include":
            yield from records(file.parent / words[1])
            continue
        assert words[0] in ("statement", "query"), f"{file.name}:{first}: unknown record {words[0]}"
        sql, expected = [], []
        while at < len(lines) and lines[at] and lines[at] != "----":
            sql.append(lines[at])
            at += 1
        if at < len(lines) and lines[at] == "----":
            at += 1
            # An empty line ends rows, two of them end the message of an error.
            is_error = words[1] == "error"
            while at < len(lines) and (lines[at] or (is_error and at + 1 < len(lines) and lines[at + 1])):
                expected.append(lines[at])
                at += 1
        yield Record(first, words[0], words[1:], "\n".join(sql), expected)


def statements(text):
    start = 0
    for end in [match.end() for match in re.finditer(";", text)] + [len(text)]:
        if text[start:end].strip() and (end == len(text) or sqlite3.complete_statement(text[start:end])):
            yield text[start:end]
            start = end


def cell(value):
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, float):
        # As Rust writes it: an exponent has no plus sign and no zero before it.
        return re.sub(r"e([+-]?)0*(\d)", lambda match: "e" + match[1].strip("+") + match[2], repr(value))
    return str(value) or "(empty)"


def normal(text):
    return " ".join(text.split())


def run(db, sql):
    rows, columns = [], 0
    for statement in statements(sql):
        cursor = db.execute(statement)
        rows, columns = cursor.fetchall(), len(cursor.description or ())
    return rows, columns


def difference(db, record):
    """What is not as the record says; `None` if all is."""
    is_error = record.arguments[0] == "error"
    try:
        rows, columns = run(db, record.sql)
    except sqlite3.Error as error:
        pattern, text = " ".join(record.arguments[1:]), str(error)
        if not is_error:
            return f"error: {text}"
        # The driver of the Rust tests adds the statement and the place to the errors of the parser.
        wanted = re.sub(r"(?s) in (?=(SELECT|WITH) .* at offset \d+$).*", "", "\n".join(record.expected).strip())
        agrees = re.search(pattern, text) if pattern or not wanted else text.strip() == wanted
        return None if agrees else f"the error is: {text}"
    if is_error:
        return "no error"
    if record.kind == "statement":
        return None
    types = record.arguments[0]
    found = [normal(" ".join(map(cell, row))) for row in rows]
    expected = [normal(line) for line in record.expected]
    if "rowsort" in record.arguments:
        found, expected = sorted(found), sorted(expected)
    if found != expected:
        return "found:\n" + "\n".join(found)
    for index, wanted in enumerate(types):
        kinds = [TYPES[type(row[index])] for row in rows if type(row[index]) in TYPES]
        if columns != len(types) or (kinds and wanted != "?" and kinds[0] != wanted):
            return f"{columns} columns, type {kinds[:1]} of column {index + 1}"
    return None


def exception(file, record):
    """The version that agrees, and the reason why this one does not."""
    for name, part, version, reason in EXCEPTIONS:
        if name == file.name and part in record.sql and sqlite3.sqlite_version_info[:2] < version:
            return reason
    return None


def main():
    files = sorted(FOLDER.glob("*.slt"))
    files = [file for file in files if not sys.argv[2:] or file.stem in sys.argv[2:]]
    count, excepted, problems = 0, 0, []
    for file in files:
        db = sqlite3.connect(":memory:", isolation_level=None)
        db.text_factory = lambda text: text.decode(errors="replace")
        db.enable_load_extension(True)
        db.load_extension(sys.argv[1])
        for record in records(file):
            found, reason = difference(db, record), exception(file, record)
            place = f"{file.name}:{record.line}"
            count, excepted = count + 1, excepted + (reason is not None)
            if found and not reason:
                problems.append(f"{place}: {found}\n    {record.sql}")
            elif reason and not found:
                problems.append(f"{place}: this version agrees; remove it from EXCEPTIONS ({reason})")
    print("\n".join(problems))
    assert len(files) > 15 or sys.argv[2:], f"only {len(files)} files"
    assert not problems, f"{len(problems)} of {count} records"
    print(f"{count} records of {len(files)} files, {excepted} of them known to be different")


main()
