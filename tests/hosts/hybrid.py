"""Hybrid search on simulated catalogs with hidden grades: FTS5, vectors and columns of products, fused in several ways.

hybrid.py LIBRARY [CATALOGS]   prints NDCG@10 of each ranking, and differences to reciprocal rank fusion

A catalog has 1,000 products and 150 queries. Products and queries have hidden positions in a space of topics. Words of titles and
queries, and vectors, are noisy views of these positions. The hidden grade (0 to 3) depends on the distance of the positions and, in
one of the three kinds of catalogs, on how popular and how cheap the product is. Rankings never see it; models are trained on the
grades of some queries and measured on 100 others. If the package sqlite-vec is installed, its distances are also used. Intervals are Student's t over catalogs.
"""

import math
import random
import sqlite3
import struct
import sys

LIBRARY = sys.argv[1]
CATALOGS = int(sys.argv[2]) if len(sys.argv) > 2 else 2
try:
    import sqlite_vec
except ImportError:
    sqlite_vec = None

PRODUCTS, TESTED, TOPICS, WORDS = 1000, 100, 8, 300
CANDIDATES = 50
# Noise of the vectors, weight of popularity and price in the grades.
KINDS = {
    "text and vectors": (0.6, 0.0),
    "poor vectors": (2.5, 0.0),
    "text, vectors and sales": (0.6, 0.15),
}
# Quantiles of Student's t for intervals of 95 % by degrees of freedom; beyond them the normal quantile is close.
T = [0, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09]

# The distance of two vectors without sqlite-vec: their numbers in columns, and an expression.
NUMBERS = ", ".join(f"ltr_vec_to_json(embedding) ->> {number} AS e{number}" for number in range(TOPICS))
PLAIN = "sqrt(" + " + ".join(f"(p.e{number} - q.e{number}) * (p.e{number} - q.e{number})" for number in range(TOPICS)) + ")"
# Candidates of a query: the best by text and by vector. A product that FTS5 does not find has no bm25 and no part.
SQL = """
CREATE TABLE candidates AS
WITH texts AS MATERIALIZED (
    SELECT q.query_id, f.rowid AS doc_id, -bm25(title) AS bm25
      FROM queries AS q JOIN title AS f ON f.title MATCH q.words),
vectors AS MATERIALIZED (
    SELECT q.query_id, p.doc_id, {distance} AS distance FROM query_numbers AS q, product_numbers AS p),
ranked AS (
    SELECT v.query_id, v.doc_id, bm25, distance,
           row_number() OVER (PARTITION BY v.query_id ORDER BY bm25 DESC NULLS LAST, v.doc_id) AS text_rank,
           row_number() OVER (PARTITION BY v.query_id ORDER BY distance, v.doc_id) AS vector_rank
      FROM vectors AS v LEFT JOIN texts AS t USING (query_id, doc_id))
SELECT query_id, doc_id, coalesce(bm25, 0) AS bm25, distance, 1.0 / (60 + vector_rank) AS vector_part,
       iif(bm25 IS NULL, 0, 1.0 / (60 + text_rank)) AS text_part, popularity, price, grade AS relevance
  FROM ranked JOIN products USING (doc_id) JOIN grades USING (query_id, doc_id)
 WHERE vector_rank <= {most} OR (text_rank <= {most} AND bm25 IS NOT NULL);
CREATE INDEX candidates_by_query ON candidates(query_id);
"""
# Features that a model may use.
FEATURES = {
    "learned, the same two lists": "text_part, vector_part",
    "learned, scores": "bm25, distance, text_part, vector_part",
    "learned, scores and columns": "bm25, distance, text_part, vector_part, popularity, price",
}
# This scaling keeps the shape of reciprocal ranks, so that the fusion is one of the functions that can be learned.
OPTIONS = '{"scale": "standard"}'
SCORES = {
    "bm25": "bm25",
    "vectors": "-distance",
    "reciprocal rank fusion": "text_part + vector_part",
}


def connect():
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(LIBRARY)
    if sqlite_vec:
        db.load_extension(sqlite_vec.loadable_path())
    # Not every SQLite has it.
    db.create_function("sqrt", 1, math.sqrt, deterministic=True)
    return db


