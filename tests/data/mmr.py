"""Writes mmr.json: scores and vectors of 20 queries, and the order by maximal marginal relevance with numpy."""

import json
from pathlib import Path

import numpy as np


def mmr(scores, vectors, weight):
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    similarity = unit @ unit.T
    relevance = (scores - scores.min()) / (scores.max() - scores.min())
    order = [int(np.argmax(relevance))]
    while len(order) < len(scores):
        value = (1 - weight) * relevance - weight * similarity[:, order].max(axis=1)
        value[order] = -np.inf
        order.append(int(np.argmax(value)))
    return order


chance, queries = np.random.default_rng(56), []
for number in range(20):
    scores, vectors = chance.normal(size=12).round(3), chance.normal(size=(12, 5)).round(3)
    weight = round(0.05 + number * 0.045, 3)
    queries.append({"scores": scores.tolist(), "vectors": vectors.tolist(), "weight": weight, "order": mmr(scores, vectors, weight)})
text = ",\n".join(json.dumps(query, separators=(",", ":")) for query in queries)
Path(__file__).with_suffix(".json").write_text(f"[{text}]\n")
