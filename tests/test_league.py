"""Leagues: what a matrix says of strength, lines that outlive kills, bad files, tables."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

from hearts_agents.user_code import TRUST
from hearts_env import HeartsError, Rules
from hearts_env.rules.presets import GAMES
from hearts_train.measure import folder as folders
from hearts_train.measure import standings
from hearts_train.measure.contest import Contest
from hearts_train.measure.folder import block_at, boundary, enter, locked, read_folder
from hearts_train.measure.standings import bradley_terry, cycles, nash_average
from hearts_train.measure.statistics import mean_and_interval
from hearts_train.measure.tournament import FolderGame, Goal, play_folder, tournament
from hearts_train.store import sealed, unsealed
from tests.refusals import mistake, refused
from tests.test_cli import run as hearts

THREE = ("easy", "standard", "standard_trump")
FEW = ("--deals", "100")  # blocks of 16, 32 and 64
SIZES = [16, 32, 64]
MINE = "class Mine:\n    def act(self, view):\n        return view.legal_actions()[{}]\n"


SAYS = {"add": ("--deals", "0"), "run": (), "table": ("--deals", "0"), "verify": ("--verify",)}


def run(path, step, *args):
    """A step of a tournament in a folder: enter, play what is missing, show, or play again."""
    return hearts("tournament", *args, "--folder", path, *SAYS[step])


def table_of(path, *args):
    """The figures of the only game that is asked for, without the clock's."""
    (record,) = json.loads(run(path, "table", *args, "--json").stdout)
    return record["result"], record["sha256"]


