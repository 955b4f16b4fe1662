"""How long ``hearts compare`` takes to decide between networks: every pair of some runs.

hearts train demo --set seed=1 --set budget.decisions=2000000 --run runs/short-1     (and so on)
python bench/compare_networks.py runs/short-* --out docs/results/compare.json
"""

from __future__ import annotations

import argparse
import itertools
import shlex
import sys
from pathlib import Path

from hearts_env.support.files import write_json
from hearts_train.command.reports import prepare
from hearts_train.measure.comparison import Trial, check_max_deals
from hearts_train.measure.pictures import short_names
from hearts_train.measure.sequential import Question


def main() -> None:
    """Compare all pairs, and write what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--high", type=float, default=0.1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, metavar="FILE")
    args = parser.parse_args()
    short, found = short_names(args.runs), []
    for one, two in itertools.combinations(args.runs, 2):
        trial = Trial([one, two], None, Question(0.0, args.high), seed=1, workers=args.workers)
        prepare(trial)
        record = trial.run(check_max_deals(1_000_000)).to_json()
        for name in ("agent", "other"):
            record[name] = short[record[name]]
        for agent in record["agents"]:
            agent["name"] = agent["spec"] = short[agent["spec"]]
        print({name: record[name] for name in ("agent", "other", "verdict", "pairs", "seconds")})
        found.append({name: value for name, value in record.items() if name != "looks"})
    names = [Path(word).name if word in args.runs else word for word in sys.argv[1:]]
    command = shlex.join(["python", "bench/compare_networks.py", *names])
    if args.out is not None:
        write_json(args.out, {"command": command, "comparisons": found})


if __name__ == "__main__":
    main()
