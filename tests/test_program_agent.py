"""Programs as agents: the messages that they get, and the cost of their faults."""

from __future__ import annotations

import copy
import json
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from hearts_agents import make_agent
from hearts_agents.guard import ask
from hearts_agents.programs import process, program_agent
from hearts_agents.programs.process import LineProcess, ProgramError
from hearts_agents.programs.program_agent import ExternalAgent, program_files
from hearts_agents.programs.view_lines import ViewLines
from hearts_env import BatchGame, Game, HeartsError, Rules
from hearts_env.batch.views import BatchView
from hearts_env.rules.presets import PRESETS
from hearts_env.support import clock
from hearts_train.measure.evaluation import evaluate
from hearts_train.measure.participants import Participant
from tests.refusals import mistake, raises_hearts_error
from tests.test_cli import run
from tests.waiting import HANG, is_running, wait_until

SCHEMA = json.loads((Path(program_agent.__file__).parent / "external_schema.json").read_text())
VIEW = SCHEMA["$defs"]["view"]
BOTS = Path(__file__).parents[1] / "examples" / "bots"
PYTHON = f"{sys.executable} -IS"
LOW = f"exec:{PYTHON} {BOTS / 'low_bot.py'}"


@pytest.fixture(autouse=True)
def is_patient(monkeypatch, tmp_path):
    """Time limits pass only while a program hangs and says so."""
    hanging, passed = tmp_path / "pids.hang", [0.0]

    def now():
        if hanging.exists() and any(map(is_running, map(int, hanging.read_text().split()))):
            passed[0] += 10.0
        return passed[0] + time.perf_counter() / 60

    monkeypatch.setattr(clock, "now", now)
    monkeypatch.setattr(process, "_LAST_SECONDS", HANG)


# Plays its lowest legal action. At its `n`-th request it goes wrong as its first argument says.
# Every process writes its id and its child's to a file.
BAD = """
import json, os, signal, subprocess, sys, time
how, n, pids = sys.argv[1], int(sys.argv[2]), sys.argv[3]
child = subprocess.Popen(["sleep", "36000"])
def hang():
    print(os.getpid(), file=open(pids + ".hang", "a"))
    time.sleep(36000)
print(os.getpid(), child.pid, file=open(pids, "a"))
def say(**message):
    sys.stdout.write(json.dumps(message) + "\\n"); sys.stdout.flush()
asked = 0
for line in sys.stdin:
    message = json.loads(line)
    kind = message["type"]
    if kind == "hello":
        if how == "mute": hang()
        if how == "refuses": say(type="refuse", reason="only\\nparty")
        elif how == "newer": say(type="ready", protocol=2)
        elif how == "gone": sys.exit(7)
        else: say(type="ready", protocol=1, batch=how != "single")
    if kind not in ("act", "acts"):
        continue
    asked += 1
    if asked == n:
        if how == "hangs": hang()
        if how == "ignores":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.kill(os.getppid(), signal.SIGALRM)
            time.sleep(36000)
        if how == "exits": sys.exit(3)
        if how == "killed": os.kill(os.getpid(), signal.SIGKILL)
        if how == "prose": print("I play the queen", flush=True); continue
        if how == "long": print("x" * 9000000, flush=True); continue
        if how == "few": say(type="actions", actions=[]); continue
    views = message.get("views") or [message["view"]]
    given = [view["legal"][0] for view in views]
    if asked == n and how == "illegal": given[0] = "no card"
    if asked == n and how == "unheld": given[0] = 999
    if kind == "act": say(type="action", action=given[0])
    else:
        line = json.dumps({"type": "actions", "actions": given}) + "\\n"
        sys.stdout.write(line * (1 + (asked == n and how == "twice"))); sys.stdout.flush()
"""


@pytest.fixture(scope="module")
def bad_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("bots") / "bad.py"
    path.write_text(BAD)
    return path


@pytest.fixture
def bad(bad_file, tmp_path):
    """The spec of a bot with a given fault. At the end all its processes must be gone."""
    pids = tmp_path / "pids"

    def spec(how, n=1, options=""):
        return f"exec:{PYTHON} {bad_file} {how} {n} {pids}{options}"

    yield spec
    for pid in pids.read_text().split():
        wait_until(lambda pid=int(pid): not is_running(pid))


