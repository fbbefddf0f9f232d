"""Continuous actions have the shape of the box they were trained in."""

import hashlib
import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from procurl.policy import load_policy, make_policy, save_policy


def constant_policy(mean, shape):
    """A policy on three numbers with the same mean everywhere, in a box from −9 to 0.2."""
    width = len(mean)
    head = {"output": {"kernel": np.zeros((3, width)), "bias": mean}, "log_std": np.zeros(width)}
    value = {"kernel": np.zeros((3, 1)), "bias": np.zeros(1)}
    box = np.full(shape, -9.0), np.full(shape, 0.2)
    return make_policy({"head": head, "value": value}, "any", *box)


@pytest.mark.parametrize(("shape", "width"), [((), 1), ((1,), 1), ((2, 2), 4), ((1, 4, 1), 4)])
def test_actions_have_the_shape_of_the_box(shape, width, tmp_path):
    mean = 0.1 * np.arange(width)
    save_policy(tmp_path / "p", constant_policy(mean, shape))
    policy = load_policy(tmp_path / "p")
    expected = np.float32(mean).clip(max=np.float32(0.2)).reshape(shape)
    one, batch = policy.act([0.0] * 3), policy.act(np.zeros((2, 5, 3)))
    assert isinstance(one, np.ndarray)
    assert_array_equal(one, expected, strict=True)
    assert_array_equal(batch, np.broadcast_to(expected, (2, 5, *shape)), strict=True)
    assert policy.act(np.zeros((0, 3))).shape == (0, *shape)
    drawn = policy.act(np.zeros((7, 3)), deterministic=False, rng=np.random.default_rng(0))
    assert drawn.shape == (7, *shape)


def change_shape(path, shape):
    """Write another action_shape into a description."""
    content = json.loads(path.read_text()) | {"action_shape": shape}
    del content["sha256"]
    content["sha256"] = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps(content))


@pytest.mark.parametrize("shape", [[2, 3], [4, 0], [-2, -2], [2.0, 2.0], "22", 4, {"a": 4}])
def test_a_shape_that_does_not_fit_is_refused(shape, tmp_path):
    save_policy(tmp_path / "p", constant_policy(np.zeros(4), (2, 2)))
    change_shape(tmp_path / "p.json", shape)
    with pytest.raises(ValueError, match=r"p\.(json|safetensors): "):
        load_policy(tmp_path / "p")
