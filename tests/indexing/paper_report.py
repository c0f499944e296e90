"""What extraction and chunking make of one real paper, measured in a process of its own."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import pymupdf

from rag.chunks import Chunk
from rag.indexing.chunker import PARAGRAPH, chunk_paper
from rag.indexing.extract import extract_paper
from rag.indexing.references import is_entry
from rag.local_models import BGE_SMALL, MINILM_L12, load_tokenizer, model_directory
from rag.sections import IndexingSettings
from rag.text_cleaning import clean_text

QUESTION = 64  # wordpieces of the longest question the reranker must leave room for
_WORD = re.compile(r"[^\W\d_]{2,}")
_NUMBERED_ENTRY = re.compile(r"\n\n|(?=\[\d{1,3}\] [A-Z])")


@dataclass
class Report:
    """Findings on one paper; ``text`` holds all chunks folded to letters and digits."""

    name: str
    chunks: int = 0
    faults: list[str] = field(default_factory=list)
    misplaced: int = 0
    symbols: int = 0
    listed: int = 0
    embedder_room: int = 512
    reranker_room: int = 512
    words: int = 0
    reached: int = 0
    text: str = ""


@lru_cache
def _tokenizers() -> tuple[Any, Any]:
    return load_tokenizer(model_directory(BGE_SMALL)), load_tokenizer(model_directory(MINILM_L12))


def folded(text: str) -> str:
    return re.sub(r"[\W_]+", "", clean_text(text)).casefold()


def _count(tokenizer: Any, texts: list[str]) -> list[int]:
    return [len(item.ids) for item in tokenizer.encode_batch(texts, add_special_tokens=False)]


def report_on(path: Path, title: str) -> Report:
    """Extracts and chunks ``path`` and measures what must hold."""
    paper = extract_paper(path)
    embedder, reranker = _tokenizers()
    settings = IndexingSettings()
    chunks = chunk_paper(
        path.stem,
        paper,
        paper.abstract,
        paper.abstract_page,
        settings,
        lambda texts: _count(embedder, list(texts)),
    )
    report = Report(path.stem, len(chunks))
    texts = [chunk.text for chunk in chunks]
    title_size = _count(embedder, [title])[0]
    report.embedder_room = BGE_SMALL.window - 2 - title_size - max(_count(embedder, texts))
    report.reranker_room = MINILM_L12.window - 3 - QUESTION - max(_count(reranker, texts))
    body = PARAGRAPH.join(section.text for section in paper.sections)
    _check_order(report, chunks, body, settings.min_chunk_tokens)
    with pymupdf.open(path) as document:
        for index in range(len(document)):  # remarks of readers are no words of the paper
            document.xref_set_key(document.page_xref(index), "Annots", "[]")
        pages = [page.get_text() for page in document]
    plain = [folded(page) for page in pages]
    report.misplaced = sum(not _on_its_pages(chunk, plain) for chunk in chunks)
    report.symbols = sum(_mostly_symbols(text) for text in texts)
    report.listed = sum(_entries(text) >= 3 for text in texts)
    report.words, report.reached = _reach(pages, [*texts, *{c.section for c in chunks}])
    report.text = "|".join(folded(text) for text in texts)
    return report


def _check_order(report: Report, chunks: list[Chunk], body: str, least: int) -> None:
    """In order, slices of the body, and one after another the whole of it."""
    if [chunk.chunk_index for chunk in chunks] != sorted({c.chunk_index for c in chunks}):
        report.faults.append("positions out of order")
    end = 0
    for chunk in chunks:
        if chunk.chunk_type != "passage":
            continue
        if chunk.text != body[chunk.char_start : chunk.char_end] or chunk.char_end <= end:
            report.faults.append(f"chunk {chunk.chunk_index} is no slice in order")
        gap = body[end : chunk.char_start]
        if len(_WORD.findall(gap)) >= least:
            report.faults.append(f"{len(gap)} characters before chunk {chunk.chunk_index} lost")
        end = max(end, chunk.char_end)
        if (chunk.page_start or 0) > (chunk.page_end or 0):
            report.faults.append(f"pages of chunk {chunk.chunk_index} run backwards")
    if len(_WORD.findall(body[end:])) >= least:
        report.faults.append("the end of the body is lost")


def _on_its_pages(chunk: Chunk, pages: list[str]) -> bool:
    """Whether its first and last letters stand on the pages it names."""
    text = folded(chunk.text)
    first, last = pages[(chunk.page_start or 1) - 1], pages[(chunk.page_end or 1) - 1]
    starts = any(text[at : at + 12] in first for at in range(0, 60, 6))
    return starts and any(
        text[len(text) - at - 12 : len(text) - at] in last for at in range(0, 60, 6)
    )


def _mostly_symbols(text: str) -> bool:
    seen = [char for char in text if not char.isspace()]
    return sum(char.isalnum() for char in seen) < 0.5 * len(seen)


def _entries(text: str) -> int:
    return sum(is_entry(part) for part in _NUMBERED_ENTRY.split(text) if len(part) > 40)


def _reach(pages: list[str], kept: list[str]) -> tuple[int, int]:
    """Words of the PDF's own text before the reference list, and how many are in the chunks."""
    text = clean_text("\n".join(pages))
    text = re.sub(r"-\n", "", text)
    cut = [match.start() for match in re.finditer(r"\n(?:\d+\.? )?references ?\n", text, re.I)]
    if cut and cut[-1] > 0.2 * len(text):
        text = text[: cut[-1]]
    wanted = Counter(word.lower() for word in _WORD.findall(text))
    found = Counter(w.lower() for part in kept for w in _WORD.findall(part.replace("-", "")))
    found |= Counter(w.lower() for part in kept for w in _WORD.findall(part))
    return wanted.total(), (wanted & found).total()
