"""Training, ranking and evaluation on Ray datasets. Requires ray[data]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow
import ray

from sqlite_ltr._engine import BUCKET, BUCKETS, answer, apply, begin, bucket_numbers, merge, tree
from sqlite_ltr._model import Model


def train(
    ds: Any,
    *,
    query: str | None = None,
    relevance: str | None = None,
    doc: str | None = None,
    algorithm: str = "rank_svm",
    options: Mapping[str, Any] | None = None,
) -> Model:
    """Train a model on a dataset of judged documents. Arguments, result and errors: as for `spark.train`."""
    schema = pyarrow.schema(list(zip(ds.schema().names, ds.schema().types)))
    training = begin(schema, algorithm, options, query=query, relevance=relevance, doc=doc)
    rows = _by_bucket(ds.select_columns(training.columns), training.query, training.buckets)
    packs = rows.map_groups(training.packs, batch_format="pyarrow").to_arrow_refs()
    ask_block, join = ray.remote(answer), ray.remote(merge)

    def ask(state: bytes) -> Any:
        shared = ray.put(state)
        return ray.get(tree([ask_block.remote(shared, block) for block in packs], join.remote))

    return training.run(ask)


def rank(ds: Any, model: bytes, *, options: Mapping[str, Any] | None = None, buckets: int = BUCKETS) -> Any:
    """Rank the documents of every query. Arguments, result and errors: as for `spark.rank`."""
    applied = apply(ds.columns(), model, options)
    return _by_bucket(ds, applied.query, buckets).map_groups(applied.rank, batch_format="pyarrow")


def evaluate(
    ds: Any, model: bytes, *, options: Mapping[str, Any] | None = None, buckets: int = BUCKETS
) -> dict[str, float]:
    """Evaluate a model on judged documents. Arguments, result and errors: as for `spark.evaluate`."""
    applied = apply(ds.columns(), model, options)
    rows = _by_bucket(ds, applied.query, buckets).map_groups(applied.measure, batch_format="pyarrow")
    return applied.means(rows.iter_rows())


def _by_bucket(ds: Any, query: str, buckets: int) -> Any:
    """Group rows by the bucket of their query."""

    def add(rows: Any) -> Any:
        return rows.append_column(BUCKET, bucket_numbers(rows[query].to_pylist(), buckets))

    parts = min(buckets, ray.data.DataContext.get_current().default_hash_shuffle_parallelism)
    return ds.map_batches(add, batch_format="pyarrow").groupby(BUCKET, num_partitions=parts)
