"""The curriculum: the one object that an integration holds.

`Curriculum` draws tasks and receives evidence, dense (`observe`) or outcome by outcome (`record`).
`outcomes` collects what was recorded until the next refresh, `drawing` draws from a distribution,
`candidates` are the tasks of a space that it chooses from, `checks` says what it requires,
and `bounds_check` warns of bounds that do not fit.
"""

from procurl.curriculum.curriculum import Curriculum
from procurl.curriculum.metrics import Metrics

__all__ = ["Curriculum", "Metrics"]
