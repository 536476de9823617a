"""Trains on Spark, ranks and measures on its workers, and compares all with one process.

    pip install 'sqlite-ltr[spark]'
    PYSPARK_PYTHON=$(command -v python) python examples/spark.py        # or spark-submit examples/spark.py

Needs Java 17. On a cluster, every worker needs the package sqlite-ltr.
"""

import sqlite3

from pyspark.sql import SparkSession

import sqlite_ltr
from sqlite_ltr import spark

session = SparkSession.builder.appName("sqlite-ltr").getOrCreate()
session.sparkContext.setLogLevel("ERROR")

# 1. 1200 searches with 12 hotels each. Guests like cheap hotels with many stars. 1000 searches are for the training.
hotels = session.sql("""
    SELECT query_id, doc_id, price, stars, CAST(4 * (stars / 5 - price + 1) + mood AS INT) AS relevance
      FROM (SELECT id DIV 12 AS query_id, id % 12 AS doc_id, id * 7919 % 1009 / 1009 AS price,
                   id * 3571 % 5 + 1 AS stars, id * 5477 % 997 / 997 AS mood FROM range(14400))""").cache()
judgments, candidates = hotels.where("query_id < 1000"), hotels.where("query_id >= 1000")

# 2. Training: the workers answer, round by round. The model is bytes.
options = {"lambda": 0.01, "buckets": 64}
model = spark.train(judgments, algorithm="rank_svm", options=options)

# 3. Ranking and measuring, on the workers.
ranked = spark.rank(candidates, model)
ranked.where("query_id = 1000 AND rank <= 3").orderBy("rank").show()
ndcg = spark.evaluate(candidates, model)
print(ndcg)

# 4. The same in one process, without Spark.
alone = sqlite_ltr.train(judgments.toArrow(), algorithm="rank_svm", options=options)
print("the bytes of one process:", model == alone)
rows = {(row.query_id, row.doc_id): (row.score, row["rank"]) for row in ranked.collect()}
one = sqlite_ltr.rank(candidates.orderBy("query_id", "doc_id").toArrow(), model).to_pylist()
print("the ranking:", rows == {(row["query_id"], row["doc_id"]): (row["score"], row["rank"]) for row in one})
print("the metric:", ndcg == sqlite_ltr.evaluate(candidates.toArrow(), model))

# 5. SQL ranks with the model wherever the library is loaded.
connection = sqlite3.connect(":memory:")
sqlite_ltr.load(connection)
search = "SELECT 1 AS query_id, 1 AS doc_id, 0.4 AS price, 3 AS stars UNION ALL SELECT 1, 2, 0.2, 4"
print(connection.execute("SELECT rank, doc_id FROM ltr_rank(?, ?)", (model, search)).fetchall())
session.stop()
