"""Holdshort's engine: parks and resumes runs, and knows nobody."""

from engine.agents import Agent, RunScope, ToolOptions, ask_human
from engine.engine import RunEngine
from engine.errors import (
    AlreadyDecidedError,
    HoldshortError,
    InvalidAgentDefinitionError,
    InvalidResumeTokenError,
    InvalidRuleError,
    InvalidRunStateError,
)
from engine.identity import Actor, Approvers, StandIn, Via, Vote
from engine.lifecycle.answer import Recorded, validate_resume
from engine.policy import PolicyContext, Verdict
from engine.remembered import RememberedRule, RememberRefusedError, Wish
from engine.rules import Rule, RuleBook
from engine.runs import Origin, Replay, Run, RunStatus
from engine.tickets import (
    Allow,
    Answer,
    AwaitTarget,
    Decision,
    Deny,
    ResumeCommand,
    ResumeTicket,
    Risk,
    Settle,
)
from engine.tokens import TokenClaims, create_resume_token, verify_resume_token

__all__ = [
    "Actor",
    "Agent",
    "Allow",
    "AlreadyDecidedError",
    "Answer",
    "Approvers",
    "AwaitTarget",
    "Decision",
    "Deny",
    "HoldshortError",
    "InvalidAgentDefinitionError",
    "InvalidResumeTokenError",
    "InvalidRuleError",
    "InvalidRunStateError",
    "Origin",
    "PolicyContext",
    "Recorded",
    "RememberRefusedError",
    "RememberedRule",
    "Replay",
    "ResumeCommand",
    "ResumeTicket",
    "Risk",
    "Rule",
    "RuleBook",
    "Run",
    "RunEngine",
    "RunScope",
    "RunStatus",
    "Settle",
    "StandIn",
    "TokenClaims",
    "ToolOptions",
    "Verdict",
    "Via",
    "Vote",
    "Wish",
    "ask_human",
    "create_resume_token",
    "validate_resume",
    "verify_resume_token",
]
