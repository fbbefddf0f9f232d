"""Kernels are compiled once, and where they cannot be, updates run the program of XLA."""

import logging
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import jax
import pytest

from procurl.ppo.gpu import build, repeatable, update
from procurl.ppo.gpu.build import CPU, _library, block_memory, find_compiler, target
from procurl.ppo.gpu.repeatable import is_repeatable
from procurl.ppo.gpu.shape import Shape
from procurl.ppo.gpu.update import kernel_for
from procurl.ppo.learning.networks import CategoricalHead, GaussianHead, actor_critic
from procurl.ppo.learning.settings import PPOSettings, paper_settings

TINY = PPOSettings(n_steps=16, batch_size=8, policy_layers=(4,), value_layers=(4,))


def shape_of(settings: PPOSettings, observation: int = 3) -> Shape:
    return Shape.of(actor_critic(settings, GaussianHead(1)), settings, observation)


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    target.cache_clear()
    yield tmp_path
    target.cache_clear()


def kept(cache):
    """The files of the cache."""
    return sorted((cache / "procurl" / "updates").iterdir())


@pytest.mark.skipif(find_compiler(CPU) is None, reason="needs a C++ compiler")
def test_an_update_is_compiled_once_per_shape(empty_cache):
    name = target(shape_of(TINY), CPU)
    (library,) = kept(empty_cache)
    made = library.stat().st_mtime_ns
    target.cache_clear()

    assert target(shape_of(TINY), CPU) == name
    assert [path.stat().st_mtime_ns for path in kept(empty_cache)] == [made]
    assert target(shape_of(replace(TINY, n_epochs=2)), CPU) != name
    assert len(kept(empty_cache)) == 2


@pytest.mark.skipif(find_compiler(CPU) is None, reason="needs a C++ compiler")
def test_a_compiler_that_fails_is_quoted_and_leaves_nothing_behind(
    empty_cache, monkeypatch, caplog
):
    monkeypatch.setitem(build.FLAGS, CPU, ("-x", "c++", "-DSTEPS=nonsense"))
    with caplog.at_level(logging.WARNING):
        assert target(shape_of(TINY), CPU) is None
    assert "updates run XLA's program" in caplog.text
    assert "nonsense" in caplog.text
    assert kept(empty_cache) == []


