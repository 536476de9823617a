"""Ray gives the bytes, scores and metrics of one process."""

from __future__ import annotations

import os

import pytest
from engines import BUCKETS, METRICS, OneProcess, judged, need, ranking

ray = need("ray")

import pyarrow as pa  # noqa: E402

from sqlite_ltr import ray as engine  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def workers():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def test_bytes_ranking_and_metrics_are_those_of_one_process():
    columns, options = judged(), {"lambda": 0.1, "buckets": BUCKETS}
    alone, ds = OneProcess(columns), ray.data.from_arrow(pa.table(columns)).repartition(3)
    model = engine.train(ds, algorithm="regression", options=options)
    assert model == alone.train("regression", options)
    assert ranking(engine.rank(ds, model, buckets=BUCKETS).iter_rows()) == alone.rank(model)
    assert engine.evaluate(ds, model, options=METRICS, buckets=BUCKETS) == alone.evaluate(model)
