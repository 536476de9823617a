"""Spark gives the bytes, scores and metrics of one process, also if a process is killed in the middle of a round."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from engines import BUCKETS, METRICS, OneProcess, before_round, judged, need, processes, ranking, send

pyspark = need("pyspark", java=True)

from pyspark.sql import SparkSession, functions  # noqa: E402
from test_pages import examples  # noqa: E402

import sqlite_ltr  # noqa: E402
from sqlite_ltr import spark  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet", "ignore:lambda ")
ROOT = Path(__file__).resolve().parents[2]
EXECUTOR = "CoarseGrainedExecutorBackend"
DAEMON = "pyspark.daemon"


# One session at a time: pytest runs the tests of each session together.
LOCAL = pytest.mark.parametrize("session", ["local[2,4]"], indirect=True)
CLUSTER = pytest.mark.parametrize("session", ["local-cluster[2,1,512]"], indirect=True)


@pytest.fixture(scope="module")
def session(request):
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "4", "spark.executor.memory": "512m"}
    made = SparkSession.builder.master(request.param).config(map=settings).getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    yield made
    made.stop()


def frame(session, columns):
    """Return columns as a data frame with several partitions, in which queries are divided."""
    return session.createDataFrame(list(zip(*columns.values())), list(columns)).repartition(5)


class Killer(threading.Thread):
    """Kills processes of workers while they compute."""

    def __init__(self, context, victims):
        super().__init__()
        self.status, self.victims, self.failed = context.statusTracker(), victims, 0

    def stages(self):
        found = [self.status.getStageInfo(number) for number in self.status.getActiveStageIds()]
        return [stage for stage in found if stage is not None]

    def wait(self, condition):
        """Wait until a condition holds for half a second."""
        since, end = time.monotonic(), time.monotonic() + 60
        while time.monotonic() < min(since + 0.5, end):
            if not condition():
                since = time.monotonic()
            time.sleep(0.05)

    def run(self):
        # 1. Stopped processes hold the round.
        send(signal.SIGSTOP, self.victims)
        self.wait(lambda: any(stage.numActiveTasks for stage in self.stages()))
        # 2. Killed ones lose it.
        send(signal.SIGKILL, self.victims)
        end = time.monotonic() + 60
        while not self.failed and time.monotonic() < end:
            self.failed = sum(stage.numFailedTasks for stage in self.stages())
            time.sleep(0.02)


def train_and_kill(monkeypatch, session, columns, algorithm, options, find):
    """Train; kill the processes that `find` returns in the middle of round 2. Return the model."""
    killers = []

    def kill():
        killers.append(Killer(session.sparkContext, find()))
        assert killers[0].victims
        killers[0].start()

    rounds = before_round(monkeypatch, 2, kill)
    model = spark.train(frame(session, columns), algorithm=algorithm, options=options)
    killers[0].join()
    assert killers[0].failed, "no task failed"
    assert len(rounds) > 2
    return model


@LOCAL
def test_a_killed_python_worker_changes_no_byte(session, monkeypatch):
    columns, options = judged(), {"lambda": 0.01, "buckets": BUCKETS}

    def workers():
        return [number for number, has_daemon in processes(DAEMON).items() if has_daemon]

    model = train_and_kill(monkeypatch, session, columns, "rank_svm", options, workers)
    assert model == OneProcess(columns).train("rank_svm", options)


@LOCAL
def test_ranking_and_metrics_match_one_process(session):
    columns = judged(identify=int)
    alone, df = OneProcess(columns), frame(session, columns)
    # Functions of queries are fitted on the workers.
    for algorithm, options in [
        ("rank_svm", {"lambda": 0.01}),
        ("q_svm", {"lambda": 0.01, "fit_at": "query_time"}),
    ]:
        model = alone.train(algorithm, options)
        rows = spark.rank(df, model, buckets=BUCKETS).collect()
        assert ranking(row.asDict() for row in rows) == alone.rank(model)
        assert spark.evaluate(df, model, options=METRICS, buckets=BUCKETS) == alone.evaluate(model)


@LOCAL
def test_any_partitions_types_of_queries_and_missing_values(session):
    options = {"buckets": BUCKETS, "missing": "mean"}
    for kind, partitions in [("string", 1), ("bigint", 3), ("int", 7), ("smallint", None)]:
        identify = str if kind == "string" else (lambda number: number // 7919 - 150)
        columns = judged(identify, missing=True)
        df = frame(session, columns).withColumn("query_id", functions.col("query_id").cast(kind))
        model = OneProcess(columns).train("regression", options)
        assert spark.train(df, algorithm="regression", options=options, partitions=partitions) == model


@LOCAL
def test_errors_name_the_column_and_the_reason(session):
    columns = judged(identify=float)
    with pytest.raises(TypeError, match='column "query_id": queries are integers or strings; cast the double'):
        spark.train(frame(session, columns))
    with pytest.raises(ValueError, match="no query column"):
        spark.rank(session.createDataFrame([(1, 0.5)], ["doc_id", "x"]), OneProcess(columns).train("rank_svm", {}))
    df = frame(session, judged(missing=True))
    with pytest.raises(Exception, match='"missing"'):
        spark.train(df, options={"buckets": BUCKETS})
    with pytest.raises(Exception, match="train it with ltr_fit on rows"):
        spark.train(df, algorithm="q_svm")


@LOCAL
def test_trees_that_xgboost_trains_on_spark_rank_with_its_scores(session, tmp_path, monkeypatch):
    pytest.importorskip("xgboost")
    monkeypatch.chdir(tmp_path)
    hotels = session.sql("""
        SELECT query_id, doc_id, CAST(4 * (stars / 5 - price + 1) AS INT) AS relevance, price, stars
          FROM (SELECT id DIV 12 AS query_id, id % 12 AS doc_id, id * 7919 % 1009 / 1009 AS price,
                       id * 3571 % 5 + 1 AS stars FROM range(3600))""").cache()
    names = {"judgments": hotels.where("query_id < 250"), "held_out": hotels.where("query_id >= 250")}
    names["candidates"] = names["held_out"].drop("relevance")
    (block,) = [block for block in examples("docs/guide/engines.md") if "SparkXGBRanker" in block]
    exec(compile(block, "engines.md", "exec"), names)
    # The scores of XGBoost to the last bit, for every document.
    found, keys = names["ranked"].toPandas(), ["query_id", "doc_id"]
    theirs = names["trained"].transform(names["candidates"]).select(*keys, "prediction").toPandas()
    both = found.merge(theirs, on=keys)
    assert len(both) == 600
    assert (both["score"] - both["prediction"]).abs().max() == 0
    # The best first, as in one process.
    assert (found.sort_values(["query_id", "rank"]).groupby("query_id")["score"].diff().dropna() <= 0).all()
    loaded = sqlite_ltr.Model.load("shop.db", "trees")
    alone = sqlite_ltr.evaluate(names["held_out"].toPandas(), loaded)
    assert spark.evaluate(names["held_out"], loaded) == alone
    assert alone["ndcg@10"] > 0.95


@CLUSTER
def test_a_killed_executor_changes_no_byte(session, monkeypatch):
    columns, options = judged(), {"buckets": BUCKETS}

    def executor():
        return list(processes(EXECUTOR))[:1]

    model = train_and_kill(monkeypatch, session, columns, "regression", options, executor)
    assert model == OneProcess(columns).train("regression", options)


def test_the_example_prints_what_one_process_has():
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-P", str(ROOT / "examples" / "spark.py")]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == 0, run.stderr
    for line in ("the bytes of one process: True", "the ranking: True", "the metric: True", "[(1, 2), (2, 1)]"):
        assert line in run.stdout.splitlines(), run.stdout
