"""Training, ranking and evaluation on data frames."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, overload

from sqlite_ltr._call import (
    add_group,
    applied,
    card,
    create,
    database,
    query_column,
    scores_rows_alone,
    select,
    table,
    to_json,
    warn,
    warn_again,
    with_columns,
    with_parameters,
)
from sqlite_ltr._error import ROW
from sqlite_ltr._frame import Frame, Rows, read
from sqlite_ltr._model import Model
from sqlite_ltr._progress import take_progress

# The table with the validation rows.
_HELD_OUT = "held_out"
# The columns that `rank` adds; the last one only for models with probabilities.
_ADDED = ("score", "rank", "probability")


def train(
    df: Any,
    algorithm: str = "auto",
    *,
    query: str | None = None,
    relevance: str | None = None,
    doc: str | None = None,
    group: Iterable[int] | None = None,
    options: Mapping[str, Any] | None = None,
    **parameters: Any,
) -> Model:
    """Train a model on judged documents: one row per query and document.

    Columns get their roles by name, as in SQL: `query_id`, `relevance`, `doc_id` and others. The remaining numeric
    columns are features, and text columns with few distinct values are categories. NaN, None and NA are missing values.

    Args:
        df: a pandas, polars or pyarrow data frame, a mapping of columns, or a list of rows that are mappings.
        algorithm: an algorithm of `ltr_train`, such as "auto", "rank_svm" or "boosted_trees".
        query: name of the query column.
        relevance: name of the relevance column; higher is better.
        doc: name of the document column.
        group: instead of a query column, the number of rows per query, in row order.
        options: options of `ltr_train`, such as {"lambda": 0.1}. {"progress": True} shows a bar if tqdm is installed.
            "validation" may be a frame of other judged documents, used to choose lambda or the number of trees.
        parameters: options by name, such as `trees=200`; `lambda_` is the option `lambda`.

    Returns:
        The model: the bytes that `ltr_fit` returns, with methods.

    Raises:
        ValueError, TypeError: the frame or the groups cannot be used; the message says why.
        sqlite_ltr.Error: an error in training. Rows are counted from 1. It is a `sqlite3.OperationalError`, and also
            a `sqlite3.NotSupportedError` if this Python cannot load extensions.

    Training warnings, such as about columns that are left out, are issued as `UserWarning`.

    Example:
        >>> model = sqlite_ltr.train(judged, "boosted_trees", trees=20)
        >>> model.features
        ['price', 'stars']
    """
    frame, given = read(df), with_parameters(options, parameters)
    with _judged(frame, query, relevance, doc, group, given) as (connection, settings):
        select(connection, "SELECT ltr_train(?, 'frame', ?)", algorithm, settings)
        ((data, report),) = select(connection, "SELECT model, report FROM ltr_models")
        model = Model(data, json.loads(report))
        if frame.categorical:
            _warn_of_numbers(frame, card(connection, model)["roles"]["features"] or [])
    return model


def _warn_of_numbers(frame: Frame, features: Sequence[str]) -> None:
    """Warn about columns with a categorical type that became numeric features."""
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
    algorithm: str = "auto",
    *,
    query: str | None = None,
    relevance: str | None = None,
    doc: str | None = None,
    group: Iterable[int] | None = None,
    options: Mapping[str, Any] | None = None,
    **parameters: Any,
) -> Rows:
    """Cross-validate over queries.

    Args:
        df: judged documents, as for `train`. So are the other arguments.
        algorithm: an algorithm of `ltr_train`.
        query: name of the query column.
        relevance: name of the relevance column.
        doc: name of the document column.
        group: instead of a query column, the number of rows per query.
        options: options of `ltr_cross_validate`, such as {"folds": 5, "lambda": [0.01, 0.1, 1]}. Each combination of
            the arrays is a setting.
        parameters: options by name, such as `lambda_=[0.01, 0.1, 1]`.

    Returns:
        A frame of the same kind with the columns `setting` (JSON), `fold`, `metric`, `value` and `seconds`.

    Raises:
        ValueError, TypeError, sqlite_ltr.Error: as for `train`.

    Example:
        >>> folds = sqlite_ltr.cross_validate(judged, "rank_svm", folds=3, lambda_=[0.01, 1])
        >>> folds.groupby("setting")["value"].mean().round(2).tolist()
        [1.0, 1.0]
    """
    names, frame = "setting, fold, metric, value, seconds", read(df)
    with _judged(frame, query, relevance, doc, group, with_parameters(options, parameters)) as (connection, settings):
        folds: Rows = table(frame, connection, names, "ltr_cross_validate(?, 'frame', ?)", algorithm, settings)
    return folds


def rank(
    df: Rows, model: bytes, *, group: Iterable[int] | None = None, options: Mapping[str, Any] | None = None
) -> Rows:
    """Rank the documents of every query.

    Args:
        df: candidates, with the training features, matched by name. Without a query column and without `group`, all
            rows belong to one query.
        model: from `train` or `ltr_fit`.
        group: the number of rows per query, in row order.
        options: options of `ltr_rank`, such as {"k": 10}.

    Returns:
        A frame of the same kind with two more columns, `score` and `rank` (1 is best), and `probability` if the model
        was trained with that option and could learn it. Rows keep their order. Equal scores are ranked in row order.
        Rows that are not in any list, because of `k` or `min_probability`, are omitted. Arrow objects from libraries
        other than pyarrow and polars become a pyarrow table.

    Raises:
        ValueError, TypeError, sqlite_ltr.Error: as for `train`.

    Example:
        >>> ranked = sqlite_ltr.rank(candidates, model, options={"k": 2})
        >>> ranked.sort_values(["query_id", "rank"])["doc_id"].head(4).tolist()
        [3, 0, 2, 5]
    """
    frame = read(df)
    ranking = _ranking(frame, model, group, options)
    has_probability = any(probability is not None for *_, probability in ranking)
    names = _ADDED if has_probability else _ADDED[:2]
    for name in names:
        if frame.position(name) is not None:
            raise ValueError(
                f'the data frame has a column "{name}", which rank() adds: rename it, for a feature in the training '
                "too, or drop it"
            )
    kept = None if len(ranking) == frame.rows else [row for row, *_ in ranking]
    added = {name: [row[index] for row in ranking] for index, name in enumerate(names, 1)}
    ranked: Rows = frame.extend(kept, added)
    return ranked


def read_features(df: Any, model: bytes) -> Frame:
    """Return the columns of a frame, or of an array with a model's features in order."""
    if getattr(df, "ndim", 0) == 2 and type(df).__module__ == "numpy":
        names = Model(model).features
        if df.shape[1] != len(names):
            raise ValueError(f"the array has {df.shape[1]} columns, the model the features {', '.join(names)}")
        df = dict(zip(names, df.T))
    return read(df)


