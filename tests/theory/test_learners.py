"""The two theorems: what enumeration measures is what the closed forms say."""

import numpy as np
import pytest

from procurl import Curriculum, Evidence, Gain, TaskPool, make_strategy, strategy_names
from procurl.theory import AbstractLearner, Learner, ReinforceLearner


def enumerated(learner: Learner, p, p_star) -> np.ndarray:
    """[n] the expected improvement of every task, without the theorem."""
    p_star = np.broadcast_to(p_star, np.shape(p))
    return learner.expected_improvement(learner.knowledge(p, p_star), p_star)


def potential(p, p_star) -> np.ndarray:
    return np.asarray(p) * (np.asarray(p_star) - np.asarray(p))


def random_tasks(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """(p, p*) with 0 < p < p* ≤ 1."""
    p_star = rng.uniform(0.01, 1.0, n)
    return rng.uniform(0.001, 0.999, n) * p_star, p_star


def test_reinforce_by_hand():
    # p* = 0.8 and p = 0.2, so π(a₁) = 1/4. A win, of probability 0.2, moves θ₁ up and θ₂ down by
    # η·(1 − π) = 0.5·0.75 = 0.375, which is 0.75 nearer to the target: C = 0.2·0.75 = 0.15.
    learner = ReinforceLearner(eta=0.5)
    knowledge = learner.knowledge([0.2], [0.8])
    assert knowledge == pytest.approx(np.array([[-0.549306144, 0.549306144]]))  # ∓ ln(3)/2
    won, unlucky, goal_by_a2, lost = learner.episodes(knowledge, [0.8])
    assert [e.won for e in (won, unlucky, goal_by_a2, lost)] == [True, False, True, False]
    probabilities = [e.probability.item() for e in (won, unlucky, goal_by_a2, lost)]
    assert probabilities == pytest.approx([0.2, 0.05, 0.0, 0.75])
    assert won.knowledge - knowledge == pytest.approx(np.array([[0.375, -0.375]]))
    assert (lost.knowledge == knowledge).all()
    assert learner.expected_improvement(knowledge, [0.8]) == pytest.approx([0.15])
    assert learner.closed_form([0.2], [0.8]) == pytest.approx([0.15])


def test_abstract_by_hand():
    # p = 1/4 of p* = 3/4: 0.5 is missing. A win gives 0.8·0.5 = 0.4, a loss 0.1·0.5 = 0.05, and so
    # C = 0.25·0.4 + 0.75·0.05 = 0.1375.
    learner = AbstractLearner(alpha=0.8, beta=0.1)
    won, lost = learner.episodes(learner.knowledge([0.25], [0.75]), [0.75])
    assert (won.knowledge.item(), lost.knowledge.item()) == pytest.approx((0.65, 0.3))
    assert enumerated(learner, [0.25], [0.75]) == pytest.approx([0.1375])
    assert learner.closed_form([0.25], [0.75]) == pytest.approx([0.1375])


def test_the_gain_of_an_episode_by_hand():
    # p = 1/4 of p* = 3/4: the shortfall is 1/2. A win halves it, a loss leaves it, and so the
    # expected gain is 1/4 · ½(1/4 − 1/16) = 3/128.
    learner = AbstractLearner(alpha=0.5)
    gain = learner.expected_gain(learner.knowledge([0.25], [0.75]), [0.75])
    assert gain == pytest.approx([3 / 128])


def test_small_steps_of_reinforce_gain_what_the_potential_of_procurl_says():
    p = np.linspace(0.01, 0.99, 99)
    learner = ReinforceLearner(eta=1e-6)  # two parameters: the logit moves by 2·η·p·(1 − p)
    gain = learner.expected_gain(learner.knowledge(p, 1.0), 1.0) / (2.0 * learner.eta)
    assert np.abs(gain - Gain()(p, None)).max() < 1e-6
    assert p[np.argmax(gain)] == pytest.approx(0.4)


@pytest.mark.parametrize("seed", range(20))
def test_enumeration_equals_the_closed_form_of_theorem_1(seed):
    rng = np.random.default_rng([seed, 1])
    p, p_star = random_tasks(rng, 1000)
    learner = ReinforceLearner(eta=float(rng.uniform(0.001, 2.0)))
    difference = enumerated(learner, p, p_star) - learner.closed_form(p, p_star)
    assert np.abs(difference).max() < 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_enumeration_equals_the_closed_form_of_theorem_2(seed):
    rng = np.random.default_rng([seed, 2])
    p, p_star = random_tasks(rng, 1000)
    beta, alpha = np.sort(rng.uniform(0.0, 1.0, 2))
    learner = AbstractLearner(alpha=float(alpha), beta=float(beta))
    difference = enumerated(learner, p, p_star) - learner.closed_form(p, p_star)
    assert np.abs(difference).max() < 1e-12


def test_theorem_1_needs_a_target_beyond_the_update():
    # From θ = (0, 0) a win leads to (0.25, −0.25), past θ* = (0.1, −0.1): 0.2 before, 0.3 after.
    near = ReinforceLearner(eta=0.5, distance=0.1)
    assert enumerated(near, [0.5], [1.0]) == pytest.approx([0.5 * (0.2 - 0.3)])
    assert near.closed_form([0.5], [1.0]) == pytest.approx([0.25])


@pytest.mark.parametrize("learner", [ReinforceLearner(eta=0.3), AbstractLearner(0.4, 0.1)])
def test_success_is_the_probability_of_a_won_episode(learner):
    p, p_star = random_tasks(np.random.default_rng(3), 500)
    knowledge = learner.knowledge(p, p_star)
    episodes = learner.episodes(knowledge, p_star)
    assert learner.success(knowledge, p_star) == pytest.approx(p, abs=1e-14)
    assert sum(e.probability for e in episodes) == pytest.approx(np.ones(500), abs=1e-14)
    assert sum(e.probability for e in episodes if e.won) == pytest.approx(p, abs=1e-14)


@pytest.mark.parametrize("p_star", [1.0, 0.7, 0.2])
def test_theorem_1_prefers_the_task_of_highest_potential_where_p_star_is_the_same(p_star):
    rng = np.random.default_rng(4)
    for _ in range(200):
        p = rng.uniform(0.001, 0.999, 30) * p_star
        improvement = enumerated(ReinforceLearner(), p, p_star)
        assert np.argmax(improvement) == np.argmax(potential(p, p_star))


def test_theorem_2_prefers_the_task_of_highest_potential_where_only_wins_teach():
    rng = np.random.default_rng(5)
    for _ in range(200):
        p, p_star = random_tasks(rng, 30)
        improvement = enumerated(AbstractLearner(alpha=1.0, beta=0.0), p, p_star)
        assert improvement == pytest.approx(potential(p, p_star), abs=1e-14)
        assert np.argmax(improvement) == np.argmax(potential(p, p_star))


def test_theorem_1_prefers_another_task_where_p_star_differs():
    # C/2η is p·(p* − p)/p*: 0.1275 and 0.15, while the potential is 0.1275 and 0.09.
    p, p_star = [0.85, 0.3], [1.0, 0.6]
    assert enumerated(ReinforceLearner(eta=0.5), p, p_star) == pytest.approx([0.1275, 0.15])
    assert potential(p, p_star) == pytest.approx([0.1275, 0.09])


def test_theorem_2_prefers_a_harder_task_where_losses_teach_too():
    # C = (p + 0.3·(1 − p))·(1 − p): 0.65·0.5 and 0.44·0.8, while the potential is 0.25 and 0.16.
    p = [0.5, 0.2]
    assert enumerated(AbstractLearner(1.0, 0.3), p, 1.0) == pytest.approx([0.325, 0.352])
    assert potential(p, 1.0) == pytest.approx([0.25, 0.16])


def distribution(name: str, p: np.ndarray, p_star: np.ndarray) -> np.ndarray:
    """[n] what a strategy does with the true p of every task."""
    strategy = make_strategy(name)
    settings = {"p_star": p_star} if hasattr(strategy, "p_star") else {}
    pool = TaskPool(np.arange(len(p))[:, None], features={"target": np.arange(len(p)) < 5})
    curriculum = Curriculum(make_strategy(name, **settings), pool, seed=0)
    nothing = np.zeros(len(p))
    evidence = Evidence(
        step=1, values=p, rollout_success=p, wins=nothing, losses=nothing, score=p, played=nothing
    )
    curriculum.observe(evidence)
    return curriculum.probabilities()


CASES = {
    "theorem 1, p* = 1": (ReinforceLearner(eta=0.7), 1.0),
    "theorem 1, p* = 0.6": (ReinforceLearner(eta=0.7), 0.6),
    "theorem 2, any p*": (AbstractLearner(alpha=1.0, beta=0.0), None),
}


@pytest.mark.parametrize("case", CASES)
def test_the_argmax_form_plays_the_tasks_of_largest_expected_improvement(case):
    learner, same = CASES[case]
    rng = np.random.default_rng(6)
    for _ in range(100):
        p, p_star = random_tasks(rng, 25)
        if same is not None:
            p, p_star = p / p_star * same, np.full(25, same)
        improvement = enumerated(learner, p, p_star)
        best = improvement >= improvement.max() - 1e-12
        assert (distribution("procurl-argmax", p, p_star) > 0).tolist() == best.tolist()


def test_the_argmax_form_shares_its_mass_among_equally_good_tasks():
    p = np.array([0.3, 0.1, 0.7, 0.9])  # 0.3 and 0.7 improve equally: 0.21
    assert enumerated(AbstractLearner(), p, 1.0) == pytest.approx([0.21, 0.09, 0.21, 0.09])
    assert distribution("procurl-argmax", p, np.ones(4)).tolist() == [0.5, 0.0, 0.5, 0.0]


@pytest.mark.parametrize("name", strategy_names())
def test_no_strategy_expects_more_improvement_from_one_episode_than_the_argmax_form(name):
    rng = np.random.default_rng(7)
    for _ in range(20):
        p = rng.uniform(0.01, 0.99, 20)
        improvement = enumerated(ReinforceLearner(), p, 1.0)
        expected = distribution(name, p, np.ones(20)) @ improvement
        greedy = distribution("procurl-argmax", p, np.ones(20)) @ improvement
        assert expected <= greedy + 1e-12


@pytest.mark.parametrize(
    ("p", "p_star", "message"),
    [
        (0.5, 0.4, r"0 ≤ p ≤ p_star ≤ 1, got p = 0.5 with p_star = 0.4"),
        (-0.1, 1.0, r"got p = -0.1"),
        (0.5, 1.5, r"p_star = 1.5"),
        (np.nan, 1.0, r"got p = nan"),
    ],
)
def test_success_out_of_range_is_refused(p, p_star, message):
    for learner in (ReinforceLearner(), AbstractLearner()):
        with pytest.raises(ValueError, match=message):
            learner.knowledge([p], [p_star])


def test_a_softmax_policy_cannot_be_certain():
    with pytest.raises(ValueError, match=r"strictly between 0 and p_star.*from 0.5 to 1.0"):
        ReinforceLearner().knowledge([0.5, 1.0], 1.0)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (ReinforceLearner(eta=0.0), "eta must be a finite number above 0, got 0.0"),
        (ReinforceLearner(distance=-1.0), "distance must be a finite number above 0, got -1.0"),
        (AbstractLearner(alpha=1.1), "alpha must be a finite number above 0 and at most 1"),
        (AbstractLearner(beta=-0.1), "beta must be a finite number of at least 0 and at most 1"),
        (AbstractLearner(alpha=0.2, beta=0.2), "beta must be below alpha = 0.2"),
    ],
)
def test_settings_out_of_range_are_refused(learner, message):
    with pytest.raises(ValueError, match=message):
        learner.check()
