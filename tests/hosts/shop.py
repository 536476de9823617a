"""The shop of `examples/shop` as a user tries it: data, SQL in the shell, the server, a browser.

shop.py LIBRARY SQLITE3 [CHROMIUM]    prints what it has tried, fails with an assertion

Without CHROMIUM the pages are requested, but not looked at. LTR_PICTURES in the environment: a folder for pictures.
"""

import contextlib
import csv
import html
import http.client
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

LIBRARY, SQLITE3 = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
CHROMIUM = sys.argv[3] if len(sys.argv) > 3 else None
ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "shop"
HOSTILE = [
    "<script>alert(1)</script> shoes", "</title><img src=x onerror=alert(1)> red", '"\'&amp; <b>jacket', "😀 tent",
    "AND", 'NEAR("shoes', "shoes\0red", "title: red*", "(((", "'; DROP TABLE products; -- boots", "\ud7ff\u202e hat",
    "a " * 900,
]  # fmt: skip


def statements(path):
    """Statements of SQL and commands of the shell in a script."""
    sql, commands, text = 0, 0, ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if not text and line.startswith("."):
            commands += 1
        elif text or (line.strip() and not line.startswith("--")):
            text += line + "\n"
            if sqlite3.complete_statement(text):
                sql, text = sql + 1, ""
    assert not text, text
    return sql, commands


