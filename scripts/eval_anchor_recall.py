#!/usr/bin/env python
"""Ask every paper of an index to find itself: by title, by a paraphrase of it, by its name.

python scripts/eval_anchor_recall.py [--index DIR] [--hand-picked] [--failures] [--output FILE]

Without --index the starter library is asked. "kept" is what the writer would be given.
"""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rag.engine import Engine
from rag.errors import RagError
from rag.evaluation.anchors import WAYS, AnchorRow, anchors_of, find_anchor, read_anchors
from rag.evaluation.run_files import RunFile, dated_path, write_run
from rag.settings import load_settings


def main() -> int:
    """Run all anchors and print the table; 2 when the app cannot start."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--index", type=Path, help="folder of a built index")
    parser.add_argument("--anchors", type=Path, default=Path("corpus/eval/anchors.jsonl"))
    parser.add_argument("--hand-picked", action="store_true", help="only hand-picked papers")
    parser.add_argument("--failures", action="store_true", help="list papers that were not kept")
    parser.add_argument("--output", type=Path, help="file for the rows (default: a dated one)")
    arguments = parser.parse_args()
    try:
        chosen = {"index": arguments.index} if arguments.index else {}
        engine = Engine.open(load_settings(**chosen))
        records = read_anchors(arguments.anchors)
    except RagError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    papers = [p for p in engine.library if p.hand_picked or not arguments.hand_picked]
    rows = [
        find_anchor(engine.searcher, engine.settings, anchor)
        for anchor in anchors_of(papers, records)
    ]
    print_table(rows)
    if arguments.failures:
        print_failures(rows)
    write_rows(rows, engine, arguments.output)
    return 0


def print_table(rows: list[AnchorRow]) -> None:
    """Counts by way of asking."""
    print(f"{'asked by':<12}{'papers':>8}{'in pool':>9}{'kept':>7}{'first':>7}")
    for way in WAYS:
        group = [row for row in rows if row.anchor.way == way]
        pool = sum(row.rank_fused is not None for row in group)
        kept = sum(row.kept for row in group)
        first = sum(row.rank_judged == 1 for row in group)
        print(f"{way:<12}{len(group):>8}{pool:>9}{kept:>7}{first:>7}")


def print_failures(rows: list[AnchorRow]) -> None:
    """Anchors whose paper was not kept."""
    for row in rows:
        if not row.kept:
            place = f"fused {row.rank_fused}, judged {row.rank_judged}"
            print(f"{row.anchor.paper_id} {row.anchor.way} ({place}): {row.anchor.query}")


def write_rows(rows: list[AnchorRow], engine: Engine, output: Path | None) -> None:
    """The rows with what identifies the run: settings and index."""
    path = output or dated_path(engine.settings.data_dir, "anchors")
    plain = [
        {
            "paper_id": row.anchor.paper_id,
            "way": row.anchor.way,
            "rank_fused": row.rank_fused,
            "rank_judged": row.rank_judged,
            "kept": int(row.kept),
        }
        for row in rows
    ]
    run = RunFile(
        kind="anchors",
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        settings_hash=engine.settings.fingerprint(),
        index_fingerprint=engine.facts.fingerprint,
        key=("paper_id", "way"),
        rows=tuple(plain),
    )
    write_run(path, run)
    print(f"rows in {path}")


if __name__ == "__main__":
    sys.exit(main())
