"""ThinkFilter: keeps a model's ``<think>`` blocks out of a streamed answer."""

from __future__ import annotations

_OPENERS = ("<think>", "<thinking>")
_CLOSERS = ("</think>", "</thinking>")


class ThinkFilter:
    """Feed pieces of a stream, get back what may be shown.

    A block counts only where the answer starts: in the middle of an answer the tag is text (papers
    write about it), and swallowing everything after it would lose the answer. Blank space before
    the first visible letter is dropped.
    """

    def __init__(self) -> None:
        self._held = ""
        self._inside = False
        self._visible = False

    def feed(self, piece: str) -> str:
        """The part of the stream that became visible with ``piece``; may be empty."""
        if self._visible:
            return piece
        self._held += piece
        while True:
            if self._inside:
                if not self._drop_block():
                    return ""
                continue
            self._held = self._held.lstrip()
            lowered = self._held.lower()
            opener = next((tag for tag in _OPENERS if lowered.startswith(tag)), None)
            if opener is not None:
                self._held = self._held[len(opener) :]
                self._inside = True
                continue
            if not lowered or any(tag.startswith(lowered) for tag in _OPENERS):
                return ""
            self._visible = True
            shown, self._held = self._held, ""
            return shown

    def _drop_block(self) -> bool:
        lowered = self._held.lower()
        ends = [lowered.find(tag) + len(tag) for tag in _CLOSERS if tag in lowered]
        if not ends:
            # The closing tag may be split over two pieces: its beginning has to stay.
            self._held = self._held[-len(_CLOSERS[1]) :]
            return False
        self._held = self._held[min(ends) :]
        self._inside = False
        return True

    def finish(self) -> str:
        """What is left at the end of the stream: a beginning that turned out to be no tag."""
        rest, self._held = ("" if self._inside else self._held), ""
        return rest
