#!/usr/bin/env python
"""Which questions two runs of an evaluation decide differently: fixed ones and broken ones.

python scripts/compare_runs.py BEFORE.json AFTER.json [--measure kept ...]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rag.errors import RagError
from rag.evaluation.run_files import RunFile, changes, read_run

MEASURES = ("kept", "page", "first", "refused_right", "top", "reciprocal", "rank_judged")
# Of these a lower value is the better one.
LOWER_IS_BETTER = ("rank_judged",)


def main() -> int:
    """Print what identifies both runs, then broken and fixed rows; 2 when a file is unusable."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--measure", nargs="+", default=list(MEASURES))
    arguments = parser.parse_args()
    try:
        before, after = read_run(arguments.before), read_run(arguments.after)
    except RagError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for name, run in (("before", before), ("after", after)):
        print(f"{name}: {described(run)}")
    found = changes(before, after, arguments.measure)
    for change in found:
        better = (change.after > change.before) != (change.measure in LOWER_IS_BETTER)
        word = "fixed " if better else "broken"
        print(f"{word} {change.row} {change.measure}: {change.before:g} -> {change.after:g}")
    print(f"{len(found)} changes over {len(before.rows)} and {len(after.rows)} rows")
    return 0


def described(run: RunFile) -> str:
    """What identifies a run."""
    return (
        f"{run.kind}, {run.date}, settings {run.settings_hash}, index {run.index_fingerprint}, "
        f"{len(run.rows)} rows"
    )


if __name__ == "__main__":
    sys.exit(main())
