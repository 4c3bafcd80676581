"""An agent that deploys: to staging as it likes, to production only when a person lets it.

``holdshort demo`` runs it. To serve it: ``HOLDSHORT_AGENTS=examples.deployer:agent``, with the
name of a model in ``HOLDSHORT_MODEL`` (``openai:gpt-5``); without one, a script stands in.
"""

import json
import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic_ai import RunContext

from engine import Agent, Approvers, PolicyContext, RunScope, ToolOptions, Verdict, ask_human
from engine.ids import PersonId
from examples.deployer_model import choose_model

INSTRUCTIONS = """
You deploy releases. Deploy what you are asked for, to prod, with one call of deploy.
Once it is live in prod, ask with ask_human: Which change ticket covers this?
If prod is denied, deploy to staging instead and say so. If nobody decided in time, say just that.
Answer in one sentence.
"""


def deployer(
    ledger: Path = Path("deployments.jsonl"),
    approvers: Sequence[str] = (),
    approval_timeout: timedelta = timedelta(hours=1),
) -> Agent:
    """Return the agent. Every deployment is a line of the ledger. No approvers: the owner."""

    def deploy(
        ctx: RunContext[RunScope], version: str, env: Literal["staging", "prod"], notes: str = ""
    ) -> str:
        """Deploy a version to an environment.

        Args:
            ctx: The run that calls.
            version: The version to deploy.
            env: Where to deploy it.
            notes: What the people who are asked should know.

        """
        # The op is the same for every attempt of one call, so a repeat could be told from a new
        # deployment by whoever reads the ledger.
        line = {"op": ctx.deps.op, "version": version, "env": env, "notes": notes}
        with ledger.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        return f"release {version} is live in {env}"

    return Agent(
        name="deployer",
        model=choose_model(os.environ.get("HOLDSHORT_MODEL", "")),
        instructions=INSTRUCTIONS,
        tools=[deploy, ask_human],
        approvals={"deploy": ask_beyond_staging},
        options={"deploy": ToolOptions(risk="medium", describe=in_short)},
        approvers=Approvers(people=tuple(PersonId(person) for person in approvers)),
        approval_timeout=approval_timeout,
    )


def ask_beyond_staging(call: Mapping[str, Any], _context: PolicyContext) -> Verdict:
    """Let a deployment to staging go; ask people about any other."""
    return Verdict.ALLOW if call["env"] == "staging" else Verdict.ASK


def in_short(call: Mapping[str, Any]) -> str:
    """Say what one deployment is, for the title of its card."""
    return f"{call['version']} to {call['env']}"


agent = deployer()
