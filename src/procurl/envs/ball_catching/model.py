"""The arm, the net and the ball of BallCatching as a MuJoCo model, generated from a table.

A Barrett WAM arm of seven joints stands with its base 0.6 above the floor and holds a net. Links
are capsules; only the ball collides, with everything else.
"""

from typing import NamedTuple

from procurl.envs.ball_catching.rules import (
    BALL_RADIUS,
    GRAVITY,
    NET_HALF_HEIGHT,
    NET_RADIUS,
    SUBSTEP,
)
from procurl.envs.mujoco.library import mujoco

P_GAINS = (200.0, 300.0, 100.0, 100.0, 20.0, 20.0, 5.0)
D_GAINS = (7.0, 15.0, 5.0, 2.5, 0.423, 0.423, 0.0705)
FRICTION_LOSS = 0.001  # of the arm's joints; the ball's have none
BALL_MASS = 0.1
NET_MASS = 0.11

# MuJoCo orders coordinates like the bodies: the arm's seven hinges, then the ball.
ARM = slice(0, 7)
BALL = slice(7, 10)
NET_GEOM = "net"
BALL_GEOM = "ball"
NET_SITE = "net"  # its middle; the third column of its rotation is the net's axis

SHOULDER, ARM_RADIUS, WRIST, HANDLE = 0.14, 0.045, 0.04, 0.01  # radii of the links
BASE_HEIGHT = 0.6

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]  # w, x, y, z

UPRIGHT: Quaternion = (1.0, 0.0, 0.0, 0.0)
_HALF = 0.707107
_TURNED_BACK: Quaternion = (_HALF, -_HALF, 0.0, 0.0)  # by −90° about x
_TURNED_FORTH: Quaternion = (_HALF, _HALF, 0.0, 0.0)  # by +90° about x


class Hinge(NamedTuple):
    """A joint about the z axis of its link."""

    low: float  # rad
    high: float  # rad
    damping: float  # N·m·s
    torque: float  # the motor's limit, N·m


class Capsule(NamedTuple):
    """The shape of a link, between two points of its frame."""

    start: Vector
    end: Vector
    radius: float


class Link(NamedTuple):
    """One body of the chain; its parent is the previous one."""

    name: str
    position: Vector  # of its frame in the parent's
    turn: Quaternion
    hinge: Hinge | None  # None if it is fixed to the parent
    mass: float
    center: Vector  # of mass
    inertia_turn: Quaternion  # of the principal axes
    inertia: Vector  # about them
    shapes: tuple[Capsule, ...]


ORIGIN: Vector = (0.0, 0.0, 0.0)

