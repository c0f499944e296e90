#!/usr/bin/env python
"""Print every setting: as .env.example or as a table for the documentation.

python scripts/describe_settings.py --env > .env.example
python scripts/describe_settings.py --markdown
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rag.reasoning.providers import known_providers
from rag.settings import Knob, describe_knobs

HEADER = """\
# Every setting with its default, made by: python scripts/describe_settings.py --env > .env.example
# Nothing here has to be set. Copy to .env and take the "#" off what you change:
#   bash scripts/run.sh          (reads .env by itself)
#   docker run --env-file .env …
"""

# Well-known names beside the settings tree; the keys come from the table of providers.
BARE_NAMES = (
    ("PORT", "7860", "Port that app.py listens on."),
    (
        "LLM_PROVIDER",
        "",
        "Short for RAG_REASONING__PROVIDER. Empty: the first provider below whose key is there, "
        "else the extractive reasoner, which needs none.",
    ),
)
OTHER_NAMES = (
    ("LLM_API_KEY", "", "Key of the server at RAG_REASONING__BASE_URL, if it asks for one."),
    ("LLM_FALLBACK_API_KEY", "", "Key of the server at RAG_REASONING__FALLBACK_BASE_URL."),
    ("LANGSMITH_TRACING", "", "true sends traces to LangSmith; off without it."),
    ("LANGSMITH_API_KEY", "", "Key for LangSmith."),
    ("COHERE_API_KEY", "", "Key for RAG_RERANKING__NAME=cohere."),
    ("OPENAI_BASE_URL", "", "Another address for the provider openai."),
    ("OPENAI_ORG_ID", "", "Organisation to bill at openai."),
    ("OPENAI_PROJECT_ID", "", "Project to bill at openai."),
)


def main() -> int:
    """Print one of the two forms."""
    parser = argparse.ArgumentParser(description="Print every setting.")
    form = parser.add_mutually_exclusive_group(required=True)
    form.add_argument("--env", action="store_true", help="as .env.example")
    form.add_argument("--markdown", action="store_true", help="as a table")
    arguments = parser.parse_args()
    print(env_example() if arguments.env else markdown_table(), end="")
    return 0


def env_example() -> str:
    """The text of ``.env.example``."""
    parts = [HEADER]
    parts += [env_entry(name, value, words) for name, value, words in BARE_NAMES]
    parts.append(heading("keys"))
    parts += [
        env_entry(row.key_variable, "", f"Key of {row.name}; its model is {row.default_model}.")
        for row in known_providers().values()
        if row.key_variable and row.base_url
    ]
    parts += [env_entry(name, value, words) for name, value, words in OTHER_NAMES]
    section = ""
    for knob in describe_knobs():
        own = knob.name.partition(".")[0] if "." in knob.name else "folders"
        if own != section:
            parts.append(heading(own))
            section = own
        parts.append(env_entry(knob.env, value_text(knob), f"{knob.description} {bounds(knob)}"))
    return "\n".join(parts)


def heading(name: str) -> str:
    """A line that sets a section apart."""
    return f"# ---- {name} ----\n"


def env_entry(name: str, value: str, words: str) -> str:
    """A variable that is commented out, below what it does."""
    lines = textwrap.wrap(words.strip(), width=96, break_long_words=False, break_on_hyphens=False)
    return "".join(f"# {line}\n" for line in lines) + f"#{name}={value}\n"


def value_text(knob: Knob) -> str:
    """The default as an environment variable holds it; empty when there is none."""
    default = knob.default
    if default is None or default == ():
        return ""
    if isinstance(default, bool | tuple):
        return json.dumps(default)
    return str(default)


def bounds(knob: Knob) -> str:
    """The allowed range with its unit, as a sentence of its own."""
    low, high = (number(value) for value in (knob.minimum, knob.maximum))
    if low and high:
        return f"From {low} to {high} {knob.unit}".rstrip() + "."
    if low:
        return f"At least {low} {knob.unit}".rstrip() + "."
    return f"At most {high} {knob.unit}".rstrip() + "." if high else ""


def number(value: float | None) -> str:
    """A bound without needless decimals."""
    return "" if value is None else f"{value:g}" if value < 1e6 else f"{value:.0f}"


def markdown_table() -> str:
    """All settings as a Markdown table."""
    rows = [
        "| Setting | Environment variable | Default | Range | With a question | What it does |",
        "|---|---|---|---|---|---|",
    ]
    for knob in describe_knobs():
        words = knob.description + (f" Source: {knob.source}." if knob.source else "")
        cells = (
            f"`{knob.name}`",
            f"`{knob.env}`",
            f"`{value_text(knob)}`" if value_text(knob) else "",
            range_text(knob),
            "yes" if knob.per_request else "",
            words,
        )
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def range_text(knob: Knob) -> str:
    """The range in a table's cell: ``60–400 wordpieces``."""
    low, high = number(knob.minimum), number(knob.maximum)
    ends = f"{low}–{high}" if low and high else f"≥ {low}" if low else f"≤ {high}" if high else ""
    return f"{ends} {knob.unit}".strip()


if __name__ == "__main__":
    sys.exit(main())
