"""The store of an experiment: one SQLite file, written by one process and read by anybody.

Every row has a checksum and the number of rows is stored, so that a truncated or altered file is
rejected.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Self

from procurl.internals.archive import content_errors
from procurl.internals.checks import require_integer
from procurl.records.evaluation import Evaluation, column_names, from_scalars, scalar_values
from procurl.records.experiment import Contender, Experiment, RunPlan, differences
from procurl.records.export import ExportRow
from procurl.records.guard import Guard
from procurl.records.machine import machine, versions
from procurl.records.packing import pack_detail, pack_pools, pool_keys, unpack_detail, unpack_pool
from procurl.records.provenance import command_line, provenance
from procurl.records.results import Results, RunId
from procurl.records.tables import (
    DamagedError,
    append_row,
    check_tables,
    clear_errors,
    connect_to_read,
    connect_to_write,
    counted_rows,
    create_file,
    fact,
    put,
    rows,
)
from procurl.tasks.pool import TaskPool
from procurl.tasks.pool_difference import pools_difference

FILE = "results.sqlite"
SETTINGS = "settings"  # key of a fact


class Store:
    """The records of a directory. Open one with `open_experiment` or `read_store`."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self.path = folder / FILE
        self._db = connection
        self._numbers: dict[RunId, int] | None = None  # of all runs; None if unknown
        self._version = -1  # of the file, which other processes may change
        self._guard = Guard(self.path)
        try:
            with clear_errors(self.path), content_errors(self.path):
                check_tables(connection, self.path)
                self._guard.check_commits(connection)
                self.experiment = Experiment(**json.loads(self._fact("experiment")))
        except BaseException:
            connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with clear_errors(self.path):
            self._db.close()
        self._guard.close()

    @property
    def plan(self) -> RunPlan:
        """The planned seeds by contender, in the order in which contenders were added."""
        return RunPlan({each.label: seeds for each, seeds in self._planned_seeds().items()})

    @property
    def pools(self) -> list[TaskPool]:
        """The training pools, over which runs are spread."""
        with self._consistent_read(), content_errors(self.path):
            return [unpack_pool(self._fact(key)) for key in pool_keys(self.experiment.n_pools)]

    def transaction(self) -> AbstractContextManager[None]:
        """A context in which either everything is written or nothing."""
        return self._within("BEGIN IMMEDIATE", write=True)

    def _consistent_read(self) -> AbstractContextManager[None]:
        """A context in which all reads see the same state, whatever other processes write."""
        return self._within("BEGIN")

    @contextmanager
    def _within(self, begin: str, write: bool = False) -> Iterator[None]:
        with clear_errors(self.path):
            if self._db.in_transaction:
                yield
                return
            if write:
                self._guard.check_file()
            self._db.execute(begin)
            try:
                yield
                number = self._guard.number(self._db) if write else None
                self._db.execute("COMMIT")
            except BaseException:
                self._db.rollback()
                self._numbers = None
                raise
        if number is not None:
            self._guard.confirm_commit(number)

    def add_command(self, time: str, command: str) -> None:
        """Record a command that was run here, with this machine and its package versions."""
        with self.transaction():
            facts = (time, command, json.dumps(versions()), json.dumps(machine()))
            append_row(self._db, self.path, "commands", facts)

    def extend_plan(self, plan: RunPlan) -> None:
        """Add contenders and seeds to the plan; a plan never shrinks."""
        with self.transaction():
            for label, seeds in plan.seeds.items():
                self._plan_seeds(Contender.parse(label), seeds)

    def begin(self, run: RunId, padding: bool = False) -> None:
        """Add a run; one that exists already stays as it is.

        Args:
            run: its seed, an integer from 0 on, becomes part of the plan.
            padding: the run only fills up a batch: it is shown once its seed is planned.
        """
        require_integer("seed", run.seed, at_least=0)
        with self.transaction():
            known = self._known()
            if run in known:
                return
            if not padding:
                self._plan_seeds(Contender(run.strategy, run.setting), run.seed + 1)
            values = (*run, 0, False, None)
            known[run] = append_row(self._db, self.path, "runs", values)

    def clear(self, run: RunId) -> None:
        """Delete the evaluations of a run that starts again from its first step."""
        with self.transaction():
            number = self._number(run)
            for table in ("evaluations", "details"):
                self._db.execute(f"DELETE FROM {table} WHERE run = ?", (number,))
            put(self._db, "runs", (number, *run, 0, False, None))

    def add(self, run: RunId, *evaluations: Evaluation) -> list[Evaluation]:
        """Record evaluations of a run, and return those that are new.

        One of the same step is replaced: the run was resumed from before it.
        """
        if not evaluations:
            return []
        with self.transaction():
            number = self._number(run)
            steps = self._db.execute("SELECT step FROM evaluations WHERE run = ?", (number,))
            known = {step for (step,) in steps}
            for e in evaluations:
                step, *others = scalar_values(e)
                put(self._db, "evaluations", (number, step, *others))
                put(self._db, "details", (number, step, *pack_detail(e)))
            count = len(known | {e.step for e in evaluations})
            *_, finished, stopped_at = self._run_row(number)
            put(self._db, "runs", (number, *run, count, finished, stopped_at))
        return [e for e in evaluations if e.step not in known]

    def finish(self, run: RunId, stopped_at: int | None = None) -> None:
        """Mark a run as finished.

        Args:
            run: must have been added with `begin`.
            stopped_at: the step at which it stopped because a value was not finite.
        """
        with self.transaction():
            number = self._number(run)
            *row, _, _ = self._run_row(number)
            put(self._db, "runs", (*row, True, stopped_at))

    def finished_runs(self) -> set[RunId]:
        """The runs that are finished."""
        with self._consistent_read():
            return {RunId(*row[1:4]) for row in counted_rows(self._db, self.path, "runs") if row[5]}

    @property
    def runs(self) -> tuple[RunId, ...]:
        """All runs, planned or not."""
        with self._consistent_read():
            return tuple(self._known())

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of contenders by label, for those whose settings were recorded."""
        with self._consistent_read():
            found = rows(self._db, self.path, "facts", "WHERE key = ?", (SETTINGS,))
            return next((json.loads(value) for _, value in found), {})

    def set_settings(self, label: str, settings: dict[str, Any]) -> None:
        """Record the settings of a contender, in place of earlier ones."""
        with self.transaction():
            put(self._db, "facts", (SETTINGS, json.dumps(self.settings | {label: settings})))

    def extend_run(self, run: RunId, steps: int) -> None:
        """Continue a run, finished or not, to more steps, which all runs here are then to reach."""
        with self.transaction():
            self.experiment = replace(self.experiment, steps=steps)
            put(self._db, "facts", ("experiment", self.experiment.to_json()))
            *row, _, _ = self._run_row(self._number(run))
            put(self._db, "runs", (*row, False, None))

    def rows(self) -> Iterator[ExportRow]:
        """Every evaluation of every planned run, by strategy, seed and step."""
        of = self.experiment
        for run, evaluations in self._evaluations().items():
            pool = of.pool_of(run.seed)
            for e in evaluations:
                yield ExportRow(of.env, run.strategy, run.setting, of.engine, run.seed, e, pool)

    def results(self) -> Results:
        """All records; picks and snapshots are read from the file on demand."""
        experiment = self.experiment
        with self._consistent_read():
            evaluations = self._evaluations()
            stopped = {
                RunId(*row[1:4]): row[6]
                for row in counted_rows(self._db, self.path, "runs")
                if row[6] is not None
            }
            with content_errors(self.path):
                (pool, *others), facts = self.pools, self._facts()
        return Results(
            env=experiment.env,
            engine=experiment.engine,
            steps=experiment.steps,
            n_envs=experiment.n_envs,
            pool=pool,
            runs=[run for run, mine in evaluations.items() if mine],
            evaluations=evaluations,
            stopped={run: step for run, step in stopped.items() if run in evaluations},
            facts=facts,
            detail=partial(_read_detail, self.folder),
            other_pools=others,
        )

    def detail(self, run: RunId) -> list[Evaluation]:
        """The evaluations of a run with picks and snapshots."""
        with self._consistent_read():
            number = self._number(run)
            count = self._run_row(number)[4]
            where = "WHERE run = ? ORDER BY step"
            read = rows(self._db, self.path, "evaluations", where, (number,))
            plain = [_evaluation(row) for row in read]
            found = list(rows(self._db, self.path, "details", where, (number,)))
        if len(plain) != count:
            raise DamagedError(self.path, f"evaluations has {len(plain)} rows of {count} of {run}")
        if [row[1] for row in found] != [e.step for e in plain]:
            raise DamagedError(self.path, f"details has {len(found)} rows of {len(plain)} of {run}")
        with content_errors(self.path):
            return [unpack_detail(e, row[2:]) for e, row in zip(plain, found, strict=True)]

    def _evaluations(self) -> dict[RunId, list[Evaluation]]:
        """The evaluations of all planned runs, in order, without picks and snapshots."""
        with self._consistent_read():
            planned = self._planned_seeds()
            order = {contender: i for i, contender in enumerate(planned)}
            found: dict[int, list[Evaluation]] = {}
            read = rows(self._db, self.path, "evaluations", "ORDER BY run, step")
            for number, group in groupby(read, key=lambda row: row[0]):
                found[number] = [_evaluation(row) for row in group]
            runs = []
            for number, *names, count, _, _ in counted_rows(self._db, self.path, "runs"):
                run = RunId(*names)
                if (have := len(found.get(number, []))) != count:
                    raise DamagedError(
                        self.path, f"evaluations has {have} rows of {count} of {run}"
                    )
                contender = Contender(run.strategy, run.setting)
                if run.seed < planned.get(contender, 0):
                    runs.append((order[contender], run.seed, number, run))
        return {run: found.get(number, []) for *_, number, run in sorted(runs)}

    def _planned_seeds(self) -> dict[Contender, int]:
        """The number of seeds by contender, in the order in which contenders were added."""
        with self._consistent_read():
            found = counted_rows(self._db, self.path, "contenders")
        return {Contender(*names): seeds for _, *names, seeds in found}

    def _plan_seeds(self, contender: Contender, seeds: int) -> None:
        planned = self._planned_seeds()
        if contender not in planned:
            append_row(self._db, self.path, "contenders", (*contender, seeds))
        elif planned[contender] < seeds:
            put(self._db, "contenders", (list(planned).index(contender), *contender, seeds))

    def _facts(self) -> dict[str, Any]:
        """Where the results came from, for reports."""
        with self._consistent_read():
            commands = counted_rows(self._db, self.path, "commands")
            planned = self.plan.seeds
            finished = [r for r in self.finished_runs() if r.seed < planned.get(r.label, 0)]
            total = len(self._known()) if self.experiment.one_by_one else sum(planned.values())
            settings = self.settings
        counts = {"planned_runs": total, "finished_runs": len(finished)}
        return provenance(self.experiment, commands, settings) | counts

    def _fact(self, key: str) -> Any:
        return fact(self._db, self.path, key)

    def _known(self) -> dict[RunId, int]:
        """The numbers of all runs, read again if another process has changed the file."""
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        if self._numbers is None or version != self._version:
            found = counted_rows(self._db, self.path, "runs")
            self._numbers = {RunId(*row[1:4]): row[0] for row in found}
            self._version = version
        return self._numbers

    def _number(self, run: RunId) -> int:
        known = self._known()
        if run not in known:
            raise ValueError(f"run {run} does not exist: call begin(run) before adding to it")
        return known[run]

    def _run_row(self, number: int) -> tuple[Any, ...]:
        for row in rows(self._db, self.path, "runs", "WHERE id = ?", (number,)):
            return row
        raise DamagedError(self.path, f"run {number} is missing")


def open_experiment(
    folder: Path,
    wanted: Experiment,
    pool: TaskPool | Sequence[TaskPool],
    plan: RunPlan | None = None,
    command: str | None = None,
) -> Store:
    """Open the store of `folder` for writing; it is created if it does not exist.

    A directory with a different experiment is rejected and left unchanged.

    Args:
        folder: is created if it is missing.
        wanted: what all runs have in common. `pool_hash` and `n_pools` are filled in.
        pool: the training pool, or several that runs are spread over. They are stored so that
            reports need nothing else.
        plan: contenders and seeds to add to the plan.
        command: the command to record; by default the one that started this process.
    """
    pools = [pool] if isinstance(pool, TaskPool) else pool
    wanted = wanted.on(pools)
    wanted.check()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    if not path.exists():
        create_file(path, {"experiment": wanted.to_json(), **pack_pools(pools)})
    store = Store(folder, connect_to_write(path))
    try:
        there = store.experiment
        if different := differences(there, wanted, lambda: pools_difference(store.pools, pools)):
            raise ValueError(
                f"{folder} holds another experiment: {different}. "
                "Use another directory (--out on the command line) or the same settings"
            )
        with store.transaction():
            time = datetime.now().astimezone().isoformat(timespec="seconds")
            store.add_command(time, command_line() if command is None else command)
            if plan is not None:
                store.extend_plan(plan)
    except BaseException:
        store.close()
        raise
    return store


def read_store(folder: Path) -> Store:
    """Open the store of `folder` for reading."""
    path = folder / FILE
    if not path.exists():
        lack = f"there is no {FILE} in it" if folder.exists() else "it does not exist"
        raise ValueError(
            f"{folder} holds no experiment: {lack}. Name the --out directory of a comparison"
        )
    return Store(folder, connect_to_read(path))


def _read_detail(folder: Path, run: RunId) -> list[Evaluation]:
    with read_store(folder) as store:
        return store.detail(run)


def _evaluation(row: tuple[Any, ...]) -> Evaluation:
    """Of a row of `evaluations`, which begins with the number of the run."""
    return from_scalars(dict(zip(column_names(), row[1:], strict=True)))
