"""MuJoCo and its batched rollouts; if they are missing, the error names the extra to install."""

try:
    import mujoco  # type: ignore[import-untyped]
    from mujoco import rollout
except ImportError as error:
    raise ImportError(
        "BallCatching and AntGoal need MuJoCo: pip install 'procurl[mujoco]'"
    ) from error

__all__ = ["mujoco", "rollout"]
