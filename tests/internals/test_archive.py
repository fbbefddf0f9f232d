"""The archive: what was written comes back, and damage never goes unnoticed."""

import numpy as np
import pytest

from procurl.internals.archive import read_archive, write_archive

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


def test_objects_are_refused(tmp_path):
    with pytest.raises(TypeError, match="'objects' cannot be stored"):
        write_archive(tmp_path / "a", {}, {"objects": np.array([object()])})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", ["missing/a", "file/a", "folder"])
def test_a_file_that_cannot_be_written_is_named_as_it_was_given(tmp_path, place):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match=f"^[^/]*: {str(tmp_path / place)!r}$"):
        write_archive(tmp_path / place, META, ARRAYS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
