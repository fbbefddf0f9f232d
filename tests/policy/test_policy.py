"""Saved policies: they act as the trained network does, and no damage goes unnoticed."""

import hashlib
import json
import os
import random
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from procurl.envs import make_array_env
from procurl.policy import load_policy, make_policy, save_policy
from procurl.ppo.learning.networks import (
    CategoricalHead,
    GaussianHead,
    actor_critic,
    forward,
    init_params,
)
from procurl.ppo.learning.settings import PPOSettings, paper_settings
from tests.crafted import archive_of, deep, mutated

BOX = {"action_low": [-10.0, -10.0], "action_high": [10.0, 10.0]}
TRAINING = {"strategy": "procurl-val", "seed": 3, "steps": 1_000_000, "performance": 0.84}


def linear_params(gain=1.0, log_std=0.0):
    """A policy of two actions and a value on three numbers, without hidden layers."""
    kernel = np.array([[gain, 0.0], [0.0, gain], [1.0, -1.0]])
    head = {"output": {"kernel": kernel, "bias": np.zeros(2)}, "log_std": np.full(2, log_std)}
    return {"head": head, "value": {"kernel": np.array([[1.0], [2.0], [3.0]]), "bias": np.ones(1)}}


def discrete_params(logits):
    logits = np.asarray(logits)
    head = {"output": {"kernel": np.zeros((3, len(logits))), "bias": logits}}
    return {"head": head, "value": {"kernel": np.zeros((3, 1)), "bias": np.zeros(1)}}


def trained_params(network, size):
    """Weights and biases of the size that training gives; fresh biases would all be zero."""
    shapes = init_params(network, 0, size)
    rng = np.random.default_rng(2)

    def draw(leaf):
        return jnp.asarray(1.4 * rng.normal(size=leaf.shape) / np.sqrt(leaf.shape[0]), jnp.float32)

    return jax.tree.map(draw, shapes)


@pytest.mark.parametrize(
    ("settings", "head", "size"),
    [
        (paper_settings("pointmass-s"), GaussianHead(2), 7),
        (paper_settings("basickarel"), CategoricalHead(6), 88),
        (PPOSettings(policy_layers=(), value_layers=(8,)), GaussianHead(3), 4),
        (
            PPOSettings(shared_layers=(8, 9), policy_layers=(), value_layers=()),
            CategoricalHead(4),
            5,
        ),
    ],
)
def test_a_loaded_policy_equals_the_network(settings, head, size, tmp_path):
    network = actor_critic(settings, head)
    params = trained_params(network, size)
    observations = np.random.default_rng(3).normal(size=(30, size)).astype(np.float32)
    theirs, values = forward(network, params, jnp.asarray(observations))
    continuous = isinstance(head, GaussianHead)
    low = np.full(head.size, -np.inf) if continuous else None
    high = np.full(head.size, np.inf) if continuous else None
    save_policy(tmp_path / "p", make_policy(params, "any", low, high))
    policy = load_policy(tmp_path / "p")
    assert_allclose(policy.value(observations), values, rtol=0, atol=1e-5)
    actions = policy.act(observations)
    if continuous:
        assert actions.dtype == np.float32
        assert_allclose(actions, theirs.mode(), rtol=0, atol=1e-5)
    else:
        assert_array_equal(actions, theirs.mode())
    assert jax.tree.all(jax.tree.map(np.array_equal, policy.params, params))


def test_one_observation_is_a_batch_without_its_axis():
    policy = make_policy(linear_params(), "any", **BOX)
    batch = np.random.default_rng(0).normal(size=(4, 5, 3))
    actions, values = policy.act(batch), policy.value(batch)
    assert actions.shape == (4, 5, 2)
    assert values.shape == (4, 5)
    assert_allclose(policy.act(batch[1, 2]), actions[1, 2], rtol=1e-6)
    assert isinstance(policy.value(batch[1, 2]), float)
    assert policy.value([1, 0, 1]) == 5.0
    assert policy.act(np.zeros((0, 3))).shape == (0, 2)


def test_a_single_discrete_action_is_an_int():
    policy = make_policy(discrete_params([0.0, 2.0, 2.0]), "any")
    assert policy.act([0.0, 0.0, 0.0]) == 1
    assert type(policy.act([0.0, 0.0, 0.0])) is int
    assert_array_equal(policy.act(np.zeros((4, 3))), [1, 1, 1, 1])
    assert type(policy.act([0.0] * 3, deterministic=False, rng=np.random.default_rng(0))) is int


