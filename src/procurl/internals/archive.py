"""Arrays and JSON values in one safetensors file, protected by a checksum; no pickled code.

The JSON values are in the header, under the metadata key `procurl`, together with the names of the
arrays in their order (safetensors sorts them) and the SHA-256 of the file. The SHA-256 is computed
with zeros in its own place.
"""

import csv
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from gzip import BadGzipFile
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from procurl.internals.files import write_bytes

KEY = "procurl"
NO_DIGEST = "0" * 64
LENGTH_BYTES = 8  # of the header's length, with which a safetensors file starts
DTYPE_KINDS = "biuf"
MAX_ITEM_BYTES = 8  # safetensors has no long double
# What code raises that reads values of another type or form than it expects.
UNEXPECTED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    BadGzipFile,
    EOFError,
    LookupError,
    RecursionError,
    StopIteration,
    TypeError,
    csv.Error,
    zlib.error,
)


@contextmanager
def content_errors(source: str | PathLike[str]) -> Iterator[None]:
    """Turn what goes wrong with the content of a file into a ValueError that names the file.

    A checksum says that a file is as it was written, not that procurl wrote it.
    """
    try:
        yield
    except ValueError as error:
        if str(error).startswith(str(source)):
            raise
        raise ValueError(f"{source}: {error}") from error
    except KeyError as error:
        raise ValueError(
            f"{source}: the entry {error} is missing; it is not a file that this "
            "version of procurl wrote"
        ) from error
    except UNEXPECTED as error:
        raise ValueError(
            f"{source}: its content has another form than this version of procurl writes "
            f"({type(error).__name__}: {error})"
        ) from error


def write_archive(
    path: str | PathLike[str], meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write an archive atomically: an existing file stays whole until the new one is complete."""
    write_bytes(path, pack_archive(meta, arrays))


def read_archive(path: str | PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """(meta, arrays) of a file by `write_archive`; ValueError if it is damaged or something else.

    Args:
        path: of the file.
    """
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{path} does not exist: pass a file that was saved") from error
    except IsADirectoryError as error:
        raise IsADirectoryError(f"{path} is a folder: pass the file that was saved") from error
    return unpack_archive(content, path)


def pack_archive(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The content of an archive file.

    Args:
        meta: JSON values by name.
        arrays: of booleans, integers or floats, of any shape.
    """
    from safetensors.numpy import save

    stored = {name: _little_endian(name, array) for name, array in arrays.items()}
    about = {"sha256": NO_DIGEST, "names": list(stored), "meta": meta}
    content = save(stored, metadata={KEY: json.dumps(about)})
    place = content.index(NO_DIGEST.encode())
    digest = hashlib.sha256(content).hexdigest().encode()
    return b"".join([content[:place], digest, content[place + len(digest) :]])


def unpack_archive(
    content: bytes, source: str | PathLike[str]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """(meta, arrays) of `pack_archive`'s result.

    Args:
        content: to be unpacked.
        source: where it came from, for error messages.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    length = int.from_bytes(content[:LENGTH_BYTES], "little")
    try:
        header = json.loads(content[LENGTH_BYTES : LENGTH_BYTES + length])
        about = json.loads(header["__metadata__"][KEY])
        digest = about["sha256"].encode()
        place = content.index(digest)
    except (ValueError, *UNEXPECTED) as error:
        raise ValueError(f"{source}: not a procurl archive, or its header is damaged") from error
    whole = hashlib.sha256(content[:place])
    whole.update(NO_DIGEST.encode())
    whole.update(memoryview(content)[place + len(digest) :])
    if whole.hexdigest().encode() != digest:
        raise ValueError(f"{source}: the file is truncated or altered, its checksum is wrong")
    with content_errors(source):
        try:
            arrays = load(content)
        except SafetensorError as error:
            raise ValueError(f"its arrays cannot be read: {error}") from error
        meta, names = about["meta"], about["names"]
        if not isinstance(meta, dict) or set(names) != set(arrays):
            raise ValueError("its header does not describe its content")
        return meta, {name: _writable(arrays[name]) for name in names}


def _little_endian(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """The array as safetensors needs it: contiguous, in a little-endian type that it knows."""
    given = np.asarray(array)
    if given.dtype.kind not in DTYPE_KINDS or given.dtype.itemsize > MAX_ITEM_BYTES:
        raise TypeError(
            f"array {name!r} cannot be stored: it must hold booleans, integers or floats of at "
            f"most {8 * MAX_ITEM_BYTES} bits, got {given.dtype}"
        )
    return np.asarray(given, dtype=given.dtype.newbyteorder("<"), order="C")


def _writable(array: NDArray[Any]) -> NDArray[Any]:
    return array if array.flags.writeable else array.copy()
