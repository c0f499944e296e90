"""Intent: which questions never enter retrieval, decided by rules before any reasoner is asked."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from rag.errors import InvalidQuestionError
from rag.text_cleaning import clean_text

Kind = Literal["research", "catalogue", "smalltalk", "clarify"]

_GREETING = re.compile(
    r"(hi|hello|hey|yo|hola|good (morning|afternoon|evening|day)|greetings|howdy)( there| all)?"
)
_THANKS = re.compile(
    r"(thanks|thank you|thx|ty|cheers)( (so|very) much| a lot)?"
    r"|(good)?bye|see you"
    r"|ok(ay)?|cool|great|nice"
)
_ABOUT_SELF = re.compile(
    r"(who|what) are you"
    r"|what can you do"
    r"|what (is|does) this( (app|page|site|tool))?( do)?"
    r"|help( me)?"
    r"|how (do|does|can) (you|i use) (this|work)( (app|page|site|tool))?"
    r"|how are you( (doing|today))*"
    r"|are you (a |an )?(bot|human|ai)"
)
_EMPTY_TALK = re.compile(
    r"(and |but |so )?"
    r"(why|how|what|when|where|who|which"  # question words alone
    r"|really|yes|no|sure|and"  # fillers
    r"|more|go on|continue|tell me more|explain|elaborate)"  # asking for more of nothing
    r"( so| then| not| please)?"
)

GREETING_ANSWER = (
    "Hello. Ask a question about AI or machine-learning research and I will search the library of "
    "papers and show the page behind every claim."
)
SELF_ANSWER = (
    "I answer questions about AI and machine-learning research from a library of arXiv papers. "
    "I plan, search by meaning and by keyword, rerank, check whether the evidence holds the "
    "answer, and cite the page of every claim. When the library does not cover a question, I say "
    "so."
)
THANKS_ANSWER = "You are welcome. Ask another question whenever you like."
CLARIFY_ANSWER = (
    "What would you like to know? Please ask a whole question, for example “Which layers does "
    "LoRA adapt?”."
)


@dataclass(frozen=True)
class Intent:
    """What kind of input this is; ``answer`` is ready for the kinds that need no look-up."""

    kind: Kind
    answer: str = ""


def clean_question(text: object, longest: int) -> str:
    """The question as one clean line of text.

    Raises ``InvalidQuestionError`` with one line when it is no text, blank or too long.
    """
    if not isinstance(text, str):
        raise InvalidQuestionError("Please send the question as text.")
    # The length is checked first, so that a huge input costs nothing.
    if len(text) > longest:
        raise InvalidQuestionError(
            f"The question is too long: at most {longest:,} characters, this has {len(text):,}."
        )
    question = " ".join(clean_text(text).split())
    if not question:
        raise InvalidQuestionError("Please type a question.")
    return question


def detect_intent(question: str, *, has_history: bool) -> Intent:
    """Small talk, empty talk and input without words; everything else is for the planner."""
    if not any(unicodedata.category(char)[0] in "LN" for char in question):
        return Intent("clarify", CLARIFY_ANSWER)
    plain = re.sub(r"[^\w\s']", " ", question.casefold())
    plain = " ".join(plain.split())
    if _GREETING.fullmatch(plain):
        return Intent("smalltalk", GREETING_ANSWER)
    if _ABOUT_SELF.fullmatch(plain):
        return Intent("smalltalk", SELF_ANSWER)
    if _THANKS.fullmatch(plain):
        return Intent("smalltalk", THANKS_ANSWER)
    if (len(plain) < 2 or _EMPTY_TALK.fullmatch(plain)) and not (has_history and len(plain) > 2):
        return Intent("clarify", CLARIFY_ANSWER)
    return Intent("research")
