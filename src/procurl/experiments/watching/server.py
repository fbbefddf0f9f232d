"""Serving the report of a results directory while its runs train, read-only."""

import json
import threading
from dataclasses import replace
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files as package_files
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from procurl.experiments.report.page import report_html
from procurl.experiments.running.live import time_left_text
from procurl.experiments.watching.status import SweepStatus, status_of, version_of
from procurl.records.store import read_store

LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
PAGES = {"/watch.css": "text/css", "/watch.js": "text/javascript"}  # beside the generated ones
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class WatchServer(ThreadingHTTPServer):
    """Serves the progress and the report of a results directory.

    Args:
        folder: a results directory; it is read at every request and never written.
        host: address to listen on. On a loopback address, only requests that name this machine are
            answered, so that no web page elsewhere can read the results through a browser.
        port: 0 for any free one.
    """

    daemon_threads = True

    def __init__(self, folder: Path, host: str, port: int) -> None:
        with read_store(folder):  # raises if there is nothing to watch
            pass
        self.folder = folder
        self.local_only = _is_loopback(host)
        self._lock = threading.Lock()
        self._report = ("", "")  # version of the store, and its page
        super().__init__((host, port), _Handler)

    @property
    def url(self) -> str:
        """The address to open in a browser."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}/"

    def status(self) -> dict[str, Any]:
        """The progress, as the page's script reads it."""
        with read_store(self.folder) as store:
            return status_json(status_of(store))

    def report(self) -> str:
        """The report page; it is built again only if the store has changed."""
        with self._lock:
            version, _ = version_of(self.folder)
            if version != self._report[0]:
                with read_store(self.folder) as store:
                    page = report_html(replace(store.results(), detail=store.detail))
                self._report = (version, page)
            return self._report[1]


def status_json(status: SweepStatus) -> dict[str, Any]:
    """The progress as JSON values."""
    return {
        "contenders": [one._asdict() for one in status.contenders],
        "finished": status.finished,
        "left": "" if status.finished else time_left_text(status.seconds_left),
        "since": round(status.seconds_since),
        "version": status.version,
    }


class _Handler(BaseHTTPRequestHandler):
    server: WatchServer

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if not self._is_for_us():
            self.send_error(HTTPStatus.FORBIDDEN, "this server answers to its own address only")
            return
        try:
            if path == "/":
                self._send(_part("watch.html"), "text/html", {"Content-Security-Policy": POLICY})
            elif path in PAGES:
                self._send(_part(path.removeprefix("/")), PAGES[path])
            elif path == "/report":
                self._send(self.server.report(), "text/html")
            elif path == "/status":
                self._send(json.dumps(self.server.status()), "application/json")
            else:
                self.send_error(HTTPStatus.NOT_FOUND)
        except ConnectionError:  # the browser no longer waits, because its page was reloaded
            self.close_connection = True
        except (OSError, ValueError) as error:  # of the store, such as one that was removed
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE, explain=str(error))

    def do_HEAD(self) -> None:
        self.do_GET()  # without the content

    def _is_for_us(self) -> bool:
        """Whether the request names this machine, if it is served to this machine alone."""
        name = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        return not self.server.local_only or name.lower() in LOCAL_NAMES or _is_loopback(name)

    def _send(self, text: str, kind: str, headers: dict[str, str] | None = None) -> None:
        content = text.encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        for name, value in (HEADERS | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the page asks every few seconds."""


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@cache
def _part(name: str) -> str:
    """The text of a file in `web/`."""
    return (package_files(__package__) / "web" / name).read_text(encoding="utf-8")
