"""The store of an experiment: one SQLite file, written by one process and read by anybody.

Every row has a checksum and the number of rows is known, so that a file that was truncated or
altered is refused instead of believed.
"""

import json
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, replace
from datetime import datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Self

from procurl.records.evaluation import Evaluation, column_names, from_scalars, scalar_values
from procurl.records.experiment import Contender, Experiment, RunPlan, differences
from procurl.records.export import ExportRow
from procurl.records.machine import machine, versions
from procurl.records.packing import pack_detail, pack_pool, unpack_detail, unpack_pool
from procurl.records.results import Results, RunId
from procurl.records.tables import (
    Damaged,
    add_counted,
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

FILE = "results.sqlite"


class Store:
    """What has been recorded in a directory; made by `open_experiment` or `read_store`."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self.path = folder / FILE
        self._db = connection
        self._numbers: dict[RunId, int] | None = None  # of all runs, None where not known
        self._version = -1  # of the file, which other processes change
        try:
            with clear_errors(self.path):
                check_tables(connection, self.path)
                self.experiment = Experiment(**json.loads(self._fact("experiment")))
        except BaseException:
            connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; what was added is in it."""
        with clear_errors(self.path):
            self._db.close()

    @property
    def plan(self) -> RunPlan:
        """The seeds that were asked for, by contender in the order in which they came."""
        return RunPlan({contender.label: seeds for contender, seeds in self._asked().items()})

    def together(self) -> AbstractContextManager[None]:
        """Write all that is added inside, or nothing of it."""
        return self._transaction("BEGIN IMMEDIATE")

    def _one_moment(self) -> AbstractContextManager[None]:
        """See inside what was there at the first look, whatever another process adds meanwhile."""
        return self._transaction("BEGIN")

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        with clear_errors(self.path):
            if self._db.in_transaction:
                yield
                return
            self._db.execute(begin)
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                self._db.rollback()
                self._numbers = None
                raise

    def remember(self, time: str, command: str) -> None:
        """Add to the commands that have been run here, with this machine and its versions."""
        with self.together():
            facts = (time, command, json.dumps(versions()), json.dumps(machine()))
            add_counted(self._db, self.path, "commands", facts)

    def ask(self, plan: RunPlan) -> None:
        """Remember what was asked for; nothing that was asked for before is taken back."""
        with self.together():
            for label, seeds in plan.seeds.items():
                self._ask(Contender.parse(label), seeds)

    def begin(self, run: RunId, padding: bool = False) -> None:
        """Make a run known; one that is known already stays as it is.

        Args:
            run: its seed counts as asked for from now on.
            padding: it was trained beside others only, and shows once its seed is asked for.
        """
        with self.together():
            known = self._known()
            if run in known:
                return
            if not padding:
                self._ask(Contender(run.strategy, run.setting), run.seed + 1)
            values = (*run, 0, False, None)
            known[run] = add_counted(self._db, self.path, "runs", values)

    def forget(self, run: RunId) -> None:
        """Drop what was measured of a run that starts again from its first step."""
        with self.together():
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
        with self.together():
            number = self._number(run)
            steps = self._db.execute("SELECT step FROM evaluations WHERE run = ?", (number,))
            known = {step for (step,) in steps}
            for e in evaluations:
                put(self._db, "evaluations", (number, *scalar_values(e)))
                put(self._db, "details", (number, e.step, *pack_detail(e)))
            count = len(known | {e.step for e in evaluations})
            *_, finished, stopped_at = self._run_row(number)
            put(self._db, "runs", (number, *run, count, finished, stopped_at))
        return [e for e in evaluations if e.step not in known]

    def finish(self, run: RunId, stopped_at: int | None = None) -> None:
        """Say that a run has reached its last step.

        Args:
            run: that was begun.
            stopped_at: step at which a value that was not finite stopped it.
        """
        with self.together():
            number = self._number(run)
            *row, _, _ = self._run_row(number)
            put(self._db, "runs", (*row, True, stopped_at))

    def finished(self) -> set[RunId]:
        """The runs that have reached their last step."""
        with self._one_moment():
            found = counted_rows(self._db, self.path, "runs")
        return {RunId(*row[1:4]) for row in found if row[5]}

    def rows(self) -> Iterator[ExportRow]:
        """Every evaluation of every run that was asked for, by strategy, seed and step."""
        experiment = self.experiment
        for run, evaluations in self._evaluations().items():
            for e in evaluations:
                yield ExportRow(
                    experiment.env, run.strategy, run.setting, experiment.engine, run.seed, e
                )

    def results(self) -> Results:
        """All that was recorded; picks and snapshots are read from the file when asked for."""
        experiment = self.experiment
        with self._one_moment():
            evaluations = self._evaluations()
            stopped = {
                RunId(*row[1:4]): row[6]
                for row in counted_rows(self._db, self.path, "runs")
                if row[6] is not None
            }
            pool = unpack_pool(self._fact("pool"))
            facts = self._facts()
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
        )

    def detail(self, run: RunId) -> list[Evaluation]:
        """The evaluations of a run with picks and snapshots."""
        with self._one_moment():
            number = self._number(run)
            count = self._run_row(number)[4]
            where = "WHERE run = ? ORDER BY step"
            read = rows(self._db, self.path, "evaluations", where, (number,))
            plain = [_evaluation(row) for row in read]
            found = list(rows(self._db, self.path, "details", where, (number,)))
        if len(plain) != count:
            raise Damaged(self.path, f"evaluations has {len(plain)} rows of {count} of {run}")
        if [row[1] for row in found] != [e.step for e in plain]:
            raise Damaged(self.path, f"details has {len(found)} rows of {len(plain)} of {run}")
        return [unpack_detail(e, row[2:]) for e, row in zip(plain, found, strict=True)]

    def _evaluations(self) -> dict[RunId, list[Evaluation]]:
        """Of every run that was asked for and begun, in order, without picks and snapshots."""
        with self._one_moment():
            asked = self._asked()
            order = {contender: i for i, contender in enumerate(asked)}
            found: dict[int, list[Evaluation]] = {}
            read = rows(self._db, self.path, "evaluations", "ORDER BY run, step")
            for number, group in groupby(read, key=lambda row: row[0]):
                found[number] = [_evaluation(row) for row in group]
            runs = []
            for number, *names, count, _, _ in counted_rows(self._db, self.path, "runs"):
                run = RunId(*names)
                if len(found.get(number, [])) != count:
                    have = len(found.get(number, []))
                    raise Damaged(self.path, f"evaluations has {have} rows of {count} of {run}")
                contender = Contender(run.strategy, run.setting)
                if run.seed < asked.get(contender, 0):
                    runs.append((order[contender], run.seed, number, run))
        return {run: found.get(number, []) for *_, number, run in sorted(runs)}

    def _asked(self) -> dict[Contender, int]:
        """Seeds by contender, in the order in which they came."""
        with self._one_moment():
            found = counted_rows(self._db, self.path, "contenders")
        return {Contender(*names): seeds for _, *names, seeds in found}

    def _ask(self, contender: Contender, seeds: int) -> None:
        asked = self._asked()
        if contender not in asked:
            add_counted(self._db, self.path, "contenders", (*contender, seeds))
        elif asked[contender] < seeds:
            put(self._db, "contenders", (list(asked).index(contender), *contender, seeds))

    def _facts(self) -> dict[str, Any]:
        """What a report tells of where the results came from."""
        with self._one_moment():
            commands = counted_rows(self._db, self.path, "commands")
            asked = self.plan.seeds
            finished = [r for r in self.finished() if r.seed < asked.get(r.label, 0)]
            one_by_one = self.experiment.one_by_one
            total = len(self._known()) if one_by_one else sum(asked.values())
        latest = commands[-1] if commands else (0, "", "", "{}", "{}")
        return {
            "command": latest[2],
            "commands": tuple(row[2] for row in commands),
            "times": tuple(row[1] for row in commands),
            "versions": json.loads(latest[3]),
            "machine": json.loads(latest[4]),
            "pool_hash": self.experiment.pool_hash,
            "test_hash": self.experiment.test_hash,
            "pool": self.experiment.pool,
            "test_pool": self.experiment.test_pool,
            "width": self.experiment.width,
            "device": self.experiment.device,
            "student": self.experiment.student,
            "eval_every": self.experiment.eval_every,
            "eval_episodes": self.experiment.eval_episodes,
            "asked": total,
            "finished": len(finished),
        }

    def _fact(self, key: str) -> Any:
        return fact(self._db, self.path, key)

    def _known(self) -> dict[RunId, int]:
        """The numbers of all runs; another process may have added some since the last look."""
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        if self._numbers is None or version != self._version:
            found = counted_rows(self._db, self.path, "runs")
            self._numbers = {RunId(*row[1:4]): row[0] for row in found}
            self._version = version
        return self._numbers

    def _number(self, run: RunId) -> int:
        known = self._known()
        if run not in known:
            raise ValueError(f"run {run} was not begun: call begin before adding to it")
        return known[run]

    def _run_row(self, number: int) -> tuple[Any, ...]:
        for row in rows(self._db, self.path, "runs", "WHERE id = ?", (number,)):
            return row
        raise Damaged(self.path, f"run {number} is missing")


