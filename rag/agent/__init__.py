"""The LangGraph agent: state, nodes, graph, events, citations."""
