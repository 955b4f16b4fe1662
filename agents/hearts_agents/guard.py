"""Asking an agent that may misbehave: what it answers, and what it did wrong.

An agent that raises, answers with something that is not a legal action, or changes the views that
it is given, commits a *fault*: its deal is charged to it, and all others continue. Whatever it
raises counts as its own, except what a signal raises meanwhile. A card's name is as good an answer
as the action's number.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_agents.base import Agent, AgentAdapter
from hearts_agents.models.network import NetworkAgent
from hearts_agents.models.solved import SolvedAgent
from hearts_agents.programs.process import CRASHED, ILLEGAL, LATE, Failure
from hearts_agents.programs.program_agent import ExternalAgent
from hearts_agents.registry import OWN, find_factory
from hearts_agents.user_code import describe
from hearts_env import IllegalActionError, PlayerView
from hearts_env.batch.views import BatchView
from hearts_env.support.arrays import Ints
from hearts_env.support.interrupts import signals_apart

RAISED, TAMPERED = "raised", "tampered"
KINDS = (RAISED, ILLEGAL, TAMPERED, CRASHED, LATE)

NO_ACTION = -1
_MOST_TEXT = 500
_OURS = frozenset([*map(find_factory, OWN), NetworkAgent, SolvedAgent])


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


def is_ours(agent: object) -> bool:
    """Whether an agent is one of the package's own, its model included."""
    if type(agent) not in _OURS:
        return False
    model = getattr(agent, "model", None)
    return model is None or is_ours(model)


# ---- asking --------------------------------------------------------------------------------------
def ask(agent: Agent, views: BatchView, games: Ints | None = None) -> Answer:
    """What `agent` answers; it may do anything with `views`. A program is told which `games`.

    What a signal raises meanwhile, as Ctrl-C does, passes through, even if the agent caught it.
    """
    if is_ours(agent):  # tested not to touch its views
        return check(agent.act_batch(views), views)
    if type(agent) is ExternalAgent:  # the program has copies of them
        return check_rest(
            *agent.answers(views, None if games is None else games.tolist()), views=views
        )
    with signals_apart() as check_signals:
        answer = _ask_outside(agent, views, check_signals)
        check_signals()
    return answer


def ask_one(agent: Agent, view: PlayerView, seed: int | None = None) -> tuple[int, Fault | None]:
    """What `agent` answers in one position; `NO_ACTION` with a fault.

    Args:
        agent: who is asked.
        view: what it is asked about.
        seed: of its random numbers from here on; None: they continue.
    """
    with signals_apart() as check_signals:
        try:
            reseed = getattr(agent, "reseed", None)
            if seed is not None and callable(reseed):
                reseed(seed)
        except BaseException as error:
            check_signals()
            return NO_ACTION, Fault(0, RAISED, describe(error))
        actions, faults = ask(agent, BatchView.of([view]))
    return int(actions[0]), faults[0] if faults else None


def _ask_outside(agent: Agent, views: BatchView, check_signals: Callable[[], None]) -> Answer:
    player: Any = agent.player if isinstance(agent, AgentAdapter) else agent
    act_batch = getattr(player, "act_batch", None)
    if not callable(act_batch) or getattr(type(player), "act_batch", None) is Agent.act_batch:
        return _ask_each(player.act, views, check_signals)
    parts = views.rules, views.vectors, views.players
    before = BatchView(views.rules, views.vectors.copy(), views.players.copy())
    try:
        given: Any = agent.act_batch(views)
        if isinstance(given, np.ndarray):
            given = np.asarray(given)  # not of a subclass
        elif not isinstance(given, str):  # an iterator may be endless, and run code
            given = list(itertools.islice(given, len(before) + 1))
    except BaseException:
        check_signals()

        # A single view may be the cause; asking about one after another shows which.
        def act(view: PlayerView) -> Any:
            return _only(agent.act_batch(BatchView.of([view])))

        return _ask_each(act, before, check_signals)
    changed = _changed(parts[1], before.vectors).any(axis=1) | _changed(parts[2], before.players)
    now = views.rules, views.vectors, views.players
    changed |= any(is_now is not was for is_now, was in zip(now, parts, strict=True))
    actions, faults = check(given, before)
    return _with_changed(actions, faults, changed)


