"""Atomic file writing: a reader sees the old file or the new one, never a part of either."""

import hashlib
import os
import re
import secrets
from os import PathLike
from pathlib import Path

# Characters that a file name must not contain.
RESERVED = r'[<>:"/\\|?*]' if os.name == "nt" else "/"
NAME_BYTES = 255  # of a file name, which most file systems allow
TEMPORARY = re.compile(r"\..+\.([1-9]\d*)\.[0-9a-f]{8}(-wal|-shm|-journal)?")
HASH_DIGITS = 16  # in place of what is cut off a longer name


def file_name(text: str) -> str:
    """A name for a file or directory; one that is too long is cut and ends with a hash of it all.

    >>> file_name("a/b"), len(file_name("a" * 300))
    ('a_b', 255)
    """
    name = re.sub(RESERVED, "_", text)
    content = name.encode(errors="surrogateescape")
    if len(content) <= NAME_BYTES:
        return name
    kept = content[: NAME_BYTES - HASH_DIGITS - 1].decode(errors="ignore")
    return f"{kept}-{hashlib.sha256(content).hexdigest()[:HASH_DIGITS]}"


def user_cache(name: str) -> Path | None:
    """The folder `name` in procurl's part of the user's cache; None if the user has no home."""
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # such as a user of a container who is in no list
        return None
    return Path(base, "procurl", name)


def write_text(path: str | PathLike[str], text: str) -> None:
    """Replace a text file atomically; it is encoded as UTF-8."""
    write_bytes(path, text.encode())


def write_bytes(path: str | PathLike[str], content: bytes) -> None:
    """Replace a file atomically. If writing fails, the old file stays as it was."""
    target = Path(path)
    try:
        _replace(target, content)
    except OSError as error:
        if error.errno is None:
            raise
        # A full disk names no file; other errors name the temporary file, unknown to the caller.
        raise OSError(error.errno, error.strerror, str(target)) from error


def temporary_path(target: Path) -> Path:
    """Where to write a file before it takes the place of `target`; it names this process."""
    return target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(4)}")


def remove_leftovers(folder: Path) -> int:
    """Remove the temporary files in `folder` of processes that were killed; returns their number.

    Files of processes that still run on this machine are kept.
    """
    removed = 0
    for path in folder.glob(".*"):
        found = TEMPORARY.fullmatch(path.name)
        if found and not _is_running(int(found[1])):
            path.unlink(missing_ok=True)
            removed += 1
    return removed


def _is_running(process: int) -> bool:
    if os.name == "nt":  # where this signal would be Ctrl-C
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _replace(target: Path, content: bytes) -> None:
    temporary = temporary_path(target)
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
