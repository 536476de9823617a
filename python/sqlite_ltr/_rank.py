"""Training, ranking and measuring of data frames, in a temporary database in memory."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlite_ltr._frame import Frame, read, sizes_to_ids, to_list
from sqlite_ltr._load import memory

# The name of the group column, and the names that SQL takes for the query.
_GROUP = "query_id"
_QUERY_NAMES = ("query_id", "qid", "query", "user_id", "user")
# The columns that `rank` adds.
_ADDED = ("score", "rank")
# The number of the row in the frame is the document, so that a ranking finds its rows again.
_ROW = "row of the frame"


def train(
    df: Any,
    *,
    query: str | None = None,
    relevance: str | None = None,
    doc: str | None = None,
    algorithm: str = "auto",
    group: Iterable[int] | None = None,
    options: Mapping[str, Any] | None = None,
) -> bytes:
    """Train a model on judged documents: one row for each query and document.

    Columns get their roles by name, as in SQL: `query_id`, `relevance`, `doc_id` and others. The remaining numeric
    columns are features. NaN, None and NA are missing values.

    Args:
        df: a data frame of pandas, polars or pyarrow, a mapping of columns, or a list of rows that are mappings.
        query: name of the column with the query of each row.
        relevance: name of the column with the relevance; higher is better.
        doc: name of the column with the document.
        algorithm: an algorithm of `ltr_train`, such as "auto", "rank_svm" or "q_svm".
        group: instead of a query column, the number of rows of each query, in the order of the rows.
        options: options of `ltr_fit`, such as {"lambda": 0.1}.

    Returns:
        The model, as `ltr_fit` returns it. It can be pickled, stored and passed to SQL.

    Raises:
        ValueError, TypeError: the frame or the groups cannot be used; the message says why.
        sqlite3.NotSupportedError: this Python cannot load extensions; see `load`.
        sqlite3.OperationalError: an error of `ltr_fit`, as it is. Rows count from 1.

    Warnings of the training, such as those about columns that are left out, are issued as `UserWarning`.
    """
    frame = read(df)
    roles = {
        role: name for role, name in (("query", query), ("relevance", relevance), ("doc", doc)) if name is not None
    }
    roles |= _add_group(frame, group, roles)
    settings = _with_columns(options, roles)
    with _database(frame) as connection:
        ((model,),) = _select(connection, "SELECT ltr_fit(?, 'frame', ?)", algorithm, _json(settings))
        _warn(connection)
    return bytes(model)


def rank(df: Any, model: bytes, *, group: Iterable[int] | None = None, options: Mapping[str, Any] | None = None) -> Any:
    """Rank the documents of every query.

    Args:
        df: candidates, with the features of the training by name. Without a query column and without `group` all rows
            belong to one query.
        model: from `train` or `ltr_fit`.
        group: the number of rows of each query, in the order of the rows.
        options: options of `ltr_rank`, such as {"k": 10}.

    Returns:
        A frame of the same kind with two more columns, `score` and `rank` (1 is best). Rows keep their order. Equal
        scores are ranked in the order of the rows. Rows that are in no list, because of `k`, are left out.

    Raises:
        ValueError, TypeError: the frame or the groups cannot be used; the message says why.
        sqlite3.NotSupportedError: this Python cannot load extensions; see `load`.
        sqlite3.OperationalError: an error of `ltr_rank`, as it is. Rows count from 1.
    """
    frame = read(df)
    for name in _ADDED:
        if frame.position(name) is not None:
            raise ValueError(
                f'the data frame has a column "{name}", which rank() adds: rename it, for a feature in the training '
                "too, or drop it"
            )
    ranking = _ranking(frame, model, group, options)
    kept = None if len(ranking) == frame.rows else [row for row, _, _ in ranking]
    return frame.extend(kept, [score for _, score, _ in ranking], [rank for _, _, rank in ranking])


def scores(df: Any, model: bytes) -> list[float]:
    """Return the score of each row. The frame may have any column."""
    return [score for _, score, _ in _ranking(read(df), model, None, None)]


def evaluate(
    df: Any, model: bytes, *, group: Iterable[int] | None = None, options: Mapping[str, Any] | None = None
) -> dict[str, float]:
    """Measure a model on judged documents.

    Args:
        df: as for `rank`, with the relevance in a column of the same name as in the training.
        model: from `train` or `ltr_fit`.
        group: the number of rows of each query, in the order of the rows.
        options: options of `ltr_evaluate`, such as {"metric": ["ndcg@10", "map"]}.

    Returns:
        The mean of each metric over the queries, by name; by default {"ndcg@10": ...}. Queries without a relevant
        document are left out of the mean; if no query has one, the value is NaN.

    Raises:
        ValueError, TypeError, sqlite3.NotSupportedError, sqlite3.OperationalError: as `rank`.
    """
    sql = "SELECT metric, value FROM ltr_evaluate(?, 'frame', ?) WHERE query_id IS NULL"
    means, _ = _apply(read(df), model, group, options, sql)
    return {metric: float("nan") if value is None else value for metric, value in means}


def info(model: bytes) -> dict[str, Any]:
    """Return the card of a model: algorithm, roles of the columns, settings and training, as `ltr_info` has them."""
    with _database(None) as connection:
        return _info(connection, model)


def _ranking(
    frame: Frame, model: bytes, group: Iterable[int] | None, options: Mapping[str, Any] | None
) -> list[tuple[int, float, int]]:
    """Return row, score and rank of the ranked rows, in their order in the frame."""
    sql = "SELECT query_id, doc_id, slot, score, rank FROM ltr_rank(?, 'frame', ?)"
    results, columns = _apply(frame, model, group, options, sql)
    rows = _find_rows(frame, columns, results)
    return sorted((row, score, rank) for row, (*_, score, rank) in zip(rows, results))


def _apply(
    frame: Frame, model: bytes, group: Iterable[int] | None, options: Mapping[str, Any] | None, sql: str
) -> tuple[list[tuple[Any, ...]], Mapping[str, str]]:
    """Return the rows of a statement that applies a model to the frame, and the option `columns` of the call."""
    roles = _add_group(frame, group, {})
    frame.add(_ROW, list(range(frame.rows)))
    with _database(frame) as connection:
        settings = _for_model(connection, model, options, roles)
        results = _select(connection, sql, model, _json(settings))
        _warn(connection)
    return results, settings["columns"]


@contextmanager
def _database(frame: Frame | None) -> Iterator[Any]:
    """Open a database in memory with the columns as the table `frame`, and close it at the end."""
    connection = memory()
    try:
        if frame is not None:
            names = ", ".join('"' + name.replace('"', '""') + '"' for name in frame.names)
            connection.execute(f"CREATE TABLE frame({names})")
            connection.execute("BEGIN")
            values = ", ".join("?" * len(frame.names))
            try:
                connection.executemany(f"INSERT INTO frame VALUES ({values})", zip(*frame.columns))
            except OverflowError as error:
                raise ValueError(frame.beyond_64_bits()) from error
            connection.execute("COMMIT")
        # Python handles Ctrl-C when it runs Python code: this function, which SQLite calls during a training.
        connection.set_progress_handler(lambda: 0, 1000)
        yield connection
    finally:
        connection.close()


def _select(connection: Any, sql: str, *arguments: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a statement. Ctrl-C raises KeyboardInterrupt."""
    try:
        rows: list[tuple[Any, ...]] = connection.execute(sql, arguments).fetchall()
    except Exception as error:
        if str(error) == "interrupted" or str(error).endswith(": interrupted"):
            raise KeyboardInterrupt from error
        raise
    return rows


