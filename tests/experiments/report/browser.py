"""A headless Chromium for tests, driven through its DevTools pipe with the standard library."""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from procurl.experiments.report.page import report_html

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 60.0  # seconds for any answer, on a busy machine
KEYS = {
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    "Home": 36,
    "End": 35,
    "Tab": 9,
    "Enter": 13,
    "Escape": 27,
    " ": 32,
}
TEXT = {"Enter": "\r", " ": " "}


def chromium() -> str | None:
    """Where Chromium is installed, None where it is not."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """One page of a headless Chromium; everything that it complains about is in `complaints`."""

    def __init__(self, program: str, profile: Path) -> None:
        to_child, self._write = os.pipe()
        self._read, from_child = os.pipe()
        # Chromium reads commands from descriptor 3 and answers on 4.
        command = f'exec "$@" 3<&{to_child} 4>&{from_child}'
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-extensions",
            "--no-first-run",
            "--hide-scrollbars",
            "--force-device-scale-factor=1",
            f"--user-data-dir={profile}",
            "--remote-debugging-pipe",
        ]
        self._process = subprocess.Popen(
            ["bash", "-c", command, "bash", program, *options],
            pass_fds=(to_child, from_child),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_child)
        os.close(from_child)
        self._buffer = b""
        self._answers: dict[int, dict[str, Any]] = {}
        self._events: list[tuple[str, dict[str, Any]]] = []
        self._number = 0
        self._session: str | None = None
        self.complaints: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._write)  # Chromium ends when its pipe does
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)

    def call(self, method: str, **params: Any) -> Any:
        """The result of a DevTools command."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        number = self._number
        self._until(lambda: number in self._answers, method)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def open(self, page: Path, width: int = 1280, height: int = 900) -> None:
        """Load a page from disk and wait until its scripts have run."""
        self.resize(width, height)
        self.complaints.clear()
        self.requests.clear()
        self._events.clear()
        self.call("Page.navigate", url=page.resolve().as_uri())
        self._until(lambda: any(name == "Page.loadEventFired" for name, _ in self._events), "load")
        self.settle()

    def resize(self, width: int, height: int = 900) -> None:
        """Give the page another size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def settle(self) -> None:
        """Wait for two frames, so that what was asked for is drawn."""
        self.js("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")

    def js(self, expression: str) -> Any:
        """The value of an expression in the page, awaited where it is a promise."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def text(self, selector: str) -> str:
        """What a reader sees of the first element that matches."""
        found = self.js(f"document.querySelector({json.dumps(selector)})?.innerText")
        if found is None:
            raise LookupError(f"nothing matches {selector}")
        return str(found)

    def texts(self, selector: str) -> list[str]:
        """What a reader sees of every element that matches."""
        query = json.dumps(selector)
        found: list[str] = self.js(
            f"[...document.querySelectorAll({query})].map(e => e.innerText ?? e.textContent)"
        )
        return found

    def click(self, selector: str) -> None:
        """Press the mouse in the middle of the first element that matches."""
        x, y = self._middle(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def hover(self, selector: str, across: float = 0.5) -> None:
        """Move the mouse over an element, at a share of its width."""
        x, y = self._middle(selector, across)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def focus(self, selector: str) -> None:
        """Put the keyboard's focus on the first element that matches."""
        self.js(f"document.querySelector({json.dumps(selector)}).focus()")

    def press(self, *keys: str) -> None:
        """Press keys one after the other."""
        for key in keys:
            params: dict[str, Any] = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
            down = params | ({"text": TEXT[key]} if key in TEXT else {})
            self.call("Input.dispatchKeyEvent", type="keyDown", **down)
            self.call("Input.dispatchKeyEvent", type="keyUp", **params)
        self.settle()

    def screenshot(self, path: Path, whole: bool = True) -> None:
        """Write what the page looks like, all of it or the part in view, as a PNG file."""
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def _middle(self, selector: str, across: float = 0.5) -> tuple[float, float]:
        query = json.dumps(selector)
        box = self.js(
            f"(() => {{ const e = document.querySelector({query}); if (!e) return null;"
            " e.scrollIntoView({block: 'center', behavior: 'instant'});"
            " const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()"
        )
        if box is None:
            raise LookupError(f"nothing matches {selector}")
        return box[0] + across * box[2], box[1] + box[3] / 2

    def _until(self, done: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not done():
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                raise TimeoutError(f"Chromium gave no answer to {what} in {PATIENCE:.0f} s")
            some = os.read(self._read, 1 << 20)
            if not some:
                raise RuntimeError(f"Chromium ended while it was asked for {what}")
            *messages, self._buffer = (self._buffer + some).split(b"\0")
            for message in messages:
                self._take(json.loads(message))

    def _take(self, message: dict[str, Any]) -> None:
        if "id" in message:
            self._answers[message["id"]] = message
            return
        name, params = message["method"], message.get("params", {})
        self._events.append((name, params))
        if name == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(
                str(details.get("exception", {}).get("description", details["text"]))
            )
        elif name == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.complaints.append(str(params["args"]))
        elif name == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        elif name == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])


def show(browser, results, tmp_path):
    """Open the report of other results."""
    path = tmp_path / "report.html"
    path.write_text(report_html(results), encoding="utf-8")
    browser.open(path)
