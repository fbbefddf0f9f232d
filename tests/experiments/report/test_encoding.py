"""Numbers and text as the page carries them."""

import json
import math

import numpy as np
import pytest

from procurl.experiments.report.encoding import column, pack, script_json
from tests.experiments.report.unpacking import unpacked

MARKUP = "\"<script>window.caught = 1</script>'&</script><img src=x onerror=caught()>"


def test_packed_numbers_come_back():
    values = np.array([0.0, 1e-4, 0.25, np.nan, 1.0, np.inf])
    back = unpacked(pack(values))
    assert back[[0, 1, 2, 4]] == pytest.approx(values[[0, 1, 2, 4]], abs=1 / 131_068)
    assert np.isnan(back[[3, 5]]).all()
    assert unpacked(pack([3.0, 3.0])).tolist() == [3.0, 3.0]
    assert np.isnan(unpacked(pack([np.nan]))).all()
    assert column([0.123456789, np.nan, 250000.0]) == [0.12346, None, 250000]


def test_json_within_a_script_holds_no_markup():
    text = script_json({"name": MARKUP})
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"name": MARKUP}
    with pytest.raises(ValueError, match="Out of range"):
        script_json(math.nan)
