"""One file for arrays and JSON, checked by its hash and free of pickled code.

Layout: a magic line, the SHA-256 of all that follows, the length of the header as 8 bytes, the
header (JSON: the caller's `meta`, and name, type and shape of every array), then the arrays' bytes
in that order, little-endian.
"""

import hashlib
import json
import math
import os
import secrets
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"procurl archive 1\n"
HASH_BYTES = 32
LENGTH_BYTES = 8


def write_archive(
    path: str | PathLike[str], meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write everything or nothing: a file that was there stays whole until the new one is."""
    write_bytes(path, pack_archive(meta, arrays))


def pack_archive(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> list[bytes]:
    """What `write_archive` writes, in pieces."""
    stored = {name: np.asarray(array) for name, array in arrays.items()}
    for name, array in stored.items():
        if array.dtype.hasobject:
            raise TypeError(f"array {name!r} cannot be stored: it holds Python objects")
    stored = {name: array.astype(array.dtype.newbyteorder("<")) for name, array in stored.items()}
    index = [[name, array.dtype.str, array.shape] for name, array in stored.items()]
    header = json.dumps({"meta": meta, "arrays": index}).encode()
    body = [len(header).to_bytes(LENGTH_BYTES, "little"), header]
    body += [array.tobytes() for array in stored.values()]
    digest = hashlib.sha256()
    for part in body:
        digest.update(part)
    return [MAGIC, digest.digest(), *body]


def write_text(path: str | PathLike[str], text: str) -> None:
    """Write a text file as a whole, or leave what was there."""
    write_bytes(path, [text.encode()])


def write_bytes(path: str | PathLike[str], parts: list[bytes]) -> None:
    """Write a file as a whole, or leave what was there."""
    target = Path(path)
    try:
        _replace(target, parts)
    except OSError as error:
        if error.errno is None:
            raise
        # A full disk names no file, and all else the temporary one, which the caller never saw.
        raise OSError(error.errno, error.strerror, str(target)) from error


def _replace(target: Path, parts: list[bytes]) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "xb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_archive(path: str | PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """(meta, arrays) of a file by `write_archive`; ValueError if it is another or was damaged."""
    return unpack_archive(Path(path).read_bytes(), path)


def unpack_archive(
    content: bytes, source: str | PathLike[str]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """(meta, arrays) of what `pack_archive` gave; `source` says in errors where it came from."""
    start = len(MAGIC) + HASH_BYTES
    if not content.startswith(MAGIC):
        raise ValueError(f"{source}: not a procurl archive, or its beginning is damaged")
    if hashlib.sha256(content[start:]).digest() != content[len(MAGIC) : start]:
        raise ValueError(f"{source}: the file is truncated or was altered, its checksum is wrong")
    length = int.from_bytes(content[start : start + LENGTH_BYTES], "little")
    position = start + LENGTH_BYTES + length
    header = json.loads(content[start + LENGTH_BYTES : position])
    arrays = {}
    for name, kind, shape in header["arrays"]:
        dtype = np.dtype(kind)
        count = math.prod(shape)
        arrays[name] = np.frombuffer(content, dtype, count, position).reshape(shape).copy()
        position += count * dtype.itemsize
    return header["meta"], arrays
