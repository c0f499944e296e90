"""A scripted arXiv over real HTTP on 127.0.0.1, for tests of everything that fetches.

    with StubArxiv([entry("2301.00001", "A Title", "Text.")], {"2301.00001": pdf_bytes("text")}) as stub:
        stub.at(3, too_many(2), down(), down())  # the third request and the two after it
        stub.on("/pdf/2301.00001", refused())    # the next request of that path
        ...  # stub.api_url, stub.pdf_url
        assert stub.paths == [...]

A fault is a function from the proper answer to the answer that is sent. ``Handler`` faults (slow,
drip, reset) are fields of ``Answer``. ``snapshot_line`` writes the facts of an entry as the
Kaggle-format snapshot has them.
"""

from __future__ import annotations

import contextlib
import json
import re
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape

from rag.selection.polite_client import Clock


@dataclass(frozen=True)
class Entry:
    """The facts of one paper; ``versions`` is how many there are."""

    paper_id: str
    title: str
    abstract: str = "We study it."
    authors: tuple[str, ...] = ("Ann Ray", "Bo Lim")
    categories: tuple[str, ...] = ("cs.LG", "cs.CL")
    published: str = "2023-01-03T10:11:12Z"
    versions: int = 1
    comment: str | None = None


@dataclass(frozen=True)
class Answer:
    """What is sent. ``promised`` is a Content-Length that may be a lie; a ``drip`` is the pause
    after each byte; ``reset`` breaks the connection, after the headers when ``sent`` is given."""

    body: bytes = b""
    status: int = 200
    content_type: str = "application/atom+xml; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)
    promised: int | None = None
    delay: float = 0.0
    drip: float = 0.0
    reset: bool = False
    sent: int | None = None


Fault = Callable[[Answer], Answer]


@dataclass
class Seen:
    """One request; ``bytes_sent`` of the body were taken by the client."""

    path: str
    query: dict[str, str]
    agent: str
    began: float
    ended: float = 0.0
    bytes_sent: int = 0


