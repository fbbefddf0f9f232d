"""Draws without replacement follow the law of sequential draws."""

from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from procurl import Curriculum, Evidence, TaskPool, make_strategy
from procurl.curriculum import drawing
from procurl.curriculum.drawing import Lottery

P = np.array([0.5, 0.3, 0.15, 0.05])
SAMPLES = 20_000


def pairs(rng: np.random.Generator) -> dict[tuple[int, ...], int]:
    counts: dict[tuple[int, ...], int] = {}
    lottery = Lottery(P)
    for _ in range(SAMPLES):
        pair = tuple(lottery.draw_distinct(2, rng).tolist())
        counts[pair] = counts.get(pair, 0) + 1
    return counts


@pytest.mark.parametrize("rounds", [16, 0, 1])
def test_ordered_pairs_have_the_probabilities_of_sequential_draws(rounds, monkeypatch):
    """P(i, j) = p_i · p_j / (1 − p_i), by skipping repetitions, by Gumbel noise, and by both."""
    monkeypatch.setattr(drawing, "ROUNDS", rounds)
    counts = pairs(np.random.default_rng(1))
    for i, j in permutations(range(4), 2):
        expected = P[i] * P[j] / (1 - P[i])
        deviation = np.sqrt(expected * (1 - expected) / SAMPLES)
        assert abs(counts.get((i, j), 0) / SAMPLES - expected) < 4.5 * deviation


def test_tasks_of_probability_zero_come_last():
    p = np.array([0.0, 1.0, 0.0, 0.0])
    seen = set()
    for seed in range(40):
        drawn = Lottery(p).draw_distinct(2, np.random.default_rng(seed))
        assert drawn[0] == 1
        seen.add(int(drawn[1]))
    assert seen == {0, 2, 3}


BLOCK = 16


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(drawing, "BLOCK", BLOCK)


def many_blocks(dtype: type) -> NDArray[np.floating]:
    """65 blocks; one is empty, and others begin and end with tasks of probability 0."""
    p: NDArray[np.floating] = np.random.default_rng(0).exponential(size=64 * BLOCK + 7)
    p[BLOCK : 2 * BLOCK] = 0.0
    p[::BLOCK] = p[BLOCK - 1 :: BLOCK] = p[-1] = 0.0
    return (p / p.sum()).astype(dtype)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("k", [1, 40, 64, 65, 500])
def test_few_and_many_draws_from_a_large_pool_follow_the_same_sums(k):
    p = many_blocks(np.float64)
    sums, lottery, rng = np.cumsum(p), Lottery(p), np.random.default_rng(k)
    drawn = np.concatenate([lottery.draw(k, rng) for _ in range(20)])
    points = np.random.default_rng(k).random(20 * k) * sums[-1]
    assert drawn.tolist() == np.searchsorted(sums, points, side="right").tolist()


@pytest.mark.usefixtures("small_blocks")
def test_what_is_drawn_does_not_depend_on_earlier_draws():
    p = many_blocks(np.float32)
    used = Lottery(p)
    for k in (1, 64, 500):
        used.draw(k, np.random.default_rng(0))
    for k in (3, 60, 100):
        drawn = [each.draw(k, Edges(p)).tolist() for each in (used, Lottery(p))]
        assert drawn[0] == drawn[1]


class Edges:
    """Random numbers right before, at and right after the ends of blocks, and at both ends."""

    def __init__(self, p: NDArray[np.floating]) -> None:
        ends = np.cumsum(np.add.reduceat(p, np.arange(0, len(p), BLOCK), dtype=np.float64))
        ends = np.concatenate([[0.0], ends]) / ends[-1]
        self.numbers = np.clip([np.nextafter(ends, 0), ends, np.nextafter(ends, 2)], 0, 1).ravel()

    def random(self, k: int) -> NDArray[np.float64]:
        first, self.numbers = self.numbers[:k], self.numbers[k:]
        return first


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_points_between_two_blocks_fall_on_possible_tasks(dtype):
    p = many_blocks(dtype)
    edges = Edges(p)
    while len(edges.numbers):
        drawn = Lottery(p).draw(min(60, len(edges.numbers)), edges)
        assert (p[drawn] > 0.0).all()
    assert (p[Lottery(p).draw(198, Edges(p))] > 0.0).all()


def test_the_whole_pool_can_be_drawn():
    curriculum = Curriculum(make_strategy("procurl-argmax"), TaskPool.from_seeds(6))
    curriculum.observe(Evidence(1, values=[0.0, 0.5, 0.5, 0.0, 0.1, 0.2]))
    drawn = curriculum.next(6, replace=False).tolist()
    assert sorted(drawn) == list(range(6))
    assert set(drawn[:2]) == {1, 2}


def test_draws_without_replacement_repeat_with_the_seed():
    one, two = (Curriculum("iid", TaskPool.from_seeds(20), seed=4) for _ in range(2))
    first = [one.next(7, replace=False).tolist() for _ in range(5)]
    assert first == [two.next(7, replace=False).tolist() for _ in range(5)]
    assert all(len(set(each)) == 7 for each in first)
    assert len({tuple(each) for each in first}) == 5


def test_bad_arguments_are_named():
    curriculum = Curriculum("iid", TaskPool.from_seeds(3))
    with pytest.raises(ValueError, match="k must be at most 3, .* without replacement, got 4"):
        curriculum.next(4, replace=False)
    with pytest.raises(TypeError, match="replace must be True or False, got 'no'"):
        curriculum.next(2, replace="no")
