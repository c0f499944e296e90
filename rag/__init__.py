"""Adaptive RAG: questions about AI/ML research, answered from papers, with evidence."""

__version__ = "0.1.0"
