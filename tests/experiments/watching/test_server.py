"""The server of `procurl watch`, asked over HTTP."""

import http.client
import json
import socket
import threading

import pytest

from procurl.cli import main
from procurl.experiments.watching.server import WatchServer
from procurl.records.experiment import Experiment, RunPlan
from procurl.records.results import RunId
from procurl.records.store import open_experiment
from tests.experiments.stores import POOL, evaluation

EXPERIMENT = Experiment(env="corridor", engine="jax", steps=1000)
RUN = RunId("iid", "", 0)
NO_RUN = '<p class="lead">No run has been evaluated yet.</p>'


@pytest.fixture
def store(tmp_path):
    plan = RunPlan({"iid": 2})
    with open_experiment(tmp_path, EXPERIMENT, POOL, plan, "procurl compare") as store:
        yield store


@pytest.fixture
def server(store, tmp_path):
    with WatchServer(tmp_path, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(server, path, method="GET", host=None):
    """Status, headers and text of an answer."""
    connection = http.client.HTTPConnection(*server.server_address[:2], timeout=30)
    connection.request(method, path, headers={} if host is None else {"Host": host})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer.headers, text


def test_the_page_shows_the_report_and_runs_its_own_script_only(server):
    status, headers, text = ask(server, "/")
    assert status == 200
    assert 'src="/report"' in text
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    for path, kind in (("/watch.js", "text/javascript"), ("/watch.css", "text/css")):
        status, headers, text = ask(server, path)
        assert (status, headers.get_content_type()) == (200, kind)
        assert text


@pytest.mark.parametrize("path", ["/", "/report", "/status"])
def test_the_head_of_an_answer_can_be_asked_alone(path, server):
    length, empty = ask(server, path)[1]["Content-Length"], ask(server, path, "HEAD")
    assert empty[0] == 200
    assert (empty[1]["Content-Length"], empty[2]) == (length, "")


def test_progress_and_report_follow_the_store(server, store):
    first = json.loads(ask(server, "/status")[2])
    assert first["contenders"][0]["running"] == 0
    assert NO_RUN in ask(server, "/report")[2]
    store.begin(RUN)
    store.add(RUN, evaluation(500, performance=0.125))
    second = json.loads(ask(server, "/status")[2])
    assert second["version"] != first["version"]
    assert second["contenders"][0] == {
        "label": "iid",
        "planned": 2,
        "finished": 0,
        "running": 1,
        "progress": 0.25,
        "performance": 0.125,
    }
    page = ask(server, "/report")[2]
    assert NO_RUN not in page
    assert "0 of 2 runs are finished" in page


def test_no_strategy_leads_before_all_have_come_as_far(server, store):
    for label, step in (("iid", 500), ("easy", 400)):
        store.begin(RunId(label, "", 0))
        store.add(RunId(label, "", 0), evaluation(400), *[evaluation(500)] * (step == 500))
    page = ask(server, "/report")[2]
    assert "<strong>easy</strong> has not reached 500 training steps yet." in page


def test_the_report_is_built_once_for_the_same_records(server, store, monkeypatch):
    store.begin(RUN)
    store.add(RUN, evaluation(500))
    page = server.report()
    monkeypatch.setattr("procurl.experiments.watching.server.report_html", None)
    assert server.report() == page


@pytest.mark.parametrize("path", ["/results.sqlite", "/../results.sqlite", "/report/x"])
def test_files_are_not_served(server, path):
    assert ask(server, path)[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nothing_can_be_changed(server, method):
    assert ask(server, "/", method)[0] == 501


def test_pages_of_other_names_get_no_answer_on_this_machine(server):
    port = server.server_address[1]
    assert ask(server, "/status", host=f"elsewhere.example:{port}")[0] == 403
    for name in ("localhost", f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
        assert ask(server, "/status", host=name)[0] == 200


def test_a_store_that_is_gone_is_an_answer_with_its_reason(server, store, tmp_path):
    store.close()
    (tmp_path / "results.sqlite").unlink()
    status, _, text = ask(server, "/status")
    assert status == 503
    assert "holds no experiment" in text


def test_watching_nothing_is_one_sentence(tmp_path, capsys):
    assert main(["watch", str(tmp_path / "none")]) == 2
    error = capsys.readouterr().err
    assert "holds no experiment" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--port", "taken", "is in use: choose another with --port"),
        ("--port", "70000", "--port must be between 0 and 65535, got 70000"),
        ("--host", "192.0.2.1", "--host must be an address of this machine, got '192.0.2.1'"),
    ],
)
def test_a_bad_address_is_one_sentence(server, tmp_path, capsys, option, value, message):
    value = str(server.server_address[1]) if value == "taken" else value
    assert main(["watch", str(tmp_path), option, value]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_browser_that_no_longer_waits_is_no_error(server, monkeypatch, capsys):
    """A page that is reloaded closes the connection of the report that it waited for."""
    asked, closed = threading.Event(), threading.Event()

    def slow_report():
        asked.set()
        assert closed.wait(30)
        return "x" * 20_000_000  # more than the system buffers

    monkeypatch.setattr(server, "report", slow_report)
    done = threading.Event()
    end = server.shutdown_request
    monkeypatch.setattr(server, "shutdown_request", lambda request: (end(request), done.set()))
    with socket.create_connection(server.server_address[:2]) as connection:
        connection.sendall(b"GET /report HTTP/1.0\r\nHost: localhost\r\n\r\n")
        assert asked.wait(30)
    closed.set()
    assert done.wait(30)
    assert capsys.readouterr().err == ""