CHAIN = (
    Link(
        "base",
        (0.0, 0.0, BASE_HEIGHT),
        UPRIGHT,
        None,
        27.5544,
        (6.93764e-06, 0.0542887, 0.076438),
        (0.496481, 0.503509, -0.503703, 0.496255),
        (0.432537, 0.318732, 0.219528),
        (Capsule((0.0, 0.0, SHOULDER - BASE_HEIGHT), (0.0, 0.0, 0.16), SHOULDER),),
    ),
    Link(
        "shoulder_yaw",
        (0.0, 0.0, 0.16),
        (_HALF, 0.0, 0.0, -_HALF),
        Hinge(-2.6, 2.6, 0.0, 150.0),
        10.7677,
        (-0.00443422, -0.00066489, -0.12189),
        (0.999995, 0.000984795, 0.00270132, 0.00136071),
        (0.507411, 0.462983, 0.113271),
        (Capsule(ORIGIN, (0.0, 0.0, 0.184), SHOULDER),),
    ),
    Link(
        "shoulder_pitch",
        (0.0, 0.0, 0.184),
        _TURNED_BACK,
        Hinge(-1.985, 1.985, 0.0, 125.0),
        3.87494,
        (-0.00236983, -0.0154211, 0.0310561),
        (0.961781, -0.272983, 0.0167269, 0.0133385),
        (0.0214207, 0.0167101, 0.0126465),
        (),
    ),
    Link(
        "upper_arm",
        (0.0, -0.505, 0.0),
        _TURNED_FORTH,
        Hinge(-2.8, 2.8, 0.0, 40.0),
        1.80228,
        (-0.0382586, 3.309e-05, -0.207508),
        (0.705455, 0.0381914, 0.0383402, 0.706686),
        (0.0665697, 0.0634285, 0.00622701),
        (Capsule((0.0, 0.0, -0.505), (0.0, 0.0, 0.045), ARM_RADIUS),),
    ),
    Link(
        "forearm",
        (0.045, 0.0, 0.045),
        _TURNED_BACK,
        Hinge(-0.9, 3.14159, 0.0, 60.0),
        2.40017,
        (0.00498512, -0.132717, -0.00022942),
        (0.546303, 0.447151, -0.548676, 0.447842),
        (0.0196896, 0.0152225, 0.00749914),
        (Capsule((-0.045, 0.0, 0.0), (-0.045, -0.26, 0.0), ARM_RADIUS),),
    ),
    Link(
        "wrist_yaw",
        (-0.045, 0.0, 0.0),
        _TURNED_FORTH,
        Hinge(-4.55, 1.25, 0.5, 5.0),
        0.12376,
        (8.921e-05, 0.00435824, -0.00511217),
        (0.708528, -0.000120667, 0.000107481, 0.705683),
        (0.0112011, 0.0111887, 7.58188e-05),
        (),
    ),
    Link(
        "wrist_pitch",
        (0.0, 0.0, 0.3),
        _TURNED_BACK,
        Hinge(-1.5707, 1.5707, 0.5, 5.0),
        0.417974,
        (-0.00012262, -0.0246834, -0.0170319),
        (0.994687, -0.102891, 0.000824211, -0.00336105),
        (0.000555166, 0.000463174, 0.00023407),
        (Capsule(ORIGIN, (0.0, -0.03, 0.0), WRIST),),
    ),
    Link(
        "wrist_palm",
        (0.0, -0.06, 0.0),
        _TURNED_FORTH,
        Hinge(-2.7, 2.7, 0.5, 2.0),
        0.0686475,
        (-7.974e-05, -0.00323552, -0.00016313),
        (0.594752, 0.382453, 0.382453, 0.594752),
        (7.408e-05, 3.81466e-05, 3.76434e-05),
        (Capsule(ORIGIN, (0.0, 0.0, 0.03), HANDLE),),
    ),
)
NET_POSITION: Vector = (0.0, 0.0, 0.09)  # in the palm
NET_TURN = _TURNED_FORTH


def ball_catching_model() -> mujoco.MjModel:
    """The compiled model: 10 coordinates (`ARM`, then `BALL`) and 7 controls, desired positions.

    The actuators apply the PD law, torque = p·(control − position) − d·velocity within the motors'
    limits, so the controls of all substeps are known when an action begins. The solver starts cold
    in every substep, so the next state depends on positions and velocities alone.

    The sensors report the ball's contacts with the net, all its contacts, and the net's z, x
    and y axes (3 numbers each), as of the start of the latest substep.
    """
    return mujoco.MjModel.from_xml_string(ball_catching_mjcf())


