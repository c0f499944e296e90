#!/usr/bin/env bash
# Start the app: makes .venv with the pinned requirements when needed, then serves on 7860 (or PORT).
# Settings and keys in .env (see .env.example) are read when the file is there.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/environment.sh requirements.txt
if [ -f .env ]; then
  set -a
  source .env
  set +a
fi
exec .venv/bin/python app.py
