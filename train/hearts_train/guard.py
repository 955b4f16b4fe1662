"""Asking an agent that may misbehave: what it answers, and what it did wrong.

An agent that raises, answers with something that is not a legal action, or changes the views that
it is given, commits a *fault*: its deal is charged to it, and all others go on. A card's name is as
good an answer as the action's number.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_agents import Agent
from hearts_agents.base import Adapted
from hearts_agents.network import NetworkAgent
from hearts_agents.search import SEARCHERS
from hearts_agents.solved import EquilibriumAgent, SolvedAgent
from hearts_agents.table import AGENTS
from hearts_env import IllegalActionError
from hearts_env.batch import BatchView
from hearts_env.game import action_number

RAISED, ILLEGAL, TAMPERED, CRASHED, LATE = "raised", "illegal", "tampered", "crashed", "late"
KINDS = (RAISED, ILLEGAL, TAMPERED, CRASHED, LATE)

NO_ACTION = -1
_MOST_TEXT = 500
_OURS = frozenset(
    [*AGENTS.values(), *SEARCHERS.values(), NetworkAgent, SolvedAgent, EquilibriumAgent]
)


@dataclass(frozen=True)
class Fault:
    """What an agent did wrong in one row of the views that it was asked about.

    Attributes:
        row: The row.
        kind: One of `KINDS`.
        text: What happened, in one line.
    """

    row: int
    kind: str
    text: str


Answer = tuple[NDArray[np.int64], list[Fault]]
"""One action a row, `NO_ACTION` where there is a fault; and the faults, one a row at most."""


def ask(agent: Agent, views: BatchView) -> Answer:
    """What `agent` answers; it may do with `views` what it likes."""
    if is_ours(agent):  # tested not to touch its views
        return check(agent.act_batch(views), views)
    if isinstance(agent, Adapted):
        return _ask_each(agent.player.act, views)
    if _asks_one_by_one(agent):
        return _ask_each(agent.act, views)
    before = views.vectors.copy(), views.players.copy()
    try:
        given: Any = agent.act_batch(views)
        if not isinstance(given, np.ndarray | str):  # an iterator may do more, and for ever
            given = list(itertools.islice(given, len(views) + 1))
    except (Exception, SystemExit):
        # One view may have been too much for it: which, is seen when they are asked one by one.
        untouched = BatchView(views.rules, *before)
        return _ask_each(lambda view: _only(agent.act_batch(BatchView.of([view]))), untouched)
    if views.vectors.shape != before[0].shape or views.players.shape != before[1].shape:
        changed = np.ones(len(before[0]), np.bool_)
    else:
        changed = (views.vectors != before[0]).any(axis=1) | (views.players != before[1])
    actions, faults = check(given, BatchView(views.rules, *before))
    return _with_faults(actions, faults, changed)


def is_ours(agent: object) -> bool:
    """Whether an agent is one of the package's own, all through."""
    model = getattr(agent, "model", None)
    return type(agent) in _OURS and (model is None or is_ours(model))


def check(given: Any, views: BatchView) -> Answer:
    """The actions that an agent gave for many views at once, and what is wrong with them."""
    size = len(views)
    if isinstance(given, np.ndarray) and given.shape == (size,) and given.dtype.kind in "iu":
        actions = given.astype(np.int64)
        inside = (actions >= 0) & (actions < views.rules.num_actions)
        legal = inside & (views.legal_masks >> np.where(inside, actions, 0) & 1 == 1)
        if legal.all():
            return actions, []
        wrong = np.flatnonzero(~legal).tolist()
        faults = [Fault(row, ILLEGAL, _illegal(views, row, int(actions[row]))) for row in wrong]
        actions[wrong] = NO_ACTION
        return actions, faults
    try:
        listed = list(given)
    except TypeError:
        listed = []
    if isinstance(given, str) or len(listed) != size:
        text = f"gave {_shown(given)} for {size} views; give one action for each"
        return np.full(size, NO_ACTION), [Fault(row, ILLEGAL, text) for row in range(size)]
    actions, faults = np.full(size, NO_ACTION), []
    masks = views.legal_masks.tolist()
    for row, value in enumerate(listed):
        number, fault = _number(views, row, value, masks[row])
        actions[row] = number
        faults += fault
    return actions, faults


def _ask_each(act: Callable[[Any], Any], views: BatchView) -> Answer:
    """Ask about one view after another, so that a fault concerns none but its own."""
    actions, faults = np.full(len(views), NO_ACTION), []
    masks = views.legal_masks.tolist()
    changed = np.zeros(len(views), np.bool_)
    for row in range(len(views)):
        view = views[row]  # a copy
        try:
            given = act(view)
        except (Exception, SystemExit) as error:
            faults.append(Fault(row, RAISED, describe(error)))
            continue
        finally:
            changed[row] = view.vector.shape != views.vectors[row].shape or bool(
                (view.vector != views.vectors[row]).any()
            )
        actions[row], fault = _number(views, row, given, masks[row])
        faults += fault
    return _with_faults(actions, faults, changed)


def _number(views: BatchView, row: int, given: Any, mask: int) -> tuple[int, list[Fault]]:
    try:
        number = action_number(views.rules, given)
    except IllegalActionError as error:
        return NO_ACTION, [Fault(row, ILLEGAL, str(error)[:_MOST_TEXT])]
    except Exception as error:  # what an odd object does when it is asked for its number
        return NO_ACTION, [Fault(row, ILLEGAL, describe(error))]
    if not (0 <= number < views.rules.num_actions and mask >> number & 1):
        return NO_ACTION, [Fault(row, ILLEGAL, _illegal(views, row, number))]
    return number, []


def _with_faults(
    actions: NDArray[np.int64], faults: list[Fault], changed: NDArray[np.bool_]
) -> Answer:
    """The same, with changed views counted as faults."""
    if not changed.any():
        return actions, faults
    known = {fault.row for fault in faults}
    text = "changed the view that it was given"
    faults = faults + [
        Fault(row, TAMPERED, text) for row in np.flatnonzero(changed).tolist() if row not in known
    ]
    actions[changed] = NO_ACTION
    return actions, sorted(faults, key=lambda fault: fault.row)


def _only(given: Any) -> Any:
    """The one action in the answer about one view."""
    return given[0] if isinstance(given, list | tuple) and len(given) == 1 else given


def _asks_one_by_one(agent: Agent) -> bool:
    return getattr(type(agent), "act_batch", None) is Agent.act_batch


def _illegal(views: BatchView, row: int, action: int) -> str:
    legal = ", ".join(map(str, views[row].legal_actions()))
    return f"action {action} is not legal; legal were {legal}"


def _shown(given: Any) -> str:
    if isinstance(given, np.ndarray):
        return f"an array of shape {given.shape} and dtype {given.dtype}"
    return f"a {type(given).__name__}"


def describe(error: BaseException) -> str:
    """An exception in one line."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:
        text = type(error).__name__
    return " ".join(text.split())[:_MOST_TEXT]
