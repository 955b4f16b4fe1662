"""Game trees against plain enumeration, equilibria against a linear program and OpenSpiel."""

from __future__ import annotations

import doctest
import itertools
import json
import re
import signal

import numpy as np
import pytest
from typer.testing import CliRunner

from hearts_agents import make_agent
from hearts_env import BatchGame, CheckpointError, Game, HeartsError, Rules
from hearts_env.batch.views import BatchView
from hearts_env.solve import equilibrium, regret, solved_files, tree
from hearts_env.solve.best_response import exploit, exploitability
from hearts_env.solve.equilibrium import (
    Solver,
    load,
    solve,
)
from hearts_env.solve.linear import solve_linear
from hearts_env.solve.regret import ALGORITHMS
from hearts_env.solve.tree import Tree, TreeSize, estimate, measure
from hearts_train.command import solve_command
from hearts_train.command.cli import app
from tests.perft import count_lines
from tests.refusals import mistake, refused
from tests.slow import few
from tests.test_exploit import all_deals, openspiel_exploitability


@pytest.fixture(scope="module")
def micro():
    return Tree("micro")


@pytest.fixture(scope="module")
def linear(micro):
    pytest.importorskip("scipy")
    return solve_linear(micro)


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


def test_the_example_of_a_tree_is_right():
    results = doctest.testmod(tree)
    assert results.attempted
    assert not results.failed


@pytest.mark.parametrize("text", DECKS)
def test_trees_have_what_plain_enumeration_finds(text):
    rules = Rules.from_text(text)
    views = [set(), set()]
    sequences = [0, 0]
    deals = positions = lines = 0
    for game in all_deals(rules):
        deals += 1
        levels = count_lines(game, 2 * rules.hand_size + 1)
        positions += 1 + int(levels.sum())
        waiting = [game]
        while waiting:
            now = waiting.pop()
            if now.player is None:
                lines += 1
                continue
            legal = now.legal_actions()
            if len(legal) > 1:
                seen = now.view(now.player).vector.tobytes()
                if seen not in views[now.player]:
                    views[now.player].add(seen)
                    sequences[now.player] += len(legal)
            for action in legal:
                after = now.clone()
                after.play(action)
                waiting.append(after)
    made = Tree(rules)
    size = made.size
    assert (size.deals, size.positions, size.lines) == (deals, positions, lines)
    assert size.infosets == tuple(map(len, views))
    assert size.sequences == tuple(sequences)
    # Each information set is one of those views, and shows its own.
    for player in range(2):
        shown = {v.tobytes() for _, block in made.blocks(player) for v in block.vectors}
        assert shown == views[player]
        for _, block in made.blocks(player):
            roles, numbers = made.find(block)
            assert (roles == player).all()
            assert (numbers == np.arange(len(block))).all()


def test_micro_and_mini_have_the_counts_of_the_verification():
    # tests/data/verification.md counts both leaders, with the kernel alone.
    for name, deals, lines, positions in (
        ("micro", 560, 4_216, 17_608),
        ("mini", 16_632, 7_426_296, 30_401_526),
    ):
        size = measure(name)
        assert size.exact
        assert (2 * size.deals, 2 * size.lines, 2 * size.positions) == (deals, lines, positions)


def test_sequences_stand_in_the_order_of_play(micro):
    for player, side in enumerate(micro.sides):
        infoset_of = np.full(side.num_sequences, -1)
        for i in range(side.num_infosets):
            infoset_of[side.first[i] : side.first[i + 1]] = i
        assert (infoset_of[side.parent] < np.arange(side.num_infosets)).all()
        assert (infoset_of >= 0).sum() == side.num_sequences - len(side.hands)
        # A hand stays the same along a plan, and the empty sequence is that of the hand.
        for i, parent in enumerate(side.parent):
            before = infoset_of[parent]
            hand = side.hands[parent] if before < 0 else side.own[before]
            assert hand == side.own[i]
        assert side.actions(0) == micro.view(player, 0).legal_actions()


def test_play_by_a_tree_is_worth_what_playing_it_out_gives(micro):
    # The lowest legal card, in every deal.
    chances = []
    for side in micro.sides:
        lowest = np.zeros(side.num_sequences)
        lowest[: len(side.hands)] = lowest[side.first[:-1]] = 1.0
        chances.append(lowest)
    margins = []
    for game in all_deals(micro.rules):
        while game.player is not None:
            game.play(game.legal_actions()[0])
        own, other = game.scores()
        margins.append(other - own)
    assert micro.value(*chances) == pytest.approx(np.mean(margins), abs=1e-12)


