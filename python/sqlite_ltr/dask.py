"""Training, ranking and evaluation on Dask data frames. Requires dask[dataframe]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dask
import pyarrow

from sqlite_ltr._engine import BUCKET, BUCKETS, answer, apply, begin, bucket_numbers, merge, tree
from sqlite_ltr._model import Model


def train(
    df: Any,
    *,
    query: str | None = None,
    relevance: str | None = None,
    doc: str | None = None,
    algorithm: str = "rank_svm",
    options: Mapping[str, Any] | None = None,
) -> Model:
    """Train a model on a data frame of judged documents. Arguments, result and errors: as for `spark.train`."""
    training = begin(_table(df._meta).schema, algorithm, options, query=query, relevance=relevance, doc=doc)
    rows = _by_bucket(df[training.columns], training.query, training.buckets)
    pack, ask_part, join = map(dask.delayed, (lambda part: training.packs(_table(part)), answer, merge))
    packs = dask.persist(*[pack(part) for part in rows.to_delayed()])

    def ask(state: bytes) -> Any:
        shared = dask.delayed(state)
        return tree([ask_part(shared, part) for part in packs], join).compute()

    return training.run(ask)


def rank(df: Any, model: bytes, *, options: Mapping[str, Any] | None = None, buckets: int = BUCKETS) -> Any:
    """Rank the documents of every query. Arguments, result and errors: as for `spark.rank`."""
    applied = apply(df.columns, model, options)
    return _by_bucket(df, applied.query, buckets).map_partitions(applied.rank, meta=df._meta.assign(score=0.0, rank=0))


def evaluate(
    df: Any, model: bytes, *, options: Mapping[str, Any] | None = None, buckets: int = BUCKETS
) -> dict[str, float]:
    """Evaluate a model on judged documents. Arguments, result and errors: as for `spark.evaluate`."""
    applied = apply(df.columns, model, options)
    measure = dask.delayed(lambda part: applied.measure(_table(part)).to_pylist())
    measured = dask.compute(*[measure(part) for part in _by_bucket(df, applied.query, buckets).to_delayed()])
    return applied.means(row for rows in measured for row in rows)


def _by_bucket(df: Any, query: str, buckets: int) -> Any:
    """Move rows so that each partition has complete buckets."""

    def add(part: Any) -> Any:
        return part.assign(**{BUCKET: bucket_numbers(part[query].tolist(), buckets).to_numpy()})

    return df.map_partitions(add, meta=df._meta.assign(**{BUCKET: 0}).astype({BUCKET: "int32"})).shuffle(BUCKET)


def _table(part: Any) -> pyarrow.Table:
    return pyarrow.Table.from_pandas(part, preserve_index=False)
