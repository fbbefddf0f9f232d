"""GIFs: colors that stay as they are, files that stay small."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageSequence

from procurl.envs.rendering import gif
from procurl.envs.rendering.gif import HOLD_FIRST, HOLD_LAST, apply_palette, palette_of, small_gif


def decoded(content):
    """([frames, height, width, 3], milliseconds of each)."""
    with Image.open(BytesIO(content)) as image:
        assert image.format == "GIF"
        assert image.info["loop"] == 0
        shown = [
            (np.asarray(f.convert("RGB")), f.info["duration"])
            for f in ImageSequence.Iterator(image)
        ]
    return np.stack([frame for frame, _ in shown]), [time for _, time in shown]


def moving_dot(frames, size=40):
    """A dot that wanders over two plain areas."""
    pictures = np.full((frames, size, size, 3), (246, 247, 249), dtype=np.uint8)
    pictures[:, : size // 2] = 255
    for k in range(frames):
        pictures[k, k % size, k % size] = (31, 94, 184)
    return pictures


def noise(frames, size=64):
    return np.random.default_rng(0).integers(256, size=(frames, size, size, 3), dtype=np.uint8)


def test_few_colors_come_back_exactly():
    pictures = moving_dot(12)
    palette = palette_of(pictures[0])
    frames, times = decoded(small_gif([apply_palette(p, palette) for p in pictures], 100.0))
    np.testing.assert_array_equal(frames, pictures)
    assert times == [HOLD_FIRST, *[100] * 10, HOLD_LAST]


def test_many_colors_come_back_nearly_and_the_commonest_exactly():
    ramp = np.stack(np.meshgrid(*[np.arange(0, 256, 20, dtype=np.uint8)] * 3), axis=-1)
    picture = np.concatenate([ramp.reshape(13, 169, 3), np.full((40, 169, 3), 251, dtype=np.uint8)])
    palette = palette_of(picture)
    assert len(palette.colors) == 255
    frame = np.asarray(apply_palette(picture, palette).convert("RGB")).astype(int)
    np.testing.assert_array_equal(frame[13:], picture[13:])
    assert np.abs(frame - picture).mean() < 40


@pytest.mark.parametrize("seed", range(3))
def test_a_color_goes_to_the_nearest_of_the_palette(seed):
    rng = np.random.default_rng(seed)
    palette = palette_of(rng.integers(256, size=(4, 5, 3), dtype=np.uint8))
    colors = rng.integers(256, size=(100, 1, 3), dtype=np.uint8)
    chosen = np.asarray(apply_palette(colors, palette).convert("RGB")).astype(int)
    distances = np.linalg.norm(palette.colors.astype(int) - colors.astype(int), axis=-1)
    found = np.linalg.norm(chosen - colors.astype(int), axis=-1)[:, 0]
    assert (found <= distances.min(axis=1) + 8 * np.sqrt(3)).all()  # a cell is 8 wide


def test_large_files_leave_out_frames_but_never_the_last(monkeypatch):
    pictures = noise(33)
    palette = palette_of(pictures[0])
    frames = [apply_palette(picture, palette) for picture in pictures]
    whole = small_gif(frames, 50.0)
    monkeypatch.setattr(gif, "MAX_BYTES", len(whole) // 3)
    content = small_gif(frames, 50.0)
    assert len(content) <= gif.MAX_BYTES
    shown, times = decoded(content)
    kept = [*range(0, 32, 4), 32]
    np.testing.assert_array_equal(shown, [np.asarray(frames[k].convert("RGB")) for k in kept])
    assert times == [HOLD_FIRST, *[200] * 7, HOLD_LAST]


def test_one_frame_is_a_still_picture():
    picture = moving_dot(1)[0]
    frames, times = decoded(small_gif([apply_palette(picture, palette_of(picture))], 100.0))
    np.testing.assert_array_equal(frames, [picture])
    assert len(times) == 1


def test_no_frame_is_too_short_for_viewers():
    pictures = moving_dot(4)
    _, times = decoded(
        small_gif([apply_palette(p, palette_of(pictures[0])) for p in pictures], 3.0)
    )
    assert times[1:-1] == [20, 20]
