"""Check reference results a second time, without the code that measured them.

    python docs/check_reference.py [RESULT ...] [--players FOLDER]

RESULT is a part of the name of a file in ``docs/results/reference``. If none is given, all are
checked. The policies are in the folder where ``docs/libraries.py`` leaves them. The check requires:

- The result is consistent: its name is that of its file, its margin is the mean of those over its
  opponents, the decisions fit the budget, and no action was illegal. No other result is of the same
  policy.
- The policy's file has the digest, the rules, the number of weights, the settings, the opponents,
  the number of settings tried, the decisions and the processor seconds of the result. Each point
  of the curve has the decisions and the processor seconds of its snapshot. The last point is the
  policy itself.
- The policy has learned: its weights are not those of its first snapshot, and it beats ``easy``.
- Its margins over ``easy`` and ``pro``, and those of its snapshots over ``pro``, are those of the
  result when played again in a plain loop over the PettingZoo environment.
- Its exploitability on ``mini`` or ``micro`` and that of its snapshots, computed again by another
  algorithm, are the same.

The file is read by hand, and the network is computed in float64. Only the rules, the observations
and the players ``easy`` and ``pro`` come from the package. Results whose policies are missing are
listed as unchecked. The exit status is 1 if a result does not hold, or if one that was asked for is
unchecked.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numba
import numpy as np

from hearts_agents import make_agent
from hearts_env import Game, Rules, hearts_v0
from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.seeds import derived_seed

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results" / "reference"
PLAYERS = ROOT / "build" / "examples" / "players"
OPPONENTS = ("easy", "pro")
DEALS = {"two_player": 2000, "mini": 5000, "micro": 5000}
"""Duplicate deals of a result."""
CURVE_DEALS = 500
"""Duplicate deals of a point of a learning curve."""
EXACT = ("mini", "micro")
MOST_APART = 3.29
"""Most standard errors between two margins of a policy that samples. One honest result in 1,000
differs by more. Both are of the same deals, so the variance of their difference is at most twice
the variance of a margin."""
MARGIN_ROUNDED, EXACT_ROUNDED = 0.03, 1e-4
"""Most that float32 instead of float64 changes in points per deal. A greedy policy may play another
card where two have nearly the same output."""
MEAN_ROUNDED = 1e-6
"""Most that the margin of a result differs from the mean of its rounded margins."""
MOST_LATER = 1.0
"""Most processor seconds from the writing of the policy's file to the end of its run."""


class Wrong(Exception):
    """The first error of a result."""