def views_of(rules, num_games=8):
    return BatchGame(rules, num_games=num_games, seed=1).views()


# ---- messages ------------------------------------------------------------------------------------
@pytest.mark.parametrize("preset", PRESETS)
def test_message_line_contains_the_whole_view(preset):
    rules = Rules.preset(preset)
    game = Game.deal(rules, seed=5, dealer=1) if rules.players == 2 else Game.deal(rules, seed=5)
    lines, easy = ViewLines(rules), make_agent("easy", seed=0)
    while not game.is_over:
        for player in range(rules.players):
            view = game.view(player)
            told = json.loads(lines.write(BatchView.of([view]))[0])
            legal = [rules.action_name(action) for action in view.legal_actions()]
            assert (told.pop("rules"), told.pop("legal")) == (rules.name, legal)
            known = {name: getattr(view, name) for name in told}
            known["tricks_taken"] = view.tricks_taken
            assert told == json.loads(json.dumps(known))
            assert sorted([*told, "rules", "legal"]) == sorted(VIEW["required"])
        game.play(easy.act(game.view(game.current_player)))


@pytest.mark.slow
def test_every_message_follows_the_schema(monkeypatch):
    validator = pytest.importorskip("jsonschema").Draft202012Validator
    validator.check_schema(SCHEMA)
    schema = validator(SCHEMA)
    for wrong in ({"type": "action", "action": "1H"}, {"type": "game", "seed": True}):
        assert not schema.is_valid(wrong)
    said = []
    send, answer, close = LineProcess.send, LineProcess.answer, LineProcess.close

    def send_and_note(self, lines, answers=1):
        said.extend(lines.splitlines())
        send(self, lines, answers)

    def answer_and_note(self, *limits):
        message = answer(self, *limits)
        said.append(json.dumps(message))
        return message

    def close_and_note(self, lines=b""):
        said.extend(lines.splitlines())
        close(self, lines)

    monkeypatch.setattr(LineProcess, "send", send_and_note)
    monkeypatch.setattr(LineProcess, "answer", answer_and_note)
    monkeypatch.setattr(LineProcess, "close", close_and_note)
    for rules in ("two_player", "classic", "kitty"):
        assert not evaluate(LOW, "easy", rules, 3, seed=1).faults
    agent, batch = make_agent(LOW, seed=1), BatchGame('mini moon="choose"', 64, 2, autodeal=False)
    while not batch.done.all():
        games = np.flatnonzero(~batch.done)
        batch.play(agent.act_batch(batch.views(games=games)), games=games)
    agent.act(Game.deal("two_player", seed=3, dealer=1).view(0))
    agent.close()
    messages = [json.loads(line) for line in said]
    for message in messages:
        schema.validate(message)
    kinds = {*SCHEMA["$defs"]} - {"card", "play", "view", "refuse"}
    assert {m["type"] for m in messages} == {kind.removesuffix("_message") for kind in kinds}
    phases = {view["phase"] for m in messages for view in m.get("views", [m.get("view")]) if view}
    assert phases == {"pass", "play", "moon"}


# Plays its lowest legal action and writes down the messages.
HEARS = """
import json, os, sys
told = open(sys.argv[1], "a")
for line in sys.stdin:
    message = json.loads(line)
    kind = message["type"]
    views = message.pop("views", None) or [message.pop("view", None)]
    print(os.getpid(), json.dumps(message), file=told, flush=True)
    given = [view["legal"][0] for view in views if view]
    if kind == "hello": print('{"type":"ready","protocol":1,"batch":true}', flush=True)
    if kind == "act": print(json.dumps({"type": "action", "action": given[0]}), flush=True)
    if kind == "acts": print(json.dumps({"type": "actions", "actions": given}), flush=True)
"""


