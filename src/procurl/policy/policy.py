"""A trained policy in two files, which acts with NumPy alone.

`NAME.safetensors` holds the weights and `NAME.json` describes them: environment, network, actions,
and facts about the training. The description has a SHA-256 of the weights and one of itself, so
damage to either file is detected. The files contain no code.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from procurl.internals.archive import content_errors
from procurl.internals.arrays import Floats32
from procurl.internals.checks import require_choice, require_integer
from procurl.internals.files import write_bytes, write_text
from procurl.policy.weights import (
    CONTINUOUS,
    DISCRETE,
    PolicyDescription,
    bounds_array,
    check_arrays,
    common_shape,
    flat_arrays,
    input_size,
    layer_widths,
    listed_bounds,
    nested_params,
    output_size,
)

FORMAT = "procurl policy"
VERSION = 1
WEIGHTS, DESCRIPTION = ".safetensors", ".json"


@dataclass(frozen=True, eq=False)
class Policy:
    """A trained policy and its value function.

    Made by `make_policy` or `load_policy`.

    Args:
        description: of the network and its training.
        params: nested as in `procurl.ppo.learning.networks`, so that training can continue.
    """

    description: PolicyDescription
    params: Mapping[str, Any] = field(repr=False)

    def act(
        self,
        obs: ArrayLike,
        deterministic: bool = True,
        rng: np.random.Generator | None = None,
    ) -> Any:
        """The action for an observation, or the actions for a batch.

        Args:
            obs: [o], or [..., o] for a batch.
            deterministic: whether to take the most likely action instead of sampling one.
            rng: random numbers; required if `deterministic` is False, unused otherwise.

        Returns:
            A continuous action float32 in the shape of the box [...], clipped to it; for discrete
            actions an int. For a batch, [..., *shape] float32 or [...] int64.
        """
        if not deterministic and not isinstance(rng, np.random.Generator):
            raise TypeError(
                "rng must be a numpy.random.Generator if deterministic is False, "
                f"got {rng!r}: pass numpy.random.default_rng(seed)"
            )
        outputs = self._policy_outputs(_as_observations(obs, self.description.observation_size))
        drawn = None if deterministic else rng
        if self.description.actions == DISCRETE:
            return _discrete_actions(outputs, drawn)
        return self._continuous_actions(outputs, drawn)

    def value(self, obs: ArrayLike) -> Any:
        """The discounted return that the critic predicts: a float, or [...] float32 for a batch.

        Args:
            obs: [o], or [..., o] for a batch.
        """
        features = self._shared_features(_as_observations(obs, self.description.observation_size))
        features = self._hidden(features, "value", self.description.value_layers)
        values = _sound(_dense(features, self.params["value"])[..., 0])
        return float(values) if values.ndim == 0 else values

    def _policy_outputs(self, observations: Floats32) -> Floats32:
        """[..., a] means of continuous actions, or logits of discrete ones."""
        features = self._shared_features(observations)
        features = self._hidden(features, "policy", self.description.policy_layers)
        return _sound(_dense(features, self.params["head"]["output"]))

    def _shared_features(self, observations: Floats32) -> Floats32:
        return self._hidden(observations, "shared", self.description.shared_layers)

    def _hidden(self, features: Floats32, name: str, widths: Sequence[int]) -> Floats32:
        """`features` after one ReLU layer per width."""
        for index in range(len(widths)):
            features = np.maximum(_dense(features, self.params[f"{name}_{index}"]), 0.0)
        return features

    def _continuous_actions(self, means: Floats32, rng: np.random.Generator | None) -> Floats32:
        actions = means
        if rng is not None:
            noise = rng.standard_normal(means.shape, dtype=np.float32)
            actions = means + np.exp(self.params["head"]["log_std"]) * noise
        low, high = self.description.action_low, self.description.action_high
        clipped: Floats32 = np.clip(actions, bounds_array(low, -np.inf), bounds_array(high, np.inf))
        shape = self.description.action_shape
        return clipped if shape is None else clipped.reshape((*clipped.shape[:-1], *shape))


def make_policy(
    params: Mapping[str, Any],
    environment: str,
    action_low: ArrayLike | None = None,
    action_high: ArrayLike | None = None,
    training: Mapping[str, Any] | None = None,
) -> Policy:
    """Make a policy from weights; their names and shapes define the network.

    Args:
        params: of one run, nested as in `procurl.ppo.learning.networks`; NumPy or JAX arrays.
        environment: name of the training environment.
        action_low: lower bounds of continuous actions in the shape of an action, usually [a], −∞
            for unbounded; None for discrete actions.
        action_high: upper bounds, likewise.
        training: facts to save with it, such as strategy, seed and steps, as JSON values.
    """
    if not isinstance(environment, str):
        raise TypeError(f"environment must be a name, got {environment!r}")
    arrays = flat_arrays(params)
    continuous = "head.log_std" in arrays
    for name, bounds in (("action_low", action_low), ("action_high", action_high)):
        if continuous != (bounds is not None):
            kind = "continuous" if continuous else "discrete"
            expected = "one number per dimension" if continuous else "None"
            raise ValueError(f"{name} must be {expected} for {kind} actions, got {bounds!r}")
    description = PolicyDescription(
        environment=environment,
        observation_size=input_size(arrays),
        shared_layers=layer_widths(arrays, "shared"),
        policy_layers=layer_widths(arrays, "policy"),
        value_layers=layer_widths(arrays, "value"),
        actions=CONTINUOUS if continuous else DISCRETE,
        action_size=output_size(arrays),
        action_low=listed_bounds("action_low", action_low),
        action_high=listed_bounds("action_high", action_high),
        training=_as_json(training or {}),
        action_shape=common_shape(action_low, action_high),
    )
    check_arrays(description, arrays)
    return Policy(description, nested_params(arrays))


def save_policy(path: str | PathLike[str], policy: Policy) -> None:
    """Write `path`.safetensors and `path`.json, each atomically.

    If an older policy is overwritten and the process dies between the two files, `load_policy`
    rejects the pair.

    Args:
        path: without a suffix or with one of the two; missing folders are created.
        policy: to save.
    """
    from safetensors.numpy import save

    weights_path, description_path = _pair(path)
    weights = save(flat_arrays(policy.params))
    content = _as_json(
        {
            "format": FORMAT,
            "version": VERSION,
            **asdict(policy.description),
            "weights_sha256": hashlib.sha256(weights).hexdigest(),
        }
    )
    content["sha256"] = _digest(content)
    weights_path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(weights_path, weights)
    write_text(description_path, json.dumps(content, indent=2) + "\n")


def load_policy(path: str | PathLike[str]) -> Policy:
    """Load the policy in `path`.safetensors and `path`.json.

    Args:
        path: without a suffix or with one of the two.

    Raises:
        FileNotFoundError: if one of the files is missing.
        ValueError: if one of them is truncated, altered or something else.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    weights_path, description_path = _pair(path)
    for file, other in (weights_path, description_path), (description_path, weights_path):
        if not file.is_file():
            raise FileNotFoundError(
                f"{file} is missing: a policy is that file and {other.name}{_found_in(Path(path))}"
            )
    weights = weights_path.read_bytes()
    with content_errors(description_path):
        content = _read_description(description_path)
        wanted = content["weights_sha256"]
        description = _description_of(content)
    if hashlib.sha256(weights).hexdigest() != wanted:
        raise ValueError(
            f"{weights_path}: the file is truncated or altered, or belongs to another "
            f"policy: its checksum is not the one in {description_path.name}"
        )
    with content_errors(weights_path):
        try:
            arrays = load(weights)
        except SafetensorError as error:
            raise ValueError(f"not a safetensors file: {error}") from error
        check_arrays(description, arrays)
        return Policy(description, nested_params(arrays))


