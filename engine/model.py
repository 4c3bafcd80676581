"""One model request: entries go in as the model layer's messages, a reply comes out."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pydantic_core
from pydantic_ai import exceptions, models
from pydantic_ai.direct import model_request
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition

from engine.entries import ArgumentsEdit, CallOutcome, CallResult, Entry, Step, UserInput
from engine.errors import ModelRequestError, UndecodableRecordError
from engine.guard import clip, contained, describe_error, kind_of, text_of
from engine.redaction import redact
from engine.runs import Usage
from engine.schema import Json

_OUTCOMES: dict[CallOutcome, Any] = {
    CallOutcome.SUCCEEDED: "success",
    CallOutcome.FAILED: "failed",
    CallOutcome.RETRY: "retried",
    CallOutcome.DENIED: "denied",
}
EDITED_NOTE = (
    "A person edited the arguments before they approved: this call was made with the arguments"
    " given here and not with yours. Do not repeat the call to put yours back."
)
MAX_TOOL_NAME = 128
MAX_CALLS_EVER = 1_024
MAX_REPLY_BYTES = 4 * 1024 * 1024
"""Several times what models can say in one reply (some 128,000 tokens)."""
MAX_OUTPUT_CHARS = 512 * 1024
"""Of a reply's words; they are part of the run, which is read often."""
_SERVER_ERROR = 500
_RETRYABLE_STATUS = frozenset({408, 409, 425, 429})


@dataclass(frozen=True, slots=True)
class ProposedCall:
    """A call as the provider gave it: its own id, the tool's name, raw arguments."""

    provider_id: str
    tool: str
    arguments: str | dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's reply: opaque JSON to keep, its words (clipped), its calls, and what it used."""

    response: str
    text: str
    calls: tuple[ProposedCall, ...]
    usage: Usage


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """What a model is asked with."""

    model: Any
    instructions: str
    entries: Sequence[Entry]
    tools: Sequence[ToolDefinition]


def why_not_askable(model: object) -> str:
    """Return what keeps a model from being asked at all, on one line; empty if nothing does.

    A name may be unknown, or want a library or an API key that is not there. Nothing is sent.
    """
    try:
        with contained():
            models.infer_model(model)  # type: ignore[arg-type] # whatever the Agent was given
    except (ImportError, exceptions.UserError) as error:
        return " ".join(text_of(error).split())
    except Exception as error:  # noqa: BLE001 - a provider's own library may raise anything
        return " ".join(describe_error(error).split())
    return ""


async def ask_model(question: ModelQuestion) -> ModelReply:
    """Make one model request.

    Raises:
        ModelRequestError: the model could not be asked; says whether a later try may succeed.
        UndecodableRecordError: a stored response is of a kind this version does not know.

    """
    messages = list(to_messages(question.entries, question.instructions))
    parameters = models.ModelRequestParameters(function_tools=list(question.tools))
    try:
        with contained():
            response = await model_request(
                question.model, messages, model_request_parameters=parameters
            )
    except Exception as error:
        raise _translated(error) from error
    try:
        with contained():
            return read_reply(response)
    except Exception as error:
        why = f"the model's reply cannot be kept: {describe_error(error)}"
        raise ModelRequestError(why, retryable=False) from error


def read_reply(response: ModelResponse) -> ModelReply:
    """Return what the engine needs of a response.

    Raises:
        ValueError: it cannot be stored and read back, is larger than 4 MiB, or holds more than
            1,024 calls.

    """
    stored = ModelMessagesTypeAdapter.dump_json([response])
    if len(stored) > MAX_REPLY_BYTES:
        raise ValueError(f"it has {len(stored):,} bytes, and at most {MAX_REPLY_BYTES:,} are kept")
    # What is nested too deep can be written and never read again.
    pydantic_core.from_json(stored)
    if len(response.tool_calls) > MAX_CALLS_EVER:
        raise ValueError(f"it holds {len(response.tool_calls):,} calls")
    return ModelReply(
        response=stored.decode(),
        text=clip(response.text or "", MAX_OUTPUT_CHARS),
        calls=tuple(
            ProposedCall(part.tool_call_id, clip(part.tool_name, MAX_TOOL_NAME), part.args)
            for part in response.tool_calls
        ),
        usage=Usage(
            requests=1,
            input_tokens=response.usage.input_tokens,
            output_tokens=response.usage.output_tokens,
        ),
    )


def without_calls(response: str, positions: Collection[int]) -> str:
    """Return a stored response without the tool calls at these positions, as if never proposed."""
    message = _load_response(response)
    dropped = [call for n, call in enumerate(message.tool_calls) if n in positions]
    kept = [part for part in message.parts if not any(part is call for call in dropped)]
    return ModelMessagesTypeAdapter.dump_json([replace(message, parts=kept)]).decode()


def to_messages(entries: Sequence[Entry], instructions: str) -> Iterator[ModelMessage]:
    """Yield the model layer's messages; instructions go with every request."""
    for entry in entries:
        if isinstance(entry, UserInput):
            parts = [UserPromptPart(content=entry.text)]
            yield ModelRequest(parts=parts, instructions=instructions or None)
        else:
            yield from _step_messages(entry, instructions)


def _step_messages(step: Step, instructions: str) -> Iterator[ModelMessage]:
    yield _load_response(step.response)
    if step.results:
        edits = {edit.call: edit for edit in step.edits}
        returns = [_tool_return(result, edits.get(result.call)) for result in step.results]
        yield ModelRequest(parts=returns, instructions=instructions or None)


def _tool_return(result: CallResult, edit: ArgumentsEdit | None) -> ToolReturnPart:
    return ToolReturnPart(
        tool_name=result.tool,
        content=result.content if edit is None else _with_edit(result, edit),
        tool_call_id=result.provider_id,
        outcome=_OUTCOMES[result.outcome],
    )


def _with_edit(result: CallResult, edit: ArgumentsEdit) -> Json:
    """Return a result that says what really ran, where a call ran that a person had edited.

    A secret that they put in is theirs, so the model is shown what people are shown.
    """
    if result.outcome is CallOutcome.DENIED:
        return result.content
    shown = redact(json.loads(edit.arguments), edit.secrets)
    return {"note": EDITED_NOTE, "arguments": shown.arguments, "result": result.content}


def _load_response(stored: str) -> ModelResponse:
    try:
        (message,) = ModelMessagesTypeAdapter.validate_json(stored)
    except ValueError as error:
        raise UndecodableRecordError(
            "a stored model response is of a kind this version does not know"
        ) from error
    if not isinstance(message, ModelResponse):
        raise UndecodableRecordError("a stored model response is not a response")
    return message


def _translated(error: Exception) -> Exception:
    match error:
        case exceptions.ModelHTTPError(status_code=status):
            retryable = status >= _SERVER_ERROR or status in _RETRYABLE_STATUS
            return ModelRequestError(f"the model answered {status}", retryable=retryable)
        case exceptions.ModelAPIError() | TimeoutError() | OSError():
            return ModelRequestError(
                f"the model was not reached ({type(error).__name__})", retryable=True
            )
        case _:
            return ModelRequestError(
                f"the model could not be asked ({kind_of(error)}): {text_of(error)}",
                retryable=False,
            )
