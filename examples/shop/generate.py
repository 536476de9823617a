"""Makes the data of the shop: products, a log of searches with clicks, and the hidden grades.

generate.py FOLDER [--seed 1] [--products 2000] [--impressions 10000] [--shuffled 0]

Writes three files of CSV into FOLDER. The same seed gives the same bytes.

* products.csv   id, title, brand, description, price, sold, stars, stock
* log.csv        impression, query_id, doc_id, position, clicked: what a shop with BM25 has recorded
* grades.csv     query_id, doc_id, grade, held_back: what users really want. A shop does not have this file; it is used
                 only to measure. Searches with held_back = 1 are not in the log. Products without a row have grade 0.

How the data come about (all of it is simulated):

* A search is made from a product that sells: its type, sometimes only the last word of it ("jacket"), and none to two
  of its color, material, use and brand. A product has the wanted type or not; `match` is the share of the other
  wanted properties that it has (1 if there are none).
* utility = match' * (0.40 + 0.25 * popularity + 0.20 * rating + 0.15 * cheapness) * availability + appeal, where
  match' = 0.4 + 0.6 * match, and 0 for another type; popularity: rank of `sold` among products of the type, 0 to 1;
  rating: (stars - 1) / 4; cheapness: 1 - rank of the price among products of the type; availability: 0.5 if out of
  stock, else 1; appeal: normal, standard deviation 0.05, known to no column (the picture, say).
* grade: how many of 0.40, 0.58 and 0.74 are not above the utility. Products of another type have grade 0.
* The shop shows the first 20 products by bm25(), of all products with at least one of the words, always in this order.
  The share --shuffled of the lists shows them in a random order.
* Users look at position r with probability 1 / r, and then click with probability 0.05, 0.20, 0.45 or 0.75 for the
  grades 0 to 3.
"""

import argparse
import csv
import pathlib
import random
import sqlite3
import sys

# Types of products, with a typical price.
TYPES = {
    "running shoes": 110, "climbing shoes": 120, "trail shoes": 125, "hiking boots": 170, "winter boots": 150,
    "sandals": 60, "rain jacket": 140, "down jacket": 220, "softshell jacket": 130, "running jacket": 90,
    "rain trousers": 80, "hiking trousers": 75, "running shorts": 35, "fleece sweater": 65, "running shirt": 35,
    "wool shirt": 60, "wool socks": 18, "running socks": 14, "gloves": 30, "winter hat": 25, "sun hat": 28,
    "running belt": 25, "hiking backpack": 130, "travel backpack": 120, "laptop backpack": 90, "rain cover": 20,
    "travel bag": 80, "family tent": 380, "trekking tent": 290, "sleeping bag": 160, "sleeping mat": 80,
    "camping stove": 60, "camping chair": 45, "camping lamp": 35, "headlamp": 40, "water bottle": 22,
    "vacuum flask": 30, "trekking poles": 70, "climbing harness": 65, "climbing rope": 130,
}  # fmt: skip
BRANDS = "Nordvik Altamo Ferrin Kestrel Lumo Brisk Tarn Valdis Oriko Peakline Solva Windmark".split()
SERIES = ["Drift", "Summit", "Pace", "Delta", "Nova", "Ridge", "Comet", "Fjord", "Echo", "Atlas", "Pulse", "Haven"]
COLORS = ["red", "blue", "green", "black", "grey", "orange", "yellow", "white"]
MATERIALS = ["leather", "cotton", "nylon", "merino", "recycled", "canvas", "aluminium", "titanium"]
USES = ["waterproof", "lightweight", "warm", "breathable", "compact", "padded", "reflective", "durable"]
PROPERTIES = ["color", "material", "use", "brand"]
ATTRACTION = [0.05, 0.20, 0.45, 0.75]
GRADES = [0.40, 0.58, 0.74]
SHOWN = 20


def make_product(rng, number):
    """A product with its true properties. Title and description name some of them, and also other things."""
    kind = rng.choice(list(TYPES))
    product = {
        "id": number, "type": kind, "brand": rng.choice(BRANDS), "color": rng.choice(COLORS),
        "material": rng.choice(MATERIALS), "use": rng.choice(USES),
    }  # fmt: skip
    quality = rng.gauss(0, 1)
    ratio = 2 ** (0.5 * rng.gauss(0, 1) + 0.25 * quality)
    product["price"] = round(TYPES[kind] * ratio, 2)
    product["stars"] = round(min(5.0, max(1.0, 3.8 + 0.5 * quality + rng.gauss(0, 0.4))), 1)
    product["sold"] = int(2 ** (5 + 1.5 * rng.gauss(0, 1) + 0.7 * quality - ratio))
    product["stock"] = 0 if rng.random() < 0.12 else rng.randint(1, 80)
    product["appeal"] = rng.gauss(0, 0.05)
    product["title"], product["description"] = title(rng, product), description(rng, product)
    return product


def title(rng, product):
    words = [rng.choice(SERIES)]
    words += [product[name] for name in ["use", "color", "material"] if rng.random() < 0.5]
    words += [product["type"]]
    if rng.random() < 0.3:
        words += ["for", rng.choice(["men", "women", "children", "travel", "winter", "beginners"])]
    text = " ".join(words)
    return text[0].upper() + text[1:]


