"""Budgets and manners that ruff and import-linter do not know, over every file git would take."""

import ast
import importlib
import statistics
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
PRODUCT = ("bot", "engine", "notifiers")

FILE_LINES = 400
FUNCTION_LINES = 50
MEDIAN_FUNCTION_LINES = 10
# No event tells of what comes about inside a server of its own; it is asked again and again.
ASKS_AGAIN = {"tests/bench/wakeups.py", "tests/servers/process.py", "tests/bot/redis_stage.py"}
PUBLIC_METHODS = 12
CONSTRUCTOR_ARGUMENTS = 6
VAGUE_NAMES = {"common", "helper", "helpers", "misc", "util", "utils"}

# Registry hosts and paths of the machines this is built on, not spelled out: this file is read too.
HOSTS = "pypi|org pythonhosted|org registry|npmjs|org deb|debian|org security|debian|org"
PLACES = "|work| |root| |opt|wheels |opt|pypi"
UNWANTED = [*HOSTS.replace("|", ".").split(), *PLACES.replace("|", "/").split()]

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def texts() -> dict[str, str]:
    """Return the text of each file that git tracks or would add, by its path from the root."""
    if not (ROOT / ".git").exists():
        pytest.skip("only a git checkout can say which files are the project's")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    found = {}
    for path in filter(Path.is_file, paths):
        try:
            found[path.relative_to(ROOT).as_posix()] = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue  # a picture
    return found


@cache
def trees(*tops: str) -> dict[str, ast.Module]:
    """Return the parsed Python files, those below the named folders if any are named."""
    return {
        path: ast.parse(text, path)
        for path, text in texts().items()
        if path.endswith(".py") and (not tops or path.split("/")[0] in tops)
    }


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def classes(tree: ast.AST) -> Iterator[ast.ClassDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def length(function: Function) -> int:
    """Return the lines of a function, decorators not counted."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def name_of(node: ast.expr) -> str:
    """Return `a.b` for the expression a.b, and for a.b(...) and a.b[...]."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            return f"{name_of(value)}.{attribute}"
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return name_of(inner)
        case _:
            return "?"


def public_methods(node: ast.ClassDef) -> set[str]:
    """Return the methods that a caller sees. A property is an attribute, an overload no method."""
    unseen = {"property", "cached_property", "overload"}
    return {
        item.name
        for item in node.body
        if isinstance(item, Function)
        and not item.name.startswith("_")
        and not unseen & {name_of(mark).split(".")[-1] for mark in item.decorator_list}
    }


def is_port(node: ast.ClassDef) -> bool:
    return any(name_of(base).split(".")[-1] == "Protocol" for base in node.bases)


# What a file may be refused for. Each check yields the line and what is wrong there.

Findings = Iterator[tuple[int, str]]


def long_functions(tree: ast.Module) -> Findings:
    for function in functions(tree):
        if length(function) > FUNCTION_LINES:
            yield function.lineno, f"{function.name} has {length(function)} lines"


def wide_constructors(tree: ast.Module) -> Findings:
    for function in functions(tree):
        arguments = function.args
        wanted = len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs) - 1
        if function.name == "__init__" and wanted > CONSTRUCTOR_ARGUMENTS:
            yield function.lineno, f"a constructor with {wanted} arguments"


