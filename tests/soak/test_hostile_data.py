"""Seeded attacks on data: malformed pools, random evidence, corrupted files, hostile names.

Each test counts what it tried and how it ended, and prints the counts. Whatever is refused is
refused with a ValueError or TypeError in one line; nothing else may be raised.
"""

import json
import math
import random
import threading
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from procurl import Curriculum, Evidence, Scale, TaskPool, make_strategy
from procurl.envs import make_host_env, make_pool
from procurl.experiments.analysis.labels import broken_name
from procurl.experiments.compact_records.files import read_records, write_records
from procurl.experiments.compact_records.record import compact
from procurl.experiments.report.page import write_report
from procurl.internals.archive import read_archive, write_archive
from procurl.policy import load_policy, make_policy, save_policy
from procurl.records.packing import pack_pool, unpack_pool
from procurl.records.results import RunId
from procurl.strategies import strategy_names
from tests.crafted import STRANGE, altered_arrays, mutated
from tests.experiments.report.report_results import report_results

pytestmark = pytest.mark.soak

PLAIN_ENVS = ("pointmass-s", "basickarel", "ballcatching", "antgoal")
CELLS = (
    *("", " ", "0", "1.5", "-3", "1e400", "1e-400", "nan", "inf", "1_000", "0x1F", "1,5", "$x$"),
    *(
        "\u0661\u0662",
        "\uff11",
        "\u00bd",
        "\u221e",
        "\ufeff",
        "\x00",
        "\x1b[2J",
        "\u2028",
        "a" * 200_000,
    ),
    *(
        '"',
        '"a',
        '""',
        "id",
        "feature:",
        "feature:x",
        "Friction",
        "FRICTION",
        "solution",
        "'",
        "=1+1",
    ),
)
NAMES = (
    *(
        "$\\bad$",
        "$x$",
        "_a",
        "__",
        "%s",
        "{x}",
        "\\frac{1}{2}",
        "^{2}",
        "a|b",
        "=1+1",
        "@x",
        "-1+2",
    ),
    *("<script>alert(1)</script>", "</script>", "&amp;", "\"'`", "]]>", "-->", "../x", "a" * 120),
    *(
        "\u202eabc",
        "\u4e2d\u6587",
        "\U0001f600",
        "e\u0301",
        "None",
        "null",
        "constructor",
        "__proto__",
    ),
)
EXTREMES = (0.0, -0.0, 1.0, -1.0, 5e-324, 1e-308, 1e-30, 1e15, -1e15, 1e30, -1e30)
REFUSED = (1e31, -1e31, 1e308, -1e308, math.inf, -math.inf, math.nan)
FIELDS = [name for name in Evidence._fields if name not in ("step", "scale")]


def test_random_evidence(report_counts):
    """Evidence is refused and changes nothing, or every later draw works."""
    rng = np.random.default_rng(0)
    counts = Counter()
    for name in strategy_names():
        pool = TaskPool(rng.normal(size=(7, 2)), features={"target": [1, 0, 0, 1, 0, 0, 0]})
        for settings in ({}, {"v_min": None, "v_max": None}):
            try:
                strategy = make_strategy(name, **settings)
            except (TypeError, ValueError):
                continue
            for _ in range(90):
                curriculum = Curriculum(strategy, pool, seed=0)
                for step in range(20):
                    _offer(curriculum, random_evidence(rng, step, len(pool)), counts)
    report_counts("evidence", counts)
    assert counts["accepted"] > 10_000
    assert counts["refused"] > 5_000


def _offer(curriculum, evidence, counts):
    before = curriculum.probabilities()
    if refusal := _refusal(curriculum.observe, evidence):
        assert "\n" not in refusal
        np.testing.assert_array_equal(curriculum.probabilities(), before)
        counts["refused"] += 1
        return
    p = curriculum.probabilities()
    assert np.isfinite(p).all()
    assert p.sum() == pytest.approx(1)
    assert 0 <= curriculum.next()[0] < len(p)
    success = curriculum.success()
    assert success is None or np.isfinite(success).all()
    counts["accepted"] += 1


def _refusal(function, *arguments):
    """The message with which `function` refuses its arguments, None if it accepts them."""
    try:
        function(*arguments)
    except (TypeError, ValueError) as error:
        return str(error)
    return None


def random_evidence(rng, step, n):
    """Every field at random: usual numbers, extremes or, now and then, something to refuse."""
    fields = {}
    for name in FIELDS:
        kind = rng.random()
        if kind < 0.4:
            column = rng.random(n)
        elif kind < 0.5:
            column = np.full(n, rng.choice(EXTREMES))
        else:
            column = rng.choice(EXTREMES, n)
        if name in ("wins", "losses", "played"):
            column = np.abs(column)
        if rng.random() < 0.03:
            column = _spoiled(rng, column)
        fields[name] = column
    return Evidence(step, scale=random_scale(rng), **fields)


