# Adaptive RAG as an ordinary user (uid 1000). Nothing is downloaded at start; all that is written
# at run time lies under /data, and under /tmp. Build and run:
#   docker build -t adaptive-rag .
#   docker run -p 7860:7860 -v adaptive-rag:/data adaptive-rag
FROM python:3.11-slim

# Wheels only: the image has no compiler, and needs none.
COPY requirements.txt constraints.txt /app/
RUN pip install --no-cache-dir --disable-pip-version-check --only-binary :all: \
      -r /app/requirements.txt

ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    RAG_DATA_DIR=/data \
    RAG_SERVING__HOST=0.0.0.0 \
    PORT=7860 \
    HF_HOME=/tmp/huggingface \
    GRADIO_TEMP_DIR=/tmp/gradio \
    GRADIO_ANALYTICS_ENABLED=0 \
    ORT_DISABLE_TELEMETRY=1

WORKDIR /app
COPY app.py LICENSE ./
COPY rag rag
COPY corpus corpus
COPY scripts scripts
RUN chmod -R a+rX . \
    && python -m compileall -q app.py rag \
    && useradd --uid 1000 --user-group --no-create-home --home-dir /tmp app \
    && install -d -o 1000 -g 1000 /data

USER 1000
# The starter library as an index, ready before the first start. An empty volume is no harm: the
# app builds it again, in seconds and without a network.
RUN python -c "from rag.engine import Engine; Engine.open().close()"

VOLUME /data
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 CMD ["python", "-c", \
  "import http.client, os; c = http.client.HTTPConnection('127.0.0.1', int(os.environ.get('PORT') or 7860), timeout=4); c.request('GET', '/health'); raise SystemExit(c.getresponse().status != 200)"]
CMD ["python", "app.py"]
