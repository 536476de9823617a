"""Dask gives the bytes, scores and metrics of one process, in threads and in processes of its own."""

from __future__ import annotations

import contextlib

import pandas as pd
import pytest
from engines import BUCKETS, METRICS, OneProcess, judged, need, ranking

need("dask.dataframe")
distributed = need("distributed")

import dask.dataframe as dd  # noqa: E402

from sqlite_ltr import dask as engine  # noqa: E402

WORKERS = {
    "threads": contextlib.nullcontext,
    "processes": lambda: distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None),
}


@pytest.mark.parametrize("workers", WORKERS)
def test_bytes_ranking_and_metrics_are_those_of_one_process(workers):
    columns, options = judged(identify=int, missing=True), {"lambda": 0.1, "missing": "mean", "buckets": BUCKETS}
    alone, df = OneProcess(columns), dd.from_pandas(pd.DataFrame(columns), npartitions=3)
    with WORKERS[workers]():
        model = engine.train(df, options=options)
        assert model == alone.train("rank_svm", options)
        assert ranking(engine.rank(df, model, buckets=BUCKETS).compute().to_dict("records")) == alone.rank(model)
        assert engine.evaluate(df, model, options=METRICS, buckets=BUCKETS) == alone.evaluate(model)
