"""Citations: passage numbers of the writer -> paper numbers of the answer, while it streams.

The writer cites passages ``[n]`` as they were numbered for it. The reader sees papers numbered
from 1 in order of first use. An invented number is removed and counted, never shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rag.reasoning.protocol import Evidence

_OPEN = "[【"
_CLOSE = "]】\n"
_GROUP = re.compile(
    r"[\[【]\s*\^?(?:passages?|sources?|refs?\.?)?\s*"
    r"(\d+(?:\s*(?:[,;]|and|&|-|–)\s*\^?\d+)*)"
    r"\s*(?:†[^\]】]*)?[\]】]",
    re.I,
)
_RANGE = re.compile(r"(\d+)\s*[-–]\s*(\d+)")
# An opening bracket with digits at most behind it: what follows could complete a number.
_HALF_NUMBER = re.compile(r"\[\s*\d*$")
# Longer bracketed text is not a citation, so holding it back would only delay the stream.
_LONGEST_GROUP = 96


@dataclass(frozen=True)
class Mark:
    """A citation in the answer: where it stands, the paper's number, and the passages meant."""

    start: int
    end: int
    number: int
    passages: tuple[int, ...]


@dataclass
class CitationStream:
    """Turns the writer's pieces into the reader's text; numbers are final when emitted.

    ``numbers`` maps paper id to its number in order of first use; ``marks`` are all citations
    with offsets into the text emitted so far; ``invalid`` counts removed numbers.
    """

    evidence: Sequence[Evidence]
    numbers: dict[str, int] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=list)
    invalid: int = 0
    text: str = ""
    _held: str = ""

    def feed(self, piece: str) -> str:
        """Take a piece of the writer's text; returns what may be shown now.

        How the text is cut into pieces changes nothing but when it is shown.
        """
        self._held += piece
        return self._drain(final=False)

    def finish(self) -> str:
        """The end of the writer's text: what was held back."""
        return self._drain(final=True)

    def _drain(self, *, final: bool) -> str:
        shown = ""
        while self._held:
            cut = self._safe_length()
            if not cut:
                run, decided = self._run_of_groups()
                if not decided and not final:
                    break
                if run:
                    shown += self._cite(self._held[:run])
                    self._held = self._held[run:]
                    continue
                # No citation after all: the bracket is text, with the blanks before it.
                cut = len(self._held) - len(self._held.lstrip(" ")) + 1
            shown += self._emit(self._held[:cut])
            self._held = self._held[cut:]
        return shown

    def _safe_length(self) -> int:
        """Characters before the next possible citation; the blanks in front belong to it."""
        places = [place for place in (self._held.find(char) for char in _OPEN) if place >= 0]
        stop = min(places) if places else len(self._held)
        while stop and self._held[stop - 1] == " ":
            stop -= 1
        return stop

    def _run_of_groups(self) -> tuple[int, bool]:
        """Length of the citations at the front, blanks between them included, and whether what
        follows decides that no further one belongs to them."""
        last = 0
        while True:
            start = last
            while self._held[start : start + 1] == " ":
                start += 1
            if start == len(self._held):
                return last, False
            if self._held[start] not in _OPEN:
                return last, True
            window = self._held[start : start + _LONGEST_GROUP]
            ends = [place for place in map(window.find, _CLOSE) if place > 0]
            if not ends:
                return last, len(window) == _LONGEST_GROUP
            group = _GROUP.fullmatch(window[: min(ends) + 1])
            if group is None:
                return last, True
            last = start + group.end()

    def _cite(self, run: str) -> str:
        passages: list[int] = []
        for match in _GROUP.finditer(run):
            passages += list(expand_numbers(match.group(1)))
        valid = {item.n: item for item in self.evidence}
        self.invalid += sum(number not in valid for number in passages)
        by_paper: dict[str, list[int]] = {}
        for number in passages:
            if number in valid:
                cited = by_paper.setdefault(valid[number].paper_id, [])
                if number not in cited:
                    cited.append(number)
        shown = ""
        for paper_id, cited in by_paper.items():
            number = self.numbers.setdefault(paper_id, len(self.numbers) + 1)
            start = len(self.text)
            blank = "" if not self.text or self.text[-1] in " \n(" else " "
            shown += self._emit(f"{blank}[{number}]")
            self.marks.append(Mark(start + len(blank), len(self.text), number, tuple(cited)))
        if not shown and _HALF_NUMBER.search(self.text):
            # "[[9]7]" must not become "[7]" by the removal of the invented number.
            shown = self._emit(" ")
        return shown

    def _emit(self, text: str) -> str:
        self.text += text
        return text


def expand_numbers(group: str) -> Iterator[int]:
    """The numbers of ``"1, 3"`` or ``"2-4"``; a range wider than 20 is taken as its two ends."""
    for part in re.split(r"\s*(?:[,;]|and|&)\s*", group):
        match = _RANGE.fullmatch(part.strip().lstrip("^"))
        if match:
            low, high = int(match.group(1)), int(match.group(2))
            yield from range(low, high + 1) if 0 <= high - low <= 20 else (low, high)
        elif part.strip().lstrip("^").isdigit():
            yield int(part.strip().lstrip("^"))
