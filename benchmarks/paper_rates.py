"""Steps per second on one core, from which `procurl paper` estimates its time.

    python benchmarks/paper_rates.py [--envs pointmass-s pointmass-d basickarel]

Single-threaded runs with the settings of `procurl paper`, as many as `procurl compare` trains side
by side: eight, or one if MuJoCo is stepped on the host. `iid` gives the rate of training;
`procurl-env` with one rollout per task after every update gives the extra time of the teacher's
rollouts. Rates are steps per second of CPU time after a warm-up, excluding evaluation and
compilation.
"""

import argparse
import os
import time
from typing import Any, NamedTuple

from throughput_runs import NEVER, finished, machine

ONE_THREAD = {
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "PROCURL_THREADS": "1",
}
WIDTH = 8
EVAL_WIDTH = 100  # environments at a time in rollouts on the host
WARM_UP = 2  # updates
UPDATES = {
    "pointmass-s": 40,
    "pointmass-d": 40,
    "basickarel": 3,
    "ballcatching": 3,
    "antgoal": 10,
}


class Worked(NamedTuple):
    """Totals over all runs."""

    training: int  # steps
    rollouts: int
    seconds: float  # of the processor


def make_runs(env: str, strategy: str, **settings: Any) -> Any:
    """Runs with the paper's strategy and the given settings."""
    from procurl.envs import make_array_env, make_pool
    from procurl.experiments.engines.registry import has_host_form
    from procurl.experiments.paper.sweeps import SWEEPS
    from procurl.experiments.presets import paper_ppo_settings, paper_strategy
    from procurl.ppo.evaluation.plan import EvaluationPlan
    from procurl.ppo.runs import Runs

    pool, never = make_pool(env), EvaluationPlan(every=NEVER)
    taught = paper_strategy(env, strategy, **settings)
    (ppo,) = (paper_ppo_settings(env, sweep.ppo) for sweep in SWEEPS if sweep.env == env)
    if has_host_form(env):
        from procurl.envs.adapters.vector_env import GymVectorEnv
        from procurl.ppo.host.run import HostRun

        second = GymVectorEnv(env, EVAL_WIDTH, pool)
        return HostRun(
            GymVectorEnv(env, 1, pool), pool, taught, ppo, eval_env=second, evaluation=never
        )
    dynamics = make_array_env(env)
    return Runs(
        dynamics,
        pool,
        strategies=[taught] * WIDTH,
        ppo=[ppo] * WIDTH,
        seeds=list(range(WIDTH)),
        evaluation=never,
    )


def work(runs: Any, updates: int) -> Worked:
    """Train for a while."""
    import numpy as np

    def done() -> tuple[int, int]:
        teacher_steps = np.atleast_1d(finished(runs.state).teaching.teacher_steps)
        return runs.train_steps * len(teacher_steps), int(np.sum(teacher_steps))

    for _ in range(WARM_UP):
        runs.advance()
    before, start = done(), time.process_time()
    for _ in range(updates):
        runs.advance()
    after = done()
    seconds = time.process_time() - start
    return Worked(after[0] - before[0], after[1] - before[1], seconds)


def main() -> None:
    """Print a line per environment."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--envs", nargs="+", default=list(UPDATES), choices=list(UPDATES))
    chosen = parser.parse_args().envs
    os.environ.update(ONE_THREAD)
    print(machine())
    for env in chosen:
        plain = work(make_runs(env, "iid"), UPDATES[env])
        taught = work(make_runs(env, "procurl-env", c_rollouts=1, refresh_every=1), UPDATES[env])
        training = plain.training / plain.seconds
        rollouts = taught.rollouts / (taught.seconds - taught.training / training)
        print(f"{env}: {training:,.0f} training steps/s, {rollouts:,.0f} rollout steps/s")


if __name__ == "__main__":
    main()
