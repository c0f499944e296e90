#!/usr/bin/env python
"""Build a searchable index.

python scripts/build_index.py --manifest corpus/manifest.json                    # the full library
python scripts/build_index.py --manifest corpus/manifest.json --abstracts-only   # a quick one
python scripts/build_index.py --pdf-dir PDFS [--metadata SNAPSHOT ...]           # your own PDFs
python scripts/build_index.py --starter-vectors           # remake corpus/starter/vectors.npz

With --manifest, abstracts come from the --metadata files, else from arXiv, and PDFs from arXiv
into --pdf-dir (default: papers/ in the data folder), one every 3 seconds. A run that was stopped
goes on where it was. Ends with 1 when something is left to fetch, and with 2 on an error.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rag.errors import RagError
from rag.settings import Settings, load_settings


def main() -> int:
    """Parse the arguments, build, print the summary; 0 also when files were skipped or failed."""
    arguments = parse_arguments()
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    logging.getLogger("rag.selection").setLevel(logging.INFO)
    logging.getLogger("rag.indexing.downloads").setLevel(logging.INFO)
    try:
        settings = load_settings()
        if arguments.starter_vectors:
            return write_vectors(settings)
        if arguments.manifest is not None:
            return build_from_manifest(arguments, settings)
        return build_from_folder(arguments, settings)
    except RagError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", file=sys.stderr)
        return 130


def parse_arguments() -> argparse.Namespace:
    """The command line; one of --manifest, --pdf-dir and --starter-vectors is needed."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog=__doc__.split("\n", 2)[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--manifest", type=Path, help="manifest with the papers to build")
    parser.add_argument("--abstracts-only", action="store_true", help="index abstracts, no PDFs")
    parser.add_argument("--offline", action="store_true", help="ask arXiv for nothing")
    parser.add_argument("--pdf-dir", type=Path, help="folder with the PDFs")
    parser.add_argument(
        "--metadata",
        type=Path,
        action="append",
        default=[],
        help="arXiv snapshot (plain or .gz) or papers.jsonl; may be given several times",
    )
    parser.add_argument("--index", type=Path, help="folder of the index (default: data/index)")
    parser.add_argument("--starter-vectors", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    arguments = parser.parse_args()
    if not (arguments.manifest or arguments.pdf_dir or arguments.starter_vectors):
        parser.error("--manifest or --pdf-dir is needed")
    if (arguments.abstracts_only or arguments.offline) and not arguments.manifest:
        parser.error("--abstracts-only and --offline go with --manifest")
    return arguments


def build_from_manifest(arguments: argparse.Namespace, settings: Settings) -> int:
    """Fetch and index the papers of a manifest."""
    from rag.indexing.full_library import (
        PDF_FOLDER,
        LibraryPlan,
        build_library,
        read_manifest_papers,
    )

    plan = LibraryPlan(
        papers=read_manifest_papers(arguments.manifest),
        pdf_dir=arguments.pdf_dir or settings.data_dir / PDF_FOLDER,
        index=arguments.index or settings.data_dir / "index",
        metadata=tuple(arguments.metadata),
        abstracts_only=arguments.abstracts_only,
        offline=arguments.offline,
    )
    with phase_bars(len(plan.papers), quiet=arguments.quiet) as progress:
        summary = build_library(plan, settings, open_builders(settings), progress)
    print("\n".join(summary.lines()))
    print(f"use it with: RAG_INDEX={plan.index} bash scripts/run.sh")
    return 0 if summary.complete else 1


def build_from_folder(arguments: argparse.Namespace, settings: Settings) -> int:
    """Index a folder of PDFs and print what became of each file."""
    from rag.indexing.builder import build_index, pdf_files, records_wanted
    from rag.indexing.paper_facts import PaperFacts
    from rag.selection.snapshot import merge_records
    from rag.selection.topics import catalogue

    files = pdf_files(arguments.pdf_dir)
    records = merge_records(arguments.metadata, set(records_wanted(files)))
    builders = open_builders(settings)
    root = arguments.index or settings.data_dir / "index"
    with phase_bars(len(files), quiet=arguments.quiet) as progress:
        summary = build_index(
            files,
            root,
            PaperFacts(catalogue(settings.corpus_dir), records),
            builders.embedder,
            builders.late,
            settings.indexing,
            builders.extract,
            lambda name: progress("index", name),
        )
    print("\n".join(summary.lines()))
    print(f"use it with: RAG_INDEX={root} bash scripts/run.sh")
    return 0


def open_builders(settings: Settings):
    """The models and the reader of PDFs."""
    from rag.compute import ComputePool
    from rag.indexing.extract import extract_paper
    from rag.indexing.full_library import Builders
    from rag.retrieval.embed import open_embedder
    from rag.retrieval.late_interaction import open_late_model

    pool = ComputePool()
    return Builders(
        embedder=open_embedder(settings.indexing.embedder, pool),
        late=open_late_model(pool, settings.corpus_dir),
        extract=extract_paper,
    )


@contextmanager
def phase_bars(total: int, *, quiet: bool) -> Iterator:
    """A progress bar for each phase, begun when the phase is first heard of."""
    from tqdm import tqdm
    from tqdm.contrib.logging import logging_redirect_tqdm

    bars: dict[str, tqdm] = {}

    def progress(phase: str, name: str) -> None:
        if phase not in bars:
            bars[phase] = tqdm(total=total, desc=phase, unit="paper", disable=quiet)
        bars[phase].update()

    with logging_redirect_tqdm():
        try:
            yield progress
        finally:
            for bar in bars.values():
                bar.close()


def write_vectors(settings: Settings) -> int:
    """Fit the projection and recompute the ready vectors of the starter library."""
    from rag.compute import ComputePool
    from rag.indexing.starter import write_late_projection, write_starter_vectors
    from rag.retrieval.embed import BgeSmallEmbedder
    from rag.retrieval.late_interaction import open_late_model
    from rag.selection.topics import catalogue

    corpus_dir = settings.corpus_dir
    pool = ComputePool()
    write_late_projection(corpus_dir, pool)
    late = open_late_model(pool, corpus_dir)
    count = write_starter_vectors(corpus_dir, catalogue(corpus_dir), BgeSmallEmbedder(pool), late)
    print(f"{count} vectors written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
