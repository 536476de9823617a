"""Recommendation from pairs on MovieLens-100k: benches/implicit.py LIBRARY FOLDER [SEEDS]

Ratings of 4 and more of FOLDER/u.data are the pairs. A fifth of the pairs of every user with five or more is the test, by the
seed; a fifth of the rest chooses settings. Every item without a training pair is ranked. The lines are popularity, `cofi_rank`
with all items as negatives and with drawn ones, and, where the packages are there, the same model of `implicit` (ALS).
The last line of each is the mean over the seeds, with the standard error of its difference to `cofi_rank` over users.
"""

import math
import random
import sqlite3
import sys
import time
from collections import defaultdict

try:
    import implicit
    import numpy
    import scipy.sparse
except ImportError:
    implicit = None

LIBRARY, FOLDER = sys.argv[1:3]
SEEDS = int(sys.argv[3]) if len(sys.argv) > 3 else 5
FRACTION = 0.2
METRICS = ("recall@10", "recall@20", "NDCG@10")


def pairs_of_file():
    liked = defaultdict(list)
    with open(f"{FOLDER}/u.data", encoding="utf-8") as lines:
        for line in lines:
            user, item, rating, _ = map(int, line.split("\t"))
            if rating >= 4:
                liked[user].append(item)
    return {user: sorted(items) for user, items in sorted(liked.items())}


def split(pairs, rng):
    """The pairs that stay, and those that are held out."""
    stay, held = {}, {}
    for user, items in pairs.items():
        shuffled = items[:]
        rng.shuffle(shuffled)
        count = max(1, round(FRACTION * len(items))) if len(items) >= 5 else 0
        stay[user], held[user] = shuffled[count:], set(shuffled[:count])
    return stay, {user: items for user, items in held.items() if items}


def values(lists, held):
    """The metrics of each user."""
    found = {}
    for user, items in held.items():
        hits = [item in items for item in lists[user][:20]]
        ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(items))))
        gained = sum(1 / math.log2(place + 2) for place, hit in enumerate(hits[:10]) if hit)
        found[user] = (sum(hits[:10]) / len(items), sum(hits) / len(items), gained / ideal)
    return found


def means(found):
    return [sum(of[metric] for of in found.values()) / len(found) for metric in range(3)]


def popularity(stay, users):
    counts = defaultdict(int)
    for items in stay.values():
        for item in items:
            counts[item] += 1
    order = sorted(counts, key=lambda item: (-counts[item], item))
    return {user: [item for item in order if item not in set(stay[user])][:20] for user in users}


def load(db, table, pairs):
    db.execute(f"CREATE TABLE {table}(user_id, item_id)")
    rows = ((user, item) for user, items in pairs.items() for item in items)
    with db:
        db.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)


def cofi_rank(stay, users, options, seed):
    """Lists, seconds of the training, and the chosen lambda."""
    db = sqlite3.connect(":memory:")
    db.enable_load_extension(True)
    db.load_extension(LIBRARY)
    load(db, "pairs", stay)
    settings = f'{{"feedback": "implicit", "seed": {seed}{options}}}'
    started = time.perf_counter()
    report = "SELECT r ->> 'lambda' FROM (SELECT ltr_train('cofi_rank', 'pairs', ?) AS r)"
    (chosen,) = db.execute(report, (settings,)).fetchone()
    took = time.perf_counter() - started
    lists = defaultdict(list)
    rows = db.execute("SELECT user_id, doc_id FROM ltr_recommend('cofi_rank', ?, 20)", (str(list(users)),))
    for user, item in rows:
        lists[user].append(item)
    return lists, took, chosen


