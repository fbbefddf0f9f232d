"""Contact sheets: where pictures and captions are placed."""

import numpy as np
import pytest
from PIL import Image

from procurl.envs.rendering.contact_sheet import LINE_HEIGHT, contact_sheet, write_png


def plain(height, width, shade):
    return np.full((height, width, 3), shade, dtype=np.uint8)


def test_pictures_are_placed_row_by_row():
    pictures = [plain(20, 30, 10 * k) for k in range(1, 6)]
    sheet = contact_sheet(pictures, columns=2, gap=5)
    assert sheet.shape == (3 * 25 + 5, 2 * 35 + 5, 3)
    for k in range(5):
        row, column = divmod(k, 2)
        top, left = 5 + 25 * row, 5 + 35 * column
        np.testing.assert_array_equal(sheet[top : top + 20, left : left + 30], pictures[k])
    assert (sheet[55:75, 40:70] == 255).all()
    assert (sheet[:, :5] == 255).all()


def test_captions_are_below_their_pictures():
    pictures = [plain(20, 60, 0), plain(20, 60, 0)]
    sheet = contact_sheet(pictures, ["", "two\nlines"], columns=2, gap=8)
    assert sheet.shape == (20 + 2 * LINE_HEIGHT + 16, 2 * 68 + 8, 3)
    below = sheet[28:]
    assert (below[:, :72] == 255).all()
    assert (below[:LINE_HEIGHT, 76:] < 255).any()
    assert (below[LINE_HEIGHT:, 76:] < 255).any()


def test_long_captions_are_broken_to_the_picture_width():
    sheet = contact_sheet([plain(10, 80, 0)], ["M" * 40 + " and words that go on"], gap=4)
    assert sheet.shape[0] >= 10 + 5 * LINE_HEIGHT
    assert (sheet[14:, :4] == 255).all()
    assert (sheet[14:, -4:] == 255).all()


def test_smaller_pictures_are_centered_and_few_make_a_narrow_sheet():
    sheet = contact_sheet([plain(10, 10, 0), plain(20, 30, 100)], columns=9, gap=0)
    assert sheet.shape == (20, 60, 3)
    np.testing.assert_array_equal(sheet[5:15, 10:20], plain(10, 10, 0))


def test_a_sheet_is_written_as_png(tmp_path):
    sheet = contact_sheet([plain(8, 8, 77)], ["a"])
    write_png(sheet, tmp_path / "sheet.png")
    with Image.open(tmp_path / "sheet.png") as image:
        assert image.format == "PNG"
        np.testing.assert_array_equal(np.asarray(image), sheet)


def test_what_is_not_a_picture_is_not_written(tmp_path):
    with pytest.raises(ValueError, match=r"^picture must be uint8 .* got float64 of shape"):
        write_png(np.zeros((4, 4, 3)), tmp_path / "sheet.png")


def test_a_sheet_may_be_drawn_on():
    assert contact_sheet([plain(8, 8, 77)]).flags.writeable


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pictures": []}, "pictures is empty"),
        ({"pictures": [np.zeros((4, 4, 3))]}, r"pictures\[0\] must be uint8 .* got float64"),
        ({"pictures": [[0, 0]]}, r"pictures\[0\] must be uint8 .* got an object of type list"),
        ({"pictures": [plain(2, 2, 0)[..., 0]]}, r"got uint8 of shape \[2, 2\]"),
        (
            {"captions": ["a", "b"]},
            "captions must have one entry for each of the 1 pictures, got 2",
        ),
        ({"columns": 0}, "columns must be an integer of at least 1, got 0"),
        ({"gap": -1}, "gap must be an integer of at least 0, got -1"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        contact_sheet(**{"pictures": [plain(2, 2, 0)], **arguments})
