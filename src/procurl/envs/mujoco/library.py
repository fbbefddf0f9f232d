"""MuJoCo and its batched rollouts, or the name of the extra that brings them."""

try:
    import mujoco  # type: ignore[import-untyped]
    from mujoco import rollout
except ImportError as error:
    raise ImportError(
        "BallCatching and AntGoal need MuJoCo: pip install 'procurl[mujoco]'"
    ) from error

__all__ = ["mujoco", "rollout"]
