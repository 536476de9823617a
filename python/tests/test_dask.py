"""Dask gives the bytes, scores and metrics of one process, in threads and in processes, also if one is killed."""

from __future__ import annotations

import contextlib
import os

import pandas as pd
import pytest
from engines import BUCKETS, METRICS, OneProcess, before_round, judged, kill_during_a_round, need, ranking

need("dask.dataframe")
distributed = need("distributed")

import dask.dataframe as dd  # noqa: E402

from sqlite_ltr import dask as engine  # noqa: E402

WORKERS = {
    "threads": contextlib.nullcontext,
    "processes": lambda: distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None),
}


@pytest.mark.parametrize("workers", WORKERS)
def test_bytes_ranking_and_metrics_match_one_process(workers):
    columns, options = judged(identify=int, missing=True), {"lambda": 0.1, "missing": "mean", "buckets": BUCKETS}
    alone, df = OneProcess(columns), dd.from_pandas(pd.DataFrame(columns), npartitions=3)
    with WORKERS[workers]():
        model = engine.train(df, options=options)
        assert model == alone.train("rank_svm", options)
        assert ranking(engine.rank(df, model, buckets=BUCKETS).compute().to_dict("records")) == alone.rank(model)
        assert engine.evaluate(df, model, options=METRICS, buckets=BUCKETS) == alone.evaluate(model)


def test_a_killed_worker_changes_no_byte(monkeypatch):
    columns, options = judged(), {"lambda": 0.01, "buckets": BUCKETS}
    df = dd.from_pandas(pd.DataFrame(columns), npartitions=4)
    with WORKERS["processes"]() as client:

        def kill():
            address = max(client.has_what().items(), key=lambda item: len(item[1]))[0]
            kill_during_a_round(list(client.run(os.getpid, workers=[address]).values()))

        rounds = before_round(monkeypatch, 2, kill)
        assert engine.train(df, options=options) == OneProcess(columns).train("rank_svm", options)
        assert len(rounds) > 2
