"""A curriculum for any Stable-Baselines3 algorithm, as a callback."""

import sys
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecNormalize

from procurl.curriculum import Curriculum
from procurl.internals.archive import content_errors
from procurl.internals.arrays import Ids
from procurl.internals.checks import require_flag, require_integer
from procurl.sb3.callback_list import require_one
from procurl.sb3.critic import ValueFunction
from procurl.sb3.envs.eval_env import EnvLike
from procurl.sb3.saving.interrupts import DelayedInterrupt
from procurl.sb3.saving.random_state import restore_random_state
from procurl.sb3.saving.replay import (
    replay_file_of,
    require_replay_buffer,
    restore_replay_buffer,
)
from procurl.sb3.saving.runs import (
    SavedRun,
    model_of,
    read_run,
    require_folder,
    restore_episodes,
    restore_progress,
    write_run,
)
from procurl.sb3.seeds import episode_seed
from procurl.sb3.start_check import warn_at_start
from procurl.sb3.teacher import ModelTeacher, TeacherSettings
from procurl.strategies.registry import DEFAULT_STRATEGY, as_strategy, strategy_name
from procurl.strategies.strategy import Strategy

SAVES = (
    "\nCtrl-C: the run is saved to {} after the current rollout and update. Press Ctrl-C again to "
    "stop at once."
)
SAVED = "saved to {} at step {}; resume with CurriculumCallback.load"


