"""Programs that are started end with the process that started them, however that ends."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from hearts_agents.programs import process
from hearts_agents.programs.process import kill_child, python_environment, start_child
from tests.waiting import is_running, wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no sessions")

# Starts two programs that start another each, ends one of them, says who they are, and is gone.
STARTS = """
import os, sys
from hearts_agents.programs import process
from hearts_agents.programs.process import kill_child, start_child

process._GUARD_SECONDS = 600.0

def start():
    child = start_child(["sh", "-c", "trap '' HUP INT TERM; sleep 36000 & echo $!; sleep 36000"])
    return child, child.stdout.readline().decode().strip()

children = [start() for _ in range(3)]
kill_child(children[1][0])
print(*[pid for child, other in children for pid in (child.pid, other)], flush=True)
{end}
"""


def run(program):
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=python_environment(),
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "sys.exit(0)"])
def test_children_end_with_their_parent(end):
    found = run(STARTS.format(end=end))
    assert not found.stderr
    pids = list(map(int, found.stdout.split()))
    assert len(set(pids)) == 6
    wait_until(lambda: not any(map(is_running, pids)))


def test_ended_child_and_its_children_are_forgotten():
    child = start_child(["sh", "-c", "sleep 36000 & echo $!; wait"])
    assert child.stdout is not None
    other = int(child.stdout.readline())
    assert child.pid in process._guard._known
    kill_child(child)
    assert child.returncode == -signal.SIGKILL
    assert child.pid not in process._guard._known
    wait_until(lambda: not is_running(other))
    kill_child(child)  # once more does no harm
