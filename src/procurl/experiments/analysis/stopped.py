"""Runs that ended before their last training step."""

from procurl.records.results import Results

NAMED = 12  # runs that are listed


def stopped_runs(results: Results) -> str:
    """A sentence on the runs that stopped because a value was not finite; empty without any."""
    stopped = list(results.stopped.items())
    if not stopped:
        return ""
    named = [f"{run.label}, seed {run.seed}, at step {step:,}" for run, step in stopped[:NAMED]]
    more = f"; and {len(stopped) - NAMED:,} more" if len(stopped) > NAMED else ""
    count = f"{len(stopped):,} run{'s' if len(stopped) > 1 else ''}"
    return (
        f"{count} stopped because a value was not finite: {'; '.join(named)}{more}. "
        "Later evaluations show their last state."
    )
