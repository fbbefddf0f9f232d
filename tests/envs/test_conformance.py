"""What every array environment must do, for all registered ones and on both kinds of arrays.

A form is an environment as it is stepped: on the host with NumPy arrays, or compiled by JAX.
PointMass and Karel have one class for both, the MuJoCo environments have two. That single and
vector environments of Gymnasium agree for every name is tested in `adapters/test_vector_env.py`,
pools and contexts in `test_pools.py`.
"""

import pickle
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from procurl.envs import (
    ArrayEnv,
    environment_names,
    make_array_env,
    make_host_env,
    play,
)
from procurl.envs.registry import ENVIRONMENTS
from tests.envs.drawing import skip_unless_drawn

jax = pytest.importorskip("jax")
pytest.importorskip("mujoco.mjx")

B = 4
NAMES = environment_names()
ONE_CLASS = [name for name in NAMES if type(make_array_env(name)) is type(make_host_env(name))]


class HostForm:
    """An environment stepped with NumPy arrays."""

    def __init__(self, env: ArrayEnv) -> None:
        self.env = env
        self.array = np.asarray
        self.initial, self.start, self.observe = env.initial, env.start, env.observe
        self.step = env.step
        self.tolerance = 0.0  # between rows at different positions of a batch


class CompiledForm:
    """An environment whose functions JAX compiles."""

    def __init__(self, env: ArrayEnv) -> None:
        self.env = env
        self.array = jax.numpy.asarray
        self.traces = 0
        self.initial, self.start = jax.jit(env.initial), jax.jit(env.start)
        self.observe = jax.jit(env.observe)
        self.step = jax.jit(self._step)
        self.tolerance = 1e-4

    def _step(self, state: Any, actions: Any, noise: Any) -> Any:
        self.traces += 1
        return self.env.step(state, actions, noise)


@cache
def form_of(name: str, kind: str) -> Any:
    """The form, made once, so that each is compiled once."""
    return HostForm(make_host_env(name)) if kind == "host" else CompiledForm(make_array_env(name))


def marks_of(name: str) -> Any:
    """Those that take ten seconds to compile belong to the long tests."""
    return () if name in ONE_CLASS else pytest.mark.soak


def parameters():
    for name in NAMES:
        yield pytest.param((name, "host"), id=f"{name}-host")
        yield pytest.param((name, "jax"), id=f"{name}-jax", marks=marks_of(name))


@pytest.fixture(params=parameters())
def form(request):
    return form_of(*request.param)


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture(params=[pytest.param(name, marks=marks_of(name)) for name in NAMES])
def compiled_name(request):
    """The name of an environment for a test that compiles it."""
    return request.param


class Inputs(NamedTuple):
    """Everything that an episode of b environments depends on."""

    contexts: np.ndarray  # [b, c]
    start_noise: np.ndarray  # [b, *start_noise_shape]
    actions: np.ndarray  # [steps, b, ...]
    noise: np.ndarray  # [steps, b, *noise_shape]


def inputs_for(env: Any, steps: int, b: int = B, seed: int = 0) -> Inputs:
    rng = np.random.default_rng(seed)
    contexts = env.contexts_of(env.default_pool())
    if env.n_actions is None:
        shape = (steps, b, len(env.action_low))
        actions: Any = rng.uniform(env.action_low, env.action_high, shape).astype(np.float32)
    else:
        actions = rng.integers(env.n_actions, size=(steps, b), dtype=np.int32)
    return Inputs(
        contexts[rng.choice(len(contexts), b, replace=False)],
        rng.standard_normal((b, *env.start_noise_shape)),
        actions,
        rng.standard_normal((steps, b, *env.noise_shape), dtype=np.float32),
    )


def rows_of(inputs: Inputs, which: np.ndarray) -> Inputs:
    return Inputs(*(x[which] for x in inputs[:2]), *(x[:, which] for x in inputs[2:]))


def start_of(form: Any, inputs: Inputs) -> Any:
    contexts, noise = form.array(inputs.contexts), form.array(inputs.start_noise)
    return form.start(contexts, noise)


def step_of(form: Any, state: Any, inputs: Inputs, t: int) -> Any:
    return form.step(state, form.array(inputs.actions[t]), form.array(inputs.noise[t]))


def parts_of(transition: Any) -> list[np.ndarray]:
    """The arrays of a transition, those of its state first."""
    return [np.asarray(part) for part in (*transition.state, *transition[1:])]