def test_actions_stay_within_the_box():
    low, high = [-1.0, -np.inf], [0.5, 2.0]
    policy = make_policy(linear_params(gain=100.0, log_std=3.0), "any", low, high)
    assert_array_equal(policy.act([1.0, 1.0, 0.0]), np.float32([0.5, 2.0]))
    assert_array_equal(policy.act([-1.0, -1.0, 0.0]), np.float32([-1.0, -100.0]))
    drawn = policy.act(np.zeros((500, 3)), deterministic=False, rng=np.random.default_rng(0))
    assert drawn[:, 0].min() == -1.0
    assert drawn[:, 0].max() == 0.5
    assert drawn[:, 1].max() == 2.0
    assert drawn[:, 1].min() < -20.0


def test_continuous_draws_have_the_mean_and_spread_of_the_policy():
    policy = make_policy(linear_params(log_std=np.log(0.5)), "any", **BOX)
    drawn = policy.act(np.tile([1.0, 2.0, 0.0], (20_000, 1)), False, np.random.default_rng(1))
    assert_allclose(drawn.mean(axis=0), [1.0, 2.0], atol=5 * 0.5 / np.sqrt(20_000))
    assert_allclose(drawn.std(axis=0), 0.5, rtol=0.03)


def test_discrete_draws_have_the_probabilities_of_the_softmax():
    probabilities = np.array([0.5, 0.2, 0.3])
    policy = make_policy(discrete_params(np.log(probabilities)), "any")
    drawn = policy.act(np.zeros((20_000, 3)), False, np.random.default_rng(1))
    assert_allclose(np.bincount(drawn) / 20_000, probabilities, atol=5 * 0.5 / np.sqrt(20_000))


def test_the_same_generator_draws_the_same_actions():
    policy = make_policy(linear_params(), "any", **BOX)
    first, again = (policy.act([0.0] * 3, False, np.random.default_rng(5)) for _ in range(2))
    assert_array_equal(first, again)
    with pytest.raises(TypeError, match="rng must be a numpy.random.Generator .* got None"):
        policy.act([0.0] * 3, deterministic=False)


@pytest.mark.parametrize(
    ("obs", "error", "message"),
    [
        ([0.0] * 4, ValueError, r"shape \[3\], or \[b, 3\] .* got shape \[4\]"),
        (np.zeros((3, 2)), ValueError, r"got shape \[3, 2\]"),
        (1.0, ValueError, r"got shape \[\]"),
        ([0.0, np.nan, 0.0], ValueError, "obs must be finite"),
        ([[0.0] * 3, [0.0, np.inf, 0.0]], ValueError, "obs must be finite"),
        ([1e300, 0.0, 0.0], ValueError, "obs must be finite"),
        ([3e38, 3e38, 3e38], ValueError, "obs is too large"),
        (["a", "b", "c"], TypeError, "obs must be numbers"),
        ({"x": 1.0}, TypeError, "obs must be numbers"),
        ([[0.0] * 3, [0.0]], ValueError, "obs must be one array"),
    ],
)
def test_bad_observations_are_refused(obs, error, message):
    policy = make_policy(linear_params(gain=10.0), "any", **BOX)
    for method in (policy.act, policy.value):
        with pytest.raises(error, match=message):
            method(obs)


def changed(group, name, value):
    params = linear_params()
    params.setdefault(group, {})[name] = value
    return params


