"""The ant of AntGoal: the model file that Gymnasium's own Ant environments use, as it is."""

from importlib.util import find_spec
from pathlib import Path

from procurl.envs.mujoco.library import mujoco

ASSET = Path("envs", "mujoco", "assets", "ant.xml")


def ant_goal_model() -> mujoco.MjModel:
    """The compiled model: 15 positions, 14 velocities and 8 controls, torques as shares."""
    return mujoco.MjModel.from_xml_path(str(ant_file()))


def ant_file() -> Path:
    """Where the installed Gymnasium keeps its ant."""
    found = find_spec("gymnasium")
    if found is None or found.origin is None:
        raise ImportError("AntGoal needs Gymnasium's ant: pip install 'procurl[mujoco]'")
    path = Path(found.origin).parent / ASSET
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is missing: the installed gymnasium does not have the ant's model; "
            "pip install 'procurl[mujoco]' brings one that has"
        )
    return path
