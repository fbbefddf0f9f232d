"""Curricula for language models: TRL's trainers with prompts chosen by a strategy.

Read from the bottom up: `prompts` (the rows of a dataset as a pool of tasks), `checkpoints` (the
curriculum in a checkpoint of TRL), `trainers` (draws prompts and records rewards) and `recorder`
(records evaluations for reports).
"""

try:
    import trl  # noqa: F401
except ImportError as error:
    raise ImportError("procurl.trl needs trl: pip install 'procurl[trl]'") from error

from procurl.trl.checkpoints import Batch
from procurl.trl.recorder import PromptRecorder
from procurl.trl.trainers import CurriculumGRPOTrainer, CurriculumRLOOTrainer

__all__ = ["Batch", "CurriculumGRPOTrainer", "CurriculumRLOOTrainer", "PromptRecorder"]
