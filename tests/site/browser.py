#!/usr/bin/env python3
"""Opens the built site in headless Chromium: `tests/site/browser.py [PICTURES]`, a folder for pictures.

Pages in light and dark, 400 and 1200 pixels wide: no message of the console, no request to another host, no horizontal
scrolling. Then the search box gets some of the questions of questions.json, and must show what search.mjs computes. Without
Chromium a note; with LTR_REQUIRE_HOSTS=1 that is a failure.
"""

import base64
import functools
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/hosts"))
from browser import Browser, problem  # noqa: E402

GUIDES = ["rag", "which-algorithm", "hybrid", "plots"]
PAGES = ["", *(f"guide/{name}.html" for name in GUIDES), "compared.html", "reference/options.html", "hosts.html", "papers.html", "benchmarks.html"]
SEARCHES = 3


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


class Tab:
    """A tab of the browser, in a theme and a width."""

    def __init__(self, browser, theme, width):
        self.browser, self.width = browser, width
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ["Network", "Log", "Runtime", "Page"]:
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def value(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)["result"].get("value")

    def wait(self, expression, seconds=20):
        end = time.monotonic() + seconds
        while not self.value(expression):
            if time.monotonic() > end:
                sys.exit(f"never true: {expression}")
            time.sleep(0.05)

    def open(self, url, site):
        """Opens a page; returns what is wrong."""
        self.browser.events.clear()
        self.call("Page.navigate", url=url)
        self.browser.wait_for("Page.loadEventFired")
        self.wait("!!document.querySelector('#app')?.__vue_app__")
        found = [text for text in (problem(event, url) for event in self.browser.events) if text]
        found = [text for text in found if not text.startswith(f"request {site}")]
        wide = self.value("document.documentElement.scrollWidth")
        return found + ([f"horizontal scrolling: {wide} pixels"] if wide > self.width else [])

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def search(self, question):
        """Types a question; returns the addresses of the results."""
        self.value("document.querySelector('.DocSearch-Button').click()")
        self.wait("!!document.querySelector('.search-input')")
        self.value(f"(input => {{ input.value = {json.dumps(question)}; input.dispatchEvent(new Event('input')); }})"
                   "(document.querySelector('.search-input'))")
        self.wait("document.querySelectorAll('.result').length > 0")
        time.sleep(0.5)
        found = self.value("[...document.querySelectorAll('.result')].map((result) => result.getAttribute('href'))")
        return found

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)


def check(browser, site, pictures):
    wrong = []
    for theme in ["light", "dark"]:
        for width in [400, 1200]:
            tab = Tab(browser, theme, width)
            for page in PAGES:
                wrong += [f"{page or 'front page'}, {theme}, {width}: {text}" for text in tab.open(site + page, site)]
                if pictures:
                    tab.picture(pictures / f"{pathlib.Path(page or 'front').stem}-{theme}-{width}.png")
            tab.close()
    return wrong


def check_search(browser, site, pictures):
    command = ["node", str(ROOT / "tests/site/search.mjs"), "--json"]
    expected = json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=False).stdout)
    wrong = []
    for theme, width in [("light", 1200), ("dark", 400)]:
        tab = Tab(browser, theme, width)
        tab.open(site, site)
        for question, results in list(expected.items())[:SEARCHES]:
            tab.open(site, site)
            found = tab.search(question)
            if found[:3] != results[:3]:
                wrong.append(f"search, {question}: the box shows {found[:3]}, not {results[:3]}")
        if pictures:
            tab.picture(pictures / f"search-{theme}-{width}.png")
        tab.close()
    return wrong


def main():
    program = next(filter(None, map(shutil.which, ["google-chrome", "chromium", "chromium-browser"])), None)
    if program is None:
        print("*** NOT TESTED in a browser: no Chromium (Debian: apt install chromium) ***")
        sys.exit(os.environ.get("LTR_REQUIRE_HOSTS", "0") != "0")
    pictures = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        # The site lies in the folder that SITE_BASE says.
        base = os.environ.get("SITE_BASE", "/")
        place = pathlib.Path(folder, "www", base.strip("/"))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(ROOT / "target/site")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(pathlib.Path(folder, "www"))))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        site = f"http://127.0.0.1:{server.server_port}{base}"
        browser = Browser(program, str(pathlib.Path(folder, "profile")))
        wrong = check(browser, site, pictures) + check_search(browser, site, pictures)
        browser.call("Browser.close")
        browser.process.wait(30)
        server.shutdown()
    for text in wrong:
        print(text)
    print(f"{len(PAGES)} pages in 4 views and {2 * SEARCHES} searches, {len(wrong)} findings")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
