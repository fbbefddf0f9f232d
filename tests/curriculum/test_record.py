"""Outcomes of single tasks: what is recorded, how it is measured, when it counts."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from procurl import Curriculum, Evidence, TaskPool, make_strategy
from procurl.curriculum.outcomes import records_per_refresh

LARGE = 15_000  # tasks: three records share a refresh


def curriculum_over(n: int = 3, name: str = "procurl-out", seed: int = 0, **settings) -> Curriculum:
    return Curriculum(make_strategy(name, **settings), TaskPool.from_seeds(n), seed=seed)


def test_success_by_hand():
    """One prior episode at 0.5, a task that was won once and lost once, and one won twice.

    The drift starts after the first record, so the estimate is (S + 0.5) / (S + F + 1):
    task 0: 1.5 / 3, task 1: 2.5 / 3, task 2 has the prior alone.
    """
    curriculum = curriculum_over()
    curriculum.record([0, 1, 0, 1], [1, 1, 0, 1])
    np.testing.assert_allclose(curriculum.success(), [1.5 / 3, 2.5 / 3, 0.5])
    assert curriculum.step == 1


def test_fractions_are_parts_of_a_win():
    """0.25 and 0.75 add up to one win and one loss, as 1 and 0 do."""
    curriculum = curriculum_over()
    curriculum.record([2, 2, 0], [0.25, 0.75, 0.1])
    np.testing.assert_allclose(curriculum.success(), [0.6 / 2, 0.5, 1.5 / 3])


def test_records_equal_dense_evidence():
    sparse, dense = curriculum_over(5), curriculum_over(5)
    rng = np.random.default_rng(0)
    for step in range(1, 6):
        tasks, outcomes = rng.integers(0, 5, 8), rng.random(8).round()
        sparse.record(tasks, outcomes, step=step)
        wins = np.bincount(tasks, outcomes, 5)
        losses = np.bincount(tasks, 1 - outcomes, 5)
        dense.observe(Evidence(step, wins=wins, losses=losses))
        np.testing.assert_array_equal(sparse.probabilities(), dense.probabilities())


def test_wins_and_losses_are_the_outcomes_that_they_count():
    one, two = curriculum_over(), curriculum_over()
    one.record([0, 2], wins=[2, 0], losses=[1, 3])
    two.record([0, 0, 0, 2, 2, 2], [1, 1, 0, 0, 0, 0])
    np.testing.assert_array_equal(one.success(), two.success())


def test_counts_of_no_episodes_do_not_widen_the_range_seen():
    """From 1 to 5, not from a loss that there was not."""
    one, two = curriculum_over(), curriculum_over()
    one.record([0], wins=[8], losses=[0])
    two.record([0] * 8, [1] * 8)
    for each in (one, two):
        each.record([1, 2], [5.0, 3.0])
    np.testing.assert_array_equal(one.success(), two.success())


def test_unknown_outcomes_are_skipped():
    one, two = curriculum_over(), curriculum_over()
    one.record([0, 1, 2, 2], [1, None, float("nan"), 0])
    two.record([0, 2], [1, 0])
    np.testing.assert_array_equal(one.success(), two.success())
    one.record([1], [None])
    assert one.step == 2


def test_rewards_are_measured_on_the_range_seen():
    """Rewards of −1 to 3: −1 is a loss, 3 a win, 1 half of one."""
    curriculum = curriculum_over()
    curriculum.record([0, 1, 2], [-1.0, 3.0, 1.0])
    np.testing.assert_allclose(curriculum.success(), [0.5 / 2, 1.5 / 2, 1.0 / 2])


def test_earlier_outcomes_move_to_the_range_seen_later():
    """A win at 1 was half a win all along if the best reward turns out to be 2.

    Task 0 has the reward 1 once before; at the second record its episode counts 0.7^(1/3) (a third
    of the pool was played). Without drift: p = (0.5·f + 0.5) / (f + 1) = 0.5.
    """
    curriculum = curriculum_over(decay_steps=1e9)  # without drift
    curriculum.record([0], [1.0])
    assert curriculum.success()[0] == pytest.approx(1.5 / 2)
    curriculum.record([1, 2], [2.0, 0.0])
    np.testing.assert_allclose(curriculum.success(), [0.5, 1.5 / 2, 0.5 / 2], rtol=1e-6)


def test_tensors_and_arrays_of_objects_are_read():
    torch = pytest.importorskip("torch")
    one, two = curriculum_over(), curriculum_over()
    rewards = torch.tensor([1.0, 0.25], dtype=torch.bfloat16, requires_grad=True)
    one.record(torch.tensor([2, 0]), rewards)
    one.record(np.array([1, 2], dtype=object), np.array([True, None], dtype=object))
    two.record([2, 0], [1.0, 0.25])
    two.record([1], [1])
    np.testing.assert_array_equal(one.success(), two.success())


def test_every_kind_of_real_number_is_an_outcome():
    one, two = curriculum_over(), curriculum_over()
    one.record([0, 1, 2], np.array([0, 0.5, 1], dtype=ml_dtypes.bfloat16))
    one.record([0], np.ma.masked_array([1.0]))
    two.record([0, 1, 2], [0, Fraction(1, 2), True])
    two.record([0], [1])
    np.testing.assert_array_equal(one.success(), two.success())


def test_labels_name_tasks():
    pool = TaskPool(["3 + 4", "12 + 9"], labels=["easy", "hard"])
    curriculum, other = Curriculum("procurl-out", pool), Curriculum("procurl-out", pool)
    curriculum.record(["hard", "easy"], [1, 0])
    other.record([1, 0], [1, 0])
    np.testing.assert_array_equal(curriculum.success(), other.success())


def test_steps_are_in_the_unit_of_the_caller():
    curriculum = curriculum_over()
    curriculum.record([0], [1], step=512)
    curriculum.record([0], [1])
    assert curriculum.step == 513
    with pytest.raises(ValueError, match="step must be a finite number of at least 513"):
        curriculum.record([0], [1], step=512)


@pytest.mark.parametrize("unit", [1, 1024])
def test_optimizer_steps_need_no_settings(unit):
    """Outcomes fade by passes over the pool, so that the unit of steps changes nothing."""
    curriculum = curriculum_over(4)
    for i in range(1, 9):
        curriculum.record([i % 4], [float(i % 2)], step=i * unit)
    one = curriculum_over(4)
    for i in range(1, 9):
        one.record([i % 4], [float(i % 2)])
    np.testing.assert_array_equal(curriculum.probabilities(), one.probabilities())


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([0, 3], [1, 1]), ValueError, "tasks must be from 0 to 2, got 3"),
        (([-1], [1]), ValueError, "tasks must be from 0 to 2, got -1"),
        (([0.5], [1]), TypeError, "tasks must be task ids from 0 to 2, or labels"),
        ((["a"], [1]), ValueError, "got 'a': the pool has no labels"),
        (([[0], [1]], [1, 1]), ValueError, r"one list of task ids or labels, got shape \(2, 1\)"),
        (([[0], [1, 2]], [1, 1]), ValueError, "one list of task ids or labels: .* inhomogeneous"),
        (
            (np.ma.masked_array([0, 1], [False, True]), [1, 1]),
            TypeError,
            "tasks must be task ids or labels, got an array with masked entries",
        ),
        (([0, 1], [1]), ValueError, r"one number for each of the 2 tasks passed, got shape \(1,\)"),
        (
            ([0], ["won"]),
            TypeError,
            "outcomes must be numbers, or None to skip an entry: got .'won'",
        ),
        (([0, 1], ["1", None]), TypeError, "outcomes must be numbers, .*: got .'1', None"),
        (
            ([0, 1], np.ma.masked_array([1.0, 0.0], [False, True])),
            TypeError,
            "outcomes must be numbers, or None to skip an entry: got masked entries",
        ),
        (([0], [10**400]), ValueError, "outcomes must be at most 1e.30 in size: int too large"),
        (([0, 10**30], [1, 1]), ValueError, "tasks must be from 0 to 2, got 10{30}"),
        (([0], [np.inf]), ValueError, "outcomes must be at most 1e.30 in size, got inf"),
        (([0],), TypeError, "pass outcomes, or both wins and losses"),
    ],
)
def test_wrong_arguments_are_named_and_change_nothing(arguments, error, message):
    curriculum = curriculum_over()
    curriculum.record([0], [1])
    before = curriculum.state_dict()
    with pytest.raises(error, match=message):
        curriculum.record(*arguments)
    after = curriculum.state_dict()
    for name, array in before.pop("state").items():
        np.testing.assert_array_equal(after["state"][name], array)
    assert {**after, "state": None} == {**before, "state": None}


def test_wrong_counts_are_named():
    curriculum = curriculum_over()
    with pytest.raises(ValueError, match=r"losses count episodes and must not be negative, got -1"):
        curriculum.record([0], wins=[1], losses=[-1])
    with pytest.raises(TypeError, match="either outcomes, or wins and losses, got both"):
        curriculum.record([0], [1], wins=[1], losses=[1])
    with pytest.raises(ValueError, match="'hrd' is not a label of the pool. Did you mean 'hard'"):
        Curriculum("procurl-out", TaskPool(["a"], labels=["hard"])).record(["hrd"], [1])
    with pytest.raises(ValueError, match="from 0 to 1 for measure='success', got 2.0"):
        curriculum_over(measure="success").record([0], [2.0])


def test_a_strategy_that_needs_more_than_outcomes_is_named():
    with pytest.raises(ValueError, match="procurl-val requires values: use observe, or a strategy"):
        curriculum_over(name="procurl-val").record([0], [1])
    curriculum_over(name="iid").record([0], [1])


def test_a_wish_for_fewer_refreshes_is_respected():
    curriculum = curriculum_over(refresh_every=30)
    for step in (10, 20):
        curriculum.record([0], [1], step=step)
        assert np.ptp(curriculum.probabilities()) == 0
    curriculum.record([0], [1], step=30)
    assert curriculum.success()[0] == pytest.approx(3.5 / 4)


def test_a_prior_on_another_scale_is_named():
    strategy = make_strategy("procurl-out", v_min=0.0, v_max=5.0)
    with pytest.raises(ValueError, match="v_min and v_max other than 0 and 1: leave them out"):
        Curriculum(strategy, TaskPool.from_seeds(2), prior=[0.1, 0.2])


def test_large_pools_share_a_refresh():
    curriculum = curriculum_over(LARGE)
    sizes = (1, 9_999, 10_000, LARGE, 10**5, 10**6, 10**7)
    assert [records_per_refresh(n) for n in sizes] == [1, 1, 2, 3, 19, 62, 197]
    for _ in range(2):
        curriculum.record([5], [1])
        assert np.ptp(curriculum.probabilities()) == 0
    curriculum.record([5], [0])
    assert np.ptp(curriculum.probabilities()) > 0
    other = curriculum_over(LARGE)
    other.observe(Evidence(3, wins=np.eye(1, LARGE, 5)[0] * 2, losses=np.eye(1, LARGE, 5)[0]))
    np.testing.assert_array_equal(curriculum.probabilities(), other.probabilities())


def test_refresh_shows_all_records():
    curriculum, other = curriculum_over(LARGE), curriculum_over(LARGE)
    curriculum.record([5], [1])
    curriculum.refresh()
    other.observe(Evidence(1, wins=np.eye(1, LARGE, 5)[0], losses=np.zeros(LARGE)))
    np.testing.assert_array_equal(curriculum.probabilities(), other.probabilities())
    curriculum.refresh()  # nothing new
    np.testing.assert_array_equal(curriculum.probabilities(), other.probabilities())


def test_dense_evidence_comes_after_what_was_recorded():
    curriculum, other = curriculum_over(LARGE), curriculum_over(LARGE)
    nothing = np.zeros(LARGE)
    for each in (curriculum, other):
        each.record([5], [1])
    other.refresh()
    for each in (curriculum, other):
        each.observe(Evidence(2, wins=nothing, losses=nothing))
    np.testing.assert_array_equal(curriculum.probabilities(), other.probabilities())


def test_bad_evidence_leaves_the_records_as_they_were():
    curriculum = curriculum_over(LARGE)
    curriculum.record([5], [1])
    with pytest.raises(ValueError, match="evidence.losses is missing"):
        curriculum.observe(Evidence(2, wins=np.zeros(LARGE)))
    assert np.ptp(curriculum.probabilities()) == 0
    assert curriculum.state_dict()["state"]["outcomes/pending.tasks"].tolist() == [5]


def test_saved_records_go_on_identically(tmp_path):
    """Saved between two refreshes, with rewards outside of 0 to 1."""

    def record(curriculum: Curriculum, steps) -> list[int]:
        drawn = []
        for step in steps:
            tasks = curriculum.next(8, replace=False)
            curriculum.record(tasks, np.sin(tasks * step) * 3)
            drawn += tasks.tolist()
        return drawn

    one, two = curriculum_over(LARGE, seed=3), curriculum_over(LARGE)
    record(one, range(4))
    one.save(tmp_path / "state")
    two.load(tmp_path / "state")
    assert record(one, range(4, 9)) == record(two, range(4, 9))
    np.testing.assert_array_equal(one.probabilities(), two.probabilities())


def test_a_refresh_without_a_known_outcome_is_saved_too():
    """It was at step 10, so that the record of step 11 waits for the next one at step 20."""
    one, two = (curriculum_over(name="procurl", refresh_every=10) for _ in range(2))
    one.record([0], [None], step=10)
    two.load_state_dict(one.state_dict())
    for each in (one, two):
        each.record([0], [1], step=11)
        assert each.success().tolist() == [0.5, 0.5, 0.5]
        each.record([0], [1], step=20)
        assert each.success()[0] > 0.6


def test_a_record_that_waits_without_a_known_outcome_is_saved_too():
    one, two = (curriculum_over(LARGE, name="procurl") for _ in range(2))
    one.record([0], [None])
    two.load_state_dict(one.state_dict())
    for each in (one, two):
        each.refresh()
        assert each.success()[0] == 0.5


def test_saved_records_of_another_form_are_refused():
    curriculum = curriculum_over(LARGE)
    curriculum.record([5], [1])
    saved = curriculum.state_dict()
    saved["state"]["outcomes/pending.tasks"] = np.array([LARGE])
    with pytest.raises(ValueError, match="saved outcomes do not fit a pool of 15000 tasks"):
        curriculum_over(LARGE).load_state_dict(saved)


def test_the_prior_counts_as_an_episode():
    """Before any outcome p is the prior; a win makes it (1 + 0.2) / 2, unknown ones are 0.5."""
    pool = TaskPool.from_seeds(3)
    strategy = make_strategy("procurl-out", decay_steps=1e9)  # without drift
    curriculum = Curriculum(strategy, pool, prior=[0.2, 1.0, None])
    np.testing.assert_allclose(curriculum.success(), [0.2, 1.0, 0.5])
    curriculum.record([0], [1])
    np.testing.assert_allclose(curriculum.success(), [0.6, 1.0, 0.5])


@pytest.mark.parametrize("name", ["procurl", "procurl-group"])
def test_tasks_without_a_known_rate_follow_those_near_them(name):
    """Rates of 1/2 prove right, so they are trusted. Where there is none, near tasks all lose."""
    pool = TaskPool(np.linspace(0, 1, 64)[:, None])
    unknown = Curriculum(name, pool, prior=[0.5] * 32 + [None] * 32)
    for _ in range(8):
        unknown.record(np.repeat(np.arange(32), 8), np.tile([0, 1], 128))
    unknown.record(np.arange(32, 60), np.zeros(28))
    assert unknown.success()[:32] == pytest.approx(np.full(32, 0.5), abs=0.1)
    assert unknown.success()[60:].max() < 0.02


@pytest.mark.parametrize(
    ("name", "prior", "message"),
    [
        (
            "procurl-out",
            [0.1, 0.2],
            r"one number for each of the 3 tasks of the pool, got shape \(2,\)",
        ),
        ("procurl-out", [0.1, 1.5, 0.2], "success rates from 0 to 1, got 1.5 for task 1"),
        ("iid", [0.1, 0.5, 0.2], "such as procurl, not for iid"),
    ],
)
def test_a_wrong_prior_is_named(name, prior, message):
    with pytest.raises(ValueError, match=message):
        Curriculum(name, TaskPool.from_seeds(3), prior=prior)


def test_a_group_of_samples_is_one_visit(caplog):
    """Tasks that look alike are no surprise before about every task was drawn, however often."""
    curriculum = curriculum_over(100)
    for i in range(40):
        tasks = np.arange(4 * i, 4 * i + 4) % 100
        curriculum.record(np.repeat(tasks, 8), np.tile([0.0, 1.0], 16))
        curriculum.next()
        if i < 25:
            assert not caplog.records
    assert "no task seems much more useful" in caplog.text
