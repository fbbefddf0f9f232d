"""Algorithms of Stable-Baselines3 by name, with arguments from the command line."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from procurl.experiments.algorithm_errors import require_usable, settings_error
from procurl.internals.checks import require_known, suggest
from procurl.internals.setting_text import read_settings

PACKAGES = ("stable_baselines3", "sb3_contrib")
# Arguments that procurl passes itself, or that are objects rather than numbers and names.
NOT_SETTINGS = ("self", "policy", "env", "seed", "device", "verbose", "tensorboard_log")
NET_ARCH = "net_arch"  # an argument of the policy
OBJECTS = ("action_noise", "replay_buffer_class", "rollout_buffer_class", "_init_setup_model")

REFUSALS = (AssertionError, TypeError, ValueError)  # of an environment, by an algorithm


@dataclass(frozen=True)
class AlgorithmSettings:
    """An algorithm of Stable-Baselines3 or sb3-contrib.

    Args:
        algo: name of its class, such as `SAC`.
        policy: such as `MlpPolicy`.
        arguments: of its constructor that differ from the defaults.
    """

    algo: str
    policy: str
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def on_policy(self) -> bool:
        """Whether it learns from rollouts of the current policy only."""
        return is_on_policy(self.algo)

    @property
    def update_steps(self) -> int:
        """Steps of one environment between two updates, 1 for off-policy algorithms."""
        if not self.on_policy:
            return 1
        return int(self.arguments.get("n_steps", argument_defaults(self.algo)["n_steps"]))


def algorithm_settings(
    algo: str, policy: str | None, changes: Sequence[str], observation_space: Any
) -> AlgorithmSettings:
    """An algorithm with its arguments; raises ValueError on an unknown name.

    Args:
        algo: name of the class.
        policy: name of the policy; None for the one that fits the observations.
        changes: arguments, each as `name=value`.
        observation_space: of the environment.
    """
    kind = find_algorithm(algo)
    aliases: dict[str, Any] = kind.policy_aliases
    chosen = policy or default_policy(algo, observation_space)
    require_known(f"policy of {algo}", chosen, aliases, "policies")
    arguments = read_settings(",".join(changes), algo)
    if NET_ARCH in arguments:
        arguments[NET_ARCH] = read_widths(NET_ARCH, arguments[NET_ARCH])
    names = [*argument_names(algo), NET_ARCH]
    for name in arguments:
        if name not in names:
            raise ValueError(
                f"setting {name!r} is not one of {algo}.{suggest(name, names)} "
                f"Its settings: {', '.join(names)}"
            )
    require_usable(arguments, argument_defaults(algo))
    return AlgorithmSettings(algo, chosen, arguments)


def make_model(settings: AlgorithmSettings, env: Any, seed: int | None = None) -> Any:
    """A model of the algorithm on the CPU.

    Raises ValueError if it does not fit the environment, or rejects its settings.
    """
    kind = find_algorithm(settings.algo)
    require_trainable(env.observation_space, env.action_space, settings.policy)
    arguments = dict(settings.arguments)
    if NET_ARCH in arguments:
        arguments["policy_kwargs"] = {NET_ARCH: list(arguments.pop(NET_ARCH))}
    try:
        return kind(settings.policy, env, seed=seed, device="cpu", **arguments)
    except Exception as error:
        if settings.arguments:
            raise settings_error(settings.algo, "made", settings.arguments, error) from error
        if not isinstance(error, REFUSALS):
            raise
        raise ValueError(f"{settings.algo} cannot be made: {error}") from error


def read_widths(name: str, value: Any) -> list[int]:
    """The widths of layers, from 64 or `64x64`.

    >>> read_widths("net_arch", "256x128")
    [256, 128]
    """
    parts = str(value).split("x")
    if not all(part.isdecimal() and int(part) for part in parts):
        raise ValueError(f"{name} must be widths of layers such as 64x64, got {value!r}")
    return [int(part) for part in parts]


def require_trainable(observation_space: Any, action_space: Any, policy: str) -> None:
    """Raise ValueError on spaces that Stable-Baselines3 cannot use, or would misunderstand."""
    from procurl.envs.checking.student_spaces import obstacles  # needs Gymnasium

    for obstacle in obstacles(observation_space, action_space, policy):
        raise ValueError(f"{obstacle.text}. {obstacle.remedy}")


def find_algorithm(algo: str) -> Any:
    """The class of an algorithm by its name; raises ValueError if there is none."""
    known = _algorithms()
    require_known("algorithm", algo, known, "algorithms")
    return known[algo]


def is_on_policy(algo: str) -> bool:
    """Whether an algorithm learns from rollouts of the current policy only."""
    from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

    return issubclass(find_algorithm(algo), OnPolicyAlgorithm)


def argument_names(algo: str) -> list[str]:
    """The arguments of an algorithm that are numbers, names or flags."""
    names = argument_defaults(algo)
    return [n for n in names if n not in NOT_SETTINGS + OBJECTS and not n.endswith("_kwargs")]


def argument_defaults(algo: str) -> dict[str, Any]:
    """The default of every argument of an algorithm's constructor."""
    parameters = inspect.signature(find_algorithm(algo)).parameters
    return {name: parameter.default for name, parameter in parameters.items()}


def default_policy(algo: str, observation_space: Any) -> str:
    """The policy of an algorithm that fits the observations, with an LSTM if it is recurrent."""
    from procurl.envs.checking import student_spaces  # needs Gymnasium

    kind = student_spaces.default_policy(observation_space)
    aliases = find_algorithm(algo).policy_aliases
    recurrent = kind.replace("Policy", "LstmPolicy")
    return recurrent if kind not in aliases and recurrent in aliases else kind


def _algorithms() -> dict[str, Any]:
    """All algorithms that are installed and learn from single steps, by name."""
    from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
    from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

    found: dict[str, Any] = {}
    for package in filter(find_spec, PACKAGES):
        for name, value in vars(import_module(package)).items():
            if inspect.isclass(value) and issubclass(value, OnPolicyAlgorithm | OffPolicyAlgorithm):
                found.setdefault(name, value)
    return found