@pytest.mark.slow
def test_estimates_come_near():
    for name in ("micro", "mini"):
        guess, true = estimate(name, samples=600), measure(name)
        assert guess.deals == true.deals
        assert not guess.exact
        for field in ("positions", "lines", "gigabytes"):
            assert getattr(guess, field) == pytest.approx(getattr(true, field), rel=0.25)
        for field in ("infosets", "sequences"):
            assert sum(getattr(guess, field)) == pytest.approx(sum(getattr(true, field)), rel=0.25)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Tree("two_player"), ("max_memory", "4 GB", "lines")),
        (lambda: Tree("micro", 1e-6), ("max_memory", "micro")),
        (lambda: Tree("micro", max_memory=0), ("max_memory", "0")),
        (lambda: Tree("micro", max_memory="much"), ("max_memory", "much")),
        (lambda: Tree("classic"), ("players", "4")),
        (lambda: Tree("micro pass_count=1 pass_rotation=left"), ("pass_count", "exchange")),
        (lambda: solve("micro", "cfr"), ("algorithm", "cfr+")),
        (lambda: solve("micro", num_threads=3), ("num_threads", "3")),
        (lambda: solve("micro", target=-1), ("target", "-1")),
        (lambda: solve("micro", iterations=0), ("iterations", "0")),
        (lambda: solve("micro", seconds=float("nan")), ("seconds", "nan")),
        (lambda: solve("micro", save_to="/no/such/folder/file.npz"), ("save_to", "folder")),
    ],
)
def test_mistakes_are_named(make, words):
    with pytest.raises(HeartsError) as error:
        make()
    assert all(word in str(error.value) for word in words), error.value


# ---- solving -------------------------------------------------------------------------------------
@few(
    ("algorithm", "target"),
    [("pdcfr+", 1e-10), ("pcfr+", 1e-10), ("dcfr", 1e-10), ("cfr+", 4e-10)],
    [("pdcfr+", 1e-10), ("pcfr+", 1e-10), ("dcfr", 1e-10)],
)
def test_regrets_and_linear_program_find_the_same_value(micro, linear, algorithm, target):
    found = solve(micro, algorithm, target=target, iterations=100_000)
    assert found.exploitability < 1e-9
    assert abs(found.value - linear.value) < 1e-9
    assert linear.exploitability < 1e-9
    assert exploitability(micro, found.chances) == pytest.approx(found.exploitability, abs=1e-14)


@pytest.mark.parametrize("text", [deck for deck in DECKS if deck != "micro"])
def test_they_agree_on_other_decks(text):
    pytest.importorskip("scipy")
    made = Tree(text)
    found, exact = solve(made, target=1e-8, iterations=20_000), solve_linear(made)
    assert exact.exploitability < 1e-9
    assert found.exploitability < 1e-6
    assert abs(found.value - exact.value) <= 2 * found.exploitability + 1e-9


@pytest.mark.slow
def test_openspiel_finds_both_unexploitable(micro, linear):
    found = solve(micro, target=1e-10, iterations=20_000)
    for solved in (linear, found):
        assert openspiel_exploitability(micro, solved.chances) < 1e-9


def test_discounts_counted_by_hand(micro, monkeypatch):
    """What is kept of regrets, and the weight of plans, at iterations whose powers are whole."""
    made = {"dcfr": Solver(micro, "dcfr"), "pdcfr+": Solver(micro, "pdcfr+")}
    told = {}
    for name, solver in made.items():
        told[name] = []
        monkeypatch.setattr(
            equilibrium, "take_turn", lambda *memory, rows=told[name]: rows.append(memory[-1][1:])
        )
        for _ in range(9):
            solver.step()
    # 4^1.5 = 8 and 9^1.5 = 27, squares as weights; twice, as each player has a turn.
    assert told["dcfr"][0] == told["dcfr"][1] == (1 / 2, 1, 1)
    assert told["dcfr"][6] == told["dcfr"][7] == (pytest.approx(8 / 9), 1, 16)
    assert told["dcfr"][16] == told["dcfr"][17] == (pytest.approx(27 / 28), 1, 81)
    # 0 and 1 to any power are themselves; fifth powers as weights.
    assert told["pdcfr+"][0] == (0, 1 / 2, 1)
    assert told["pdcfr+"][2][0] == 1 / 2
    assert told["pdcfr+"][2][2] == 32
    assert told["pdcfr+"][2][1] == told["pdcfr+"][4][0] == pytest.approx(0.8312, abs=1e-4)


