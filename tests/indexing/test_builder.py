"""Building an index from a folder: whatever the files are like, the run ends and adds up."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from builders import StubEmbedder, build, opened, prose, write_papers
from stub_extract import extract_slowly

from rag.errors import IndexUnavailableError
from rag.indexing.builder import BuildSummary, file_paper_id, pdf_files, records_wanted
from rag.indexing.chunk_table import FILE_NAME
from rag.indexing.generation import CHROMA_FOLDER, CURRENT, KEYWORD_FILE, current_generation
from rag.papers import Library, Paper
from rag.retrieval.keyword import load_keyword_index, save_keyword_index
from rag.retrieval.terms import terms
from rag.sections import IndexingSettings
from rag.selection.records import PaperRecord

TESTS = Path(__file__).resolve().parent.parent


def adds_up(summary: BuildSummary) -> bool:
    return summary.indexed + summary.skipped_count + summary.failed_count == summary.inputs


def test_good_and_bad_files_end_in_one_index_and_one_sum(tmp_path):
    files = write_papers(
        tmp_path / "pdfs",
        {
            "2301.00001": prose("widget"),
            "2301.00002": "SLEEP " + prose("sleeper"),
            "2301.00003": prose("gauge"),
            "2301.00004": "ABORT " + prose("crasher"),
            "2301.00005": "SCAN",
            "2301.00006": "BROKEN",
            "2301.00007": "BUG",
            "2301.00008": prose("lever"),
        },
    )
    names: list[str] = []
    embedder = StubEmbedder(dimension=256)
    started = time.monotonic()
    summary = build(
        files,
        tmp_path / "index",
        embedder,
        IndexingSettings(seconds_per_file=2),
        progress=names.append,
    )
    assert time.monotonic() - started < 15
    assert summary.indexed == 3
    assert summary.skipped == {"no text layer": ["2301.00005.pdf"]}
    assert summary.failed == {
        "took over 2 s": ["2301.00002.pdf"],
        "the reader crashed": ["2301.00004.pdf"],
        "damaged": ["2301.00006.pdf"],
        "unexpected RuntimeError": ["2301.00007.pdf"],
    }
    assert adds_up(summary)
    assert names == [path.name for path in files]
    assert summary.lines()[0] == "3 indexed + 1 skipped + 4 failed = 8 inputs"
    assert any("the reader crashed: 1 (2301.00004.pdf)" in line for line in summary.lines())
    index = opened(tmp_path / "index", embedder)
    assert [paper.paper_id for paper in index.papers] == ["2301.00001", "2301.00003", "2301.00008"]
    assert index.manifest.chunks == summary.chunks
    hit = index.keyword.search(terms("gauge"), 1)[0]
    assert index.chunks.get([hit.chunk_id])[hit.chunk_id].paper_id == "2301.00003"
    near = index.vectors.search("passages", embedder.embed_queries(["the lever"]), 1)[0][0]
    assert index.chunks.get([near.chunk_id])[near.chunk_id].paper_id == "2301.00008"
    index.close()


def test_only_bad_files_make_no_index_and_leave_no_rubbish(tmp_path):
    files = write_papers(tmp_path / "pdfs", {"2301.00001": "SCAN", "2301.00002": ""})
    with pytest.raises(IndexUnavailableError, match="No file became a paper") as caught:
        build(files, tmp_path / "index")
    assert "no text layer: 1 (2301.00001.pdf)" in str(caught.value)
    assert [path.name for path in (tmp_path / "index").iterdir() if path.is_dir()] == []


def test_running_again_changes_nothing_and_says_why(tmp_path):
    files = write_papers(tmp_path / "pdfs", {"2301.00001": prose("widget"), "2301.00002": "SCAN"})
    first = build(files, tmp_path / "index")
    embedder = StubEmbedder()
    again = build(files, tmp_path / "index", embedder)
    assert again.skipped == {
        "already in the index": ["2301.00001.pdf"],
        "no text layer": ["2301.00002.pdf"],
    }
    assert adds_up(again)
    assert again.manifest == first.manifest
    assert embedder.embedded == []
    assert not list((tmp_path / "index").glob("building-*"))


def test_an_addition_embeds_only_what_is_new_and_keeps_the_old_generation_readable(tmp_path):
    root = tmp_path / "index"
    first = build(write_papers(tmp_path / "pdfs", {"2301.00001": prose("widget")}), root)
    before = opened(root)
    embedder = StubEmbedder()
    files = write_papers(
        tmp_path / "pdfs", {"2301.00001": "not read again", "2301.00002": prose("gauge")}
    )
    second = build(files, root, embedder)
    assert second.indexed == 1
    assert embedder.embedded
    assert all("2301.00002" in text for text in embedder.embedded)
    assert second.manifest.papers == 2
    assert second.manifest.fingerprint != first.manifest.fingerprint
    vector = StubEmbedder().embed_queries(["widget"])
    assert before.vectors.search("passages", vector, 3)[0]  # the reader of the old one goes on
    assert before.manifest == first.manifest
    after = opened(root)
    assert after.keyword.document_frequency("gauge") > 0
    # The weights are those of a library built in one go.
    build(
        write_papers(
            tmp_path / "both", {"2301.00001": prose("widget"), "2301.00002": prose("gauge")}
        ),
        tmp_path / "one",
    )
    whole = opened(tmp_path / "one")
    assert whole.manifest.content_hash == after.manifest.content_hash
    assert (whole.keyword.weights == after.keyword.weights).all()
    for index in (before, after, whole):
        index.close()


def test_each_passage_is_embedded_once_with_its_title_in_front(tmp_path):
    embedder = StubEmbedder()
    same = prose("boilerplate")
    files = write_papers(
        tmp_path / "pdfs",
        {"2301.00001": same, "2301.00002": same, "2301.00003": f"{same}\n\n{same}"},
    )
    summary = build(files, tmp_path / "index", embedder)
    assert (
        len(embedder.embedded) == summary.chunks == summary.manifest.chunks
    )  # equal texts are all stored
    assert all(text.startswith("Paper 2301.0000") for text in embedder.embedded)
    index = opened(tmp_path / "index")
    passages = [chunk for paper in index.papers for chunk in index.chunks.of_paper(paper.paper_id)]
    assert len({chunk.chunk_id for chunk in passages}) == summary.chunks
    assert len({chunk.text for chunk in passages}) < summary.chunks
    assert not any(chunk.text.startswith("Paper 2301") for chunk in passages)
    index.close()


def test_of_several_versions_the_newest_is_taken_and_its_links_say_so(tmp_path):
    files = write_papers(
        tmp_path / "pdfs",
        {
            "2301.00001v1": prose("old"),
            "2301.00001v10": prose("newest"),
            "2301.00001v2": prose("newer"),
        },
    )
    summary = build(files, tmp_path / "index")
    assert summary.indexed == 1
    assert summary.skipped == {
        "another version of the same paper": ["2301.00001v1.pdf", "2301.00001v2.pdf"]
    }
    assert adds_up(summary)
    index = opened(tmp_path / "index")
    assert index.papers["2301.00001"].pdf_url(1) == "https://arxiv.org/pdf/2301.00001v10#page=1"
    assert index.keyword.document_frequency("newest") > 0
    assert index.keyword.document_frequency("old") == 0
    index.close()


def test_a_stamp_reveals_that_a_file_is_a_paper_already_held(tmp_path):
    files = write_papers(
        tmp_path / "pdfs",
        {"2301.00001": prose("widget"), "download (1)": "STAMP=2301.00001 " + prose("widget")},
    )
    summary = build(files, tmp_path / "index")
    assert summary.indexed == 1
    assert summary.skipped == {"another version of the same paper": ["download (1).pdf"]}
    assert adds_up(summary)


def test_facts_come_from_library_and_records(tmp_path):
    files = write_papers(
        tmp_path / "pdfs", {"2301.00001": prose("widget"), "2301.00002": prose("gauge")}
    )
    build(
        files,
        tmp_path / "index",
        library=Library([Paper("2301.00001", "Known Title", topic="widgets", tier="hand_picked")]),
        records={
            "2301.00002": PaperRecord(
                "2301.00002", "Record Title", ("Ann Ray",), "2023-01-02", ("cs.LG", "cs.CL")
            )
        },
    )
    index = opened(tmp_path / "index")
    first, second = index.papers
    assert (first.title, first.topic, first.hand_picked) == ("Known Title", "widgets", True)
    assert (second.title, second.authors, second.year, second.categories) == (
        "Record Title", ("Ann Ray",), 2023, ("cs.LG", "cs.CL"),
    )  # fmt: skip
    index.close()


def test_no_title_pushes_a_passage_out_of_the_encoders_window(tmp_path):
    embedder = StubEmbedder()
    options = IndexingSettings(chunk_tokens=400, max_chunk_tokens=440)
    files = write_papers(tmp_path / "pdfs", {"2301.00001": " ".join(["word"] * 3000)})
    build(
        files,
        tmp_path / "index",
        embedder,
        options,
        library=Library([Paper("2301.00001", "∑ " * 400)]),
    )
    assert max(embedder.count_tokens(embedder.embedded)) + 2 <= embedder.window


def test_a_second_writer_is_refused_while_the_first_goes_on(tmp_path):
    files = write_papers(tmp_path / "pdfs", {"2301.00001": prose("widget")})
    refusals: list[str] = []

    def intrude(_: str) -> None:
        with pytest.raises(IndexUnavailableError, match="Another process") as caught:
            build(files, tmp_path / "index")
        refusals.append(str(caught.value))

    assert build(files, tmp_path / "index", progress=intrude).indexed == 1
    assert len(refusals) == 1


KILLED = """
    import sys
    from pathlib import Path
    sys.path[:0] = {paths!r}
    from builders import StubEmbedder, build
    from rag.indexing.builder import pdf_files
    from stub_extract import extract_slowly

    if __name__ == "__main__":
        build(pdf_files(Path({pdfs!r})), Path({root!r}), extract=extract_slowly,
              progress=lambda name: print(name, flush=True))
