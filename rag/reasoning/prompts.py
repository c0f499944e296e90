"""Prompts: the Markdown files of the four steps, and how data is put into them safely."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rag.errors import RagError
from rag.reasoning.protocol import Evidence
from rag.results import TurnRecord

PROMPTS_DIR = Path(__file__).with_name("prompts")

#: What each prompt file must use: no more (a typo), no less (data silently left out).
VARIABLES: Mapping[str, frozenset[str]] = {
    "planner": frozenset({"max_queries", "history", "question"}),
    "grader": frozenset({"question", "parts", "passages"}),
    "reformulator": frozenset({"max_queries", "question", "missing", "tried", "found"}),
    "writer": frozenset({"history", "passages", "missing", "question"}),
}

NOTHING = "(none)"

_INPUT_MARK = "<!-- input -->"
_VARIABLE = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
# A "<" that would open or close one of our own delimiters, or a chat template's token: servers
# that run local models may read "<|im_start|>" or "</s>" in plain text as control tokens.
_LIVE_BRACKET = re.compile(
    r"[<＜](?=\s*/?\s*(?:passage|question|history|missing|tried|found|parts)s?\b"
    r"|/?(?:s|bos|eos|pad|think|start_of_turn|end_of_turn)>)",
    re.IGNORECASE,
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# Half a character: cannot be sent as UTF-8.
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_NUMBERS = r"\d{1,4}(?:\s*[,;–—-]\s*\d{1,4})*"
_REFERENCE = re.compile(rf"[\[【［]\s*({_NUMBERS})\s*[\]】］]")
_HISTORY_ANSWER_CHARACTERS = 700


class PromptError(RagError):
    """A prompt file is missing or does not fit the variables of its step."""

    code = "prompt_error"


@dataclass(frozen=True)
class Prompt:
    """One step's prompt: the rules (sent as system message) and the template of the data."""

    name: str
    rules: str
    data: str

    def render(self, values: Mapping[str, str]) -> tuple[str, str]:
        """System and user text with ``values`` filled in, in one pass, so that a ``{{name}}``
        inside the data stays what it is.

        Raises ``PromptError`` when a variable is unknown or missing.
        """
        wanted = VARIABLES[self.name]
        _compare(self.name, frozenset(values), wanted, "was given", "was not given")
        return _fill(self.rules, values), _fill(self.data, values)


def load_prompt(name: str, folder: Path = PROMPTS_DIR) -> Prompt:
    """The prompt ``name`` (planner, grader, reformulator, writer) from ``folder``.

    Raises ``PromptError`` for an unknown name, a missing file, a file without the line that parts
    rules from data, or one whose variables are not those of its step.
    """
    if name not in VARIABLES:
        raise PromptError(f"There is no prompt named {name!r}.")
    try:
        text = (folder / f"{name}.md").read_text(encoding="utf-8")
    except OSError:
        raise PromptError(f"The prompt file {name}.md cannot be read.") from None
    rules, mark, data = text.partition(_INPUT_MARK)
    if not mark:
        raise PromptError(f"The prompt {name}.md has no line {_INPUT_MARK!r}.")
    used = frozenset(_VARIABLE.findall(text))
    _compare(name, used, VARIABLES[name], "is used in", "is missing in")
    return Prompt(name=name, rules=rules.strip(), data=data.strip())


def _compare(
    name: str, have: frozenset[str], wanted: frozenset[str], extra: str, lacking: str
) -> None:
    for variable in sorted(have - wanted):
        raise PromptError(f"The prompt {name}.md has no variable {variable!r}, but it {extra}.")
    for variable in sorted(wanted - have):
        raise PromptError(f"The prompt {name}.md needs the variable {variable!r}; it {lacking}.")


def _fill(template: str, values: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda match: values[match[1]], template)


def as_data(text: str) -> str:
    """``text`` so that nothing in it can close a delimiter of ours or act as a control token.

    Reads the same for a human: a bracket becomes its typographic twin, "<|" gets a space.
    """
    clean = _CONTROL.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))
    clean = _SURROGATE.sub("\ufffd", clean)
    return _LIVE_BRACKET.sub("‹", clean).replace("<|", "< |").replace("|>", "| >")


def neutral_references(text: str) -> str:
    """Bracket numbers of a paper's own reference list, told apart from our ``[n]``.

    "[12]" becomes "(ref 12)" and "[1, 3]" "(refs 1, 3)". A pair that starts with 0 is an interval
    ("scores in [0, 1]") and keeps its meaning as "[0.0, 1.0]".
    """
    return _REFERENCE.sub(_neutral, text)


def _neutral(match: re.Match[str]) -> str:
    numbers = match[1]
    if re.match(r"0+\b", numbers):
        return "[" + re.sub(r"\d+", lambda digit: f"{digit[0]}.0", numbers) + "]"
    return f"(ref {numbers})" if numbers.isdigit() else f"(refs {numbers})"


def render_passages(evidence: Iterable[Evidence]) -> str:
    """The passages as delimited data, each with its own number, title and pages."""
    blocks = []
    for item in evidence:
        pages = _pages(item.pages)
        where = f' pages="{pages}"' if pages else ""
        title = f"{item.title} ({', '.join(item.names)})" if item.names else item.title
        body = neutral_references(as_data(item.text)).strip()
        blocks.append(
            f'<passage n="{item.n}" title="{_attribute(title)}"{where}>\n{body}\n</passage>'
        )
    return "\n\n".join(blocks) or NOTHING


def _attribute(text: str) -> str:
    flat = " ".join(neutral_references(as_data(text)).split())
    return flat.replace('"', "'").replace("<", "‹").replace(">", "›")


def _pages(pages: tuple[int, ...]) -> str:
    if not pages:
        return ""
    first, last = min(pages), max(pages)
    return str(first) if first == last else f"{first}-{last}"


def render_history(history: Iterable[TurnRecord]) -> str:
    """Earlier turns, oldest first. Their citations are left out: those numbers belonged to other
    passages."""
    turns = []
    for record in history:
        answer = re.sub(rf"\s*{_REFERENCE.pattern}", "", record.answer)
        if len(answer) > _HISTORY_ANSWER_CHARACTERS:
            answer = answer[:_HISTORY_ANSWER_CHARACTERS].rstrip() + " …"
        turns.append(f"Visitor: {as_data(record.question)}\nAnswer: {as_data(answer)}")
    return "\n\n".join(turns) or NOTHING


def render_list(items: Iterable[str]) -> str:
    """Short texts as one Markdown list."""
    return "\n".join(f"- {' '.join(as_data(item).split())}" for item in items) or NOTHING
