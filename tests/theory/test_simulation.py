"""Simulated learners under a curriculum: bookkeeping, and who gets there first."""

from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pytest

from procurl import IID, Evidence, make_strategy, strategy_names
from procurl.experiments.analysis.statistics import mean_interval
from procurl.experiments.theory.episodes_to_reach import (
    STARTS,
    Comparison,
    Start,
    hard_against_procurl,
    strategy_for,
)
from procurl.theory import (
    AbstractLearner,
    Learner,
    ReinforceLearner,
    Simulation,
    episodes_to_reach,
    simulate,
)

REINFORCE = ReinforceLearner(eta=1.0)
ABSTRACT = AbstractLearner(alpha=0.2, beta=0.0)
MIXED, MOSTLY_HARD, MOSTLY_EASY, HALF_CAPPED, CAPS_UNKNOWN = STARTS
MANY_SEEDS = range(100, 120)  # for differences smaller than the spread between seeds
FEW_SEEDS = range(100, 108)


def test_an_episode_is_won_where_the_random_number_lies_below_p():
    p = np.array([0.2, 0.2])
    for learner in (REINFORCE, ABSTRACT):
        knowledge = learner.knowledge(p, 0.8)
        after, won = learner.play(knowledge, np.full(2, 0.8), np.array([0.19, 0.21]))
        assert won.tolist() == [True, False]
        assert learner.success(after, 0.8)[0] > 0.2
        assert learner.success(after, 0.8)[1] == pytest.approx(0.2)


def test_one_task_that_a_single_win_teaches_by_hand():
    # With α = 1 and β = 0 the first random number below p = 0.3 wins and lifts p to p* at once.
    seeds = [0, 1, 2, 3]
    learner = AbstractLearner(alpha=1.0, beta=0.0)
    trained = simulate(learner, IID(), [0.3], 0.9, seeds=seeds, episodes=40)
    for row, seed in enumerate(seeds):
        first = int(np.argmax(np.random.default_rng([seed, 1]).random(40) < 0.3))
        expected = [0.3] * (first + 1) + [0.9] * (40 - first)
        assert trained.performance[row] == pytest.approx(np.array(expected))
        assert episodes_to_reach(trained, 0.01)[row] == first + 1


def test_steps_to_reach_by_hand():
    performance = np.array([[0.2, 0.5, 0.9, 0.8], [0.2, 0.3, 0.4, 0.5]])
    trained = Simulation(
        performance, np.array([1.0, 0.85]), np.zeros((2, 1)), np.zeros((2, 1), int)
    )
    assert episodes_to_reach(trained, 0.5).tolist() == [1.0, 2.0]
    assert episodes_to_reach(trained, 0.1 + 1e-9).tolist() == [2.0, np.inf]
    assert episodes_to_reach(trained, 0.9).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="epsilon must be a finite number above 0, got 0"):
        episodes_to_reach(trained, 0)


@pytest.mark.parametrize("learner", [REINFORCE, ABSTRACT])
# The tasks of the theory have neither contexts nor targets.
@pytest.mark.parametrize(
    "name", sorted({*strategy_names()} - {"alp-gmm", "currot", "procurl-target", "target"})
)
def test_every_registered_strategy_can_teach(name, learner):
    p = np.random.default_rng(0).uniform(0.1, 0.9, (2, 6))
    trained = simulate(learner, make_strategy(name), p, seeds=[0, 1], episodes=53)
    assert trained.performance.shape == (2, 54)
    assert trained.performance[:, 0] == pytest.approx(p.mean(axis=1))
    assert trained.performance[:, -1] == pytest.approx(trained.success.mean(axis=1))
    assert (np.diff(trained.performance, axis=1) >= -1e-15).all()
    assert (trained.performance[:, -1] > trained.performance[:, 0]).all()
    assert trained.played.sum(axis=1).tolist() == [53, 53]
    assert ((trained.success > p) <= (trained.played > 0)).all()