def random_scale(rng):
    """No scale, one that fits, or, now and then, something to refuse."""
    kind = rng.random()
    if kind < 0.3:
        return None
    low, high = sorted(rng.choice(EXTREMES, 2))
    if kind > 0.98:
        spoiled = (
            Scale(high, low - 1.0, True),
            Scale(np.nan, high, True),
            Scale("0", "1", True),
            3,
        )
        return spoiled[rng.integers(len(spoiled))]
    return Scale(low, high, rng.random() < 0.5)


def _spoiled(rng, column):
    column[rng.integers(len(column))] = rng.choice(REFUSED)
    kinds = (
        lambda: column,
        lambda: column.astype(complex),
        lambda: column.astype(str),
        lambda: column.astype(bytes),
        lambda: np.ma.masked_array(column, mask=[True] + [False] * (len(column) - 1)),
        lambda: np.zeros(len(column), dtype="datetime64[s]"),
        lambda: [None, *column[1:]],
        lambda: [10**400, *column[1:]],
        lambda: column[1:],
        lambda: [*column[1:], [1.0]],
        lambda: {"a": 1},
        lambda: np.zeros(len(column), dtype=[("x", "f8")]),
    )
    return kinds[rng.integers(len(kinds))]()


def test_malformed_pool_files(tmp_path, report_counts):
    """A file is refused in one line with its name, or read as a pool whose numbers it holds."""
    rng, path = random.Random(0), tmp_path / "pool.csv"
    counts = Counter()
    for name in PLAIN_ENVS:
        env = make_host_env(name)
        env.write_pool(make_pool(name, size=4), path)
        whole = path.read_bytes()
        for _ in range(1250):
            path.write_bytes(_malformed(whole, rng))
            if refusal := _refusal(env.read_pool, path):
                assert refusal.startswith(str(path)), refusal
                assert "\n" not in refusal
                counts["refused"] += 1
                continue
            pool = env.read_pool(path)
            assert pool.contexts is None or np.isfinite(pool.contexts).all()
            counts["read"] += 1
    report_counts("malformed pools", counts)
    assert counts["refused"] > 3_000
    assert counts["read"] > 100


def _malformed(whole, rng):
    """The bytes of a pool file after one to four accidents."""
    content = whole
    for _ in range(rng.randint(1, 4)):
        lines = content.split(b"\n")
        row = rng.randrange(len(lines))
        cells = lines[row].split(b",")
        accident = rng.randrange(9)
        if accident <= 3:
            cells[rng.randrange(len(cells))] = rng.choice(CELLS).encode()
        elif accident == 4:
            rng.shuffle(cells)
        elif accident == 5:
            del cells[rng.randrange(len(cells))]
        elif accident == 6:
            cells.append(rng.choice(cells))
        lines[row] = b",".join(cells)
        if accident == 7:
            lines.insert(rng.randrange(len(lines)), rng.choice(lines))
        content = b"\n".join(lines)
        if accident == 8 and content:
            place = rng.randrange(len(content))
            content = content[:place] + rng.choice((b"", rng.randbytes(3))) + content[place + 1 :]
    return content


def test_corrupted_files(tmp_path, report_counts):
    """Altered bytes, cut files, and contents with a valid checksum that nobody wrote."""
    rng, counts = random.Random(0), Counter()
    pool = TaskPool(np.linspace(0, 1, 12).reshape(6, 2), features={"f": range(6)})
    for name in ("procurl-val", "spdl", "plr"):
        curriculum = Curriculum(name, pool)
        path = tmp_path / name
        curriculum.save(path)
        _attack_archive(
            path, lambda path, name=name: Curriculum(name, pool).load(path), rng, counts
        )
    _attack_policy(tmp_path, rng, counts)
    packed = pack_pool(pool)
    for _ in range(200):
        damaged = _damaged(packed, rng)
        _count(_refusal(unpack_pool, damaged), "the stored pool: ", counts)
    folder = tmp_path / "records"
    write_records(compact(report_results(seeds=1, evaluations=2)), folder)
    for file in sorted(folder.iterdir()):
        whole = file.read_bytes()
        for _ in range(60):
            file.write_bytes(_damaged(whole, rng))
            _count(_refusal(read_records, folder), str(folder), counts)
        file.write_bytes(whole)
    report_counts("corrupted files", counts)
    assert counts["refused"] > 1_000


