#!/usr/bin/env bash
# All checks and tests: bash scripts/test.sh. With arguments only pytest, on what they name:
# bash scripts/test.sh tests/ui -k stop
# With CI=true or RAG_REQUIRE_ALL_TESTS=1 a skipped test that needs Chromium or the papers fails.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/environment.sh requirements-dev.txt
echo "== environment: ready after $SECONDS s"

marks=()
if [ "${CI:-}" = true ] || [ "${RAG_REQUIRE_ALL_TESTS:-}" = 1 ]; then
  marks=(--require-marks)
fi
unset RAG_REQUIRE_ALL_TESTS # the app refuses RAG_ variables that are no settings

failed=()
# Run one part, print what it took, and go on: one run shows everything that is wrong.
part() {
  local name="$1" began=$SECONDS result=passed
  shift
  echo "== $name"
  "$@" || { result=failed; failed+=("$name"); }
  echo "== $name: $result in $((SECONDS - began)) s"
}

tests() {
  .venv/bin/python -m pytest -p tests.required_marks ${marks[@]+"${marks[@]}"} "$@"
}

if [ $# -eq 0 ]; then
  part "ruff check" .venv/bin/python -m ruff check .
  part "ruff format" .venv/bin/python -m ruff format --check .
  part mypy .venv/bin/python -m mypy
fi
part pytest tests "$@"

if [ ${#failed[@]} -gt 0 ]; then
  echo "failed: ${failed[*]}" >&2
  exit 1
fi
