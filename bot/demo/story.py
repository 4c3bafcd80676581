"""The demo's story as it goes on: looks at everything whenever something moves, and tells it."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

from bot.demo.scene import Scene, Viewer
from bot.demo.telling import Teller
from bot.demo.transcript import Transcript

LONGEST_LOOK_AWAY = timedelta(seconds=1)
_MOMENT = timedelta(milliseconds=30)
_UNREST = timedelta(seconds=3)
"""A tool may run, or Slack be away, for as long as they like; people want to know before."""

Wanted = Callable[[Scene], bool]


class StuckError(Exception):
    """What should have come did not."""


class Story:
    """Tells what is new each time all is at rest."""

    def __init__(
        self,
        viewer: Viewer,
        teller: Teller,
        transcript: Transcript,
        moved: asyncio.Event,
        patience: timedelta,
    ) -> None:
        """Look through the viewer; ``moved`` is set whenever something changed in Slack."""
        self._viewer = viewer
        self._teller = teller
        self._transcript = transcript
        self._moved = moved
        self._patience = patience
        self._rested = asyncio.get_running_loop().time()
        self.scene = Scene()

    async def until(self, wanted: Wanted, what: str) -> Scene:
        """Look and tell until all is at rest and as wanted.

        Raises:
            StuckError: it did not come to that in time; the text says what was waited for.

        """
        try:
            async with asyncio.timeout(self._patience.total_seconds()):
                while not (await self._look() and wanted(self.scene)):
                    await self._wait()
        except TimeoutError:
            waited = f"{self._patience.seconds} s"
            raise StuckError(f"there was not {what} within {waited}") from None
        return self.scene

    async def follow(self) -> None:
        """Look and tell for ever."""
        while True:
            await self._look(at_the_latest=_UNREST)
            await self._wait()

    async def _look(self, at_the_latest: timedelta | None = None) -> bool:
        """Tell what is new if all is at rest, so that it can be told in order.

        With ``at_the_latest`` it is told as it is once that has passed without any rest.
        """
        self._moved.clear()
        scene = await self._viewer.look()
        now = asyncio.get_running_loop().time()
        if scene.at_rest:
            self._rested = now
        elif at_the_latest is None or now - self._rested < at_the_latest.total_seconds():
            return False
        for line in self._teller.tell(self.scene, scene):
            self._transcript.tell(line)
        self.scene = scene
        return True

    async def _wait(self) -> None:
        # Many changes come at once; a moment later they are seen together.
        await asyncio.sleep(_MOMENT.total_seconds())
        try:
            async with asyncio.timeout(LONGEST_LOOK_AWAY.total_seconds()):
                await self._moved.wait()
        except TimeoutError:
            return