@cache
def episodes_of(form: Any) -> tuple[np.ndarray, ...]:
    """(observations, rewards, done, success) of random episodes, each [horizon, b, ...]."""
    inputs = inputs_for(form.env, form.env.horizon)
    state = start_of(form, inputs)
    rows = []
    for t in range(form.env.horizon):
        transition = step_of(form, state, inputs, t)
        state = transition.state
        rows.append((form.observe(state), *transition[1:]))
    return tuple(
        np.stack([np.asarray(part) for part in column]) for column in zip(*rows, strict=True)
    )


def test_spaces_are_bounded_and_of_one_kind(form):
    env = form.env
    low, high = env.observation_low, env.observation_high
    assert low.dtype == high.dtype == np.float32
    assert low.shape == high.shape == (len(low),)
    assert np.isfinite([low, high]).all()
    assert (low < high).all()
    assert env.horizon >= 1
    continuous = env.action_low is not None
    assert continuous is (env.action_high is not None) is (env.n_actions is None)
    if continuous:
        assert env.action_low.dtype == env.action_high.dtype == np.float32
        assert (env.action_low < env.action_high).all()
    else:
        assert env.n_actions >= 2


def test_shapes_and_types(form):
    inputs = inputs_for(form.env, 1)
    state = start_of(form, inputs)
    transition = step_of(form, state, inputs, 0)
    assert type(transition.state) is type(state)
    for before, after in zip(state, transition.state, strict=True):
        assert before.shape == after.shape
        assert before.dtype == after.dtype
        assert before.shape[0] == B
    seen = form.observe(transition.state)
    assert seen.shape == (B, len(form.env.observation_low))
    assert seen.dtype == np.float32
    assert transition.reward.shape == transition.done.shape == transition.success.shape == (B,)
    assert transition.reward.dtype.kind == "f"
    assert transition.done.dtype == transition.success.dtype == bool


def test_inputs_are_left_untouched(form):
    inputs = inputs_for(form.env, 1)
    state = start_of(form, inputs)
    given = [*state, form.array(inputs.actions[0]), form.array(inputs.noise[0])]
    copies = [np.array(part) for part in given]
    form.observe(state)
    form.step(state, *given[-2:])
    for part, copy in zip(given, copies, strict=True):
        np.testing.assert_array_equal(part, copy)


def test_the_same_inputs_give_the_same_results(form):
    inputs = inputs_for(form.env, 1)
    state, again = start_of(form, inputs), start_of(form, inputs)
    first, second = step_of(form, state, inputs, 0), step_of(form, again, inputs, 0)
    for one, other in zip(parts_of(first), parts_of(second), strict=True):
        np.testing.assert_array_equal(one, other)


def test_noise_acts_if_the_environment_asks_for_it(form):
    inputs, other = inputs_for(form.env, 1, seed=0), inputs_for(form.env, 1, seed=1)
    state = start_of(form, inputs)
    elsewhere = start_of(form, inputs._replace(start_noise=other.start_noise))
    varies = any(not np.array_equal(one, two) for one, two in zip(state, elsewhere, strict=True))
    assert varies is bool(np.prod(form.env.start_noise_shape))
    after, noisy = (
        step_of(form, state, inputs._replace(noise=x.noise), 0) for x in (inputs, other)
    )
    varies = any(
        not np.array_equal(one, two)
        for one, two in zip(parts_of(after), parts_of(noisy), strict=True)
    )
    assert varies is bool(np.prod(form.env.noise_shape))


