"""Which spaces Stable-Baselines3 can be trained in, and what is said of the others."""

import numpy as np
import pytest
from gymnasium import spaces

from procurl.envs.checking.student_spaces import default_policy, obstacles, shifted_spaces

BOX = spaces.Box(-10.0, 10.0, (2,), dtype=np.float32)
MOVES = spaces.Discrete(2)


def image(*shape, dtype=np.uint8, high=255):
    return spaces.Box(0, high, shape, dtype=dtype)


def said(observations, actions=MOVES, policy="MlpPolicy"):
    return [" ".join(each) for each in obstacles(observations, actions, policy)]


class Own(spaces.Space):
    """A space that Gymnasium cannot flatten."""


@pytest.mark.parametrize(
    ("space", "policy"),
    [
        (BOX, "MlpPolicy"),
        (spaces.Dict({"a": image(64, 64, 3)}), "MultiInputPolicy"),
        (image(36, 36, 3), "CnnPolicy"),
        (image(3, 36, 36), "CnnPolicy"),
        (image(35, 100, 3), "MlpPolicy"),
        (image(3, 100, 35), "MlpPolicy"),
        (image(8, 8, 1), "MlpPolicy"),
        (image(8, 8, 8), "MlpPolicy"),
        (image(100, 3, 100), "MlpPolicy"),  # read as 100 by 3 pixels
        (image(64, 64, 3, dtype=np.float32), "MlpPolicy"),
        (image(64, 64, 3, high=1), "MlpPolicy"),
        (image(64, 64), "MlpPolicy"),
    ],
)
def test_the_default_policy_fits_the_observations(space, policy):
    assert default_policy(space) == policy


@pytest.mark.parametrize("shape", [(36, 36, 3), (3, 36, 36), (35, 100, 3), (3, 100, 35), (8, 8, 8)])
def test_images_are_for_the_cnn_if_its_convolutions_can_read_them(shape):
    layers = pytest.importorskip("stable_baselines3.common.torch_layers")
    channels_first = shape if np.argmin(shape) == 0 else (shape[2], *shape[:2])
    if default_policy(image(*shape)) == "CnnPolicy":
        layers.NatureCNN(image(*channels_first), features_dim=2)
    else:
        with pytest.raises(RuntimeError, match="Kernel size"):
            layers.NatureCNN(image(*channels_first), features_dim=2)


@pytest.mark.parametrize(
    "space",
    [
        BOX,
        spaces.Discrete(3),
        spaces.MultiDiscrete([2, 3]),
        spaces.MultiBinary(4),
        spaces.Dict({"a": BOX, "b": spaces.Discrete(3)}),
    ],
)
def test_spaces_that_fit_have_no_obstacles(space):
    assert said(space, policy=default_policy(space)) == []
    if not isinstance(space, spaces.Dict):
        assert said(BOX, space) == []


@pytest.mark.parametrize(
    ("space", "remedy"),
    [
        (spaces.Tuple([BOX, MOVES]), "FlattenObservation(env)"),
        (spaces.Tuple([BOX, spaces.Sequence(BOX)]), "Convert them in a gymnasium.Observation"),
        (spaces.Sequence(BOX), "Convert them in a gymnasium.Observation"),
        (spaces.Graph(BOX, None), "Convert them in a gymnasium.Observation"),
        (spaces.Text(5), "Convert them in a gymnasium.Observation"),
        (Own(), "Convert them in a gymnasium.Observation"),
    ],
)
def test_observations_of_other_types_have_a_remedy_that_works(space, remedy):
    (text,) = said(space)
    assert f"does not take {type(space).__name__} observations" in text
    assert remedy in text


def test_a_part_of_a_dict_is_flattened_left_out_or_converted():
    (text,) = said(spaces.Dict({"a": spaces.Tuple([BOX]), "b": BOX}))
    assert text.startswith("Stable-Baselines3 does not take the Tuple 'a' in a Dict Flatten")
    for part in (Own(), spaces.Text(5), spaces.Sequence(BOX)):
        (text,) = said(spaces.Dict({"a": part, "b": BOX}))
        assert "Leave it out with gymnasium.wrappers.FilterObservation(env, ['b'])" in text
        (text,) = said(spaces.Dict({"a": part}))
        assert "in a Dict Convert it in a gymnasium.ObservationWrapper" in text


def test_actions_of_other_types_are_named():
    (text,) = said(BOX, spaces.Tuple([BOX]))
    assert "does not take Tuple actions" in text


@pytest.mark.parametrize(
    "space", [spaces.Discrete(2, start=5), spaces.MultiDiscrete([2, 2], start=[0, 5])]
)
def test_spaces_that_start_elsewhere_than_at_0_are_named(space):
    (text,) = said(BOX, space)
    assert text == (
        f"Stable-Baselines3 counts actions from 0, got {space} Declare a space that starts at 0, "
        "and add the start in a gymnasium.ActionWrapper"
    )
    (text,) = said(space)
    assert text.startswith(f"Stable-Baselines3 counts observations from 0, got {space} Encode")
    (text,) = said(spaces.Dict({"a": BOX, "b": space}), policy="MultiInputPolicy")
    assert "counts the observation 'b' from 0" in text
    assert list(shifted_spaces(BOX, space)) == list(obstacles(BOX, space, "MlpPolicy"))


def test_small_images_are_named_if_the_policy_has_convolutions():
    (text,) = said(image(8, 9, 1), policy="CnnPolicy")
    assert "CnnPolicy takes images of at least 36 pixels in height and width, got images" in text
    assert "(8, 9, 1)" in text
    parts = spaces.Dict({"a": image(64, 64, 3), "b": image(8, 8, 1), "c": BOX})
    (text,) = said(parts, policy="MultiInputLstmPolicy")
    assert "got the image 'b' of shape (8, 8, 1)" in text
    assert said(image(8, 9, 1)) == []
