"""Calls SQL functions on a data frame, in a temporary in-memory database."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlite_ltr._error import ROW, in_python, of_driver
from sqlite_ltr._frame import Frame, sizes_to_ids, to_list
from sqlite_ltr._load import connect
from sqlite_ltr._progress import take_progress

# The name of the group column, and the names that SQL recognizes as the query.
_GROUP = "query_id"
QUERY_NAMES = ("query_id", "qid", "query", "user_id", "user")


@contextmanager
def database(frame: Frame | None, tick: Callable[[], int] = lambda: 0) -> Iterator[Any]:
    """Open an in-memory database with the columns as the table `frame`, and close it at the end.

    SQLite calls `tick` while a statement runs.
    """
    connection = connect()
    try:
        if frame is not None:
            create(connection, "frame", frame)
        connection.set_progress_handler(tick, 1000)
        yield connection
    finally:
        connection.close()
        getattr(tick, "close", int)()


def create(connection: Any, table: str, frame: Frame) -> None:
    """Create a table with a frame's columns."""
    connection.execute(f"CREATE TABLE {table}({', '.join(map(quote, frame.names))})")
    insert(connection, table, frame)


def insert(connection: Any, table: str, frame: Frame) -> None:
    """Insert a frame's rows into a table with the same number of columns."""
    connection.execute("BEGIN")
    values = ", ".join("?" * len(frame.names))
    try:
        connection.executemany(f"INSERT INTO {table} VALUES ({values})", zip(*frame.columns))
    except OverflowError as error:
        raise ValueError(frame.beyond_64_bits()) from error
    connection.execute("COMMIT")


def quote(name: str) -> str:
    """Return a name quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def select(connection: Any, sql: str, *arguments: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a statement. Ctrl-C raises KeyboardInterrupt."""
    try:
        rows: list[tuple[Any, ...]] = connection.execute(sql, arguments).fetchall()
    except Exception as error:
        found = of_driver(error)
        if found is None:
            raise
        raise found from None
    return rows


def scalar(connection: Any, sql: str, *arguments: Any) -> Any:
    """Return the only value of a statement with one row and one column."""
    ((found,),) = select(connection, sql, *arguments)
    return found


def table(frame: Frame, connection: Any, names: str, source: str, *arguments: Any) -> Any:
    """Return columns of a table-valued function as a frame of the same kind. Names are separated by `, `."""
    return frame.table(names.split(", "), select(connection, f"SELECT {names} FROM {source}", *arguments))


def to_json(options: Mapping[str, Any]) -> str:
    """Return options as JSON; numpy arrays and numbers are allowed."""
    return json.dumps(options, default=to_list)


def card(connection: Any, model: bytes | None) -> dict[str, Any]:
    """Return the result of `ltr_info` for a model."""
    if not isinstance(model, (bytes, bytearray, memoryview)):
        raise TypeError(
            f"a model is bytes, not {type(model).__qualname__}: from train(), model_ of an LtrRanker, Model.load(), "
            "import_model() of another library's model, or from the database where it is stored: "
            "SELECT model FROM ltr_models WHERE name = 'rank_svm' AND active"
        )
    found: dict[str, Any] = json.loads(scalar(connection, "SELECT ltr_info(?)", model))
    return found


def warn_again(connection: Any) -> None:
    """Issue the warnings of the last library call, attributed to the caller of the public function."""
    for (text,) in select(connection, "SELECT value FROM json_each(ltr_debug(), '$.last_warnings')"):
        warn(in_python(text))


def warn(text: str) -> None:
    """Issue a warning attributed to the line outside this package."""
    level, frame = 1, sys._getframe()
    inside = ("sqlite_ltr", "contextlib")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in inside:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, UserWarning, stacklevel=level)


def text_columns(roles: Mapping[str, Any], columns: Mapping[str, Any]) -> list[str]:
    """Return a warning if text columns are not features. Ratings have no features at all."""
    wanted = [name.lower() for name in columns.get("ignore", ())]
    names = [name for name in roles["ignored"] if name.lower() not in wanted]
    if not names or not roles["features"]:
        return []
    ignore = json.dumps({"columns": {"ignore": names}})
    return [
        f"columns without numbers are not features: {', '.join(names)}. Encode them as numbers, or drop them, or pass "
        f"options={ignore}"
    ]


def add_group(frame: Frame, group: Iterable[int] | None, roles: Mapping[str, str]) -> dict[str, str]:
    """Add a query column if groups are given, and return its role."""
    if group is None:
        return {}
    taken = [roles["query"]] if "query" in roles else [name for name in QUERY_NAMES if frame.position(name) is not None]
    if taken:
        raise ValueError(f'give either group or the query column "{taken[0]}", not both')
    frame.add(_GROUP, sizes_to_ids(group, frame.rows))
    return {"query": _GROUP}


def with_columns(options: Mapping[str, Any] | None, roles: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the options with column roles added. Roles that are None are omitted."""
    options = as_dict("options", options, {"lambda": 0.1})
    columns = as_dict('options["columns"]', options.get("columns"), {"ignore": ["id"]})
    return {**options, "columns": {**columns, **{role: name for role, name in roles.items() if name is not None}}}


def with_parameters(options: Mapping[str, Any] | None, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options, including options given by name. Names reserved in Python end with `_`, as in `lambda_`."""
    named = {name.rstrip("_"): value for name, value in parameters.items()}
    return {**as_dict("options", options, {"lambda": 0.1}), **named}


def as_dict(name: str, value: Mapping[str, Any] | None, example: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a mapping; None counts as empty."""
    if value is not None and not isinstance(value, Mapping):
        raise TypeError(f"{name} is a dictionary such as {json.dumps(example)}, not {type(value).__qualname__}")
    return dict(value or {})


def scores_rows_alone(known: Mapping[str, Any]) -> bool:
    """Return whether scores depend on neither the query nor its other documents, given a model's card."""
    return bool(known["capabilities"]["pointwise"] and not known["capabilities"]["query_dependent"])


def query_column(frame: Frame, known: Mapping[str, Any], columns: Mapping[str, Any]) -> str | None:
    """Return a frame's query column for a model's card and the option `columns`, if there is one."""
    wanted = (columns.get("query"), known["roles"]["query"], *QUERY_NAMES)
    return next((name for name in wanted if name is not None and frame.position(name) is not None), None)


def for_model(
    connection: Any, model: bytes | None, options: Mapping[str, Any] | None, roles: Mapping[str, str]
) -> dict[str, Any]:
    """Return the options for applying a model, which name the document column."""
    known = card(connection, model)["roles"]
    # Ratings and slots need the actual documents: rows are matched by query, document and slot.
    if known["features"] and "slot" not in known:
        return with_columns(options, {**roles, "doc": ROW})
    return with_columns(options, {**{role: known[role] for role in ("query", "doc")}, **roles})


@contextmanager
def applied(
    frame: Frame,
    model: bytes | None,
    group: Iterable[int] | None,
    options: Mapping[str, Any] | None,
    or_column: bool = False,
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Open a database with the frame; yield it and the options for applying the model. Issue warnings at the end.

    With `or_column`, the model may be None, to rank by a column.
    """
    roles = add_group(frame, group, {})
    frame.add(ROW, list(range(frame.rows)))
    options = as_dict("options", options, {"k": 10})
    with database(frame, take_progress(options)) as connection:
        if model is None and or_column:
            yield connection, with_columns(options, {**roles, "doc": ROW})
        else:
            yield connection, for_model(connection, model, options, roles)
        warn_again(connection)
