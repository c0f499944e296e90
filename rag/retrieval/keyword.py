"""KeywordIndex: BM25Okapi as a sparse term-chunk matrix.

The weights are those of ``rank_bm25.BM25Okapi`` (k1 1.5, b 0.75, epsilon 0.25), computed with the
same operations in the same order, so that for the same token lists the scores are bit-identical;
a query then only adds up the columns of its terms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from rag.errors import IndexUnavailableError

K1 = 1.5
B = 0.75
FORMAT = 1


@dataclass(frozen=True)
class KeywordHit:
    """A chunk that holds a term of the query; ``position`` is its place in the corpus."""

    chunk_id: str
    position: int
    score: float


@dataclass(frozen=True)
class KeywordIndex:
    """Columns of BM25 weights by term.

    ``rows[starts[i]:starts[i + 1]]`` are the corpus positions of the chunks that hold term ``i``
    and ``weights[...]`` their BM25 weights (float64). ``content_hash`` ties the index to the
    chunks it was made from.
    """

    chunk_ids: tuple[str, ...]
    vocabulary: dict[str, int]
    starts: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float64]
    content_hash: str = ""

    def __len__(self) -> int:
        return len(self.chunk_ids)

    def scores(self, query: Sequence[str]) -> npt.NDArray[np.float64]:
        """BM25 score of every chunk, shape ``(chunks,)``."""
        return self._add_up(query)[0]

    def search(
        self, query: Sequence[str], k: int, allowed: npt.NDArray[np.bool_] | None = None
    ) -> list[KeywordHit]:
        """The best ``k`` chunks that hold a term of the query.

        Presence of a term makes a hit, not the score: a term in exactly half of the chunks
        weighs 0. Order: score descending, then corpus position. ``allowed`` masks positions.
        """
        scores, present = self._add_up(query)
        if allowed is not None:
            present &= allowed
        positions = np.flatnonzero(present)
        if not len(positions) or k < 1:
            return []
        found = scores[positions]
        if len(positions) > k:
            # Keep everything that ties with the k-th score, then let the stable sort decide.
            threshold = np.partition(found, len(found) - k)[len(found) - k]
            positions = positions[found >= threshold]
        order = np.argsort(-scores[positions], kind="stable")[:k]
        return [
            KeywordHit(self.chunk_ids[position], int(position), float(scores[position]))
            for position in positions[order]
        ]

    def document_frequency(self, term: str) -> int:
        """In how many chunks the term occurs."""
        column = self.vocabulary.get(term)
        return 0 if column is None else int(self.starts[column + 1] - self.starts[column])

    def rarity(self, term: str) -> float:
        """Inverse document frequency, never negative: ``log((N + 1) / (df + 0.5))``."""
        return max(0.0, math.log((len(self) + 1) / (self.document_frequency(term) + 0.5)))

    def _add_up(
        self, query: Sequence[str]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        size = len(self.chunk_ids)
        columns = [column for term in query if (column := self.vocabulary.get(term)) is not None]
        spans = [slice(self.starts[column], self.starts[column + 1]) for column in columns]
        if not spans:
            return np.zeros(size), np.zeros(size, dtype=np.bool_)
        # bincount adds term after term, in the order of the query, as the reference does: the
        # sums are the same to the last bit.
        rows = np.concatenate([self.rows[span] for span in spans])
        weights = np.concatenate([self.weights[span] for span in spans])
        scores: npt.NDArray[np.float64] = np.bincount(rows, weights, size).astype(
            np.float64, copy=False
        )
        present = np.zeros(size, dtype=np.bool_)
        present[rows] = True
        return scores, present


def build_keyword_index(
    chunk_ids: Sequence[str], documents: Sequence[Sequence[str]], content_hash: str = ""
) -> KeywordIndex:
    """An index over ``documents`` (token lists), one for each chunk id; may be empty.

    Frequencies, lengths and idf come from ``BM25Okapi`` itself, the reference for the scores.
    """
    if not any(documents):  # BM25Okapi divides by zero on no documents and on no terms.
        return KeywordIndex(tuple(chunk_ids), {}, *_no_columns(), content_hash)
    from rank_bm25 import BM25Okapi

    reference = BM25Okapi(documents)
    postings: dict[str, tuple[list[int], list[int]]] = {term: ([], []) for term in reference.idf}
    for position, counts in enumerate(reference.doc_freqs):
        for term, count in counts.items():
            postings[term][0].append(position)
            postings[term][1].append(count)
    lengths = np.array(reference.doc_len)
    starts = np.zeros(len(postings) + 1, dtype=np.int64)
    all_rows: list[npt.NDArray[np.int32]] = []
    all_weights: list[npt.NDArray[np.float64]] = []
    for column, (term, (positions, counts_of_term)) in enumerate(postings.items()):
        rows = np.asarray(positions, dtype=np.int32)
        starts[column + 1] = starts[column] + len(rows)
        all_rows.append(rows)
        frequencies = np.asarray(counts_of_term, dtype=np.int64)
        all_weights.append(
            okapi_weights(reference.idf[term], frequencies, lengths[rows], reference.avgdl)
        )
    return KeywordIndex(
        chunk_ids=tuple(chunk_ids),
        vocabulary={term: column for column, term in enumerate(postings)},
        starts=starts,
        rows=np.concatenate(all_rows),
        weights=np.concatenate(all_weights),
        content_hash=content_hash,
    )


def _no_columns() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    return np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0)


def okapi_weights(
    idf: float,
    counts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    average_length: float,
) -> npt.NDArray[np.float64]:
    """What one term adds to the score of each chunk that holds it (Robertson & Zaragoza 2009).

    The operations and their order are those of ``BM25Okapi.get_scores``.
    """
    weights: npt.NDArray[np.float64] = (idf or 0) * (
        counts * (K1 + 1) / (counts + K1 * (1 - B + B * lengths / average_length))
    )
    return weights


def save_keyword_index(index: KeywordIndex, path: Path) -> None:
    """Write the index as a plain ``.npz`` (no pickle: it would run code on load)."""
    np.savez(
        path,
        format=np.asarray([FORMAT]),
        chunk_ids=_pack(index.chunk_ids),
        terms=_pack(index.vocabulary),
        starts=index.starts,
        rows=index.rows,
        weights=index.weights,
        content_hash=_pack([index.content_hash]),
    )


def load_keyword_index(path: Path) -> KeywordIndex:
    """Read an index; raises ``IndexUnavailableError`` when it is missing or damaged."""
    try:
        # numpy leaves a file open that it opened itself and could not read.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as data:
            if int(data["format"][0]) != FORMAT:
                raise ValueError("another format")
            terms = _unpack(data["terms"])
            return KeywordIndex(
                chunk_ids=tuple(_unpack(data["chunk_ids"])),
                vocabulary={term: column for column, term in enumerate(terms)},
                starts=data["starts"],
                rows=data["rows"],
                weights=data["weights"],
                content_hash="".join(_unpack(data["content_hash"])),
            )
    except (OSError, ValueError, LookupError, EOFError, BadZipFile) as error:
        raise IndexUnavailableError(
            "The keyword index is missing or damaged; build the index again with "
            "scripts/build_index.py."
        ) from error


def _pack(strings: Sequence[str] | dict[str, int]) -> npt.NDArray[np.uint8]:
    return np.frombuffer("\n".join(strings).encode("utf-8"), dtype=np.uint8)


def _unpack(packed: npt.NDArray[np.uint8]) -> list[str]:
    text = packed.tobytes().decode("utf-8")
    return text.split("\n") if text else []