def test_a_seed_gives_the_same_training_alone_and_with_others():
    def train(seeds):
        strategy = make_strategy("procurl-val")
        return simulate(REINFORCE, strategy, [0.1, 0.5, 0.6], seeds=seeds, episodes=100)

    both, alone = train([7, 3]), train([3])
    assert both.performance[1].tolist() == alone.performance[0].tolist()
    assert both.performance[0].tolist() != alone.performance[0].tolist()


def test_a_simulation_leaves_its_arguments_as_they_were():
    p, p_star = np.array([0.2, 0.4]), np.array([0.9, 0.5])
    simulate(ABSTRACT, IID(), p, p_star, seeds=[0], episodes=50)
    assert (p.tolist(), p_star.tolist()) == ([0.2, 0.4], [0.9, 0.5])


@dataclass(frozen=True)
class Witness(IID):
    """IID that keeps all the evidence that it receives."""

    evidence: list[Evidence] = field(default_factory=list)

    @property
    def uses(self):
        return tuple(field for field in Evidence._fields if field not in ("step", "noise"))

    def update(self, state, evidence):
        self.evidence.append(evidence)
        return state


def test_the_teacher_sees_the_true_success_and_every_episode_once():
    witness = Witness()
    p = np.array([0.3, 0.6, 0.8])
    trained = simulate(ABSTRACT, witness, p, seeds=[5], episodes=24, refresh=8)
    first, second, third = witness.evidence
    assert [e.step for e in witness.evidence] == [0, 8, 16]
    assert first.values.tolist() == first.rollout_success.tolist() == p.tolist()
    assert first.played.tolist() == [0, 0, 0]
    for evidence in (second, third):
        assert evidence.played.sum() == 8
        assert (evidence.wins + evidence.losses).tolist() == evidence.played.tolist()
    assert third.values.mean() == pytest.approx(trained.performance[0, 16])
    risen = (second.values - first.values) > 0
    assert risen.tolist() == (second.wins > 0).tolist()  # β = 0: only a win teaches


def test_the_score_is_the_surprise_of_the_latest_episode():
    # Seed 7 loses at p = 0.3, then wins at p = 0.3, which teaches everything: p is 1 from then on.
    assert (np.random.default_rng([7, 1]).random(2) < 0.3).tolist() == [False, True]
    witness = Witness()
    simulate(AbstractLearner(1.0, 0.0), witness, [0.3], seeds=[7], episodes=4, refresh=1)
    assert [e.values.item() for e in witness.evidence] == pytest.approx([0.3, 0.3, 1.0, 1.0])
    assert [e.score.item() for e in witness.evidence] == pytest.approx([0.0, 0.3, 0.7, 0.0])
    assert [e.wins.item() for e in witness.evidence] == [0, 0, 1, 1]


@cache
def train(
    learner: Learner, name: str, start: Start, episodes: int, seeds: range = FEW_SEEDS
) -> Simulation:
    """One learner per seed on 30 tasks, trained once for all tests."""
    strategy = strategy_for(name, start, 30)
    p, p_star = start.p(30, seeds), start.p_star(30)
    return simulate(learner, strategy, p, p_star, seeds=seeds, episodes=episodes)


def steps(
    learner: Learner,
    name: str,
    start: Start,
    epsilon: float,
    episodes: int,
    seeds: range = FEW_SEEDS,
) -> np.ndarray:
    """[seeds] episodes to reach ε, at most `episodes`."""
    trained = train(learner, name, start, episodes, seeds)
    return np.minimum(episodes_to_reach(trained, epsilon), episodes)


def significantly_fewer(these: np.ndarray, those: np.ndarray) -> bool:
    """Whether the 95% interval of the difference, seed by seed, lies below 0."""
    mean, width, _ = mean_interval(these - those)
    return mean + width < 0


