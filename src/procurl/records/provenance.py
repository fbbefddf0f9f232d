"""Where results came from: commands, versions and settings, for reports."""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from procurl.records.experiment import Experiment


def command_line() -> str:
    """The command that started this process, to paste into a shell; empty if there is none.

    A notebook, an interactive session and a worker process have none.
    """
    words = sys.orig_argv[1:]
    interactive = hasattr(sys, "ps1") or "ipykernel" in sys.modules
    if not words or interactive or "--multiprocessing-fork" in words:
        return ""
    return shlex.join(["python", *words])


def provenance(
    experiment: Experiment, commands: Sequence[Sequence[Any]], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Facts about an experiment by name.

    Args:
        experiment: what its runs have in common.
        commands: rows of the table of commands.
        settings: of contenders, by label.
    """
    latest = commands[-1] if commands else (0, "", "", "{}", "{}")
    return {
        "command": latest[2],
        "commands": tuple(row[2] for row in commands if row[2]),
        "times": tuple(row[1] for row in commands),
        "versions": json.loads(latest[3]),
        "machine": json.loads(latest[4]),
        "pool_hash": experiment.pool_hash,
        "test_hash": experiment.test_hash,
        "test_name": experiment.test_name,
        "pool": experiment.pool,
        "n_pools": experiment.n_pools,
        "test_pool": experiment.test_pool,
        "width": experiment.width,
        "device": experiment.device,
        "student": experiment.student,
        "eval_every": experiment.eval_every,
        "eval_episodes": experiment.eval_episodes,
        "eval_tasks": experiment.eval_tasks,
        "eval_stochastic": experiment.eval_stochastic,
        "settings": dict(settings),
    }
