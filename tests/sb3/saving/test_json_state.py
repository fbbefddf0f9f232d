"""A run continues exactly in an environment whose state is JSON alone."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3.common.env_util import make_vec_env

from procurl import TaskEnv
from procurl.sb3 import CurriculumCallback
from tests.experiments.corridor import Corridor, lengths
from tests.sb3.recording import Picks
from tests.sb3.saving.test_runs import new_model, resumed, weights


class PlainCorridor(Corridor):
    """Its state is all JSON, without arrays."""

    def state_dict(self):
        return {"at": [self.length, self.place, self.steps]}

    def load_state_dict(self, saved):
        assert saved.keys() == {"at"}
        self.length, self.place, self.steps = saved["at"]


def test_a_resumed_run_is_exact_in_an_environment_whose_state_is_json(tmp_path):
    def corridors():
        return make_vec_env(lambda: TaskEnv(PlainCorridor(), lengths()), n_envs=2)

    whole, picks = new_model(corridors()), Picks()
    whole.learn(320, callback=[CurriculumCallback("procurl"), picks])
    before, callback = Picks(), CurriculumCallback("procurl")
    new_model(corridors()).learn(192, callback=[callback, before])
    callback.save(tmp_path)
    after, _, later = resumed(tmp_path, corridors(), "procurl", 128)
    assert before.tasks + later == picks.tasks
    for ours, theirs in zip(weights(after), weights(whole), strict=True):
        assert np.array_equal(ours, theirs)
