"""Check a toy environment, and read what was found."""

from procurl.envs import check_environment
from tests.envs.checking.toy import POOL, Corridor


def check(pool=POOL, set_task=None, steps=1000, **traits):
    return check_environment(Corridor(**traits), pool, set_task, steps=steps, seconds=60.0)


def found(result, subject):
    """(level, text and remedy) of the findings on a subject."""
    return [
        (each.level, f"{each.text} {each.remedy}".strip())
        for each in result.findings
        if each.subject == subject
    ]
