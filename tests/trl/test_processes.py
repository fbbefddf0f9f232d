"""Two processes share the groups of a batch and agree on its prompts."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("trl")

pytestmark = pytest.mark.soak
ROOT = Path(__file__).parents[2]
CODE = """
import json, os, sys
from pathlib import Path
from tests.trl.toy import Reward, logged, make_trainer

folder, rank = Path(sys.argv[1]), os.environ["RANK"]
reward = Reward()
saving = {"save_strategy": "steps", "save_steps": 3, "max_steps": 6}
# Six completions per process, in groups of four: the second of three groups is shared by both.
made = make_trainer(folder / "run", reward=reward, per_device_train_batch_size=6, **saving)
made.batches = []
made.train()
again = Reward()
resumed = make_trainer(folder / "again", reward=again, per_device_train_batch_size=6, **saving)
resumed.train(resume_from_checkpoint=str(folder / "run" / "checkpoint-3"))
seen = {
    "processes": made.accelerator.num_processes,
    "picks": [batch.prompts.tolist() for batch in made.batches],
    "calls": reward.calls,
    "again": again.calls,
    "success": made.curriculum.success().tolist(),
    "losses": [logged(made, "loss"), logged(resumed, "loss")],
}
(folder / f"{rank}.json").write_text(json.dumps(seen))
# Without Python's own shutdown, which PyTorch 2.13 sometimes aborts: a thread of gloo that frees
# the tensors of the last collective waits for a lock that is gone ("terminate called …").
os._exit(0)
"""


def run_two(folder):
    """What each process has seen."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    shared |= {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    started = [
        subprocess.Popen(
            [sys.executable, "-c", CODE, str(folder)],
            env={**os.environ, **shared, "RANK": rank, "LOCAL_RANK": rank, "PYTHONPATH": path},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in "01"
    ]
    for process in started:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in "01"]


def test_two_processes_agree_on_the_prompts(tmp_path):
    first, second = run_two(tmp_path)
    assert first["processes"] == second["processes"] == 2
    assert first["picks"] == second["picks"]
    assert first["success"] == second["success"]
    for picks, (left, _), (right, _) in zip(
        first["picks"], first["calls"], second["calls"], strict=True
    ):
        assert [*left, *right] == [prompt for prompt in picks for _ in range(4)]
    for seen in (first, second):
        assert seen["again"] == seen["calls"][3:]
        assert seen["losses"][0] == seen["losses"][1]
