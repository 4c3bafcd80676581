"""What is told of remembered rules: in Slack with a button for each, in the terminal in lines."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from bot.replies import Words
from engine.identity import Actor
from engine.remembered import RememberedRule
from notifiers import Message, limits, names, wording
from notifiers.blocks import Block, button, marked, message, plain, section
from notifiers.remember import terms_line
from notifiers.text import made_mrkdwn

_MOST = 12
_ENDED = 3
_LINE = 600


def rules_message(rules: Sequence[RememberedRule], now: datetime, words: Words) -> Message:
    """Return the rules that somebody may see as Slack shows them, those that hold with a button."""
    live = [rule for rule in reversed(rules) if rule.live(now)]
    ended = [rule for rule in reversed(rules) if rule.revoked is not None][:_ENDED]
    if not live and not ended:
        said = "No approval is remembered that concerns you."
        return message(said, [section(plain(said))])
    head = f"*Remembered approvals*: {len(live):,}" if live else "*Remembered approvals*: none"
    blocks = [section(marked(head)), *(_with_button(rule, words) for rule in live[:_MOST])]
    small = list(_below(live, ended, words))
    if small:
        blocks.append(section(marked("\n".join(small))))
    return message(head, blocks)


def rule_lines(rule: RememberedRule, now: datetime, words: Words) -> Iterator[str]:
    """Yield what there is to know of one rule, as plain lines."""
    yield f"{rule.id}  {wording.name(rule.agent)} may run {wording.name(rule.tool)}"
    yield f"  {terms_line(rule.terms, _LINE)}"
    yield f"  {_whose(rule, words)}"
    yield f"  by {_people(rule, words)}, {_until(rule, now, words)}"


def told_revoked(rule: RememberedRule, actor: Actor, words: Words) -> str:
    """Return what whoever revoked a rule is told."""
    end = rule.revoked
    if end is None or end.by.key == actor.key:
        again = "Calls like it are asked for again, but for one that is starting this very moment."
        return f"Revoked: {rule.id}. {again}"
    by, at = words.person(end.by.id), words.moment(end.at)
    return f"{rule.id} was revoked already, by {by}, {at}; nothing changed."


def which_rule() -> str:
    """Return what somebody is told who did not say which rule to revoke."""
    return "Which one? `/holdshort rules` lists them; `/holdshort rules revoke ID` ends one."


def _with_button(rule: RememberedRule, words: Words) -> Block:
    agent, tool = wording.marked_name(rule.agent), wording.marked_name(rule.tool)
    terms = made_mrkdwn(terms_line(rule.terms, _LINE), 2 * _LINE)
    by = f"by {_people(rule, words)}, until {words.moment(rule.expires_at)}"
    said = f"`{rule.id}` *{agent}* may run *{tool}*\n{terms}\n{_whose(rule, words)}, {by}"
    revoke = button("Revoke", names.REVOKE, rule.id, style="danger", label=f"Revoke {rule.id}")
    return {**section(marked(said)), "accessory": revoke}


def _below(
    live: Sequence[RememberedRule], ended: Sequence[RememberedRule], words: Words
) -> Iterator[str]:
    rest = len(live) - _MOST
    if rest > 0:
        yield f"and {rest:,} more; in a terminal: `holdshort rules`"
    for rule in ended:
        end = rule.revoked
        if end is not None:
            at = words.moment(end.at)
            yield f"`{rule.id}` was revoked by {words.person(end.by.id)}, {at}"


def _whose(rule: RememberedRule, words: Words) -> str:
    scope = " in one conversation" if rule.conversation else ""
    return f"for runs of {words.person(rule.owner)}{scope}"


def _people(rule: RememberedRule, words: Words) -> str:
    shown = rule.granted_by[: limits.PEOPLE]
    more = len(rule.granted_by) - len(shown)
    named = [words.person(who) for who in shown] + ([f"{more:,} more"] if more else [])
    return " and ".join(named)


def _until(rule: RememberedRule, now: datetime, words: Words) -> str:
    if rule.revoked is not None:
        at = words.moment(rule.revoked.at)
        return f"revoked by {words.person(rule.revoked.by.id)}, {at}"
    word = "until" if rule.live(now) else "ended at"
    return f"{word} {words.moment(rule.expires_at)}"
