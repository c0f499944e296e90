#!/usr/bin/env python
"""Measure answers: required facts, citations, refusals, the catalogue, attacks, speed and cost.

    python scripts/eval_answers.py --index DIR [--split report|tune|all] [--failures]
        [--reasoner extractive|llm] [--compare BEFORE.json] [--export-ragas ROWS.jsonl]

Every question goes through the graph that the app runs; every score is made by rules and needs no
key. --reasoner llm asks the configured model, which may be billed. Nothing was tuned on the
"report" half. Rows are written to evaluations/ in the data folder; --compare lists what an earlier
run decided differently. --export-ragas writes what scripts/eval_ragas.py gives to a judge.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rag.engine import Engine
from rag.errors import RagError
from rag.evaluation.answers import (
    COMPARED,
    P50_MILLISECONDS,
    REACH,
    AnswerRow,
    answer_groups,
    plain_row,
    run_answer,
    summarise_answers,
)
from rag.evaluation.questions import ALL, Category, read_questions
from rag.evaluation.ragas_rows import ragas_row, write_ragas_rows
from rag.evaluation.run_files import RunFile, changes, dated_path, read_run, write_run
from rag.settings import load_settings


def main() -> int:
    """Run the questions and print the table; 2 when the app cannot start."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--index", type=Path, help="folder of a built index (default: as set)")
    parser.add_argument("--split", choices=["report", "tune", "all"], default="report")
    parser.add_argument("--questions", type=Path, default=Path("corpus/eval/questions.jsonl"))
    parser.add_argument("--category", choices=get_args(Category), action="append")
    parser.add_argument("--reasoner", choices=["extractive", "llm"], default="extractive")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of every question, e.g. agent.max_passes=1",
    )
    parser.add_argument("--failures", action="store_true", help="list what went wrong")
    parser.add_argument("--compare", type=Path, help="rows of an earlier run")
    parser.add_argument("--export-ragas", type=Path, metavar="FILE", help="rows for a judge")
    parser.add_argument("--output", type=Path, help="file for the rows (default: a dated one)")
    arguments = parser.parse_args()
    try:
        before = read_run(arguments.compare) if arguments.compare else None
        given = {"index": arguments.index} if arguments.index else {}
        engine = Engine.open(load_settings(**given))
        chosen = read_questions(arguments.questions, arguments.split, arguments.category or ALL)
    except RagError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if arguments.reasoner == "llm" and engine.facts.reasoner_label == "extractive":
        print("error: --reasoner llm needs a language model; see .env.example", file=sys.stderr)
        return 2
    # Warm-up, not counted.
    engine.ask("What is attention?")
    values = {name: json.loads(value) for name, value in (s.split("=", 1) for s in arguments.set)}
    reasoner = "extractive" if arguments.reasoner == "extractive" else "llm"
    rows = [run_answer(engine, question, values, reasoner) for question in chosen]
    print_table(rows, arguments.split)
    if arguments.failures:
        print_failures(rows)
    run = RunFile(
        kind="answers",
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        settings_hash=engine.settings.with_overrides(values).fingerprint(),
        index_fingerprint=engine.facts.fingerprint,
        key=("question",),
        rows=tuple(plain_row(row) for row in rows),
    )
    if before is not None:
        print_changes(before, run)
    if arguments.export_ragas:
        made = [one for row in rows if (one := ragas_row(row.question, row.result)) is not None]
        write_ragas_rows(arguments.export_ragas, made)
        print(f"{len(made)} rows for a judge in {arguments.export_ragas}")
    path = arguments.output or dated_path(engine.settings.data_dir, "answers")
    write_run(path, run)
    print(f"rows in {path}")
    engine.close()
    return 0


def print_table(rows: list[AnswerRow], split: str) -> None:
    """Every measure for each group of questions, then the bars of the reporting half."""
    groups = answer_groups(rows)
    for name, group in groups.items():
        print(f"{name} ({split} half, {len(group)} questions)")
        for measure, value in summarise_answers(group).items():
            print(f"  {measure:<20}{value}")
        print(f"  {'words':<20}{statistics.median(row.words for row in group):.0f} (median)")
        times = [row.milliseconds for row in group]
        print(
            f"  {'milliseconds':<20}p50 {statistics.median(times):.0f}, "
            f"p95 {sorted(times)[int(0.95 * (len(times) - 1))]:.0f}"
        )
    counts = [row.citations for row in rows if row.citations]
    right, cited = sum(one.right for one in counts), sum(one.cited for one in counts)
    print(f"sentences: {cited} cited, {right} of them rightly")
    by = {name: sum(row.refused_by == name for row in rows) for name in ("grader", "writer")}
    print(f"refused by the grader {by['grader']}, by the writer's guard {by['writer']}")
    calls = sum(row.result.llm_calls for row in rows)
    costs = [row.result.cost_usd for row in rows]
    known = sum(cost for cost in costs if cost is not None)
    unknown = sum(cost is None for cost in costs)
    print(f"model calls {calls}, cost ${known:.4f}, cost not reported for {unknown} answers")
    degraded = sum(row.result.degraded is not None for row in rows)
    errors = sum(row.result.route == "error" for row in rows)
    print(f"answered with less than configured: {degraded}, errors: {errors}")
    print_reach(rows, groups)


def print_reach(rows: list[AnswerRow], groups: dict[str, list[AnswerRow]]) -> None:
    """What a run without a language model must reach, and whether it does."""
    for measure, (group, least) in REACH.items():
        value = summarise_answers(groups.get(group, [])).get(measure)
        if value is not None:
            print(
                _line(
                    f"{measure} ({group})", f"{value.mean:.3f}", f">= {least}", value.mean >= least
                )
            )
    obeyed = sum(bool(row.obeyed) for row in rows)
    print(_line("injections obeyed", str(obeyed), "= 0", obeyed == 0))
    if rows:
        middle = statistics.median(row.milliseconds for row in rows)
        bar = f"<= {P50_MILLISECONDS:.0f}"
        print(_line("p50 milliseconds", f"{middle:.0f}", bar, middle <= P50_MILLISECONDS))


def _line(name: str, value: str, bar: str, reached: bool) -> str:
    return f"{'reached' if reached else 'MISSED '} {name} {value} {bar}"


def print_failures(rows: list[AnswerRow]) -> None:
    """Wrong refusals and answers, missing facts, wrong citations, what an attack got through."""
    for row in rows:
        told = []
        if row.refusal_right == 0:
            told.append(f"{row.result.route} is wrong")
        if row.facts is not None and row.facts < 1 and not row.refused:
            told.append(f"facts {row.facts:.2f}")
        if row.expected is not None and row.expected < 1:
            told.append(f"catalogue {row.expected:.2f} by {row.result.route}")
        told += list(row.obeyed)
        told += list(row.citations.wrong) if row.citations else []
        if told:
            print(f"{row.question.id} {row.question.category} [{'; '.join(told)}]")
            print(f"    {row.question.question}")


def print_changes(before: RunFile, after: RunFile) -> None:
    """What the earlier run decided differently: broken questions first, then fixed ones."""
    found = changes(before, after, COMPARED)
    for change in found:
        word = "fixed " if change.after > change.before else "broken"
        print(f"{word} {change.row} {change.measure}: {change.before:g} -> {change.after:g}")
    print(f"{len(found)} changes over {len(before.rows)} and {len(after.rows)} rows")


if __name__ == "__main__":
    sys.exit(main())
