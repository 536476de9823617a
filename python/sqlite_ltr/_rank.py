"""Training, ranking, measuring and explaining of data frames."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, overload

from sqlite_ltr._call import (
    QUERY_NAMES,
    ROW,
    add_group,
    applied,
    card,
    database,
    scalar,
    select,
    table,
    to_json,
    warn,
    warn_again,
    with_columns,
)
from sqlite_ltr._frame import Frame, Rows, read

# The columns that `rank` adds.
_ADDED = ("score", "rank")


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

    Columns get their roles by name, as in SQL: `query_id`, `relevance`, `doc_id` and others. The remaining columns of
    numbers are features, those of texts with few values are categories. NaN, None and NA are missing values.

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
    with _judged(frame, query, relevance, doc, group, options) as (connection, settings):
        model: bytes = scalar(connection, "SELECT ltr_fit(?, 'frame', ?)", algorithm, settings)
        if frame.categorical:
            _warn_of_numbers(frame, card(connection, model)["roles"]["features"] or [])
    return model


def _warn_of_numbers(frame: Frame, features: Sequence[str]) -> None:
    """Warn about columns of a categorical type that became features of numbers."""
    names = [name for name in frame.categorical if name in features]
    if names:
        columns = {"columns": {"categories": names}}
        listed = ", ".join(f'"{name}"' for name in names)
        warn(
            f"{listed}: a categorical type whose values are numbers counts as a number; to use the values as features, "
            f"pass options={to_json(columns)}"
        )


def cross_validate(
    df: Rows,
    *,
    query: str | None = None,
    relevance: str | None = None,
    doc: str | None = None,
    algorithm: str = "auto",
    group: Iterable[int] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Rows:
    """Measure trainings by cross-validation over queries.

    Args:
        df: judged documents, as for `train`. So are the other arguments.
        query: name of the column with the query of each row.
        relevance: name of the column with the relevance.
        doc: name of the column with the document.
        algorithm: an algorithm of `ltr_train`.
        group: instead of a query column, the number of rows of each query.
        options: options of `ltr_cross_validate`, such as {"folds": 5, "lambda": [0.01, 0.1, 1]}. Each combination of
            the arrays is a setting.

    Returns:
        A frame of the same kind with the columns `setting` (JSON), `fold`, `metric`, `value` and `seconds`.

    Raises:
        ValueError, TypeError, sqlite3.NotSupportedError, sqlite3.OperationalError: as `train`.
    """
    names, frame = "setting, fold, metric, value, seconds", read(df)
    with _judged(frame, query, relevance, doc, group, options) as (connection, settings):
        folds: Rows = table(frame, connection, names, "ltr_cross_validate(?, 'frame', ?)", algorithm, settings)
    return folds


def rank(
    df: Rows, model: bytes, *, group: Iterable[int] | None = None, options: Mapping[str, Any] | None = None
) -> Rows:
    """Rank the documents of every query.

    Args:
        df: candidates, with the features of the training by name. Without a query column and without `group` all rows
            belong to one query.
        model: from `train` or `ltr_fit`.
        group: the number of rows of each query, in the order of the rows.
        options: options of `ltr_rank`, such as {"k": 10}.

    Returns:
        A frame of the same kind with two more columns, `score` and `rank` (1 is best). Rows keep their order. Equal
        scores are ranked in the order of the rows. Rows that are in no list, because of `k`, are left out. Other
        Arrow objects than those of pyarrow and polars become a table of pyarrow.

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
    ranked: Rows = frame.extend(kept, [score for _, score, _ in ranking], [rank for _, _, rank in ranking])
    return ranked


def scores(df: Any, model: bytes) -> list[float]:
    """Return the score of each row. The frame may have any column."""
    return [score for _, score, _ in _ranking(read(df), model, None, None)]


@overload
def evaluate(
    df: Any,
    model: bytes,
    *,
    group: Iterable[int] | None = None,
    options: Mapping[str, Any] | None = None,
    per_query: Literal[False] = False,
) -> dict[str, float]: ...


@overload
def evaluate(
    df: Rows,
    model: bytes,
    *,
    group: Iterable[int] | None = None,
    options: Mapping[str, Any] | None = None,
    per_query: Literal[True],
) -> Rows: ...


