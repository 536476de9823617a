"""Model inspection on data frames: contributions, importance, plots and reports."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

from sqlite_ltr._call import (
    applied,
    card,
    create,
    database,
    query_column,
    quote,
    scalar,
    scores_rows_alone,
    select,
    table,
    to_json,
)
from sqlite_ltr._frame import Frame, Rows, read
from sqlite_ltr._model import Model
from sqlite_ltr._rank import info, read_features
from sqlite_ltr._show import Plot, Report


@overload
def explain(
    df: Rows,
    model: bytes,
    row: int,
    *,
    above: int | None = None,
    group: Iterable[int] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Rows: ...


@overload
def explain(
    df: Any,
    model: bytes,
    row: None = None,
    *,
    above: None = None,
    group: Iterable[int] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any: ...


def explain(
    df: Any,
    model: bytes,
    row: int | None = None,
    *,
    above: int | None = None,
    group: Iterable[int] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Explain scores by the contribution of each feature.

    Args:
        df: as for `rank`, with all documents of the query; to explain all rows, an array of features also works.
        model: from `train` or `ltr_fit`.
        row: position of the document in the frame, from 0. By default, all rows are explained.
        above: position of another document of the same query, to explain why `row` ranks above it.
        group: the number of rows per query, in row order.
        options: options of `ltr_explain`, such as {"samples": 1000}.

    Returns:
        Without `row`, a numpy array (a list of lists without numpy) with a row per row of the frame, as in
        LightGBM's `pred_contrib`: the contributions of `Model(model).features`, and the base last. The base is the
        score at the training means, or at the query's means if scores depend on the query.

        With `row`, a frame of the same kind with the columns `feature`, `value`, `contribution` and `standard_error`.
        The row `(base)` is the score at the query's means. All rows add up to the score. With `above` there is no
        base, `value_a` and `value_b` replace `value`, and the rows add up to the difference of the scores.

    Raises:
        ValueError, TypeError, sqlite_ltr.Error: as for `train`.

    Example:
        >>> sqlite_ltr.explain(candidates, model, 0)[["feature", "value"]]
          feature  value
        0  (base)    NaN
        1   price    0.0
        2   stars    1.0
        >>> sqlite_ltr.explain(candidates, model).shape == (len(candidates), len(model.features) + 1)
        True
    """
    if row is None:
        return _contributions(read_features(df, model), model, group, options)
    frame = read(df)
    shown = [row] if above is None else [row, above]
    for position in shown:
        if not 0 <= position < frame.rows:
            raise ValueError(f"no row {position}: the data frame has the rows 0 to {frame.rows - 1}")
    values, function = ("value", "ltr_explain") if above is None else ("value_a, value_b", "ltr_explain_rank")
    names = f"feature, {values}, contribution, standard_error"
    with applied(frame, model, group, options) as (connection, settings):
        columns = settings["columns"]
        query = query_column(frame, card(connection, model), columns)
        queries = [None if query is None else frame.column(query)[position] for position in shown]
        if len(set(queries)) > 1:
            raise ValueError(f"rows {row} and {above} belong to different queries: {queries[0]} and {queries[1]}")
        docs = [frame.column(columns["doc"])[position] for position in shown]
        source = f"{function}(?, 'frame', {', '.join('?' * len(docs))}, ?, ?)"
        arguments = model, queries[0], *docs, to_json(settings)
        return table(frame, connection, names, source, *arguments)


def _contributions(frame: Frame, model: bytes, group: Iterable[int] | None, options: Mapping[str, Any] | None) -> Any:
    """Return the contributions to the score of each row, with the base last."""
    with applied(frame, model, group, options) as (connection, settings):
        known = card(connection, model)
        if scores_rows_alone(known) and known["capabilities"]["has_features"]:
            # Vectors: features and categories by name, in the model's order.
            names = Model(model).features
            one = known["roles"]["features"]
            vectors = frame.column(one) if isinstance(one, str) else _vectors(frame, names)
            create(connection, "vectors", Frame.of({"vector": vectors}))
            arguments: list[Any] = [model]
            sql = "SELECT contribution FROM vectors CROSS JOIN ltr_explain(?, vector)"
        else:
            query, doc = query_column(frame, known, settings["columns"]), settings["columns"]["doc"]
            if query is not None:
                connection.execute(f"CREATE INDEX by_query ON frame({quote(query)})")
            documents = f"{'NULL' if query is None else 'f.' + quote(query)}, f.{quote(doc)}"
            sql = f"SELECT contribution FROM frame AS f CROSS JOIN ltr_explain(?, 'frame', {documents}, ?)"
            arguments = [model, to_json(settings)]
        parts = [part for (part,) in select(connection, sql, *arguments)]
    width = len(parts) // max(frame.rows, 1)
    rows = [[*parts[at + 1 : at + width], parts[at]] for at in range(0, len(parts), max(width, 1))]
    try:
        import numpy
    except ImportError:
        return rows
    return numpy.array(rows, "f8").reshape(frame.rows, width)


