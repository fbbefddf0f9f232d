"""`python -m procurl.experiments.theory`: its table, its figures, and its errors."""

import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from procurl.experiments.theory.__main__ import main
from procurl.experiments.theory.episodes_to_reach import (
    STARTS,
    Comparison,
    cells,
    episodes_table,
    strategy_for,
)
from procurl.experiments.theory.theory_figures import draw_improvement
from procurl.theory import Simulation


def training(*performance: list[float]) -> Simulation:
    """One row per seed; the best possible performance is 1."""
    rows = np.array(performance)
    return Simulation(
        rows, np.ones(len(rows)), np.zeros((len(rows), 1)), np.zeros((len(rows), 1), int)
    )


def test_the_interval_of_a_mean_by_hand():
    # Standard deviation 1, and the t quantile for 2 degrees of freedom is 4.3027.
    runs = training([0.0, 0.9, 0.9, 0.9], [0.0, 0.0, 0.9, 0.9], [0.0, 0.0, 0.0, 0.9])
    width = f"{4.3027 / np.sqrt(3):.0f}"
    both = {"procurl-val": runs, "hard": runs}
    assert cells(Comparison("learner", STARTS[0], both), 0.25)[3] == f"2 ± {width} *"
    one = dict.fromkeys(both, training([0.0, 0.0, 0.9, 0.9]))
    assert cells(Comparison("learner", STARTS[0], one), 0.25)[3] == "2 ± 0 *"


def test_a_row_of_the_table_by_hand():
    quick = training([0.0, 0.9, 0.9, 0.9], [0.0, 0.9, 0.9, 0.9])
    slow = training([0.0, 0.0, 0.0, 0.9], [0.0, 0.0, 0.0, 0.9])
    never = training([0.0, 0.0, 0.0, 0.0], [0.0, 0.9, 0.9, 0.9])
    by_strategy = {"procurl-val": quick, "iid": never, "hard": slow}
    row = cells(Comparison("learner", STARTS[0], by_strategy), 0.25)
    assert row == ["learner", "mixed", "0.25", "1 ± 0 *", "> 2", "3 ± 0", "slower"]
    table = episodes_table([Comparison("learner", STARTS[0], by_strategy)])
    assert table.head == ("learner", "start", "ε", *by_strategy, "hard is")
    assert [line[2] for line in table.rows] == ["0.25", "0.1"]
    assert table.rows[0] == tuple(row)


def test_no_strategy_has_a_star_where_none_gets_there():
    never = training([0.0, 0.0], [0.0, 0.0])
    row = cells(Comparison("learner", STARTS[0], {"procurl-val": never, "hard": never}), 0.25)
    assert row[3:] == ["> 1", "> 1", "level"]


def test_procurl_knows_only_the_caps_that_it_may_know():
    strategies = {start.name: strategy_for("procurl-val", start, 4) for start in STARTS}
    assert strategies["half capped"].p_star.tolist() == [1.0, 0.3, 1.0, 0.3]
    assert strategies["caps unknown"].p_star.tolist() == [1.0, 1.0, 1.0, 1.0]
    assert STARTS[-1].p_star(4).tolist() == [1.0, 0.3, 1.0, 0.3]


def test_the_improvement_figure_is_a_png(tmp_path):
    path = tmp_path / "improvement.png"
    draw_improvement(path)
    with Image.open(path) as picture:
        picture.verify()
        assert picture.format == "PNG"
        assert picture.width > 800
    with Image.open(path) as picture:
        colors = np.asarray(picture.convert("RGB")).reshape(-1, 3)
    blue = (colors == (0x00, 0x72, 0xB2)).all(axis=1).sum()
    assert blue > 500  # the curves of p* = 1 are there


@pytest.mark.soak
def test_the_command_prints_a_table_and_writes_the_figures(tmp_path, capsys):
    out = tmp_path / "new" / "theory"
    assert main(["--out", str(out), "--seeds", "2", "--episodes", "20"]) == 0
    printed = capsys.readouterr()
    assert printed.err.count("] ") == 15  # one line of progress per learner and start
    lines = (out / "episodes_to_reach.md").read_text(encoding="utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    assert len(rows) == 2 + 2 * 15
    shown = [" ".join(line.split()) for line in printed.out.splitlines()]
    assert all(" ".join(row) in shown for row in [rows[0], *rows[2:]])
    for name in ("improvement.png", "learning.png"):
        assert (out / name).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
        with Image.open(out / name) as picture:
            picture.verify()


def test_without_matplotlib_the_table_is_kept_and_the_extra_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["--out", str(tmp_path), "--seeds", "1", "--episodes", "5"]) == 1
    assert "pip install 'procurl[report]'" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["episodes_to_reach.md"]


@pytest.mark.parametrize("option", ["--seeds", "--episodes"])
@pytest.mark.parametrize("value", ["0", "-3", "many"])
def test_a_bad_number_is_refused(option, value, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["--out", str(tmp_path), option, value])
    message = f"argument {option}: must be an integer of at least 1, got '{value}'"
    assert message in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_named(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["--out", str(tmp_path / "file" / "out")]) == 1
    assert "file/out cannot be created: Not a directory" in capsys.readouterr().err


def test_the_theory_needs_numpy_alone():
    program = (
        "import sys, procurl.theory\n"
        "print(*{'scipy', 'matplotlib', 'jax', 'torch', 'gymnasium'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