def open_experiment(
    folder: Path,
    wanted: Experiment,
    pool: TaskPool,
    plan: RunPlan | None = None,
    command: str | None = None,
) -> Store:
    """The store of `folder` to write to, made where there is none.

    A directory that holds another experiment is refused, and stays as it was.

    Args:
        folder: is made where it is missing.
        wanted: what all runs have in common. `pool_hash` is filled in.
        pool: the training pool, which is kept so that reports need nothing else.
        plan: contenders and seeds; more than before extend the experiment.
        command: how to run this again; by default the command line of this process.
    """
    wanted = replace(wanted, pool_hash=pool.fingerprint)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    if not path.exists():
        facts = {"experiment": json.dumps(asdict(wanted)), "pool": pack_pool(pool)}
        create_file(path, facts)
    store = Store(folder, connect_to_write(path))
    try:
        if told := differences(store.experiment, wanted):
            raise ValueError(
                f"{folder} holds another experiment: {told}. "
                "Name another directory (on the command line with --out), or ask for the same"
            )
        with store.together():
            time = datetime.now().astimezone().isoformat(timespec="seconds")
            told = " ".join(sys.argv) if command is None else command
            store.remember(time, told)
            if plan is not None:
                store.ask(plan)
    except BaseException:
        store.close()
        raise
    return store


def read_store(folder: Path) -> Store:
    """The store of `folder`, to be read only."""
    path = folder / FILE
    if not path.exists():
        raise ValueError(f"{folder} holds no experiment: there is no {FILE} in it")
    return Store(folder, connect_to_read(path))


def _read_detail(folder: Path, run: RunId) -> list[Evaluation]:
    with read_store(folder) as store:
        return store.detail(run)


def _evaluation(row: tuple[Any, ...]) -> Evaluation:
    """Of a row of `evaluations`, which begins with the number of the run."""
    return from_scalars(dict(zip(column_names(), row[1:], strict=True)))
