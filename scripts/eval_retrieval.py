#!/usr/bin/env python
"""Measure retrieval, refusal and speed over the question file, without a language model.

python scripts/eval_retrieval.py --index DIR [--split report|tune|all] [--stages] [--failures]

Questions of the "tune" half were used for calibration; report figures of the "report" half. The
rows are written to evaluations/ in the data folder; scripts/compare_runs.py compares two files.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pydantic import JsonValue

from rag.engine import Engine
from rag.errors import RagError
from rag.evaluation.questions import ANSWERABLE, read_questions
from rag.evaluation.retrieval_run import RetrievalRow, estimate, run_question, summarise
from rag.evaluation.run_files import RunFile, dated_path, write_run
from rag.evaluation.stages import NDCG_DEPTH, STAGES, TOP, StageRow, stage_rows
from rag.settings import load_settings


def main() -> int:
    """Run the questions and print the table; 2 when the app cannot start."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--index", type=Path, required=True, help="folder of a built index")
    parser.add_argument("--split", choices=["report", "tune", "all"], default="report")
    parser.add_argument("--questions", type=Path, default=Path("corpus/eval/questions.jsonl"))
    parser.add_argument("--category", help="only questions of this category")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of every question, e.g. retrieval.papers_per_query=0",
    )
    parser.add_argument("--failures", action="store_true", help="list what went wrong")
    parser.add_argument("--stages", action="store_true", help="measure each stage of retrieval")
    parser.add_argument("--output", type=Path, help="file for the rows (default: a dated one)")
    arguments = parser.parse_args()
    try:
        engine = Engine.open(load_settings(index=arguments.index))
        questions = read_questions(arguments.questions, arguments.split)
    except RagError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    engine.ask("What is attention?")  # warm-up, not counted
    chosen = [q for q in questions if arguments.category in (None, q.category)]
    values = {name: json.loads(value) for name, value in (s.split("=", 1) for s in arguments.set)}
    if arguments.stages:
        staged = [row for question in chosen for row in stage_rows(engine, question)]
        print_stages(staged, arguments.split)
        write(
            "stages", ("question", "stage"), [plain_stage(row) for row in staged], engine, arguments
        )
        return 0
    rows = [run_question(engine, question, values) for question in chosen]
    print_table(rows, arguments.split)
    if arguments.failures:
        print_failures(rows)
    write("retrieval", ("question",), [plain_row(row) for row in rows], engine, arguments)
    return 0


def print_table(rows: list[RetrievalRow], split: str) -> None:
    """Each measure over all answerable questions, then by category, then speed."""
    answerable = [row for row in rows if row.question.category in ANSWERABLE]
    groups = {"answerable": answerable}
    for category in sorted({row.question.category for row in rows}):
        groups[category] = [row for row in rows if row.question.category == category]
    for name, group in groups.items():
        print(f"{name} ({split} half)")
        for measure, value in summarise(group).items():
            print(f"  {measure:<18}{value}")
    for name, group in (
        (
            "simple",
            [r for r in answerable if r.passes == 1 and r.question.category != "comparison"],
        ),
        ("all", rows),
    ):
        times = [row.milliseconds for row in group]
        if times:
            print(f"whole answer, {name} questions: p50 {statistics.median(times):.0f} ms")


def print_failures(rows: list[RetrievalRow]) -> None:
    """Answerable questions that lost a paper or were refused, and others that were answered."""
    for row in rows:
        question = row.question
        lost = question.answerable and ((row.kept or 0) < 1 or row.refused)
        if lost or (not question.answerable and not row.refused):
            found = f"pool={row.pool} kept={row.kept} {row.route}"
            print(f"{question.id} {question.category} {found}: {question.question}")


def print_stages(rows: list[StageRow], split: str) -> None:
    """What each stage finds, over all answerable questions and for each kind."""
    kinds = ["answerable", *sorted({row.question.category for row in rows})]
    print(f"{split} half; papers in the first {TOP} passages, anywhere, MRR, nDCG@{NDCG_DEPTH}")
    for kind in kinds:
        group = [
            r
            for r in rows
            if kind == r.question.category or (kind == "answerable" and r.question.answerable)
        ]
        count = len({row.question.id for row in group})
        print(f"{kind} ({count})")
        for stage in STAGES:
            here = [row for row in group if row.stage == stage]
            if here[0].question.answerable:
                values = (
                    estimate([v for row in here if (v := getattr(row, name)) is not None])
                    for name in ("top", "anywhere", "reciprocal", "ndcg")
                )
                shown = "  ".join(f"{v.mean:.3f} [{v.low:.2f}, {v.high:.2f}]" for v in values if v)
                print(f"  {stage:<10}{shown}")
            elif stage == "barred":
                empty = estimate([float(row.passages == 0) for row in here])
                print(f"  keeps nothing {empty}")


def plain_stage(row: StageRow) -> dict[str, JsonValue]:
    """A stage row as a flat object."""
    return {
        **{key: value for key, value in asdict(row).items() if key != "question"},
        "question": row.question.id,
        "category": row.question.category,
    }


def plain_row(row: RetrievalRow) -> dict[str, JsonValue]:
    """A row as a flat object; ``refused_right`` is 1 where answering or refusing was right."""
    return {
        **{key: value for key, value in asdict(row).items() if key != "question"},
        "question": row.question.id,
        "category": row.question.category,
        "refused_right": int(row.refused != row.question.answerable),
    }


def write(
    kind: str,
    key: tuple[str, ...],
    rows: list[dict[str, JsonValue]],
    engine: Engine,
    arguments: argparse.Namespace,
) -> None:
    """The rows with what identifies the run: settings and index."""
    path = arguments.output or dated_path(engine.settings.data_dir, kind)
    run = RunFile(
        kind=kind,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        settings_hash=engine.settings.fingerprint(),
        index_fingerprint=engine.facts.fingerprint,
        key=key,
        rows=tuple(rows),
    )
    write_run(path, run)
    print(f"rows in {path}")


if __name__ == "__main__":
    sys.exit(main())