class CurriculumCallback(BaseCallback):
    """Choose the tasks that an algorithm trains on.

    >>> from procurl import TaskEnv, TaskPool
    >>> env = TaskEnv(MyEnv(), TaskPool(contexts))  # doctest: +SKIP
    >>> callback = CurriculumCallback()
    >>> PPO("MlpPolicy", env).learn(1_000_000, callback=callback)  # doctest: +SKIP

    After each policy update the strategy receives its evidence, and each environment receives the
    ids of the tasks to play until the next update. Training episodes are never interrupted.

    Args:
        strategy: from `make_strategy`, your own, or a name for its default settings.
        seed: seed of the teacher; None uses the model's, or 0 if it has none.
        value_fn: replaces the algorithm's critic; maps m observations, as the policy sees them, to
            m values.
        eval_env: for rollouts on the pool: an environment, a vector environment, or a function that
            makes an environment. It is wrapped in `TaskEnv` if it is not one already; if you need
            `set_task`, pass your own `TaskEnv`. None makes a copy of the training environment, if
            `gymnasium.make` can.
        reset_samples: number of initial observations per task over which the critic's value is
            averaged, for random resets.
        refresh_every: minimum number of training steps between refreshes; None refreshes after
            every update of an on-policy algorithm, and every 1,000 steps for others. The strategy's
            own rule, `Strategy.due`, applies as well.
        tasks_per_refresh: for very large pools, the number of tasks valued per refresh, in
            rotation; None for the strategy's own, `Strategy.tasks_per_refresh`, or 100,000.
        save_to: a folder to which the run is saved during and after training, and when Ctrl-C is
            pressed; see `save`.
        save_every: minimum number of training steps between saves.
        save_replay_buffer: whether to save the replay buffer of an off-policy algorithm as well.
        check_env: whether to play a copy of the environment for a moment when training starts, and
            to log a warning if tasks make no difference, numbers are not finite or spaces do not
            start at 0.
        verbose: as for every callback.
    """

    def __init__(
        self,
        strategy: Strategy | str = DEFAULT_STRATEGY,
        *,
        seed: int | None = None,
        value_fn: ValueFunction | None = None,
        eval_env: EnvLike | None = None,
        reset_samples: int = 1,
        refresh_every: int | None = None,
        tasks_per_refresh: int | None = None,
        save_to: str | PathLike[str] | None = None,
        save_every: int = 50_000,
        save_replay_buffer: bool = False,
        check_env: bool = True,
        verbose: int = 0,
    ) -> None:
        super().__init__(verbose)
        self.settings = TeacherSettings(
            as_strategy(strategy),
            seed,
            value_fn,
            eval_env,
            reset_samples,
            refresh_every,
            tasks_per_refresh,
        )
        self.settings.check()
        require_integer("save_every", save_every, at_least=1)
        require_flag("check_env", check_env)
        self.check_env = check_env
        self.save_to = save_to
        self.save_every = save_every
        require_flag("save_replay_buffer", save_replay_buffer)
        self.save_replay_buffer = save_replay_buffer
        self.model_file: Path | None = None  # the model that belongs to what was loaded
        self._replay_file: Path | None = None  # the replay buffer that belongs to it, if any
        self.picks: list[Ids] | None = None  # tasks of all episodes that ended, if set to a list
        self._teacher: ModelTeacher | None = None
        # Of the rollout that is being collected, by step.
        self._dones: list[NDArray[np.bool_]] = []
        self._tasks: list[Ids] = []
        self._reached = 0  # training steps when `learn` was called
        self._saved_at = 0  # training steps at the last save
        self._saved: SavedRun | None = None  # loaded and not yet restored
        self._interrupt: DelayedInterrupt | None = None  # while training with `save_to`

    def __repr__(self) -> str:
        if self._teacher is not None:
            return f"CurriculumCallback({self.curriculum})"
        name = strategy_name(self.settings.strategy)
        return f"CurriculumCallback(strategy={name!r}, not started)"

    @property
    def teacher(self) -> ModelTeacher:
        """The teacher of this run; available once `learn` has started."""
        if self._teacher is None:
            raise RuntimeError("there is no curriculum yet: it starts when model.learn is called")
        return self._teacher

    @property
    def curriculum(self) -> Curriculum:
        """The curriculum of this run; available once `learn` has started."""
        return self.teacher.curriculum

    @property
    def teacher_steps(self) -> int:
        """Environment steps taken by the teacher's rollouts."""
        return self.teacher.teacher_steps

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the model and the state of the curriculum, to be resumed with `load`.

        Call it after `learn`, or set `save_to` to save between rollouts.
        """
        self.collect()
        if self.save_replay_buffer:
            require_replay_buffer(self.model)
        write_run(Path(folder), self.teacher, self.save_replay_buffer)

    def load(self, folder: str | PathLike[str]) -> Self:
        """Resume from a folder written by `save`, with the same strategy and pool.

        >>> callback = CurriculumCallback(strategy).load("runs/mine")  # doctest: +SKIP
        >>> model = PPO.load(callback.model_file, env=env)  # doctest: +SKIP
        >>> model.learn(500_000, callback, reset_num_timesteps=False)  # doctest: +SKIP
        """
        saved = read_run(Path(folder))
        model = model_of(Path(folder), saved)
        with content_errors(saved.source):
            replay = replay_file_of(Path(folder), saved.meta.get("replay_buffer"))
        self.resume_from(saved)
        self.model_file, self._replay_file = model, replay
        return self

    def resume_from(self, saved: SavedRun) -> None:
        """Resume from a saved state when `learn` is called."""
        if self._teacher is not None:
            raise RuntimeError("this callback has already started training: load into a new one")
        self._saved = saved

    def collect(self) -> None:
        """Collect the training episodes that have ended."""
        tasks = self.teacher.collect()
        if self.picks is not None:
            self.picks += tasks

    def refresh(self) -> None:
        """Refresh the strategy if it is due; otherwise its evidence waits for the next rollout."""
        if self.teacher.due(self.num_timesteps):
            self.teacher.refresh(self.num_timesteps)
            self._log()

    def _init_callback(self) -> None:
        # `learn` resets the model's counter before this, and this callback's after it.
        self._reached = self.num_timesteps

    def _on_training_start(self) -> None:
        require_one(CurriculumCallback, self.locals.get("callback"))
        before = self._teacher
        if before is not None and self.num_timesteps < before.curriculum.step:
            self._refuse_restart(before)
        if self.save_replay_buffer:
            require_replay_buffer(self.model)
        if self.save_to is not None:
            require_folder(Path(self.save_to))
        try:
            self._start(before)
        except BaseException:
            self._teacher = before  # so that the next call of `learn` starts as this one did
            raise
        if self.save_to is not None:
            self._interrupt = DelayedInterrupt(self, SAVES.format(self.save_to))

    def _start(self, before: ModelTeacher | None) -> None:
        """Begin to teach: a new run, a saved one, or one that continues."""
        env = self.training_env
        if before is not None and before.model is not self.model and self.num_timesteps == 0:
            before = None  # nothing was learned from the other model
        new = before is None or before.workers.env is not env or before.model is not self.model
        if new:
            self._teacher = ModelTeacher(self.settings, self.model, env, before)
        if self._saved is not None:
            self._restore(self._saved)
            return
        if new:
            self.teacher.look()
            if self.check_env:
                warn_at_start(self.teacher)
        if new or self.num_timesteps == 0:  # otherwise episodes continue
            self._begin_episodes(episode_seed(self.model))

    def _refuse_restart(self, before: ModelTeacher) -> NoReturn:
        """Raise on a model that restarts; the same model can then continue where it was."""
        remedy = "create a new CurriculumCallback"
        start, self.num_timesteps = self.num_timesteps, self._reached
        if before.model is self.model:
            self.model.num_timesteps = self._reached
            before.drop_open_episodes()  # `learn` has reset the environments
            remedy = f"pass reset_num_timesteps=False to continue, or {remedy}"
        raise ValueError(
            f"the model restarts at step {start}, but this callback's curriculum is "
            f"at step {before.curriculum.step:.0f}: {remedy}"
        )

    def _restore(self, saved: SavedRun) -> None:
        """Restore a saved run: the curriculum, the episodes and the random states."""
        teacher = self.teacher
        with content_errors(saved.source):
            restore_progress(saved, teacher)
        if teacher.values is not None and teacher.values.starts is None:
            teacher.look()
        with content_errors(saved.source):
            episodes_continue = restore_episodes(saved, teacher)
        if not episodes_continue:
            # Drawing tasks for the new episodes must not change the curriculum's random numbers.
            before, next_round = teacher.curriculum.state_dict(), teacher.next_round
            self._begin_episodes(saved.meta["episode_seed"])
            teacher.curriculum.load_state_dict(before)
            teacher.next_round = next_round
        if self._replay_file is not None:
            restore_replay_buffer(self._replay_file, self.model)
        with content_errors(saved.source):
            restore_random_state(saved.random)
        self._saved, self._saved_at = None, self.num_timesteps

    def _begin_episodes(self, seed: int) -> None:
        """Start a new episode in every environment, on the teacher's tasks.

        The model resets its environments before it calls the callback, so its observations are
        replaced.
        """
        teacher, env = self.teacher, self.training_env
        env.seed(seed)
        teacher.push(self.num_timesteps)
        model: Any = self.model
        model._last_obs = env.reset()
        model._last_episode_starts = np.ones(env.num_envs, dtype=bool)
        if isinstance(normalized := model.get_vec_normalize_env(), VecNormalize):
            model._last_original_obs = normalized.get_original_obs()
        teacher.workers.collect()
        teacher.drop_open_episodes()

    def _on_rollout_start(self) -> None:
        self._dones, self._tasks = [], []
        self.teacher.end_update()
        interrupted = self._interrupt is not None and self._interrupt.pressed
        if interrupted or self.num_timesteps - self._saved_at >= self.save_every:
            self._save()
        if interrupted:
            self._deliver_interrupt()
        # The policy has been updated since the last rollout ended, so the critic is new.
        if self.teacher.on_policy:
            self._round()

    def _on_step(self) -> bool:
        teacher = self.teacher
        if teacher.watches_steps:
            dones, infos = np.array(self.locals["dones"], dtype=bool), self.locals["infos"]
            every = teacher.excludes_tasks
            tasks = [_task_of(infos[i]) if done or every else 0 for i, done in enumerate(dones)]
            self._dones.append(dones)
            self._tasks.append(np.array(tasks, dtype=np.int64))
        if teacher.anchor is not None:
            teacher.anchor.note_rewards(self.locals["rewards"])
        # Off-policy algorithms start a rollout at every step, or only with an episode.
        if not teacher.on_policy and self.num_timesteps >= teacher.next_round:
            self._round()
        return True

    def _on_rollout_end(self) -> None:
        if self.teacher.watches_steps:
            self.teacher.add_rollout(np.stack(self._dones), np.stack(self._tasks))
        if self.teacher.anchor is not None:
            self.teacher.anchor.end_rollout()

    def _on_training_end(self) -> None:
        self.teacher.end_update()
        self.collect()  # the next call of `learn` may use other environments
        if self.num_timesteps >= self.model._total_timesteps:
            self.curriculum.warn_of_shortfall()
        self._save()
        if self._interrupt is not None:
            pressed = self._interrupt.pressed
            self._interrupt.stop()
            if pressed:
                self._deliver_interrupt()

    def _deliver_interrupt(self) -> None:
        """Let Ctrl-C take effect, now that the run is saved."""
        assert self._interrupt is not None
        print(SAVED.format(self.save_to, f"{self.num_timesteps:,}"), file=sys.stderr, flush=True)
        self._interrupt.deliver()

    def _save(self) -> None:
        if self.save_to is not None:
            self.save(self.save_to)
            self._saved_at = self.num_timesteps

    def _round(self) -> None:
        """Refresh the strategy if it is due, and push the next tasks."""
        self.collect()
        self.refresh()
        self.teacher.push(self.num_timesteps)

    def _log(self) -> None:
        metrics = self.curriculum.metrics()
        self.logger.record("curriculum/entropy", metrics.entropy)
        self.logger.record("curriculum/effective_tasks", metrics.effective_tasks)
        for name in ("estimated_success", "achieved_success", "calibration"):
            if (value := getattr(metrics, name)) is not None:
                self.logger.record(f"curriculum/{name}", value)
        for name, value in metrics.strategy.items():
            self.logger.record(f"curriculum/{name}", value)
        self.logger.record("curriculum/teacher_steps", self.teacher_steps)
        if self.teacher.anchor is not None:
            self.logger.record("curriculum/returns", self.teacher.anchor.returns)


def _task_of(info: dict[str, Any]) -> int:
    if "task" not in info:
        raise ValueError(
            "info['task'] is missing, in which TaskEnv reports the task: a wrapper around TaskEnv "
            "must pass on its info"
        )
    return int(info["task"])
