"""The page's `unpack`, in Python."""

import base64

import numpy as np

from procurl.experiments.report.encoding import MISSING


def unpacked(packing):
    """[n] the numbers of a packed column, NaN where one is missing."""
    levels = np.frombuffer(base64.b64decode(packing["data"]), dtype="<u2").astype(float)
    scaled = packing["lo"] + (packing["hi"] - packing["lo"]) * levels / (MISSING - 1)
    return np.where(levels == MISSING, np.nan, scaled)