def catalog(db, seed, vector_noise, sales):
    """Fill the tables of a catalog; its hidden grades are in a table that no ranking reads."""
    chance = random.Random(seed)

    def position():
        return [chance.gauss(0, 1) for _ in range(TOPICS)]

    def blob(of):
        return struct.pack(f"<{TOPICS}f", *(x + chance.gauss(0, vector_noise) for x in of))

    meanings = [position() for _ in range(WORDS)]

    def words(of, count):
        weights = [math.exp(sum(a * b for a, b in zip(of, meaning))) for meaning in meanings]
        return [f"word{number}" for number in chance.choices(range(WORDS), weights, k=count)]

    db.executescript("""
        CREATE TABLE products (doc_id INTEGER PRIMARY KEY, embedding BLOB, popularity REAL, price REAL);
        CREATE VIRTUAL TABLE title USING fts5(text);
        CREATE TABLE queries (query_id INTEGER PRIMARY KEY, words TEXT, embedding BLOB);
        CREATE TABLE grades (query_id, doc_id, grade, PRIMARY KEY (query_id, doc_id));""")
    products = []
    for doc in range(PRODUCTS):
        of, popularity, price = position(), chance.gauss(0, 1), chance.gauss(0, 1)
        products.append((of, popularity, price))
        db.execute("INSERT INTO products VALUES (?, ?, ?, ?)", (doc, blob(of), popularity, price))
        db.execute("INSERT INTO title (rowid, text) VALUES (?, ?)", (doc, " ".join(words(of, 12))))
    for query in range(TESTED + 100):
        of = position()
        db.execute("INSERT INTO queries VALUES (?, ?, ?)", (query, " OR ".join(words(of, 4)), blob(of)))
        appeal = [
            -math.dist(of, product) / 2 + sales * (popularity - price) + chance.gauss(0, 0.2)
            for product, popularity, price in products
        ]
        # The best 10 products have grade 3, the next 30 grade 2, the next 60 grade 1.
        order = sorted(range(PRODUCTS), key=lambda doc: -appeal[doc])
        rows = ((query, doc, 3 * (rank < 10) or 2 * (rank < 40) or 1 * (rank < 100)) for rank, doc in enumerate(order))
        db.executemany("INSERT INTO grades VALUES (?, ?, ?)", rows)
    db.executescript(f"""
        CREATE TABLE product_numbers AS SELECT doc_id, embedding, {NUMBERS} FROM products;
        CREATE TABLE query_numbers AS SELECT query_id, embedding, {NUMBERS} FROM queries;""")
    distance = "vec_distance_l2(p.embedding, q.embedding)" if sqlite_vec else PLAIN
    db.executescript(SQL.format(distance=distance, most=CANDIDATES))
    if sqlite_vec:
        both = f"SELECT max(abs({distance} - {PLAIN})) FROM product_numbers AS p, query_numbers AS q WHERE query_id < 5"
        assert db.execute(both).fetchone()[0] < 1e-5


def ndcg(db, scores):
    """The mean of NDCG@10 of the tested queries."""
    return db.execute(f"""
        SELECT avg(value) FROM (SELECT ltr_ndcg(relevance, score, 10) AS value FROM ({scores})
                                 WHERE query_id < {TESTED} GROUP BY query_id)""").fetchone()[0]


def measure(seed, kind):
    db = connect()
    db.execute("BEGIN")
    catalog(db, seed, *KINDS[kind])
    found = {
        name: ndcg(db, f"SELECT query_id, relevance, {score} AS score FROM candidates") for name, score in SCORES.items()
    }
    for queries in (10, 100):
        for name, features in FEATURES.items():
            rows = f"SELECT query_id, doc_id, relevance, {features} FROM candidates"
            judged = f"{rows} WHERE query_id >= {TESTED} AND query_id < {TESTED + queries}"
            model = db.execute("SELECT ltr_fit('list_net', ?, ?)", (judged, OPTIONS)).fetchone()[0]
            tested = f"{rows} WHERE query_id < {TESTED}"
            sql = "SELECT value FROM ltr_evaluate(?, ?) WHERE query_id IS NULL"
            found[f"{name}, {queries} queries"] = db.execute(sql, (model, tested)).fetchone()[0]
    return found


def interval(values):
    """Mean and half of the interval."""
    n = len(values)
    mean = sum(values) / n
    if n < 2:
        return mean, math.inf
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1) / n)
    return mean, error * (T[n - 1] if n <= len(T) else 1.96)


def main():
    """Print the tables, and check what they must show."""
    differences = {}
    for kind in KINDS:
        runs = [measure(1000 * number + 1, kind) for number in range(CATALOGS)]
        print(f"\n{kind}: {CATALOGS} catalogs\n\n| ranking | NDCG@10 | difference to reciprocal rank fusion |\n|---|---|---|")
        for name in runs[0]:
            mean, _ = interval([run[name] for run in runs])
            difference, half = interval([run[name] - run["reciprocal rank fusion"] for run in runs])
            differences[kind, name] = difference
            print(f"| {name} | {mean:.3f} | {difference:+.3f} ± {half:.3f} |")
    # Two equally good lists: nothing is learned that the fusion does not know. One poor list, or columns that matter: much is.
    everything, two = "learned, scores and columns, 100 queries", "learned, the same two lists, 100 queries"
    assert abs(differences["text and vectors", two]) < 0.03, differences
    assert max(differences["text and vectors", name] for name in ("bm25", "vectors")) < -0.03, differences
    assert differences["poor vectors", two] > 0.04, differences
    assert differences["text, vectors and sales", everything] > 0.1, differences
    assert abs(differences["text, vectors and sales", two]) < 0.03, differences


if __name__ == "__main__":
    main()
