"""A Ray cluster of several nodes that loses one in the middle of a sweep."""

import time

import pytest

from tests.soak.sweeps import Sweep, detailed, exported, finished

pytestmark = [
    pytest.mark.soak,
    # Where other tests have imported JAX, it warns of every fork; Ray forks only to start programs.
    pytest.mark.filterwarnings(r"ignore:os\.fork\(\) was called:RuntimeWarning"),
]


@pytest.fixture
def cluster():
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    made = cluster_utils.Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
    )
    yield made
    made.shutdown()


def test_a_lost_node_loses_nothing_and_results_equal_those_of_this_machine(cluster, tmp_path):
    local = finished(tmp_path / "local")
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    out = tmp_path / "ray"
    sweep = Sweep(out, "--backend", "ray", "--ray-address", cluster.address)
    assert sweep.wait_for_percent(20), sweep.said
    cluster.remove_node(nodes[0], allow_graceful=False)
    time.sleep(1.0)
    cluster.add_node(num_cpus=1)
    status, _, said = sweep.end()
    assert status == 0, said
    assert "Trying again" in said
    assert exported(out) == exported(local)
    assert detailed(out) == detailed(local)


def test_a_sweep_may_continue_elsewhere(cluster, tmp_path):
    """Begun here and killed, ended on the cluster: the files are the same."""
    local = finished(tmp_path / "local")
    out = tmp_path / "both"
    sweep = Sweep(out)
    assert sweep.wait_for_percent(40), sweep.said
    sweep.kill()
    sweep.end()
    cluster.add_node(num_cpus=2)
    finished(out, "--backend", "ray", "--ray-address", cluster.address)
    assert exported(out) == exported(local)
    assert detailed(out) == detailed(local)
