"""AntGoal in JAX programs: the same ant and the same rules, simulated by MJX.

This replaces MJX's own `step` for two reasons: its contact frames, see `mujoco.physics`, and its
compile time. MJX unrolls the four stages of a Runge-Kutta step; here they are a loop.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from procurl.envs.ant_goal.base import AntGoal
from procurl.envs.ant_goal.rules import (
    FRAME_SKIP,
    GOAL_RADIUS,
    HORIZON,
    VELOCITIES,
    distances,
    observations,
    rewards,
)
from procurl.envs.array_env import Transition
from procurl.envs.mujoco.physics import (
    PRECISION,
    Physics,
    aligned_with_capsules,
    before_solver,
    load_mjx,
    physics_of,
)
from procurl.envs.mujoco.solver import solve_pushes
from procurl.internals.arrays import Array

NEWTON_STEPS = 10  # maximum; more make no difference in single precision

# The stages of a step: how far each lies along the previous one's derivatives, and its weight.
STAGES = (0.0, 0.5, 0.5, 1.0)
WEIGHTS = (1 / 6, 1 / 3, 1 / 3, 1 / 6)


class MjxAntState(NamedTuple):
    """State of b ants, and their goals."""

    positions: Array  # [b, 15] float32, like all fields but the last
    velocities: Array  # [b, 14]
    warm_start: Array  # [b, 14] accelerations with which the solver starts
    goals: Array  # [b, 2]
    steps: Array  # [b] int32, actions taken in this episode


@dataclass(frozen=True)
class MjxAntGoal(AntGoal):
    """AntGoal for the JAX engine; MJX is imported by the first program that steps it."""

    def initial(self, contexts: Array) -> MjxAntState:
        """At rest in the air above the origin, from where the ant drops."""
        import jax.numpy as jnp

        b = contexts.shape[0]
        return MjxAntState(
            positions=jnp.tile(_physics().model.qpos0, (b, 1)),
            velocities=jnp.zeros((b, VELOCITIES), dtype=jnp.float32),
            warm_start=jnp.zeros((b, VELOCITIES), dtype=jnp.float32),
            goals=jnp.asarray(contexts, dtype=jnp.float32),
            steps=jnp.zeros(b, dtype=jnp.int32),
        )

    def observe(self, state: MjxAntState) -> Array:
        return observations(state.goals, state.positions, state.velocities)

    def step(self, state: MjxAntState, actions: Array, noise: Array) -> Transition:
        import jax
        import jax.numpy as jnp

        torques = jnp.clip(actions, self.action_low, self.action_high)
        motion = _Motion(state.positions, state.velocities, state.warm_start)
        with jax.default_matmul_precision(PRECISION):
            motion, forces = jax.vmap(_act)(motion, torques)
        steps = state.steps + 1
        after = MjxAntState(*motion, state.goals, steps)
        distance = distances(state.goals, motion.positions)
        ended = steps >= HORIZON
        reward = rewards(distance, torques, forces)
        return Transition(after, reward, ended, ended & (distance < GOAL_RADIUS))


class _Motion(NamedTuple):
    """The physical state of one ant."""

    positions: Array  # [15]
    velocities: Array  # [14]
    warm_start: Array  # [14]


class _Touch(NamedTuple):
    """The inputs of the forces on the bodies."""

    contact: Any  # mjx.Contact
    efc_force: Array  # of the constraints
    subtree_com: Array  # [bodies, 3]


def _act(motion: _Motion, torques: Array) -> tuple[_Motion, Array]:
    """(motion after the five steps of one action, external forces [bodies, 6] in the last).

    As in MuJoCo after a step of fourth order, the forces are those of its last stage.
    """
    from jax import lax

    physics = _physics()

    def step(carry: tuple[_Motion, _Touch], _: None) -> tuple[tuple[_Motion, _Touch], None]:
        return _step(carry[0], torques, carry[1]), None

    start = (motion, _touch(physics.blank))
    (motion, touch), _ = lax.scan(step, start, None, length=FRAME_SKIP)
    last = physics.blank.replace(subtree_com=touch.subtree_com).tree_replace(
        {"_impl.contact": touch.contact, "_impl.efc_force": touch.efc_force}
    )
    return motion, load_mjx().rne_postconstraint(physics.model, last)._impl.cfrc_ext


def _step(motion: _Motion, torques: Array, touch: _Touch) -> tuple[_Motion, _Touch]:
    """One fourth-order step; `touch` is only used for its shapes."""
    import jax.numpy as jnp
    from jax import lax

    physics = _physics()
    dt = physics.model.opt.timestep
    positions, velocities, warm_start = motion

    def stage(carry: Any, of: tuple[Array, Array]) -> tuple[Any, None]:
        velocity, acceleration, moved, gained, _ = carry
        reach, weight = of
        at = _move(positions, reach * velocity, dt)
        velocity = velocities + dt * reach * acceleration
        data = physics.blank.replace(
            qpos=at, qvel=velocity, qacc_warmstart=warm_start, ctrl=torques
        )
        data = load_mjx().fwd_position(physics.model, data)
        data = before_solver(physics.model, aligned_with_capsules(physics.model, data))
        data = solve_pushes(physics.model, data, NEWTON_STEPS)
        sums = (moved + weight * velocity, gained + weight * data.qacc)
        return (velocity, data.qacc, *sums, _touch(data)), None

    nothing = jnp.zeros_like(velocities)
    carry = (velocities, nothing, nothing, nothing, touch)
    carry, _ = lax.scan(stage, carry, (jnp.asarray(STAGES), jnp.asarray(WEIGHTS)))
    _, acceleration, moved, gained, touch = carry
    after = _Motion(_move(positions, moved, dt), velocities + dt * gained, acceleration)
    return after, touch


def _touch(data: Any) -> _Touch:
    return _Touch(data._impl.contact, data._impl.efc_force, data.subtree_com)


def _move(positions: Array, velocities: Array, dt: Array) -> Array:
    """[15] positions after moving with constant velocities [14]: the torso turns about an axis."""
    import jax.numpy as jnp

    w, v = positions[3], positions[4:7]
    spin = velocities[3:6]
    speed = jnp.linalg.norm(spin)
    half = 0.5 * dt * speed
    c, s = jnp.cos(half), 0.5 * dt * jnp.sinc(half / jnp.pi) * spin  # quaternion of the turn
    turned = jnp.concatenate([(w * c - jnp.dot(v, s))[None], w * s + c * v + jnp.cross(v, s)])
    turned = turned / jnp.linalg.norm(turned)
    torso, joints = positions[:3] + dt * velocities[:3], positions[7:] + dt * velocities[6:]
    return jnp.concatenate([torso, turned, joints])


@cache
def _physics() -> Physics:
    from procurl.envs.ant_goal.model import ant_goal_model

    return physics_of(ant_goal_model())
