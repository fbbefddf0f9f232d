"""Files with a valid checksum whose content nobody wrote: seeded mutations of JSON values."""

import copy
import hashlib
import json
from typing import Any

import numpy as np

from procurl.internals.archive import KEY, NO_DIGEST

STRANGE: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    10**400,
    1.5,
    float("nan"),
    float("-inf"),
    "",
    "x" * 50,
    "../../etc/passwd",
    [],
    [[]],
    {},
    {"": None},
    [1, "two", None],
)


def mutated(value, rng):
    """A copy of a JSON value, changed in one to three places."""
    root = [copy.deepcopy(value)]
    for _ in range(rng.randint(1, 3)):
        holder, key = rng.choice(list(_places(root)))
        if rng.random() < 0.25 and holder is not root:
            del holder[key]
        elif rng.random() < 0.2 and isinstance(holder[key], int | float):
            holder[key] = -holder[key]
        else:
            holder[key] = copy.deepcopy(rng.choice(STRANGE))
    return root[0]


def _places(holder):
    """(dictionary or list, key) of everything inside."""
    keys = list(holder) if isinstance(holder, dict) else range(len(holder))
    for key in keys:
        yield holder, key
        if isinstance(holder[key], dict | list):
            yield from _places(holder[key])


def altered_arrays(arrays, rng):
    """Arrays of which one is missing, cut, of another type or full of NaN."""
    changed = dict(arrays)
    name = rng.choice(sorted(changed)) if changed else "new"
    kind = rng.randrange(5)
    if kind == 0 or not changed or (kind == 4 and changed[name].dtype.kind != "f"):
        changed["new"] = np.zeros(3)
    elif kind == 1:
        del changed[name]
    elif kind == 2:
        changed[name] = changed[name].reshape(-1)[:-1]
    elif kind == 3:
        changed[name] = changed[name].astype("float16")
    else:
        changed[name] = changed[name] * np.float16("nan")
    return changed


def archive_of(about, data=b"", header=None):
    """An archive with any header entry of ours and a checksum that holds."""
    entries = {"__metadata__": {KEY: json.dumps({"sha256": NO_DIGEST, **about})}, **(header or {})}
    text = json.dumps(entries).encode()
    content = len(text).to_bytes(8, "little") + text + data
    digest = hashlib.sha256(content).hexdigest()
    return content.replace(NO_DIGEST.encode(), digest.encode(), 1)


def deep(levels=100_000):
    """JSON that is nested too deep for any reader."""
    return "[" * levels + "]" * levels
