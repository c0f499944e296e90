#!/usr/bin/env python
"""Fit the relevance and evidence weights of the reranker on the tuning half of the questions.

    python scripts/calibrate.py --index DIR [--reranker NAME]

Prints the weights for the reranker's Calibration (rag/retrieval/…_reranker.py) and where the
scores of right passages and of out-of-scope questions lie with the weights that are in force. Any
reranker that is configured can be fitted; Cohere bills two searches or so a question. With
"none" the weights are those of the other signs alone.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import get_args

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from rag.engine import Engine
from rag.errors import RagError
from rag.evaluation.calibration import ScoredQuestion, fit_evidence, fit_relevance, score_questions
from rag.evaluation.questions import read_questions
from rag.sections import RerankerName
from rag.settings import load_settings


def main() -> int:
    """Score the tuning half, fit, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--questions", type=Path, default=Path("corpus/eval/questions.jsonl"))
    parser.add_argument("--reranker", choices=get_args(RerankerName), help="default: as configured")
    arguments = parser.parse_args()
    chosen = {"reranking": {"name": arguments.reranker}} if arguments.reranker else {}
    try:
        engine = Engine.open(load_settings(index=arguments.index, **chosen))
        print("reranker:", engine.facts.reranker)
        scored = score_questions(engine, read_questions(arguments.questions, "tune"))
    except RagError as error:
        print(error, file=sys.stderr)
        return 1
    print("fitted:", fit_relevance(scored))
    print("fitted:", fit_evidence(scored))
    print("without cosine:", fit_relevance(scored, cosine=False))
    print("without cosine:", fit_evidence(scored, cosine=False))
    if engine.searcher.reranker is None:
        return 0
    for category in sorted({entry.question.category for entry in scored}):
        group = [entry for entry in scored if entry.question.category == category]
        print_quantiles(category, group)
    return 0


def print_quantiles(category: str, group: list[ScoredQuestion]) -> None:
    """Lowest, tenth, middle and highest of the best gold relevance and of the evidence score."""
    gold = [
        max(
            (
                item.score_relevance or 0
                for item in entry.candidates
                if not entry.question.answerable or item.paper.paper_id in entry.question.papers
            ),
            default=0,
        )
        for entry in group
    ]
    whole = [
        max((item.score_evidence or 0 for item in entry.candidates), default=0) for entry in group
    ]
    for name, values in (("relevance", gold), ("evidence", whole)):
        marks = ", ".join(f"{value:.3f}" for value in np.quantile(values, [0, 0.05, 0.1, 0.5, 1]))
        print(f"{category:<13}{name:<10} min/5%/10%/median/max: {marks}")


if __name__ == "__main__":
    sys.exit(main())