def test_negative_regrets_are_halved_by_dcfr_and_positive_ones_discounted():
    """One information set of two actions, which earn 6 and 2, chosen 1/4 and 3/4 of the time."""

    def turn(kind, keep, ahead):
        regrets, chances = np.array([0.0, 9.0, -8.0]), np.array([1, 0.25, 0.75])
        plan, average = np.ones(3), np.zeros(3)
        side = (
            *(np.array([0], np.int32), np.array([1, 3], np.int32)),
            *(np.array([0, 0, 1, 2]), np.zeros(2, np.int32), np.array([6, 2], np.int32)),
        )
        memory = np.zeros(3), chances, regrets, plan, average
        regret.take_turn(
            0, 1, side, np.ones(1), 1.0, memory, (kind, float(keep), float(ahead), 2.0)
        )
        return list(regrets[1:]), list(chances[1:]), list(average[1:])

    # The mean is 3: regrets of 3 and -1. Kept are 2/3 of what is positive.
    kinds = regret.KINDS
    assert turn(kinds["dcfr"], 2 / 3, 1) == ([6 + 3, -4 - 1], [1, 0], [2, 0])
    assert turn(kinds["cfr+"], 1, 1) == ([12, 0], [1, 0], [2, 0])
    # The same regret once more foretells the next: 12 + 3, and max(0 - 1, 0).
    assert turn(kinds["pcfr+"], 1, 1) == ([12, 0], [1, 0], [2, 0])
    assert turn(kinds["pdcfr+"], 2 / 3, 1 / 3) == ([9, 0], [1, 0], [2, 0])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_iterations_agree_with_the_formulas_in_plain_python(algorithm):
    deck = Tree("micro hand_size=2")
    solver = Solver(deck, algorithm)
    for _ in range(12):
        solver.step()
    for one, two in zip(solver.chances(), plain_iterations(deck, algorithm, 12), strict=True):
        assert one == pytest.approx(two, abs=1e-12)


def plain_iterations(deck, algorithm, number):
    """The average policies after some iterations, by the table of docs/equilibrium.md."""
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

    def kept(t, power):
        return t**power / (t**power + 1)

    for t in range(1, number + 1):
        for p, side in enumerate(deck.sides):
            others = plan(1 - p)
            earned = [
                sum(
                    side.payoff[line] * others[side.column[line]] / deck.num_deals
                    for line in range(side.start[j], side.start[j + 1])
                )
                for j in range(side.num_sequences)
            ]
            for parent, js in reversed(list(zip(side.parent, infosets[p], strict=True))):
                mean = sum(chances[p][j] * earned[j] for j in js)
                earned[parent] += mean
                chosen = {}
                for j in js:
                    r, old = earned[j] - mean, regrets[p][j]
                    if algorithm == "cfr+":
                        new = chosen[j] = max(old + r, 0)
                    elif algorithm == "pcfr+":
                        new = max(old + r, 0)
                        chosen[j] = max(new + r, 0)
                    elif algorithm == "pdcfr+":
                        new = max(kept(t - 1, 2.3) * old + r, 0)
                        chosen[j] = max(kept(t, 2.3) * new + r, 0)
                    else:
                        new = (kept(t, 1.5) if old > 0 else 1 / 2) * old + r
                        chosen[j] = max(new, 0)
                    regrets[p][j] = new
                total = sum(chosen.values())
                for j in js:
                    chances[p][j] = chosen[j] / total if total else 1 / len(js)
            weight = t ** {"cfr+": 1, "pcfr+": 2, "pdcfr+": 5, "dcfr": 2}[algorithm]
            for j, share in enumerate(plan(p)):
                sums[p][j] += weight * share
    averages = [side.uniform() for side in deck.sides]
    for p in range(2):
        for js in infosets[p]:
            total = sum(sums[p][j] for j in js)
            for j in js:
                averages[p][j] = sums[p][j] / total if total else 1 / len(js)
    return averages


