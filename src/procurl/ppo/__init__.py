"""PPO in JAX, as in Stable-Baselines3, with the curriculum inside the compiled programs.

`Runs` trains a batch of runs whose environment is compiled with them. `HostRun` trains one run in
any Gymnasium vector environment. Read from the bottom up: `learning` (PPO itself), `collect` and
`episodes` (steps and whole episodes), `actor`, `student` and `teacher` (one run as pure functions),
`programs` (these compiled for a batch), `runs` and `host` (the loops around them). Importing this
package does not import JAX, so that every engine can use the settings.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from procurl.ppo.checkpoints import checkpoint_of, restore
    from procurl.ppo.evaluation_plan import EvaluationPlan
    from procurl.ppo.host.checkpoints import host_checkpoint, restore_host
    from procurl.ppo.host.run import HostRun
    from procurl.ppo.learning.settings import PPOSettings, paper_settings
    from procurl.ppo.runs import Runs

__all__ = [
    "EvaluationPlan",
    "HostRun",
    "PPOSettings",
    "Runs",
    "checkpoint_of",
    "host_checkpoint",
    "paper_settings",
    "restore",
    "restore_host",
]

_MODULES = {
    "EvaluationPlan": "evaluation_plan",
    "HostRun": "host.run",
    "PPOSettings": "learning.settings",
    "Runs": "runs",
    "checkpoint_of": "checkpoints",
    "host_checkpoint": "host.checkpoints",
    "paper_settings": "learning.settings",
    "restore": "checkpoints",
    "restore_host": "host.checkpoints",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"procurl.ppo.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