def sleeping(tree: ast.Module) -> Findings:
    """Find waits for a length of time. Zero is none: it lets the other tasks run."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="sleep"), args=[ast.Constant(value=0)]):
                continue
            case ast.Call(func=function) if name_of(function) in {"time.sleep", "asyncio.sleep"}:
                yield node.lineno, "a test that sleeps; wait for the event, or move the clock"
            case ast.ImportFrom(module="time" | "asyncio", names=names):
                if "sleep" in {alias.name for alias in names}:
                    yield node.lineno, "sleep, imported by name"


def gives_reason(call: ast.Call) -> bool:
    named = {keyword.arg for keyword in call.keywords} & {"msg", "reason"}
    positional = name_of(call) in {"pytest.skip", "pytest.xfail", "pytest.mark.skip"}
    return bool(named) or (positional and bool(call.args))


def silent_skips(tree: ast.Module) -> Findings:
    marks = {f"pytest.{name}" for name in ("skip", "xfail")}
    marks |= {f"pytest.mark.{name}" for name in ("skip", "skipif", "xfail")}
    reasoned = {
        id(node.func)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and gives_reason(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and name_of(node) in marks and id(node) not in reasoned:
            yield node.lineno, f"{name_of(node)} without a reason"


def problems(check: Callable[[ast.Module], Findings], *tops: str) -> list[str]:
    return [
        f"{path}:{line}: {text}"
        for path, tree in trees(*tops).items()
        for line, text in check(tree)
    ]


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    lengths = {
        path: len(text.splitlines())
        for path, text in texts().items()
        if path.endswith((".py", ".lua"))
    }
    assert not {path: lines for path, lines in lengths.items() if lines > FILE_LINES}


@pytest.mark.parametrize("check", [long_functions, wide_constructors, silent_skips])
def test_every_file_keeps_the_budgets(check: Callable[[ast.Module], Findings]) -> None:
    assert not problems(check)


def test_no_test_sleeps() -> None:
    found = problems(sleeping, "tests")
    assert not [problem for problem in found if problem.partition(":")[0] not in ASKS_AGAIN]


def test_functions_are_short_as_a_rule() -> None:
    lengths = [
        length(function) for tree in trees(*PRODUCT).values() for function in functions(tree)
    ]
    assert statistics.median(lengths) <= MEDIAN_FUNCTION_LINES


def test_a_class_offers_little_beyond_the_port_it_stands_behind() -> None:
    found = [node for tree in trees(*PRODUCT).values() for node in classes(tree)]
    ports = [public_methods(node) for node in found if is_port(node)]
    wide = {}
    for node in found:
        methods = public_methods(node)
        asked_for = set().union(*(port for port in ports if port <= methods))
        if not is_port(node) and len(methods - asked_for) > PUBLIC_METHODS:
            wide[node.name] = len(methods - asked_for)
    assert not wide


def test_a_module_is_named_after_what_it_does() -> None:
    assert not [path for path in trees() if VAGUE_NAMES & set(Path(path).with_suffix("").parts)]


@pytest.mark.parametrize("door", ["engine", "notifiers"])
def test_a_public_door_lists_exactly_what_it_offers(door: str) -> None:
    # ruff keeps __all__ sorted (RUF022).
    module = importlib.import_module(door)
    offered = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    listed: list[str] = module.__all__

    assert len(listed) == len(set(listed))
    assert offered - set(listed) == set()
    assert [name for name in listed if not hasattr(module, name)] == []


def test_no_file_names_a_registry_host_or_a_place_on_our_machines() -> None:
    found = [
        f"{path}: {unwanted}"
        for path, text in texts().items()
        for unwanted in UNWANTED
        if unwanted in text
    ]
    assert not found


@pytest.mark.parametrize(
    ("check", "source"),
    [
        (long_functions, "def f():\n" + "    pass\n" * FUNCTION_LINES),
        (wide_constructors, "class A:\n    def __init__(self, a, b, c, d, *, e, f, g): ..."),
        (sleeping, "import time\ntime.sleep(1)"),
        (sleeping, "async def f():\n    await asyncio.sleep(0.1)"),
        (sleeping, "from asyncio import sleep"),
        (silent_skips, "pytest.skip()"),
        (silent_skips, "@pytest.mark.xfail\ndef f(): ..."),
        (silent_skips, "@pytest.mark.skipif(True)\ndef f(): ..."),
    ],
)
def test_a_check_finds_what_it_is_for(check: Callable[[ast.Module], Findings], source: str) -> None:
    assert len(list(check(ast.parse(source)))) == 1


@pytest.mark.parametrize(
    ("check", "source"),
    [
        (long_functions, "def f():\n" + "    pass\n" * (FUNCTION_LINES - 1)),
        (wide_constructors, "def start(self, a, b, c, d, *, e, f, g): ..."),
        (sleeping, "async def f():\n    await asyncio.sleep(0)"),
        (silent_skips, "pytest.skip('no git')"),
        (silent_skips, "@pytest.mark.skipif(True, reason='no fork')\ndef f(): ..."),
    ],
)
def test_a_check_lets_the_rest_pass(check: Callable[[ast.Module], Findings], source: str) -> None:
    assert not list(check(ast.parse(source)))
