"""Strategies that follow learning progress: how much the agent's success on a task has changed.

`rates` turns evidence into success rates on one scale. `averages` measures progress per task, which
`learning_progress` turns into a distribution. `visits` measures progress between tasks with near
contexts, and `alp_gmm` fits a mixture of Gaussians (`mixture`) to it.
"""

from procurl.strategies.progress.alp_gmm import ALPGMM
from procurl.strategies.progress.learning_progress import LearningProgress

__all__ = ["ALPGMM", "LearningProgress"]
