"""The pages of the shop as HTML. All text from users or from the database goes through `e`."""

import html
import pathlib
import urllib.parse

STYLE = pathlib.Path(__file__).with_name("style.css").read_text(encoding="utf-8")
# Smaller reasons are not shown.
LEAST = 0.1


def e(value):
    return html.escape(str(value), quote=True)


def page(title, body, query=""):
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{e(title)}</title><link rel="icon" href="data:,"><style>{STYLE}</style></head>
<body><header><div><a href="/">Demo shop</a>
<form action="/" role="search">
<input name="q" value="{e(query)}" maxlength="200" aria-label="Search" placeholder="What are you looking for?">
<button>Search</button></form></div></header><main>{body}</main></body></html>
"""


def card(name, head, note, body=""):
    return f'<section class="card" id="{name}"><h2>{e(head)}</h2><p class="note">{e(note)}</p>{body}</section>'


def message(title, text, query=""):
    return page(title, card("message", title, text), query)


def link(query):
    return e("/?" + urllib.parse.urlencode({"q": query}))


def facts(product):
    stock = f"{product['stock']} in stock" if product["stock"] else "out of stock"
    return f"{product['brand']} · {product['price']:.2f} · {product['stars']} stars · {product['sold']} sold · {stock}"


def move(before, now):
    """The direction in which a product moved, and a mark with the number of places."""
    if now == before:
        return "soft", "="
    return ("up", f"▲ {before - now}") if now < before else ("down", f"▼ {now - before}")


def words(reason, points, product):
    """A reason as a shop owner says it."""
    return {
        "text": "fits the search better" if points > 0 else "fits the search less",
        "sold": f"{product['sold']} sold",
        "price": f"price {product['price']:.2f}",
        "stars": f"{product['stars']} stars",
        "in_stock": "in stock" if product["stock"] else "out of stock",
    }[reason]


def reasons(found, doc):
    """The reasons that count most, each with its sign."""
    told = [(reason, points) for reason, points in found["reasons"][doc] if abs(points) >= LEAST][:3]
    product = found["products"][doc]
    texts = [f"{'+' if points > 0 else '−'}\u00a0{words(reason, points, product)}" for reason, points in told]
    return ", ".join(texts) or "similar to BM25's first ten"


def item(place, doc, product, title, note=""):
    return f"""<li data-doc="{doc}"><span class="place">{place}</span><div>{title}
<div class="facts">{e(facts(product))}</div>{note}</div></li>"""


def ranking(found, name):
    """The items of `today`, with their new place, or of `learned`, with what moved and why."""
    items = ""
    for place, doc in enumerate(found[name], 1):
        product, (before, now) = found["products"][doc], found["places"][doc]
        direction, sign = move(before, now)
        mark, note, other = f"now {now}", "", ""
        if name == "learned":
            mark, other = sign, f'was {before}{"" if doc in found["today"] else ", new"}'
            numbers = "".join(f"<tr><td>{e(reason)}<td>{points:+.2f}" for reason, points in found["reasons"][doc])
            note = f"<details><summary>{e(reasons(found, doc))}</summary><table>{numbers}</table></details>"
        title = f"""<span class="title">{e(product["title"])}</span>
<span class="mark {direction}">{mark}</span> <span class="facts">{other}</span>"""
        items += item(place, doc, product, title, note)
    return f"<ol>{items}</ol>"


def both(found):
    """BM25 and the learned ranking, side by side."""
    before = "The order of full-text search."
    after = "BM25's best 100 products in the order of the model. Reasons are relative to BM25's first ten."
    today = card("today", "Before: BM25", before, ranking(found, "today"))
    return today + card("learned", "After: learned from clicks", after, ranking(found, "learned"))


def home(query, found, searches, visitors, result):
    """The start page: an example, the gain, and which ranking customers prefer."""
    links = "".join(f'<a href="{link(text)}">{e(text)}</a>' for text in searches)
    body = f'<div class="lists two">{gain(visitors) if visitors else ""}{verdict(result, visitors)}</div>'
    body += f"""<h1>“{e(query)}”, before and after</h1>
<p>The same search ordered by full-text search, and by the ranking learned from clicks.</p>
<p class="chips">Other searches: {links}</p>"""
    return page("Demo shop", f'{body}<div class="lists two">{both(found) if found else ""}</div>')


def results(query, found, impression, mixed, result):
    """Three lists: BM25, the learned ranking, and what the customer sees."""
    items = ""
    for row in mixed:
        doc, team = row["doc_id"], "today" if row["team"] == "a" else "learned"
        product = found["products"][doc]
        form = f"""<form method="post" action="/click"><input type="hidden" name="impression" value="{e(impression)}">
<input type="hidden" name="doc" value="{doc}"><button>{e(product["title"])}</button>
<span class="mark {team}">{"BM25" if team == "today" else "learned"}</span></form>"""
        items += item(row["rank"], doc, product, form)
    note = "The two rankings take turns choosing. Clicks on this list are counted. A real shop hides the labels."
    lists = both(found) + card("mixed", "What the customer sees", note, f"<ol>{items}</ol>")
    return page(f"{query} - search", f'<div class="lists">{lists}</div>{verdict(result)}', query)


def product(row, query):
    body = f'<p>{e(row["description"])}</p><p class="chips"><a href="{link(query)}">Search again</a></p>'
    return page(row["title"], card("product", row["title"], facts(row), body), query)


def bars(rows):
    """Bars of these values from 0 to 1."""
    line = '<div class="bar"><i class="{0}" style="width:{3:.0f}%"></i><span>{2} {1:.2f}</span></div>'
    return "".join(line.format(kind, value, name, 75 * value) for kind, name, value in rows)


def gain(visitors):
    """How good the first ten products are."""
    found = visitors.gain
    note = f"NDCG@10 of {found['searches']} searches that are not in the log; 1 is the best order."
    rows = [("today", "BM25", found["today"]), ("learned", "learned", found["learned"])]
    better = f'<p>Learned is better in {found["better"]} of the {found["searches"]} searches.</p>'
    return card("gain", "How good are the first ten products?", note, bars(rows) + better)


def verdict(result, visitors=None):
    """Which ranking customers prefer; with a button, if there are simulated visitors."""
    head, wins = "Which ranking do customers prefer?", [result[name] for name in ("wins_b", "ties", "wins_a")]
    button = '<form method="post" action="/simulate"><button>Simulate 200 visitors</button></form>' if visitors else ""
    if not any(wins):
        return card("result", head, "No clicks yet. Each click counts for the ranking that chose the product.", button)
    note = "Learned won {0}, BM25 won {2}, ties {1} (lists shown: {3}).".format(*wins, result["impressions"])
    parts = zip(("learned", "tie", "today"), wins)
    bar = "".join(f'<i class="{kind}" style="flex:{count}"></i>' for kind, count in parts)
    preferred = "Customers prefer the learned ranking." if result["ci_low"] > 0 else "Customers prefer BM25."
    if result["ci_low"] <= 0 <= result["ci_high"]:
        more = result["more_impressions"]
        preferred = "No clear winner yet" + (f": check again after about {more} more lists." if more else ".")
    interval = "{difference:+.2f}, 95 % interval {ci_low:+.2f} to {ci_high:+.2f}".format(**result)
    text = f"<p><b>{preferred}</b> Difference in win shares: {interval}.</p>"
    return card("result", head, note, f'<div class="wins">{bar}</div>{text}{button}')
