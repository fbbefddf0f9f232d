"""Pictures of MuJoCo models without a screen, with EGL or OSMesa, whichever works."""

import atexit
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from procurl.envs.mujoco.library import mujoco
from procurl.internals.arrays import Floats

BACKENDS = ("egl", "osmesa")
MAX_GEOMS = 2000
DISC_HEIGHT = 0.005
PROBE = "import sys, mujoco.{0} as gl; gl.GLContext(8, 8).make_current()"
PROBE_SECONDS = 60

Color = tuple[float, float, float, float]


class Mark(NamedTuple):
    """A ball or a flat disc that is drawn into a scene but is not part of the simulation."""

    position: Sequence[float]  # [3]
    radius: float
    color: Color
    flat: bool = False


class Studio:
    """Draws pictures of one model in any of its states.

    Args:
        model: a `mujoco.MjModel`.
        size: width and height of the pictures in pixels.
        look_at: the point in the center of the pictures.
        distance: of the camera from that point.
        azimuth: of the camera, in degrees.
        elevation: of the camera, in degrees.
    """

    def __init__(
        self,
        model: Any,
        size: tuple[int, int],
        look_at: Sequence[float],
        distance: float,
        azimuth: float,
        elevation: float,
    ) -> None:
        width, height = size
        model.vis.global_.offwidth, model.vis.global_.offheight = width, height
        self._model, self._data = model, mujoco.MjData(model)
        self._camera = mujoco.MjvCamera()
        self._camera.lookat[:] = look_at
        self._camera.distance, self._camera.azimuth = distance, azimuth
        self._camera.elevation = elevation
        self._context = _context_class()(width, height)
        self._context.make_current()
        self._scene = mujoco.MjvScene(model, MAX_GEOMS)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = False
        self._drawing = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._drawing)
        self._frame = mujoco.MjrRect(0, 0, width, height)
        atexit.register(self._close)

    def picture(
        self, positions: Floats, velocities: Floats, marks: Sequence[Mark]
    ) -> NDArray[np.uint8]:
        """[height, width, 3] the model with these coordinates, and `marks`."""
        self._data.qpos[:], self._data.qvel[:] = positions, velocities
        mujoco.mj_forward(self._model, self._data)
        everything, plain = mujoco.mjtCatBit.mjCAT_ALL, mujoco.MjvOption()
        mujoco.mjv_updateScene(
            self._model, self._data, plain, None, self._camera, everything, self._scene
        )
        for mark in marks[: MAX_GEOMS - self._scene.ngeom]:
            self._add(mark)
        self._context.make_current()
        mujoco.mjr_render(self._frame, self._scene, self._drawing)
        pixels = np.empty((self._frame.height, self._frame.width, 3), dtype=np.uint8)
        mujoco.mjr_readPixels(pixels, None, self._frame, self._drawing)
        return pixels[::-1].copy()

    def _add(self, mark: Mark) -> None:
        kinds = mujoco.mjtGeom
        mujoco.mjv_initGeom(
            self._scene.geoms[self._scene.ngeom],
            kinds.mjGEOM_CYLINDER if mark.flat else kinds.mjGEOM_SPHERE,
            np.array([mark.radius, DISC_HEIGHT if mark.flat else 0.0, 0.0]),
            np.asarray(mark.position, dtype=np.float64),
            np.eye(3).ravel(),
            np.asarray(mark.color, dtype=np.float32),
        )
        self._scene.geoms[self._scene.ngeom].category = mujoco.mjtCatBit.mjCAT_DECOR  # no shadow
        self._scene.ngeom += 1

    def _close(self) -> None:
        """Free the drawing while its context exists, which is not certain at interpreter exit."""
        self._context.make_current()
        self._drawing.free()
        self._context.free()


def trail(points: Sequence[Floats], radius: float, color: Color) -> list[Mark]:
    """Dots along a path, faint at its start."""
    shades = np.linspace(0.15, 0.8, len(points))
    return [
        Mark(point.tolist(), radius, (*color[:3], float(shade)))
        for point, shade in zip(points, shades, strict=True)
    ]


@cache
def drawing_backend() -> str:
    """The first of EGL and OSMesa that works, or the one set by `MUJOCO_GL`.

    Each is tried in its own process, because one that fails would break the other.
    """
    choice = os.environ.get("MUJOCO_GL", "").strip().lower()
    reasons = []
    for backend in (choice,) if choice in BACKENDS else BACKENDS:
        tried = subprocess.run(
            [sys.executable, "-c", PROBE.format(backend)],
            env={k: v for k, v in os.environ.items() if k != "PYOPENGL_PLATFORM"},
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
        if tried.returncode == 0:
            return backend
        reasons.append(f"{backend}: {(tried.stderr.strip() or 'crashed').splitlines()[-1]}")
    raise OSError(
        "pictures of MuJoCo need OpenGL without a screen: install EGL (libegl1) or OSMesa "
        f"(libosmesa6). Neither works on this machine: {'; '.join(reasons)}"
    )


def _context_class() -> Any:
    if platform.system() != "Linux":
        return mujoco.GLContext
    return import_module(f"mujoco.{drawing_backend()}").GLContext
