"""Ray gives the bytes, scores and metrics of one process, also if workers are killed in the middle of a round."""

from __future__ import annotations

import os

import pytest
from engines import (
    BUCKETS,
    METRICS,
    OneProcess,
    before_round,
    judged,
    kill_during_a_round,
    need,
    processes,
    ranking,
)

ray = need("ray")

import pyarrow as pa  # noqa: E402

from sqlite_ltr import ray as engine  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def workers():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def test_bytes_ranking_and_metrics_match_one_process():
    columns, options = judged(), {"lambda": 0.1, "buckets": BUCKETS}
    alone, ds = OneProcess(columns), ray.data.from_arrow(pa.table(columns)).repartition(3)
    model = engine.train(ds, algorithm="regression", options=options)
    assert model == alone.train("regression", options)
    assert ranking(engine.rank(ds, model, buckets=BUCKETS).iter_rows()) == alone.rank(model)
    assert engine.evaluate(ds, model, options=METRICS, buckets=BUCKETS) == alone.evaluate(model)


def test_killed_workers_change_no_byte(monkeypatch):
    columns, options = judged(), {"lambda": 0.01, "buckets": BUCKETS}

    def kill():
        kill_during_a_round([number for word in ("ray::IDLE", "ray::answer") for number in processes(word)])

    rounds = before_round(monkeypatch, 2, kill)
    ds = ray.data.from_arrow(pa.table(columns)).repartition(3)
    assert engine.train(ds, options=options) == OneProcess(columns).train("rank_svm", options)
    assert len(rounds) > 2
