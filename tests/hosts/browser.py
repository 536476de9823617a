#!/usr/bin/env python3
"""Opens pages in headless Chromium, by its DevTools protocol on two pipes.

    browser.py CHROMIUM PICTURES PAGE...

Every page is opened in light and dark, 400 and 1000 pixels wide. One line for each problem: a console message, a request
for anything but the page itself, horizontal scrolling. PICTURES is a folder for one PNG of each view; empty for none.
The last line is "VIEWS" and the number of views.
"""

import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile


class Browser:
    """A running browser. Messages are JSON, each followed by a zero byte."""

    def __init__(self, program, profile):
        commands, self.to_browser = os.pipe()
        self.from_browser, answers = os.pipe()

        def numbers_3_and_4():
            # 3 and 4 are in use, so the copies have other numbers.
            read, write = os.dup(commands), os.dup(answers)
            os.dup2(read, 3)
            os.dup2(write, 4)

        arguments = ["--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--hide-scrollbars", f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen([program, *arguments], preexec_fn=numbers_3_and_4, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self.rest, self.number, self.events = b"", 0, []

    def message(self):
        while b"\0" not in self.rest:
            part = os.read(self.from_browser, 1 << 16)
            if not part:
                sys.exit("the browser ended")
            self.rest += part
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, session=None, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if session:
            request["sessionId"] = session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.to_browser, data):]
        while True:
            message = self.message()
            if message.get("id") == self.number:
                if "error" in message:
                    sys.exit(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def wait_for(self, method):
        while not any(event["method"] == method for event in self.events):
            self.events.append(self.message())


def problem(event, page):
    """What an event says against the page."""
    method, parameters = event["method"], event.get("params", {})
    if method == "Network.requestWillBeSent":
        url = parameters["request"]["url"]
        return None if url == page or url.startswith("data:") else f"request {url}"
    if method == "Log.entryAdded":
        return f"log {parameters['entry']['text']}"
    if method == "Runtime.consoleAPICalled":
        return f"console {parameters['args']}"
    if method == "Runtime.exceptionThrown":
        return f"exception {parameters['exceptionDetails']['text']}"
    return None


def view(browser, page, theme, width, picture):
    """Opens a page; returns what is wrong."""
    browser.events.clear()
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ["Network", "Log", "Runtime", "Page"]:
        browser.call(f"{domain}.enable", session)
    browser.call("Emulation.setDeviceMetricsOverride", session, width=width, height=900, deviceScaleFactor=1, mobile=False)
    features = [{"name": "prefers-color-scheme", "value": theme}]
    browser.call("Emulation.setEmulatedMedia", session, features=features)
    browser.events.clear()
    browser.call("Page.navigate", session, url=page)
    browser.wait_for("Page.loadEventFired")
    sizes = "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
    found = browser.call("Runtime.evaluate", session, expression=sizes, returnByValue=True)["result"]["value"]
    problems = [text for text in (problem(event, page) for event in browser.events) if text]
    if found[0] > width:
        problems.append(f"horizontal scrolling: {found[0]} pixels")
    if picture:
        clip = {"x": 0, "y": 0, "width": width, "height": min(found[1], 16000), "scale": 1}
        shot = browser.call("Page.captureScreenshot", session, clip=clip, captureBeyondViewport=True)
        picture.write_bytes(base64.b64decode(shot["data"]))
    browser.call("Target.closeTarget", targetId=target)
    return problems


def main():
    program, pictures, *pages = sys.argv[1:]
    views = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        for page in map(pathlib.Path, pages):
            for theme in ["light", "dark"]:
                for width in [400, 1000]:
                    name = f"{page.stem}-{theme}-{width}"
                    picture = pathlib.Path(pictures, f"{name}.png") if pictures else None
                    for text in view(browser, page.resolve().as_uri(), theme, width, picture):
                        print(f"{name}: {text}")
                    views += 1
        browser.call("Browser.close")
        browser.process.wait(30)
    print("VIEWS", views)


if __name__ == "__main__":
    main()
