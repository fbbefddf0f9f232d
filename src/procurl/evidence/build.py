"""Put the parts of evidence together."""

from collections.abc import Collection

from procurl.evidence.episodes import EpisodeTotals
from procurl.evidence.evidence import Evidence
from procurl.evidence.returns import scale_of
from procurl.evidence.rollouts import RolloutMeans
from procurl.internals.arrays import Array, namespace


def build_evidence(
    uses: Collection[str],
    step: Array,
    *,
    values: Array | None = None,
    episodes: EpisodeTotals | None = None,
    rollouts: RolloutMeans | None = None,
    measure: str = "auto",
    noise: Array | None = None,
) -> Evidence:
    """Evidence with those fields that a strategy uses; the others stay None.

    Args:
        uses: names of the fields, as of `Strategy.uses`.
        step: [] training steps so far.
        values: [n] the critic's, if there is one.
        episodes: the training episodes since the last refresh, if they were counted.
        rollouts: the teacher's own episodes, if it played any.
        measure: what episodes are judged by, as of `Strategy.outcome_measure`.
        noise: [n] uniform in [-1, 1].
    """
    fields: dict[str, Array] = {"values": values, "noise": noise}
    if episodes is not None:
        for name in ("wins", "losses", "partial", "score", "played"):
            fields[name] = getattr(episodes, name)
        fields["scale"] = scale_of(episodes.returns, measure)
        fields["best_return"] = _finite(episodes.best)
    if rollouts is not None:
        fields |= rollouts._asdict()
    return Evidence(step, **{name: field for name, field in fields.items() if name in uses})


def _finite(best: Array | None) -> Array | None:
    """[n] best returns, 0 before the first episode; None if they were not kept."""
    if best is None:
        return None
    xp = namespace(best)
    return xp.where(xp.isfinite(best), best, 0.0)