def _ask_each(
    act: Callable[[Any], Any], views: BatchView, check_signals: Callable[[], None]
) -> Answer:
    """Ask about one view after another, so that a fault affects its own view only."""
    actions, faults = np.full(len(views), NO_ACTION), []
    masks = views.legal_masks.tolist()
    changed = np.zeros(len(views), np.bool_)
    for row in range(len(views)):
        view = views[row]  # a copy
        vector = view.vector
        try:
            given = act(view)
        except BaseException as error:
            check_signals()
            faults.append(Fault(row, RAISED, describe(error)))
            continue
        finally:
            changed[row] = view.vector is not vector or _changed(vector, views.vectors[row]).any()
        actions[row], fault = _chosen(views, row, given, masks[row])
        faults += fault
    return _with_changed(actions, faults, changed)


def _only(given: Any) -> Any:
    """The one action in the answer about one view."""
    if isinstance(given, Iterator):
        given = list(itertools.islice(given, 2))
    return given[0] if isinstance(given, list | tuple) and len(given) == 1 else given


def _changed(now: NDArray[np.int64], before: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which numbers differ; all of them if the shape or dtype was changed."""
    if now.shape != before.shape or now.dtype != before.dtype:
        return np.ones(before.shape, np.bool_)
    return now != before


def _with_changed(actions: Ints, faults: list[Fault], changed: NDArray[np.bool_]) -> Answer:
    """The same, with changed views counted as faults."""
    actions[changed] = NO_ACTION
    text = "changed the view that it was given"
    rows = {*np.flatnonzero(changed).tolist()} - {fault.row for fault in faults}
    return actions, _sorted([*faults, *(Fault(row, TAMPERED, text) for row in rows)])


# ---- checking ------------------------------------------------------------------------------------
def check(given: Any, views: BatchView) -> Answer:
    """The actions that an agent gave for many views at once, and what is wrong with them."""
    size = len(views)
    if isinstance(given, np.ndarray) and given.shape == (size,) and given.dtype.kind in "iu":
        actions = given.astype(np.int64)
        inside = (actions >= 0) & (actions < views.rules.num_actions)
        if (inside & (views.legal_masks >> np.where(inside, actions, 0) & 1 == 1)).all():
            return actions, []
        given = actions.tolist()
    try:
        listed = list(given)
    except TypeError:
        listed = []
    actions, faults = np.full(size, NO_ACTION), []
    if isinstance(given, str) or len(listed) != size:
        text = f"gave {_shown(given)} for {size} views; give one action for each"
        return actions, [Fault(row, ILLEGAL, text) for row in range(size)]
    masks = views.legal_masks.tolist()
    for row, value in enumerate(listed):
        actions[row], fault = _chosen(views, row, value, masks[row])
        faults += fault
    return actions, faults


def check_rest(given: Any, failures: list[Failure], *, views: BatchView) -> Answer:
    """The same for an agent in another process, which failed in some of the rows."""
    if not failures:
        return check(given, views)
    faults = [Fault(row, kind, text[:_MOST_TEXT]) for row, kind, text in failures]
    actions = np.full(len(views), NO_ACTION)
    rest = np.setdiff1d(np.arange(len(views)), [fault.row for fault in faults])
    if len(rest):
        actions[rest], more = check([given[row] for row in rest.tolist()], views.subset(rest))
        faults += [Fault(int(rest[fault.row]), fault.kind, fault.text) for fault in more]
    return actions, _sorted(faults)


def _chosen(views: BatchView, row: int, given: Any, mask: int) -> tuple[int, list[Fault]]:
    """The action that an answer about a row means, if it is legal."""
    try:
        number = views.rules.action_number(given)
    except IllegalActionError as error:
        return NO_ACTION, [Fault(row, ILLEGAL, str(error)[:_MOST_TEXT])]
    except BaseException as error:  # whatever an odd object does when it is converted to a number
        return NO_ACTION, [Fault(row, ILLEGAL, describe(error))]
    if 0 <= number < views.rules.num_actions and mask >> number & 1:
        return number, []
    name = views.rules.action_name
    legal = ", ".join(f"{one} ({name(one)})" for one in views[row].legal_actions())
    text = f"action {number} is not legal; legal were {legal}"
    return NO_ACTION, [Fault(row, ILLEGAL, text)]


def _sorted(faults: list[Fault]) -> list[Fault]:
    return sorted(faults, key=lambda fault: fault.row)


def _shown(given: Any) -> str:
    if isinstance(given, np.ndarray):
        return f"an array of shape {given.shape} and dtype {given.dtype}"
    return f"a {type(given).__name__}"
