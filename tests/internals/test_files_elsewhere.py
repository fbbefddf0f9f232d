"""Files on Windows, as far as another system can show it."""

import os
import runpy

import pytest

from procurl.internals import files


@pytest.fixture
def on_windows(monkeypatch):
    """The module as imported on Windows."""
    with monkeypatch.context() as patch:
        patch.setattr(files.os, "name", "nt")
        yield runpy.run_path(files.__file__)


def test_names_hold_no_reserved_characters(on_windows):
    assert on_windows["file_name"]('a/b:c\\d|e?f*g<h>i"j') == "a_b_c_d_e_f_g_h_i_j"
    assert files.file_name("a/b:c") == "a_b:c"


def test_no_signal_is_sent_to_find_out_whether_a_process_runs(on_windows, monkeypatch):
    def kill(*_):
        raise AssertionError("on Windows, signal 0 is Ctrl-C")

    monkeypatch.setattr(os, "kill", kill)
    assert on_windows["_is_running"](1)
