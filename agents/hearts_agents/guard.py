"""Ask agents that may misbehave, and record their faults.

An agent commits a *fault* if it raises, or answers with anything but a legal action. The deal is
charged to it, and all other deals continue. It gets copies of the views, which it may change. All
exceptions count as its own, except those that a signal raises. It may answer with a card's name or
with the action's number.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pkgutil import resolve_name
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_agents.base import Agent, unadapted
from hearts_agents.isolation import Isolated
from hearts_agents.models.network import NetworkAgent
from hearts_agents.models.solved import SolvedAgent
from hearts_agents.programs.program_agent import ExternalAgent
from hearts_agents.registry import OWN
from hearts_agents.user_code import ILLEGAL, RAISED, Fault, describe
from hearts_env import IllegalActionError, PlayerView
from hearts_env.batch.views import BatchView
from hearts_env.support.interrupts import signals_apart

NO_ACTION = -1
_MOST_TEXT = 500
_OURS = frozenset([*map(resolve_name, OWN.values()), NetworkAgent, SolvedAgent])

Answer = tuple[NDArray[np.int64], list[Fault]]
"""The action of each row, with `NO_ACTION` at a fault, and the faults, at most one per row."""


def is_ours(agent: object) -> bool:
    """Return whether an agent and its model are both the package's own."""
    if type(agent) not in _OURS:
        return False
    model = getattr(agent, "model", None)
    return model is None or is_ours(model)


# ---- asking --------------------------------------------------------------------------------------
def ask(agent: Agent, views: BatchView) -> Answer:
    """Ask `agent` for its actions. It gets copies of `views`, which it may change.

    The exception of a signal such as Ctrl-C passes through, even if the agent caught it.

    Returns:
        The actions ``(len(views),) int64`` and the faults.
    """
    if is_ours(agent):  # tested not to change its views
        return check(agent.act_batch(views), views)
    if type(agent) is ExternalAgent or type(agent) is Isolated:  # its process has copies
        given, faults = agent.answers(views)
        return check(given, views, faults)
    with signals_apart() as check_signals:
        answer = _ask_outside(agent, views, check_signals)
        check_signals()
    return answer


def ask_one(agent: Agent, view: PlayerView, seed: int | None = None) -> tuple[int, Fault | None]:
    """Ask `agent` for its action in one position.

    Args:
        agent: the agent.
        view: the position.
        seed: a new seed for its random numbers. If None, they continue.

    Returns:
        The action, or `NO_ACTION` and a fault.
    """
    with signals_apart() as check_signals:
        try:
            if seed is not None:
                agent.reseed(seed)
        except BaseException as error:
            check_signals()
            return NO_ACTION, Fault(0, RAISED, describe(error))
        actions, faults = ask(agent, BatchView.of([view]))
    return int(actions[0]), faults[0] if faults else None


def _ask_outside(agent: Agent, views: BatchView, check_signals: Callable[[], None]) -> Answer:
    player: Any = unadapted(agent)
    act_batch = getattr(player, "act_batch", None)
    if not callable(act_batch) or getattr(type(player), "act_batch", None) is Agent.act_batch:
        return _ask_each(player.act, views, check_signals)
    own = BatchView(views.rules, views.vectors.copy(), views.players.copy())
    try:
        given: Any = agent.act_batch(own)
        if isinstance(given, np.ndarray):
            given = np.asarray(given)  # drop any subclass
        elif not isinstance(given, str):  # an iterator may be endless, and run code
            given = list(itertools.islice(given, len(views) + 1))
    except BaseException:
        check_signals()

        # A single view may be the cause. Asking one by one shows which.
        def act(view: PlayerView) -> Any:
            return _only(agent.act_batch(BatchView.of([view])))

        return _ask_each(act, views, check_signals)
    return check(given, views)


def _ask_each(
    act: Callable[[Any], Any], views: BatchView, check_signals: Callable[[], None]
) -> Answer:
    """Ask about one view after another, so that a fault affects only its own view."""
    given: list[Any] = [None] * len(views)
    faults: list[Fault] = []
    for row in range(len(views)):
        try:
            given[row] = act(views[row])  # a copy
        except BaseException as error:
            check_signals()
            faults.append(Fault(row, RAISED, describe(error)))
    return check(given, views, faults)


def _only(given: Any) -> Any:
    """Return the only action in the answer to one view."""
    if isinstance(given, Iterator):
        given = list(itertools.islice(given, 2))
    return given[0] if isinstance(given, list | tuple) and len(given) == 1 else given


# ---- checking ------------------------------------------------------------------------------------
def check(given: Any, views: BatchView, faults: Sequence[Fault] = ()) -> Answer:
    """Check an agent's answer to many views.

    Args:
        given: the answer.
        views: the views.
        faults: the faults of rows that have failed already. The answers in these rows are ignored.

    Returns:
        The actions ``(len(views),) int64`` and all faults, by row.
    """
    size = len(views)
    actions = np.full(size, NO_ACTION)
    if faults:
        rest = np.setdiff1d(np.arange(size), [fault.row for fault in faults])
        actions[rest], more = check([given[row] for row in rest.tolist()], views.subset(rest))
        known = [fault._replace(text=fault.text[:_MOST_TEXT]) for fault in faults]
        return actions, sorted(known + [f._replace(row=int(rest[f.row])) for f in more])
    if isinstance(given, np.ndarray) and given.shape == (size,) and given.dtype.kind in "iu":
        numbers = given.astype(np.int64)
        inside = (numbers >= 0) & (numbers < views.rules.num_actions)
        if (inside & (views.legal_masks >> np.where(inside, numbers, 0) & 1 == 1)).all():
            return numbers, []
        given = numbers.tolist()
    try:
        listed = list(given)
    except TypeError:
        listed = []
    if isinstance(given, str) or len(listed) != size:
        text = f"gave {_shown(given)} for {size} views; give one action for each"
        return actions, [Fault(row, ILLEGAL, text) for row in range(size)]
    found = []
    for row, (value, mask) in enumerate(zip(listed, views.legal_masks.tolist(), strict=True)):
        actions[row], wrong = _chosen(views, row, value, mask)
        if wrong:
            found.append(Fault(row, ILLEGAL, wrong[:_MOST_TEXT]))
    return actions, found


def _chosen(views: BatchView, row: int, given: Any, mask: int) -> tuple[int, str]:
    """Return the action that a row's answer means, and "". Or return `NO_ACTION` and the error."""
    rules = views.rules
    try:
        number = rules.action_number(given)
    except IllegalActionError as error:
        return NO_ACTION, str(error)
    except BaseException as error:  # an object may raise anything in __index__
        return NO_ACTION, describe(error)
    if 0 <= number < rules.num_actions and mask >> number & 1:
        return number, ""
    legal = ", ".join(f"{one} ({rules.action_name(one)})" for one in views[row].legal_actions())
    return NO_ACTION, f"action {number} is not legal; legal were {legal}"


def _shown(given: Any) -> str:
    if isinstance(given, np.ndarray):
        return f"an array of shape {given.shape} and dtype {given.dtype}"
    return f"a {type(given).__name__}"
