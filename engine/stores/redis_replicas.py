"""Waits until replicas have what was written: on the connection that wrote it, right behind it."""

from typing import Any

from redis.asyncio import Redis
from redis.asyncio.cluster import PipelineCommand
from redis.exceptions import AskError, MovedError, SlotNotCoveredError

from engine.stores.redis_connection import Client

PATIENCE_MS = 500
"""How long replicas are waited for; below the time limit for an answer (``redis_connection``)."""

NOBODY = 0


async def send_and_wait(
    client: Client, key: str, replicas: int, *command: str | bytes | int
) -> tuple[Any, int]:
    """Send a command on the node of a key, and return its reply and how many replicas have it.

    WAIT counts for what its own connection has written. It does not make the store consistent: a
    failover may still pick a replica that lags; but what is not confirmed is told.
    """
    wait = ("WAIT", replicas, PATIENCE_MS)
    if isinstance(client, Redis):
        async with client.pipeline(transaction=False) as pipeline:
            pipeline.execute_command(*command)
            pipeline.execute_command(*wait)
            replied, confirmed = await pipeline.execute(raise_on_error=False)
    else:
        await client.initialize()
        sent = [PipelineCommand(0, *command), PipelineCommand(1, *wait)]
        node = client.get_node_from_key(key)
        if node is None:
            raise SlotNotCoveredError(f"no node has the slot of {key}")
        await node.execute_pipeline(sent)
        replied, confirmed = (one.result for one in sent)
        if isinstance(replied, MovedError | AskError):
            # Nothing was executed. The client follows, and knows the way the next time.
            return await client.execute_command(*command), NOBODY
    for outcome in (replied, confirmed):
        if isinstance(outcome, Exception):
            raise outcome
    return replied, int(confirmed)
