"""The archive: what was written comes back, and damage never goes unnoticed."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from procurl.internals.archive import (
    KEY,
    NO_DIGEST,
    pack_archive,
    read_archive,
    unpack_archive,
    write_archive,
)
from tests.crafted import archive_of, deep

ARRAYS = {
    "doubles": np.linspace(0, 1, 7),
    "flags": np.array([[True, False], [False, True]]),
    "scalar": np.array(3, dtype=np.int32),
    "nothing": np.zeros((0, 4), dtype=np.float32),
    "big-endian": np.arange(3, dtype=">i8"),
}
META = {"step": 12, "name": "é", "rng": {"state": 2**127 + 1}}


def test_everything_comes_back(tmp_path):
    write_archive(tmp_path / "a", META, ARRAYS)
    meta, arrays = read_archive(tmp_path / "a")
    assert meta == META
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype.newbyteorder("<")
        assert arrays[name].flags.writeable


def test_a_missing_file_is_named_without_an_error_number(tmp_path):
    with pytest.raises(FileNotFoundError) as missing:
        read_archive(tmp_path / "a")
    assert str(missing.value) == f"{tmp_path / 'a'} does not exist: pass a file that was saved"
    with pytest.raises(IsADirectoryError) as folder:
        read_archive(tmp_path)
    assert str(folder.value) == f"{tmp_path} is a folder: pass the file that was saved"


def test_every_altered_byte_is_noticed(tmp_path):
    path = tmp_path / "a"
    write_archive(path, META, ARRAYS)
    whole = path.read_bytes()
    for i in range(len(whole)):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 0x10]) + whole[i + 1 :])
        with pytest.raises(ValueError, match="damaged|checksum"):
            read_archive(path)


def test_every_truncation_is_noticed(tmp_path):
    path = tmp_path / "a"
    write_archive(path, META, ARRAYS)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="damaged|checksum"):
            read_archive(path)


@pytest.mark.parametrize(
    "array",
    [
        np.array([object()]),
        np.array(["word"]),
        np.array([1j]),
        np.array(["2024-01-01"], dtype="datetime64[D]"),
        np.zeros(2, dtype=np.longdouble),
    ],
    ids=["object", "str", "complex", "datetime", "longdouble"],
)
def test_arrays_that_safetensors_cannot_hold_are_refused(tmp_path, array):
    with pytest.raises(TypeError, match="'mine' cannot be stored: it must hold booleans, integ"):
        write_archive(tmp_path / "a", {}, {"mine": array})
    assert not list(tmp_path.iterdir())


def test_the_order_of_the_arrays_is_kept():
    """It is the order of a pool's features; that of safetensors is another one at every load."""
    _, arrays = unpack_archive(pack_archive(META, ARRAYS), "a test")
    assert list(arrays) == list(ARRAYS)


def test_a_slice_is_stored_as_it_reads():
    every_third = np.arange(12).reshape(3, 4)[:, ::3]
    _, arrays = unpack_archive(pack_archive({}, {"slice": every_third}), "a test")
    np.testing.assert_array_equal(arrays["slice"], every_third)


def test_any_reader_of_safetensors_reads_it(tmp_path):
    write_archive(tmp_path / "a.safetensors", META, ARRAYS)
    read = load_file(tmp_path / "a.safetensors")
    assert ARRAYS
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(read[name], array)


def test_another_safetensors_file_is_refused():
    with pytest.raises(ValueError, match="mine: not a procurl archive"):
        unpack_archive(save(ARRAYS), "mine")


@pytest.mark.parametrize(
    "content",
    [
        archive_of({}),
        archive_of({"names": [], "meta": []}),
        archive_of({"names": [], "meta": None}),
        archive_of({"names": ["a"], "meta": {}}),
        archive_of({"names": 5, "meta": {}}),
        archive_of({"names": [[]], "meta": {}}),
        archive_of({"names": [], "meta": {}}, b"more"),
        archive_of({"names": ["a"], "meta": {}}, header={"a": {"dtype": "F9", "shape": [1]}}),
        archive_of(
            {"names": ["a"], "meta": {}},
            b"1234",
            {"a": {"dtype": "F64", "shape": [10**12], "data_offsets": [0, 4]}},
        ),
        archive_of(
            {"names": ["a"], "meta": {}},
            b"12",
            {"a": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}},
        ),
        len(deep()).to_bytes(8, "little") + deep().encode(),
        b"\xff" * 64,
    ],
)
def test_a_crafted_archive_is_refused_in_one_sentence(content):
    with pytest.raises(ValueError, match="^mine: ") as raised:
        unpack_archive(content, "mine")
    assert "\n" not in str(raised.value)


def test_what_is_nested_too_deep_is_refused():
    about = '{"sha256": "' + NO_DIGEST + '", "meta": ' + deep() + "}"
    text = json.dumps({"__metadata__": {KEY: about}}).encode()
    content = len(text).to_bytes(8, "little") + text
    with pytest.raises(ValueError, match="mine: not a procurl archive"):
        unpack_archive(content, "mine")


@pytest.mark.parametrize("place", ["missing/a", "file/a", "folder"])
def test_a_file_that_cannot_be_written_is_named_as_it_was_given(tmp_path, place):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match=f"^[^/]*: {str(tmp_path / place)!r}$"):
        write_archive(tmp_path / place, META, ARRAYS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
