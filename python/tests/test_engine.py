"""The code that Spark, Ray and Dask share, with lists instead of an engine."""

from __future__ import annotations

import datetime
import math
import random
from decimal import Decimal

import pyarrow as pa
import pytest
from engines import BUCKETS, METRICS, OneProcess, judged, ranking

from sqlite_ltr import _engine

pytestmark = pytest.mark.filterwarnings("ignore:columns without numbers")
OPTIONS = {"lambda": 0.1, "buckets": BUCKETS}


def parts(columns, query, count):
    """Return tables with complete buckets, some of them without rows."""
    table = pa.table(columns)
    numbers = _engine.bucket_numbers(table[query].to_pylist(), BUCKETS)
    table = table.append_column(_engine.BUCKET, numbers)
    chance = random.Random(count)
    part = {bucket: chance.randrange(count) for bucket in range(BUCKETS)}
    return [table.filter(pa.array([part[bucket] == i for bucket in numbers.to_pylist()])) for i in range(count)]


def train(columns, roles=(), options=OPTIONS, algorithm="rank_svm", count=5):
    training = _engine.begin(pa.table(columns).schema, algorithm, options, **dict(roles))
    tables = parts({name: columns[name] for name in training.columns}, training.query, count)
    packs = [training.packs(rows) for rows in tables]
    return training.run(lambda state: _engine.tree([_engine.answer(state, part) for part in packs], _engine.merge))


@pytest.mark.parametrize("count", [1, 5, 40])
def test_partitions_change_no_byte(count):
    columns = judged(missing=True)
    options = {**OPTIONS, "missing": "mean"}
    assert train(columns, options=options, count=count) == OneProcess(columns).train("rank_svm", options)


def test_roles_match_sql():
    columns = judged()
    rows = len(columns["x"])
    columns |= {"title": ["a title"] * rows, "weight": [1 + len(query) for query in columns["query_id"]]}
    names = {"query_id": "search", "doc_id": "page", "relevance": "stars"}
    columns = {names.get(name, name): column for name, column in columns.items()}
    roles = {"query": "search", "doc": "page", "relevance": "stars"}
    model = OneProcess(columns).train("rank_svm", {**OPTIONS, "columns": roles})
    with pytest.warns(UserWarning, match="columns without numbers are not features: title"):
        assert train(columns, roles) == model
    assert train(columns, options={**OPTIONS, "columns": roles}) == model
    with pytest.raises(Exception, match='the column "session_id" is named like an id'):
        train({**columns, "session_id": [1] * rows}, roles)


def test_features_of_every_type_of_numbers():
    columns = judged()
    numbers = {**columns, "x": [int(value > 0.5) for value in columns["x"]], "z": [value / 4 for value in columns["y"]]}
    columns |= {"x": [value > 0.5 for value in columns["x"]], "z": [Decimal(value) / 4 for value in columns["y"]]}
    columns["y"] = [math.nan if value == 0.5 else value for value in columns["y"]]
    numbers["y"] = [None if value == 0.5 else value for value in numbers["y"]]
    options = {**OPTIONS, "missing": "zero"}
    assert train(columns, options=options) == OneProcess(numbers).train("rank_svm", options)
    columns["z"][7] = math.inf
    with pytest.raises(Exception, match="Infinity.* is not a JSON array of numbers"):
        train({**columns, "z": [float(value) for value in columns["z"]]}, options=options)


def test_dates_are_texts():
    columns = judged(identify=lambda number: datetime.datetime(2026, 1, 1) + datetime.timedelta(seconds=number))
    texts = {**columns, "query_id": [str(date) for date in columns["query_id"]]}
    assert train(columns) == OneProcess(texts).train("rank_svm", OPTIONS)


@pytest.mark.parametrize("kind", [pa.list_(pa.float64()), pa.binary()])
def test_a_column_of_vectors(kind):
    columns = judged()
    vectors = list(zip(columns.pop("x"), columns.pop("y"), columns.pop("z")))
    values = [pa.array(vector, pa.float32()).buffers()[1].to_pybytes()[:12] for vector in vectors]
    is_list = pa.types.is_list(kind)
    columns["features"] = [list(vector) for vector in vectors] if is_list else values
    alone = OneProcess({**columns, "features": [str(list(vector)) for vector in vectors] if is_list else values})
    assert train(columns) == alone.train("rank_svm", OPTIONS)


def test_ranking_and_metrics_match_one_process():
    columns = judged(identify=int)
    alone = OneProcess(columns)
    model = alone.train("rank_svm", {"lambda": 0.1})
    applied = _engine.apply(columns, model, METRICS)
    tables = parts(columns, applied.query, 40)
    assert any(table.num_rows == 0 for table in tables)
    means = applied.means(row for table in tables for row in applied.measure(table).to_pylist())
    assert means == alone.evaluate(model)
    applied = _engine.apply(columns, model, None)
    assert ranking(row for table in tables for row in applied.rank(table).to_pylist()) == alone.rank(model)


def test_means_count_queries_without_a_relevant_document():
    rows = [{"query": query, "metric": "map", "value": value} for query, value in [(2, 0.5), (1, None), (3, 0.25)]]

    def mean(**options):
        return _engine.Applied(b"", options, "query", None).means(rows)["map"]

    assert mean() == 0.375
    assert mean(undefined="zero") == 0.25
    assert mean(undefined="one") == 1.75 / 3
    assert math.isnan(_engine.Applied(b"", {}, "query", None).means([{**rows[1]}])["map"])
    with pytest.raises(ValueError, match="mre_pooled is not a mean"):
        _engine.Applied(b"", {}, "query", None).means([{"query": 1, "metric": "mre_pooled", "value": 0.5}])


def test_errors_come_before_the_first_round():
    columns = judged()
    with pytest.raises(Exception, match="train it with ltr_fit on rows"):
        train(columns, algorithm="q_svm")
    with pytest.raises(Exception, match="a power of two"):
        train(columns, options={"buckets": 12})
    with pytest.raises(Exception, match="no relevance column among"):
        train({name: column for name, column in columns.items() if name != "relevance"})
    with pytest.raises(TypeError, match="options is a dictionary"):
        train(columns, options="lambda")
    with pytest.raises(ValueError, match="no query column"):
        _engine.apply(["x", "y", "z"], OneProcess(columns).train("rank_svm", OPTIONS), None)
