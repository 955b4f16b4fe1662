"""How much of the variance of a play duplicate deals leave: 50 % if the seats share no luck.

python bench/duplicates.py [--deals 400] [--out docs/results/duplicates.json]
"""

from __future__ import annotations

import numpy as np

from bench import harness
from hearts_train.measure.contest import Contest
from hearts_train.measure.duel import Duel

PAIRINGS = [
    ("standard_trump", "standard", "two_player"),
    ("pro", "standard", "two_player"),
    ("pimc", "pro", "two_player"),
    ("easy", "standard", "two_player"),
    ("equilibrium", "pro", "mini"),
]


def measure(agent: str, other: str, rules: str, deals: int) -> dict[str, object]:
    """Standard deviations of the margins of single plays and of duplicate deals."""
    contest = Contest([agent, other], rules, 3)
    duel = Duel(contest.participants[0], contest.participants[1], contest.rules, contest.seed)
    scores = duel.play(0, deals).scores
    singles = (scores[:, 1] - scores[:, 0]).reshape(-1, 2).astype(np.float64)
    sd, single_sd = float(singles.mean(1).std()), float(singles.std())
    return {
        "agent": agent,
        "opponent": other,
        "rules": rules,
        "single_sd": single_sd,
        "sd": sd,
        "left": 2 * sd**2 / single_sd**2,
    }


def main() -> None:
    """Measure, and write what was found."""
    parser = harness.options(__doc__)
    parser.add_argument("--deals", type=int, default=400)
    args = parser.parse_args()
    rows = [measure(*pairing, args.deals) for pairing in PAIRINGS]
    for row in rows:
        print(row, flush=True)
    harness.write(args.out, {"deals": args.deals, "rows": rows})


if __name__ == "__main__":
    main()
