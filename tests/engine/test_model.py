"""One model request: what is kept of a reply, and which faults are worth another try."""

import json
import sys

import pytest
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, UserError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from engine.entries import CallOutcome, CallResult, Step, UserInput
from engine.errors import ModelRequestError, UndecodableRecordError
from engine.ids import CallId
from engine.model import ModelQuestion, ask_model, read_reply, to_messages, why_not_askable


def question(model: FunctionModel) -> ModelQuestion:
    return ModelQuestion(model, "", [UserInput(text="go")], [])


@pytest.mark.parametrize(
    ("fault", "retryable", "said"),
    [
        (ModelHTTPError(503, "m"), True, "answered 503"),
        (ModelHTTPError(429, "m"), True, "answered 429"),
        (ModelHTTPError(401, "m"), False, "answered 401"),
        (ModelAPIError("m", "connection error"), True, "not reached (ModelAPIError)"),
        (TimeoutError(), True, "not reached (TimeoutError)"),
        (ConnectionResetError(), True, "not reached (ConnectionResetError)"),
        (UserError("set OPENAI_API_KEY"), False, "(UserError): set OPENAI_API_KEY"),
        (KeyError("x"), False, "could not be asked (KeyError)"),
    ],
)
async def test_a_fault_says_whether_a_later_try_may_succeed(
    fault: Exception, said: str, *, retryable: bool
) -> None:
    def down(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        raise fault

    with pytest.raises(ModelRequestError) as raised:
        await ask_model(question(FunctionModel(down)))

    assert raised.value.retryable is retryable
    assert said in str(raised.value)
    assert raised.value.__cause__ is fault


def test_a_step_becomes_the_response_it_was_and_the_results_of_its_calls() -> None:
    call = ToolCallPart("deploy", {"version": "1"}, tool_call_id="p1")
    reply = read_reply(ModelResponse(parts=[TextPart("I would like to."), call]))
    result = CallResult(
        call=CallId("0.0"),
        provider_id="p1",
        tool="deploy",
        outcome=CallOutcome.SUCCEEDED,
        content="live",
    )

    said, told = to_messages([Step(response=reply.response, results=(result,))], "Be brief.")

    assert (reply.text, reply.calls[0].provider_id) == ("I would like to.", "p1")
    assert said.parts[1] == call
    assert isinstance(told, ModelRequest)
    assert (told.parts[0].part_kind, told.instructions) == ("tool-return", "Be brief.")


@pytest.mark.parametrize(
    "stored",
    [
        "",
        "[]",
        "not JSON",
        json.dumps([{"kind": "response", "parts": [{"part_kind": "telepathy"}]}]),
        json.dumps([{"kind": "request", "parts": []}]),
    ],
)
def test_a_stored_response_that_this_version_cannot_read_is_refused_as_such(stored: str) -> None:
    with pytest.raises(UndecodableRecordError, match="a stored model response is"):
        list(to_messages([Step(response=stored, results=())], ""))


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("openai:gpt-5", 'pip install "pydantic-ai-slim[openai]"'),
        ("nosuch:model", "Unknown model: nosuch:model"),
        ("gpt-5", "Unknown model: gpt-5"),
        (None, "Error"),
        (3, "Error"),
    ],
)
def test_a_model_that_cannot_be_asked_says_what_it_lacks(
    model: object, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    why = why_not_askable(model)
    assert said in why
    assert "\n" not in why


@pytest.mark.parametrize("model", ["test", FunctionModel(lambda _messages, _info: words())])
def test_a_model_that_can_be_asked_lacks_nothing(model: object) -> None:
    assert why_not_askable(model) == ""


def words() -> ModelResponse:
    return ModelResponse(parts=[TextPart("yes")])
