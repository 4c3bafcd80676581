"""The deployer's model: a real one by name, or a script that reads the history as a model would."""

import re
from collections.abc import Sequence

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.function import AgentInfo, FunctionModel

from engine.errors import ConfigurationError

QUESTION = "Which change ticket covers this?"
_WHY = "CI is green and the change window is open."


def choose_model(name: str) -> Model:
    """Return the model of that name; without a name, the script.

    Raises:
        ConfigurationError: there is no such model, or its library or its key is missing.

    """
    if not name:
        return FunctionModel(script, model_name="scripted")
    try:
        return infer_model(name)
    except ImportError as error:
        raise ConfigurationError(f"HOLDSHORT_MODEL={name}: {_what_to_install(error)}") from error
    except Exception as error:
        # Each provider has errors of its own for a missing key; all their texts say what to do.
        raise ConfigurationError(f"HOLDSHORT_MODEL={name}: {error}") from error


def _what_to_install(error: ImportError) -> str:
    group = re.search(r"pydantic-ai-slim\[([\w-]+)\]", str(error))
    if group is None:
        return str(error)
    package = "holdshort" if group[1] in {"anthropic", "openai"} else "pydantic-ai-slim"
    return f"its library is not installed; pip install '{package}[{group[1]}]'"


def script(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Return the next step: the same for the same history."""
    version, results = _version(messages), _results(messages)
    match [(result.tool_name, result.outcome) for result in results]:
        case []:
            return _call("deploy", _WHY, version=version, env="prod")
        case [("deploy", "success")]:
            return _call("ask_human", question=QUESTION)
        case [("deploy", "denied")] if not _timed_out(results[0]):
            return _call("deploy", version=version, env="staging", notes="prod was denied")
        case _:
            return ModelResponse(parts=[TextPart(_last_words(version, results))])


def _last_words(version: str, results: Sequence[ToolReturnPart]) -> str:
    first, last = results[0], results[-1]
    match [(result.tool_name, result.outcome) for result in results]:
        case [("deploy", "success"), ("ask_human", "success")]:
            return f"{version} is live in prod under {last.content}."
        case [("deploy", "success"), ("ask_human", _)]:
            return f"{version} is live in prod; nobody named a change ticket."
        case [("deploy", "denied"), ("deploy", "success")]:
            return f"{version} went to staging instead; prod was {first.content}"
        case [("deploy", "denied")]:
            return f"Nobody decided in time, so {version} was not deployed."
        case _:
            return f"{version} was not deployed: {last.content}"


def _call(tool: str, words: str = "", **arguments: str) -> ModelResponse:
    said = [TextPart(words)] if words else []
    return ModelResponse(parts=[*said, ToolCallPart(tool, arguments)])


def _timed_out(result: ToolReturnPart) -> bool:
    return "timed out" in str(result.content)


def _results(messages: Sequence[ModelMessage]) -> list[ToolReturnPart]:
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    parts = [part for request in requests for part in request.parts]
    return [part for part in parts if isinstance(part, ToolReturnPart)]


def _version(messages: Sequence[ModelMessage]) -> str:
    parts = [part for message in messages for part in message.parts]
    asked = " ".join(str(part.content) for part in parts if isinstance(part, UserPromptPart))
    found = re.search(r"\d+(\.\d+)+", asked)
    return found[0] if found else "1.4.2"
