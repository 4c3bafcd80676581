"""The command: the gallery on a page of its own, or as files."""

import asyncio
import json
import sys
from pathlib import Path

from bot.gallery.exhibits import EXHIBITS, Shelf
from bot.gallery.room import gallery_world, hung, place
from bot.local_slack import LocalSlack
from bot.local_slack_port import listen
from bot.stopping import told_to_stop

_VIEWER = "U0ALICE"


def write(folder: Path) -> int:
    """Write the Block Kit of every exhibit to a file of its name; return the exit status.

    Raises:
        OSError: the folder cannot be written.

    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, one in EXHIBITS.items():
        text = json.dumps(one.kit(), indent=2, ensure_ascii=False)
        (folder / f"{name}.json").write_text(f"{text}\n", "utf-8")
    sys.stdout.write(f"{len(EXHIBITS)} files in {folder}\n")
    return 0


def show(port: int) -> int:
    """Show the gallery until told to stop; return the exit status."""
    return asyncio.run(_show(port))


async def _show(port: int) -> int:
    slack = LocalSlack(world=gallery_world())
    with told_to_stop() as told:
        if not await listen(slack, port):
            sys.stderr.write(f"holdshort: port {port} is taken, so the page is elsewhere\n")
        try:
            async with hung(slack):
                here = f"{slack.page_url}#user={_VIEWER}&channel={place(Shelf.OPEN)}"
                sys.stdout.write(f"{len(EXHIBITS)} exhibits: {here}  (Ctrl-C ends it)\n")
                sys.stdout.flush()
                await told.wait()
        finally:
            await slack.stop()
    return 0
