"""LangGraph with its own savers, as they come: a graph of four nodes, one of which interrupts."""

import asyncio
import operator
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count as counting
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

CALL = {"name": "deploy", "args": {"version": "1.4.2"}}


class State(TypedDict):
    """The conversation."""

    messages: Annotated[list[Any], operator.add]


def _propose(_: State) -> Any:
    return {"messages": [{"role": "assistant", "content": "I would like to deploy.", "call": CALL}]}


def _ask(_: State) -> Any:
    return {"messages": [{"role": "user", "decision": interrupt(CALL)}]}


def _deploy(_: State) -> Any:
    return {"messages": [{"role": "tool", "content": "release 1.4.2 live"}]}


def _answer(_: State) -> Any:
    return {"messages": [{"role": "assistant", "content": "done"}]}


def _graph(saver: Any) -> Any:
    graph = StateGraph(State)
    nodes = {"propose": _propose, "ask": _ask, "deploy": _deploy, "answer": _answer}
    for name, node in nodes.items():
        graph.add_node(name, node)
    for one, other in zip((START, *nodes), (*nodes, END), strict=True):
        graph.add_edge(one, other)
    return graph.compile(checkpointer=saver)


class _Graph:
    """A compiled graph; each cycle is a thread of its own."""

    def __init__(self, saver: Any) -> None:
        self.graph = _graph(saver)
        self.threads: Iterator[int] = counting()

    def next_thread(self) -> dict[str, Any]:
        return {"configurable": {"thread_id": str(next(self.threads))}}


class _Async(_Graph):
    """Cycles through the asynchronous interface."""

    async def cycles(self, count: int, tasks: int = 1) -> float:
        async def lane() -> None:
            for _ in range(count // tasks):
                await self._cycle()

        begun = time.perf_counter()
        await asyncio.gather(*(lane() for _ in range(tasks)))
        return time.perf_counter() - begun

    async def _cycle(self) -> None:
        thread = self.next_thread()
        asked = {"messages": [{"role": "user", "content": "deploy 1.4.2"}]}
        parked = await self.graph.ainvoke(asked, thread)
        ended = await self.graph.ainvoke(Command(resume="allow"), thread)
        _check(parked, ended)


class _Sync(_Graph):
    """Cycles through the synchronous interface, one after another."""

    async def cycles(self, count: int, tasks: int = 1) -> float:
        assert tasks == 1
        begun = time.perf_counter()
        for _ in range(count):
            self._cycle()
        return time.perf_counter() - begun

    def _cycle(self) -> None:
        thread = self.next_thread()
        asked = {"messages": [{"role": "user", "content": "deploy 1.4.2"}]}
        parked = self.graph.invoke(asked, thread)
        _check(parked, self.graph.invoke(Command(resume="allow"), thread))


def _check(parked: Any, ended: Any) -> None:
    assert "__interrupt__" in parked
    assert ended["messages"][-1]["content"] == "done"


@asynccontextmanager
async def async_sqlite(folder: Path) -> AsyncIterator[_Async]:
    """Open AsyncSqliteSaver."""
    async with AsyncSqliteSaver.from_conn_string(str(folder / "async.sqlite")) as saver:
        yield _Async(saver)


@asynccontextmanager
async def sqlite(folder: Path) -> AsyncIterator[_Sync]:
    """Open SqliteSaver."""
    with SqliteSaver.from_conn_string(str(folder / "sync.sqlite")) as saver:
        yield _Sync(saver)


@asynccontextmanager
async def memory(folder: Path) -> AsyncIterator[_Async]:
    """Open the saver that keeps nothing."""
    yield _Async(InMemorySaver())
