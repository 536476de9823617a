"""Serves the shop on this computer: server.py DATABASE LIBRARY [--port 8000]

DATABASE is the file that shop.sql has made, LIBRARY the sqlite-ltr library. Port 0 takes a free port. The first line of
the output is the address. If generate.py's grades.csv is next to DATABASE, the page has simulated visitors. Needs a
Python whose sqlite3 can load extensions, such as Debian's /usr/bin/python3.
"""

import argparse
import http.server
import pathlib
import sqlite3
import sys
import traceback
import urllib.parse
import uuid

import pages
import shop
import visitors

EXAMPLE = "green sleeping bag"
LIMIT = 10_000
# The pages run no script and load nothing.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class Handler(http.server.BaseHTTPRequestHandler):
    """Two kinds of requests: GET of a page, POST of a click or of simulated visitors."""

    server_version, sys_version = "shop", ""
    # A browser opens connections that it does not use; they end by themselves.
    timeout = 30

    def do_GET(self):
        self.guarded(self.get)

    def do_POST(self):
        self.guarded(self.post)

    def guarded(self, answer):
        """Errors are for the terminal. The customer sees that there was one."""
        try:
            answer()
        except (ConnectionError, TimeoutError):
            pass
        except Exception:  # noqa: BLE001
            traceback.print_exc()
            self.send(500, pages.message("Something went wrong", "The server's terminal has the error."))

    def get(self):
        url = urllib.parse.urlsplit(self.path)
        values = urllib.parse.parse_qs(url.query, errors="replace")
        query = " ".join(values.get("q", [""])[0].split())[:200]
        store = self.server.shop
        if url.path == "/" and not query:
            found, searches = store.compare(EXAMPLE), store.popular_searches()
            self.send(200, pages.home(EXAMPLE, found, searches, self.server.visitors, store.result()))
        elif url.path == "/":
            impression = str(uuid.uuid4())
            if found := store.compare(query):
                mixed = store.serve(query, impression)
                self.send(200, pages.results(query, found, impression, mixed, store.result()))
            else:
                self.send(200, pages.message("Nothing found", "No product has one of these words.", query))
        elif url.path == "/product" and (product := store.products([whole(values)])):
            self.send(200, pages.product(*product.values(), query))
        else:
            self.send(404, pages.message("Not found", "The shop has no such page."))

    def post(self):
        size = number(self.headers.get("Content-Length", ""))
        if not 0 <= size <= LIMIT:
            return self.send(400, pages.message("Something went wrong", f"A click has at most {LIMIT} bytes."))
        values = urllib.parse.parse_qs(self.rfile.read(size).decode("utf-8", "replace"), errors="replace")
        path, doc, query = urllib.parse.urlsplit(self.path).path, whole(values, "doc"), None
        if path == "/simulate" and self.server.visitors:
            self.server.visitors.visit(200)
            return self.send(303, "", {"Location": "/"})
        if path == "/click":
            query = self.server.shop.click(values.get("impression", [""])[0], doc)
        if query is None:
            return self.send(404, pages.message("Not found", "No list with this product was shown."))
        self.send(303, "", {"Location": "/product?" + urllib.parse.urlencode({"id": doc, "q": query})})

    def send(self, status, text, headers=None):
        data = text.encode("utf-8", "replace")
        self.send_response(status)
        common = {
            "Content-Type": "text/html; charset=utf-8",
            "Content-Length": len(data),
            "Content-Security-Policy": POLICY,
        }
        for name, value in {**common, "Cache-Control": "no-store", **(headers or {})}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def whole(values, name="id"):
    """The whole number of a form, or -1, which no product has."""
    return number(values.get(name, [""])[0])


def number(text):
    """The whole number of a text from the network, or -1."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else -1


def main():
    parser = argparse.ArgumentParser(description="Serves the shop on this computer.")
    parser.add_argument("database")
    parser.add_argument("library")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    try:
        store = shop.Shop(options.database, options.library)
        if not store.rows("SELECT 1 FROM ltr_models WHERE name = 'shop' AND active"):
            sys.exit(f"server.py: {options.database} has no model 'shop': run shop.sql first")
    except (sqlite3.Error, AttributeError) as error:
        sys.exit(f"server.py: {options.database} with {options.library}: {error}")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    grades = pathlib.Path(options.database).with_name("grades.csv")
    server.shop, server.visitors = store, visitors.Visitors(store, grades) if grades.exists() else None
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