def test_values_of_hands_add_up(micro, linear):
    for player, sign in ((0, 1), (1, -1)):
        hands = linear.hand_values(player)
        assert sum(hand.share for hand in hands) == pytest.approx(1)
        mean = sum(hand.share * hand.value for hand in hands)
        assert mean == pytest.approx(sign * linear.value, abs=1e-9)
        assert [hand.value for hand in hands] == sorted((h.value for h in hands), reverse=True)
    # No value is beyond a moon.
    assert all(abs(hand.value) <= 15 + 1e-9 for hand in linear.hand_values())


def test_threads_do_not_change_the_result(micro):
    solvers = [Solver(micro, num_threads=n) for n in (1, 2)]
    for solver in solvers:
        for _ in range(30):
            solver.step()
    for one, two in zip(*(solver.chances() for solver in solvers), strict=True):
        assert np.array_equal(one, two)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_resumed_solver_goes_on_as_if_never_stopped(micro, algorithm, tmp_path):
    whole = solve(micro, algorithm, iterations=90)
    file = tmp_path / "state.npz"
    solve(micro, algorithm, iterations=37, save_to=file)
    again = Solver.load(file)
    assert again.iteration == 37
    ended = solve(again, iterations=90)
    assert ended.iterations == 90
    assert ended.value == whole.value
    assert all(map(np.array_equal, ended.chances, whole.chances))
    assert [c.iteration for c in ended.curve if c.iteration not in (37,)] == [
        c.iteration for c in whole.curve
    ]


def test_an_interrupt_keeps_what_was_done(micro, tmp_path):
    file = tmp_path / "state.npz"
    handler = signal.getsignal(signal.SIGINT)

    def press(found):
        if found.iteration >= 20:
            signal.raise_signal(signal.SIGINT)

    stopped = solve(micro, target=1e-9, save_to=file, progress=press)
    assert stopped.interrupted
    assert 20 <= stopped.iterations < 60
    assert signal.getsignal(signal.SIGINT) is handler
    ended = solve(Solver.load(file), iterations=100)
    whole = solve(micro, iterations=100)
    assert not ended.interrupted
    assert all(map(np.array_equal, ended.chances, whole.chances))


def test_progress_tells_the_time_left(micro, clock):
    clock.tick = 0.5  # an iteration reads it twice
    told = []
    solve(micro, target=1e-8, progress=told.append)
    assert [found.iteration for found in told] == sorted({found.iteration for found in told})
    left = [found.seconds_left for found in told[-5:-1]]
    assert all(seconds is not None and seconds >= 0 for seconds in left)
    told.clear()
    solve(micro, iterations=100, progress=told.append)
    assert [found.seconds_left for found in told[1:]] == [
        0.5 * (100 - found.iteration) for found in told[1:]
    ]


def test_time_ends_it(micro, clock):
    clock.tick = 0.5
    assert (solve(micro, seconds=10).seconds, solve(micro, seconds=10).iterations) == (10, 20)


# ---- files ---------------------------------------------------------------------------------------
def test_a_policy_file_is_small_and_plays_alike(micro, tmp_path):
    found = solve(micro, target=1e-9)
    file = tmp_path / "policy.npz"
    found.save(file)
    assert file.stat().st_size < 10_000
    again = load(file)
    assert again.rules == micro.rules
    assert again.exploitability < 1e-4  # rounded
    assert again.value == pytest.approx(found.value, abs=1e-4)
    with refused(CheckpointError, str(file), hint="--save"):
        Solver.load(file)


@few("deck", equilibrium.SHIPPED, ["micro"])
def test_shipped_policies_are_equilibria(deck):
    found = load(deck)
    assert found.rules == Rules.preset(deck)
    assert found.exploitability < 1e-5