# Every seed of ProCuRL reaches ε within these episodes. IID and Easy may not, which favors them.
@pytest.mark.parametrize(
    ("start", "episodes"),
    [(MIXED, 420), (MOSTLY_EASY, 200), (HALF_CAPPED, 360)],
    ids=["mixed", "mostly easy", "half capped"],
)
@pytest.mark.parametrize("learner", [REINFORCE, ABSTRACT], ids=["reinforce", "abstract"])
def test_procurl_needs_fewer_episodes_than_iid_and_easy(learner, start, episodes):
    needed = {
        name: steps(learner, name, start, start.loose, episodes, MANY_SEEDS)
        for name in ("iid", "easy", "procurl-val", "procurl-argmax")
    }
    for name in ("procurl-val", "procurl-argmax"):
        assert (needed[name] < episodes).all()
        assert significantly_fewer(needed[name], needed["iid"])
        assert significantly_fewer(needed[name], needed["easy"])


@pytest.mark.parametrize("learner", [REINFORCE, ABSTRACT], ids=["reinforce", "abstract"])
def test_hard_is_faster_where_every_task_must_be_solved_and_slower_where_not(learner):
    # The tasks are independent, so what Hard does on hopeless ones is not lost for the far goal.
    trained = {name: train(learner, name, MOSTLY_HARD, 1500) for name in ("procurl-val", "hard")}
    comparison = Comparison("", MOSTLY_HARD, trained)
    assert hard_against_procurl(comparison, MOSTLY_HARD.loose) == "slower"
    assert hard_against_procurl(comparison, MOSTLY_HARD.tight) == "faster"


def test_hard_never_finishes_where_tasks_are_capped():
    hard = steps(ABSTRACT, "hard", HALF_CAPPED, HALF_CAPPED.tight, 1000)
    procurl = steps(ABSTRACT, "procurl-argmax", HALF_CAPPED, HALF_CAPPED.tight, 1000)
    assert (hard == 1000).all()
    assert np.mean(procurl < 1000) >= 0.9


def test_procurl_needs_to_know_where_success_is_capped():
    # A capped task, once learned, keeps p·(1 − p) = 0.3·0.7 = 0.21 and looks worth playing for
    # ever, while with p* = 0.3 its potential is 0.
    needed = steps(ABSTRACT, "procurl-argmax", HALF_CAPPED, HALF_CAPPED.tight, 1000)
    untold = steps(ABSTRACT, "procurl-argmax", CAPS_UNKNOWN, CAPS_UNKNOWN.tight, 1000)
    assert np.mean(needed < 1000) >= 0.9
    assert (untold == 1000).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"episodes": 0}, "episodes must be an integer of at least 1, got 0"),
        ({"refresh": 0}, "refresh must be an integer of at least 1, got 0"),
        ({"seeds": []}, "the number of seeds must be an integer of at least 1, got 0"),
        ({"p": []}, "p is empty: there must be at least one task"),
        ({"p": np.full((3, 2), 0.5)}, r"for each of 2 seeds, got shapes \(3, 2\)"),
        ({"p_star": [0.9, 0.9, 0.9]}, r"one number per task.*and \(3,\)"),
        ({"learner": AbstractLearner(alpha=2.0)}, "alpha must be"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    given = {
        "learner": ABSTRACT,
        "strategy": IID(),
        "p": [0.5, 0.5],
        "seeds": [0, 1],
        "episodes": 10,
    }
    with pytest.raises(ValueError, match=message):
        simulate(**(given | arguments))


def test_a_number_of_seeds_is_not_a_list_of_seeds():
    with pytest.raises(TypeError, match=r"seeds must be one integer per learner, .* got 3"):
        simulate(ABSTRACT, IID(), [0.5], seeds=3, episodes=10)


def test_every_score_of_plr_fits_simulated_learners():
    for score in ("value_l1", "gae", "positive_value_loss", "maxmc"):
        strategy = make_strategy("plr", score=score)
        found = simulate(REINFORCE, strategy, [0.2, 0.5, 0.9], seeds=[0, 1], episodes=20)
        assert np.isfinite(found.performance).all()


def test_simulated_learners_learn_from_every_episode():
    with pytest.raises(ValueError, match="plr excludes tasks from learning"):
        simulate(REINFORCE, make_strategy("plr", robust=True), [0.2], seeds=[0], episodes=4)
