"""Evaluations and tournaments as the commands run and show them."""

from __future__ import annotations

from hearts_agents import make_agent
from hearts_env import Rules
from hearts_train import console
from hearts_train.evaluation import Evaluation, check_pairs, evaluate, rules_for
from hearts_train.tournament import Tournament


def evaluate_against(
    agent: str, opponents: list[str], rules: Rules | None, pairs: int, seed: int
) -> list[Evaluation]:
    """Evaluate an agent against one after another; after Ctrl-C what there is."""
    check_pairs(pairs)
    # Whatever cannot be found is said before anything is played.
    rules = rules_for([make_agent(agent), *map(make_agent, opponents)], rules)
    console.say_if_compiling()
    results: list[Evaluation] = []
    for opponent in opponents:
        try:
            with console.progress(f"{agent} against {opponent}") as tell:
                results.append(evaluate(agent, opponent, rules, pairs, seed, tell))
        except KeyboardInterrupt:
            if not results:
                raise
            break
        if results[-1].interrupted:
            break
    return results


def show_evaluations(results: list[Evaluation], *, to_stderr: bool) -> None:
    """One table of evaluations of one agent."""
    rows = [
        [
            result.opponent + (" (stopped early)" if result.interrupted else ""),
            format_margin(result.margin, result.ci95),
            f"{result.won:.1%}",
            f"{result.moons}:{result.opponent_moons}",
            "-" if result.matches_won is None else f"{result.matches_won:.1%} of {result.matches}",
            f"{result.pairs}",
            f"{result.ms_per_decision:.3g}",
            f"{result.opponent_ms_per_decision:.3g}",
        ]
        for result in results
    ]
    columns = [
        "against",
        "margin a deal",
        "deals won",
        "moons",
        "matches won",
        "pairs",
        "ms",
        "its ms",
    ]
    first = results[0]
    title = f"{first.agent}, {first.rules}: points a deal, 95 % interval over duplicate pairs"
    console.print_table(title, columns, rows, to_stderr=to_stderr)


def format_margin(margin: float, ci95: tuple[float, float]) -> str:
    """Like ``+2.13 ± 0.10``."""
    return f"{margin:+.2f} ± {(ci95[1] - ci95[0]) / 2:.2f}"


def show_tournament(result: Tournament, *, to_stderr: bool) -> None:
    """The ranking, with the margins of each agent over all others."""
    agents = result.agents
    rows = []
    for standing in result.standings:
        i = agents.index(standing.agent)
        rows.append(
            [
                f"{standing.place}. {standing.agent}",
                format_margin(standing.rating, standing.ci95),
                f"{standing.won:.1%}",
                f"{standing.ms_per_decision:.3g}",
                *(
                    "" if i == j else format_margin(*result.margin(i, j))
                    for j in range(len(agents))
                ),
            ]
        )
    note = " (stopped early)" if result.interrupted else ""
    title = (
        f"{result.rules}: points a deal, 95 % interval; {result.pairs} duplicate deals a "
        f"pairing{note}"
    )
    columns = ["agent", "over all others", "deals won", "ms", *(f"over {name}" for name in agents)]
    console.print_table(title, columns, rows, to_stderr=to_stderr)
