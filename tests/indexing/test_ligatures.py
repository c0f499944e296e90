"""Ligatures that a subset font gives as codes without a meaning."""

from __future__ import annotations

from pathlib import Path

import pytest
from drawn_pdf import add_page, new_document, save, write

from rag.indexing.pdf import read_pdf

# The glyph's name says nothing: PyMuPDF gives U+FFFD, and the code only when asked.
NAMELESS = "<< /Type /Encoding /Differences [{codes}] >>"
# The font's own table says that the glyph is a control code.
TABLE = (
    "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def "
    "1 begincodespacerange <00> <FF> endcodespacerange "
    "1 beginbfrange <01> <1F> <0001> endbfrange 1 beginbfrange <20> <7E> <0020> endbfrange "
    "endcmap end end"
)
LINES = (
    "we de\2ne the signi\2cance of a classi\2cation at \2rst and \2nally",
    "the re\3ection of the in\3uence that \3ows",
    "an e\4ect of di\4erent e\4orts",
    "an e\16cient coe\16cient",
)
WHOLE = (
    "we define the significance of a classification at first and finally",
    "the reflection of the influence that flows",
    "an effect of different efforts",
    "an efficient coefficient",
)


def drawn(path: Path, lines: tuple[str, ...], nameless: bool) -> Path:
    """A page whose font has codes for ligatures that it does not name."""
    document = new_document()
    page = add_page(document)
    write(page, 72, 60, "x")
    font = page.get_fonts()[0][0]
    if nameless:
        codes = " ".join(f"{code} /g{code}x" for code in (2, 3, 4, 5, 14))
        document.xref_set_key(font, "Encoding", NAMELESS.format(codes=codes))
    else:
        table = document.get_new_xref()
        document.update_object(table, "<<>>")
        document.update_stream(table, TABLE.encode())
        document.xref_set_key(font, "ToUnicode", f"{table} 0 R")
    shown = "".join(
        f"BT /helv 10 Tf 72 {700 - 14 * at} Td ({text}) Tj ET\n" for at, text in enumerate(lines)
    )
    document.update_stream(page.get_contents()[0], shown.encode("latin-1"))
    return save(document, path)


def read(path: Path) -> tuple[str, ...]:
    return tuple(line.text for line in read_pdf(path).pages[0].lines)


@pytest.mark.parametrize("nameless", [True, False], ids=["unknown", "control codes"])
def test_lost_ligatures_are_restored(tmp_path: Path, nameless: bool) -> None:
    assert read(drawn(tmp_path / "a.pdf", LINES, nameless)) == WHOLE


@pytest.mark.parametrize("nameless", [True, False], ids=["unknown", "control codes"])
def test_a_code_without_enough_votes_is_dropped(tmp_path: Path, nameless: bool) -> None:
    lines = ("we de\2ne it and de\2ne it again", "the wor\5ds of the gau\5ge", "\2 x\2y (\2)")
    assert read(drawn(tmp_path / "a.pdf", lines, nameless)) == (
        "we dene it and dene it again",
        "the words of the gauge",
        "xy ()",
    )


def test_the_words_of_the_document_vote_too(tmp_path: Path) -> None:
    lines = (
        "zaffers, waffens and goffels in plain letters",
        "the za\5ers, the wa\5ens and the go\5els",
        "and an unheard-of hu\5led one",
    )
    done = read(drawn(tmp_path / "a.pdf", lines, True))
    assert done[1:] == ("the zaffers, the waffens and the goffels", "and an unheard-of huffled one")


def test_formulas_get_no_ligature(tmp_path: Path) -> None:
    lines = (*LINES, "a\2 = \2b", "5 \2 7")
    assert read(drawn(tmp_path / "a.pdf", lines, True))[4:] == ("a = b", "5 7")