def lines_of(file):
    return file.read_bytes().splitlines(keepends=True)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A league that has played; not to be changed."""
    path = tmp_path_factory.mktemp("leagues") / "kept"
    assert run(path, "add", *THREE, "--rules", "micro").exit_code == 0
    assert run(path, "run", *FEW).exit_code == 0
    return path


@pytest.fixture
def copied(kept, tmp_path):
    """The same, to be changed."""
    path = tmp_path / "copied"
    path.mkdir()
    (path / "micro.jsonl").write_bytes((kept / "micro.jsonl").read_bytes())
    return path


# ---- ratings, Nash, cycles: hand-computed --------------------------------------------------------
def test_three_deals_in_four_are_191_points_of_rating():
    # 400 log10(3 / 1); the error of the logarithm of p / (1 - p) is that of p over p (1 - p).
    won, variance = np.array([0.75]), np.array([[0.0004]])
    rating, error = bradley_terry(won, variance, [(0, 1)], copies=1, players=2)
    assert rating == pytest.approx([95.42, -95.42], abs=0.05)
    assert error == pytest.approx([173.72 * 0.02 / 0.1875 / 2] * 2, rel=1e-3)


def test_alone_against_three_copies_a_quarter_is_even():
    pairings = [(0, 1), (1, 0)]
    rating, _ = bradley_terry(np.array([0.25, 0.25]), np.zeros((2, 2)), pairings, 3, 2)
    assert rating == pytest.approx([0, 0], abs=1e-6)
    rating, _ = bradley_terry(np.array([0.5, 0.1]), np.zeros((2, 2)), pairings, 3, 2)
    assert rating == pytest.approx([95.42, -95.42], abs=0.1)  # odds of 3 and of 1 to 3


def test_the_prior_is_an_even_game_whatever_the_number_of_copies():
    def ahead(won):
        rating, _ = bradley_terry(np.array([won]), np.zeros((1, 1)), [(0, 1)], 3, 2)
        return rating[0] - rating[1]

    assert ahead(1 / 4) == pytest.approx(0, abs=1e-6)
    # One deal in 10,000 is drawn by lot: whoever never wins against three copies wins 1 in 40,000.
    assert ahead(0.0) == pytest.approx(400 * math.log10(3 / 39_999), abs=1e-3)
    assert ahead(1.0) == pytest.approx(400 * math.log10(3 * 39_997 / 3), abs=1e-3)
    with refused(HeartsError, "pairings"):  # who met nobody
        bradley_terry(np.array([0.5]), np.zeros((1, 1)), [(0, 1)], 1, 3)


STONE = np.array([[0.0, -1, 1], [1, 0, -1], [-1, 1, 0]])  # stone, paper, scissors


@pytest.mark.parametrize(
    ("margins", "weights"),
    [
        (STONE, [1 / 3] * 3),
        # The odd weights: each is as likely as the margin between the other two is large.
        (STONE * [[0, 1, 2], [1, 0, 3], [2, 3, 0]], [1 / 2, 1 / 3, 1 / 6]),
        (np.array([[0.0, 1, 2], [-1, 0, 1], [-2, -1, 0]]), [1, 0, 0]),
        (np.zeros((3, 3)), [1 / 3] * 3),
        # A second stone takes half of the first one's weight, and nothing from the others.
        (STONE[np.ix_([0, 0, 1, 2], [0, 0, 1, 2])], [1 / 6, 1 / 6, 1 / 3, 1 / 3]),
    ],
    ids=["stone", "weighted", "transitive", "even", "copy"],
)
def test_nash_average_of_small_games(margins, weights):
    found = nash_average(margins)
    assert found == pytest.approx(weights, abs=1e-3)
    assert (found == 0).tolist() == [weight == 0 for weight in weights]  # not merely small


def test_nobody_is_ahead_of_a_nash_average():
    rng = np.random.default_rng(1)
    for size in (2, 5, 9):
        margins = rng.normal(size=(size, size)) * 10
        margins -= margins.T
        weights = nash_average(margins)
        assert weights.sum() == pytest.approx(1)
        assert (margins @ weights).max() < 1e-4
        assert (weights >= 0).all()


def test_cycles_are_found_and_a_ladder_has_none():
    assert cycles(STONE > 0) == [(0, 2, 1)]  # stone beats scissors, they beat paper
    assert cycles(np.triu(np.ones((4, 4), bool), 1)) == []
    ring = np.zeros((5, 5), bool)  # 1 beats 2 beats 3 beats 4 beats 1, nothing else is clear
    ring[1, 2] = ring[2, 3] = ring[3, 4] = ring[4, 1] = True
    assert cycles(ring) == [(1, 2, 3, 4)]


# ---- statistics ----------------------------------------------------------------------------------
def test_covariances_are_those_of_single_deals():
    rng = np.random.default_rng(0)
    deals = rng.normal(size=(3, 64)) + rng.normal(size=64)
    widths, counts = np.ones(64), np.array([64, 64, 64])
    found = standings._covariance(list(deals), widths, counts, None)
    assert found == pytest.approx(np.cov(deals) / 64)


def test_the_covariance_of_unequal_numbers_of_deals_is_over_the_larger():
    rng = np.random.default_rng(0)
    long = rng.normal(size=64)
    short = long[:32] * 2
    counts = np.array([64, 32])
    found = standings._covariance([long, short], np.ones(64), counts, None)
    # Their correlation is 1 in the deals that both have played.
    expected = np.sqrt(long.var(ddof=1) * short.var(ddof=1)) / 64
    assert found[0, 1] == pytest.approx(expected)
    assert np.diag(found) == pytest.approx([long.var(ddof=1) / 64, short.var(ddof=1) / 32])


@pytest.mark.parametrize("rules", ["micro", "party players=3"])
def test_a_league_and_a_tournament_have_one_ranking_that_follows_from_evaluations(rules, tmp_path):
    rules = Rules.from_text(rules)
    enter(tmp_path / "new", THREE, [rules], seed=5)
    play_folder(tmp_path / "new", Goal(deals=16))
    folder = read_folder(tmp_path / "new")
    (found,) = (record["result"] for record in standings.tables(folder))
    once = tournament(THREE, rules, deals=16, seed=5)
    ranking = json.loads(json.dumps(once.ranking.to_json()))
    for row in found["standings"]:
        row["exact"] = None  # a tournament does not ask for it
    assert {name: found[name] for name in ranking} == ranking

    def margins(i, j):
        forth, back = once.evaluations.get((i, j)), once.evaluations.get((j, i))
        if forth is None or back is None:
            return -back.margins if forth is None else forth.margins
        return (forth.margins - back.margins) / 2

    assert [standing.place for standing in once.standings] == [1, 2, 3]
    ranked = [standing.margin for standing in once.standings]
    assert ranked == sorted(ranked, reverse=True)
    for standing in once.standings:
        i = THREE.index(standing.agent)
        others = [j for j in range(3) if j != i]
        margin, ci95 = mean_and_interval(np.mean([margins(i, j) for j in others], axis=0))
        assert standing.margin == pytest.approx(margin, abs=1e-6)
        assert standing.ci95 == pytest.approx(ci95, abs=1e-5)
        for j in others:
            expected, ci95 = mean_and_interval(margins(i, j))
            assert once.margin(i, j)[0] == pytest.approx(expected, abs=1e-6)
            assert once.margin(i, j)[1] == pytest.approx(ci95, abs=1e-5)
    seats = 2 * 16 * (2 if rules.players == 2 else 9)
    moons = dict.fromkeys(THREE, 0)
    for (i, j), e in once.evaluations.items():
        moons[THREE[i]] += e.moons
        moons[THREE[j]] += e.opponent_moons
    told = {standing.agent: standing.moons for standing in once.standings}
    assert told == pytest.approx({name: 100 * moons[name] / seats for name in THREE}, abs=1e-5)


@pytest.mark.parametrize("deals", [2, 3, 17, 20])
def test_any_number_of_deals_is_ranked(deals):
    found = tournament(THREE, "micro", deals=deals, seed=1)
    assert found.deals == deals
    assert {row["deals"] for row in found.ranking.pairings} == {deals}
    for (i, j), e in found.evaluations.items():
        margin, ci95 = found.margin(i, j)
        assert (margin, *ci95) == pytest.approx((e.margin, *e.ci95))


# ---- blocks, lines, resuming ---------------------------------------------------------------------
def test_blocks_are_small_at_first_and_begin_at_the_same_deals_for_all():
    firsts = [0, 16, 48, 112, 240, 496, 1008, 2032, 4080, 8176, 16368, 32752, 49136]
    for first, after in itertools.pairwise(firsts):
        assert first + block_at(first) == after
    assert [boundary(deals) for deals in (0, 1, 16, 17, 1000)] == [0, 16, 16, 48, 1008]


@pytest.mark.slow
def test_a_table_follows_from_the_lines_in_any_order(kept, copied):
    file = copied / "micro.jsonl"
    lines = lines_of(file)
    assert [json.loads(line)["entry"].get("line") for line in lines].count("block") == 9
    blocks = [line for line in lines if b'"line":"block"' in line]
    others = [line for line in lines if b'"line":"block"' not in line]
    file.write_bytes(b"".join([*others, *reversed(blocks), blocks[0]]))  # and one of them twice
    assert table_of(copied) == table_of(kept)


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(tmp_path, monkeypatch):
    path = tmp_path / "stopped"
    run(path, "add", *THREE, "--rules", "micro")
    played = Contest.play

    def pressed(self, task):
        if task.first:
            raise KeyboardInterrupt
        return played(self, task)

    monkeypatch.setattr(Contest, "play", pressed)
    result = run(path, "run", *FEW)
    assert result.exit_code == 130
    assert "stopped" in result.stderr
    assert "continue with: " in result.stderr
    assert table_of(path)[0]["pairings"][0]["deals"] == 16


def test_a_block_is_the_same_in_another_process_and_beside_other_agents(tmp_path, kept):
    enter(tmp_path / "other", ["pro", "easy", "standard"], [Rules.make("micro")])
    folder = read_folder(tmp_path / "other")
    known = read_folder(kept).games["micro"].blocks["easy", "standard", 16]
    for workers in (None, 1, 2):
        game = FolderGame(folder, folder.games["micro"], workers=workers)
        (found,) = game.play([(("easy", "standard"), 16)])
        assert known.differing(found) == []


@pytest.mark.slow
def test_who_enters_later_plays_the_same_deals_and_nothing_is_played_again(copied):
    before = lines_of(copied / "micro.jsonl")
    assert "micro: easy, standard, standard_trump, pro\n" in run(copied, "add", "pro").stderr
    told = table_of(copied)[0]
    assert told["incomplete"] == [{"agent": "pro", "missing": list(THREE)}]
    assert [row["agent"] for row in told["standings"]].count("pro") == 0
    assert "pro has not played easy" in run(copied, "table").stdout
    assert run(copied, "run", *FEW).exit_code == 0
    lines = lines_of(copied / "micro.jsonl")
    assert lines[: len(before)] == before
    assert len(lines) == len(before) + 1 + 3 * len(SIZES) + 1  # it, its blocks, its exploitability
    (game,) = read_folder(copied).games.values()
    assert sorted(first for a, b, first in game.blocks if (a, b) == ("easy", "pro")) == [0, 16, 48]
    assert "pro" in [row["agent"] for row in table_of(copied)[0]["standings"]]


# ---- until ---------------------------------------------------------------------------------------
def test_it_goes_on_until_the_intervals_are_narrow_enough_or_the_cap_is_reached(tmp_path):
    path = tmp_path / "new"
    enter(path, ["easy", "standard", "pro"], [Rules.make("micro")])
    play_folder(path, Goal(until=0.2))
    rows = table_of(path)[0]["pairings"]
    assert all((row["ci95"][1] - row["ci95"][0]) / 2 <= 0.2 for row in rows)
    (game,) = read_folder(path).games.values()
    for row in rows:  # none has played a block too many, but for the first 1,008 deals
        blocks = game.blocks_of(tuple(row["agents"]))
        if row["deals"] > 1008:
            game.blocks.pop((*row["agents"], blocks[-1].first))
            assert standings.half_width(game, tuple(row["agents"])) > 0.2
    play_folder(path, Goal(deals=2000, until=0.0001))
    assert [row["deals"] for row in table_of(path)[0]["pairings"]] == [2032] * 3


# ---- who may enter -------------------------------------------------------------------------------
def test_games_have_names_of_their_own():
    names = {folders.game_name(Rules.preset(*game)) for game in GAMES}
    assert len(names) == len(GAMES) == 39
    assert {"two_player", "party-7", "hoyle-2", "classic"} <= names
    changed = [Rules.make('party trump="S"', 4), Rules.make('party trump="C"', 4)]
    assert len({folders.game_name(rules) for rules in changed}) == 2


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("add", "random"), ["agent", "'random'", "'easy'"]),
        (("add", "nobody"), ["agent", "'nobody'"]),
        (("add", "pimc", "--rules", "classic"), ["rules", "classic"]),
        (("add", "pro", "--seed", "7"), ["seed", "0"]),
        (("add", "pro", "--rules", "party", "--players", "3"), ["--players", "--rules"]),
        (("run", "--until", "0"), ["until", "0"]),
        (("run", "--deals", "1"), ["deals", "1"]),
        (("run", "--workers", "0"), ["workers", "0"]),
        (("table", "--rules", "classic"), ["rules", "'classic'", "micro"]),
        (("verify", "--deals", "0"), ["deals"]),
        (("table", "--until", "0.1"), ["--until", "--deals"]),
        (("verify", "pro"), ["agents", "--verify"]),
        (("run", "--seed", "7"), ["--seed"]),
        (("run", "--save", "x"), ["--save", "--folder"]),
    ],
)
def test_mistakes_are_explained(args, words, copied):
    mistake(run(copied, *args), *words)


def test_what_is_no_league_is_refused(tmp_path, copied):
    mistake(run(tmp_path / "none", "table"), "league", "AGENT")
    (tmp_path / "mine.txt").write_text("mine")
    mistake(run(tmp_path, "add", "easy"), "league")
    mistake(run(tmp_path / "mine.txt", "add", "easy"), "league")


def test_one_agent_alone_is_told_so(tmp_path):
    assert run(tmp_path / "new", "add", "easy").exit_code == 0
    result = run(tmp_path / "new", "run")
    assert result.exit_code == 0
    assert "nothing played" in result.stdout


def test_a_failed_first_add_begins_no_league(tmp_path):
    mistake(run(tmp_path / "new", "add", "nosuch"), "agent", "nosuch")
    assert not (tmp_path / "new").exists()
    assert run(tmp_path / "new", "add", "easy", "--seed", "5", "--rules", "micro").exit_code == 0
    mistake(run(tmp_path / "new", "verify"), str(tmp_path / "new"))


def test_two_processes_do_not_share_a_league(copied):
    with locked(copied):
        mistake(run(copied, "run", *FEW), "league")
        mistake(run(copied, "add", "pro"), "league")
        assert run(copied, "table").exit_code == 0


@pytest.mark.slow
def test_a_changed_and_a_missing_agent_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv(TRUST, "0")  # what --allow-code sets is undone with it
    monkeypatch.chdir(tmp_path)
    code = tmp_path / "mine.py"
    code.write_text(MINE.format(0))
    assert run("new", "add", "mine.py:Mine", "easy", "--rules", "micro").exit_code == 0
    mistake(run("new", "run", "--deals", "16"), "", "'mine.py:Mine'", "--allow-code")
    assert run("new", "run", "--deals", "16", "--allow-code").exit_code == 0
    code.write_text(MINE.format(-1))
    for args in (("run", "--allow-code"), ("verify", "--allow-code"), ("add", "mine.py:Mine")):
        mistake(run("new", *args), "agent", "'mine.py:Mine'", "digest")
    code.unlink()
    mistake(run("new", "run", "--allow-code"), "agent", "mine.py")
    assert run("new", "table").exit_code == 0


# ---- bad files -----------------------------------------------------------------------------------
def rewritten(file, number, change):
    """A line (from 0) with another entry, its digest made anew, as a forger would."""
    lines = lines_of(file)
    entry = unsealed(lines[number].rstrip(b"\n"))
    change(entry)
    lines[number] = sealed(entry)
    file.write_bytes(b"".join(lines))


def test_lines_are_verified_by_playing_them_again(copied):
    result = run(copied, "verify", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {"holds": True, "blocks": 9, "differing": []}
    assert "9 blocks of 336 deals played again" in result.stderr
    assert json.loads(run(copied, "verify", "--deals", "17", "--json").stdout)["blocks"] in (1, 2)

    def better(entry):
        entry["margins"][3] += 2

    rewritten(copied / "micro.jsonl", 6, better)
    result = run(copied, "verify", "--json")
    assert result.exit_code == 1
    assert "micro.jsonl, line 7:" in result.stderr
    assert "margins" in result.stderr
    (found,) = json.loads(result.stdout)["differing"]
    assert found["line"] == 7
    assert found["fields"] == ["margins"]


def test_an_edited_line_is_named(copied):
    file = copied / "micro.jsonl"
    text = file.read_text().replace('"squares":', '"squares":1', 1)
    file.write_text(text)
    for args in (("table",), ("run",), ("verify",)):
        mistake(run(copied, *args), "league", "5")


@pytest.mark.parametrize(
    ("number", "change", "words"),
    [
        (0, {"version": 1}, ["league", "2"]),
        (0, {"settings": {"protocol": 2}}, ["league", "2", "1"]),
        (0, {"settings": {"protocol": 1}}, ["league", "settings"]),
        (4, {"line": "dance"}, ["league", "line 5", "'dance'"]),
        (4, {"first": 3}, ["league", "line 5"]),
        (4, {"margins": [1]}, ["league", "line 5"]),
        (4, {"seconds": ["never", 0.0]}, ["league", "line 5"]),
        (4, {"pairing": ["easy", "nobody"]}, ["league", "'nobody'"]),
        (4, {"pairing": 3}, ["league", "line 5"]),
        (2, {"name": "easy"}, ["league", "line 3"]),
        (2, {"name": 5}, ["league", "line 3"]),
    ],
)
def test_lines_of_another_kind_are_named(number, change, words, copied):
    rewritten(copied / "micro.jsonl", number, lambda entry: entry.update(change))
    mistake(run(copied, "table"), *words)


def test_two_lines_that_contradict_each_other_are_named(copied):
    file = copied / "micro.jsonl"
    entry = unsealed(lines_of(file)[4].rstrip(b"\n"))
    entry["squares"] += 1
    with file.open("ab") as end:
        end.write(sealed(entry))
    number = len(lines_of(file))
    mistake(run(copied, "table"), "league", f"line {number}", "5")


def test_games_of_other_leagues_and_versions_are_refused(copied):
    file = copied / "micro.jsonl"
    whole = file.read_bytes()
    rewritten(file, 0, lambda entry: entry.update(package="9.9"))
    mistake(run(copied, "run"), "league", "9.9")
    assert run(copied, "table").exit_code == 0  # reading needs no player
    rewritten(file, 0, lambda entry: entry["settings"].update(seed=1))
    (copied / "mini.jsonl").write_bytes(whole)
    mistake(run(copied, "table"), "league", "seeds")


# ---- tables --------------------------------------------------------------------------------------
def test_the_table_shows_what_json_says(kept):
    result, _ = table_of(kept)
    shown = run(kept, "table").stdout
    best = result["standings"][0]
    assert best["place"] == 1
    assert best["agent"] == "easy"  # on micro the published baseline is worse than chance
    half = (best["ci95"][1] - best["ci95"][0]) / 2
    assert f"{best['margin']:+.2f} ± {half:.2f}" in shown
    assert f"{best['exact']['exploitability']:.4f}" in shown
    assert sum(row["margin"] for row in result["standings"]) == pytest.approx(0, abs=1e-5)
    assert sum(row["nash"] for row in result["standings"]) == pytest.approx(1, abs=0.002)
    assert sum(row["rating"] for row in result["standings"]) == pytest.approx(0, abs=0.02)
    assert json.loads(run(kept, "run", *FEW, "--json").stdout)[0]["result"] == result
