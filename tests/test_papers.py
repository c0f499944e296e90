"""Facts about papers: ids, links, the catalogue and its file."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.papers import (
    Library,
    Paper,
    dump_papers,
    fold_title,
    ids_in_text,
    is_paper_id,
    load_papers,
    month_of_id,
    paper_from_record,
    split_version,
    year_of_id,
)

TEXTS = st.text(st.characters(codec="utf-8"), max_size=12).filter(lambda text: text != "metadata")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2301.00001", ("2301.00001", None)),
        (" 2301.00001v3 ", ("2301.00001", "v3")),
        ("http://arxiv.org/abs/2301.00001", ("2301.00001", None)),
        ("https://www.arxiv.org/pdf/2301.00001v2.pdf", ("2301.00001", "v2")),
        ("export.arxiv.org/abs/cs/0112017v1", ("cs/0112017", "v1")),
        ("arXiv:1301.3781v3", ("1301.3781", "v3")),
        ("cs_0112017v2", ("cs/0112017", "v2")),
        ("hep-th-9901001.pdf", ("hep-th/9901001", None)),
        ("math.GT/0309136", ("math.GT/0309136", None)),
        ("../2301.00001", None),
        ("2301.00001/../../etc/passwd", None),
        ("2301.000011234", None),
        ("2301.00001\n2301.00002", None),
        ("my thesis", None),
        ("", None),
    ],
)
def test_an_id_is_read_in_every_usual_form_and_nothing_else_is(text, expected):
    assert split_version(text) == expected


def test_ids_in_running_text_lose_versions_and_repeats():
    text = "See 1706.03762v5, arXiv:2106.09685 and (cs/0112017); again 1706.03762. Not 12706.03762 or 3.14."
    assert ids_in_text(text) == ["1706.03762", "2106.09685", "cs/0112017"]


@pytest.mark.parametrize(
    "text", ["2106.09685\n", "2106.09685v1", "٢١٠٦.٠٩٦٨٥", "cs/0112017\n", "x"]
)
def test_what_is_no_bare_id(text):
    assert not is_paper_id(text)
    assert year_of_id(text) is None
    assert month_of_id(text) is None


@pytest.mark.parametrize(
    ("paper_id", "year", "month"),
    [
        ("2106.09685", 2021, "2021-06"),
        ("0704.0001", 2007, "2007-04"),
        ("cs/0112017", 2001, "2001-12"),
        ("hep-th/9901001", 1999, "1999-01"),
    ],
)
def test_an_id_tells_year_and_month(paper_id, year, month):
    assert is_paper_id(paper_id)
    assert year_of_id(paper_id) == year
    assert month_of_id(paper_id) == month


def test_links_open_the_version_that_was_indexed():
    paper = Paper("1301.3781", "T", version="v3")
    assert paper.pdf_url(4) == "https://arxiv.org/pdf/1301.3781v3#page=4"
    assert paper.pdf_url() == "https://arxiv.org/pdf/1301.3781v3"
    assert paper.abs_url == "https://arxiv.org/abs/1301.3781v3"
    assert Paper("1301.3781", "T").abs_url == "https://arxiv.org/abs/1301.3781"


@pytest.mark.parametrize(
    ("authors", "short"),
    [
        ((), ""),
        (("Ann Ray",), "Ray"),
        (("Xiang Lisa Li", "Percy Liang"), "Li, Liang"),
        (("Edward Hu", "B C", "D E"), "Hu et al."),
        (("  ", "Ann Ray "), "Ray"),
    ],
)
def test_authors_in_short(authors, short):
    assert Paper("1", "T", authors=authors).short_authors == short


def test_year_is_read_from_any_precision():
    assert Paper("1", "T", published="2017-06-12").year == 2017
    assert Paper("1", "T", published="2017").year == 2017
    assert Paper("1", "T").year is None


def test_titles_compare_by_their_words():
    assert fold_title("Naïve  Bayes:\n A Re-Visit!") == "naive bayes a re visit"
    library = Library([Paper("2", "Über die Naïve Suche"), Paper("1", "中文标题")])
    found = library.by_title("uber die NAIVE suche")
    assert found is not None
    assert found.paper_id == "2"
    assert library.by_title("?!") is None
    assert library.by_title("") is None


@pytest.mark.parametrize(
    ("title", "folded"),
    [
        ("H$_2$O Widgets", "h2o widgets"),
        (r"$\ell_1$-Norm", "l1 norm"),
        ("ℓ1-Norm", "l1 norm"),
        ("R$^3$ Prompting", "r3 prompting"),
        ("M$^{2}$UGen", "m2ugen"),
        ("x² Widgets", "x2 widgets"),
        (r"$\alpha$-Net", "alpha net"),
        ("α-Net", "alpha net"),
        ("Ω-Net", "omega net"),
        ("µ-Law", "mu law"),
        ("$π_0$: A Widget", "pi0 a widget"),
        (r"$\mathcal{V}$-Usable", "v usable"),
        (r"$\mathbb{R}^n$", "rn"),
        (r"\textbf{Bold} and \emph{Not}", "bold and not"),
        (r"Schr\"{o}dinger", "schrodinger"),
        (r"Schr\"odinger", "schrodinger"),
        ("Schrödinger", "schrodinger"),
        (r"L\'evy", "levy"),
        (r"Na\"{\i}ve", "naive"),
        (r"Fran\c{c}ois", "francois"),
        (r"\v{C}ech", "cech"),
        (r"Stra{\ss}e", "strasse"),
        ("Straße", "strasse"),
        (r"100\% Widgets", "100 widgets"),
        (r"Widgets \& Gauges", "widgets gauges"),
        (r"$O(n \log n)$", "o n log n"),
        ("wid_get", "wid get"),
        ("A $1 Widget", "a 1 widget"),
        ("ﬁne-tuning", "fine tuning"),
        ("Ångström", "angstrom"),
        ("widget２", "widget2"),
        ("部件", ""),
        ("", ""),
    ],
)
def test_titles_are_folded_with_their_tex(title, folded):
    assert fold_title(title) == folded
    assert fold_title(folded) == folded
    assert fold_title(title.upper() if "\\" not in title else title) == folded


@pytest.mark.parametrize(
    ("title", "tex"), [("Łojasiewicz", r"{\L}ojasiewicz"), ("Bjørn", r"Bj{\o}rn")]
)
def test_a_letter_with_a_stroke_is_the_same_in_tex(title, tex):
    assert fold_title(title) == fold_title(tex)


def test_a_library_is_ordered_by_id_and_replaces_equal_ids():
    library = Library([Paper("2", "Two"), Paper("1", "One"), Paper("2", "Two again")])
    assert [(paper.paper_id, paper.title) for paper in library] == [
        ("1", "One"),
        ("2", "Two again"),
    ]
    larger = library.with_papers([Paper("0", "Nought"), Paper("1", "One again")])
    assert [paper.title for paper in larger] == ["Nought", "One again", "Two again"]
    assert len(library) == 2
    assert "0" not in library
    assert library.get("0") is None
    assert larger["0"].title == "Nought"


def test_topics_are_counted_most_first():
    papers = [Paper(str(n), "T", topic=topic) for n, topic in enumerate(["b", "a", "c", "c", None])]
    assert list(Library(papers).topics().items()) == [("c", 2), ("a", 1), ("b", 1)]


def test_a_manifest_survives_writing_and_reading(tmp_path: Path):
    papers = [
        Paper(
            "2301.00002",
            "Über “quotes” \\ and 🙂",
            ("A B",),
            "2023-01",
            ("cs.LG", "cs.CL"),
            "x",
            "hand_picked",
            "v2",
        ),
        Paper("2301.00001", "Plain"),
    ]
    path = tmp_path / "manifest.json"
    dump_papers(papers, path)
    assert load_papers(path) == sorted(papers, key=lambda paper: paper.paper_id)
    assert len(path.read_text(encoding="utf-8").splitlines()) == 4  # a paper a line
    dump_papers([], path)
    assert load_papers(path) == []


def test_a_manifest_leaves_out_what_is_unknown_and_is_plain_text(tmp_path: Path):
    path = tmp_path / "manifest.json"
    dump_papers([Paper("2301.00002", "Über 中"), Paper("2301.00001", "T", published="2023")], path)
    assert path.read_text(encoding="utf-8") == (
        "[\n"
        '{"paper_id": "2301.00001", "title": "T", "published": "2023", "tier": "fill"},\n'
        '{"paper_id": "2301.00002", "title": "Über 中", "tier": "fill"}\n'
        "]\n"
    )


@given(
    st.lists(
        st.builds(
            Paper,
            st.integers(0, 99_999).map(lambda number: f"2301.{number:05d}"),
            TEXTS,
            authors=st.lists(TEXTS, max_size=3).map(tuple),
            published=st.none() | st.sampled_from(["2023", "2023-01", "2023-01-05"]),
            categories=st.lists(st.sampled_from(["cs.LG", "stat.ML"]), max_size=2).map(tuple),
            topic=st.none() | TEXTS,
            tier=st.sampled_from(["hand_picked", "fill"]),
            version=st.none() | st.sampled_from(["v1", "v12"]),
            names=st.lists(TEXTS, max_size=2).map(tuple),
        ),
        unique_by=lambda paper: paper.paper_id,
        max_size=5,
    )
)
def test_any_facts_survive_writing_and_reading(papers):
    with TemporaryDirectory() as folder:
        path, again = Path(folder) / "manifest.json", Path(folder) / "again.json"
        dump_papers(papers, path)
        read = load_papers(path)
        dump_papers(reversed(read), again)
        assert path.read_bytes() == again.read_bytes()
        assert len(path.read_text(encoding="utf-8").split("\n")) == max(1, len(papers)) + 3
    assert read == sorted(papers, key=lambda paper: paper.paper_id)


def test_a_paper_may_be_called_metadata(tmp_path: Path):
    dump_papers([Paper("2301.00001", "metadata")], tmp_path / "manifest.json")
    assert load_papers(tmp_path / "manifest.json") == [Paper("2301.00001", "metadata")]


def test_a_manifest_does_not_say_what_an_index_holds(tmp_path: Path):
    dump_papers([Paper("2301.00001", "T", holding="digest")], tmp_path / "manifest.json")
    assert load_papers(tmp_path / "manifest.json") == [Paper("2301.00001", "T")]


def test_a_record_with_missing_lists_is_a_paper_and_one_with_unknown_keys_is_not():
    paper = paper_from_record(
        {"paper_id": "1", "title": "T", "authors": None, "categories": ["cs.LG"]}
    )
    assert (paper.authors, paper.categories) == ((), ("cs.LG",))
    with pytest.raises(TypeError):
        paper_from_record({"paper_id": "1", "title": "T", "abstract": "no sentence of it"})
