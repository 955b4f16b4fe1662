"""The page of training runs: what the server tells of them, and playing one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hearts_train.session.folders import ServerFolder
from hearts_train.web.app import create_app
from hearts_train.web.players import Players
from hearts_train.web.runs import RunShelf
from tests.test_runs import evaluation, make, update

DATA = Path(__file__).parents[1] / "agents" / "hearts_agents" / "data"


def two_runs(folder: Path) -> Path:
    """Two seeds of one experiment, one of which has a player."""
    for seed, end in enumerate((3.0, 5.0)):
        rows = (evaluation(0, -4.0), update(10**6, entropy=0.5), evaluation(2 * 10**6, end))
        run = make(folder / f"demo-{seed}", *rows, seed=seed, ent_coef=0.01)
        with (run / "config.yaml").open("a") as file:
            file.write("env:\n  rules: two_player\n  players: null\n")
    (folder / "demo-1" / "model_card.md").write_text("# <b>demo</b>\n")
    shutil.copy(
        DATA / "champion_two_player_small.safetensors", folder / "demo-1" / "checkpoint.safetensors"
    )
    return folder


@pytest.fixture
def runs(tmp_path):
    return two_runs(tmp_path / "mine")


@pytest.fixture
def client(runs, tmp_path):
    store = ServerFolder(tmp_path / "data")
    with (
        store.locked(),
        TestClient(create_app(store, Players(), runs=[runs]), "http://localhost") as client,
    ):
        yield client


def test_all_runs_are_reported_with_names_that_are_no_paths(client, tmp_path):
    answer = client.get("/api/runs")
    reported = answer.json()
    assert {run["run"] for run in reported["runs"]} == {"demo-0", "demo-1"}
    one = next(run for run in reported["runs"] if run["run"] == "demo-1")
    assert (one["seed"], one["status"], one["share"], one["player"]) == (1, "finished", 1.0, True)
    assert one["margins"] == {"pro": {"margin": 5.0, "ci95": [4.5, 5.5]}}
    assert reported["standing"] == ["over pro"]
    assert str(tmp_path) not in answer.text


def test_a_change_is_seen(client, runs):
    assert client.get("/api/runs").json()["runs"][0]["margins"]["pro"]["margin"] in (3.0, 5.0)
    with (runs / "demo-0" / "metrics.jsonl").open("a") as file:
        file.write(json.dumps(evaluation(3 * 10**6, 9.0)) + "\n")
    reported = client.get("/api/runs").json()["runs"]
    assert {run["margins"]["pro"]["margin"] for run in reported} == {9.0, 5.0}


def test_curves_are_those_of_hearts_plot(client):
    reported = client.get("/api/runs/curves", params={"y": "over pro"}).json()
    (panel,) = reported["panels"]
    (curve,) = panel["curves"]
    assert (curve["runs"], curve["x"], curve["mean"]) == (2, [0.0, 2.0], [-4.0, 4.0])
    (group,) = reported["groups"].values()
    assert set(group) == {"demo-0", "demo-1"}
    alone = client.get("/api/runs/curves", params={"run": "demo-0", "y": "entropy"}).json()
    assert alone["panels"][0]["curves"][0]["mean"] == [0.5]


def test_a_run_is_played(client, runs):
    """Its player sits down under the run's name, and plays."""
    reported = client.post("/api/runs/play", json={"run": "demo-1"}).json()
    assert reported == {"agent": "demo-1", "rules": "two_player", "players": 2}
    with client.websocket_connect("ws://localhost/ws") as socket:
        socket.send_json({"type": "hello", "v": 1})
        assert "demo-1" in {agent["name"] for agent in socket.receive_json()["agents"]}
        socket.send_json(
            {"type": "create", "rules": "two_player", "seats": [{"agent": "demo-1"}, {"me": True}]}
        )
        while (message := socket.receive_json())["type"] != "table":
            pass
        assert message["seats"][0]["agent"] == "demo-1"


def test_a_table_with_a_run_goes_on_after_a_restart(client, runs, tmp_path):
    client.post("/api/runs/play", json={"run": "demo-1"})
    with client.websocket_connect("ws://localhost/ws") as socket:
        socket.send_json({"type": "hello", "v": 1})
        token = socket.receive_json()["token"]
        seats = [{"agent": "demo-1"}, {"me": True}]
        socket.send_json({"type": "create", "rules": "two_player", "seats": seats})
        while (message := socket.receive_json())["type"] != "table":
            pass
    again = create_app(ServerFolder(tmp_path / "data"), Players(), runs=[runs])
    with (
        TestClient(again, "http://localhost") as other,
        other.websocket_connect("ws://localhost/ws") as socket,
    ):
        socket.send_json({"type": "hello", "v": 1, "token": token})
        socket.receive_json()
        socket.send_json({"type": "watch", "table": message["table"]})
        while (reported := socket.receive_json())["type"] not in ("table", "error"):
            pass
        assert (reported["type"], reported.get("you")) == ("table", 1)


@pytest.mark.parametrize("name", ["nobody", "../mine/demo-1", "", None, 3, ["demo-1"]])
def test_only_runs_on_the_shelf_are_played(client, name):
    answer = client.post("/api/runs/play", json={"run": name})
    assert answer.status_code == 422
    assert "reload the page" in answer.json()["text"]


@pytest.mark.parametrize(
    ("path", "reported"),
    [
        ("/api/runs/curves?x=steps", "x: 'steps' is unknown; choose decisions or minutes"),
        ("/api/runs/curves?y=over%20easy", "is not in these runs; choose from over pro"),
        ("/api/runs/curves?by=nothing", "is not a setting of these runs"),
        ("/api/runs/card?run=../demo-1", "run: '../demo-1' is not here; reload the page"),
    ],
)
def test_questions_that_cannot_be_answered(client, path, reported):
    answer = client.get(path)
    assert answer.status_code == 422
    assert reported in answer.json()["text"]


def test_a_run_without_a_player_is_not_played(client):
    answer = client.post("/api/runs/play", json={"run": "demo-0"})
    assert "has no player yet" in answer.json()["text"]


def test_a_card_comes_as_text(client):
    reported = client.get("/api/runs/card", params={"run": "demo-1"}).json()
    assert reported["card"] == "# <b>demo</b>\n"
    assert reported["settings"]["ppo.ent_coef"] == 0.01


def test_runs_of_one_name_in_several_places_are_all_there(tmp_path):
    places = [two_runs(tmp_path / place / "runs") for place in "abc"]
    names = set(RunShelf(places).runs())
    assert names == {f"demo-{seed}{more}" for seed in (0, 1) for more in ("", " (2)", " (3)")}
    assert set(RunShelf([places[0] / "demo-0"]).runs()) == {"demo-0"}
    reported = RunShelf(places).curves([], [], "decisions", ["seed"])
    assert str(tmp_path) not in str(reported)
