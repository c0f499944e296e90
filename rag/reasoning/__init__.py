"""The four thinking steps (plan, grade, reformulate, write), with and without a model."""