def ball_catching_mjcf() -> str:
    """The model as MJCF."""
    hinges = [(link.name, link.hinge) for link in CHAIN if link.hinge is not None]
    actuators = "".join(
        f'<position name="{name}" joint="{name}" kp="{p}" kv="{d}" '
        f'forcerange="{-hinge.torque} {hinge.torque}"/>\n'
        for (name, hinge), p, d in zip(hinges, P_GAINS, D_GAINS, strict=True)
    )
    return f"""
<mujoco model="ball catching">
  <compiler angle="radian" autolimits="true"/>
  <option timestep="{SUBSTEP}" gravity="0 0 {-GRAVITY}" integrator="Euler">
    <flag warmstart="disable" island="disable"/>
  </option>
  <visual>
    <headlight ambient="0.45 0.45 0.45" diffuse="0.4 0.4 0.4" specular="0.1 0.1 0.1"/>
  </visual>
  <asset>
    <texture type="skybox" builtin="gradient" rgb1="1 1 1" rgb2="0.85 0.89 0.94" width="64"
      height="384"/>
    <texture name="tiles" type="2d" builtin="checker" rgb1="0.93 0.94 0.95" rgb2="0.87 0.88 0.9"
      width="256" height="256"/>
    <material name="floor" texture="tiles" texrepeat="2 2" texuniform="true"/>
  </asset>
  <default>
    <geom contype="0" conaffinity="1" rgba="0.32 0.36 0.43 1"/>
    <joint axis="0 0 1" solreflimit="0.004 1" solimplimit="0.99 0.999 0.001"/>
  </default>
  <worldbody>
    <light directional="true" pos="1.5 -1.5 4" dir="-0.3 0.3 -1" diffuse="0.5 0.5 0.5"/>
    <geom name="floor" type="plane" size="0 0 0.05" material="floor" rgba="1 1 1 1"/>
    {_bodies(CHAIN)}
    <body name="ball">
      <joint name="ball_x" type="slide" axis="1 0 0"/>
      <joint name="ball_y" type="slide" axis="0 1 0"/>
      <joint name="ball_z" type="slide" axis="0 0 1"/>
      <geom name="{BALL_GEOM}" type="sphere" size="{BALL_RADIUS}" mass="{BALL_MASS}" contype="1"
        conaffinity="0" rgba="0.85 0.3 0.2 1"/>
    </body>
  </worldbody>
  <actuator>
    {actuators}
  </actuator>
  <sensor>
    <contact geom1="{BALL_GEOM}" geom2="{NET_GEOM}" data="found"/>
    <contact geom1="{BALL_GEOM}" data="found"/>
    <framezaxis objtype="site" objname="{NET_SITE}"/>
    <framexaxis objtype="site" objname="{NET_SITE}"/>
    <frameyaxis objtype="site" objname="{NET_SITE}"/>
  </sensor>
</mujoco>
"""


def _bodies(links: tuple[Link, ...]) -> str:
    """The chain's bodies, each within its parent, with the net in the last."""
    if not links:
        return (
            f'<body name="net" pos="{_row(NET_POSITION)}" quat="{_row(NET_TURN)}">\n'
            f'<geom name="{NET_GEOM}" type="cylinder" size="{NET_RADIUS} {NET_HALF_HEIGHT}" '
            f'mass="{NET_MASS}" rgba="0.1 0.5 0.9 1"/>\n'
            f'<site name="{NET_SITE}" size="0.005"/>\n</body>\n'
        )
    link, *rest = links
    joint = ""
    if link.hinge is not None:
        joint = (
            f'<joint name="{link.name}" range="{link.hinge.low} {link.hinge.high}" '
            f'damping="{link.hinge.damping}" frictionloss="{FRICTION_LOSS}"/>\n'
        )
    shapes = "".join(
        f'<geom type="capsule" fromto="{_row(shape.start)} {_row(shape.end)}" '
        f'size="{shape.radius}"/>\n'
        for shape in link.shapes
    )
    return (
        f'<body name="{link.name}" pos="{_row(link.position)}" quat="{_row(link.turn)}">\n'
        f'<inertial mass="{link.mass}" pos="{_row(link.center)}" '
        f'quat="{_row(link.inertia_turn)}" diaginertia="{_row(link.inertia)}"/>\n'
        f"{joint}{shapes}{_bodies(tuple(rest))}</body>\n"
    )


def _row(numbers: tuple[float, ...]) -> str:
    return " ".join(map(repr, numbers))
