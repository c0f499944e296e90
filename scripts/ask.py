#!/usr/bin/env python
"""Ask one question, or a file of them, in a terminal.

python scripts/ask.py "Which layers does LoRA adapt?" [--json] [--index DIR]
python scripts/ask.py --batch QUESTIONS.jsonl [--index DIR] > RESULTS.jsonl
"""

from __future__ import annotations

import argparse
import io
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rag.engine import Engine
from rag.errors import RagError
from rag.results import AskRequest, Result
from rag.settings import load_settings
from rag.terminal import describe_event, describe_result


def main() -> int:
    """Answer and print; 0 when every question got a result, 2 when the app cannot start."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("question", nargs="?", help="the question")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--batch", type=Path, help="JSON lines with a question each; - for stdin")
    parser.add_argument("--index", type=Path, help="folder of a built index")
    parser.add_argument("--reasoner", choices=["llm", "extractive"], default="")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of this question, e.g. retrieval.keep=6",
    )
    arguments = parser.parse_args()
    if (arguments.question is None) == (arguments.batch is None):
        parser.error("give a question or --batch FILE")
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    try:
        values = {"index": arguments.index} if arguments.index else {}
        engine = Engine.open(load_settings(**values))
        overrides = dict(parse_setting(item) for item in arguments.set)
    except RagError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if arguments.batch:
        try:
            for line in batch_lines(arguments.batch):
                result = ask_line(engine, line, arguments.reasoner, overrides)
                print(result.model_dump_json(), flush=True)
        except OSError as error:
            print(f"error: {error.strerror}: {arguments.batch}", file=sys.stderr)
            return 2
        return 0
    request = AskRequest(
        question=arguments.question, reasoner=arguments.reasoner, settings=overrides
    )
    return print_one(engine, request, as_json=arguments.json)


def parse_setting(text: str) -> tuple[str, float | int | bool | str]:
    """``"retrieval.keep=6"`` -> its name and a typed value."""
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def batch_lines(path: Path) -> Iterator[str]:
    """The non-empty lines of a file or of standard input."""
    with sys.stdin if str(path) == "-" else path.open(encoding="utf-8-sig") as stream:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
        yield from (line for line in stream if line.strip())


def ask_line(engine: Engine, line: str, reasoner: str, overrides: dict[str, object]) -> Result:
    """The result of one line; a line that is no request has the route "invalid"."""
    try:
        data = json.loads(line)
        fields = data if isinstance(data, dict) else {"question": data}
        # A question file may carry more than a request does.
        known = {key: fields[key] for key in AskRequest.model_fields if key in fields}
        request = AskRequest.model_validate({"settings": overrides, "reasoner": reasoner, **known})
    except (ValueError, RecursionError):
        # ValueError: no JSON, no request, or a number of thousands of digits.
        return Result(
            question=line.strip()[:200], route="invalid", answer="The line is no request."
        )
    return engine.ask(request)


def print_one(engine: Engine, request: AskRequest, *, as_json: bool) -> int:
    """Stream one question: JSON only, or the steps and then the answer with its sources."""
    if as_json:
        print(engine.ask(request).model_dump_json(indent=1))
        return 0
    result = None
    for event in engine.stream(request):
        if event is not None:
            line = describe_event(event)
            if line:
                print(line, file=sys.stderr)
            result = getattr(event.payload, "result", result)
    print(describe_result(result) if result else "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
