"""What a curriculum accepts as evidence: real numbers of any kind, and nothing else."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from procurl import Curriculum, Evidence, Scale, TaskPool


def curriculum_over(n: int) -> Curriculum:
    return Curriculum("procurl-val", TaskPool.from_seeds(n))


@pytest.mark.parametrize(
    "values",
    [
        [0.1, 0.2 + 1j, 0.3],
        ["0.1", "0.2", "0.3"],
        [b"0.1", b"0.2", b"0.3"],
        np.array([1, 2, 3], dtype="datetime64[s]"),
        np.array([1, 2, 3], dtype="timedelta64[s]"),
        np.ma.masked_array([0.1, 0.2, 0.3], mask=[False, True, False]),
        [0.1, None, 0.3],
        np.zeros(3, dtype=[("x", "f8")]),
    ],
    ids=["complex", "text", "bytes", "dates", "durations", "masked", "None", "structured"],
)
def test_what_is_not_a_real_number_is_not_evidence(values):
    curriculum = curriculum_over(3)
    before = curriculum.state_dict()
    with pytest.raises(TypeError, match="evidence.values must be 3 numbers"):
        curriculum.observe(Evidence(0, values=values))
    assert curriculum.state_dict()["rng"] == before["rng"]
    curriculum.next()


@pytest.mark.parametrize("step", [1j, "5", b"5", np.datetime64(5, "s"), np.ma.masked, None])
def test_a_step_is_a_real_number(step):
    with pytest.raises(TypeError, match="evidence.step must be one number, (?!.*task)"):
        curriculum_over(3).observe(Evidence(step, values=[0.1, 0.2, 0.3]))


@pytest.mark.parametrize(
    "values",
    [
        [0, 1, 1],
        [False, True, True],
        [Fraction(0), 1, 1.0],
        np.array([0, 1, 1], dtype=np.float16),
        np.ma.masked_array([0.0, 1.0, 1.0]),
        np.array([0, 1, 1], dtype=ml_dtypes.bfloat16),
    ],
    ids=["int", "bool", "fraction", "half", "unmasked", "bfloat16"],
)
def test_every_kind_of_real_number_is_evidence(values):
    curriculum = curriculum_over(3)
    curriculum.observe(Evidence(0, values=values))
    assert curriculum.success().tolist() == [0.0, 1.0, 1.0]


def test_tensors_are_evidence():
    torch = pytest.importorskip("torch")
    values = torch.tensor([0.0, 1.0, 1.0], requires_grad=True)
    for tensor in (values, values.bfloat16(), values.int()):
        curriculum = curriculum_over(3)
        curriculum.observe(Evidence(torch.tensor(1), values=tensor))
        assert curriculum.success().tolist() == [0.0, 1.0, 1.0]
    with pytest.raises(TypeError, match=r"evidence.values must be 3 numbers: .* requires grad"):
        curriculum_over(3).observe(Evidence(1, values=[*values]))


@pytest.mark.parametrize(
    ("unit", "error", "message"),
    [
        ("no", TypeError, "evidence.scale.unit must be one number, got .*'no'"),
        ([True, False], ValueError, "evidence.scale.unit must be one number, got .True, False"),
        (2, ValueError, "evidence.scale.unit must be True or False, got 2"),
    ],
)
def test_a_scale_is_of_zero_and_one_or_not(unit, error, message):
    evidence = Evidence(1, [0.5] * 3, wins=[1] * 3, losses=[1] * 3, scale=Scale(0, 1, unit))
    with pytest.raises(error, match=message):
        curriculum_over(3).observe(evidence)
