"""Opening an index: its parts must belong together and to the embedder."""

from __future__ import annotations

import logging
import shutil

import pytest
from builders import CORPUS, StubEmbedder, opened, starter

from rag.errors import IndexUnavailableError
from rag.indexing.generation import (
    ACRONYM_FILE,
    CHROMA_FOLDER,
    KEYWORD_FILE,
    current_generation,
    set_current,
)
from rag.retrieval.chroma_store import open_client
from rag.retrieval.index import whole_manifest
from rag.retrieval.keyword import load_keyword_index, save_keyword_index
from rag.retrieval.late_interaction import PaperTokens


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    root = tmp_path_factory.mktemp("index") / "library"
    return starter(CORPUS, root)


@pytest.fixture
def root(built, tmp_path):
    return shutil.copytree(built, tmp_path / "library")


def test_an_opened_index_agrees_with_itself(root):
    index = opened(root)
    keyword_ids = set(index.keyword.chunk_ids)
    assert keyword_ids == index.vectors.ids("abstracts") | index.vectors.ids("passages")
    assert set(index.chunks.get(keyword_ids)) == keyword_ids
    assert len(index.papers) == index.manifest.papers == index.vectors.count("abstracts")
    assert isinstance(index.tokens, PaperTokens)
    assert list(index.tokens.paper_ids) == [paper.paper_id for paper in index.papers]
    assert whole_manifest(root, StubEmbedder()) == index.manifest
    index.close()


@pytest.mark.parametrize(
    "embedder", [StubEmbedder("big", 1536), StubEmbedder("big", 16), StubEmbedder("stub", 1536)]
)
def test_another_embedder_is_refused_in_words(root, embedder):
    with pytest.raises(IndexUnavailableError) as caught:
        opened(root, embedder)
    message = str(caught.value)
    for part in ("stub (16", f"{embedder.name} ({embedder.dimension})", "scripts/build_index.py"):
        assert part in message
    assert "\n" not in message


def test_an_id_deleted_in_chroma_is_noticed(root):
    client = open_client(current_generation(root) / CHROMA_FOLDER)
    collection = client.get_collection("passages")
    collection.delete(ids=collection.get(limit=1, include=[])["ids"])
    client.close()
    with pytest.raises(
        IndexUnavailableError, match=r"do not belong together \(vector store: \d+ chunks"
    ) as caught:
        opened(root)
    assert "scripts/build_index.py" in str(caught.value)
    assert whole_manifest(root, StubEmbedder()) is None


def test_a_keyword_index_of_other_chunks_is_noticed(root):
    path = current_generation(root) / KEYWORD_FILE
    index = load_keyword_index(path)
    object.__setattr__(index, "content_hash", "of another library")
    save_keyword_index(index, path)
    with pytest.raises(IndexUnavailableError, match="do not belong together"):
        opened(root)


@pytest.mark.parametrize(
    "part", ["index.json", KEYWORD_FILE, "chunks.sqlite", f"{CHROMA_FOLDER}/chroma.sqlite3"]
)
@pytest.mark.parametrize("damage", ["deleted", "emptied"])
def test_a_lost_part_is_a_sentence(root, part, damage):
    path = current_generation(root) / part
    path.unlink()
    if damage == "emptied":
        path.touch()
    with pytest.raises(IndexUnavailableError, match=r"scripts/build_index\.py") as caught:
        opened(root)
    assert "Traceback" not in str(caught.value)
    assert str(root.parent) not in str(caught.value)


def test_a_half_written_index_is_told_from_a_missing_one(tmp_path):
    with pytest.raises(IndexUnavailableError, match="not there"):
        opened(tmp_path / "nowhere")
    (tmp_path / "building-0123").mkdir()
    with pytest.raises(IndexUnavailableError, match="half-written"):
        opened(tmp_path)
    set_current(tmp_path, "0123")
    with pytest.raises(IndexUnavailableError, match="names a generation that is not there"):
        opened(tmp_path)


def test_without_acronyms_the_index_works_and_says_so(root, caplog):
    for content in (None, "{", "[]", '{"rag": 7}'):
        path = current_generation(root) / ACRONYM_FILE
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_text(content)
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            index = opened(root)
        assert index.acronyms in ({}, {"rag": "7"})
        assert index.acronyms or "no acronym list" in caplog.text
        index.close()
