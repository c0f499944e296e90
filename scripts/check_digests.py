#!/usr/bin/env python
"""Check the starter digests against the papers they report on.

python scripts/check_digests.py --pdf-dir PDFS --snapshot SNAPSHOT [--only ID ...]

A digest is checked against the paper's PDF where there is one, and against its abstract in the
snapshot; numbers may come from either, wording from neither. Ends with 1 when anything is wrong,
and with 2 when a file cannot be read.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rag.errors import RagError, UnreadablePaperError
from rag.indexing.digest_rules import SourceText, digest_faults
from rag.indexing.digests import Digest, read_digests
from rag.selection.records import PaperRecord
from rag.selection.snapshot import merge_records
from rag.settings import load_settings


def main() -> int:
    """Check every digest; one line for each fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pdf-dir", type=Path, required=True, help="folder with <id>.pdf files")
    parser.add_argument("--snapshot", type=Path, required=True, help="arXiv snapshot, plain or .gz")
    parser.add_argument("--corpus", type=Path, help="corpus folder (default: the settings')")
    parser.add_argument("--only", nargs="*", default=[], help="check these ids only")
    arguments = parser.parse_args()
    try:
        corpus = arguments.corpus or load_settings().corpus_dir
        digests = [
            digest
            for digest in read_digests(corpus / "starter")
            if not arguments.only or digest.paper_id in arguments.only
        ]
        records = merge_records([arguments.snapshot], {digest.paper_id for digest in digests})
        return report(digests, arguments.pdf_dir, records)
    except RagError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def report(digests: list[Digest], pdf_dir: Path, records: dict[str, PaperRecord]) -> int:
    """Print the faults and what the digests were checked against; 1 when there are any."""
    faulty = with_pdf = 0
    for digest in digests:
        source = source_of(digest.paper_id, pdf_dir, records.get(digest.paper_id))
        if source is None:
            faults = ["there is neither a PDF nor an abstract to check it against"]
        else:
            faults = digest_faults(digest, source)
            with_pdf += source.page_count > 0
        faulty += bool(faults)
        for fault in faults:
            print(f"{digest.paper_id}: {fault}")
    print(
        f"{len(digests)} digests: {with_pdf} checked against PDF and abstract, "
        f"{len(digests) - with_pdf} against the abstract; {faulty} with faults"
    )
    return 1 if faulty or not digests else 0


def source_of(paper_id: str, pdf_dir: Path, record: PaperRecord | None) -> SourceText | None:
    """The text of a paper's PDF and abstract; None without either."""
    import pymupdf

    texts = [record.abstract] if record and record.abstract else []
    path = pdf_dir / f"{paper_id.replace('/', '_')}.pdf"
    pages = 0
    if path.is_file():
        try:
            with pymupdf.open(path) as document:
                pages = len(document)
                texts += [page.get_text() for page in document]
        except (RuntimeError, ValueError) as error:
            raise UnreadablePaperError(f"{path.name} cannot be read.", reason="damaged") from error
    return SourceText("\n".join(texts), pages) if texts else None


if __name__ == "__main__":
    sys.exit(main())