"""


def kill_half_way(tmp_path: Path, pdfs: Path, root: Path) -> list[str]:
    """Build in another process, kill it with SIGKILL after three papers; the names it printed."""
    script = tmp_path / "build.py"
    paths = [str(TESTS), str(TESTS.parent)]
    script.write_text(textwrap.dedent(KILLED.format(paths=paths, pdfs=str(pdfs), root=str(root))))
    process = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    try:
        done = [process.stdout.readline().strip() for _ in range(3)]
        process.send_signal(signal.SIGKILL)
        process.wait(10)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
    return done


def test_a_killed_build_goes_on_where_it_was(tmp_path):
    names = [f"2301.{number:05d}" for number in range(1, 13)]
    pdfs, root = tmp_path / "pdfs", tmp_path / "index"
    files = write_papers(pdfs, {name: prose(f"widget{name[-2:]}") for name in names})
    done = kill_half_way(tmp_path, pdfs, root)
    assert done == [f"{name}.pdf" for name in names[:3]]
    with pytest.raises(IndexUnavailableError, match="half-written"):
        opened(root)
    embedder = StubEmbedder()
    summary = build(files, root, embedder, extract=extract_slowly)
    held = summary.skipped["already in the index"]
    assert set(done) <= set(held)
    assert len(held) + summary.indexed == 12
    assert summary.indexed >= 1
    assert not any(name.removesuffix(".pdf") in text for name in held for text in embedder.embedded)
    index = opened(root)
    assert [paper.paper_id for paper in index.papers] == names
    counts = {paper.paper_id: len(index.chunks.of_paper(paper.paper_id)) for paper in index.papers}
    assert len(set(counts.values())) == 1  # each paper is wholly in
    index.close()


def test_a_finished_but_unsealed_build_of_another_embedder_is_sealed_not_thrown_away(
    tmp_path, monkeypatch
):
    files = write_papers(tmp_path / "pdfs", {"2301.00001": prose("widget")})
    build(files, tmp_path / "index", StubEmbedder("one"))

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("rag.indexing.builder.seal", killed)
        with pytest.raises(KeyboardInterrupt):
            build(files, tmp_path / "index", StubEmbedder("two"))
    embedder = StubEmbedder("two")
    summary = build(files, tmp_path / "index", embedder)
    assert embedder.embedded == []
    assert summary.manifest.embedder == "two"
    opened(tmp_path / "index", embedder).close()


def drop_chroma(directory: Path) -> None:
    shutil.rmtree(directory / CHROMA_FOLDER)


def zero_chroma(directory: Path) -> None:
    path = directory / CHROMA_FOLDER / "chroma.sqlite3"
    path.write_bytes(bytes(path.stat().st_size))


def cut_keyword(directory: Path) -> None:
    path = directory / KEYWORD_FILE
    path.write_bytes(path.read_bytes()[:200])


def zero_table(directory: Path) -> None:
    path = directory / FILE_NAME
    path.write_bytes(bytes(path.stat().st_size))


def swap_keyword(directory: Path) -> None:
    index = load_keyword_index(directory / KEYWORD_FILE)
    object.__setattr__(index, "content_hash", "another")
    save_keyword_index(index, directory / KEYWORD_FILE)


@pytest.mark.parametrize(
    "damage", [drop_chroma, zero_chroma, cut_keyword, zero_table, swap_keyword]
)
def test_building_again_mends_a_damaged_index_as_the_message_promises(tmp_path, damage):
    root = tmp_path / "index"
    files = write_papers(tmp_path / "pdfs", {"2301.00001": prose("widget")})
    build(files, root)
    damage(current_generation(root))
    with pytest.raises(IndexUnavailableError, match=r"scripts/build_index\.py"):
        opened(root)
    embedder = StubEmbedder()
    build(files, root, embedder)
    assert bool(embedder.embedded) == (
        damage is zero_table
    )  # only a lost table costs embedding again
    index = opened(root)
    assert index.vectors.search("passages", StubEmbedder().embed_queries(["widget"]), 1)[0]
    index.close()


def test_a_damaged_working_directory_is_begun_anew(tmp_path, caplog):
    root = tmp_path / "index"
    files = write_papers(tmp_path / "pdfs", {"2301.00001": prose("widget")})
    key = build(files, root).manifest.settings_hash
    (root / CURRENT).unlink()
    (root / f"building-{key}").mkdir()
    (root / f"building-{key}" / FILE_NAME).write_bytes(bytes(4096))
    with caplog.at_level(logging.WARNING):
        assert build(files, root).indexed == 1
    assert "damaged" in caplog.text


@pytest.mark.parametrize(
    ("name", "paper_id"),
    [
        ("2301.00001v2.pdf", "2301.00001"),
        ("cs_0112017.pdf", "cs/0112017"),
        ("My Thesis (final).pdf", "my-thesis--final"),
        ("...pdf", "paper"),
        ("Überblick.pdf", "überblick"),
        ("a" * 200 + ".pdf", "a" * 80),
    ],
)
def test_the_id_of_a_file(name, paper_id):
    assert file_paper_id(Path(name)) == paper_id


def test_the_pdfs_of_a_folder(tmp_path):
    with pytest.raises(IndexUnavailableError, match="does not exist"):
        pdf_files(tmp_path / "nowhere")
    with pytest.raises(IndexUnavailableError, match="holds no PDF"):
        pdf_files(tmp_path)
    for name in ("b.pdf", "A.PDF", "notes.txt"):
        (tmp_path / name).write_text("x")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.pdf").write_text("x")
    (tmp_path / "folder.pdf").mkdir()
    assert [path.name for path in pdf_files(tmp_path)] == ["A.PDF", "b.pdf"]
    assert list(records_wanted(pdf_files(tmp_path))) == ["a", "b"]
