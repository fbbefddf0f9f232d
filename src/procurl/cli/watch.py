"""The command `watch`: the report of a running sweep, served to a browser."""

import argparse
import errno
import socket
from pathlib import Path
from typing import Any

from procurl.cli.training import integer

HOST, PORT = "127.0.0.1", 8642


def add_watch_command(commands: Any) -> None:
    """Add `watch` to the parser's commands."""
    watch = commands.add_parser(
        "watch",
        help="show the report of a running sweep in a browser",
        description="Serve the report of a results directory, with the progress of its runs and "
        "the time left. The page updates itself while runs train. Nothing is written. Stop with "
        "Ctrl-C.",
        epilog="Example: procurl watch results/compare-pointmass-s",
    )
    watch.add_argument(
        "folder", type=Path, metavar="DIR", help="a results directory, as given to --out"
    )
    watch.add_argument(
        "--host",
        default=HOST,
        help="address to listen on; 0.0.0.0 shows the results to the whole network (default: "
        "%(default)s, this machine only)",
    )
    watch.add_argument(
        "--port", type=integer, default=PORT, help="0 for any free one (default: %(default)s)"
    )
    watch.set_defaults(run=_watch)


def _watch(parsed: argparse.Namespace) -> int:
    from procurl.experiments.watching.server import WatchServer

    if not 0 <= parsed.port <= 65535:
        raise ValueError(f"--port must be between 0 and 65535, got {parsed.port}")
    try:
        server = WatchServer(parsed.folder, parsed.host, parsed.port)
    except OSError as error:
        raise _clear_error(error, parsed.host, parsed.port) from error
    with server:
        print(f"watching {parsed.folder} at {server.url} (Ctrl-C stops)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:  # the only way to stop it, and nothing to resume
            print()
    return 0


def _clear_error(error: OSError, host: str, port: int) -> OSError:
    """The error with a remedy if the address cannot be used."""
    if error.errno == errno.EADDRINUSE:
        return OSError(f"port {port} is in use: choose another with --port, or --port 0 for any")
    if error.errno == errno.EACCES:
        return OSError(f"port {port} needs more rights: choose one above 1023 with --port")
    if error.errno == errno.EADDRNOTAVAIL or isinstance(error, socket.gaierror):
        return OSError(f"--host must be an address of this machine, got {host!r}")
    return error
