"""Questions with known answers, metrics, and runners for the scripts."""
