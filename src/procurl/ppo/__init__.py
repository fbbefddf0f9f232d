"""PPO in JAX, as in Stable-Baselines3, with the curriculum inside the compiled programs.

`Runs` trains a batch of runs whose environment is compiled with them. `HostRun` trains one run in
any Gymnasium vector environment, and `train_run` records and resumes it. Read from the bottom up:
`learning` (PPO itself), `collect` and `episodes` (steps and whole episodes), `actor`, `student` and
`teacher` (one run as pure functions), `programs` (these compiled for a batch), `spaces` (the
candidates of each run, if tasks come from a space), `evaluation` (its plan and records), `runs` and
`host` (the loops around them).
Importing this package does not import JAX, so that every engine can use the settings.
"""

from typing import TYPE_CHECKING

from procurl.internals.lazy import lazy_names

if TYPE_CHECKING:
    from procurl.ppo.checkpoints import checkpoint_of, restore
    from procurl.ppo.evaluation.plan import EvaluationPlan
    from procurl.ppo.host.checkpoints import host_checkpoint, restore_host
    from procurl.ppo.host.run import HostRun
    from procurl.ppo.host.training import train_run
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
    "train_run",
]

_MODULES = {
    "EvaluationPlan": "procurl.ppo.evaluation.plan",
    "HostRun": "procurl.ppo.host.run",
    "PPOSettings": "procurl.ppo.learning.settings",
    "Runs": "procurl.ppo.runs",
    "checkpoint_of": "procurl.ppo.checkpoints",
    "host_checkpoint": "procurl.ppo.host.checkpoints",
    "paper_settings": "procurl.ppo.learning.settings",
    "restore": "procurl.ppo.checkpoints",
    "restore_host": "procurl.ppo.host.checkpoints",
    "train_run": "procurl.ppo.host.training",
}

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