def make(folder):
    """The data, and the database as the README makes it."""
    subprocess.run([sys.executable, EXAMPLE / "generate.py", folder], check=True)
    shutil.copy(LIBRARY, folder / ("libsqlite_ltr" + LIBRARY.suffix))
    started = time.perf_counter()
    with open(EXAMPLE / "shop.sql", encoding="utf-8") as script:
        done = subprocess.run([SQLITE3, "shop.db"], stdin=script, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    report, *rows = done.stdout.splitlines()
    assert report.startswith("shop@1 (") and "160 queries" in report, report
    # The log has one order.
    assert "1 warning: the column \"determined\"" in report, report
    assert [row.split("|")[0] for row in rows] == [str(rank) for rank in range(1, 11)], rows
    print(f"from CSV to a list in {time.perf_counter() - started:.1f} s: {report}")


def check_count():
    sql, commands = statements(EXAMPLE / "shop.sql")
    assert sql + commands <= 12, (sql, commands)
    page = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    assert f"{sql} SQL statements and {commands} shell commands" in page, (sql, commands)
    print(f"{sql} SQL statements and {commands} shell commands")


def connect(folder):
    db = sqlite3.connect(folder / "shop.db", isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(str(LIBRARY))
    return db


def candidates(db, table, held_back):
    """The best 100 products of the searches that are held back, or of the others, with their hidden grades."""
    db.execute(f"CREATE TEMP TABLE {table} (query_id, doc_id, score, features, relevance)")
    searches = db.execute("SELECT DISTINCT query_id FROM grades WHERE held_back = ?", (held_back,)).fetchall()
    db.executemany(
        f"""WITH found AS MATERIALIZED (
              SELECT rowid AS doc_id, -rank AS score, ltr_fts(docs) AS text
                FROM docs WHERE docs MATCH ltr_fts_query(?1) ORDER BY rank LIMIT 100)
            INSERT INTO {table}
            SELECT ?1, found.doc_id, score, ltr_vec(text, p.features), coalesce(g.grade, 0)
              FROM found JOIN properties AS p USING (doc_id)
              LEFT JOIN grades AS g ON g.query_id = ?1 AND g.doc_id = found.doc_id""",
        searches,
    )


def check_quality(folder, db):
    """On searches that are not in the log, clicks close at least half of the gap from BM25 to hidden grades."""
    db.execute("CREATE TEMP TABLE grades (query_id, doc_id, grade, held_back, PRIMARY KEY (query_id, doc_id))")
    with open(folder / "grades.csv", encoding="utf-8", newline="") as file:
        rows = ((text, int(doc), int(grade), int(held)) for text, doc, grade, held in list(csv.reader(file))[1:])
        db.executemany("INSERT INTO grades VALUES (?, ?, ?, ?)", rows)
    candidates(db, "judged", 0)
    candidates(db, "held", 1)
    source = "SELECT query_id, doc_id, relevance, features FROM temp.{}"
    graded = db.execute("SELECT ltr_fit('list_net', ?)", (source.format("judged"),)).fetchone()[0]
    best = 'SELECT value FROM ltr_evaluate(?, ?, \'{"metric": "ndcg@10"}\') WHERE query_id IS NULL'
    clicks, ideal = (db.execute(best, (model, source.format("held"))).fetchone()[0] for model in ["shop", graded])
    today = "SELECT avg(value) FROM (SELECT ltr_ndcg(relevance, score, 10) AS value FROM held GROUP BY query_id)"
    bm25 = db.execute(today).fetchone()[0]
    print(f"NDCG@10 of held-back searches: bm25 {bm25:.3f}, clicks {clicks:.3f}, hidden grades {ideal:.3f}")
    assert ideal > bm25 + 0.1 and clicks - bm25 >= 0.5 * (ideal - bm25)
    return bm25, clicks


@contextlib.contextmanager
def server(folder):
    """The address of a running server, which must write nothing to stderr."""
    command = [sys.executable, EXAMPLE / "server.py", folder / "shop.db", LIBRARY, "--port", "0"]
    with open(folder / "stderr", "w", encoding="utf-8") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:"), (folder / "stderr").read_text(encoding="utf-8")
            yield address
        finally:
            process.terminate()
            process.wait(30)
            process.stdout.close()
    assert not (folder / "stderr").read_text(encoding="utf-8"), (folder / "stderr").read_text(encoding="utf-8")


def get(address, path, data=None):
    """Status and text of an answer."""
    data = None if data is None else urllib.parse.urlencode(data).encode()
    try:
        with urllib.request.urlopen(address + path, data, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def search(text):
    return "?" + urllib.parse.urlencode({"q": text})


def documents(page, section):
    """The ids of the products in one of the three lists of a page."""
    part = page.split(f'id="{section}"')[1].split("</section>")[0]
    return [int(doc) for doc in re.findall(r'<li data-doc="(\d+)"', part)]


def check_lists(address, db):
    """The lists are those that the database gives, and each product has its reasons."""
    text = "red running shoes"
    _, page = get(address, search(text))
    found = "SELECT rowid FROM docs WHERE docs MATCH 'red OR running OR shoes' ORDER BY rank LIMIT ?"
    best = [row[0] for row in db.execute(found, (100,))]
    assert documents(page, "today") == best[:10]
    source = f"""SELECT docs.rowid AS doc_id, ltr_vec(ltr_fts(docs), p.sold, p.price, p.stars, p.stock > 0) AS features
      FROM docs JOIN products AS p ON p.id = docs.rowid
     WHERE docs MATCH 'red OR running OR shoes' AND +docs.rowid IN ({", ".join(map(str, best))})"""
    learned = [row[0] for row in db.execute("SELECT doc_id FROM ltr_rank('shop', ?) ORDER BY rank LIMIT 10", (source,))]
    assert documents(page, "learned") == learned
    assert learned != best[:10]
    mixed = documents(page, "mixed")
    assert len(mixed) == 10 and set(mixed) <= set(best[:10]) | set(learned)
    # A mark says how many places a product has moved, and the reasons are sums of ltr_explain.
    order = [row[0] for row in db.execute("SELECT doc_id FROM ltr_rank('shop', ?) ORDER BY rank", (source,))]
    own = ["sold", "price", "stars", "in_stock"]
    sums = {doc: dict.fromkeys([*own, "text"], 0.0) for doc in {*best[:10], *learned}}
    for doc, points in sums.items():
        explained = "SELECT feature, contribution FROM ltr_explain('shop', ?, NULL, ?)"
        for feature, amount in db.execute(explained, (source, doc)):
            if feature != "(base)":
                points[feature if feature in own else "text"] += amount
    items = page.split('id="learned"')[1].split("</section>")[0].split("<li ")[1:]
    for place, (doc, item) in enumerate(zip(learned, items), 1):
        moved = best.index(doc) + 1 - place
        mark = f"{'▲' if moved > 0 else '▼'} {abs(moved)}" if moved else "="
        assert f">{mark}</span>" in item, (mark, item)
        assert len(re.findall(r"<tr><td>", item)) == 5, item
        for reason, found in re.findall(r"<tr><td>(\w+)<td>([+-][\d.]+)", item):
            mean = sum(sums[other][reason] for other in best[:10]) / 10
            assert abs(sums[doc][reason] - mean - float(found)) < 0.006, (doc, reason, found)
    for doc, item in zip(best, page.split('id="today"')[1].split("</section>")[0].split("<li ")[1:]):
        assert f">now {order.index(doc) + 1}</span>" in item, item
    print("lists, marks and reasons match the database")


def check_run(folder, quality):
    """`examples/shop/run` makes the same shop from nothing, and serves it."""
    environ = {**os.environ, "SHOP": str(folder / "run"), "PORT": "0"}
    process = subprocess.Popen([EXAMPLE / "run", LIBRARY], env=environ, stdout=subprocess.PIPE, text=True)
    try:
        check_home(next(line.strip() for line in process.stdout if line.startswith("http://127.0.0.1:")), quality)
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()
    print("examples/shop/run serves the shop")


def check_home(address, quality):
    """The shop opens with an example before and after, and with what it has gained."""
    _, page = get(address, "")
    assert len(documents(page, "today")) == len(documents(page, "learned")) == 10
    for name, value in zip(["BM25", "learned"], quality):
        assert f"<span>{name} {value:.2f}</span>" in page, (name, value)
    assert "Simulate 200 visitors" in page


def check_visitors(folder, address, db):
    """The button shows 200 lists and counts clicks. The same shop gets the same visitors."""
    counts = "SELECT (SELECT count(DISTINCT impression) FROM served), (SELECT count(*) FROM clicks)"
    (folder / "again").mkdir()
    db.execute("VACUUM INTO ?", (str(folder / "again" / "shop.db"),))
    before = db.execute(counts).fetchone()
    pages = [get(address, "simulate", {})[1] for _ in range(2)]
    lists, clicks = (now - then for now, then in zip(db.execute(counts).fetchone(), before))
    assert lists == 400 and clicks > 200, (lists, clicks)
    result = "SELECT wins_b, ties, wins_a, impressions, ci_low, ci_high FROM ltr_interleave_result('visits')"
    *numbers, low, high = db.execute(result).fetchone()
    assert "Learned won {0}, BM25 won {2}, ties {1} (lists shown: {3}).".format(*numbers) in pages[1]
    assert low > 0 and f"interval {low:+.2f} to {high:+.2f}" in pages[1], pages[1]
    assert "Customers prefer the learned ranking" in pages[1], pages[1]
    with server(folder / "again") as without_grades:
        assert "Simulate" not in get(without_grades, "")[1] and get(without_grades, "simulate", {})[0] == 404
    shutil.copy(folder / "grades.csv", folder / "again")
    with server(folder / "again") as other:
        assert get(other, "simulate", {})[1] == pages[0]
    print(f"visitors: {lists} lists, {clicks} clicks, difference from {low:+.2f} to {high:+.2f}")


def check_picture(folder):
    """The picture of the README has the titles, marks and reasons of this shop. LTR_BLESS=1 redraws it."""
    command = [sys.executable, EXAMPLE / "picture.py", folder / "shop.db", LIBRARY]
    drawn = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True).stdout
    path = ROOT / "docs" / "guide" / "plots" / "shop.svg"
    if os.environ.get("LTR_BLESS"):
        path.write_text(drawn, encoding="utf-8")
    texts = [re.findall(r">([^<>\n]+)</text>", svg) for svg in (drawn, path.read_text(encoding="utf-8"))]
    assert len(texts[0]) > 60 and len(drawn) < 20_000, (len(texts[0]), len(drawn))
    hint = "docs/guide/plots/shop.svg is not current: LTR_BLESS=1 cargo test --test loadable the_shop"
    assert texts[0] == texts[1], (hint, [pair for pair in zip(*texts) if pair[0] != pair[1]])


def check_hostile(address):
    for text in HOSTILE:
        status, page = get(address, search(text))
        shown = html.escape(" ".join(text.split())[:200], quote=True)
        assert status == 200 and f'name="q" value="{shown}"' in page, (text, status)
        assert "<script" not in page and "<img" not in page and "Traceback" not in page, text
    nonsense = [
        ("?q=%ff%fe", 200),
        ("?q=", 200),
        ("product?id=1", 200),
        ("product?id=99999", 404),
        ("product?id=x", 404),
    ]
    for path, wanted in [*nonsense, ("product", 404), ("shop.db", 404), ("../shop.py", 404), ("%00", 404)]:
        assert get(address, path)[0] == wanted, path
    for data in [{}, {"impression": "x", "doc": "1"}, {"impression": "'", "doc": "1 OR 1"}]:
        assert get(address, "click", data)[0] == 404, data
    assert get(address, "click", {"doc": "1" * 20_000})[0] == 400
    for size in ["", "-1", "1.0", "x", "1e3", "\xb2", "10001", "1" * 15, "1" * 16, "1" * 5_000, "0" * 60_000]:
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(address).netloc, timeout=60)
        connection.putrequest("POST", "/click")
        connection.putheader("Content-Length", size.encode("latin-1"))
        connection.endheaders()
        assert connection.getresponse().status == 400, size
        connection.close()
    print(f"{len(HOSTILE)} hostile searches")


def check_clicks(address, db):
    """A click counts for the ranking that chose the product, once."""
    for _ in range(2):
        _, page = get(address, search("rain jacket"))
        impression = re.search(r'name="impression" value="([^"]+)"', page)[1]
        served = "SELECT doc_id, team FROM served WHERE impression = ?"
        shown = dict(db.execute(served, (impression,)))
        doc = documents(page, "mixed")[0]
        for _ in range(2):
            status, product = get(address, "click", {"impression": impression, "doc": doc})
            assert status == 200 and "stars" in product
        assert db.execute("SELECT count(*) FROM clicks WHERE impression = ?", (impression,)).fetchone() == (1,)
        other = next(number for number in range(1, 100) if number not in shown)
        assert get(address, "click", {"impression": impression, "doc": other})[0] == 404
    wins = db.execute("SELECT wins_b, wins_a, ties FROM ltr_interleave_result('visits')").fetchone()
    assert sum(wins) == 2, wins
    assert "Learned won {}, BM25 won {}, ties {} ".format(*wins) in get(address, "")[1]


class Tab:
    """A tab of the browser of tests/hosts/browser.py, as a user has it."""

    def __init__(self, browser, address):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        browser.call("Page.enable", self.session)
        self.then_load(lambda: browser.call("Page.navigate", self.session, url=address))

    def then_load(self, action):
        self.browser.events.clear()
        action()
        self.browser.wait_for("Page.loadEventFired")

    def value(self, expression):
        answer = self.browser.call("Runtime.evaluate", self.session, expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press_enter(self):
        key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
        self.browser.call("Input.dispatchKeyEvent", self.session, type="keyDown", **key)


def check_in_browser(address, db, profile):
    """A user types, reads, and clicks; pages are looked at in light and dark, narrow and wide."""
    import browser as devtools

    browser = devtools.Browser(CHROMIUM, profile)
    tab = Tab(browser, address)
    clicks = db.execute("SELECT count(*) FROM clicks").fetchone()[0]
    before = tab.value("document.querySelector('#result .note').innerText")
    tab.value("document.querySelector('input').focus()")
    browser.call("Input.insertText", tab.session, text="<b>wool</b> socks")
    tab.then_load(tab.press_enter)
    assert tab.value("document.querySelector('input').value") == "<b>wool</b> socks"
    for section in ["mixed", "today", "learned"]:
        assert tab.value(f"document.querySelectorAll('#{section} li').length") == 10, section
    # The numbers of a reason open with a click.
    tab.value("document.querySelector('#learned summary').click()")
    assert tab.value("document.querySelector('#learned table').getBoundingClientRect().height") > 0
    title = tab.value("document.querySelector('#mixed button').innerText")
    tab.then_load(lambda: tab.value("document.querySelector('#mixed button').click()"))
    assert tab.value("document.querySelector('main h2').innerText") == title
    assert db.execute("SELECT count(*) FROM clicks").fetchone()[0] == clicks + 1
    tab.then_load(lambda: browser.call("Page.navigate", tab.session, url=address))
    after = tab.value("document.querySelector('#result .note').innerText")
    assert after != before and after.startswith("Learned "), after
    shown = "SELECT count(DISTINCT impression) FROM served"
    lists = db.execute(shown).fetchone()[0]
    tab.then_load(lambda: tab.value("document.querySelector('#result button').click()"))
    assert db.execute(shown).fetchone()[0] == lists + 200
    print("typed, read, clicked, simulated:", tab.value("document.querySelector('#result .note').innerText"))

    pictures = os.environ.get("LTR_PICTURES")
    views = 0
    for name, path in [("home", ""), ("list", search("red running shoes")), ("hostile", search(HOSTILE[1]))]:
        for theme in ["light", "dark"]:
            for width in [400, 1240]:
                picture = pathlib.Path(pictures, f"shop-{name}-{theme}-{width}.png") if pictures else None
                problems = devtools.view(browser, address + path, theme, width, picture)
                assert not problems, (path, theme, width, problems)
                views += 1
    browser.call("Browser.close")
    browser.process.wait(30)
    print(f"{views} views without messages, requests and scrolling")


def main():
    check_count()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        make(folder)
        db = connect(folder)
        quality = check_quality(folder, db)
        check_picture(folder)
        with server(folder) as address:
            check_home(address, quality)
            check_run(folder, quality)
            check_lists(address, db)
            check_hostile(address)
            check_clicks(address, db)
            check_visitors(folder, address, db)
            if CHROMIUM:
                check_in_browser(address, db, folder / "profile")
        db.close()


main()
