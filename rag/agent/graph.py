"""The graph: planner, retriever, grader, reformulator, synthesizer, verifier, responder."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph

from rag.agent.grader import after_grader, grader_node
from rag.agent.nodes import after_reformulator, planner_node, reformulator_node, responder_node
from rag.agent.retriever import retriever_node
from rag.agent.state import AgentContext, AgentState
from rag.agent.synthesizer import synthesizer_node
from rag.agent.verifier import verifier_node
from rag.settings import Settings


def build_graph(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Any:
    """The compiled graph; its context is an ``AgentContext``, its state an ``AgentState``.

    The app needs no ``checkpointer``; with one, each question must have a thread of its own.
    """
    graph = StateGraph(AgentState, context_schema=AgentContext)
    graph.add_node("planner_node", planner_node)
    graph.add_node("responder_node", responder_node)
    graph.add_node("retriever_node", retriever_node)
    graph.add_node("grader_node", grader_node)
    graph.add_node("reformulator_node", reformulator_node)
    graph.add_node("synthesizer_node", synthesizer_node)
    graph.add_node("verifier_node", verifier_node)
    graph.add_edge(START, "planner_node")
    graph.add_conditional_edges(
        "planner_node",
        lambda state: "retriever_node" if state["route"] == "answer" else "responder_node",
        ["retriever_node", "responder_node"],
    )
    graph.add_edge("responder_node", END)
    graph.add_edge("retriever_node", "grader_node")
    graph.add_conditional_edges(
        "grader_node", after_grader, ["synthesizer_node", "reformulator_node"]
    )
    graph.add_conditional_edges(
        "reformulator_node", after_reformulator, ["retriever_node", "synthesizer_node"]
    )
    graph.add_edge("synthesizer_node", "verifier_node")
    graph.add_edge("verifier_node", END)
    return graph.compile(checkpointer=checkpointer)


def recursion_limit(settings: Settings) -> int:
    """Steps that the longest allowed loop takes, with a margin; the pass counter ends it first."""
    return 6 + 3 * settings.agent.max_passes


def fresh_state(question: str) -> AgentState:
    """The state at the start of a question; nothing of an earlier one is in it."""
    return AgentState(
        original_query=question,
        is_compound=False,
        sub_queries=[],
        all_sub_queries=[],
        accumulated_context=[],
        context_sufficient=False,
        missing_elements=[],
        retry_count=0,
        final_answer="",
        citations=[],
        pool=[],
    )