def test_program_receives_a_seed_before_its_games(tmp_path):
    (tmp_path / "hears.py").write_text(HEARS)
    spec = f"exec:{PYTHON} {tmp_path / 'hears.py'} {tmp_path / 'told'}"
    evaluate(spec, "easy", deals=6)
    processes = {}
    for line in (tmp_path / "told").read_text().splitlines():
        pid, _, text = line.partition(" ")
        processes.setdefault(pid, []).append(json.loads(text))
    asked, *playing = processes.values()  # the first one only accepts the rules
    assert [m["type"] for m in asked] == ["hello", "bye"]
    assert len(playing) == 2
    seeds = set()
    for hello, game, *messages, bye in playing:
        assert (hello["type"], game["type"], bye["type"]) == ("hello", "game", "bye")
        assert {m["type"] for m in messages} <= {"act", "acts"}
        seeds.add(game["seed"])
    assert len(seeds) == 2
    agent = make_agent(spec, seed=1)
    agent.act_batch(views_of("mini"))
    agent.reseed(5)
    agent.act_batch(views_of("mini"))
    agent.act_batch(views_of("mini"))
    agent.close()
    told = [json.loads(t.partition(" ")[2]) for t in (tmp_path / "told").read_text().splitlines()]
    assert [m["seed"] for m in told[-6:] if m["type"] == "game"] == [1, 5]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("exec:", "agent"),
        ("exec:./no-such-bot --flag", "agent PATH"),
        ("exec:'./bot", "agent"),
        (f"exec:{BOTS / 'low_bot.py'}", "agent"),
        (LOW + "?seconds=0", "seconds 0.0"),
        (LOW + "?batch=0", "batch"),
    ],
)
def test_missing_program_is_named(spec, message):
    with raises_hearts_error(HeartsError, *message.split()):
        make_agent(spec)


def test_program_answers_single_and_batched_views_alike(tmp_path):
    views = views_of("two_player", 40)
    agent = make_agent(LOW + "?batch=16", seed=3)
    actions = agent.act_batch(views)
    assert actions.tolist() == [agent.act(view) for view in views]
    assert actions.dtype == np.int64
    for other in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert isinstance(other, ExternalAgent)
        assert (other.command, other.batch) == (agent.command, 16)
        assert other.act_batch(views).tolist() == actions.tolist()
        other.close()
    mini = views_of("mini")  # other rules: it is started anew
    legal = mini.legal_table
    assert legal[np.arange(8), agent.act_batch(mini)].all()
    agent.close()


# ---- the examples --------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    """The example bots in the installed languages, made once, Python's first."""
    commands = [LOW]
    if shutil.which("node"):
        commands.append(f"exec:node {BOTS / 'low_bot.js'}")
    if shutil.which("cc"):
        program = tmp_path_factory.mktemp("c") / "low_bot"
        source = str(BOTS / "low_bot.c")
        subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-o", program, source], check=True)
        commands.append(f"exec:{program}")
    if len(commands) == 1:
        pytest.skip("neither node nor cc is installed")
    agents = [make_agent(command) for command in commands]
    yield agents
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "_LAST_SECONDS", HANG)
        for agent in agents:
            process_of = agent._process._process
            agent.close()
            assert process_of.returncode == 0  # it left by itself, after bye


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["two_player", 'mini moon="choose"', "party", "omnibus"])
def test_example_bots_play_alike(twins, preset):
    rules, size = Rules.make(preset), 64 if "mini" in preset else 8
    batch = BatchGame(rules, num_games=size, seed=2, autodeal=False)
    easy, rows, phases = make_agent("easy", seed=1), np.arange(size), set()
    while not batch.done.all():
        games = np.flatnonzero(~batch.done)
        views = batch.views(games=games)
        given = [agent.act_batch(views).tolist() for agent in twins]
        assert all(actions == given[0] for actions in given)
        assert twins[-1].act(views[0]) == given[0][0]
        phases |= {view.phase for view in views}
        # One of them in seat 0, and in all seats of odd games.
        own = (views.players == 0) | (rows[games] % 2 == 1)
        batch.play(np.where(own, given[0], easy.act_batch(views)), games=games)
    assert ("moon" in phases, "pass" in phases) == (rules.moon == "choose", rules.pass_count > 0)


# ---- those that misbehave ------------------------------------------------------------------------
FAULTS = {
    "hangs": ("late", "0.5 s"),
    "exits": ("crashed", "status 3"),
    "killed": ("crashed", "SIGKILL"),
    "prose": ("illegal", "'I play the queen'"),
    "long": ("illegal", "line of more"),
    "few": ("illegal", "gave 0 actions for 4 views"),
}