# ---- the policy ----------------------------------------------------------------------------------
class Policy:
    """A policy network, read from its safetensors file.

    Attributes:
        header: the header's values.
        arrays: the weights by name.
        greedy: True if the policy is greedy, False if it samples.
    """

    def __init__(self, path: Path) -> None:
        """Read the length of the header, the header and the arrays."""
        data = path.read_bytes()
        start = 8 + int.from_bytes(data[:8], "little")
        places = json.loads(data[8:start])
        self.header: dict[str, str] = places.pop("__metadata__")
        self.arrays = {}
        for name, place in sorted(places.items()):
            begin, end = (start + offset for offset in place["data_offsets"])
            numbers = np.frombuffer(data[begin:end], {"F16": "<f2", "F32": "<f4"}[place["dtype"]])
            self.arrays[name] = numbers.reshape(place["shape"]).astype(np.float32)
        self.greedy = self.header.get("greedy") != "false"
        self._is_tanh = self.told("network")["activation"] == "tanh"
        exact = {name: array.astype(np.float64) for name, array in self.arrays.items()}
        names = [(f"policy.{i}.weight", f"policy.{i}.bias") for i in range(len(exact) // 2)]
        self._layers = [(exact[weight].T, exact[bias]) for weight, bias in names]

    def told(self, name: str) -> Any:
        """Return a value of the header."""
        return json.loads(self.header[name])

    @property
    def training(self) -> dict[str, Any]:
        """What the recipe wrote about the training, empty if nothing."""
        return self.told("training") if "training" in self.header else {}

    def digest(self) -> str:
        """Return the digest of the player: of its weights, activation and mode."""
        digest = hashlib.sha256()
        for array in self.arrays.values():
            digest.update(array.tobytes())
        digest.update(b"tanh" * self._is_tanh + b"sampled" * (not self.greedy))
        return digest.hexdigest()

    def probabilities(self, observations: np.ndarray, legal: np.ndarray) -> np.ndarray:
        """Return the probability of each action, ``(n, actions)``."""
        x = observations.reshape(len(observations), -1).astype(np.float64)
        for i, (weight, bias) in enumerate(self._layers):
            if i:
                x = np.tanh(x) if self._is_tanh else np.maximum(x, 0.0)
            x = x @ weight + bias
        x = np.where(legal, x, -np.inf)
        if self.greedy:
            return np.eye(x.shape[1])[x.argmax(axis=1)]
        weights = np.exp(x - x.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)


# ---- margins -------------------------------------------------------------------------------------
def seed_of(rules: str) -> int:
    """Return the seed of the track's development deals."""
    return int.from_bytes(hashlib.sha256(f"HeartsBench v1 {rules} dev".encode()).digest()[:8]) >> 1


def margins(policy: Policy, rules: str, opponent: str, deals: int) -> np.ndarray:
    """Play duplicate deals, and return the policy's margin in points on each.

    Raises:
        Wrong: if a mask is not that of the game, or the policy plays an illegal action.
    """
    env = hearts_v0.env(rules=rules, observation="flat")
    points = Rules.preset(rules).max_margin
    other, rng = make_agent(opponent, seed=1), np.random.default_rng(1)
    found = np.zeros((deals, 2))
    for number, seat in itertools.product(range(deals), range(2)):
        game = Game.deal(rules, seed=derived_seed(seed_of(rules), number))
        env.reset(options={"game": game})
        for name in env.agent_iter():
            observation, reward, is_over, _, _ = env.last()
            is_own = name == f"player_{seat}"
            if is_over:
                found[number, seat] += reward * points * is_own
                env.step(None)
                continue
            now = env.unwrapped.game
            if is_own:
                mask = observation["action_mask"].astype(bool)
                if np.flatnonzero(mask).tolist() != now.legal_actions():
                    raise Wrong(f"deal {number}: the mask is not that of the legal actions")
                seen = observation["observation"][np.newaxis]
                probabilities = policy.probabilities(seen, mask)[0]
                action = int(rng.choice(len(probabilities), p=probabilities))
                if action not in now.legal_actions():
                    raise Wrong(f"deal {number}: the policy plays an illegal action")
            else:
                action = int(other.act(now.view(1 - seat)))
            env.step(action)
    return found.mean(axis=1)


# ---- exploitability ------------------------------------------------------------------------------
def exploitability(policy: Policy, rules: Rules) -> float:
    """Return the exact exploitability of a policy, for two players without an exchange.

    The best response is in seat 0, over all deals: in half of them it leads first. For each of its
    hands, all hands of the policy are followed together. Where the best response is to act, it
    cannot tell them apart, so it takes the action with the best sum. Where the policy is to act,
    each hand goes on with the probability of each action.
    """
    hands = list(itertools.combinations(rules.deck, rules.hand_size))
    starts: dict[tuple[str, ...], list[np.ndarray]] = {}
    for mine, other in itertools.product(hands, hands):
        if set(mine).isdisjoint(other):
            rest = [card for card in rules.deck if card not in mine + other]
            game = Game(rules, hands=[mine, other], kitty=rest, deal_number=0, dealer=0)
            starts.setdefault(mine, []).append(np.array(game.vector))
    deals = np.array([start for of_hand in starts.values() for start in of_hand])
    places, table = policy_table(policy, rules, deals)
    r, depths = rules.vector, 2 * rules.hand_size + 1
    total = 0.0
    for of_hand in starts.values():
        for leader in range(2):  # both see who holds the first card
            group = [start for start in of_hand if start[k.PLAYER] == leader]
            if group:
                states = np.zeros((depths, len(group), rules.state_size), np.int64)
                states[0], reach = group, np.ones((depths, len(group)))
                legal = np.zeros((depths, len(group)), np.int64)
                total += best(r, states, reach, legal, 0, len(group), 0, places, table)
    return total / len(deals)


def policy_table(policy: Policy, rules: Rules, deals: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return the policy in seat 1: the row of each view with a choice, by its key, and the rows."""
    places = numba.typed.Dict.empty(numba.int64, numba.int64)
    states = np.zeros((2 * rules.hand_size + 1, rules.state_size), np.int64)
    rows, views = [], np.zeros((1 << 16, rules.state_size), np.int64)
    _, firsts = np.unique(deals[:, k.HANDS + k.SEAT], return_index=True)
    for own in deals[firsts, k.HANDS + k.SEAT]:
        before = len(places)
        for start in deals[deals[:, k.HANDS + k.SEAT] == own]:
            states[0] = start
            collect(rules.vector, states, 0, 0, places, views, before)
        seen = views[: len(places) - before]
        if len(seen):
            batch = BatchView(rules, seen, np.ones(len(seen), np.int64))
            rows.append(policy.probabilities(batch.observe("flat"), batch.legal_table))
    return places, np.concatenate(rows)


@numba.njit
def key_of(s: np.ndarray, history: int) -> int:
    """Return a number of seat 1's view: its hand at the start, and the cards played by both."""
    return history << 12 | k.hand_at_start(s, 1)


@numba.njit
def collect(
    r: np.ndarray,
    states: np.ndarray,
    depth: int,
    history: int,
    places: Any,
    views: np.ndarray,
    before: int,
) -> int:
    """Add the choices of seat 1 after ``states[depth]`` that are not in `places`, in place."""
    s = states[depth]
    legal = k.legal_mask(r, s)
    has_choice = legal & (legal - 1) != 0
    if s[k.PLAYER] == 1 and has_choice and key_of(s, history) not in places:
        k.write_view(r, s, 1, views[len(places) - before])
        places[key_of(s, history)] = len(places)
    for action in range(12):
        if legal >> action & 1:
            k.copy_state(s, states[depth + 1])
            k.play(r, states[depth + 1], action)
            collect(r, states, depth + 1, history << 4 | action + 1, places, views, before)
    return 0


@numba.njit
def best(
    r: np.ndarray,
    states: np.ndarray,
    reach: np.ndarray,
    legal: np.ndarray,
    depth: int,
    count: int,
    history: int,
    places: Any,
    table: np.ndarray,
) -> float:
    """Return the best margin of seat 0, summed over ``states[depth, :count]``.

    Args:
        r: the rules.
        states: ``(depths, hands, state size)``, working memory below `depth`.
        reach: the probability with which the policy has played so, for each state.
        legal: working memory for the legal actions in each state.
        depth: the number of cards played.
        count: the number of hands that seat 1 may have.
        history: the cards played, four bits each.
        places: the row of each view of the policy.
        table: the policy, ``(views, actions)``.
    """
    if states[depth, 0, k.PHASE] == k.OVER:
        total = 0.0
        for i in range(count):
            total += reach[depth, i] * k.margin_sum(r, states[depth, i], 0)
        return total
    is_own = states[depth, 0, k.PLAYER] == 0
    total, any_legal = -np.inf if is_own else 0.0, 0
    for i in range(count):
        legal[depth, i] = k.legal_mask(r, states[depth, i])
        any_legal |= legal[depth, i]
    for action in range(12):
        if not any_legal >> action & 1:
            continue
        after = 0
        for i in range(count):
            s = states[depth, i]
            if legal[depth, i] >> action & 1:
                probability = 1.0
                if not is_own and legal[depth, i] & (legal[depth, i] - 1):
                    probability = table[places[key_of(s, history)], action]
                if probability > 0.0:
                    k.copy_state(s, states[depth + 1, after])
                    k.play(r, states[depth + 1, after], action)
                    reach[depth + 1, after] = reach[depth, i] * probability
                    after += 1
        if after:
            code = history << 4 | action + 1
            value = best(r, states, reach, legal, depth + 1, after, code, places, table)
            total = max(total, value) if is_own else total + value
    return total


# ---- the check -----------------------------------------------------------------------------------
def check(file: Path, players: Path, deals: int | None = None) -> str:
    """Check a result, and return its figures.

    Args:
        file: the result.
        players: the folder of the policies.
        deals: the duplicate deals that were played, instead of all.

    Raises:
        Wrong: if it does not hold.
    """
    check_alone(file, deals)
    record, path = json.loads(file.read_bytes()), players / f"{file.stem}.safetensors"
    policy, final, rules = Policy(path), record["final"], record["rules"]
    check_policy(policy, record, file.stem)
    snapshots = check_curve(policy, record["curve"], path)
    told = [compared(policy, rules, name, final, deals or DEALS[rules]) for name in OPPONENTS]
    if rules in EXACT:
        told.append(same_exploitability(policy, rules, final))
    for number, (snapshot, point) in enumerate(zip(snapshots, record["curve"], strict=True), 1):
        then = {"opponents": {"pro-v1": point["margins"]["pro"]}}
        try:
            compared(snapshot, rules, "pro", then, deals or CURVE_DEALS)
            if rules in EXACT:
                same_exploitability(snapshot, rules, point)
        except Wrong as error:
            raise Wrong(f"curve: point {number}: {error}") from None
    return ", ".join(told)


def raise_first(*found: tuple[bool, str]) -> None:
    """Raise the first text whose condition is true.

    Raises:
        Wrong: if there is one.
    """
    for is_wrong, text in found:
        if is_wrong:
            raise Wrong(text)


def check_alone(file: Path, deals: int | None = None) -> None:
    """Check what needs no policy.

    Raises:
        Wrong: if the result contradicts itself, or is of the same policy as another.
    """
    record = json.loads(file.read_bytes())
    final, rules = record["final"], record["rules"]
    mean = float(np.mean([*final["opponents"].values()]))
    name = f"{record['example']}-{rules}-{record['budget']}-{record['seed']}"
    raise_first(
        (name != file.stem, f"the example, rules, budget and seed are those of {name}"),
        (record["decisions"] > record["budget"], "the decisions exceed the budget"),
        (record["illegal"] + final["faults"] > 0, "it has played illegal actions"),
        (final["deals"] != (deals or DEALS[rules]), "it has played another number of deals"),
        (
            not abs(final["margin"] - mean) <= MEAN_ROUNDED,
            f"the margin is {final['margin']:+.6f}, but the mean over its opponents {mean:+.6f}",
        ),
        (
            not final["ci95"][0] <= final["margin"] <= final["ci95"][1],
            "the margin is not in its interval",
        ),
        (final["opponents"]["easy-v1"] <= 0, "it does not beat easy, as if untrained"),
    )
    for other in sorted(file.parent.glob("*.json")):
        if other != file and json.loads(other.read_bytes())["final"]["digest"] == final["digest"]:
            raise Wrong(f"the policy has the same digest as that of {other.stem}")


def check_policy(policy: Policy, record: dict[str, Any], name: str) -> None:
    """Check what the policy's file says of itself.

    Raises:
        Wrong: if the result says something else.
    """
    training = policy.training
    facts = ("settings", "opponents", "greedy", "decisions", "cpu_seconds")
    told = Rules.from_dict(policy.told("rules"))
    weights = sum(array.size for array in policy.arrays.values())
    raise_first(
        (policy.digest() != record["final"]["digest"], "the policy has another digest"),
        (told != Rules.preset(record["rules"]), "the policy has other rules"),
        (policy.greedy != record["greedy"], "the policy has another mode"),
        (weights != record["weights"], f"weights: {record['weights']}, but {weights} in its file"),
        *((fact not in training, f"{fact}: the policy's file has none") for fact in facts),
        *((fact not in record, f"{fact}: the result has none") for fact in facts),
    )
    for fact in (*facts[:-1], "tried"):
        if training.get(fact) != record.get(fact):
            raise Wrong(
                f"{fact}: {record.get(fact)}, but {training.get(fact)} in the policy's file"
            )
    cpu, seconds = training["cpu_seconds"], record["cpu_seconds"]
    raise_first(
        (training.get("name") != name, f"the policy's file is that of {training.get('name')}"),
        (
            not cpu <= seconds <= cpu + MOST_LATER,
            f"cpu_seconds: {seconds}, but {cpu} in the policy's file",
        ),
    )


def check_curve(policy: Policy, curve: Sequence[dict[str, Any]], path: Path) -> list[Policy]:
    """Check a learning curve against its snapshots, and return these with the policy.

    Raises:
        Wrong: if a snapshot is missing or another, or the policy has not changed since the first.
    """
    paths = sorted(path.parent.glob(f"{path.stem}.[0-9].safetensors"))
    if not paths or len(paths) + 1 != len(curve):
        raise Wrong(
            f"curve: it has {len(curve)} points, the last of them the policy, but "
            f"{path.parent} has {len(paths)} snapshots"
        )
    snapshots = [*map(Policy, paths), policy]
    for number, (snapshot, point) in enumerate(zip(snapshots, curve, strict=True), 1):
        for fact in ("decisions", "cpu_seconds"):
            then, now = point[fact], snapshot.training.get(fact)
            if then != now:
                raise Wrong(f"curve: point {number}: {fact}: {then}, but {now} in its file")
    for file, snapshot in zip(paths, snapshots, strict=False):
        if snapshot.training.get("name") != file.stem:
            raise Wrong(f"curve: {file.name} is that of {snapshot.training.get('name')}")
    first = snapshots[0].arrays
    if all(np.array_equal(array, first[name]) for name, array in policy.arrays.items()):
        raise Wrong("its weights are those of its first snapshot")
    return snapshots


def same_exploitability(policy: Policy, rules: str, record: dict[str, Any]) -> str:
    """Compute an exploitability again, and return it with the one of the result.

    Raises:
        Wrong: if they differ.
    """
    now, then = exploitability(policy, Rules.preset(rules)), record["exploitability"]
    if then is None or not abs(now - then) <= EXACT_ROUNDED:
        raise Wrong(f"exploitability: {then}, now {now:.9f}")
    return f"exploitability {now:.6f} ({then:.6f})"


def compared(policy: Policy, rules: str, name: str, final: dict[str, Any], deals: int) -> str:
    """Play a margin again, and return it with the one of the result.

    Raises:
        Wrong: if they differ by more than chance.
    """
    found, then = margins(policy, rules, name, deals), final["opponents"][f"{name}-v1"]
    now, error = found.mean(), math.sqrt(2 / deals) * found.std(ddof=1)
    # `easy` draws its cards at random, `pro` does not.
    most = MARGIN_ROUNDED if policy.greedy and name == "pro" else MOST_APART * error
    if not abs(now - then) <= most:
        raise Wrong(f"margin over {name}: {then:+.3f}, now {now:+.3f}, more than {most:.3f} apart")
    return f"{name} {now:+.2f} ({then:+.2f})"


def results(parts: Sequence[str]) -> Iterator[Path]:
    """Yield the files of results with a name that contains one of these parts."""
    for file in sorted(RESULTS.glob("*.json")):
        if not parts or any(part in file.stem for part in parts):
            yield file


def main(arguments: Sequence[str] | None = None) -> int:
    """Check results. Return the exit status, 1 if one does not hold or a named one is unchecked."""
    parser = argparse.ArgumentParser(description="Check reference results a second time.")
    parser.add_argument("results", nargs="*", help="parts of the names of results (default: all)")
    parser.add_argument("--players", type=Path, default=PLAYERS, help="the folder of the policies")
    given = parser.parse_args(arguments)
    wrong, files = False, list(results(given.results))
    if not files:
        print(f"no result has {' or '.join(given.results)} in its name", file=sys.stderr)
        return 2
    for file in files:
        if not (given.players / f"{file.stem}.safetensors").exists():
            told, wrong = f"unchecked, {given.players} has no policy", wrong or bool(given.results)
        else:
            try:
                told = f"holds: {check(file, given.players)}"
            except Wrong as error:
                told, wrong = f"does not hold: {error}", True
        print(f"{file.stem}: {told}", flush=True)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