def predict(df: Any, model: bytes, group: Iterable[int] | None = None) -> Any:
    """Return the score of each row of a frame, which may have any other columns, or of an array of features."""
    frame, known = read_features(df, model), info(model)
    if group is None and scores_rows_alone(known) and query_column(frame, known, {}) is None:
        # The query does not matter.
        group = [frame.rows]
    scores = [score for _, score, *_ in _ranking(frame, model, group, None)]
    try:
        import numpy
    except ImportError:
        return scores
    return numpy.array(scores, "f8")


@overload
def evaluate(
    df: Any,
    model: bytes | None,
    *,
    group: Iterable[int] | None = None,
    options: Mapping[str, Any] | None = None,
    per_query: Literal[False] = False,
) -> dict[str, float]: ...


@overload
def evaluate(
    df: Rows,
    model: bytes | None,
    *,
    group: Iterable[int] | None = None,
    options: Mapping[str, Any] | None = None,
    per_query: Literal[True],
) -> Rows: ...


def evaluate(
    df: Any,
    model: bytes | None,
    *,
    group: Iterable[int] | None = None,
    options: Mapping[str, Any] | None = None,
    per_query: bool = False,
) -> Any:
    """Evaluate a model on judged documents.

    Args:
        df: as for `rank`, with relevance in a column with the same name as in training. It is missing for
            unjudged documents; then `judged@10` is the share of judged documents (option `unjudged`).
        model: from `train` or `ltr_fit`. None ranks by the column `score`, or by another column with
            options={"columns": {"score": "bm25"}}, to measure your current ranking.
        group: the number of rows per query, in row order.
        options: options of `ltr_evaluate`, such as {"metric": ["ndcg@10", "map"]}.
        per_query: return the metrics of each query instead of the means.

    Returns:
        The mean of each metric over the queries, by name; by default {"ndcg@10": ...}. Queries without a relevant
        document are omitted from the mean; if no query has one, the value is NaN. With `per_query`, a frame of the
        same kind with the columns `query_id`, `metric` and `value`, which is missing for queries without a relevant
        document.

    Raises:
        ValueError, TypeError, sqlite_ltr.Error: as for `train`.

    Example:
        >>> sqlite_ltr.evaluate(held_out, model, options={"metric": ["mrr", "precision@1"]})
        {'mrr': 1.0, 'precision@1': 1.0}
        >>> today = sqlite_ltr.evaluate(held_out, None, options={"columns": {"score": "stars"}})
        >>> round(today["ndcg@10"], 2)
        0.77
    """
    frame, source = read(df), "ltr_evaluate(?, 'frame', ?) WHERE query_id IS"
    with applied(frame, model, group, options, or_column=True) as (connection, settings):
        arguments = model, to_json(settings)
        if per_query:
            return table(frame, connection, "query_id, metric, value", f"{source} NOT NULL", *arguments)
        means = select(connection, f"SELECT metric, value FROM {source} NULL", *arguments)
    return {metric: float("nan") if value is None else value for metric, value in means}