def test_damaged_files_are_refused(micro, tmp_path, monkeypatch):
    file = tmp_path / "state.npz"
    solver = Solver(micro)
    solver.step()
    solver.save(file)
    whole = file.read_bytes()
    for name, data in (
        ("cut.npz", whole[: len(whole) // 2]),
        ("empty.npz", b""),
        ("text.npz", b"hello"),
        ("flipped.npz", whole[:3000] + b"\xff" * 200 + whole[3200:]),
    ):
        (tmp_path / name).write_bytes(data)
        with refused(CheckpointError, str(tmp_path / name)):
            load(tmp_path / name)
    with refused(CheckpointError, str(tmp_path / "none.npz")):
        load(tmp_path / "none.npz")
    np.savez(tmp_path / "other.npz", header=np.array('{"format": "x"}'))
    with refused(CheckpointError, str(tmp_path / "other.npz")):
        load(tmp_path / "other.npz")
    np.savez(tmp_path / "pickled.npz", header=np.array([{}], object))
    with refused(CheckpointError, str(tmp_path / "pickled.npz")):
        load(tmp_path / "pickled.npz")
    solver._regrets[0][5] = np.nan
    solver.save(file)
    with refused(CheckpointError, str(file), "regrets0"):
        Solver.load(file)
    monkeypatch.setattr(solved_files, "_digest", lambda made: 1)
    with refused(CheckpointError, str(file)):
        load(file)


def test_nothing_is_left_of_a_file_that_could_not_be_written(micro, tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="disk full"):
        Solver(micro).save(tmp_path / "state.npz")
    assert list(tmp_path.iterdir()) == []


# ---- the player ----------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def player(micro, tmp_path_factory):
    file = tmp_path_factory.mktemp("solved") / "micro.npz"
    solve(micro, target=1e-9).save(file)
    return make_agent(str(file), seed=1)


def test_the_player_plays_the_policy_from_both_seats(micro, player):
    assert exploit(player, micro).exploitability < 1e-4
    assert not exploit(player, micro).frozen
    for game in itertools.islice(all_deals(micro.rules), 0, None, 7):
        hands = [game.hand(0), game.hand(1)]
        mirrored = Game(micro.rules, hands=hands[::-1], kitty=game.kitty, deal_number=0, dealer=0)
        while game.player is not None:
            views = [game.view(game.player), mirrored.view(mirrored.player)]
            assert views[0].player != views[1].player
            tables = [player.action_probs(BatchView.of([view])) for view in views]
            assert np.array_equal(*tables)
            action = player.act(views[0])
            assert action in game.legal_actions()
            game.play(action)
            mirrored.play(action)


def test_two_of_them_play_level_and_reseeded_alike(player):
    def play_out():
        player.reseed(3)
        batch = BatchGame("micro", 4000, seed=2, autodeal=False)
        while not batch.done.all():
            rows = np.flatnonzero(~batch.done)
            batch.play(player.act_batch(batch.views(games=rows)), games=rows)
        return batch.scores()

    scores = play_out()
    assert np.array_equal(scores, play_out())
    margin = scores[:, 1] - scores[:, 0]
    assert abs(margin.mean()) < 5 * margin.std() / 4000**0.5


def test_the_player_refuses_other_rules(player):
    with refused(HeartsError, "rules"):
        player.act(Game.deal(Rules.preset("mini"), 1).view(0))


# ---- the command ---------------------------------------------------------------------------------
def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


@pytest.mark.slow
def test_solve_prints_a_table_and_one_line_of_json(tmp_path):
    pytest.importorskip("scipy")
    out, policy, plot = (tmp_path / name for name in ("a.npz", "b.npz", "c.png"))
    shown = run("solve", "micro", "--algorithm", "pcfr+,lp", "--policy", policy, "--plot", plot)
    assert shown.exit_code == 0, shown.stderr
    assert "exploitability" in shown.stdout
    assert "lp" in shown.stdout
    assert "2,108 lines" in shown.stderr
    assert policy.exists()
    again = run("solve", "micro", "--policy", policy)
    assert again.exit_code == 2
    assert "--policy" in again.stderr
    assert "already exists" in again.stderr
    assert plot.read_bytes().startswith(b"\x89PNG")
    first = run("solve", "micro", "--iterations", 20, "--save", out, "--json")
    (line,) = first.stdout.splitlines()
    (figures,) = json.loads(line)
    assert figures["iterations"] == 20
    assert figures["lines"] == 2108
    second = run("solve", "--resume", out, "--target", "1e-9", "--json")
    (figures,) = json.loads(second.stdout)
    assert figures["iterations"] > 20
    assert figures["exploitability"] <= 1e-9


@pytest.mark.slow
def test_ctrl_c_keeps_a_state(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def press(self):
        signal.raise_signal(signal.SIGINT)
        return look(self)

    look = Solver.look
    monkeypatch.setattr(Solver, "look", press)
    files = [tmp_path / f"solve-micro-pdcfr+{end}.npz" for end in ("", "-2", "-3")]
    for file in files:  # the second and the third do not overwrite
        shown = run("solve", "micro", "--target", "1e-9")
        assert shown.exit_code == 130, shown.output
        assert f"hearts solve --resume {file.name}" in shown.stderr
    monkeypatch.undo()
    assert sorted(tmp_path.iterdir()) == sorted(files)
    assert run("solve", "--resume", files[0], "--target", "1e-4").exit_code == 0


@pytest.mark.slow
def test_out_never_overwrites_but_the_state_that_goes_on(tmp_path, monkeypatch):
    state, text = tmp_path / "a.npz", tmp_path / "b.txt"
    assert run("solve", "micro", "--iterations", 5, "--save", state).exit_code == 0
    text.write_text("mine", encoding="utf-8")
    before = state.read_bytes()
    with monkeypatch.context() as patch:
        patch.delattr(solve_command, "Tree")  # refused before it is built
        for args, words in (
            (("micro", "--save", state), (state, f"--resume {state}")),
            (("micro", "--save", text), (text,)),
            (("--resume", state, "--save", text), (text,)),
            (("micro", "--save", tmp_path), (tmp_path,)),
        ):
            mistake(run("solve", *args), "--save", *words)
    assert (state.read_bytes(), text.read_text(encoding="utf-8")) == (before, "mine")
    same = tmp_path / "." / ".." / tmp_path.name / "a.npz"
    assert run("solve", "--resume", state, "--iterations", 9, "--save", same).exit_code == 0
    assert Solver.load(state).iteration == 9


@pytest.mark.slow
def test_a_state_keeps_its_algorithm_and_what_it_took(tmp_path):
    state = tmp_path / "a.npz"
    run("solve", "micro", "--iterations", 9, "--save", state)
    mistake(run("solve", "--resume", state, "--algorithm", "dcfr"), "--algorithm", "pdcfr+")
    shown = run("solve", "--resume", state, "--algorithm", "pdcfr+", "--iterations", 12)
    assert shown.exit_code == 0
    assert "already" not in shown.stderr
    for option, value, words in (
        ("--iterations", 3, 12),
        ("--minutes", 1e-9, ""),
    ):
        shown = run("solve", "--resume", state, option, value)
        assert shown.exit_code == 0
        assert re.search(rf"{option}: .*{words}", shown.stderr)
    assert Solver.load(state).iteration == 12


@pytest.mark.parametrize("option", ["--target", "--iterations", "--minutes"])
@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf"])
def test_limits_are_checked_before_the_tree_is_built(option, value, monkeypatch):
    monkeypatch.delattr(solve_command, "Tree")
    shown = run("solve", "micro", option, value)
    assert shown.exit_code == 2, shown.output
    assert option in shown.stderr
    assert "seconds" not in shown.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("two_player",), ("max_memory", "GB")),
        (("mini", "--algorithm", "lp"), ("algorithm", "3,713,148")),
        (("micro", "--algorithm", "simplex"), ("simplex", "pcfr+", "lp")),
        (("micro", "--algorithm", "lp", "--minutes", "1"), ("--algorithm",)),
        (("micro", "--algorithm", "lp", "--save", "x.npz"), ("--algorithm",)),
        (("micro", "--algorithm", "cfr+,dcfr", "--save", "x.npz"), ("--algorithm",)),
        (("micro", "--minutes", "-1"), ("--minutes",)),
        (("micro", "--resume", "x.npz"), ("deck", "--resume")),
        ((), ("deck", "--resume")),
        (("--resume", "none.npz"), ("none.npz",)),
        (("micro", "--plot", "no/folder/x.png"), ("--plot", "folder")),
        (("classic",), ("players",)),
        (("miny",), ("mini",)),
    ],
)
def test_mistakes_are_one_line(args, words):
    shown = run("solve", *args)
    assert shown.exit_code == 2, shown.output
    assert shown.stdout == ""
    *_, line = shown.stderr.splitlines()
    assert line.startswith("error: ")
    assert all(word in line for word in words), line


def test_sizes_read_well():
    size = TreeSize(Rules.preset("micro"), 280, 8804, 2108, (258, 299), (516, 642), exact=True)
    assert all(number in str(size) for number in ("280", "8,804", "2,108", "557"))
    assert tree.format_count(3.14e15) == "3.1e+15"
    assert solve_command.peak_megabytes() is None or solve_command.peak_megabytes() > 10
