"""Recommendation from pairs on MovieLens-100k: benches/implicit.py LIBRARY FOLDER [FIRST_SEED SEEDS]

Ratings of 4 and more of FOLDER/u.data are the pairs. A fifth of the pairs of every user with five or more is the
test, by the seed. Every item without a training pair is ranked. The lines are `cofi_rank` with all items as negatives,
ALS of `implicit` with the same objective if its packages are installed, popularity, and `cofi_rank` with drawn items.
SETTINGS were chosen by NDCG@10 on a fifth of the training pairs of the seeds 0 and 1;
`benches/implicit.py LIBRARY FOLDER choose SEED OPTIONS...` prints such values for options in JSON. Seconds are those
of the processor, of one training. The last lines of each are means over the seeds, with the difference of NDCG@10 to
the first form of `cofi_rank` and its standard error over users.
"""

import json
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
SETTINGS = {
    "cofi_rank, all items": {"factors": 16, "lambda": 29},
    "cofi_rank, drawn items": {"factors": 10, "negatives": 10, "lambda": 14},
}
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
    seen = {user: set(stay[user]) for user in users}
    return {user: [item for item in order if item not in seen[user]][:20] for user in users}


def load(db, table, pairs):
    db.execute(f"CREATE TABLE {table}(user_id, item_id)")
    rows = ((user, item) for user, items in pairs.items() for item in items)
    with db:
        db.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)


def cofi_rank(stay, users, options, seed):
    """Lists, seconds of the training, and lambda."""
    db = sqlite3.connect(":memory:")
    db.enable_load_extension(True)
    db.load_extension(LIBRARY)
    load(db, "pairs", stay)
    settings = json.dumps({"feedback": "implicit", "seed": seed, **options})
    started = time.process_time()
    (lam,) = db.execute("SELECT ltr_train('cofi_rank', 'pairs', ?) ->> 'lambda'", (settings,)).fetchone()
    took = time.process_time() - started
    lists = defaultdict(list)
    rows = db.execute("SELECT user_id, doc_id FROM ltr_recommend('cofi_rank', ?, 20)", (str(list(users)),))
    for user, item in rows:
        lists[user].append(item)
    return lists, took, lam


def als(stay, users, seed):
    """Lists of the package `implicit`, and seconds. The alpha there is the whole weight of a pair, here 1 + count_weight."""
    names, items = sorted(stay), sorted({item for items in stay.values() for item in items})
    rows = {user: row for row, user in enumerate(names)}
    columns = {item: column for column, item in enumerate(items)}
    entries = [(rows[user], columns[item]) for user, liked in stay.items() for item in liked]
    ones = numpy.ones(len(entries))
    matrix = scipy.sparse.csr_matrix((ones, tuple(zip(*entries))), shape=(len(names), len(items)))
    started = time.process_time()
    ours = SETTINGS["cofi_rank, all items"]
    model = implicit.als.AlternatingLeastSquares(
        factors=ours["factors"], regularization=ours["lambda"], alpha=4.0, random_state=seed, use_gpu=False
    )
    model.fit(matrix, show_progress=False)
    took = time.process_time() - started
    chosen = [rows[user] for user in users]
    found, _ = model.recommend(chosen, matrix[chosen], N=20, filter_already_liked_items=True)
    return {user: [items[column] for column in of] for user, of in zip(users, found)}, took


def run(seed, name, pairs, sums):
    stay, test = split(pairs, random.Random(seed))
    if name == "popularity":
        lists, took = popularity(stay, test), 0.0
    elif name == "implicit, ALS":
        lists, took = als(stay, list(test), seed)
    else:
        lists, took, _ = cofi_rank(stay, test, SETTINGS[name], seed)
    found = values(lists, test)
    line = " | ".join(f"{value:.4f}" for value in means(found))
    print(f"| {name}, seed {seed} | {line} | {took:.2f} |", flush=True)
    sums[name].append((found, took))


def choose(seed, pairs, candidates):
    """Prints the validation values of options."""
    stay, _ = split(pairs, random.Random(seed))
    fitted, judged = split(stay, random.Random(1000 + seed))
    print("popularity", [round(value, 4) for value in means(values(popularity(fitted, judged), judged))])
    for options in candidates:
        lists, took, lam = cofi_rank(fitted, judged, json.loads(options), seed)
        print(
            options,
            [round(value, 4) for value in means(values(lists, judged))],
            f"{took:.1f} s, lambda {lam:.4g}",
            flush=True,
        )


def summary(name, sums):
    """Means over seeds, and the difference to the first form of cofi_rank over users."""

    def of_users(name):
        total = defaultdict(list)
        for found, _ in sums[name]:
            for user, metrics in found.items():
                total[user].append(metrics[2])
        return {user: sum(each) / len(each) for user, each in total.items()}

    runs, ours = sums[name], of_users("cofi_rank, all items")
    line = " | ".join(f"{sum(means(found)[m] for found, _ in runs) / len(runs):.4f}" for m in range(3))
    differences = [value - ours[user] for user, value in of_users(name).items()]
    mean = sum(differences) / len(differences)
    variance = sum((d - mean) ** 2 for d in differences) / (len(differences) - 1)
    took = sum(took for _, took in runs) / len(runs)
    error = math.sqrt(variance / len(differences))
    print(f"| **{name}, mean** | {line} | {took:.2f} | {mean:+.4f} +- {error:.4f} |", flush=True)


def main():
    pairs = pairs_of_file()
    if "choose" in sys.argv:
        return choose(int(sys.argv[4]), pairs, sys.argv[5:])
    first, count = (int(number) for number in sys.argv[3:5] or (2, 5))
    print(f"{sum(map(len, pairs.values()))} pairs of {len(pairs)} users")
    print(f"| model | {' | '.join(METRICS)} | seconds |\n|---|---|---|---|---|")
    sums = defaultdict(list)
    names = ["cofi_rank, all items", *(["implicit, ALS"] if implicit else []), "popularity", "cofi_rank, drawn items"]
    for name in names:
        for seed in range(first, first + count):
            run(seed, name, pairs, sums)
        summary(name, sums)


if __name__ == "__main__":
    main()