def evaluate(
    df: Any,
    model: bytes,
    *,
    group: Iterable[int] | None = None,
    options: Mapping[str, Any] | None = None,
    per_query: bool = False,
) -> Any:
    """Measure a model on judged documents.

    Args:
        df: as for `rank`, with the relevance in a column of the same name as in the training.
        model: from `train` or `ltr_fit`.
        group: the number of rows of each query, in the order of the rows.
        options: options of `ltr_evaluate`, such as {"metric": ["ndcg@10", "map"]}.
        per_query: return the metrics of each query in place of the means.

    Returns:
        The mean of each metric over the queries, by name; by default {"ndcg@10": ...}. Queries without a relevant
        document are left out of the mean; if no query has one, the value is NaN. With `per_query` a frame of the same
        kind with the columns `query_id`, `metric` and `value`, missing for queries without a relevant document.

    Raises:
        ValueError, TypeError, sqlite3.NotSupportedError, sqlite3.OperationalError: as `rank`.
    """
    frame, source = read(df), "ltr_evaluate(?, 'frame', ?) WHERE query_id IS"
    with applied(frame, model, group, options) as (connection, settings):
        arguments = model, to_json(settings)
        if per_query:
            return table(frame, connection, "query_id, metric, value", f"{source} NOT NULL", *arguments)
        means = select(connection, f"SELECT metric, value FROM {source} NULL", *arguments)
    return {metric: float("nan") if value is None else value for metric, value in means}


