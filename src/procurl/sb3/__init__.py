"""Curricula for Stable-Baselines3: any of its algorithms on anybody's Gymnasium environment.

Reads upwards: `workers` (the environments that play tasks), `observations` and `critic` (what the
policy sees and what its critic says of it), `episodes`, `eval_env` and `evaluation` (playing the
pool beside training), `scores` and `student` (evidence), `teacher` (when a strategy is told what),
`saving`, and `callback`, which connects the teacher to an algorithm.
"""

try:
    import stable_baselines3  # noqa: F401
except ImportError as error:
    raise ImportError("procurl.sb3 needs stable-baselines3: pip install 'procurl[sb3]'") from error

from procurl.sb3.callback import CurriculumCallback
from procurl.sb3.evaluation import PoolEvaluation, evaluate_pool

__all__ = ["CurriculumCallback", "PoolEvaluation", "evaluate_pool"]
