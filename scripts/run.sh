#!/usr/bin/env bash
# Start the app: makes .venv with the pinned requirements when needed, then serves on 7860 (or PORT).
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/environment.sh requirements.txt
exec .venv/bin/python app.py
