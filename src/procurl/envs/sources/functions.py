"""Functions of a user by address: `FILE.py:function` or `package.module:function`."""

import hashlib
import inspect
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from procurl.envs.sources.imported_files import own_files
from procurl.internals.checks import suggest


@dataclass(frozen=True)
class UserFunction:
    """A function or class of a user that can be sent to other processes, which load it again.

    Args:
        place: absolute path of a file, or name of a module.
        name: of the function.
        text: content of the file, so that a machine without it can load it; None for a module.
    """

    place: str
    name: str
    text: str | None = None

    def __str__(self) -> str:
        return f"{self.place}:{self.name}" if self.text is None else f"{self.file}:{self.name}"

    def __call__(self, *arguments: Any) -> Any:
        return self.load()(*arguments)

    @property
    def file(self) -> str:
        """The name of the file without its directory, or of the module."""
        return self.place if self.text is None else Path(self.place).name

    @property
    def version(self) -> str | None:
        """A hash of the code, and of what it imports: files beside it, or of the same package.

        None if a module has no source file.
        """
        if self.text is not None:
            path, text = Path(self.place), self.text
            root = own = path.parent
        else:
            source = inspect.getsourcefile(import_module(self.place))
            if source is None:
                return None
            path = Path(source)
            text = path.read_text(encoding="utf-8")
            root = path.parents[self.place.count(".") + (path.name == "__init__.py")]
            own = root / self.place.partition(".")[0]
        files = own_files(path, text, root, own)
        parts = sorted((str(file.relative_to(root)), content) for file, content in files.items())
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def load(self) -> Callable[..., Any]:
        """The function itself; raises ValueError if it does not exist."""
        module = self._module()
        found: Any = module
        for part in self.name.split("."):
            if not hasattr(found, part):
                known = [f"{self.file}:{name}" for name in public_names(module)]
                raise ValueError(
                    f"{self} does not exist: {self.file} has no function {self.name!r}."
                    f"{suggest(str(self), known)} It defines {', '.join(known) or 'none'}"
                )
            found = getattr(found, part)
        if not callable(found):
            raise ValueError(f"{self} must be a function or a class, got {found!r}")
        function: Callable[..., Any] = found
        return function

    def _module(self) -> ModuleType:
        if self.text is not None:
            return _load_file(self.place, self.text)
        try:
            return import_module(self.place)
        except (Exception, SystemExit) as error:
            if isinstance(error, ModuleNotFoundError) and self.place.startswith(error.name or ""):
                raise ValueError(
                    f"{self}: there is no module {self.place!r} to import. For a function in a "
                    "file, write FILE.py:function"
                ) from error
            # The module exists, and fails; perhaps a package that it needs is missing.
            raise ValueError(f"{self}: {import_failure(self.place, error)}") from error


def is_file_address(text: str) -> bool:
    """Whether a text names a Python file, with or without a function in it."""
    place = split_address(text)[0]
    return place.endswith(".py") or "/" in place or "\\" in place


def split_address(text: str) -> tuple[str, str]:
    """(file or module, function), the function empty if the text has no colon.

    >>> split_address("envs/lock.py:make_lock")
    ('envs/lock.py', 'make_lock')
    """
    # The last colon: a path on Windows has another one.
    place, colon, name = text.rpartition(":")
    return (place, name) if colon and not name.endswith(".py") else (text, "")


def user_function(text: str, purpose: str) -> UserFunction:
    """The function that a text names; raises ValueError if its file or the function is missing.

    Args:
        text: `FILE.py:function` or `package.module:function`.
        purpose: of the function, for errors: `that makes the environment`.
    """
    place, name = split_address(text)
    if not is_file_address(text):
        if not name:
            raise ValueError(
                f"{text!r} is not a function: write FILE.py:function or package.module:function"
            )
        function = UserFunction(place, name)
    else:
        path = Path(place).expanduser()
        if not path.is_file():
            what = "is a directory" if path.is_dir() else "does not exist"
            raise ValueError(f"{text}: the file {place} {what}")
        content = _read(path)
        if not name:
            module = _load_file(str(path.resolve()), content)
            found = [f"{place}:{each}" for each in public_names(module)]
            listed = f"it defines {', '.join(found)}" if found else "it defines none"
            raise ValueError(f"{text}: name the function {purpose}, FILE.py:function; {listed}")
        function = UserFunction(str(path.resolve()), name, content)
    function.load()
    return function


def public_names(module: ModuleType) -> list[str]:
    """The functions and classes that a module itself defines, in order."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__ == module.__name__
    ]


def require_no_arguments(name: str, given: Callable[..., Any]) -> None:
    """Raise if the function has parameters without a default."""
    function = given.load() if isinstance(given, UserFunction) else given
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-in callables have no signature
        return
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in optional]
    if needed:
        raise ValueError(
            f"{name} is called without arguments, but needs {', '.join(needed)}: give them "
            "defaults, or name a function that calls it"
        )


def failure(error: BaseException, file: str) -> str:
    """An error of a user's code in one line: its type, message and place in the file."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == file]
    line = error.lineno if isinstance(error, SyntaxError) else next(reversed(lines), None)
    where = f" (line {line})" if line is not None else ""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {text.strip().partition(chr(10))[0]}{where}"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


@lru_cache(maxsize=64)
def _load_file(path: str, text: str) -> ModuleType:
    """The module of a file, executed once per content; it can import files next to it."""
    digest = hashlib.sha256(f"{path}\n{text}".encode()).hexdigest()[:8]
    module = ModuleType(f"{Path(path).stem}_{digest}")
    module.__file__ = path
    folder = str(Path(path).parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    sys.modules[module.__name__] = module  # dataclasses and pickle look it up
    try:
        exec(compile(text, path, "exec"), vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        reason = failure(error, path)
        raise ValueError(f"{path} cannot be loaded: {reason}{_exit_remedy(error)}") from error
    return module


def import_failure(module: str, error: BaseException) -> str:
    """Why a module of the user cannot be imported, in one line."""
    file = traceback.extract_tb(error.__traceback__)[-1].filename
    if isinstance(error, SyntaxError):
        file = error.filename or file
    reason = f"{failure(error, file)} in {file}"
    return f"the module {module!r} cannot be imported: {reason}{_exit_remedy(error)}"


def _exit_remedy(error: BaseException) -> str:
    if not isinstance(error, SystemExit):
        return ""
    return "; it is a script that ends: put what it runs below if __name__ == '__main__'"
