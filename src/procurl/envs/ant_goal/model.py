"""The ant of AntGoal: the unchanged model file of Gymnasium's own Ant environments."""

from importlib.util import find_spec
from pathlib import Path

from procurl.envs.mujoco.library import mujoco

ASSET = Path("envs", "mujoco", "assets", "ant.xml")


def ant_goal_model() -> mujoco.MjModel:
    """The compiled model: 15 positions, 14 velocities and 8 controls, torques as fractions."""
    return mujoco.MjModel.from_xml_path(str(ant_file()))


def ant_file() -> Path:
    """The path of the ant in the installed Gymnasium."""
    found = find_spec("gymnasium")
    if found is None or found.origin is None:
        raise ImportError("AntGoal needs Gymnasium's ant: pip install 'procurl[mujoco]'")
    path = Path(found.origin).parent / ASSET
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is missing in the installed gymnasium: "
            "pip install 'procurl[mujoco]' installs a version that has it"
        )
    return path
