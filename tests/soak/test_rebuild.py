"""All pages of the paper from the committed records: one command, less than two minutes."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.mark.soak
def test_one_command_rebuilds_every_page(tmp_path):
    for notes in RESULTS.rglob("notes.md"):
        target = tmp_path / notes.relative_to(RESULTS)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(notes.read_bytes())
    records = str(RESULTS / "records")
    command = ["-m", "procurl", "paper", "--from-records", records, "--out", str(tmp_path)]
    start = time.monotonic()
    subprocess.run([sys.executable, *command], check=True)
    assert time.monotonic() - start < 120
    committed = {path.relative_to(RESULTS) for path in RESULTS.rglob("README.md")}
    assert committed == {path.relative_to(tmp_path) for path in tmp_path.rglob("README.md")}
    for page in committed:
        text = (tmp_path / page).read_text(encoding="utf-8")
        assert text == (RESULTS / page).read_text(encoding="utf-8"), page
    pictures = {path.relative_to(RESULTS) for path in RESULTS.rglob("*.png")}
    assert pictures == {path.relative_to(tmp_path) for path in tmp_path.rglob("*.png")}