def compare(
    df: Rows,
    model_a: bytes,
    model_b: bytes,
    *,
    group: Iterable[int] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Rows:
    """Compare two models on the same judged documents, by a paired test over queries.

    Args:
        df: as for `evaluate`, with the features of both models.
        model_a: from `train` or `ltr_fit`.
        model_b: the other model.
        group: the number of rows of each query, in the order of the rows.
        options: options of `ltr_compare`, such as {"metric": ["ndcg@10", "map"]}.

    Returns:
        A frame of the same kind with one row for each metric: `metric`, `n` (queries), `mean_a`, `mean_b`, `difference`
        (`mean_a - mean_b`), `ci_low`, `ci_high` and `p_value`.

    Raises:
        ValueError, TypeError, sqlite3.NotSupportedError, sqlite3.OperationalError: as `rank`.
    """
    names, frame = "metric, n, mean_a, mean_b, difference, ci_low, ci_high, p_value", read(df)
    with applied(frame, model_a, group, options) as (connection, settings):
        card(connection, model_b)
        arguments = model_a, model_b, to_json(settings)
        compared: Rows = table(frame, connection, names, "ltr_compare(?, ?, 'frame', ?)", *arguments)
    return compared


def explain(
    df: Rows,
    model: bytes,
    row: int,
    *,
    above: int | None = None,
    group: Iterable[int] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Rows:
    """Explain the score of a document: what each feature adds to it.

    Args:
        df: as for `rank`, with all documents of the query.
        model: from `train` or `ltr_fit`.
        row: position of the document in the frame, from 0.
        above: position of another document of the same query: explain why `row` stands above it.
        group: the number of rows of each query, in the order of the rows.
        options: options of `ltr_explain`, such as {"samples": 1000}.

    Returns:
        A frame of the same kind with the columns `feature`, `value`, `contribution` and `standard_error`. The row
        `(base)` is the score of the means of the query. All rows add up to the score. With `above` there is no base,
        `value_a` and `value_b` take the place of `value`, and the rows add up to the difference of the scores.

    Raises:
        ValueError, TypeError, sqlite3.NotSupportedError, sqlite3.OperationalError: as `rank`.
    """
    frame = read(df)
    shown = [row] if above is None else [row, above]
    for position in shown:
        if not 0 <= position < frame.rows:
            raise ValueError(f"no row {position}: the data frame has the rows 0 to {frame.rows - 1}")
    values, function = ("value", "ltr_explain") if above is None else ("value_a, value_b", "ltr_explain_rank")
    names = f"feature, {values}, contribution, standard_error"
    with applied(frame, model, group, options) as (connection, settings):
        columns = settings["columns"]
        wanted = (columns.get("query"), card(connection, model)["roles"]["query"], *QUERY_NAMES)
        query = next((name for name in wanted if name is not None and frame.position(name) is not None), None)
        queries = [None if query is None else frame.column(query)[position] for position in shown]
        if len(set(queries)) > 1:
            raise ValueError(f"rows {row} and {above} belong to different queries: {queries[0]} and {queries[1]}")
        docs = [frame.column(columns["doc"])[position] for position in shown]
        source = f"{function}(?, 'frame', {', '.join('?' * len(docs))}, ?, ?)"
        arguments = model, queries[0], *docs, to_json(settings)
        explained: Rows = table(frame, connection, names, source, *arguments)
    return explained


def importance(
    df: Rows, model: bytes, *, group: Iterable[int] | None = None, options: Mapping[str, Any] | None = None
) -> Rows:
    """Measure how much a metric loses if the values of a feature are permuted within each query.

    Args:
        df: as for `evaluate`.
        model: from `train` or `ltr_fit`.
        group: the number of rows of each query, in the order of the rows.
        options: options of `ltr_importance`, such as {"metric": "map"}.

    Returns:
        A frame of the same kind with the columns `feature`, `metric`, `n` (queries), `loss`, `ci_low` and `ci_high`.

    Raises:
        ValueError, TypeError, sqlite3.NotSupportedError, sqlite3.OperationalError: as `rank`.
    """
    names, frame = "feature, metric, n, loss, ci_low, ci_high", read(df)
    with applied(frame, model, group, options) as (connection, settings):
        lost: Rows = table(frame, connection, names, "ltr_importance(?, 'frame', ?)", model, to_json(settings))
    return lost


def report(
    df: Any, model: bytes, *, group: Iterable[int] | None = None, options: Mapping[str, Any] | None = None
) -> str:
    """Return a page in HTML about a model and its rankings of judged documents. It loads nothing from elsewhere.

    Args:
        df: as for `evaluate`.
        model: from `train` or `ltr_fit`.
        group: the number of rows of each query, in the order of the rows.
        options: options of `ltr_report`.

    Raises:
        ValueError, TypeError, sqlite3.NotSupportedError, sqlite3.OperationalError: as `rank`.
    """
    with applied(read(df), model, group, options) as (connection, settings):
        page: str = scalar(connection, "SELECT ltr_report(?, 'frame', ?)", model, to_json(settings))
    return page


def info(model: bytes) -> dict[str, Any]:
    """Return the card of a model: algorithm, roles of the columns, settings and training, as `ltr_info` has them."""
    with database(None) as connection:
        return card(connection, model)


@contextmanager
def _judged(
    frame: Frame,
    query: str | None,
    relevance: str | None,
    doc: str | None,
    group: Iterable[int] | None,
    options: Mapping[str, Any] | None,
) -> Iterator[tuple[Any, str]]:
    """Open a database with judged documents; yield it, and the options of a training as JSON."""
    given = {"query": query, "relevance": relevance, "doc": doc}
    roles = {role: name for role, name in given.items() if name is not None}
    settings = with_columns(options, roles | add_group(frame, group, roles))
    with database(frame) as connection:
        yield connection, to_json(settings)
        warn_again(connection)


def _ranking(
    frame: Frame, model: bytes, group: Iterable[int] | None, options: Mapping[str, Any] | None
) -> list[tuple[int, float, int]]:
    """Return row, score and rank of the ranked rows, in their order in the frame."""
    sql = "SELECT query_id, doc_id, slot, score, rank FROM ltr_rank(?, 'frame', ?)"
    with applied(frame, model, group, options) as (connection, settings):
        results = select(connection, sql, model, to_json(settings))
    rows = _find_rows(frame, settings["columns"], results)
    return sorted((row, score, rank) for row, (*_, score, rank) in zip(rows, results))


def _find_rows(frame: Frame, columns: Mapping[str, str], results: Sequence[tuple[Any, ...]]) -> list[int]:
    """Return the row of the frame of each row of a ranking (query, document, slot, ...)."""
    if columns["doc"] == ROW:
        return [result[1] for result in results]
    has_slots = any(slot is not None for _, _, slot, *_ in results)
    names = [columns["query"], columns["doc"], *(["slot"] if has_slots else [])]
    rows = defaultdict(list)
    for row, key in enumerate(zip(*map(frame.column, names))):
        rows[key].append(row)
    return [rows[result[: len(names)]].pop(0) for result in results]