class StubArxiv:
    """The server; ``seen`` tells what it was asked, ``most_connections`` how many were open."""

    def __init__(
        self,
        entries: Iterable[Entry] = (),
        pdfs: Mapping[str, bytes] | Path | None = None,
        page_cap: int = 2000,
    ) -> None:
        self.entries = list(entries)
        self.pdfs = pdfs if pdfs is not None else {}
        self.page_cap = page_cap
        self.seen: list[Seen] = []
        self.most_connections = 0
        self.stopping = threading.Event()
        self._by_number: dict[int, Fault] = {}
        self._by_path: dict[str, list[Fault]] = {}
        self._always: dict[str, Fault] = {}
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    def __enter__(self) -> StubArxiv:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        with self._lock:
            open_ones = list(self._connections)
        for connection in open_ones:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._server.server_close()
        self._thread.join(5)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def api_url(self) -> str:
        return f"{self.base_url}/api/query"

    @property
    def pdf_url(self) -> str:
        return f"{self.base_url}/pdf"

    @property
    def environ(self) -> dict[str, str]:
        """The settings that make scripts ask this server, without waiting."""
        return {
            "RAG_FETCHING__API_URL": self.api_url,
            "RAG_FETCHING__PDF_URL": self.pdf_url,
            "RAG_FETCHING__SECONDS_BETWEEN_CALLS": "0",
            "RAG_FETCHING__FIRST_WAIT_SECONDS": "0",
        }

    @property
    def paths(self) -> list[str]:
        return [seen.path for seen in self.seen]

    @property
    def pdfs_asked(self) -> list[str]:
        """The ids (with versions) of the PDFs asked for, in order."""
        return [path.removeprefix("/pdf/") for path in self.paths if path.startswith("/pdf/")]

    @property
    def queries(self) -> list[dict[str, str]]:
        """The queries of the calls to the API, in order."""
        return [seen.query for seen in self.seen if seen.path == "/api/query"]

    def at(self, number: int, *faults: Fault) -> None:
        """Misbehave at a request (the first is 1) and at those after it."""
        self._by_number |= {number + place: fault for place, fault in enumerate(faults)}

    def on(self, path: str, *faults: Fault) -> None:
        """Misbehave at the next requests of a path."""
        self._by_path.setdefault(path, []).extend(faults)

    def always(self, path: str, fault: Fault) -> None:
        """Misbehave at every request of a path from now on."""
        self._always[path] = fault

    def heal(self) -> None:
        """Behave."""
        self._by_number, self._by_path, self._always = {}, {}, {}

    def answer(self, seen: Seen) -> Answer:
        with self._lock:
            self.seen.append(seen)
            fault = self._by_number.pop(len(self.seen), None)
            if fault is None and self._by_path.get(seen.path):
                fault = self._by_path[seen.path].pop(0)
            fault = fault or self._always.get(seen.path)
        proper = self._proper(seen)
        return fault(proper) if fault else proper

    def _proper(self, seen: Seen) -> Answer:
        if seen.path == "/api/query":
            return Answer(self._feed(seen.query).encode())
        if seen.path.startswith("/pdf/"):
            return self._pdf(seen.path.removeprefix("/pdf/"))
        return Answer(b"not here", 404, "text/plain")

    def _feed(self, query: Mapping[str, str]) -> str:
        start = int(query.get("start", "0"))
        size = min(int(query.get("max_results", "10")), self.page_cap)
        if "id_list" in query:
            ids = [re.sub(r"v\d+$", "", name) for name in query["id_list"].split(",")]
            found = [entry for name in ids for entry in self.entries if entry.paper_id == name]
        else:
            found = [entry for entry in self.entries if _found_by(entry, query["search_query"])]
        return feed(found[start : start + size], len(found), start)

    def _pdf(self, name: str) -> Answer:
        bare = re.sub(r"v\d+$", "", name)
        if isinstance(self.pdfs, Path):
            path = self.pdfs / f"{bare.replace('/', '_')}.pdf"
            body = path.read_bytes() if path.is_file() else None
        else:
            body = self.pdfs.get(name, self.pdfs.get(bare))
        if body is None:
            return Answer(b"<html>No such paper</html>", 404, "text/html")
        return Answer(body, content_type="application/pdf")

    def opened(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.add(connection)
            alive = sum(not _hung_up(other) for other in self._connections)
            self.most_connections = max(self.most_connections, alive)

    def closed(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.discard(connection)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = True

    def __init__(self, stub: StubArxiv) -> None:
        self.stub = stub
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, *_: object) -> None:
        """A client that went away is no news here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.stub.opened(self.connection)

    def finish(self) -> None:
        self.server.stub.closed(self.connection)
        super().finish()

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        seen = Seen(parts.path, query, self.headers.get("User-Agent", ""), time.monotonic())
        answer = self.server.stub.answer(seen)
        try:
            self._send(answer, seen)
        except OSError:
            self.close_connection = True
        finally:
            seen.ended = time.monotonic()

    def _send(self, answer: Answer, seen: Seen) -> None:
        if self._stopped_during(answer.delay) or (answer.reset and answer.sent is None):
            return self._reset()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        promised = len(answer.body) if answer.promised is None else answer.promised
        self.send_header("Content-Length", str(promised))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        body = answer.body[: answer.sent]
        step = 1 if answer.drip else 65_536
        for start in range(0, len(body), step):
            self.wfile.write(body[start : start + step])
            seen.bytes_sent = start + step
            if answer.drip and self._stopped_during(answer.drip):
                return self._reset()
        if answer.reset:
            return self._reset()
        self.close_connection = self.close_connection or promised != len(answer.body)
        return None

    def _stopped_during(self, seconds: float) -> bool:
        """Wait; True as soon as the server stops or the client has closed its side."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self.server.stub.stopping.is_set():
                return True
            readable, _, _ = select.select([self.connection], [], [], min(left, 0.02))
            if readable and _hung_up(self.connection):
                return True
        return False

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True


def _hung_up(connection: socket.socket) -> bool:
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def _found_by(entry: Entry, query: str) -> bool:
    phrase = re.search(r'ti:"([^"]*)"', query)
    categories = re.findall(r"cat:([\w.-]+)", query)
    assert phrase, "the query has no phrase"
    wanted = r"\W+".join(map(re.escape, phrase[1].split()))
    text = f"{entry.title} {entry.abstract}"
    return bool(re.search(rf"\b{wanted}s?\b", text, re.IGNORECASE)) and (
        not categories or not set(categories).isdisjoint(entry.categories)
    )


def feed(entries: Iterable[Entry], total: int, start: int = 0) -> str:
    """An answer of the API, its texts broken over lines and indented as arXiv's are."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<feed xmlns="http://www.w3.org/2005/Atom">\n'
        "  <title>ArXiv Query</title><id>http://arxiv.org/api/x</id>\n"
        '  <opensearch:totalResults xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">'
        f"{total}</opensearch:totalResults>\n"
        '  <opensearch:startIndex xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">'
        f"{start}</opensearch:startIndex>\n" + "".join(map(atom_entry, entries)) + "</feed>\n"
    )


def atom_entry(entry: Entry) -> str:
    """One entry; a blank in a text is now and then a line break."""
    comment = f"<arxiv:comment>{escape(entry.comment)}</arxiv:comment>" if entry.comment else ""
    authors = "".join(f"<author><name>{escape(name)} </name></author>\n" for name in entry.authors)
    categories = "".join(
        f'<category term="{name}" scheme="http://arxiv.org/schemas/atom"/>'
        for name in entry.categories
    )
    return (
        '<entry xmlns:arxiv="http://arxiv.org/schemas/atom">\n'
        f"<id>http://arxiv.org/abs/{entry.paper_id}v{entry.versions}</id>\n"
        f"<updated>2024-05-05T00:00:00Z</updated><published>{entry.published}</published>\n"
        f"<title>{_broken(entry.title, 20)}</title>\n"
        f"<summary>  {_broken(entry.abstract, 80)}\n</summary>\n{authors}{comment}\n"
        f'<arxiv:primary_category term="{entry.categories[0]}"/>{categories}\n</entry>\n'
    )


def _broken(text: str, width: int) -> str:
    lines = [""]
    for word in text.split(" "):
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return escape("\n  ".join(lines))


def snapshot_line(entry: Entry) -> str:
    """The same facts as a line of the metadata snapshot."""
    created = format_datetime(datetime.fromisoformat(entry.published), usegmt=True)
    return json.dumps(
        {
            "id": entry.paper_id,
            "title": entry.title,
            "abstract": entry.abstract,
            "categories": " ".join(entry.categories),
            "authors_parsed": [[*reversed(name.rsplit(" ", 1)), ""] for name in entry.authors],
            "comments": entry.comment,
            "versions": [
                {"version": f"v{number}", "created": created}
                for number in range(1, entry.versions + 1)
            ],
        }
    )


def pdf_bytes(text: str) -> bytes:
    """What ``stub_extract`` reads as a paper and what begins as a PDF does."""
    return f"%PDF-1.5 {text}".encode()


# Faults.


def too_many(retry_after: object = None) -> Fault:
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return lambda _: Answer(b"Rate exceeded.", 429, "text/plain", headers)


def down(status: int = 503, retry_after: object = None) -> Fault:
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return lambda _: Answer(b"<html>down</html>", status, "text/html", headers)


def refused(status: int = 403) -> Fault:
    return lambda _: Answer(b"<html>Access denied</html>", status, "text/html")


def missing() -> Fault:
    return refused(404)


def empty_page(total: int = 500) -> Fault:
    return lambda _: Answer(feed([], total).encode())


def error_entry(message: str) -> Fault:
    text = feed([], 1).replace(
        "</feed>",
        "<entry><id>http://arxiv.org/api/errors#incorrect_query</id><title>Error</title>"
        f"<summary>{escape(message)}</summary></entry></feed>",
    )
    return lambda _: Answer(text.encode())


def web_page(text: str = "Welcome") -> Fault:
    body = f"<!DOCTYPE html>\n<html><body>{text}</body></html>".encode()
    return lambda _: Answer(body, content_type="text/html")


def captcha() -> Fault:
    return web_page("Are you a robot? <form>captcha</form>")


def sends(body: bytes, content_type: str = "application/pdf") -> Fault:
    return lambda _: Answer(body, content_type=content_type)


def cut_off() -> Fault:
    """Half of the body, promised as if it were all."""
    return lambda proper: replace(proper, body=proper.body[: len(proper.body) // 2])


def broken_off() -> Fault:
    """Half of the promised body, then the connection ends."""
    half = cut_off()
    return lambda proper: replace(half(proper), promised=len(proper.body))


def reset(sent: int | None = None) -> Fault:
    return lambda proper: replace(proper, reset=True, sent=sent)


def slow(seconds: float) -> Fault:
    return lambda proper: replace(proper, delay=seconds)


def drip(seconds: float) -> Fault:
    return lambda proper: replace(proper, drip=seconds)


def redirect(to: str, status: int = 302) -> Fault:
    return lambda _: Answer(status=status, headers={"Location": to})


@dataclass
class FakeTime:
    """Time that passes only by sleeping and by ``pass_``."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def pass_(self, seconds: float) -> None:
        self.now += seconds

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    @property
    def clock(self) -> Clock:
        return Clock(now=lambda: self.now, sleep=self._sleep)