def _attack_archive(path, read, rng, counts):
    whole = path.read_bytes()
    meta, arrays = read_archive(path)
    for _ in range(100):
        path.write_bytes(_damaged(whole, rng))
        _count(_refusal(read, path), str(path), counts)
        write_archive(path, mutated(meta, rng) or {}, arrays)
        _count(_refusal(read, path), str(path), counts)
        write_archive(path, meta, altered_arrays(arrays, rng))
        _count(_refusal(read, path), str(path), counts)


def _attack_policy(folder, rng, counts):
    params = {
        "head": {"output": {"kernel": np.eye(3, 2), "bias": np.zeros(2)}, "log_std": np.zeros(2)},
        "value": {"kernel": np.ones((3, 1)), "bias": np.ones(1)},
    }
    save_policy(folder / "policy", make_policy(params, "any", [-1, -1], [1, 1]))
    for ending in (".json", ".safetensors"):
        file = folder / f"policy{ending}"
        whole = file.read_bytes()
        for _ in range(100):
            file.write_bytes(_damaged(whole, rng))
            _count(_refusal(load_policy, folder / "policy"), str(folder / "policy"), counts)
        file.write_bytes(whole)


def _damaged(whole, rng):
    """A file that was cut, lengthened, or altered in one byte or in a block."""
    place = rng.randrange(len(whole))
    return rng.choice(
        (
            whole[:place],
            whole + rng.randbytes(5),
            whole[:place] + bytes([whole[place] ^ (1 << rng.randrange(8))]) + whole[place + 1 :],
            whole[:place] + bytes(min(64, len(whole) - place)) + whole[place + 64 :],
            json.dumps(rng.choice(STRANGE)).encode(),
        )
    )


def _count(refusal, start, counts):
    """Count a refusal, which names what it is about in one line."""
    assert refusal is None or (refusal.startswith(start) and "\n" not in refusal), refusal
    counts["accepted" if refusal is None else "refused"] += 1


@pytest.mark.filterwarnings("ignore:Glyph")
def test_hostile_names(tmp_path, report_counts):
    """Names of columns, strategies and environments in every file of the report."""
    counts = Counter()
    for k in range(0, len(NAMES), 4):
        columns = list(NAMES[k : k + 4])
        folder = tmp_path / f"{k}"
        contexts = np.random.default_rng(k).random((30, len(columns)))
        pool = TaskPool(contexts, names=columns, features={f"f{columns[0]}": range(30)})
        results = report_results(seeds=1, evaluations=3, pool=pool, env=columns[0])
        results = _with_labels(results, {"procurl-val": columns[-1], "iid": columns[1]})
        write_records(compact(results), folder)
        write_report(folder)
        for figure in folder.glob("*.svg"):
            ElementTree.parse(figure)
        page = (folder / "report.html").read_text(encoding="utf-8")
        assert "<script>alert" not in page
        assert "<script>" not in (folder / "table.md").read_text(encoding="utf-8")
        for line in (folder / "table.csv").read_text(encoding="utf-8").splitlines():
            assert not line.startswith(("=", "+", "-", "@"))
        text = (folder / "curves-train.svg").read_text(encoding="utf-8")
        for line in broken_name(columns[-1]).split("\n"):
            assert _escaped(line) in text
        counts["drawn as they are"] += len(columns)
    report_counts("hostile names", counts)


def _escaped(name):
    return name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _with_labels(results, labels):
    runs = {run: RunId(labels[run.strategy], "", run.seed) for run in results.runs}
    back = {new: old for old, new in runs.items()}
    return replace(
        results,
        runs=list(back),
        evaluations={new: results.evaluations[old] for new, old in back.items()},
        detail=lambda run: results.detail(back[run]),
    )


def test_threads_share_a_curriculum(report_counts):
    """After an observe has returned, no draw follows the distribution of before."""
    counts = Counter()
    n = 2_000
    for trial in range(300):
        curriculum = Curriculum(make_strategy("procurl-argmax"), TaskPool.from_seeds(n), seed=trial)
        best = trial % n
        values = np.zeros(n)
        values[best] = 0.5
        start = threading.Barrier(4)

        def draw(curriculum=curriculum, start=start):
            start.wait()
            for _ in range(5):
                curriculum.next(3)

        threads = [threading.Thread(target=draw) for _ in range(3)]
        for thread in threads:
            thread.start()
        start.wait()
        curriculum.observe(Evidence(1, values=values))
        for thread in threads:
            thread.join()
        assert set(curriculum.next(20).tolist()) == {best}
        counts["up to date"] += 1
    report_counts("draws beside evidence", counts)
