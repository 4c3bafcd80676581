# The bot alone. Mount the folder of your agents' module at /agents.

FROM python:3.11-slim AS build
COPY requirements.txt /build/
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir --require-hashes --only-binary :all: \
        -r /build/requirements.txt
COPY bot /app/bot
COPY engine /app/engine
COPY notifiers /app/notifiers
# The root is read-only when it runs, so nothing could be compiled then.
RUN python -m compileall -q /app \
    && install -d -m 0700 -o 65532 -g 65532 /empty

FROM python:3.11-slim
ENV PATH=/venv/bin:$PATH \
    PYTHONPATH=/app \
    PYTHONDONTWRITEBYTECODE=1 \
    HOLDSHORT_HOST=0.0.0.0 \
    HOLDSHORT_PORT=8787 \
    HOLDSHORT_STORE_URL=sqlite:////data/holdshort.db
COPY --from=build /venv /venv
COPY --from=build /app /app
COPY --from=build --chown=65532:65532 /empty /data
USER 65532:65532
WORKDIR /agents
VOLUME /data
EXPOSE 8787
STOPSIGNAL SIGTERM
# No proxy may stand between a process and itself.
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "from urllib.request import ProxyHandler, build_opener; build_opener(ProxyHandler({})).open('http://127.0.0.1:8787/readyz', timeout=4)"]
ENTRYPOINT ["python", "-m", "bot"]
CMD ["serve"]
