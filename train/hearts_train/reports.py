"""Evaluations and tournaments as the commands run and show them."""

from __future__ import annotations

from collections.abc import Sequence

from hearts_agents import make_agent
from hearts_env import BatchGame, Rules
from hearts_env._interrupts import held_interrupt
from hearts_train import console
from hearts_train.evaluation import Evaluation, check_pairs, evaluate, rules_for
from hearts_train.tournament import Tournament


def prepare(names: Sequence[str], rules: Rules | None) -> Rules:
    """Compile what these agents need, and refuse what cannot play; returns the rules to play."""
    agents = [make_agent(name, seed=0) for name in names]
    rules = rules_for(agents, rules)
    with held_interrupt():  # compilers do not like to be interrupted
        batch = BatchGame(rules, 1)
        views = batch.views()
        for agent in agents:
            actions = agent.act_batch(views)
        batch.play(actions)
    return rules


def evaluate_against(
    agent: str, opponents: list[str], rules: Rules | None, pairs: int, seed: int
) -> list[Evaluation]:
    """Evaluate an agent against one after another; after Ctrl-C what there is."""
    check_pairs(pairs)
    rules = prepare([agent, *opponents], rules)
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
    first = results[0]
    # With two players the rank is 2 less the share of deals won.
    is_ranked = Rules.make(first.rules).players > 2
    rows = [
        [
            result.opponent + f" (stopped: {result.pairs:,} deals)" * result.interrupted,
            format_margin(result.margin, result.ci95),
            f"{result.won:.1%}",
            *([format_rank(result.rank, result.rank_ci95)] if is_ranked else []),
            f"{result.moons}:{result.opponent_moons}",
            "-" if result.matches_won is None else f"{result.matches_won:.1%} of {result.matches}",
            f"{format_ms(result.ms_per_decision)} {format_ms(result.opponent_ms_per_decision)}",
        ]
        for result in results
    ]
    columns = ["against", "margin", "deals won", *(["rank"] if is_ranked else [])]
    columns += ["moons", "matches won", "ms, its ms"]
    title = (
        f"{first.agent}, {first.rules}: points a deal, 95 % interval over {first.pairs:,} "
        "duplicate deals (each from every seat)"
    )
    console.print_table(title, columns, rows, to_stderr=to_stderr)


def format_margin(margin: float, ci95: tuple[float, float]) -> str:
    """Like ``+2.13 ± 0.10``."""
    return f"{margin:+.2f} ± {(ci95[1] - ci95[0]) / 2:.2f}"


def format_rank(rank: float, ci95: tuple[float, float]) -> str:
    """Like ``2.13 ± 0.02``."""
    return f"{rank:.2f} ± {(ci95[1] - ci95[0]) / 2:.2f}"


def show_tournament(result: Tournament, *, to_stderr: bool) -> None:
    """The ranking, and below it the margins of each agent over each other."""
    note = " (stopped early)" if result.interrupted else ""
    title = (
        f"{result.rules}: mean margin over all others in points a deal, 95 % interval over "
        f"{result.pairs} duplicate deals{note}"
    )
    rows = [
        [
            f"{standing.place}. {standing.agent}",
            format_margin(standing.rating, standing.ci95),
            f"{standing.won:.1%}",
            format_ms(standing.ms_per_decision),
        ]
        for standing in result.standings
    ]
    console.print_table(title, ["agent", "margin", "deals won", "ms"], rows, to_stderr=to_stderr)
    order = [result.agents.index(standing.agent) for standing in result.standings]
    cross = [
        [result.agents[i], *("" if i == j else format_margin(*result.margin(i, j)) for j in order)]
        for i in order
    ]
    columns = ["margin of", *(f"over {result.agents[j]}" for j in order)]
    console.print_table("", columns, cross, to_stderr=to_stderr)


def format_ms(milliseconds: float) -> str:
    """Milliseconds to three places."""
    return f"{milliseconds:.3f}" if milliseconds >= 0.001 else "<0.001"
