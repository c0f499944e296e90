"""Line: one HTTP client to a provider that another thread can hang up while a read blocks.

Closing a response or a client from another thread does not wake a thread that waits in ``recv``;
shutting down the socket does. So every line remembers the sockets that its client has opened, one
call at a time uses it, and Stop or the deadline shuts them down.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from rag.reasoning.protocol import CancelToken

if TYPE_CHECKING:
    import httpx2

_MOST_IDLE = 4


class Line:
    """A client and the sockets it has opened."""

    def __init__(self, client: httpx2.Client) -> None:
        self.client = client
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        self._dead = False
        client.event_hooks = {"request": [self._watch], "response": []}

    def _watch(self, request: httpx2.Request) -> None:
        request.extensions = {**request.extensions, "trace": self._trace}

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        if not event.endswith(("connect_tcp.complete", "start_tls.complete")):
            return
        opened = info["return_value"].get_extra_info("socket")
        if not isinstance(opened, socket.socket):
            return
        with self._lock:
            self._sockets = [item for item in self._sockets if item.fileno() >= 0]
            self._sockets.append(opened)
            dead = self._dead
        if dead:
            _shut_down(opened)

    def hang_up(self) -> None:
        """End all traffic at once; a thread that waits for data gets an error. For good."""
        with self._lock:
            self._dead = True
            sockets = list(self._sockets)
        for item in sockets:
            _shut_down(item)

    def close(self) -> None:
        """Release the client and its connections."""
        self.client.close()


def _shut_down(item: socket.socket) -> None:
    # The plain socket's method: that of an SSL socket would pull the session away from the thread
    # that is reading through it.
    with contextlib.suppress(OSError):
        socket.socket.shutdown(item, socket.SHUT_RDWR)


class Hold:
    """The use of a line for one call. Afterwards a late cancel no longer reaches the line, which
    may serve another visitor by then."""

    def __init__(self, line: Line) -> None:
        self.client = line.client
        self.expired = False
        self.cut_off = False
        self.failed = False
        self._line: Line | None = line
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def start_clock(self, seconds: float) -> None:
        """Hang up after ``seconds`` unless ``stop_clock`` comes first."""
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.daemon = True
        self._timer.start()

    def stop_clock(self) -> None:
        """The reply has started (or ended): the deadline no longer applies."""
        if self._timer is not None:
            self._timer.cancel()

    def _expire(self) -> None:
        with self._lock:
            if self._line is not None:
                self.expired = True
        self.cut()

    def cut(self) -> None:
        """Hang up, if the call is still running."""
        with self._lock:
            if self._line is not None:
                self.cut_off = True
                self._line.hang_up()

    def release(self) -> None:
        """The call is over."""
        self.stop_clock()
        with self._lock:
            self._line = None


class LinePool:
    """Lines to one provider: a call takes one and gives it back with its connection still open,
    which saves the next call a handshake. Safe for several threads."""

    def __init__(self, make_client: Callable[[], httpx2.Client]) -> None:
        self._make_client = make_client
        self._idle: list[Line] = []
        self._lock = threading.Lock()
        self._closed = False

    @contextlib.contextmanager
    def take(self, cancel: CancelToken, seconds: float) -> Iterator[Hold]:
        """A line for one call, which ``cancel`` and the deadline of ``seconds`` hang up.

        A call that failed, was cut off or was not read to its end (``failed`` set, or the block
        left by an exception) closes the line: that is what ends the work upstream.
        """
        with self._lock:
            line = self._idle.pop() if self._idle else None
        line = line or Line(self._make_client())
        hold = Hold(line)
        done = False
        try:
            hold.start_clock(seconds)
            cancel.on_cancel(hold.cut)
            yield hold
            done = True
        finally:
            hold.release()
            healthy = done and not (hold.failed or hold.cut_off)
            with self._lock:
                keep = healthy and not self._closed and len(self._idle) < _MOST_IDLE
                if keep:
                    self._idle.append(line)
            if not keep:
                line.close()

    def close(self) -> None:
        """Close idle lines, and those in use once their call ends."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for line in idle:
            line.close()
