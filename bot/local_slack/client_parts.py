"""The parts of the control client that are not people: faults, sockets, the world, the app."""

from __future__ import annotations

from bot.local_slack.calls import RecordedCall
from bot.local_slack.control_link import ControlLink
from bot.local_slack.dispatch import Delivery
from bot.local_slack.faults import Fault, FaultView
from bot.local_slack.sockets import SocketView
from bot.local_slack.world import Channel, User, UserGroup, WorldView


class FaultControl:
    """Plants faults and takes them away."""

    def __init__(self, link: ControlLink) -> None:
        self._link = link

    async def plant(self, fault: Fault) -> int:
        """Plant a fault and return its id."""
        return int((await self._link.post("faults", fault))["id"])

    async def release(self, fault_id: int | None = None) -> None:
        """Let the calls that wait in one fault, or in all, go on."""
        await self._link.post("faults/release", {"id": fault_id})

    async def clear(self, fault_id: int | None = None) -> None:
        """Remove one fault, or all."""
        await self._link.post("faults/clear", {"id": fault_id})

    async def list(self) -> list[FaultView]:
        """Return every fault that has calls left or waiting."""
        found = (await self._link.get("faults"))["faults"]
        return [FaultView.model_validate(one) for one in found]


class SocketControl:
    """Does things to the app's sockets: to one, or to all if no id is given."""

    def __init__(self, link: ControlLink) -> None:
        self._link = link

    async def list(self) -> list[SocketView]:
        """Return every connection, oldest first."""
        found = (await self._link.get("sockets"))["sockets"]
        return [SocketView.model_validate(one) for one in found]

    async def disconnect(self, reason: str = "warning", socket_id: int | None = None) -> None:
        """Send a `disconnect` frame; the connection stays until the app closes it."""
        await self._act("disconnect", socket_id, reason)

    async def cut(self, socket_id: int | None = None) -> None:
        """Cut without a word."""
        await self._act("cut", socket_id)

    async def half_open(self, socket_id: int | None = None) -> None:
        """Stop reading and answering pings while the connection stays up."""
        await self._act("half_open", socket_id)

    async def recover(self, socket_id: int | None = None) -> None:
        """End `half_open`."""
        await self._act("recover", socket_id)

    async def _act(self, act: str, socket_id: int | None, reason: str = "") -> None:
        await self._link.post("sockets", {"act": act, "id": socket_id, "reason": reason})


class WorldControl:
    """Changes who and what there is."""

    def __init__(self, link: ControlLink) -> None:
        self._link = link

    async def view(self) -> WorldView:
        """Return the world as it is."""
        return WorldView.model_validate(await self._link.get("workspace"))

    async def put_user(self, user: User) -> None:
        """Add or replace a user."""
        await self._link.post("users", user)

    async def put_channel(self, channel: Channel) -> None:
        """Add or replace a channel."""
        await self._link.post("channels", channel)

    async def put_group(self, group: UserGroup) -> None:
        """Add or replace a user group."""
        await self._link.post("groups", group)

    async def join(self, channel: str, user: str) -> None:
        """Add a member to a channel."""
        await self._link.post("join", {"channel": channel, "user": user})

    async def leave(self, channel: str, user: str) -> None:
        """Remove a member from a channel."""
        await self._link.post("leave", {"channel": channel, "user": user})

    async def deactivate(self, user: str) -> None:
        """Deactivate a user."""
        await self._link.post("deactivate", {"user": user})


class AppSide:
    """The app as Slack sees it: what it called, what it was sent, where it listens."""

    def __init__(self, link: ControlLink) -> None:
        self._link = link

    async def calls(self, method: str | None = None, after: int = 0) -> list[RecordedCall]:
        """Return recorded API calls with an id above `after`, of one method if named."""
        query: dict[str, str | int] = {"after": after}
        if method is not None:
            query["method"] = method
        found = (await self._link.get("calls", **query))["calls"]
        return [RecordedCall.model_validate(one) for one in found]

    async def deliveries(self) -> list[Delivery]:
        """Return everything sent to the app, oldest first."""
        found = (await self._link.get("deliveries"))["deliveries"]
        return [Delivery.model_validate(one) for one in found]

    async def request_url(self) -> str | None:
        """Return where HTTP deliveries go."""
        url = (await self._link.get("request_url"))["url"]
        return None if url is None else str(url)

    async def set_request_url(self, url: str | None) -> None:
        """Say where HTTP deliveries go."""
        await self._link.post("request_url", {"url": url})
