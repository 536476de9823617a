#!/usr/bin/env python3
"""A model of LightGBM ranks in SQLite, and is compared with models trained there, on the same test queries of MQ2008.

    pip install sqlite-ltr lightgbm pandas
    examples/lightgbm_mq2008.py FOLDER [ALGORITHM...]

FOLDER has the parts S1.txt to S5.txt of LETOR 4.0. Fold 1: training on S1 to S3, early stopping on S4, test on S5.
Algorithms: default `boosted_trees` and `auto`.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path

import lightgbm
import pandas as pd

import sqlite_ltr

FEATURES = [f"f{i}" for i in range(1, 47)]
OPTIONS = {
    "objective": "lambdarank",
    "metric": "ndcg",
    "eval_at": [10],
    "learning_rate": 0.05,
    "num_leaves": 15,
}


def main(folder: Path, algorithms: list[str]) -> None:
    """Train, import and compare."""
    connection = sqlite3.connect(":memory:")
    sqlite_ltr.load(connection)

    def read(*parts: int) -> pd.DataFrame:
        sql = (
            "SELECT query_id, doc_id, relevance, ltr_vec_to_json(features) FROM ltr_letor(?, '{\"feature_count\": 46}')"
        )
        rows = [row for part in parts for row in connection.execute(sql, (str(folder / f"S{part}.txt"),))]
        values = ((*row[:3], *json.loads(row[3])) for row in rows)
        return pd.DataFrame(values, columns=["query_id", "doc_id", "relevance", *FEATURES])

    def dataset(rows: pd.DataFrame) -> lightgbm.Dataset:
        sizes = rows.groupby("query_id", sort=False).size()
        return lightgbm.Dataset(rows[FEATURES], rows["relevance"], group=sizes)

    # 1. Train in LightGBM, as ever.
    train, validation, test = read(1, 2, 3), read(4), read(5)
    options = {
        **OPTIONS,
        "seed": 1,
        "deterministic": True,
        "num_threads": 1,
        "verbose": -1,
    }
    stop = lightgbm.early_stopping(30, verbose=False)
    booster = lightgbm.train(options, dataset(train), 300, valid_sets=[dataset(validation)], callbacks=[stop])

    # 2. Import, rank in SQL: the same scores.
    train.to_sql("train", connection, index=False)
    test.to_sql("test", connection, index=False)
    text = booster.model_to_string(num_iteration=booster.best_iteration)
    connection.execute('SELECT ltr_import(?, \'{"name": "lightgbm"}\')', (text,))
    sql = "SELECT score FROM ltr_rank('lightgbm', 'test') JOIN test USING (query_id, doc_id) ORDER BY test.rowid"
    scores = [score for (score,) in connection.execute(sql)]
    apart = abs(booster.predict(test[FEATURES], raw_score=True) - scores).max()
    print(f"{booster.best_iteration} trees, {len(scores)} rows, largest difference of scores: {apart}")

    # 3. Train here, and compare on the same test queries.
    for algorithm in algorithms:
        connection.execute("SELECT ltr_train(?, 'train')", (algorithm,))
    sql = (
        "SELECT name_a, name_b, metric, n, round(mean_a, 3) AS mean_a, round(mean_b, 3) AS mean_b, "
        "round(ci_low, 3) AS ci_low, round(ci_high, 3) AS ci_high, round(p_holm, 2) AS p_holm "
        "FROM ltr_compare(?, 'test', ?)"
    )
    arguments = json.dumps(["lightgbm", *algorithms]), '{"metric": ["ndcg@10", "map"]}'
    print(pd.read_sql(sql, connection, params=arguments).to_string(index=False))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), sys.argv[2:] or ["boosted_trees", "auto"])
