# `make help` lists the targets. Override on the command line: CORES=2, PYTHON=python3.12, EXTRAS=cuda.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

CORES ?= all
CONFIG ?= config/config.yaml
EXTRAS ?=
ARGS ?=
BIN := .venv/bin
STAMP := .venv/.padir-stamp
TF_STAMP := .venv/.padir-tf-stamp
comma := ,
# TensorFlow has a lock of its own; other extras are solved when asked for.
EXTRAS_STAMP := $(if $(filter tf,$(EXTRAS)),$(TF_STAMP),$(if $(EXTRAS),.venv/.padir-stamp-$(subst $(comma),-,$(EXTRAS))))
# A changed lock takes away what it does not name: extras of earlier set-ups are installed again.
EARLIER := $(wildcard .venv/.padir-stamp-* $(TF_STAMP))

# The tested Python first; the lock holds the pins of newer ones too.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

.PHONY: help setup setup-slurm setup-browser reproduce test test-slow lint lock audit sbom docs bench

help: ## list these targets
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 14

setup: $(STAMP) $(EXTRAS_STAMP) $(EARLIER) ## create .venv with the locked packages and padir itself

$(STAMP): requirements.lock pyproject.toml
	@if [ -z "$(PYTHON)" ]; then \
	  echo "make setup: error: no Python 3.11 or newer with venv was found; install one or set PYTHON=/path/to/python3.11" >&2; exit 2; fi
	@$(PYTHON) -c 'import sys; sys.version_info[:2] == (3, 11) or print("note: Python 3.11 is the tested one; this is", sys.version.split()[0], "with newer jax: numbers may differ slightly")'
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv .venv
	@sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > .venv/uv.txt
	@[ -x $(BIN)/uv ] || $(BIN)/python -m pip install --quiet --require-hashes --no-deps -r .venv/uv.txt
	$(BIN)/uv pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-build-isolation --no-deps -e .
	@touch $@

.venv/.padir-stamp-%: $(STAMP)
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-build-isolation -c <(grep -E '^[a-z].*==' requirements.lock | sed 's/ *\\$$//') -e '.[$(subst -,$(comma),$*)]'
	@touch $@

# TensorFlow reads BLEURT's checkpoints and TFRecord files: the tests need it, a default run does not.
$(TF_STAMP): $(STAMP) requirements-tf.lock
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements-tf.lock
	@touch $@

setup-slurm: ## as root on Debian: install Slurm, which tests of its profile need
	@PATH="$$PATH:/usr/sbin"; if ! { command -v munged && command -v slurmctld && command -v slurmd; } > /dev/null; then \
	  command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ] || { \
	    echo "make setup-slurm: error: this takes root and apt-get; elsewhere install munge, slurmctld and slurmd by hand" >&2; exit 2; }; \
	  apt-get update -qq || true; \
	  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends slurm-wlm munge > /dev/null; fi

setup-browser: ## as root on Debian: install Chromium, which tests of pages need
	@if ! command -v chromium > /dev/null; then \
	  command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ] || { \
	    echo "make setup-browser: error: this takes root and apt-get; elsewhere install Chromium by hand" >&2; exit 2; }; \
	  apt-get update -qq || true; \
	  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium > /dev/null; fi

reproduce: setup ## make the core of CONFIG, show table 1, and say how to make everything
	PATH="$(CURDIR)/$(BIN):$$PATH" snakemake core --cores $(CORES) --configfile $(CONFIG) $(ARGS)
	@cat results/report/tables/table1.md
	@echo "report: $(CURDIR)/results/report/index.html"
	@echo "every other table and figure: source $(BIN)/activate && snakemake --cores $(CORES) --configfile $(CONFIG) everything"

test: setup $(TF_STAMP) ## run the tests, without whole runs, learning and fault injection
	PATH="$(CURDIR)/$(BIN):$$PATH" python -m pytest -q -n auto --dist worksteal -m "not slow" -rs --no-fold-skipped $(ARGS)

test-slow: setup $(TF_STAMP) ## run whole runs, learning and fault injection
	PATH="$(CURDIR)/$(BIN):$$PATH" python -m pytest -q -n auto --dist worksteal -m slow -rs --no-fold-skipped $(ARGS)

lint: setup ## formatters, linters and the type checker
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow/Snakefile rules
	$(BIN)/pyright

lock: setup ## solve both lock files again (ARGS=--upgrade for newer versions)
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
	  --extra test --extra cluster --extra docs $(ARGS) pyproject.toml --output-file requirements.lock
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["tf"], sep="\n")' \
	  | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
	  $(ARGS) --constraint requirements.lock - --output-file requirements-tf.lock
	@{ echo "# For conda users: the pins of requirements.lock; written by make lock."; \
	  printf 'name: padir\nchannels: [conda-forge]\ndependencies:\n  - python=3.11\n  - pip\n  - pip:\n'; \
	  grep -E '^[a-z0-9].*==' requirements.lock | sed 's/ *\\$$//; s/^/      - /'; \
	  echo '      - -e .'; } > environment.yml

# Tools of these two targets run in environments of their own, which uv makes and removes.
audit: setup ## look the locked packages up among known vulnerabilities (needs the network)
	@$(BIN)/uv tool run --isolated --quiet pip-audit==2.10.1 --strict --disable-pip --progress-spinner off \
	  -r requirements.lock -r requirements-tf.lock 2> .venv/audit.log && tail -n 1 .venv/audit.log || { \
	  grep '^Found .*vulnerabilit' .venv/audit.log >&2 && exit 1; \
	  echo "make audit: error: nothing was checked: the advisories or the tool cannot be reached, which needs the network ($$(tail -n 1 .venv/audit.log | cut -c 1-200))" >&2; exit 2; }

sbom: setup ## list the packages of both locks with their hashes as CycloneDX: results/sbom.json, results/sbom-tf.json
	@mkdir -p results
	@for lock in "" -tf; do $(BIN)/uv tool run --isolated --quiet --from cyclonedx-bom==7.5.0 cyclonedx-py requirements \
	  requirements$$lock.lock --pyproject pyproject.toml --output-reproducible --of JSON -o results/sbom$$lock.json \
	  2> .venv/sbom.log || { \
	  echo "make sbom: error: $$(tail -n 1 .venv/sbom.log | cut -c 1-200)" >&2; exit 2; }; \
	  echo results/sbom$$lock.json; done

docs: setup ## build the documentation as a site: results/site/index.html
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "site: $(CURDIR)/results/site/index.html"

bench: setup ## time decoders, training steps, their parts, samplers, and every trained model at batch 1; EXTRAS=bench for other translators
	PATH="$(CURDIR)/$(BIN):$$PATH" python benchmarks/speed.py --out results/bench/speed.json --compare benchmarks/speed.json
	PATH="$(CURDIR)/$(BIN):$$PATH" python benchmarks/roofline.py --speed results/bench/speed.json --out results/bench/roofline.svg
	PATH="$(CURDIR)/$(BIN):$$PATH" python benchmarks/scaling.py --out results/bench/scaling.json --picture results/bench/scaling.svg
	PATH="$(CURDIR)/$(BIN):$$PATH" python benchmarks/batches.py --out results/bench/batches.json --picture results/bench/batches.svg
	for script in breakdown levers start theory_samplers; do PATH="$(CURDIR)/$(BIN):$$PATH" python benchmarks/$$script.py || exit; done
	PATH="$(CURDIR)/$(BIN):$$PATH" snakemake --cores $(CORES) --configfile $(CONFIG) --forcerun measure_latency $(ARGS) -- latency
