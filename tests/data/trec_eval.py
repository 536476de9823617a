"""Writes trec_eval.json: 100 random rankings with holes in the judgments, and the values of trec_eval (with and without -J) and
of ir_measures. Needs the packages pytrec-eval-terrier and ir_measures."""

import json
import random
from pathlib import Path

import ir_measures
import pytrec_eval

MEASURES = ["ndcg_cut_10", "map", "P_5", "recip_rank", "recall_10"]

chance, queries = random.Random(56), []
for _ in range(100):
    documents = [f"d{number}" for number in range(chance.randint(3, 30))]
    judged = {doc: chance.choice([0, 0, 1, 2, 3]) for doc in documents if chance.random() < 0.6}
    judged[documents[0]] = 1
    ranked = [doc for doc in documents if chance.random() < 0.7] or documents[1:2]
    chance.shuffle(ranked)
    queries.append({"judged": judged, "ranked": ranked})

qrels = {str(number): query["judged"] for number, query in enumerate(queries)}
run = {str(n): {doc: -float(rank) for rank, doc in enumerate(query["ranked"])} for n, query in enumerate(queries)}
for name, flag in (("skip", True), ("0", False)):
    values = pytrec_eval.RelevanceEvaluator(qrels, MEASURES, judged_docs_only_flag=flag).evaluate(run)
    for number, query in enumerate(queries):
        query[name] = [values[str(number)][measure] for measure in MEASURES]
for found in ir_measures.iter_calc([ir_measures.Judged @ 10], qrels, run):
    queries[int(found.query_id)]["judged@10"] = found.value
text = ",\n".join(json.dumps(query, separators=(",", ":")) for query in queries)
Path(__file__).with_suffix(".json").write_text(f"[{text}]\n")