@pytest.mark.parametrize(
    ("params", "arguments", "message"),
    [
        (linear_params(), {}, "action_low must be one number per dimension for continuous"),
        (linear_params(), {"action_low": [0, 0]}, "action_high must be one number per dimension"),
        (discrete_params([0.0, 1.0]), BOX, "action_low must be None for discrete actions"),
        (linear_params(), {"action_low": [0], "action_high": [1]}, "must be 2 numbers each"),
        (linear_params(), {"action_low": [0, 2], "action_high": [1, 1]}, "must not exceed"),
        (linear_params(), {**BOX, "action_low": [0, np.nan]}, "action_low must be numbers, got"),
        (linear_params(), {"action_low": [[0, 0]], "action_high": [1, 1]}, "both have the shape"),
        (changed("value", "bias", [np.nan]), BOX, "'value.bias' holds NaN"),
        (changed("value", "bias", [0.0, 0.0]), BOX, r"'value.bias' must be .* shape \[1\], got"),
        (changed("value", "kernel", np.zeros((4, 1))), BOX, r"'value.kernel' .* shape \[3, 1\]"),
        (changed("value_1", "bias", np.zeros(3)), BOX, r"\['value_1.bias'\] too many"),
        (changed("policy_0", "bias", np.zeros(3)), BOX, r"\['policy_0.kernel'\] missing"),
        (jax.tree.map(lambda leaf: leaf[None], linear_params()), BOX, r"shape \[1, "),
        ({}, {}, "params must hold"),
        ({"value": linear_params()["value"]}, {}, "params must hold"),
    ],
)
def test_weights_that_make_no_policy_are_refused(params, arguments, message):
    with pytest.raises(ValueError, match=message):
        make_policy(params, "any", **arguments)


def test_facts_that_json_cannot_hold_are_refused():
    with pytest.raises(ValueError, match="training must hold what JSON can"):
        make_policy(linear_params(), "any", **BOX, training={"performance": float("nan")})
    with pytest.raises(TypeError, match="training must hold what JSON can: .* type object"):
        make_policy(linear_params(), "any", **BOX, training={"run": object()})


def test_a_policy_keeps_its_weights_when_the_caller_keeps_training():
    params = jax.tree.map(np.float32, linear_params())
    policy = make_policy(params, "any", **BOX)
    before = policy.act([1.0, 2.0, 3.0])
    params["head"]["output"]["kernel"] += 1
    assert_array_equal(policy.act([1.0, 2.0, 3.0]), before)


def saved(folder, name="mine"):
    numbers = {**TRAINING, "seed": np.int64(3), "curve": jnp.arange(2.0)}
    env = make_array_env("pointmass-s")
    low, high = env.action_low, env.action_high
    save_policy(folder / name, make_policy(linear_params(), "pointmass-s", low, high, numbers))
    return folder / f"{name}.json", folder / f"{name}.safetensors"


def test_the_description_comes_back(tmp_path):
    saved(tmp_path)
    description = load_policy(tmp_path / "mine").description
    assert description.environment == "pointmass-s"
    assert description.observation_size == 3
    assert (description.actions, description.action_size) == ("continuous", 2)
    assert (description.action_low, description.action_high) == ((-10.0, -10.0), (10.0, 10.0))
    assert description.policy_layers == ()
    assert description.training == {**TRAINING, "curve": [0.0, 1.0]}
    shown = repr(load_policy(tmp_path / "mine"))
    assert "pointmass-s" in shown
    assert "array" not in shown


def test_a_policy_is_found_with_and_without_its_ending_and_with_dots_in_its_name(tmp_path):
    folder = tmp_path / "new" / "folder"
    description, weights = saved(folder, "seed.3")
    for path in (folder / "seed.3", str(folder / "seed.3"), description, weights):
        assert load_policy(path).description.training["seed"] == 3
    assert sorted(os.listdir(folder)) == ["seed.3.json", "seed.3.safetensors"]


def test_the_same_policy_gives_the_same_bytes(tmp_path):
    first, second = saved(tmp_path, "a"), saved(tmp_path, "b")
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_every_altered_or_missing_byte_of_the_weights_is_noticed(tmp_path):
    _, path = saved(tmp_path)
    whole = path.read_bytes()
    for i in range(len(whole)):
        for damaged in (whole[:i] + bytes([whole[i] ^ 0x10]) + whole[i + 1 :], whole[:i]):
            path.write_bytes(damaged)
            with pytest.raises(ValueError, match="mine.safetensors: .* its checksum"):
                load_policy(tmp_path / "mine")


def test_every_altered_or_missing_byte_of_the_description_is_noticed(tmp_path):
    """All but blanks between the entries, which mean nothing."""
    path, _ = saved(tmp_path)
    whole = path.read_bytes()
    for i in range(len(whole) - 1):
        path.write_bytes(whole[:i])
        with pytest.raises(ValueError, match="mine.json: "):
            load_policy(tmp_path / "mine")
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 0x01]) + whole[i + 1 :])
        with pytest.raises(ValueError, match="mine.json: "):
            load_policy(tmp_path / "mine")