def test_initial_is_the_start_without_noise(form):
    inputs = inputs_for(form.env, 1)
    silent = start_of(form, inputs._replace(start_noise=np.zeros_like(inputs.start_noise)))
    plain = form.initial(form.array(inputs.contexts))
    for one, other in zip(silent, plain, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_an_episode_does_not_depend_on_its_neighbors(form):
    inputs, order = inputs_for(form.env, 1), np.array([2, 0, 3, 1])
    moved = rows_of(inputs, order)
    plain = step_of(form, start_of(form, inputs), inputs, 0)
    after = step_of(form, start_of(form, moved), moved, 0)
    for one, other in zip(parts_of(plain), parts_of(after), strict=True):
        np.testing.assert_allclose(one[order], other, rtol=form.tolerance, atol=form.tolerance)
    assert len(np.unique(np.asarray(form.observe(plain.state)), axis=0)) == B


def test_a_batch_equals_single_environments(name):
    form = form_of(name, "host")
    inputs = inputs_for(form.env, 3)
    state = start_of(form, inputs)
    ones = [
        Inputs(*(x[[i]] for x in inputs[:2]), *(x[:, [i]] for x in inputs[2:])) for i in range(B)
    ]
    states = [start_of(form, one) for one in ones]
    for t in range(3):
        together = step_of(form, state, inputs, t)
        alone = [step_of(form, s, one, t) for s, one in zip(states, ones, strict=True)]
        for whole, *rows in zip(parts_of(together), *map(parts_of, alone), strict=True):
            np.testing.assert_array_equal(whole, np.concatenate(rows))
        state, states = together.state, [transition.state for transition in alone]


def test_both_forms_agree_over_the_first_actions(compiled_name):
    host, compiled = form_of(compiled_name, "host"), form_of(compiled_name, "jax")
    inputs = inputs_for(host.env, 3)
    states = [start_of(form, inputs) for form in (host, compiled)]
    for t in range(3):
        ours, theirs = (
            step_of(form, state, inputs, t)
            for form, state in zip((host, compiled), states, strict=True)
        )
        states = [ours.state, theirs.state]
        np.testing.assert_allclose(
            host.observe(ours.state), compiled.observe(theirs.state), atol=2e-3
        )
        np.testing.assert_allclose(ours.reward, theirs.reward, atol=1e-3)
        np.testing.assert_array_equal(ours.done, theirs.done)
        np.testing.assert_array_equal(ours.success, theirs.success)


@pytest.mark.parametrize("name", ONE_CLASS)
def test_one_class_gives_the_same_numbers_on_both_kinds_of_arrays(name):
    host, compiled = form_of(name, "host"), form_of(name, "jax")
    inputs = inputs_for(host.env, 1)
    ours = step_of(host, start_of(host, inputs), inputs, 0)
    theirs = step_of(compiled, start_of(compiled, inputs), inputs, 0)
    for one, other in zip(parts_of(ours), parts_of(theirs), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_both_forms_have_the_same_spaces_and_pool(name):
    compiled, host = make_array_env(name), make_host_env(name)
    for fact in ("horizon", "context_names", "n_actions", "noise_shape", "start_noise_shape"):
        assert getattr(compiled, fact) == getattr(host, fact)
    for bounds in ("observation_low", "observation_high", "action_low", "action_high"):
        np.testing.assert_array_equal(getattr(compiled, bounds), getattr(host, bounds))
    assert compiled.default_pool().fingerprint == host.default_pool().fingerprint


def test_a_program_is_compiled_once(compiled_name):
    form = form_of(compiled_name, "jax")
    inputs = inputs_for(form.env, 3)
    state = start_of(form, inputs)
    for t in range(3):
        state = step_of(form, state, inputs, t).state
    assert form.traces == 1


def test_every_episode_ends_by_the_horizon(form):
    _, _, done, _ = episodes_of(form)
    assert done.any(axis=0).all()


def test_observations_stay_within_bounds_and_success_comes_at_the_end(form):
    seen, rewards, done, success = episodes_of(form)
    playing = np.cumsum(done, axis=0) - done == 0  # up to the step that ends the episode
    assert (seen[playing] >= form.env.observation_low).all()
    assert (seen[playing] <= form.env.observation_high).all()
    assert np.isfinite(rewards[playing]).all()
    assert not (success & ~done)[playing].any()


def test_environments_are_values(form):
    env = form.env
    copy = pickle.loads(pickle.dumps(env))
    assert copy == env
    assert hash(copy) == hash(env)


def test_pictures_show_the_task(name):
    skip_unless_drawn(ENVIRONMENTS[name].gym_id)
    env = make_host_env(name)
    contexts = inputs_for(env, 1).contexts[:2]
    first, second = (env.draw([env.initial(context[None])]) for context in contexts)
    assert first.dtype == second.dtype == np.uint8
    assert first.shape == second.shape
    assert first.shape[2:] == (3,)
    assert not np.array_equal(first, second)


def test_an_episode_can_be_played_back(name):
    env = make_host_env(name)
    inputs = inputs_for(env, env.horizon, b=1)

    class Replay:
        t = 0

        def act(self, obs):
            self.t += 1
            return inputs.actions[self.t - 1, 0]

    episode = play(env, inputs.contexts[0], Replay(), seed=3)
    assert 1 <= len(episode.states) - 1 <= env.horizon
    assert np.isfinite(episode.total_reward)
