"""The pages of the shop as HTML. Every text that comes from a user or from the database goes through `e`."""

import html
import pathlib
import urllib.parse

# What a feature is called on a page.
TEXT = {
    "bm25": "BM25 of the {}", "hits": "hits in the {}", "coverage": "share of the words in the {}",
    "first": "words early in the {}", "window": "words close together in the {}", "phrase": "exact phrase in the {}",
    "length": "length of the {}",
}  # fmt: skip
OWN = {"idf_sum": "rare words", "sold": "sold", "price": "price", "stars": "stars", "in_stock": "in stock"}

STYLE = pathlib.Path(__file__).with_name("style.css").read_text(encoding="utf-8")


def e(value):
    return html.escape(str(value), quote=True)


def name(feature):
    column, _, kind = feature.rpartition("_")
    if feature in OWN or kind not in TEXT:
        return OWN.get(feature, feature)
    return TEXT[kind].format(column)


def number(value):
    return "" if value is None else f"{value:.3g}"


def page(title, body, query=""):
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{e(title)}</title><link rel="icon" href="data:,"><style>{STYLE}</style></head>
<body><header><div><a href="/">A shop to look at</a>
<form action="/" role="search">
<input name="q" value="{e(query)}" maxlength="200" aria-label="Search" placeholder="What are you looking for?">
<button>Search</button></form></div></header><main>{body}</main></body></html>
"""


def home(searches, result):
    links = "".join(f'<a href="/?{e(urllib.parse.urlencode({"q": text}))}">{e(text)}</a>' for text in searches)
    card = f'<div class="card"><p>One search box, two rankings. Try a search:</p><p class="chips">{links}</p></div>'
    return page("A shop to look at", card + verdict(result))


def message(title, text, query=""):
    return page(title, f'<div class="card"><h2>{e(title)}</h2><p>{e(text)}</p></div>', query)


def facts(product):
    stock = f"{product['stock']} in stock" if product["stock"] else "out of stock"
    return f"{product['brand']} · {product['price']:.2f} · {product['stars']} stars · {product['sold']} sold · {stock}"


def amount(contribution):
    return f'<td class="{"up" if contribution > 0 else "down"}">{contribution:+.2f}</td>'


def table(kind, note, rows):
    lines = "".join(f"<tr><td>{e(name(r['feature']))}<td>{value}{amount(r['contribution'])}" for r, value in rows)
    return f"<p class='note'>{note}</p><table class='{kind}'>{lines}</table>"


def reasons(found, doc):
    """What each feature adds to the score, and what puts the product above the next one."""
    rows = [(r, number(r["value"])) for r in found["reasons"][doc]]
    parts = table("explain", "Place of the learned ranking, compared with the mean of the products found:", rows)
    if found["above"].get(doc):
        rows = [(r, f"{number(r['value_a'])} vs. {number(r['value_b'])}") for r in found["above"][doc]]
        parts += table("explain-rank", "Compared with the product at the next place:", rows)
    return parts


def summary(found, doc):
    """The three most important reasons, in words."""
    parts = [("+" if r["contribution"] > 0 else "\u2212", name(r["feature"])) for r in found["reasons"][doc][:3]]
    return "Why? " + ", ".join(f"{sign}\u00a0{feature}" for sign, feature in parts)


def item(found, doc, place, label, note=""):
    product = found["products"][doc]
    return f"""<li data-doc="{doc}"><span class="place">{place}</span><div>{label}
<div class="facts">{e(facts(product))}</div>{note}
<details><summary>{e(summary(found, doc))}</summary>{reasons(found, doc)}</details></div></li>"""


def results(query, found, result):
    """Three lists: what the customer sees, BM25, and the learned ranking."""
    title = {doc: e(product["title"]) for doc, product in found["products"].items()}
    mixed = ""
    for row in found["mixed"]:
        doc, team = row["doc_id"], "today" if row["team"] == "a" else "learned"
        form = f"""<form method="post" action="/click">
<input type="hidden" name="impression" value="{e(found["impression"])}">
<input type="hidden" name="doc" value="{doc}"><button>{title[doc]}</button>
<span class="team {team}">{"BM25" if team == "today" else "learned"}</span></form>"""
        mixed += item(found, doc, row["rank"], form)
    today = ""
    for place, row in enumerate(found["today"], 1):
        doc = row["doc_id"]
        note = f"BM25 {row['score']:.2f}, place {found['places'][doc]} of the learned ranking"
        today += item(found, doc, place, f'<span class="title">{title[doc]}</span>', f'<div class="facts">{note}</div>')
    learned = ""
    for row in found["learned"]:
        doc = row["doc_id"]
        learned += item(found, doc, row["rank"], f'<span class="title">{title[doc]}</span>')
    note = "Both rankings choose in turn. Clicks on this list are counted. A real shop hides the labels."
    lists = [
        ("mixed", "What the customer sees", note, mixed),
        ("today", "BM25", "The order of full-text search.", today),
        ("learned", "Learned from clicks", "The model “shop” orders the best 100 products of BM25.", learned),
    ]
    cards = ""
    for key, head, note, items in lists:
        cards += f'<section class="card" id="{key}"><h2>{head}</h2><p class="note">{note}</p><ol>{items}</ol></section>'
    return page(f"{query} - search", f'{verdict(result)}<div class="lists">{cards}</div>', query)


def product(row, query):
    back = e("/?" + urllib.parse.urlencode({"q": query}))
    body = f"""<div class="card"><h2>{e(row["title"])}</h2><p class="facts">{e(facts(row))}</p>
<p>{e(row["description"])}</p>
<p class="chips"><a href="{back}">Search again</a></p></div>"""
    return page(row["title"], body, query)


def verdict(result):
    """The state of the comparison in a few words."""
    if not (result["wins_a"] or result["wins_b"] or result["ties"]):
        text = "No clicks yet. Each click on a product is a vote for the ranking that chose it."
    else:
        text = f"Learned {result['wins_b']}, BM25 {result['wins_a']}, ties {result['ties']}"
        text += f" (lists shown: {result['impressions']})."
        if result["p_value"] is not None:
            interval = f"{result['ci_low']:+.2f} to {result['ci_high']:+.2f}"
            text += f" Difference {result['difference']:+.2f} ({interval}), p = {result['p_value']:.2g}."
        if result["more_impressions"]:
            text += f" Ask again after {result['more_impressions']} more lists."
    head = "Which ranking do customers prefer?"
    return f'<section class="card" id="result"><h2>{head}</h2><p class="note">{e(text)}</p></section>'
