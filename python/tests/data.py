"""Judgments that all tests use: 20 queries with 10 documents each."""

from __future__ import annotations

import random

QUERIES, DOCUMENTS = 20, 10


def judgments():
    """Return columns. The relevance is `x` plus noise."""
    chance = random.Random(7)
    rows = QUERIES * DOCUMENTS
    x, y = ([chance.random() for _ in range(rows)] for _ in range(2))
    return {
        "query_id": [row // DOCUMENTS for row in range(rows)],
        "doc_id": [row % DOCUMENTS for row in range(rows)],
        "relevance": [int(3 * value + chance.random()) for value in x],
        "x": x,
        "y": y,
    }