def test_another_box_in_the_description_is_noticed(tmp_path):
    path, _ = saved(tmp_path)
    content = json.loads(path.read_text())
    content["action_high"] = [99.0, 99.0]
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="mine.json: the file was altered"):
        load_policy(path)


def test_the_halves_of_two_policies_are_not_mixed(tmp_path):
    saved(tmp_path)
    save_policy(tmp_path / "other", make_policy(linear_params(gain=2.0), "pointmass-s", **BOX))
    os.replace(tmp_path / "other.safetensors", tmp_path / "mine.safetensors")
    with pytest.raises(ValueError, match="belongs to another policy"):
        load_policy(tmp_path / "mine")


@pytest.mark.parametrize("half", [0, 1])
def test_a_missing_half_is_named(tmp_path, half):
    lost = saved(tmp_path)[half]
    lost.unlink()
    with pytest.raises(FileNotFoundError, match=f"{lost.name} is missing"):
        load_policy(tmp_path / "mine")


def test_a_folder_is_answered_with_the_policies_in_it(tmp_path):
    saved(tmp_path / "models", "seed-3")
    with pytest.raises(FileNotFoundError, match="models holds seed-3"):
        load_policy(tmp_path / "models")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "not the description of a procurl policy"),
        ('{"format": "something"}', "not the description of a procurl policy"),
        ('{"format": "procurl policy", "version": 2}', "version 2 of the format, this .* reads"),
        ("\x00\x01", "not JSON"),
    ],
)
def test_other_files_are_refused(tmp_path, text, message):
    path, _ = saved(tmp_path)
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        load_policy(path)


def test_a_crafted_description_is_refused_in_one_sentence(tmp_path):
    path, _ = saved(tmp_path)
    content = json.loads(path.read_text())
    del content["sha256"]
    rng, refused = random.Random(0), 0
    for _ in range(300):
        crafted = mutated(content, rng)
        digest = hashlib.sha256(json.dumps(crafted, sort_keys=True).encode()).hexdigest()
        if isinstance(crafted, dict):
            crafted["sha256"] = digest
        path.write_text(json.dumps(crafted))
        message = refusal(tmp_path / "mine")
        refused += message is not None
        assert message is None or message.startswith(str(tmp_path / "mine"))
        assert "\n" not in (message or "")
    assert refused > 200
    path.write_text(deep())
    with pytest.raises(ValueError, match=r"mine\.json: "):
        load_policy(path)


def refusal(path):
    """Why a policy is refused; None if it acts."""
    try:
        policy = load_policy(path)
    except ValueError as error:
        return str(error)
    policy.act([1.0, 2.0, 0.0])
    return None


def test_crafted_weights_are_refused(tmp_path):
    path, weights = saved(tmp_path)
    for crafted in (b"", b"\xff" * 40, archive_of({})[:-1]):
        weights.write_bytes(crafted)
        content = json.loads(path.read_text()) | {
            "weights_sha256": hashlib.sha256(crafted).hexdigest()
        }
        del content["sha256"]
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        path.write_text(json.dumps(content | {"sha256": digest}))
        with pytest.raises(ValueError, match=r"mine\.safetensors: not a safetensors file"):
            load_policy(path)


def test_a_failed_save_leaves_the_older_policy(tmp_path, monkeypatch):
    saved(tmp_path)
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk is full")))
    with pytest.raises(OSError, match="disk is full"):
        save_policy(tmp_path / "mine", make_policy(linear_params(gain=2.0), "pointmass-s", **BOX))
    assert sorted(os.listdir(tmp_path)) == ["mine.json", "mine.safetensors"]
    assert load_policy(tmp_path / "mine").description.training["seed"] == 3


def test_acting_needs_neither_jax_nor_gymnasium(tmp_path):
    saved(tmp_path)
    code = (
        "import sys, procurl.policy.policy; assert 'safetensors' not in sys.modules; "
        f"print(procurl.policy.policy.load_policy({str(tmp_path / 'mine')!r}).act([1, 2, 0])); "
        "assert not {'jax', 'torch', 'gymnasium'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[1. 2.]\n"