@pytest.mark.parametrize("how", FAULTS)
def test_failure_costs_the_games_of_one_message(bad, how):
    views = views_of("two_player")
    agent = make_agent(bad(how, 2, "?batch=4" + "&seconds=0.5" * (how == "hangs")))
    actions, faults = ask(agent, views)
    kind, text = FAULTS[how]
    assert [fault.row for fault in faults] == [4, 5, 6, 7]
    assert actions.tolist() == [*(view.legal_actions()[0] for view in views)][:4] + [-1] * 4
    assert {fault.kind for fault in faults} == {kind}
    assert text in faults[0].text
    actions, faults = ask(agent, views.subset(np.arange(4)))  # it is started again
    assert not faults
    with raises_hearts_error(ProgramError, "agent"):
        agent.act_batch(views)
    agent.close()


@pytest.mark.parametrize("how", ["illegal", "unheld"])
def test_illegal_answer_costs_its_own_game(bad, how):
    agent = make_agent(bad(how))
    actions, faults = ask(agent, views_of("two_player"))
    assert [(fault.row, fault.kind) for fault in faults] == [(0, "illegal")]
    assert (actions[1:] >= 0).all()
    agent.close()


def test_second_line_is_not_the_next_answer(bad):
    agent = make_agent(bad("twice", options="?batch=8"))
    views = views_of("two_player")
    assert not ask(agent, views)[1]
    _, failures = agent.answers(views)
    assert "unexpected line" in failures[0][2]
    agent.close()


def test_program_is_not_restarted_after_three_failures(bad, tmp_path):
    agent = make_agent(bad("exits", options="?batch=1"))
    _, faults = ask(agent, views_of("two_player", 64))
    assert len(faults) == 64
    assert len((tmp_path / "pids").read_text().splitlines()) == 3
    assert "3 times in a row" in ask(agent, views_of("two_player", 2))[1][0].text


def of_command(agent):
    words = ["evaluate", agent, "--opponents", "easy", "--rules", "mini", "--deals", "4"]
    return run(*words)


def test_evaluate_command_shows_program_faults(bad):
    result = of_command(bad("exits"))
    assert result.exit_code == 0
    said = r": forfeited 8 deals .*\n  crashed, deal seed \d+, seat 0: .* status 3"
    assert re.search(said, result.stderr), result.stderr


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("refuses", "refuses mini: only party"),
        ("newer", "speaks protocol 2; this is protocol 1"),
        ("gone", "ended with status 7"),
        ("mute?start_seconds=0.3", "within 0.3 s"),
    ],
)
def test_evaluate_ends_if_program_does_not_start(bad, how, said):
    how, mark, options = how.partition("?")
    result = of_command(bad(how, options=mark + options))
    mistake(result, "agent", said, "docs/agents.md")


def test_isolation_adds_no_process_to_a_program(bad):
    participant = Participant(bad("hangs"), 0, isolate=True)
    seat = participant.seat(Rules.preset("mini"), 1, 0.2)
    _, faults = seat.ask(views_of("mini", 2))
    assert "0.2 s" in faults[0].text
    seat.renew(2)
    assert seat.ask(views_of("mini", 1))[1]
    seat.close()


def test_ctrl_c_ends_the_program(bad):
    agent = make_agent(bad("ignores"))
    view = Game.deal("two_player", seed=1).view(0)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        agent.check_rules(view.rules)
        with pytest.raises(KeyboardInterrupt):
            ask(agent, BatchView.of([view]))
    finally:
        signal.signal(signal.SIGALRM, before)


# ---- records -------------------------------------------------------------------------------------
def test_record_has_command_and_digest_of_program(tmp_path):
    bot = tmp_path / "bot.py"
    digests = set()
    for text in ("one", "two", "one"):
        bot.write_text(text)
        record = Participant(f"exec:python3 {bot} --flag?seconds=2", 0).to_json()
        digests.add(record["digest"])
    assert len(digests) == 2
    assert record["spec"] == f"exec:python3 {bot} --flag?seconds=2"
    assert (record["kind"], record["options"]) == ("ExternalAgent", {"seconds": 2})
    assert program_files(f"python3 -u {bot}") == [bot]
    assert [path.name for path in program_files(f"{sys.executable} {bot}")] == [
        Path(sys.executable).name,
        "bot.py",
    ]
    assert [path.name for path in program_files("sleep 5")] == ["sleep"]
