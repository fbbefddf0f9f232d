"""The paper's settings: every strategy can be made for every environment."""

import numpy as np
import pytest

from procurl import Curriculum, strategy_names
from procurl.envs import make_pool
from procurl.experiments.presets import PRESETS, paper_strategy, preset, preset_of
from procurl.records.experiment import Experiment


@pytest.mark.parametrize("env", PRESETS)
@pytest.mark.parametrize("name", strategy_names())
def test_every_strategy_has_sound_settings_everywhere(env, name):
    paper_strategy(env, name).check()


def test_settings_of_the_papers_table():
    val = paper_strategy("antgoal", "procurl-val")
    assert (val.beta, val.success.v_min, val.success.v_max) == (10.0, 0.0, 300.0)
    env = paper_strategy("basickarel", "procurl-env-4")
    assert (env.beta, env.success.refresh_every, env.success.budget) == (10.0, 102_400, 4.0)
    assert paper_strategy("ballcatching", "procurl-env").success.measure == "success"
    assert paper_strategy("pointmass-d", "procurl-val").success.v_max is None
    assert paper_strategy("pointmass-s", "spdl").max_kl == 0.5
    assert paper_strategy("basickarel", "space").kappa == 64
    assert paper_strategy("ballcatching", "plr").rho == 0.7


def test_hand_made_strategies_start_where_tasks_are_easy():
    """The first tenth or quarter of the pool has less friction, or shorter solutions."""
    for env in ("pointmass-s", "basickarel"):
        pool = make_pool(env)
        hardness = pool.contexts[:, 2] if env == "pointmass-s" else pool.features["solution_length"]
        for name in ("stages", "anneal"):
            curriculum = Curriculum(paper_strategy(env, name), pool)
            assert curriculum.probabilities() @ hardness < np.quantile(hardness, 0.3)


def test_parts_have_the_papers_settings_too():
    expected = paper_strategy("basickarel", "procurl-val")
    assert expected.beta == 10.0
    for settings in ({}, {"strategies": "procurl-val+plr"}):
        mixed = paper_strategy("basickarel", "mix", **settings)
        assert mixed.strategies[0] == expected
    changed = paper_strategy("basickarel", "switch", first="procurl-val[beta=3]")
    assert (changed.first.beta, changed.second) == (3.0, expected)


def test_given_settings_come_first():
    assert paper_strategy("pointmass-s", "procurl-val", beta=7.0).beta == 7.0


def test_an_unknown_environment_is_answered_with_the_nearest():
    with pytest.raises(ValueError, match="Did you mean 'pointmass-s'"):
        preset("pointmass")


def test_an_experiment_is_evaluated_as_it_says_and_else_as_in_the_paper():
    paper = Experiment(env="antgoal", engine="jax", steps=1000)
    assert preset_of(paper) == preset("antgoal")
    own = preset_of(Experiment("antgoal", "jax", 1000, eval_every=5000, eval_episodes=2))
    assert (own.eval_every, own.eval_episodes) == (5000, 2)
    assert own._replace(eval_every=100_000, eval_episodes=10) == preset("antgoal")
    own = preset_of(Experiment("antgoal", "jax", 1000, eval_tasks=7, eval_stochastic=False))
    assert (own.eval_tasks, own.eval_stochastic) == (7, False)
    assert own._replace(eval_tasks=None, eval_stochastic=True) == preset("antgoal")
