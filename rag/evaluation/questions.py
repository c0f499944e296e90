"""Questions with known answers: the one question file that every evaluation reads."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from rag.errors import InvalidSettingError

Category = Literal[
    "fact", "paraphrase", "number", "short", "comparison", "near_miss", "out_of_scope"
]
ANSWERABLE = frozenset({"fact", "paraphrase", "number", "short", "comparison"})


class Question(BaseModel):
    """One question: gold papers with the pages that answer it, and facts a right answer holds.

    ``facts`` are groups of accepted spellings: one of each group must occur. ``split`` keeps the
    half used for tuning apart from the half that is reported.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    question: str
    category: Category
    split: Literal["tune", "report"]
    papers: tuple[str, ...] = ()
    pages: dict[str, tuple[int, ...]] = {}
    facts: tuple[tuple[str, ...], ...] = ()
    answer: str = ""

    @property
    def answerable(self) -> bool:
        """Whether some paper of the library answers it."""
        return self.category in ANSWERABLE


def read_questions(path: Path, split: str = "all") -> list[Question]:
    """The questions of one half, or "all"; raises ``InvalidSettingError`` naming a bad line."""
    questions: list[Question] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            question = Question.model_validate_json(line)
        except ValidationError as error:
            raise InvalidSettingError(f"Line {number} of {path.name} is no question.") from error
        if split in ("all", question.split):
            questions.append(question)
    return questions
