#!/usr/bin/env python
"""How well the verifier tells wrong sentences from supported ones, on claims with known labels.

    python scripts/calibrate_verifier.py [--index DIR] [--papers DIR] [--errors]

Reads corpus/eval/claims.jsonl and the passages from the folder of PDFs, and prints recall and
precision for changed numbers, swapped names and negations, with 95 % bootstrap intervals, for both
halves: rules and thresholds of rag/agent/support.py were chosen on the tuning half only. "not" is
what removal removes, "flagged" is "not" or "partly". Without --index the rarity of words is that of
the starter library. --errors lists what went wrong on the tuning half, and on no other.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rag.engine import Engine
from rag.errors import RagError
from rag.evaluation.claims import (
    GROUPS,
    READINGS,
    ClaimRow,
    detect,
    false_alarms,
    judge_all,
    read_claims,
    read_passages,
)
from rag.settings import load_settings

HERE = Path(__file__).resolve().parent.parent


def main() -> int:
    """Judge every claim and print the table of each half."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--index", type=Path, help="default: the starter library")
    parser.add_argument("--papers", type=Path, default=HERE.parent / "shared" / "papers")
    parser.add_argument("--claims", type=Path, default=HERE / "corpus" / "eval" / "claims.jsonl")
    parser.add_argument("--errors", action="store_true", help="list errors of the tuning half")
    arguments = parser.parse_args()
    try:
        engine = Engine.open(
            load_settings(index=arguments.index) if arguments.index else load_settings()
        )
        for split in ("tune", "report"):
            claims = read_claims(arguments.claims, split)
            passages = read_passages(claims, arguments.papers)
            start = time.perf_counter()
            rows = judge_all(claims, passages, engine.searcher.index.keyword.rarity)
            spent = 1000 * (time.perf_counter() - start) / max(1, len(rows))
            print_half(split, rows)
            print(f"{spent:.1f} ms a sentence\n")
            if arguments.errors and split == "tune":
                print_errors(rows)
    except RagError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def print_half(split: str, rows: list[ClaimRow]) -> None:
    """Recall and precision of each kind of error, and false alarms, in both readings."""
    print(f"{split}: {len(rows)} claims of {len({row.claim.paper_id for row in rows})} papers")
    for reading in READINGS:
        for group in GROUPS:
            found = detect(rows, group, reading)
            print(f"  {reading:<9}{group:<17}recall {found.recall}  precision {found.precision}")
        print(f"  {reading:<9}{'false alarms':<17}{false_alarms(rows, reading)}")


def print_errors(rows: list[ClaimRow]) -> None:
    """Claims whose verdict is not their label."""
    for row in rows:
        if (row.support == "supported") != (row.claim.label == "supported"):
            print(f"{row.claim.id} {row.claim.kind}: {row.support} ({row.reason})")
            print(f"    {row.claim.claim}")


if __name__ == "__main__":
    sys.exit(main())
