"""Curricula for Stable-Baselines3: any of its algorithms, in any Gymnasium environment.

Read from the bottom up: `envs` (the environments that play tasks and what the policy sees there),
`critic` and `pool_values` (evidence), `evaluation`, `teacher` (which evidence a strategy
receives, and when), `saving`, `callback` (connects the teacher to an algorithm) and `recorder`
(records evaluations).
"""

try:
    import stable_baselines3  # noqa: F401
except ImportError as error:
    raise ImportError("procurl.sb3 needs stable-baselines3: pip install 'procurl[sb3]'") from error

from procurl.sb3.callback import CurriculumCallback
from procurl.sb3.evaluation import PoolEvaluation, evaluate_pool
from procurl.sb3.recorder import PoolRecorder

__all__ = ["CurriculumCallback", "PoolEvaluation", "PoolRecorder", "evaluate_pool"]
