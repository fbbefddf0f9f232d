"""The page of one strategy beside all others."""

import numpy as np
import pytest

from procurl.experiments.analysis.curves import Curve
from procurl.experiments.paper.entries import ENTRIES
from procurl.experiments.paper.one_strategy import _is_aided, _rival, _verdict

STEPS = np.asarray([0, 100, 200])


def curve(label, heights, steps_per_step=1.0):
    """Runs with constant performance, one per height."""
    performance = np.repeat(np.asarray(heights, dtype=float)[:, None], 3, axis=1)
    env_steps = np.broadcast_to(STEPS * steps_per_step, performance.shape)
    nothing = np.full_like(performance, np.nan)
    return Curve(label, np.arange(len(heights)), STEPS, performance, nothing, env_steps, env_steps)


def test_the_rival_has_the_largest_area():
    """0.2 lies below both runs of `plr` and 0.6 above them: of the four pairs ours wins two."""
    rivals = {"iid": curve("iid", [0.1, 0.1]), "plr": curve("plr", [0.3, 0.5])}
    rival = _rival(curve("procurl", [0.2, 0.6]), rivals)
    assert rival.label == "plr"
    assert rival.chance.value == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("mine", "theirs", "verdict"),
    [
        ([0.5, 0.6, 0.7], [0.1, 0.2, 0.3], "best"),
        ([0.1, 0.2, 0.3], [0.5, 0.6, 0.7], "behind"),
        ([0.1, 0.5, 0.9], [0.2, 0.5, 0.8], "tied"),
        ([0.1, 0.5, 0.9], [0.2, 0.5], "open"),
    ],
)
def test_tied_means_that_either_may_be_better(mine, theirs, verdict):
    rival = _rival(curve("procurl", mine), {"iid": curve("iid", theirs)})
    assert _verdict(rival.chance) == verdict


def test_extra_steps_and_hints_are_aids():
    assert not _is_aided(curve("plr", [0.5]))
    assert _is_aided(curve("procurl-env", [0.5], steps_per_step=20.0))
    assert _is_aided(curve("anneal", [0.5]))


def test_the_entry_compares_the_default_strategy_with_every_other_of_its_sweeps():
    entry = ENTRIES["one-strategy"]
    assert {sweep.name for sweep in entry.needs} == {
        "pointmass-s",
        "pointmass-s-hard",
        "pointmass-d",
        "basickarel",
        "ballcatching",
        "antgoal",
    }
    assert all("procurl" in names and "iid" in names for names in entry.needs.values())
