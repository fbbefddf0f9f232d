"""Packed pools and arrays: crafted bytes are refused in one sentence."""

import random
import zlib

import numpy as np
import pytest

from procurl.internals.archive import pack_archive, unpack_archive
from procurl.records.evaluation import Evaluation
from procurl.records.packing import ARRAYS, pack_pool, unpack_detail, unpack_pool
from procurl.tasks.pool import TaskPool
from tests.crafted import altered_arrays, mutated

POOLS = {
    "contexts": TaskPool([[0.0, 1.0], [2.0, 3.0]], names=["a", "b"], features={"f": [1, 2]}),
    "seeds": TaskPool.from_seeds(3),
    "opaque": TaskPool([{"maze": 1}, {"maze": 2}], labels=["x", "y"]),
}


@pytest.mark.parametrize("kind", POOLS)
def test_a_crafted_pool_is_refused_in_one_sentence(kind):
    meta, arrays = unpack_archive(zlib.decompress(pack_pool(POOLS[kind])), "a test")
    rng = random.Random(0)
    for i in range(200):
        crafted = altered_arrays(arrays, rng) if i % 3 == 0 else arrays
        packed = zlib.compress(pack_archive(mutated(meta, rng) or {}, crafted))
        try:
            pool = unpack_pool(packed)
        except ValueError as error:
            message = str(error)
        else:
            message = f"the stored pool: {len(pool)}"
        assert message.startswith("the stored pool: ")
        assert "\n" not in message


def test_bytes_that_are_no_pool_are_refused():
    for packed in (
        b"",
        b"abc",
        zlib.compress(b""),
        zlib.compress(b"abc"),
        pack_pool(POOLS["seeds"])[:-3],
    ):
        with pytest.raises(ValueError, match="^the stored pool: "):
            unpack_pool(packed)


@pytest.mark.parametrize(
    "column", [b"", b"<i8", b"<i8abc", b"|O8" + zlib.compress(b"12345678"), b"\xff\xff\xff"]
)
def test_bytes_that_are_no_array_are_refused(column):
    evaluation = Evaluation(1, 0.0, None, 1, 1, 0.0, 0.0, None, np.zeros(0, dtype=np.int64))
    with pytest.raises(ValueError, match="^the stored picks and snapshots: "):
        unpack_detail(evaluation, [column] * len(ARRAYS))
