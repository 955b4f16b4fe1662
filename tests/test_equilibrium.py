"""Game trees against plain enumeration, equilibria against best responses and OpenSpiel."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hearts_agents import make_agent
from hearts_env import Game, HeartsError, Rules
from hearts_env.batch.views import BatchView
from hearts_env.solve import equilibrium, walk
from hearts_env.solve.best_response import best_response, exploitability_of
from hearts_env.solve.equilibrium import SHIPPED, Solver, load
from hearts_env.solve.tree import Tree, count_tree
from hearts_env.solve.walk import Walk
from hearts_train.equilibria import solve
from tests.slow import quick_cases
from tests.test_exploit import all_deals


@pytest.fixture(scope="module")
def micro():
    return Tree("micro")


# ---- the tree ------------------------------------------------------------------------------------
DECKS = [
    "micro hand_size=1",
    "micro",
    "micro hand_size=2",
    "micro first_lead=any_club",
    "micro first_lead=eldest_hand hand_size=2",
    "micro queen_any_time=true",
    "micro queen_any_time=true queen_breaks_hearts=true",
    "micro moon=choose",
    "micro kitty_to=first_trick hand_size=2",
    "micro kitty_to=first_heart",
    "micro kitty_to=first_penalty",
    "micro trump=null break_on=heart points_on_first_trick=false no_trick_points=-5",
]


@pytest.mark.parametrize("text", DECKS)
def test_trees_equal_plain_enumeration(text):
    rules = Rules.from_text(text)
    views = [set(), set()]
    sequences = [0, 0]
    deals = positions = lines = 0
    for game in all_deals(rules):
        deals += 1
        waiting = [game]
        while waiting:
            now = waiting.pop()
            positions += 1
            if now.current_player is None:
                lines += 1
                continue
            legal = now.legal_actions()
            if len(legal) > 1:
                seen = now.view(now.current_player).vector.tobytes()
                if seen not in views[now.current_player]:
                    views[now.current_player].add(seen)
                    sequences[now.current_player] += len(legal)
            for action in legal:
                after = now.clone()
                after.play(action)
                waiting.append(after)
    made = Tree(rules)
    size = made.size
    assert (size.deals, size.positions, size.lines) == (deals, positions, lines)
    assert size.infosets == tuple(map(len, views))
    assert size.sequences == tuple(sequences)
    # The information sets are exactly those views.
    for player in range(2):
        shown = {v.tobytes() for _, block in made.blocks(player) for v in block.vectors}
        assert shown == views[player]
        for begin, block in made.blocks(player, 50):
            roles, numbers = made.find(block)
            assert len(block) <= 50
            assert (roles == player).all()
            assert (numbers == begin + np.arange(len(block))).all()


def test_mini_counts_equal_plain_play():
    size = count_tree(Walk(Rules.preset("mini")))
    found = 2 * size.deals, 2 * size.lines, 2 * size.positions  # with either leader
    assert found == (16_632, 7_426_296, 30_401_526)


def test_tree_counting_stops_at_a_limit(monkeypatch):
    monkeypatch.setattr(walk, "_PART", 200)  # lines, of 2,108
    whole = count_tree(Walk(Rules.preset("micro")))
    counted = []
    run = Walk.count

    def noted(self, watch):
        return run(self, lambda totals: [counted.append(int(totals[walk.LINES])), watch(totals)])

    monkeypatch.setattr(Walk, "count", noted)
    deals = walk.walk_bytes(whole.rules) / 1e9
    memory = deals + (whole.gigabytes - deals) / 3
    counted.clear()
    with pytest.raises(HeartsError):
        Tree("micro", memory)
    assert 200 <= counted[-1] < whole.lines / 2
    counted.clear()
    assert Tree("micro", whole.gigabytes).size == whole
    assert counted[-1] == whole.lines


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Tree("two_player"), ("max_memory", "5 GB", "1,965,713,400 deals")),
        (lambda: Tree("micro", 1e-4), ("max_memory", "micro", "lines")),
        (lambda: Tree("classic"), ("rules", "4 players")),
        (lambda: Tree("micro pass_count=1 pass_rotation=left"), ("rules", "exchange")),
        (lambda: Solver(Tree("micro"), num_threads=0), ("num_threads", "0")),
        (lambda: solve("micro", target=-1), ("target", "-1")),
        (lambda: solve("micro", save_to="/no/such/folder/file.safetensors"), ("save_to", "folder")),
    ],
)
def test_invalid_tree_or_solver_argument_is_refused(make, words):
    with pytest.raises(HeartsError) as error:
        make()
    assert all(word in str(error.value) for word in words), error.value


# ---- solving -------------------------------------------------------------------------------------
# Best responses prove an equilibrium. test_exploit.py checks them against a plain search.
@pytest.mark.parametrize("text", DECKS)
def test_solver_finds_an_equilibrium(text):
    found = solve(text, target=1e-8, iterations=20_000)
    assert found.exploitability < 1e-6
    check_figures(found)


def check_figures(found):
    """Check value and exploitability against plain play and best responses."""
    won = [best_response(found.tree, p, found.chances[1 - p]).value for p in range(2)]
    assert sum(won) / 2 == pytest.approx(found.exploitability, abs=1e-13)
    assert -won[1] - 1e-12 <= found.value <= won[0] + 1e-12
    assert found.tree.value(*found.chances) == pytest.approx(found.value, abs=1e-12)


def test_iterations_agree_with_the_formulas_in_plain_python():
    deck = Tree("micro first_lead=any_club")  # later iterations meet ties, which rounding decides
    solver = Solver(deck)
    for _ in range(8):
        solver.step()
    for one, two in zip(solver.chances(), plain_iterations(deck, 8), strict=True):
        assert one == pytest.approx(two, abs=1e-9)


def plain_iterations(deck, number):
    """Return the average policies after some iterations, by the formulas of docs/exact.md."""
    infosets = [
        [list(range(first, last)) for first, last in itertools.pairwise(side.first.tolist())]
        for side in deck.sides
    ]
    chances = [side.uniform().tolist() for side in deck.sides]
    regrets = [[0.0] * side.num_sequences for side in deck.sides]
    sums = [[0.0] * side.num_sequences for side in deck.sides]

    def plan(p):
        made = [1.0] * deck.sides[p].num_sequences
        for parent, sequences in zip(deck.sides[p].parent, infosets[p], strict=True):
            for j in sequences:
                made[j] = made[parent] * chances[p][j]
        return made

    lines = list(zip(deck.ends.T.tolist(), deck.margins.tolist(), strict=True))

    def kept(t):
        return t**2.3 / (t**2.3 + 1)

    for t in range(1, number + 1):
        for p, side in enumerate(deck.sides):
            others = plan(1 - p)
            earned = [0.0] * side.num_sequences
            for ends, margin in lines:
                earned[ends[p]] += (1 - 2 * p) * margin * others[ends[1 - p]]
            for parent, js in reversed(list(zip(side.parent, infosets[p], strict=True))):
                mean = sum(chances[p][j] * earned[j] for j in js)
                earned[parent] += mean
                chosen = {}
                for j in js:
                    r, old = earned[j] - mean, regrets[p][j]
                    new = max(kept(t - 1) * old + r, 0)
                    chosen[j] = max(kept(t) * new + r, 0)
                    regrets[p][j] = new
                total = sum(chosen.values())
                for j in js:
                    chances[p][j] = chosen[j] / total if total else 1 / len(js)
            for j, share in enumerate(plan(p)):
                sums[p][j] += t**5 * share
    averages = [side.uniform() for side in deck.sides]
    for p in range(2):
        for js in infosets[p]:
            total = sum(sums[p][j] for j in js)
            for j in js:
                averages[p][j] = sums[p][j] / total if total else 1 / len(js)
    return averages


def test_threads_do_not_change_the_result(micro, monkeypatch):
    monkeypatch.setattr(equilibrium, "_TASK", 100)  # lines, of 2,108
    solvers = [Solver(micro, num_threads=n) for n in (1, 2)]
    for solver in solvers:
        for _ in range(30):
            solver.step()
    for one, two in zip(*(solver.chances() for solver in solvers), strict=True):
        assert np.array_equal(one, two)


@quick_cases("deck", SHIPPED, ["micro"])
def test_shipped_policies_are_equilibria(deck):
    found = load(deck)
    assert found.rules == Rules.preset(deck)
    assert found.exploitability < 1e-5


# ---- the player ----------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def player(micro, tmp_path_factory):
    file = tmp_path_factory.mktemp("solved") / "micro.safetensors"
    solve(micro, target=1e-9).save(file)
    return make_agent(str(file), seed=1)


def test_equilibrium_agent_plays_both_seats(micro, player):
    assert exploitability_of(player, micro).exploitability < 1e-4
    assert not exploitability_of(player, micro).is_sampled_once
    for game in itertools.islice(all_deals(micro.rules), 0, None, 7):
        hands = [game.hand(0), game.hand(1)]
        mirrored = Game(micro.rules, hands=hands[::-1], kitty=game.kitty, deal_number=0, dealer=0)
        while game.current_player is not None:
            views = [game.view(game.current_player), mirrored.view(mirrored.current_player)]
            assert views[0].player != views[1].player
            tables = [player.action_probs(BatchView.of([view])) for view in views]
            assert np.array_equal(*tables)
            action = player.act(views[0])
            assert action in game.legal_actions()
            game.play(action)
            mirrored.play(action)
