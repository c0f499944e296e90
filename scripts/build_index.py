#!/usr/bin/env python
"""Build a searchable index from a folder of PDFs.

python scripts/build_index.py --pdf-dir PDFS [--metadata SNAPSHOT ...] --index DIR
python scripts/build_index.py --starter-vectors      # remake corpus/starter/vectors.npz
"""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rag.errors import RagError
from rag.settings import load_settings


def main() -> int:
    """Parse the arguments, build, print the summary; 0 also when files were skipped or failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
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
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    try:
        if arguments.starter_vectors:
            return write_vectors()
        if arguments.pdf_dir is None:
            parser.error("--pdf-dir is needed")
        return build(arguments)
    except RagError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def build(arguments: argparse.Namespace) -> int:
    """Build an index and print what became of each file."""
    from tqdm import tqdm

    from rag.compute import ComputePool
    from rag.indexing.builder import build_index, pdf_files, records_wanted
    from rag.indexing.extract import extract_paper
    from rag.indexing.paper_facts import PaperFacts
    from rag.retrieval.embed import open_embedder
    from rag.retrieval.late_interaction import open_late_model
    from rag.selection.snapshot import merge_records
    from rag.selection.topics import catalogue

    settings = load_settings()
    files = pdf_files(arguments.pdf_dir)
    records = merge_records(arguments.metadata, set(records_wanted(files)))
    facts = PaperFacts(catalogue(settings.corpus_dir), records)
    pool = ComputePool()
    embedder = open_embedder(settings.indexing.embedder, pool)
    late = open_late_model(pool, settings.corpus_dir)
    root = arguments.index or settings.data_dir / "index"
    with tqdm(total=len(files), unit="paper", disable=arguments.quiet) as bar:
        summary = build_index(
            files,
            root,
            facts,
            embedder,
            late,
            settings.indexing,
            extract_paper,
            lambda _: bar.update(),
        )
        bar.update(bar.total - bar.n)
    print("\n".join(summary.lines()))
    print(f"use it with: RAG_INDEX={root} bash scripts/run.sh")
    return 0


def write_vectors() -> int:
    """Fit the projection and recompute the ready vectors of the starter library."""
    from rag.compute import ComputePool
    from rag.indexing.starter import write_late_projection, write_starter_vectors
    from rag.retrieval.embed import BgeSmallEmbedder
    from rag.retrieval.late_interaction import open_late_model
    from rag.selection.topics import catalogue

    corpus_dir = load_settings().corpus_dir
    pool = ComputePool()
    write_late_projection(corpus_dir, pool)
    late = open_late_model(pool, corpus_dir)
    count = write_starter_vectors(corpus_dir, catalogue(corpus_dir), BgeSmallEmbedder(pool), late)
    print(f"{count} vectors written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
