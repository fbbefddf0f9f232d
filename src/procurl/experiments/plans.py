"""What to run: an experiment of one environment, cut into batches of runs of fixed width."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

from procurl.archive import write_text
from procurl.checks import require_whole

FILE = "experiment.json"


class Contender(NamedTuple):
    """A strategy with the settings that it was given by hand, `procurl-val:beta=10,floor=0.1`."""

    strategy: str
    setting: str = ""  # as written, empty for the paper's settings

    @classmethod
    def parse(cls, text: str) -> Self:
        strategy, _, setting = text.partition(":")
        contender = cls(strategy, setting)
        contender.settings()
        return contender

    @property
    def label(self) -> str:
        """As it was written."""
        return f"{self.strategy}:{self.setting}" if self.setting else self.strategy

    def settings(self) -> dict[str, Any]:
        """The given settings by name; numbers, true, false and none are taken as such."""
        given: dict[str, Any] = {}
        for part in filter(None, self.setting.split(",")):
            name, equals, value = part.partition("=")
            if not equals or not name or not value:
                raise ValueError(
                    f"strategy {self.label!r}: {part!r} is no setting; "
                    "write NAME:key=value,key=value"
                )
            given[name] = _value(value)
        return given


@dataclass(frozen=True)
class Experiment:
    """What all runs of a directory have in common; a different one needs another directory.

    Args:
        env: name of the environment.
        engine: `jax` or `sb3`.
        steps: training steps per run.
        n_envs: environments per run.
        width: runs that are trained side by side; a run's numbers depend on it in the last digits.
        pool: file of the training pool, None for the environment's own.
        pool_hash: of its tasks.
        test_pool: file of the test pool, None for none.
        test_hash: of its tasks.
    """

    env: str
    engine: str
    steps: int
    n_envs: int
    width: int
    pool: str | None
    pool_hash: str
    test_pool: str | None = None
    test_hash: str | None = None

    def check(self) -> None:
        """Raise on a number out of range."""
        for name in ("steps", "n_envs", "width"):
            require_whole(name, getattr(self, name), at_least=1)


class Batch(NamedTuple):
    """Runs that are trained side by side."""

    contender: Contender
    first_seed: int
    width: int

    @property
    def seeds(self) -> range:
        return range(self.first_seed, self.first_seed + self.width)

    @property
    def folder(self) -> str:
        """Where in the experiment's directory it is kept."""
        name = self.contender.label.replace(":", "--").replace("/", "_")
        return f"runs/{name}/seeds-{self.first_seed:05d}-{self.seeds[-1]:05d}"


class Request(NamedTuple):
    """What has been asked of a directory so far: seeds per contender."""

    seeds: dict[str, int]  # by label

    def extended(self, contenders: list[Contender], seeds: int) -> Self:
        """With more contenders or seeds; nothing that was asked for is taken back."""
        more = dict(self.seeds)
        for contender in contenders:
            more[contender.label] = max(seeds, more.get(contender.label, 0))
        return self._replace(seeds=more)


def batches_of(request: Request, width: int) -> list[Batch]:
    """Every batch that the request needs, its contenders taking turns.

    The last batch of a contender may hold more seeds than were asked for: widths are fixed, so that
    numbers do not depend on how a sweep was cut.
    """
    rounds = [
        (first, Batch(Contender.parse(label), first, width))
        for label, seeds in request.seeds.items()
        for first in range(0, seeds, width)
    ]
    return [batch for _, batch in sorted(rounds, key=lambda pair: pair[0])]


def open_experiment(
    folder: Path, wanted: Experiment, request: Request
) -> tuple[Experiment, Request]:
    """What is in `folder` together with what is wanted now; raises where the two conflict."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    if path.exists():
        there, asked = read_experiment(folder)
        conflicts = [
            f"{name} is {there_value!r}, not {wanted_value!r}"
            for (name, there_value), wanted_value in zip(
                asdict(there).items(), asdict(wanted).values(), strict=True
            )
            if there_value != wanted_value and name != "width"
        ]
        if conflicts:
            raise ValueError(
                f"{folder} holds another experiment: {'; '.join(conflicts)}. "
                "Name another directory with --out, or ask for the same"
            )
        wanted = replace(wanted, width=there.width)
        for label, seeds in request.seeds.items():
            asked = asked.extended([Contender.parse(label)], seeds)
        request = asked
    content = {"experiment": asdict(wanted), "seeds": request.seeds}
    write_text(path, json.dumps(content, indent=2) + "\n")
    return wanted, request


def read_experiment(folder: Path) -> tuple[Experiment, Request]:
    """What `folder` holds."""
    path = folder / FILE
    if not path.exists():
        raise ValueError(f"{folder} holds no experiment: there is no {FILE} in it")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Experiment(**content["experiment"]), Request(content["seeds"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error


def _value(text: str) -> Any:
    named = {"none": None, "true": True, "false": False}
    if text.lower() in named:
        return named[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
