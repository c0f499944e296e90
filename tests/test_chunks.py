"""The chunk: its id and its pages."""

from __future__ import annotations

from builders import make_chunk

from rag.chunks import make_chunk_id, page_at


def test_ids_tell_position_and_content_apart():
    same = "The same boilerplate paragraph."
    ids = {
        make_chunk_id("2301.00001", 1, same),
        make_chunk_id("2301.00001", 2, same),
        make_chunk_id("2301.00002", 1, same),
        make_chunk_id("2301.00001", 1, same + "!"),
    }
    assert len(ids) == 4
    assert make_chunk_id("2301.00001", 1, same) == make_chunk_id("2301.00001", 1, same)
    assert make_chunk_id("cs/0112017", 12, same).startswith("cs/0112017:0012:")


def test_pages_of_a_chunk():
    chunk = make_chunk("1", 1, "abcdefgh", page_breaks=((0, 4), (3, 5), (6, 7)))
    assert (chunk.page_start, chunk.page_end) == (4, 7)
    assert [chunk.page_at(offset) for offset in range(8)] == [4, 4, 4, 5, 5, 5, 7, 7]
    without = make_chunk("1", 1, "abc", page_breaks=())
    assert (without.page_start, without.page_end, without.page_at(1)) == (None, None, None)
    assert page_at(((2, 9),), 1) is None
