"""From a query to ranked, judged passages."""
