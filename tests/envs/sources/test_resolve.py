"""Environments by name, Gymnasium id or function, and what is said if there is none."""

import pickle
import re
import subprocess
import sys

import pytest

pytest.importorskip("gymnasium")

import gymnasium

from procurl import TaskPool
from procurl.envs import TaskEnv, make_pool, register_environment, resolve_environment
from procurl.envs.sources import resolve

CODE = """
import gymnasium
import numpy as np
from dataclasses import dataclass
from procurl import TaskPool

@dataclass
class Size:
    width: int = 3

class Corridor(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0.0, 9.0, (1,), dtype=np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    length = 1.0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.array([self.length], dtype=np.float32), {}

def make_corridor():
    return Corridor()

def set_length(env, task):
    env.unwrapped.length = task[0]

def pool():
    return TaskPool([[2.0], [3.0]], names=["length"])

def broken():
    return {}["nothing"]

def sized(size, name="a"):
    return Corridor()

def number():
    return 3

def same():
    return _ONE

_ONE = Corridor()
_hidden = make_corridor
HORIZON = 10
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "corridor.py"
    path.write_text(CODE)
    return path


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    """No registration and no path of a file outlives its test."""
    monkeypatch.setattr(resolve, "_REGISTERED", {})
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_a_name_of_ours_has_its_pool():
    source = resolve_environment("pointmass-s")
    assert source.name == "pointmass-s"
    assert source.own_pool().fingerprint == make_pool("pointmass-s").fingerprint
    env = source.make_task_env(make_pool("pointmass-s", size=5))
    env.reset(options={"task": 4})
    assert env.get_wrapper_attr("task") == 4


@pytest.mark.parametrize("text", ["CartPole-v1", "gymnasium.envs.classic_control:CartPole-v1"])
def test_a_gymnasium_id_is_made_by_gymnasium(text):
    source = resolve_environment(text)
    assert (source.name, source.version) == (text, None)
    assert source.make().spec.id == "CartPole-v1"
    assert source.own_pool() is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CartPol-v1", "'CartPol-v1' is not known. Did you mean 'CartPole-v1'?"),
        ("CartPol-v1", "Gymnasium says: Environment `CartPol` doesn't exist."),
        ("CartPole", "Did you mean 'CartPole-v1'?"),
        ("pointmas-s", "Did you mean 'pointmass-s'? It must be a name that `procurl envs` lists"),
        ("no_such_module:Id-v0", "'no_such_module:Id-v0' cannot be imported: No module named"),
        ("a b", "Gymnasium says: Malformed environment ID: a b."),
        ("no_such_module:make", "there is no module 'no_such_module' to import. For a function in"),
        ("nowhere.py:make", "nowhere.py:make: the file nowhere.py does not exist"),
        ("nowhere.py", "nowhere.py: the file nowhere.py does not exist"),
    ],
)
def test_an_unknown_environment_is_refused_with_what_to_write(text, message):
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        resolve_environment(text)
    assert "\n" not in str(caught.value)


def test_a_function_in_a_file_makes_the_environment(file):
    source = resolve_environment(f"{file}:make_corridor")
    assert source.name == "corridor.py:make_corridor"
    assert type(source.make()).__name__ == "Corridor"
    assert type(resolve_environment(f"{file}:Corridor").make()).__name__ == "Corridor"


def test_the_version_of_a_file_is_that_of_its_content(file):
    address = f"{file}:make_corridor"
    before = resolve_environment(address).version
    assert resolve_environment(address).version == before
    file.write_text(CODE.replace("length = 1.0", "length = 2.0"))
    after = resolve_environment(address)
    assert after.version != before
    assert after.make().length == 2.0
    assert resolve_environment(address, f"{file}:set_length").version != after.version


def test_the_version_of_a_file_follows_the_files_that_it_imports(tmp_path):
    (tmp_path / "tunnel_parts").mkdir()
    deep = tmp_path / "tunnel_parts" / "lengths.py"
    deep.write_text("LENGTH = 1\n")
    (tmp_path / "tunnel_parts" / "__init__.py").write_text("from .lengths import LENGTH\n")
    (tmp_path / "tunnel_rewards.py").write_text("import numpy\nfrom tunnel_parts import LENGTH\n")
    unrelated = tmp_path / "notes.py"
    unrelated.write_text("NOTE = 1\n")
    path = tmp_path / "tunnel.py"
    path.write_text(f"import tunnel_rewards\n{CODE}")
    address = f"{path}:make_corridor"
    before = resolve_environment(address).version
    unrelated.write_text("NOTE = 2\n")
    assert resolve_environment(address).version == before
    deep.write_text("LENGTH = 2\n")
    assert resolve_environment(address).version != before


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            "make_corider",
            "corridor.py:make_corider does not exist: corridor.py has no function 'make_corider'. "
            "Did you mean 'corridor.py:make_corridor'? It defines corridor.py:Size, "
            "corridor.py:Corridor, corridor.py:make_corridor, corridor.py:set_length, "
            "corridor.py:pool, corridor.py:broken, corridor.py:sized, corridor.py:number, "
            "corridor.py:same",
        ),
        ("HORIZON", "corridor.py:HORIZON must be a function or a class, got 10"),
        ("number", "corridor.py:number must return a gymnasium.Env, got an object of type int"),
        ("sized", "corridor.py:sized is called without arguments, but needs size: give them"),
        ("broken", "corridor.py:broken failed: KeyError: 'nothing' (line "),
    ],
)
def test_a_function_that_makes_no_environment_is_refused(file, function, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        resolve_environment(f"{file}:{function}").make()


def test_every_call_must_make_a_new_environment(file):
    resolve_environment(f"{file}:make_corridor").require_new()
    with pytest.raises(ValueError, match=r"corridor.py:same must make a new environment at every"):
        resolve_environment(f"{file}:same").require_new()


def test_a_file_without_a_function_lists_its_functions(file):
    with pytest.raises(ValueError, match="name the function that makes the environment") as caught:
        resolve_environment(str(file))
    assert f"{file}:make_corridor" in str(caught.value)
    assert "_hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import gymnasium\nx = y\n", "cannot be loaded: NameError: name 'y' is not defined"),
        ("def make(:\n", "cannot be loaded: SyntaxError: invalid syntax (line 1)"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_named_with_the_line(tmp_path, code, message):
    path = tmp_path / "bad.py"
    path.write_text(code)
    with pytest.raises(ValueError, match=re.escape(f"{path} {message}")):
        resolve_environment(f"{path}:make")


def test_a_script_that_ends_is_refused_with_what_to_do(tmp_path):
    (tmp_path / "ends.py").write_text("import sys\nsys.exit(2)\n")
    message = r"ends.py cannot be loaded: SystemExit: 2 \(line 2\); it is a script that ends: put"
    with pytest.raises(ValueError, match=message):
        resolve_environment(f"{tmp_path / 'ends.py'}:make")


@pytest.mark.parametrize("name", ["make", "Id-v0"])
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise RuntimeError('no license')", r"RuntimeError: no license \(line 1\) in .*broken.py"),
        ("x = (", r"SyntaxError: '\(' was never closed \(line 1\) in .*broken.py"),
        ("raise SystemExit(3)", r"SystemExit: 3 \(line 1\) in .*broken.py; it is a script that"),
    ],
)
def test_a_module_that_cannot_be_imported_is_named_with_the_line(
    tmp_path, monkeypatch, name, code, reason
):
    (tmp_path / "broken.py").write_text(code + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match=f"the module 'broken' cannot be imported: {reason}"):
        resolve_environment(f"broken:{name}")


def test_a_function_that_cannot_set_a_task_is_refused(file):
    message = r"corridor.py:pool is called as set_task\(env, task\), but takes \(\): define it"
    with pytest.raises(TypeError, match=message):
        resolve_environment("CartPole-v1", f"{file}:pool")


def test_a_file_can_import_its_neighbor(tmp_path):
    (tmp_path / "corridor_parts.py").write_text(CODE)
    path = tmp_path / "outer.py"
    path.write_text("import corridor_parts\ndef make():\n    return corridor_parts.Corridor()\n")
    assert type(resolve_environment(f"{path}:make").make()).__name__ == "Corridor"


def test_another_process_makes_the_same_environment_without_the_file(file, tmp_path):
    source = resolve_environment(f"{file}:make_corridor", f"{file}:set_length")
    source.require_portable()
    packed = tmp_path / "source.pickle"
    packed.write_bytes(pickle.dumps((source, TaskPool([[5.0]]))))
    file.unlink()
    code = (
        f"import pickle; source, pool = pickle.load(open({str(packed)!r}, 'rb')); "
        "print(source.make_task_env(pool).reset()[0])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[5.]"


def test_set_task_of_a_file_sets_the_task(file):
    source = resolve_environment(f"{file}:make_corridor", f"{file}:set_length")
    env = source.make_task_env(TaskPool([[2.0], [3.0]]))
    assert env.reset(options={"task": 1})[0] == [3.0]
    with pytest.raises(ValueError, match="corridor.py:set_lenth does not exist"):
        resolve_environment(f"{file}:make_corridor", f"{file}:set_lenth")


def make_cart_pole():
    return gymnasium.make("CartPole-v1")


def make_with_tasks():
    """A `TaskEnv` inside a wrapper, as a user may return it."""
    cart_pole = gymnasium.make("CartPole-v1")
    env = TaskEnv(cart_pole, TaskPool.from_seeds(3))
    return gymnasium.wrappers.TimeLimit(env, 10)


def test_a_registered_environment_is_found_by_its_name():
    pool = TaskPool.from_seeds(4)
    register_environment("my-cart", make_cart_pole, pool, version="2")
    source = resolve_environment("my-cart")
    source.require_portable()
    assert (source.name, source.version) == ("my-cart", "2")
    assert source.own_pool() is pool
    assert source.make().spec.id == "CartPole-v1"


def test_an_environment_with_tasks_keeps_its_pool_and_its_wrappers():
    register_environment("tasks", make_with_tasks)
    source = resolve_environment("tasks")
    own = source.own_pool()
    assert own.seeds.tolist() == [0, 1, 2]
    for pool in (own, TaskPool.from_seeds([7, 8])):
        env = source.make_task_env(pool)
        assert str(env).count("TaskEnv") == 1
        assert isinstance(env, gymnasium.wrappers.TimeLimit)
        assert env.get_wrapper_attr("pool").fingerprint == pool.fingerprint
        first, _ = env.reset(options={"task": 1})
        again, _ = make_cart_pole().reset(seed=int(pool[1]))
        assert first.tolist() == again.tolist()


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (("pointmass-s", make_cart_pole), ValueError, "'pointmass-s' is registered already"),
        (("Cart-v1", make_cart_pole), ValueError, "not end like a Gymnasium id, got 'Cart-v1'"),
        (("a:b", make_cart_pole), ValueError, "must consist of letters, digits"),
        ((5, make_cart_pole), TypeError, "the name of an environment must be a text, got 5"),
        (("", make_cart_pole), ValueError, "must consist of letters, digits"),
        (("cart", "CartPole-v1"), TypeError, "make_env must be a function, got 'CartPole-v1'"),
        (("cart", make_cart_pole, 5), TypeError, "pool must be None or a TaskPool, got int"),
        (("cart", make_cart_pole, None, 5), TypeError, "set_task must be a function, got 5"),
    ],
)
def test_a_bad_registration_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        register_environment(*given)


@pytest.mark.parametrize("argument", ["make_env", "set_task"])
def test_a_function_that_processes_cannot_import_is_refused(argument):
    functions = {"make_env": make_cart_pole, argument: lambda *_: None}
    register_environment("cart", **functions)
    with pytest.raises(ValueError, match=f"'cart': {argument} must be a function that training"):
        resolve_environment("cart").require_portable()


def test_a_function_of_a_session_is_refused(monkeypatch):
    main = sys.modules["__main__"]
    monkeypatch.setattr(make_cart_pole, "__module__", "__main__")
    monkeypatch.setattr(main, "make_cart_pole", make_cart_pole, raising=False)
    monkeypatch.delattr(main, "__file__", raising=False)
    register_environment("cart", make_cart_pole)
    with pytest.raises(ValueError, match="or in an interactive session"):
        resolve_environment("cart").require_portable()