def description(rng, product):
    """Three to six sentences. Some of them name other products and properties, as descriptions in shops do."""
    other = rng.choice(list(TYPES))
    others = rng.sample(COLORS, 2)
    sentences = [
        f"The {product['type']} of {product['brand']} in {product['color']}.",
        f"Made of {product['material']} material, {product['use']} and easy to care for.",
        f"{product['use'].capitalize()}, with details that you notice every day.",
        f"Goes well with our {other}.",
        f"Also available in {others[0]} and {others[1]}.",
        f"If you like {rng.choice(BRANDS)}, look at this one.",
        f"Not for use as {rng.choice(list(TYPES))}.",
        f"Less {rng.choice(USES)} than our {rng.choice(USES)} {product['type']}, but {product['color']}.",
        "Two years of warranty, thirty days to return it.",
        "Our bestseller of last season, now with better seams.",
    ]
    return " ".join(rng.sample(sentences, rng.randint(3, 6)))


def make_searches(rng, products, count):
    """Texts of searches with the properties that are wanted. The key `type` is the end of the name of a type."""
    weights = [product["sold"] + 5 for product in products]
    searches = {}
    while len(searches) < count:
        product = rng.choices(products, weights)[0]
        wanted = {"type": product["type"] if rng.random() < 0.7 else product["type"].split()[-1]}
        names = rng.sample(PROPERTIES, rng.choice([0, 1, 1, 1, 2, 2]))
        wanted |= {name: product[name] for name in PROPERTIES if name in names}
        words = [wanted[name] for name in ["brand", "color", "material", "use", "type"] if name in wanted]
        searches.setdefault(" ".join(words).lower(), wanted)
    return searches


def places(values):
    """The place of each value among all of them: 0 for the smallest, 1 for the largest, the same for equal values."""
    ordered = sorted(values)
    return {value: ordered.index(value) / max(1, len(ordered) - 1) for value in values}


def add_ranks(products):
    """Popularity and cheapness among the products of the same type."""
    for kind in TYPES:
        same = [product for product in products if product["type"] == kind]
        sold, price = places([product["sold"] for product in same]), places([product["price"] for product in same])
        for product in same:
            product["popularity"], product["cheapness"] = sold[product["sold"]], 1 - price[product["price"]]


def grade(product, wanted):
    """The formula of the header."""
    if not (" " + product["type"]).endswith(" " + wanted["type"]):
        return 0
    properties = [name for name in PROPERTIES if name in wanted]
    match = sum(product[name] == wanted[name] for name in properties) / len(properties) if properties else 1
    liked = 0.40 + 0.25 * product["popularity"] + 0.20 * (product["stars"] - 1) / 4 + 0.15 * product["cheapness"]
    utility = (0.4 + 0.6 * match) * liked * (1 if product["stock"] else 0.5) + product["appeal"]
    return sum(utility >= bound for bound in GRADES)


def best_by_bm25(products, searches):
    """The ids of the first products of each search, as the shop ranks them until now."""
    db = sqlite3.connect(":memory:")
    try:
        db.execute("CREATE VIRTUAL TABLE docs USING fts5(title, brand, description, tokenize = 'porter')")
    except sqlite3.OperationalError as error:
        sys.exit(f"generate.py: this Python's SQLite does not have FTS5: {error}")
    rows = [(p["id"], p["title"], p["brand"], p["description"]) for p in products]
    db.executemany("INSERT INTO docs (rowid, title, brand, description) VALUES (?, ?, ?, ?)", rows)
    found = "SELECT rowid FROM docs WHERE docs MATCH ? ORDER BY bm25(docs), rowid LIMIT ?"
    return {text: [row[0] for row in db.execute(found, (" OR ".join(text.split()), SHOWN))] for text in searches}


def log_rows(rng, ranked, grades, impressions, shuffled):
    """Rows of the log. The search with number n is as frequent as 1 / n^0.7."""
    texts = list(ranked)
    weights = [1 / number**0.7 for number in range(1, len(texts) + 1)]
    for impression in range(1, impressions + 1):
        text = rng.choices(texts, weights)[0]
        shown = list(ranked[text])
        if rng.random() < shuffled:
            rng.shuffle(shown)
        for position, doc in enumerate(shown, 1):
            clicked = rng.random() < 1 / position and rng.random() < ATTRACTION[grades.get((text, doc), 0)]
            yield impression, text, doc, position, int(clicked)


def write(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def generate(folder, seed=1, count=2000, impressions=10_000, shuffled=0.0, logged=160, held_back=60):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(seed)
    products = [make_product(rng, number) for number in range(1, count + 1)]
    add_ranks(products)
    searches = make_searches(rng, products, logged + held_back)
    texts = list(searches)
    held = set(rng.sample(texts, held_back))
    grades = {(t, p["id"]): value for t in texts for p in products if (value := grade(p, searches[t]))}
    ranked = best_by_bm25(products, [text for text in texts if text not in held])

    columns = ["id", "title", "brand", "description", "price", "sold", "stars", "stock"]
    write(folder / "products.csv", columns, ([product[name] for name in columns] for product in products))
    log = ["impression", "query_id", "doc_id", "position", "clicked"]
    write(folder / "log.csv", log, log_rows(rng, ranked, grades, impressions, shuffled))
    rows = ((text, doc, value, int(text in held)) for (text, doc), value in grades.items())
    write(folder / "grades.csv", ["query_id", "doc_id", "grade", "held_back"], rows)


def main():
    parser = argparse.ArgumentParser(description="Makes products.csv, log.csv and grades.csv.")
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--products", type=int, default=2000)
    parser.add_argument("--impressions", type=int, default=10_000)
    parser.add_argument("--shuffled", type=float, default=0.0)
    options = parser.parse_args()
    if options.products < 1000 or options.impressions < 1:
        parser.error("at least 1000 products and 1 impression are needed")
    generate(options.folder, options.seed, options.products, options.impressions, options.shuffled)


if __name__ == "__main__":
    main()