@pytest.mark.skipif(find_compiler(CPU) is None, reason="needs a C++ compiler")
def test_a_cache_that_cannot_be_written_is_done_without(empty_cache, monkeypatch):
    (empty_cache / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(empty_cache / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(empty_cache))
    assert target(shape_of(replace(TINY, n_epochs=3)), CPU) is not None
    assert len(list(empty_cache.glob("procurl-*/*.so"))) == 1


@pytest.mark.skipif(find_compiler(CPU) is None, reason="needs a C++ compiler")
def test_a_cache_that_can_only_be_read_is_read(empty_cache, monkeypatch):
    shape = shape_of(replace(TINY, n_epochs=5))
    name = target(shape, CPU)
    target.cache_clear()
    monkeypatch.setattr(build, "_writable", lambda folder: pytest.fail("compiled again"))
    assert target(shape, CPU) == name


@pytest.mark.skipif(find_compiler(CPU) is None, reason="needs a C++ compiler")
def test_a_library_that_cannot_be_loaded_is_named(empty_cache, caplog):
    settings = replace(TINY, n_epochs=4)  # not loaded before: that would be found by its path
    path = _library(shape_of(settings), CPU)
    path.write_bytes(b"damaged")
    with caplog.at_level(logging.WARNING):
        assert target(shape_of(settings), CPU) is None
    assert "their kernel cannot be used" in caplog.text
    assert str(path) in caplog.text


@pytest.mark.skipif(find_compiler(CPU) is None, reason="needs a C++ compiler")
def test_a_device_that_cannot_run_the_kernel_is_named(empty_cache, monkeypatch, caplog):
    sources = SimpleNamespace(joinpath=lambda name: SourceWithProblem(name))
    monkeypatch.setattr(build, "files", lambda package: sources)
    with caplog.at_level(logging.WARNING):
        assert target(shape_of(TINY), CPU) is None
    assert "the driver is too old" in caplog.text


class SourceWithProblem:
    def __init__(self, name):
        self.path = Path(build.__file__).with_name(name)

    def read_text(self, encoding):
        return self.path.read_text(encoding).replace(
            "return nullptr;", 'return "the driver is too old";'
        )


def test_a_compiler_that_cannot_be_started_is_no_crash(empty_cache, tmp_path, monkeypatch, caplog):
    broken = tmp_path / "nvcc"
    broken.write_text("no program")
    broken.chmod(0o755)
    monkeypatch.setattr(build, "find_compiler", lambda platform: str(broken))
    with caplog.at_level(logging.WARNING):
        assert target(shape_of(TINY), CPU) is None
    assert str(broken) in caplog.text


def test_without_a_compiler_there_is_a_remedy(empty_cache, monkeypatch, caplog):
    monkeypatch.setattr(build, "find_compiler", lambda platform: None)
    monkeypatch.setattr(build, "block_memory", lambda platform: 10**6)
    with caplog.at_level(logging.WARNING):
        assert target(shape_of(TINY), build.GPU) is None
    assert "nvcc was not found" in caplog.text
    assert "set CUDA_HOME" in caplog.text


def test_the_compiler_is_found_in_the_folder_of_cuda(tmp_path, monkeypatch):
    compiler = tmp_path / "bin" / "nvcc"
    compiler.parent.mkdir()
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert find_compiler(build.GPU) == str(compiler)


@pytest.mark.parametrize(
    ("settings", "capability", "fits"),
    [
        (paper_settings("pointmass-s"), "9.0", True),
        (paper_settings("pointmass-s"), "8.0", True),
        (paper_settings("pointmass-s"), "8.9", False),  # 104 of 99 KiB
        (TINY, "8.9", True),
        (TINY, "7.5", True),
        (TINY, "gfx90a", False),  # not NVIDIA's
        (paper_settings("basickarel"), "9.0", False),  # 233,000 weights
        (replace(TINY, n_steps=12, batch_size=6), "9.0", False),  # not a multiple of four
    ],
)
def test_small_networks_fit_into_the_memory_of_a_gpu(settings, capability, fits, monkeypatch):
    device = SimpleNamespace(compute_capability=capability)
    monkeypatch.setattr(build.jax, "devices", lambda: [device])
    shape = Shape.of(actor_critic(settings, CategoricalHead(6)), settings, observation=9)
    assert shape.fits(block_memory(build.GPU)) is fits


def test_kernels_are_for_gpus_and_can_be_switched_off(monkeypatch):
    monkeypatch.setattr(update, "target", lambda shape, platform: f"kernel for {platform}")
    shape = shape_of(TINY)
    assert kernel_for(shape) is None  # on a CPU
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert kernel_for(shape) == "kernel for CUDA"
    monkeypatch.setenv("PROCURL_KERNELS", "0")
    assert kernel_for(shape) is None
    monkeypatch.setenv("PROCURL_KERNELS", "no")
    with pytest.raises(ValueError, match="PROCURL_KERNELS must be 1, or 0 .* got 'no'"):
        kernel_for(shape)


@pytest.mark.parametrize(
    ("asked", "kernel", "expected"),
    [("", "kernel", True), ("", None, False), ("1", None, True), ("0", "kernel", False)],
)
def test_numbers_repeat_where_that_is_free_or_asked_for(monkeypatch, asked, kernel, expected):
    monkeypatch.setattr(repeatable, "kernel_for", lambda shape: kernel)
    monkeypatch.setenv("PROCURL_DETERMINISTIC", asked)
    assert is_repeatable(shape_of(TINY)) is expected


def test_a_wrong_wish_for_repeatable_numbers_is_named(monkeypatch):
    monkeypatch.setenv("PROCURL_DETERMINISTIC", "yes")
    with pytest.raises(ValueError, match="PROCURL_DETERMINISTIC must be 1 .* got 'yes'"):
        is_repeatable(shape_of(TINY))
