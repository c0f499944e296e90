"""The starter library: its digests, its ready vectors, and the index made of them."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from builders import (
    CORPUS,
    StubEmbedder,
    StubLate,
    opened,
    real_embedder,
    real_late,
    starter,
    starter_vectors,
)

from rag.errors import IndexUnavailableError
from rag.indexing.digest_rules import shape_faults
from rag.indexing.digests import (
    VECTORS_FILE,
    digest_chunks,
    load_vectors,
    read_digests,
    text_key,
)
from rag.indexing.generation import CHROMA_FOLDER, current_generation
from rag.indexing.search_texts import embedding_text, late_text
from rag.indexing.short_papers import paper_of_digest
from rag.papers import Library, Paper, is_paper_id
from rag.retrieval.late_interaction import quantise
from rag.selection.topics import catalogue, read_plan

DIGESTS = read_digests(CORPUS / "starter")
PARTS = [(digest, paragraph) for digest in DIGESTS for paragraph in digest.paragraphs]


def test_every_hand_picked_paper_has_its_digest():
    picked = {
        entry.id: entry.title for topic in read_plan(CORPUS).topic for entry in topic.hand_picked
    }
    assert len(picked) == 304
    assert {digest.paper_id: digest.title for digest in DIGESTS} == picked
    assert all(is_paper_id(digest.paper_id) and digest.authors for digest in DIGESTS)


def test_digests_are_of_the_agreed_shape():
    faults = {digest.paper_id: list(shape_faults(digest)) for digest in DIGESTS}
    assert {paper_id: found for paper_id, found in faults.items() if found} == {}
    for digest, paragraph in PARTS:
        assert all(page > 0 for page in paragraph.pages), digest.paper_id
        assert not re.search(r"[\x00-\x1f\ud800-\udfff\ufffd]|\s\s", paragraph.text)


def test_no_paragraph_stands_twice():
    counts = Counter(" ".join(paragraph.text.casefold().split()) for _, paragraph in PARTS)
    assert counts.most_common(1)[0][1] == 1


def test_every_digest_fits_the_encoders_window_with_its_title():
    embedder = real_embedder()
    library = catalogue(CORPUS)
    texts = [
        embedding_text(paper_of_digest(digest, library), chunk)
        for digest in DIGESTS
        for chunk in digest_chunks(digest, embedder)
    ]
    assert max(embedder.count_tokens(texts)) + 2 <= embedder.window


def test_the_ready_vectors_are_those_of_their_texts():
    embedder, late, library = real_embedder(), real_late(), catalogue(CORPUS)
    ready = load_vectors(CORPUS / "starter" / VECTORS_FILE, embedder.name)
    pairs = [
        (paper_of_digest(digest, library), chunk)
        for digest in DIGESTS
        for chunk in digest_chunks(digest, embedder)
    ]
    texts = [embedding_text(paper, chunk) for paper, chunk in pairs]
    first_texts = [late_text(paper, chunk) for paper, chunk in pairs if chunk.chunk_index == 0]
    remake = "run: python scripts/build_index.py --starter-vectors"
    assert {text_key(text) for text in texts} <= set(ready.passages), remake
    assert {text_key(text) for text in first_texts} <= set(ready.late), remake
    sample = texts[:: len(texts) // 12]
    for text, vector in zip(sample, embedder.embed_passages(sample), strict=True):
        assert float(ready.passages[text_key(text)] @ vector) > 0.999
    for text in first_texts[::12]:
        expected = quantise(late.encode_documents([text])[0]).astype(int)
        assert np.abs(ready.late[text_key(text)].astype(int) - expected).max() <= 2


def test_the_starter_index_is_ready_without_embedding_anything(tmp_path, monkeypatch):
    embedder = real_embedder()
    monkeypatch.setattr(embedder, "_embed_one", lambda text: pytest.fail(f"embedded {text[:40]}"))
    root = starter(CORPUS, tmp_path / "starter", embedder, catalogue(CORPUS))
    index = opened(root, embedder)
    assert (index.manifest.kind, index.manifest.papers) == ("starter", len(DIGESTS))
    assert index.manifest.chunks == len(PARTS)
    assert {paper.holding for paper in index.papers} == {"digest"}
    assert all(paper.hand_picked and paper.topic and paper.year for paper in index.papers)
    index.close()


# The rest with two made-up digests and stubs.


def made_up(paper_id: str, topic: str) -> dict[str, object]:
    paragraphs = [
        {
            "kind": kind,
            "pages": [1],
            "text": f"The {topic} of this paper has a {kind}, which is told here at some length.",
        }
        for kind in ("summary", "method", "findings")
    ]
    return {
        "paper_id": paper_id,
        "title": f"On the {topic}",
        "authors": ["Ann Ray"],
        "paragraphs": paragraphs,
    }


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    (folder / "starter" / "digests").mkdir(parents=True)
    for paper_id, topic in (("2301.00001", "widget"), ("2301.00002", "gauge")):
        rewrite(folder, paper_id, topic)
    return folder


def rewrite(corpus: Path, paper_id: str, topic: str) -> None:
    path = corpus / "starter" / "digests" / f"{paper_id}.json"
    path.write_text(json.dumps(made_up(paper_id, topic)))


def test_an_up_to_date_index_is_left_alone_and_an_outdated_one_is_made_again(corpus, tmp_path):
    root = tmp_path / "index"
    first = StubEmbedder()
    assert starter(corpus, root, first) == root
    assert len(first.embedded) == 6
    name = current_generation(root).name
    again = StubEmbedder()
    starter(corpus, root, again)
    assert again.embedded == []
    assert current_generation(root).name == name
    rewrite(corpus, "2301.00002", "lever")
    starter(corpus, root)
    index = opened(root)
    assert index.keyword.document_frequency("lever") == 3
    assert index.keyword.document_frequency("gauge") == 0
    index.close()
    other = StubEmbedder("another", 8)
    starter(corpus, root, other)
    opened(root, other).close()


def test_ready_vectors_are_used_for_unchanged_texts_only(corpus, tmp_path):
    embedder = StubEmbedder(dimension=256)
    assert starter_vectors(corpus, embedder) == 6
    rewrite(corpus, "2301.00002", "lever")
    embedder.embedded.clear()
    starter(corpus, tmp_path / "index", embedder)
    assert len(embedder.embedded) == 3
    assert all("lever" in text for text in embedder.embedded)
    index = opened(tmp_path / "index", embedder)
    near = index.vectors.search("abstracts", embedder.embed_queries(["On the widget"]), 1)[0][0]
    assert near.chunk_id.startswith("2301.00001:")
    assert index.tokens.scores(StubLate().encode_query("lever"))["2301.00002"] == pytest.approx(1)
    index.close()


def test_a_damaged_starter_index_is_made_again(corpus, tmp_path):
    root = tmp_path / "index"
    starter(corpus, root)
    (current_generation(root) / CHROMA_FOLDER / "chroma.sqlite3").unlink()
    starter(corpus, root)
    opened(root).close()


def test_facts_come_from_the_manifest_where_it_has_them():
    digest = next(digest for digest in DIGESTS if digest.paper_id == "1301.3781")
    known = Paper(
        digest.paper_id, "Manifest Title", (), "2013-01-16", ("cs.CL",), "x", "fill", "v3"
    )
    paper = paper_of_digest(digest, Library([known]))
    assert (paper.title, paper.published, paper.version, paper.tier) == (
        "Manifest Title",
        "2013-01-16",
        "v3",
        "fill",
    )
    assert paper.authors == digest.authors
    assert paper.holding == "digest"
    alone = paper_of_digest(digest, Library([]))
    assert (alone.title, alone.tier, alone.year) == (digest.title, "hand_picked", 2013)


def test_without_digests_the_message_says_what_to_do(tmp_path):
    with pytest.raises(IndexUnavailableError, match="RAG_INDEX"):
        starter(tmp_path, tmp_path / "index")
