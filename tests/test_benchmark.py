"""HeartsBench: fixed deals and players, and results that can be resumed, read and replayed."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from copy import deepcopy
from functools import cache, partial

import numpy as np
import pytest

from hearts_agents import make_agent, registry
from hearts_env import Game, HeartsError, Rules
from hearts_env.seeds import derived_seed
from hearts_env.support.progress import silent
from hearts_train.cli import benchmark as shown
from hearts_train.measure import benchmark as bench
from hearts_train.measure.benchmark import (
    SPLITS,
    TRACKS,
    Benchmark,
    encoded,
    read_benchmark,
    record_of,
    worst_deals,
)
from hearts_train.measure.duel import deals_digest
from hearts_train.measure.evaluation import evaluate
from hearts_train.measure.participants import Participant
from tests.players import CODE, Lowest, write_player
from tests.refusals import mistake, raises_hearts_error
from tests.test_cli import run as command

CHAMPIONS = {
    "two_player": "ccd3afab6cae0245d621b7272c68ac07af2e5527310ab1b104dd181c13a10bc4",
    "mini": "e47bba2d2a3be187d6588d2b7bcb93f18da8cdcccf43a0ac9e103651d965c6cc",
    "classic": "272fc87b7f46400c3ce1fb94855d8fead8630d997d37d296aaf968993ac8be89",
}
"""The SHA-256 of the champion's weights, by track."""
EQUILIBRIA = {
    "mini": "56ac62d4c79762c18fc58b972c5c3a155e34c212caacedc88ac926f32f92ed4f",
    "micro": "740f98961ceac5ece6a015de4afda6dfa3b59e86ff7fe847ae20e2bde687c4b3",
}
"""The SHA-256 of the file with the probabilities of `equilibrium`, by track."""
DEALS = {
    "two_player": (
        "e50b61f8e93e56dd2741b1f3396d41a5eefa8a57e25f95082df7d10d676e99ca",
        "9424d5ad35b027af45ad5d4142840e4730846c81532524725f3640b772f10cfa",
    ),
    "mini": (
        "0aeb077d936f2248f9c3f715b42a0d3554ed6b5b062438be2b83acb0101066fb",
        "d58e37147a7e0dad62e3dfa1d5b98024857531771be4ae313de09b4e86c94a39",
    ),
    "micro": (
        "12b61dcb30298f34f864382e82225b430cb3cfabbfa1eaeda6944ffeb5f0e1d5",
        "10bee9a415db0fad2ae95856fb291b4c72d0d44b0147241bc389f4f72da54ac0",
    ),
    "classic": (
        "e5b4aa2400fa2c416a12ce18834341f2d40e67a4ea00000b8815214875f898af",
        "bc82d388a2174c7bbcbaed9326d167d65a47a93618cdcd6f9147030e9cf3c5ac",
    ),
    "party-5": (
        "4259f2ddedbacc8dfa2c10253347d378fec515ab186fe62af85d5d9f1415bd66",
        "e0c1daea71ef60763a208526d47eebd41657ec352d41369cea007ae384b868f3",
    ),
}
"""The SHA-256 of the deals of each track, for each split."""
FEW = ("--track", "micro", "--deals", "4")
run = partial(command, "benchmark")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Return the path of a small result."""
    out = tmp_path_factory.mktemp("results") / "standard.json"
    assert run("standard", *FEW, "--json", out).exit_code == 0
    return out


# ---- the protocol --------------------------------------------------------------------------------
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("track", TRACKS.values(), ids=list(TRACKS))
def test_deals_are_those_of_the_protocol(track, split):
    text = f"HeartsBench v1 {track.name} {split}".encode()
    seed = int(hashlib.sha256(text).hexdigest()[:16], 16) // 2
    assert track.seed(split) == seed
    found = deals_digest(Rules.from_text(track.rules), seed, track.deals)
    assert found == DEALS[track.name][SPLITS.index(split)]


@pytest.mark.slow
def test_field_plays_as_when_versioned():
    # Golden on purpose: a changed player needs a new name, and the field a new version.
    played = {
        ("easy", "two_player", 3): [13.0, 15.0, 1.0, 12.0],
        ("standard", "two_player", 3): [0.0, 0.0, -15.0, -1.0],
        ("standard_trump", "two_player", 3): [0.0, 2.0, -15.0, -13.0],
        ("pro", "two_player", 3): [1.0, 13.0, -2.0, -2.0],
        ("pimc", "two_player", 3): [-13.0, 1.0, -13.0, -15.0],
        ("equilibrium", "micro", 3): [0.0, -1.5, 0.0, 0.0],
        ("champion", "two_player", 3): [-14.0, -17.5, -15.0, -15.0],
        ("champion", "mini", 15): [-8.0, 0.0, -2.0, 0.0],  # third -3.0 if it did not draw
        ("champion", "classic", 3): [-17 / 3, -46 / 3, -1.0, -47 / 3],
    }
    everybody = {name for track in TRACKS.values() for name in track.players()}
    assert {name for name, _, _ in played} == everybody
    assert {rules for name, rules, _ in played if name == "champion"} == set(CHAMPIONS)
    for (name, rules, seed), margins in played.items():
        found = evaluate(Lowest(), name, rules, deals=4, seed=seed).margins
        assert list(found) == margins, (name, rules)


def test_field_has_the_weights_of_version_2():
    # As above: other weights or default options are another player.
    weights = {("champion", name): digest for name, digest in CHAMPIONS.items()}
    weights |= {("equilibrium", name): digest for name, digest in EQUILIBRIA.items()}
    for name, track in TRACKS.items():
        for player in track.players():
            participant = Participant(player, 0)
            participant.check_rules(Rules.from_text(track.rules))
            assert participant.digest == weights.pop((player, name), None)
    assert not weights


@pytest.mark.parametrize(
    ("track", "cards"),
    [
        ("classic", "4C 7C 7C AD AD AD 9S 8S 9S 8H 8H 9H TH"),
        ("party-5", "AC AC AC KC 9S 9H 9S 9D TD 7H QD 7H 9H"),
    ],
)
def test_pro_plays_large_tracks_as_before(track, cards):
    game = Game.deal(Rules.from_text(TRACKS[track].rules), seed=3)
    pro, chosen = make_agent("pro", seed=1), []
    while not game.is_over:  # its answers are recorded, while all seats play their first legal card
        if game.current_player == 0:
            chosen.append(game.rules.action_name(int(pro.act(game.view(0)))))
        game.play(game.legal_actions()[0])
    assert chosen == cards.split()


def test_field_has_versions_of_this_package():
    assert TRACKS["micro"].players() == [
        *("easy", "standard", "standard_trump", "pro", "pimc", "equilibrium")
    ]
    for track in TRACKS.values():
        assert [*map(registry.versioned, track.players())] == [*track.field]


# ---- results -------------------------------------------------------------------------------------
def test_result_records_what_was_played(kept):
    record = json.loads(kept.read_bytes())
    result = record["result"]
    assert (result["protocol"], result["track"], result["split"]) == (
        "HeartsBench v3",
        "micro",
        "dev",
    )
    assert (result["deals"], result["is_full"]) == (4, False)
    assert result["agent"]["name"] == "standard-v1"
    assert Rules.from_dict(result["rules_in_full"]) == Rules.preset("micro")
    seed = TRACKS["micro"].seed("dev")
    assert result["dealt"]["sha256"] == deals_digest(Rules.preset("micro"), seed, 4)
    assert result["dealt"]["sha256_of_all"] == DEALS["micro"][0]
    names = [figures["opponent"] for figures in result["opponents"]]
    assert names == list(TRACKS["micro"].field)
    assert set(record["run"]["ms_per_card"]) == set(names)
    assert "ms_per_card" not in json.dumps(result)
    against_easy = evaluate("standard", "easy", "micro", deals=4, seed=seed)
    figures = result["opponents"][0]
    assert figures["margins"] == list(against_easy.margins)
    assert figures["ci95"] == pytest.approx(against_easy.ci95)
    worst = figures["worst"]
    assert [deal["margin"] for deal in worst] == sorted(figures["margins"])
    for deal in worst:
        assert deal["margin"] == figures["margins"][deal["number"]]
        assert deal["seed"] == derived_seed(seed, deal["number"])
        games = [Game.from_text(text) for text in deal["games"]]
        dealt = Game.deal("micro", deal["seed"])
        assert [game.hand(0) for game in map(Game.start, games)] == [dealt.hand(0)] * 2
        assert sum(game.margins()[seat] for seat, game in enumerate(games)) == 2 * deal["margin"]
    # The mean over the field counts a deal once.
    of_deals = np.mean([figures["margins"] for figures in result["opponents"]], axis=0)
    half = 1.96 * of_deals.std(ddof=1) / 2  # of four deals
    assert result["margin"] == pytest.approx(of_deals.mean())
    assert result["ci95"] == pytest.approx([of_deals.mean() - half, of_deals.mean() + half])


def test_worst_deals_come_from_all_blocks():
    found = evaluate("standard", "easy", "two_player", deals=40, seed=2)
    order = sorted(range(40), key=lambda number: (found.margins[number], number))
    assert [deal.number for deal in found.worst] == order[:5]
    assert [-deal.lost / 2 for deal in found.worst] == sorted(found.margins)[:5]


def test_benchmark_reports_exact_exploitability(tmp_path):
    perfect = Benchmark("equilibrium", "micro", deals=2)
    assert perfect.exploitability(silent)["exploitability"] == pytest.approx(0, abs=1e-9)
    code = tmp_path / "mine.py"
    code.write_text(CODE.format(0))
    found = Benchmark(f"{code}:Mine", "micro", deals=2).exploitability(silent)
    assert found["exploitability"] > 0.1
    assert not found["one_draw"]


def test_replayed_benchmark_result_is_byte_identical(kept, tmp_path):
    out = tmp_path / "again.json"
    played = run("standard", *FEW, "--json", out)
    assert played.exit_code == 0
    assert str(out) in played.stderr
    first, again = (json.loads(path.read_bytes()) for path in (kept, out))
    assert encoded(first | {"run": again["run"]}) == out.read_bytes()
    verdict = run("--verify", out, "--json")
    assert verdict.exit_code == 0
    assert "holds" in verdict.stderr
    assert json.loads(verdict.stdout)["holds"] is True


def test_result_with_better_figures_fails_verification(kept, tmp_path):
    record = json.loads(kept.read_bytes())
    record["result"]["opponents"][0]["margin"] += 1
    forged = tmp_path / "forged.json"
    forged.write_bytes(encoded(record))
    mistake(run("--verify", forged), "file")
    forged.write_bytes(encoded(record_of(record["result"], record["run"])))
    verdict = run("--verify", forged)
    assert verdict.exit_code == 1
    assert "opponents[0].margin: " in verdict.stderr


def digest_of(spec, *, isolate=False):
    participant = Participant(spec, 0, isolate=isolate)
    try:
        participant.check_rules(Rules.preset("micro"))
        return participant.digest
    finally:
        participant.close()


DECLARED = {
    "in its class": "class Mine:\n    files = ('a.bin', 'b.bin')\n",
    "in the agent": "class Mine:\n    def __init__(self): self.files = ('a.bin', 'b.bin')\n",
    "in its module": "files = ('a.bin', 'b.bin')\nclass Mine:\n",
}
ACT = "    def act(self, view): return view.legal_actions()[0]\n"


@pytest.mark.parametrize("where", DECLARED)
def test_digest_covers_code_and_declared_files(tmp_path, monkeypatch, where):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "elsewhere"  # paths are relative to the code, not to the present folder
    folder.mkdir()
    code = folder / "mine.py"
    code.write_text(DECLARED[where] + ACT)
    (folder / "a.bin").write_bytes(b"12")
    (folder / "b.bin").write_bytes(b"3")
    first = digest_of(f"{code}:Mine")
    assert digest_of(f"{code}:Mine", isolate=True) == first
    (folder / "a.bin").write_bytes(b"1")
    (folder / "b.bin").write_bytes(b"23")
    second = digest_of(f"{code}:Mine")
    assert second != first
    (folder / "b.bin").unlink()
    with pytest.raises(HeartsError, match=r"b\.bin"):
        Participant(f"{code}:Mine", 0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data[:-40], ""),
        (lambda data: data.replace(b'"version": 2', b'"version": 3', 1), "3"),
        (lambda data: encoded(record_of({"opponents": []}, {})), ""),
    ],
)
def test_damaged_result_is_refused(kept, tmp_path, change, words):
    path = tmp_path / "damaged.json"
    path.write_bytes(change(kept.read_bytes()))
    mistake(run("--verify", path), "file", words)


def test_result_of_another_protocol_is_refused(kept, tmp_path):
    record = read_benchmark(kept)
    record["result"]["package"] = "7"  # the protocol fixes the players
    path = tmp_path / "other.json"
    path.write_bytes(encoded(record_of(record["result"], record["run"])))
    assert run("--verify", path).exit_code == 0
    record["result"]["protocol"] = "HeartsBench v7"
    path.write_bytes(encoded(record_of(record["result"], record["run"])))
    mistake(run("--verify", path), "verify", "protocol", "'HeartsBench v7'", "HeartsBench v3")


# ---- played again in full ------------------------------------------------------------------------
SAID = {"package", "decisions"}
"""Fields that playing again cannot verify."""


@pytest.fixture(scope="module")
def longer(tmp_path_factory):
    """Return the path of a result of several blocks, by a player that draws random numbers."""
    out = tmp_path_factory.mktemp("results") / "easy.json"
    assert run("easy", "--track", "micro", "--deals", 300, "--json", out).exit_code == 0
    return out


@pytest.fixture
def played(longer, monkeypatch):
    """Return the result and a function that verifies a forgery. The deals are played only once."""
    record, play = read_benchmark(longer), Benchmark.run
    known = Benchmark("easy", "micro", deals=300).settings()
    monkeypatch.setattr(bench, "Benchmark", cache(Benchmark))
    monkeypatch.setattr(Benchmark, "settings", cache(Benchmark.settings))

    def run_again(self, *args, **kwargs):
        return deepcopy(record) if self.settings() == known else play(self, *args, **kwargs)

    monkeypatch.setattr(Benchmark, "run", run_again)

    def found(result, **entry):
        return bench.verify(record_of(result, record["run"]) | {"entry": entry})[1]

    assert found(record["result"]) == []
    return record["result"], found


def leaves(value, way=()):
    """Yield the path of every value in a result. Of a list, take the first and last entry."""
    if not isinstance(value, dict | list):
        yield way
        return
    for name in value if isinstance(value, dict) else sorted({0, len(value) - 1}):
        yield from leaves(value[name], (*way, name)) if value else ()


def otherwise(value):
    """Return a similar value of the same type."""
    if isinstance(value, bool) or value is None:
        return not value
    return value + "x" if isinstance(value, str) else value + 1


def forgery(result, way, change=otherwise):
    """Return a copy of a result with one value changed."""
    forged = inner = deepcopy(result)
    for name in way[:-1]:
        inner = inner[name]
    inner[way[-1]] = change(inner[way[-1]])
    return forged


def test_every_forged_field_is_found(played):
    result, found = played
    ways = [way for way in leaves(result) if way[0] not in SAID]
    names = {name for way in ways for name in way if isinstance(name, str)}
    assert {"margin", "ci95", "won", "rank", "plays", "moons", "games", "digest"} <= names
    for way in ways:
        try:
            assert found(forgery(result, way)), way
        except HeartsError:  # another protocol, track or number of deals that does not exist
            assert way[0] in ("protocol", "track", "split", "deals", "agent"), way


# ---- an agent that does not repeat itself --------------------------------------------------------
def shifted(result, by, deals=slice(None)):
    """Return a copy of a result with better margins and consistent means."""
    forged = deepcopy(result)
    for one in forged["opponents"]:
        margins = np.array(one["margins"])
        margins[deals] += by
        one["margins"] = margins.tolist()
        one |= bench._mean([one["margins"]])
    return forged | bench._mean([one["margins"] for one in forged["opponents"]])


def test_chance_differences_hold_if_declared(played, longer):
    result, found = played
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 1, 300)
    by_chance = shifted(result, noise - noise.mean() + 2 * noise.std() / 300**0.5)
    assert found(by_chance, repeats="no") == []
    assert found(by_chance)
    forged = longer.parent / "by_chance.json"
    record = read_benchmark(longer)
    forged.write_bytes(encoded(record_of(by_chance, record["run"]) | {"entry": {"repeats": "no"}}))
    told = run("--verify", forged)
    assert (told.exit_code, "chance" in told.stderr) == (0, True)


WIDE = np.where(np.arange(300) % 2, 1e4, -9.9e3)
"""Margins with standard errors so wide that better ones could hide in them."""


@pytest.mark.parametrize("by", [(0.1,), (-0.1,), (2.0,), (1e4, slice(3)), (WIDE,)])
def test_margins_beyond_chance_fail_verification(played, by):
    result, found = played
    found = found(shifted(result, *by), repeats="no")
    assert [text.partition(":")[0] for text in found] == ["margin"]


@pytest.mark.parametrize(
    ("way", "change"),
    [
        (("margin",), otherwise),
        (("opponents", 2, "digest"), otherwise),
        (("agent", "name"), otherwise),
        (("dealt", "seed"), otherwise),
        *(
            (("opponents", 1, "margins"), lambda _, m=m: m)
            for m in ([], None, ["x"] * 300, 7, [10**400] * 300)
        ),
    ],
)
def test_fields_independent_of_chance_are_compared(played, way, change):
    result, found = played
    assert found(forgery(result, way, change), repeats="no")


@pytest.mark.parametrize(
    ("name", "change", "holds"),
    [
        ("exploitability", lambda value: value + 0.9e-4, True),
        ("exploitability", lambda value: value - 2e-4, False),
        ("best_responses", lambda values: [values[0] + 0.9e-4, values[1]], True),
        ("best_responses", lambda values: [values[0], values[1] - 2e-4], False),
        ("best_responses", lambda values: values[:1], False),
        ("infosets", lambda _: [1, 1], False),
        ("exploitability", lambda _: None, False),
    ],
)
def test_exploitability_may_differ_by_rounding_only(played, name, change, holds):
    result, found = played
    forged = forgery(result, ("exploitability", name), change)
    assert found(forged)
    assert (found(forged, repeats="no") == []) is holds


# ---- entries -------------------------------------------------------------------------------------
def test_entry_keeps_declarations_and_verifies_beside_its_code(tmp_path, monkeypatch):
    home = tmp_path / "mine"
    home.mkdir()
    (home / "mine.py").write_text("files = ('w.bin',)\n" + CODE.format(0))
    (home / "w.bin").write_bytes(b"1")
    said = {"authors": "A. Author", "code": "https://example.org/a=b", "compute": "2 core hours"}
    words = [word for name, text in said.items() for word in ("--declare", f"{name}={text}")]
    monkeypatch.chdir(home)
    made = run("mine.py:Mine", *FEW, *words, "--json", "mine.json")
    assert made.exit_code == 0, made.stderr
    assert read_benchmark("mine.json")["entry"] == said
    monkeypatch.chdir(tmp_path)
    mistake(run("--verify", "mine/mine.json"), "verify", "--allow-code")
    assert run("--verify", "mine/mine.json", "--allow-code").exit_code == 0
    (home / "w.bin").write_bytes(b"2")
    mistake(run("--verify", "mine/mine.json", "--allow-code"), "verify", "digest")


@pytest.mark.parametrize(
    "words", [["authors="], ["authors=A", "authors=B"], ["repeats=yes"]], ids=str
)
def test_invalid_declaration_is_refused(words):
    given = [word for text in words for word in ("--declare", text)]
    mistake(run("easy", *FEW, *given), "--declare")


@pytest.mark.slow
def test_verify_accepts_moved_code_but_not_changed(tmp_path):
    code, moved, out = tmp_path / "mine.py", tmp_path / "moved.py", tmp_path / "mine.json"
    code.write_text(CODE.format(0))
    assert run(f"{code}:Mine", "--track", "micro", "--deals", 2, "--json", out).exit_code == 0
    code.rename(moved)
    assert run("--verify", out, f"{moved}:Mine").exit_code == 0
    moved.write_text(CODE.format(-1))
    mistake(run("--verify", out, f"{moved}:Mine"), "verify")


# ---- resuming ------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["SIGINT", "SIGTERM"])
def test_stopped_benchmark_resumes_to_the_same_result(kept, tmp_path, monkeypatch, kind):
    saved, out = tmp_path / "stopped.jsonl", tmp_path / "result.json"
    play = bench.Contest.play

    def stop_at_the_third(contest, task):
        if task.pairing == (0, 3):
            os.kill(os.getpid(), getattr(signal, kind))
        return play(contest, task)

    with monkeypatch.context() as patch:
        patch.setattr(bench.Contest, "play", stop_at_the_third)
        stopped = run("standard", *FEW, "--save", saved, "--json", out)
    assert stopped.exit_code == 128 + getattr(signal, kind)
    assert f"hearts benchmark --resume {saved}" in stopped.stderr
    assert not out.exists()
    mistake(run("standard", *FEW, "--save", saved), "save")
    mistake(run("--resume", saved, "--deals", 3), "--deals")
    resumed = run("--resume", saved, "--json", out)
    assert resumed.exit_code == 0, resumed.stderr
    assert json.loads(out.read_bytes())["result"] == json.loads(kept.read_bytes())["result"]
    monkeypatch.setattr("hearts_train.measure.duel.Duel.play", None)  # nothing is played again
    assert run("--resume", saved).exit_code == 0


@pytest.mark.slow
def test_invalid_benchmark_command_is_refused(kept, tmp_path):
    mistake(run("pro", "--track", "min"), "track", "mini")
    mistake(run("pro", "--declare", "budget=2ms"), "--declare", "decisions")
    mistake(run("pro", "--track", "micro", "--deals", 5001), "deals", "5,000")
    mistake(run("pimc", "--track", "classic"), "rules")
    mistake(run("--verify", tmp_path / "x.json"), str(tmp_path / "x.json"))
    mistake(run("--verify", kept, "--track", "mini"), "--track")
    mistake(run("--verify", kept, "--resume", tmp_path / "saved"), "--verify")


@pytest.mark.parametrize(
    ("way", "value"),
    [
        (("opponents", 0, "worst", 0, "margin"), "x"),
        (("opponents", 0, "worst", 0, "margin"), 10**400),
        (("opponents", 0, "worst", 0, "number"), [1]),
        (("opponents", 0, "worst", 0, "games"), [None]),
        (("opponents", 1, "worst"), {}),
        (("opponents", 1, "opponent"), 5),
        (("agent", "name"), 5),
        (("agent", "spec"), {}),
        (("decisions",), "x"),
        (("margin",), None),
    ],
)
def test_odd_field_of_a_result_is_named(kept, tmp_path, way, value):
    record, file = read_benchmark(kept), tmp_path / "odd.json"
    forged = forgery(record["result"], way, lambda _: value)
    file.write_bytes(encoded(record_of(forged, record["run"])))
    field = "result" + "".join(f"[{w}]" if isinstance(w, int) else f".{w}" for w in way)
    for words in (["replay", file], ["analyse", file], ["benchmark", "--verify", file]):
        mistake(command(*words), "file", file, field)


# ---- what is shown -------------------------------------------------------------------------------
def test_replay_shows_worst_deals_of_a_result(kept):
    told = command("replay", kept)
    assert told.exit_code == 0, told.stderr
    record = read_benchmark(kept)
    lost = [
        (figures["opponent"], deal)
        for figures in record["result"]["opponents"]
        for deal in figures["worst"]
        if deal["margin"] < 0
    ]
    assert f"Game 1 of {2 * len(lost)}: micro" in told.stdout
    for other, deal in lost:
        line = f"HeartsBench v3 micro dev, deal {deal['number']}, margin {deal['margin']:+.2f}"
        assert told.stdout.count(f"{line} over {other}\n") == 2
    first, second = worst_deals(record)[:2]
    assert (first.names(), second.names()) == (
        ["standard-v1", "easy-v1"],
        ["easy-v1", "standard-v1"],
    )
    assert [one.game.to_text() for one in (first, second)] == lost[0][1]["games"]


def test_verdict_states_the_place_in_the_field():
    def told(*intervals, agent="x"):
        names = "abcd"
        figures = zip(names, intervals, strict=False)
        opponents = [{"opponent": name, "ci95": ci95} for name, ci95 in figures]
        return shown.verdict({"opponents": opponents, "agent": {"name": agent}})

    assert told([1, 2], [-2, -1], [0.5, 3]) == "beats a, c; loses to b: place 2 of 4"
    assert told([-1, 1], [-2, -1]) == "loses to b; is level with a: place 2 to 3 of 3"
    assert told([0, 0]) == "is level with a: place 1 to 2 of 2"
    assert told([1, 2], [0, 0], agent="b") == "beats a: place 1 of 2"  # it is no rival of its own


def test_benchmark_reports_training_decisions(tmp_path):
    path = tmp_path / "mine.safetensors"
    write_player(path, decisions=1234)
    known = Benchmark(str(path), "micro", deals=2)
    claimed = Benchmark("pro", "micro", deals=2, decisions=5)
    told = [b.settings()["decisions"] for b in (known, claimed, Benchmark("pro", "micro", deals=2))]
    assert told == [1234, 5, None]
    mistake(run("pro", *FEW, "--declare", "decisions=-1"), "--declare", "-1")
    assert Benchmark(str(path), "micro", deals=2, decisions=2000).decisions == 2000
    assert "micro dev" in run(path, "--deals", 2).stdout  # the track that it was trained for
    with raises_hearts_error(HeartsError, "decisions", "1,233", "1,234"):
        Benchmark(str(path), "micro", deals=2, decisions=1233)
