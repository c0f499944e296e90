"""Chroma: what is stored is found, and an unusable store is a sentence."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from builders import StubEmbedder, make_chunk

from rag.chunks import Chunk
from rag.errors import IndexUnavailableError
from rag.retrieval import chroma_store
from rag.retrieval.chroma_store import ChromaStore, chunk_metadata, open_client, write_chroma

EMBEDDER = StubEmbedder(dimension=64)
CHUNKS = [
    make_chunk(
        f"2301.{paper:05d}",
        index,
        f"The {topic} of part {index} turns.",
        page_breaks=((0, index + 1),),
    )
    for paper, topic in ((1, "widget"), (2, "gauge"), (3, "lever"))
    for index in range(4)
]


def write(directory: Path, chunks: list[Chunk], batch: int = 5) -> None:
    parts = [chunks[begin : begin + batch] for begin in range(0, len(chunks), batch)]
    write_chroma(
        directory,
        iter([(part, EMBEDDER.embed_passages([chunk.text for chunk in part])) for part in parts]),
    )


@pytest.fixture
def store(tmp_path):
    write(tmp_path / "chroma", CHUNKS)
    store = ChromaStore(tmp_path / "chroma")
    yield store
    store.close()


def test_every_chunk_is_in_its_collection(store):
    assert store.count("abstracts") == 3
    assert store.count("passages") == 9
    assert store.ids("abstracts") == {chunk.chunk_id for chunk in CHUNKS if chunk.chunk_index == 0}
    assert store.ids("passages") == {chunk.chunk_id for chunk in CHUNKS if chunk.chunk_index}


def test_search_is_exact_cosine_best_first(store):
    passages = [chunk for chunk in CHUNKS if chunk.chunk_index]
    queries = EMBEDDER.embed_queries(["the widget", "part 2 of the lever"])
    matrix = EMBEDDER.embed_passages([chunk.text for chunk in passages])
    for query, hits in zip(queries, store.search("passages", queries, 4), strict=True):
        cosines = {
            chunk.chunk_id: float(row @ query) for chunk, row in zip(passages, matrix, strict=True)
        }
        assert [hit.score for hit in hits] == pytest.approx(
            sorted(cosines.values(), reverse=True)[:4], abs=1e-5
        )
        for hit in hits:
            assert hit.score == pytest.approx(cosines[hit.chunk_id], abs=1e-5)
            assert type(hit.score) is float


def test_a_scope_lets_only_its_papers_through(store):
    query = EMBEDDER.embed_queries(["the widget"])
    hits = store.search("passages", query, 20, ["2301.00002", "2301.00003"])[0]
    assert len(hits) == 6
    assert {hit.chunk_id.split(":")[0] for hit in hits} == {"2301.00002", "2301.00003"}
    assert store.search("passages", query, 5, []) == [[]]
    assert store.search("passages", query, 5, ["2399.00001"]) == [[]]


def test_odd_numbers_are_fine(store):
    query = EMBEDDER.embed_queries(["the widget"])
    assert store.search("passages", query, 0) == [[]]
    assert len(store.search("passages", query, 1000)[0]) == 9
    assert store.search("passages", np.zeros((0, 64), dtype=np.float32), 5) == []


def test_vectors_of_another_width_are_a_sentence(store):
    with pytest.raises(IndexUnavailableError, match="Search is unavailable"):
        store.search("passages", StubEmbedder(dimension=8).embed_queries(["x"]), 5)


def test_an_empty_library_is_searchable(tmp_path):
    write(tmp_path / "chroma", [])
    store = ChromaStore(tmp_path / "chroma")
    assert store.search("abstracts", EMBEDDER.embed_queries(["x"]), 5) == [[]]
    assert store.ids("passages") == set()
    store.close()


def test_missing_facts_are_left_out_since_chroma_refuses_none(tmp_path):
    bare = make_chunk("2301.00001", 0, "Text.", page_breaks=(), section="")
    assert chunk_metadata(bare) == {
        "paper_id": "2301.00001", "chunk_index": 0, "chunk_type": "abstract", "section": "",
    }  # fmt: skip
    write(tmp_path / "chroma", [bare])
    client = open_client(tmp_path / "chroma")
    assert client.get_collection("abstracts").get()["metadatas"] == [chunk_metadata(bare)]
    client.close()


def test_identical_texts_are_all_stored(tmp_path):
    same = [
        make_chunk(paper, index, "The same boilerplate.")
        for paper in ("2301.00001", "2301.00002")
        for index in (1, 2)
    ]
    write(tmp_path / "chroma", same)
    store = ChromaStore(tmp_path / "chroma")
    assert store.count("passages") == 4
    store.close()


class CountingClient:
    """A client with a small limit, which remembers the size of each slice."""

    def __init__(self, client, limit: int) -> None:
        self._client = client
        self._limit = limit
        self.slices: list[int] = []

    def get_max_batch_size(self) -> int:
        return self._limit

    def create_collection(self, *args, **options):
        collection = self._client.create_collection(*args, **options)
        upsert = collection.upsert

        def counted(**rows):
            self.slices.append(len(rows["ids"]))
            upsert(**rows)

        object.__setattr__(collection, "upsert", counted)
        return collection

    def close(self) -> None:
        self._client.close()


def test_slices_follow_the_limit_that_the_client_names(tmp_path, monkeypatch):
    made: list[CountingClient] = []

    def small(directory):
        made.append(CountingClient(open_client(directory), 4))
        return made[-1]

    with monkeypatch.context() as patch:
        patch.setattr(chroma_store, "open_client", small)
        write(tmp_path / "chroma", CHUNKS, batch=12)
    assert made[0].slices == [3, 4, 4, 1]
    store = ChromaStore(tmp_path / "chroma")
    assert store.count("passages") == 9
    store.close()


def test_six_thousand_chunks_in_one_go(tmp_path):
    chunks = [make_chunk("2301.00001", number, f"t{number}") for number in range(1, 6001)]
    vectors = np.random.default_rng(0).normal(size=(6000, 4)).astype(np.float32)
    write_chroma(tmp_path / "chroma", iter([(chunks, vectors)]))
    store = ChromaStore(tmp_path / "chroma")
    assert store.count("passages") == 6000
    store.close()


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935\nsize 12345\n"


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (None, "missing its database"),
        (POINTER, "Git-LFS pointer"),
        (b"", "damaged"),
        (bytes(4096), "damaged"),
    ],
    ids=["deleted", "pointer", "empty", "zeroed"],
)
def test_an_unusable_database_is_named_and_not_replaced_by_an_empty_one(tmp_path, content, cause):
    write(tmp_path / "chroma", CHUNKS)
    path = tmp_path / "chroma" / "chroma.sqlite3"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(IndexUnavailableError, match=rf"{cause}.*scripts/build_index\.py") as caught:
        ChromaStore(tmp_path / "chroma")
    assert str(tmp_path) not in str(caught.value)
    assert path.exists() == (content is not None)
    assert content is None or path.read_bytes() == content


def test_a_database_damaged_behind_its_header_is_a_sentence(tmp_path):
    write(tmp_path / "chroma", CHUNKS)
    path = tmp_path / "chroma" / "chroma.sqlite3"
    content = path.read_bytes()
    path.write_bytes(content[:100] + b"\xff" * (len(content) - 100))
    with pytest.raises(IndexUnavailableError, match=r"scripts/build_index\.py"):
        ChromaStore(tmp_path / "chroma")


def test_a_store_without_its_collections_is_a_sentence(tmp_path):
    client = open_client(tmp_path / "chroma")
    client.create_collection("abstracts", embedding_function=None)
    client.close()
    with pytest.raises(IndexUnavailableError, match="collection “passages”"):
        ChromaStore(tmp_path / "chroma")


def test_a_closed_store_can_be_replaced_in_the_same_process(tmp_path):
    write(tmp_path / "chroma", CHUNKS)
    ChromaStore(tmp_path / "chroma").close()
    (tmp_path / "chroma").rename(tmp_path / "old")
    write(tmp_path / "chroma", CHUNKS[:4])
    store = ChromaStore(tmp_path / "chroma")
    assert store.count("passages") == 3
    assert store.search("passages", EMBEDDER.embed_queries(["gauge"]), 1)[0][0].chunk_id.startswith(
        "2301.00001"
    )
    store.close()


def test_chroma_is_imported_only_when_a_store_is_opened():
    import subprocess

    code = "import sys, rag.retrieval.chroma_store; sys.exit('chromadb' in sys.modules)"
    root = Path(__file__).resolve().parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0