def _json(options: Mapping[str, Any]) -> str:
    """Return options as JSON; arrays and numbers of numpy are allowed."""
    return json.dumps(options, default=to_list)


def _info(connection: Any, model: bytes) -> dict[str, Any]:
    if not isinstance(model, (bytes, bytearray, memoryview)):
        raise TypeError(
            f"a model is bytes, not {type(model).__qualname__}: from train(), or from the database where it is stored: "
            "SELECT model FROM ltr_models WHERE name = 'rank_svm' AND active"
        )
    ((text,),) = _select(connection, "SELECT ltr_info(?)", model)
    card: dict[str, Any] = json.loads(text)
    return card


def _warn(connection: Any) -> None:
    """Issue the warnings of the last call of the library, as from the caller of the public function."""
    texts = _select(connection, "SELECT value FROM json_each(ltr_debug(), '$.last_warnings')")
    for (text,) in texts:
        warn(text)


def warn(text: str) -> None:
    """Issue a warning that names the line outside of this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == os.path.dirname(__file__):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, UserWarning, stacklevel=level)


def _text_columns(roles: Mapping[str, Any], columns: Mapping[str, Any]) -> list[str]:
    """Return a warning if columns of text are no features. Ratings have no features at all."""
    wanted = [name.lower() for name in columns.get("ignore", ())]
    names = [name for name in roles["ignored"] if name.lower() not in wanted]
    if not names or not roles["features"]:
        return []
    ignore = json.dumps({"columns": {"ignore": names}})
    return [
        f"columns without numbers are no features: {', '.join(names)}. Encode them as numbers, or drop them, or pass "
        f"options={ignore}"
    ]


def _add_group(frame: Frame, group: Iterable[int] | None, roles: Mapping[str, str]) -> dict[str, str]:
    """Add the column of the query if groups are given, and return its role."""
    if group is None:
        return {}
    taken = (
        [roles["query"]] if "query" in roles else [name for name in _QUERY_NAMES if frame.position(name) is not None]
    )
    if taken:
        raise ValueError(f'give either group or the query column "{taken[0]}", not both')
    frame.add(_GROUP, sizes_to_ids(group, frame.rows))
    return {"query": _GROUP}


def _with_columns(options: Mapping[str, Any] | None, roles: Mapping[str, str]) -> dict[str, Any]:
    """Return the options with the roles of columns added."""
    options = as_dict("options", options, {"lambda": 0.1})
    columns = as_dict('options["columns"]', options.get("columns"), {"ignore": ["id"]})
    return {**options, "columns": {**columns, **roles}}


def as_dict(name: str, value: Mapping[str, Any] | None, example: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a mapping; None is an empty one."""
    if value is not None and not isinstance(value, Mapping):
        raise TypeError(f"{name} is a dictionary such as {json.dumps(example)}, not {type(value).__qualname__}")
    return dict(value or {})


def _for_model(
    connection: Any, model: bytes, options: Mapping[str, Any] | None, roles: Mapping[str, str]
) -> dict[str, Any]:
    """Return the options to apply a model: they name the column of the document."""
    known = _info(connection, model)["roles"]
    # Ratings and slots need the documents themselves: rows are found again by query, document and slot.
    if known["features"] and "slot" not in known:
        return _with_columns(options, {**roles, "doc": _ROW})
    trained = {role: known[role] for role in ("query", "doc")}
    return _with_columns(options, {**trained, **roles})


def _find_rows(frame: Frame, columns: Mapping[str, str], results: Sequence[tuple[Any, ...]]) -> list[int]:
    """Return the row of the frame of each row of a ranking (query, document, slot, ...)."""
    if columns["doc"] == _ROW:
        return [result[1] for result in results]
    has_slots = any(slot is not None for _, _, slot, *_ in results)
    names = [columns["query"], columns["doc"], *(["slot"] if has_slots else [])]
    rows = defaultdict(list)
    for row, key in enumerate(zip(*map(frame.column, names))):
        rows[key].append(row)
    return [rows[result[: len(names)]].pop(0) for result in results]
