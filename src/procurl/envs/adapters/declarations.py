"""What an environment must declare before it can be played."""

from typing import Any

SPACES = ("observation_space", "action_space")


def require_spaces(env: Any, name: str) -> None:
    """Raise ValueError unless an environment has an observation and an action space.

    Args:
        env: the environment.
        name: of the environment, for the error.
    """
    from gymnasium import Space

    for attribute in SPACES:
        space = getattr(env, attribute, None)
        if not isinstance(space, Space):
            raise ValueError(
                f"{name} must have an {attribute} from gymnasium.spaces, got {space!r}: set "
                f"self.{attribute} in its __init__"
            )