def _read_description(path: Path) -> dict[str, Any]:
    """The entries of a description, after its checksum was verified."""
    try:
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: the file is truncated or not JSON: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path}: not the description of a procurl policy")
    if content.get("version") != VERSION:
        raise ValueError(
            f"{path}: written in version {content.get('version')!r} of the format, "
            f"this procurl reads version {VERSION}"
        )
    if content.pop("sha256", None) != _digest(content):
        raise ValueError(f"{path}: the file was altered, its checksum is wrong")
    return content


def _description_of(content: Mapping[str, Any]) -> PolicyDescription:
    entries = {name: content[name] for name in PolicyDescription.__dataclass_fields__}
    read: dict[str, Any] = {
        name: tuple(entry) if isinstance(entry, list) else entry for name, entry in entries.items()
    }
    description = PolicyDescription(**read)
    require_choice("actions", description.actions, (CONTINUOUS, DISCRETE))
    for name in ("observation_size", "action_size"):
        require_integer(name, read[name], at_least=1)
    for name in ("shared_layers", "policy_layers", "value_layers"):
        for width in read[name]:
            require_integer(name, width, at_least=1)
    for length in description.action_shape or ():
        require_integer("action_shape", length, at_least=1)
    if not isinstance(description.environment, str) or not isinstance(description.training, dict):
        raise TypeError("environment must be text and training a dictionary")
    return description


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _as_json(content: Mapping[str, Any]) -> dict[str, Any]:
    """`content` as JSON returns it: tuples and arrays as lists, keys as strings."""
    try:
        text = json.dumps(content, allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise type(error)(f"training must hold what JSON can: {error}") from error
    read: dict[str, Any] = json.loads(text)
    return read


def _plain(value: Any) -> Any:
    """NumPy and JAX values as Python numbers and lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} is of type {type(value).__name__}")


def _pair(path: str | PathLike[str]) -> tuple[Path, Path]:
    """(file of the weights, file of the description)."""
    given = Path(path)
    name = given.name
    for ending in (WEIGHTS, DESCRIPTION):
        name = name.removesuffix(ending)
    if not name:
        raise ValueError(f"path must end in a name for the policy, got {str(path)!r}")
    return given.with_name(name + WEIGHTS), given.with_name(name + DESCRIPTION)


def _found_in(path: Path) -> str:
    """A hint if `path` is a folder instead of a policy in it."""
    names = sorted(file.stem for file in path.glob(f"*{WEIGHTS}")) if path.is_dir() else []
    return f"; the folder {path} holds {', '.join(names[:5])}" if names else ""


def _as_observations(obs: ArrayLike, size: int) -> Floats32:
    """Observations as float32 [..., size]; raises if the shape is wrong or a number not finite."""
    try:
        given = np.asarray(obs)
    except ValueError as error:
        raise ValueError(f"obs must be one array of numbers: {error}") from None
    if given.dtype.kind not in "fiub":
        raise TypeError(f"obs must be numbers of shape [..., {size}], got {obs!r}")
    with np.errstate(over="ignore"):  # what overflows is infinite and reported below
        observations = given.astype(np.float32)
    if observations.ndim == 0 or observations.shape[-1] != size:
        raise ValueError(
            f"obs must have the shape [{size}], or [b, {size}] for a batch: "
            f"the policy was trained on {size} numbers; got shape {list(observations.shape)}"
        )
    if not np.isfinite(observations).all():
        raise ValueError("obs must be finite, got NaN or infinity")
    return observations


def _dense(features: Floats32, layer: Mapping[str, Floats32]) -> Floats32:
    with np.errstate(all="ignore"):  # `_sound` reports what overflows
        outputs: Floats32 = features @ layer["kernel"] + layer["bias"]
    return outputs


def _sound(outputs: Floats32) -> Floats32:
    if not np.isfinite(outputs).all():
        raise ValueError("obs is too large for the network, whose outputs overflow")
    return outputs


def _discrete_actions(logits: Floats32, rng: np.random.Generator | None) -> Any:
    """The largest of the logits or, with Gumbel noise on each, a draw from their softmax."""
    scores = logits if rng is None else logits + rng.gumbel(size=logits.shape)
    actions = np.argmax(scores, axis=-1)
    return int(actions) if actions.ndim == 0 else actions
