"""Compare the training of two trees to the bit: this one and a commit.

    python bench/same_states.py COMMIT [KIND ...]

Each kind of run trains for two updates, saves its state, resumes from it and trains for two more.
Both trees do so on this machine, so nothing is recorded and no processor matters. The exit status
is 1 if a state differs. Use it when code moves that must not change what is learned.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Everything is written out, because two trees may have different defaults.
BASE = (
    "seed=5",
    "algorithm=ppo",
    "budget.decisions=20000",
    "evaluation.times=0",
    "compile=false",
    "device=cpu",
    "threads=1",
    "precision=float32",
    "ema_decay=0",
    "env={rules: two_player, observation: flat, num_envs: 64, reward: trick}",
    "network={trunk: [32], policy: [16], value: [16], activation: relu}",
    "ppo={num_steps: 6, batch_size: 96, num_epochs: 2, gamma: 1, gae_lambda: 0.9, clip_range: 0.2,"
    " learning_rate: 0.003, learning_rate_end: 0.0003, ent_coef: 0.01, ent_coef_end: 0.001,"
    " vf_coef: 0.5, max_grad_norm: 0.5, normalize_advantage: true}",
)
KINDS: Mapping[str, tuple[str, ...]] = {
    "plain": (),
    "threads": ("threads=2",),
    "bfloat16": ("threads=2", "precision=bfloat16"),
    "average": ("ema_decay=0.9", "ppo.magnet_coef=0.1", "ppo.clip_range=null", "ppo.kl_coef=0.5"),
    "magnet": ("env.observation=ranked", "ppo.magnet=champion", "ppo.magnet_coef=0.5"),
    "opponents": (
        "opponents={self: 3, easy: 1}",
        "self_play={latest_share: 0.5, keep_every: 2}",
        "ppo.target_kl=0.001",
    ),
    "vrpo": (
        "threads=2",
        "algorithm=vrpo",
        "env.rules=mini",
        "ppo.normalize_advantage=false",
        "ema_decay=0.9",
        "ppo.magnet_coef=0.01",
    ),
    "pretraining": (
        "threads=2",
        "env.rules=micro",
        "pretraining={positions: 15000}",  # resumed before its last update
        "ema_decay=0.5",
    ),
    "pretraining_action": (
        "env.rules=micro",
        "pretraining={positions: 300, target: action}",
    ),
    "maskable": ("algorithm=maskable_ppo",),
}
RENAMED = {
    "games/cast": "games/occupants",
    "games/paid": "games/credited",
    "games/order": "games/rng",
    "games/rows/worth": "games/rows/q_values",
}
"""The present names of arrays, by their names in earlier commits."""


def state_of(kind: str) -> dict[str, str]:
    """Train a run of one kind with the tree that is imported, and return digests of its state."""
    from hearts_train import load_config  # this tree or the other
    from hearts_train.learn.loop import make_learner

    config = load_config(None, [*BASE, *KINDS[kind]])
    learner, updates = make_learner(config), 0
    while updates < 4:
        learner.warm_up()
        for _ in range(2):
            learner.update()
        updates += 2
        if updates < 4:
            learner = make_learner(config, learner.state())
    tensors = learner.state().tensors
    named = {RENAMED.get(name, name): array for name, array in tensors.items()}
    return {name: hashlib.sha256(array.tobytes()).hexdigest() for name, array in named.items()}


def states(tree: Path, kind: str) -> dict[str, str]:
    """Return digests of the state of one kind of run, trained by the code of a tree."""
    path = os.pathsep.join(str(tree / part) for part in ("", "agents", "train"))
    words = [sys.executable, __file__, "--state", kind]
    done = subprocess.run(
        words, stdout=subprocess.PIPE, check=True, env={**os.environ, "PYTHONPATH": path}, cwd=tree
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def compare(commit: str, kinds: list[str]) -> bool:
    """Train each kind in both trees, print what differs, and return whether nothing does."""
    differs = False
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(other), commit], check=True)
        try:
            for kind in kinds:
                here, there = states(ROOT, kind), states(other, kind)
                wrong = sorted(name for name in here | there if here.get(name) != there.get(name))
                differs |= bool(wrong)
                told = f"differs in {', '.join(wrong)}" if wrong else f"{len(here)} arrays equal"
                print(f"{kind:20} {told}", flush=True)
        finally:
            subprocess.run([*git, "remove", "--force", str(other)], check=True)
    return not differs


def main() -> int:
    """Compare this tree with a commit."""
    parser = argparse.ArgumentParser(description="Compare the training of two trees to the bit.")
    parser.add_argument("commit", help="the other tree")
    parser.add_argument("kinds", nargs="*", help=f"kinds of run (default: all): {', '.join(KINDS)}")
    if sys.argv[1:2] == ["--state"]:
        print(json.dumps(state_of(sys.argv[2])))
        return 0
    given = parser.parse_args()
    if unknown := set(given.kinds) - KINDS.keys():
        parser.error(f"unknown kind: {', '.join(sorted(unknown))}; one of {', '.join(KINDS)}")
    return 0 if compare(given.commit, given.kinds or list(KINDS)) else 1


if __name__ == "__main__":
    sys.exit(main())
