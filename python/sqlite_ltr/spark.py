"""Training, ranking and evaluation on Spark data frames. Requires pyspark 4 and pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import functions
from pyspark.sql.types import IntegralType, StringType

from sqlite_ltr._engine import BUCKET, BUCKETS, apply, begin, merge, partial
from sqlite_ltr._model import Model


def train(
    df: Any,
    *,
    query: str | None = None,
    relevance: str | None = None,
    doc: str | None = None,
    algorithm: str = "rank_svm",
    options: Mapping[str, Any] | None = None,
    partitions: int | None = None,
) -> Model:
    """Train a model on judged documents: one row per query and document.

    Each round is a map over the buckets of the option `buckets` (256). Partitions, retries and lost workers do not
    change the model.

    Args:
        df: a Spark data frame. Columns get their roles by name, as in `sqlite_ltr.train`.
        query: name of the query column, of type BIGINT, INT, SMALLINT, TINYINT or STRING.
        relevance: name of the relevance column; higher is better.
        doc: name of the document column.
        algorithm: an algorithm that trains in buckets, such as "rank_svm" or "regression".
        options: options of `ltr_fit`, such as {"lambda": 0.1, "buckets": 1024}.
        partitions: number of tasks in each round; default: the parallelism of the Spark context.

    Returns:
        The model, with the bytes that `ltr_fit` returns for the same rows and options.

    Raises:
        ValueError, TypeError: the columns cannot be used; the message says why.
        sqlite3.OperationalError: an SQL error, unchanged. Errors on workers are raised as Spark errors.
    """
    training = begin(df.limit(0).toArrow().schema, algorithm, options, query=query, relevance=relevance, doc=doc)
    count = min(partitions or df.sparkSession.sparkContext.defaultParallelism, training.buckets)
    rows = df.select(*map(_quote, training.columns))
    packs = _map(rows, training.query, training.buckets, training.packs, "bucket int, rows binary", count).rdd
    packs.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        return training.run(lambda state: packs.mapPartitions(lambda part: partial(state, part)).treeReduce(merge))
    finally:
        packs.unpersist()


def rank(df: Any, model: bytes, *, options: Mapping[str, Any] | None = None, buckets: int = BUCKETS) -> Any:
    """Rank the documents of every query.

    Args:
        df: candidates, with the query and the training features, matched by name.
        model: from `train` or `ltr_fit`.
        options: options of `ltr_rank`, such as {"k": 10}.
        buckets: number of groups of queries, a power of two. A group must fit into a worker's memory.

    Returns:
        A data frame with two more columns, `score` and `rank` (1 is best). Equal scores are ranked in document order.
        Spark ranks when it needs the rows.

    Raises:
        ValueError, TypeError: the columns cannot be used; the message says why.
        Errors of `ltr_rank` are raised as Spark errors.
    """
    applied = apply(df.columns, model, options)
    schema = df.limit(0).withColumns({"score": functions.lit(0.0), "rank": functions.lit(0).cast("bigint")}).schema
    return _map(df, applied.query, buckets, applied.rank, schema)


def evaluate(
    df: Any, model: bytes, *, options: Mapping[str, Any] | None = None, buckets: int = BUCKETS
) -> dict[str, float]:
    """Evaluate a model on judged documents. The driver collects one number per query and metric.

    Args:
        df: as for `rank`, with relevance in a column with the same name as in training.
        model: from `train` or `ltr_fit`.
        options: options of `ltr_evaluate`, such as {"metric": ["ndcg@10", "map"]}; with {"unjudged": "skip"}, every
            worker reports the share of judged documents.
        buckets: as for `rank`.

    Returns:
        The mean of each metric over the queries, by name; by default {"ndcg@10": ...}. Queries without a relevant
        document are omitted from the mean; if no query has one, the value is NaN.

    Raises:
        ValueError, TypeError: the columns cannot be used, or the metric is `mre_pooled`, which is not a mean over
            queries.
        Errors of `ltr_evaluate` are raised as Spark errors.
    """
    applied = apply(df.columns, model, options)
    schema = f"query {df.schema[applied.query].dataType.simpleString()}, metric string, value double"
    rows = _map(df, applied.query, buckets, applied.measure, schema)
    return applied.means(row.asDict() for row in rows.toLocalIterator())


def _map(df: Any, query: str, buckets: int, function: Callable[[Any], Any], schema: Any, partitions: int = 0) -> Any:
    """Call a function with the rows of each bucket."""
    kind, column = df.schema[query].dataType, functions.col(_quote(query))
    if not isinstance(kind, (IntegralType, StringType)):
        raise TypeError(f'column "{query}": queries are integers or strings; cast the {kind.simpleString()}')
    column = column if isinstance(kind, StringType) else column.cast("bigint")
    df = df.withColumn(BUCKET, functions.pmod(functions.xxhash64(column), functions.lit(buckets)))
    if partitions:
        # Neighbors in the tree of buckets share a partition, so that its answer has few sums.
        df = df.repartitionByRange(partitions, BUCKET)
    return df.groupBy(BUCKET).applyInArrow(lambda rows: function(rows), schema)


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