def _vectors(frame: Frame, names: Sequence[str]) -> list[str]:
    """Return the values of columns in each row as JSON, which keeps all 64 bits of a number and has no NaN."""
    columns = ([None if value != value else value for value in frame.column(name)] for name in names)
    return [json.dumps(row) for row in zip(*columns)]


def importance(
    df: Rows, model: bytes, *, group: Iterable[int] | None = None, options: Mapping[str, Any] | None = None
) -> Rows:
    """Measure how much a metric drops if the values of a feature are permuted within each query.

    Args:
        df: as for `evaluate`.
        model: from `train` or `ltr_fit`.
        group: the number of rows per query, in row order.
        options: options of `ltr_importance`, such as {"metric": "map"}.

    Returns:
        A frame of the same kind with the columns `feature`, `metric`, `n` (queries), `loss`, `ci_low` and `ci_high`.

    Raises:
        ValueError, TypeError, sqlite_ltr.Error: as for `train`.

    Example:
        >>> sqlite_ltr.importance(held_out, model)["feature"].tolist()
        ['price', 'stars']
    """
    names, frame = "feature, metric, n, loss, ci_low, ci_high", read(df)
    with applied(frame, model, group, options) as (connection, settings):
        lost: Rows = table(frame, connection, names, "ltr_importance(?, 'frame', ?)", model, to_json(settings))
    return lost


def report(
    df: Any, model: bytes, *, group: Iterable[int] | None = None, options: Mapping[str, Any] | None = None
) -> Report:
    """Return a self-contained HTML page about a model and its rankings of judged documents.

    Args:
        df: as for `evaluate`.
        model: from `train` or `ltr_fit`. If the model has its report, the page has the training warnings.
        group: the number of rows per query, in row order.
        options: options of `ltr_report`.

    Returns:
        A string that notebooks show as a page. `save(path)` writes it, `open()` shows it in the browser.

    Raises:
        ValueError, TypeError, sqlite_ltr.Error: as for `train`.

    Example:
        >>> page = sqlite_ltr.report(held_out, model).save("report.html")
    """
    with applied(read(df), model, group, options) as (connection, settings):
        # The report of a stored model has the training's warnings.
        named = model._store(connection) if isinstance(model, Model) and model.report else model
        return Report(scalar(connection, "SELECT ltr_report(?, 'frame', ?)", named, to_json(settings)))


# Aliases of plots.
_KINDS = {"comparison": "queries", "learning": "validation"}
_ALONE = ("validation", "training", "weights")


def plot(
    model: bytes,
    kind: str,
    df: Any,
    other: bytes | None,
    feature: str | None,
    group: Iterable[int] | None,
    options: Mapping[str, Any] | None,
) -> Plot:
    """Draw a plot: `Model.plot`."""
    name = _KINDS.get(kind, kind)
    if kind == "learning" and not (info(model)["training"].get("validation") or {}).get("curve"):
        name = "training"
    if name in _ALONE:
        with database(None) as connection:
            return Plot(scalar(connection, "SELECT ltr_plot(?, ?)", name, model))
    if df is None:
        raise ValueError(f'plot("{kind}") needs documents: model.plot("{kind}", held_out)')
    if name == "effect" and feature is None:
        named = f'model.plot("effect", df, feature="{Model(model).features[0]}")'
        raise ValueError(f'plot("effect") needs a feature: {named}')
    models = [model, other] if name == "queries" else [model]
    if None in models:
        raise ValueError(f'plot("{kind}") needs another model: model.plot("{kind}", held_out, other=model_b)')
    with applied(read(df), model, group, options) as (connection, settings):
        last = [feature, to_json(settings)] if name == "effect" else [to_json(settings)]
        marks = ", ".join("?" * len(models)), ", ".join("?" * len(last))
        return Plot(scalar(connection, f"SELECT ltr_plot(?, {marks[0]}, 'frame', {marks[1]})", name, *models, *last))