def als(stay, users, settings, seed):
    """Lists of the package `implicit`, and seconds."""
    names, items = sorted(stay), sorted({item for items in stay.values() for item in items})
    rows = {user: row for row, user in enumerate(names)}
    columns = {item: column for column, item in enumerate(items)}
    entries = [(rows[user], columns[item]) for user, liked in stay.items() for item in liked]
    ones = numpy.ones(len(entries))
    matrix = scipy.sparse.csr_matrix((ones, tuple(zip(*entries))), shape=(len(names), len(items)))
    started = time.perf_counter()
    factors, weight, lam = settings
    model = implicit.als.AlternatingLeastSquares(
        factors=factors, regularization=lam, alpha=weight, iterations=15, random_state=seed, use_gpu=False, num_threads=2
    )
    model.fit(matrix, show_progress=False)
    took = time.perf_counter() - started
    chosen = [rows[user] for user in users]
    found, _ = model.recommend(chosen, matrix[chosen], N=20, filter_already_liked_items=True)
    return {user: [items[column] for column in of] for user, of in zip(users, found)}, took


def best(candidates, measure):
    """The candidate with the largest NDCG@10, and its value."""
    scored = [(measure(candidate), candidate) for candidate in candidates]
    return max(scored, key=lambda pair: pair[0])


OURS = {
    "cofi_rank, all items": [f', "factors": {factors}' for factors in (8, 16, 32)],
    "cofi_rank, drawn items": [
        f', "negatives": {count}, "factors": {factors}' for count in (3, 10) for factors in (8,)
    ],
}
THEIRS = [
    (factors, weight, lam) for factors in (8, 16, 32) for weight in (1.0, 4.0, 10.0) for lam in (0.01, 1.0, 10.0, 30.0, 100.0)
]


def run(seed, pairs, sums):
    stay, test = split(pairs, random.Random(seed))
    fitted, judged = split(stay, random.Random(1000 + seed))

    def note(name, lists, took, settings):
        found = values(lists, test)
        line = " | ".join(f"{value:.4f}" for value in means(found))
        print(f"| {name}, seed {seed} | {line} | {took:.2f} | {settings} |", flush=True)
        sums[name].append((found, took))

    note("popularity", popularity(stay, test), 0, "")
    for name, candidates in OURS.items():
        def ndcg(options):
            return means(values(cofi_rank(fitted, judged, options, seed)[0], judged))[2]

        _, options = best(candidates, ndcg)
        lists, took, chosen = cofi_rank(stay, test, options, seed)
        note(name, lists, took, f"{options[2:]}, lambda {chosen:.3g}")
    if implicit is not None:
        users = list(judged)
        _, settings = best(THEIRS, lambda each: means(values(als(fitted, users, each, seed)[0], judged))[2])
        lists, took = als(stay, list(test), settings, seed)
        note("implicit, ALS", lists, took, f"factors, alpha, regularization {settings}")


def summary(sums):
    """Means over seeds; differences to the first form of cofi_rank over users, each with its mean over seeds."""

    def of_users(name):
        total = defaultdict(list)
        for found, _ in sums[name]:
            for user, metrics in found.items():
                total[user].append(metrics[2])
        return {user: sum(list_) / len(list_) for user, list_ in total.items()}

    ours = of_users("cofi_rank, all items")
    for name, runs in sums.items():
        line = " | ".join(f"{sum(means(found)[m] for found, _ in runs) / len(runs):.4f}" for m in range(3))
        differences = [value - ours[user] for user, value in of_users(name).items()]
        mean = sum(differences) / len(differences)
        variance = sum((d - mean) ** 2 for d in differences) / (len(differences) - 1)
        error = math.sqrt(variance / len(differences))
        took = sum(took for _, took in runs) / len(runs)
        print(f"| **{name}** | {line} | {took:.2f} | {mean:+.4f} +- {error:.4f} |")


def main():
    pairs = pairs_of_file()
    print(f"{sum(map(len, pairs.values()))} pairs of {len(pairs)} users")
    print(f"| model | {' | '.join(METRICS)} | seconds | settings |\n|---|---|---|---|---|---|")
    sums = defaultdict(list)
    for seed in range(SEEDS):
        run(seed, pairs, sums)
    summary(sums)


if __name__ == "__main__":
    main()