def compare(
    df: Rows,
    model_a: bytes | None,
    model_b: bytes | None,
    *,
    group: Iterable[int] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Rows:
    """Compare two models on the same judged documents, with a paired test over queries.

    Args:
        df: as for `evaluate`, with the features of both models.
        model_a: from `train` or `ltr_fit`.
        model_b: the other model. One of the two may be None, as in `evaluate`.
        group: the number of rows per query, in row order.
        options: options of `ltr_compare`, such as {"metric": ["ndcg@10", "map"]}.

    Returns:
        A frame of the same kind with one row per metric: `metric`, `n` (queries), `mean_a`, `mean_b`, `difference`
        (`mean_a - mean_b`), `ci_low`, `ci_high` and `p_value`.

    Raises:
        ValueError, TypeError, sqlite_ltr.Error: as for `train`.

    Example:
        >>> other = sqlite_ltr.train(judged[["query_id", "doc_id", "price", "relevance"]], "rank_svm")
        >>> sqlite_ltr.compare(held_out, model, other)[["metric", "n", "difference"]].round(2)
            metric   n  difference
        0  ndcg@10  18        0.09
    """
    names, frame = "metric, n, mean_a, mean_b, difference, ci_low, ci_high, p_value", read(df)
    with applied(frame, model_a, group, options, or_column=True) as (connection, settings):
        if model_b is not None:
            card(connection, model_b)
        arguments = model_a, model_b, to_json(settings)
        compared: Rows = table(frame, connection, names, "ltr_compare(?, ?, 'frame', ?)", *arguments)
    return compared


def info(model: bytes) -> dict[str, Any]:
    """Return a model's card, as in `ltr_info`: algorithm, column roles, settings and training results.

    Example:
        >>> sqlite_ltr.info(model)["roles"]["features"]
        ['price', 'stars']
    """
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
    """Open a database with judged documents; yield it and the training options as JSON."""
    given = {"query": query, "relevance": relevance, "doc": doc}
    roles = {role: name for role, name in given.items() if name is not None}
    settings = with_columns(options, roles | add_group(frame, group, roles))
    held_out = settings.get("validation")
    if not isinstance(held_out, (str, float, int, type(None))):
        settings["validation"] = _HELD_OUT
    with database(frame, take_progress(settings)) as connection:
        if settings.get("validation") is not held_out:
            create(connection, _HELD_OUT, read(held_out))
        yield connection, to_json(settings)
        warn_again(connection)


def _ranking(
    frame: Frame, model: bytes, group: Iterable[int] | None, options: Mapping[str, Any] | None
) -> list[tuple[int, float, int, float | None]]:
    """Return row, score, rank and probability of the ranked rows, in frame order."""
    sql = "SELECT query_id, doc_id, slot, score, rank, probability FROM ltr_rank(?, 'frame', ?)"
    with applied(frame, model, group, options) as (connection, settings):
        results = select(connection, sql, model, to_json(settings))
    rows = _find_rows(frame, settings["columns"], results)
    ranked = zip(rows, results)
    return sorted((row, score, rank, probability) for row, (*_, score, rank, probability) in ranked)


def _find_rows(frame: Frame, columns: Mapping[str, str], results: Sequence[tuple[Any, ...]]) -> list[int]:
    """Return the frame row of each row of a ranking (query, document, slot, ...)."""
    if columns["doc"] == ROW:
        return [result[1] for result in results]
    has_slots = any(slot is not None for _, _, slot, *_ in results)
    names = [columns["query"], columns["doc"], *(["slot"] if has_slots else [])]
    rows = defaultdict(list)
    for row, key in enumerate(zip(*map(frame.column, names))):
        rows[key].append(row)
    return [rows[result[: len(names)]].pop(0) for result in results]
