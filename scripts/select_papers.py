#!/usr/bin/env python
"""Choose the papers of the library and write corpus/manifest.json.

python scripts/select_papers.py --snapshot SNAPSHOT      # a metadata file, plain or .gz
python scripts/select_papers.py --api                    # arXiv itself; answers are kept on disk
python scripts/select_papers.py --snapshot SNAPSHOT --explain 2106.09685

Nothing is written with --explain. Ends with 1 when the title of a hand-picked paper is not the
one that was meant, and with 2 when the source cannot be used.
"""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rag.errors import RagError
from rag.papers import dump_papers, split_version
from rag.selection.report import explain, report_lines
from rag.selection.selector import select_papers
from rag.selection.snapshot import SnapshotSource
from rag.selection.source import PaperSource
from rag.selection.topics import MANIFEST_FILE, read_excluded, read_plan
from rag.settings import load_settings


def main() -> int:
    """Parse the arguments, select, write the manifest and the report."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog=__doc__.split("\n", 2)[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--snapshot", type=Path, help="arXiv metadata file, plain or .gz")
    source.add_argument("--api", action="store_true", help="ask the arXiv API")
    parser.add_argument("--corpus", type=Path, help="corpus folder (default: the settings')")
    parser.add_argument("--output", type=Path, help="manifest to write (default: in the corpus)")
    parser.add_argument(
        "--report", type=Path, help="report to write (default: beside the manifest)"
    )
    parser.add_argument("--explain", metavar="ID", help="say why a paper is in or out")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        return run(arguments)
    except RagError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def run(arguments: argparse.Namespace) -> int:
    """Select and write; or explain one paper."""
    settings = load_settings()
    corpus = arguments.corpus or settings.corpus_dir
    plan, excluded = read_plan(corpus), read_excluded(corpus)
    source: PaperSource
    if arguments.api:
        from rag.selection.arxiv_api import open_arxiv_api

        source = open_arxiv_api(settings)
    else:
        source = SnapshotSource(arguments.snapshot)
    try:
        selection = select_papers(plan, excluded, source)
    finally:
        source.close()
    if arguments.explain:
        parts = split_version(arguments.explain)
        print(explain(parts[0] if parts else arguments.explain, selection))
        return 0
    output = arguments.output or corpus / MANIFEST_FILE
    report = arguments.report or output.with_name("selection.md")
    lines = report_lines(selection, plan, source.name)
    dump_papers(selection.papers, output)
    report.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
    print(f"\n{output.name} and {report.name} written")
    for check in selection.wrong_titles:
        print(f"not taken: {check.line()}", file=sys.stderr)
    return 1 if selection.wrong_titles else 0


if __name__ == "__main__":
    sys.exit(main())
