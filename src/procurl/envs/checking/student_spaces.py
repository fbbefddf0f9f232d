"""The spaces in which Stable-Baselines3 can be trained, and what to do about others."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text
from gymnasium.spaces.utils import flatten_space

PLAIN = (Box, Discrete, MultiBinary, MultiDiscrete)
SMALLEST_SIDE = 36  # pixels, of images that the convolutions of NatureCNN can read
FLATTEN = "gymnasium.wrappers.FlattenObservation(env)"
CONVERT = "in a gymnasium.ObservationWrapper"


class Obstacle(NamedTuple):
    """Why Stable-Baselines3 cannot be trained in an environment."""

    text: str
    remedy: str  # a sentence without its period


def default_policy(observations: gymnasium.Space[Any]) -> str:
    """The policy class of Stable-Baselines3 that fits the observations.

    Images too small for the convolutions of `CnnPolicy` are for `MlpPolicy`.
    """
    if isinstance(observations, Dict):
        return "MultiInputPolicy"
    return "CnnPolicy" if _is_image(observations) and not _is_small(observations) else "MlpPolicy"


def obstacles(
    observations: gymnasium.Space[Any], actions: gymnasium.Space[Any], policy: str
) -> Iterator[Obstacle]:
    """What keeps Stable-Baselines3 from training a policy of this class with these spaces."""
    yield from _untaken_observations(observations)
    if not isinstance(actions, PLAIN):
        yield Obstacle(
            f"Stable-Baselines3 does not take {type(actions).__name__} actions",
            "Give the environment an action space of type Box, Discrete, MultiBinary or "
            "MultiDiscrete",
        )
    yield from shifted_spaces(observations, actions)
    if policy.startswith(("Cnn", "MultiInput")):
        yield from _small_images(observations, policy)


def shifted_spaces(
    observations: gymnasium.Space[Any], actions: gymnasium.Space[Any]
) -> Iterator[Obstacle]:
    """Spaces that do not start at 0; Stable-Baselines3 ignores their `start`."""
    for name, part in _parts(observations):
        if not _starts_at_zero(part):
            what = f"the observation {name!r}" if name else "observations"
            yield Obstacle(
                f"Stable-Baselines3 counts {what} from 0, got {part}",
                f"Encode observations as zeros and ones with {FLATTEN}, or subtract the start "
                f"{CONVERT}",
            )
    if not _starts_at_zero(actions):
        yield Obstacle(
            f"Stable-Baselines3 counts actions from 0, got {actions}",
            "Declare a space that starts at 0, and add the start in a gymnasium.ActionWrapper",
        )


def _untaken_observations(observations: gymnasium.Space[Any]) -> Iterator[Obstacle]:
    """Observations of types that Stable-Baselines3 does not know."""
    for name, part in _parts(observations):
        if isinstance(part, PLAIN):
            continue
        kind = type(part).__name__
        if name:
            text = f"Stable-Baselines3 does not take the {kind} {name!r} in a Dict"
            yield Obstacle(text, _part_remedy(observations, part))
        else:
            flat = not isinstance(part, Text) and _can_flatten(part)
            remedy = f"Flatten them with {FLATTEN}" if flat else f"Convert them {CONVERT}"
            yield Obstacle(f"Stable-Baselines3 does not take {kind} observations", remedy)


def _part_remedy(observations: gymnasium.Space[Any], part: gymnasium.Space[Any]) -> str:
    """What to do about one part of a Dict."""
    if not isinstance(part, Text) and _can_flatten(observations):
        return f"Flatten observations with {FLATTEN}"
    if taken := [name for name, other in _parts(observations) if isinstance(other, PLAIN)]:
        leave = f"gymnasium.wrappers.FilterObservation(env, {taken})"
        return f"Leave it out with {leave}, or convert it {CONVERT}"
    return f"Convert it {CONVERT}"


def _small_images(observations: gymnasium.Space[Any], policy: str) -> Iterator[Obstacle]:
    for name, part in _parts(observations):
        if _is_image(part) and _is_small(part):
            what = f"the image {name!r}" if name else "images"
            yield Obstacle(
                f"{policy} takes images of at least {SMALLEST_SIDE} pixels in height and width, "
                f"got {what} of shape {part.shape}",
                f"Flatten observations with {FLATTEN}, or enlarge images {CONVERT}",
            )


def _parts(observations: gymnasium.Space[Any]) -> Iterator[tuple[str, gymnasium.Space[Any]]]:
    """The entries of a `Dict` by name; any other space by the name ''."""
    if isinstance(observations, Dict):
        yield from observations.items()
    else:
        yield "", observations


def _starts_at_zero(space: gymnasium.Space[Any]) -> bool:
    return not isinstance(space, Discrete | MultiDiscrete) or not np.any(space.start)


def _is_image(space: gymnasium.Space[Any]) -> bool:
    """Whether Stable-Baselines3 takes observations for images: three axes of 0 to 255."""
    if not isinstance(space, Box) or len(space.shape) != 3 or space.dtype != np.uint8:
        return False
    return bool((space.low == 0).all() and (space.high == 255).all())


def _is_small(image: gymnasium.Space[Any]) -> bool:
    """Whether an image is too small for NatureCNN; the shortest axis, if first, is the channels."""
    shape = image.shape or ()
    height_and_width = shape[1:] if np.argmin(shape) == 0 else shape[:2]
    return min(height_and_width) < SMALLEST_SIDE


def _can_flatten(space: gymnasium.Space[Any]) -> bool:
    try:
        return isinstance(flatten_space(space), Box)
    except NotImplementedError:  # a space of the user's own
        return False
