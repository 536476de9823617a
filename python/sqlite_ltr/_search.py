"""Search, judgments from click logs, and text features."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlite_ltr._call import database, insert, quote, scalar, select, table, to_json, warn_again, with_columns
from sqlite_ltr._frame import Rows, read


def judgments(log: Rows, *, options: Mapping[str, Any] | None = None) -> Rows:
    """Estimate judgments from a log of impressions and clicks, with a click model.

    Args:
        log: a frame, as for `train`, with one row per document shown. Columns get their roles by name, as in
            `ltr_judgments`.
        options: options of `ltr_judgments`, such as {"model": "pbm"}.

    Returns:
        A frame of the same kind with one row per query and document: `query_id`, `doc_id`, `relevance`,
        `attractiveness`, `ci_low`, `ci_high`, `impressions`, `clicks`, `doc_weight`, `determined`, `model` and
        `passes`. Join it with the features for `train`.

    Raises:
        ValueError, TypeError, sqlite_ltr.Error: as for `train`.

    Example:
        >>> shown = [("a", 1, 0), ("b", 2, 1), ("c", 3, 0)]
        >>> log = [
        ...     {"impression": n, "query_id": n % 2, "doc_id": doc, "position": position, "clicked": clicked}
        ...     for n in range(50)
        ...     for doc, position, clicked in shown
        ... ]
        >>> judged = sqlite_ltr.judgments(log, options={"model": "ctr"})
        >>> [(row["doc_id"], row["impressions"], row["clicks"]) for row in judged[:3]]
        [('a', 25, 0), ('b', 25, 25), ('c', 25, 0)]
    """
    names = (
        "query_id, doc_id, relevance, attractiveness, ci_low, ci_high, impressions, clicks, doc_weight, determined, "
        "model, passes"
    )
    frame = read(log)
    with database(frame) as connection:
        settings = to_json(with_columns(options, {}))
        judged: Rows = table(frame, connection, names, "ltr_judgments('frame', ?)", settings)
        warn_again(connection)
    return judged


def search(
    connection: Any, model: str | bytes, query: Any, *, options: Mapping[str, Any] | None = None
) -> list[tuple[int, Any, float]]:
    """Rank the candidates for a text, from the view that the model was trained with.

    Args:
        connection: a connection with the functions of this library; see `load`.
        model: the name of a stored model, such as "shop" or "shop@3", or its bytes.
        query: the text that a user typed, or the id of a query.
        options: options of `ltr_search`, such as {"k": 10, "params": {"user": 7}}.

    Returns:
        A list of `(rank, doc_id, score)`, best document first.

    Raises:
        sqlite_ltr.Error: the search failed.

    Example:
        >>> [doc for rank, doc, score in sqlite_ltr.search(connection, "shop", "k3", options={"k": 2})]
        [3, 47]
    """
    sql = "SELECT rank, doc_id, score FROM ltr_search(?, ?, ?)"
    ranked: list[tuple[int, Any, float]] = select(connection, sql, model, query, to_json(options or {}))
    warn_again(connection)
    return ranked


def fts_features(
    documents: Rows,
    queries: Iterable[str],
    *,
    text: str | Sequence[str],
    doc: str | None = None,
    k: int | None = None,
    tokenize: str = "unicode61",
    options: Mapping[str, Any] | None = None,
) -> Rows:
    """Find the documents that match each query with FTS5, and compute the text features of `ltr_fts`.

    Args:
        documents: a frame, as for `train`, with one row per document.
        queries: texts as users type them.
        text: name of the text column, or the names of several.
        doc: name of the column with document ids. By default, ids are row positions, from 0.
        k: keep only the k best matches per query, by BM25.
        tokenize: an FTS5 tokenizer, such as "porter unicode61" or "trigram".
        options: options of `ltr_fts_query`, such as {"words": "all"}.

    Returns:
        A frame of the same kind with one row per match: `query_id` (the text of the query), `doc_id`, and the
        features, such as `title_bm25`.

    Raises:
        ValueError, TypeError, sqlite_ltr.Error: as for `train`; also if two columns would have the same name.

    Example:
        >>> books = [{"isbn": 1, "title": "Red shoes"}, {"isbn": 2, "title": "Blue shoes"}]
        >>> rows = sqlite_ltr.fts_features(books, ["red shoes"], text="title", doc="isbn")
        >>> [(row["doc_id"], row["title_coverage"]) for row in rows]
        [(1, 1.0), (2, 0.5)]
    """
    frame = read(documents)
    texts = [text] if isinstance(text, str) else list(text)
    ids = range(frame.rows) if doc is None else frame.column(doc)
    indexed = read({name: frame.column(name) for name in texts})
    sql = (
        "SELECT rowid, ltr_vec_to_json(ltr_fts(docs)) FROM docs WHERE docs MATCH ltr_fts_query(?, ?) "
        "ORDER BY rank, rowid LIMIT ?"
    )
    with database(None) as connection:
        columns = ", ".join([*map(quote, texts), "tokenize='" + tokenize.replace("'", "''") + "'"])
        connection.execute(f"CREATE VIRTUAL TABLE docs USING fts5({columns})")
        insert(connection, "docs", indexed)
        features = json.loads(scalar(connection, "SELECT ltr_fts_names('docs')"))
        rows = [
            (query, ids[rowid - 1], *json.loads(vector))
            for query in dict.fromkeys(queries)
            for rowid, vector in select(connection, sql, query, to_json(options or {}), -1 if k is None else k)
        ]
    matches: Rows = frame.table(["query_id", "doc_id", *features], rows)
    return matches
