"""Where MuJoCo cannot draw without a screen, tests of pictures are skipped with the reason."""

import pytest

from procurl.envs.mujoco.picture import drawing_backend

DRAWN_BY_MUJOCO = ("procurl/BallCatching-v0", "procurl/AntGoal-v0")


def skip_unless_drawn(gym_id: str) -> None:
    """Skip the test if pictures of this environment cannot be made here."""
    if gym_id in DRAWN_BY_MUJOCO:
        try:
            drawing_backend()
        except OSError as error:
            pytest.skip(str(error))
