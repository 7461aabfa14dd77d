# Every target sets up .venv first; set-up runs again only when the lock or this package's metadata changes.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
# Checks and formats the scripts of pages; from npm, by the hashes of package-lock.json.
BIOME := node_modules/.bin/biome
# The theme says at every start that its support ends; docs/project/successors.md says what comes then.
export NO_MKDOCS_2_WARNING := 1
# A test run has some hundred processes of Python: what one has compiled the others need not.
unexport PYTHONDONTWRITEBYTECODE

# Types are checked beside the tests, by a core that would wait, and told of after them.
WITH_TYPES = @mkdir -p .cache; $(BIN)/mypy >.cache/types.txt 2>&1 & types=$$!; \
    $(1); status=$$?; wait $$types || status=$$?; cat .cache/types.txt; exit $$status

# Without npm there is no Biome; then the scripts go unchecked, unless REQUIRE_BIOME is set, as in CI.
LINT = $(BIN)/ruff check && $(BIN)/ruff format --check && \
    if [ -x $(BIOME) ]; then $(BIOME) ci --error-on-warnings; \
    else echo "JavaScript was not checked: set-up found no npm"; test -z "$$REQUIRE_BIOME"; fi

.PHONY: serve test check format site wheel bench mutants proofs update picture pdf links translated chapter language lock clean

serve: $(READY)
	$(BIN)/mkdocs serve --livereload

# Several processes test: each with one thread, or they wait for each other.
test check: export OMP_NUM_THREADS := 1

test: $(READY)
	@$(LINT)
	$(call WITH_TYPES,$(BIN)/pytest -n auto --dist worksteal $(WITH))

check: $(READY)
	@$(LINT)
	$(call WITH_TYPES,$(BIN)/pytest -n auto --dist worksteal -m "not record and not site and not long" --hypothesis-profile=check)

site: $(READY)
	$(BIN)/mkdocs build

# The package as a wheel in dist/, checked as an index of packages would check it.
wheel: $(READY)
	$(BIN)/python -m attention_docs.site.publish.wheel dist
	$(BIN)/python -m pip install --disable-pip-version-check --quiet twine==7.0.0
	$(BIN)/twine check --strict dist/*

# Lay out Python and JavaScript as the checks want them, and mend what can be mended without asking.
format: $(READY)
	$(BIN)/ruff check --fix && $(BIN)/ruff format
	if [ -x $(BIOME) ]; then $(BIOME) check --write; fi

# Ratios of build and refresh times; nothing is asserted. Takes half an hour to an hour.
bench: $(READY)
	$(BIN)/python tests/bench.py
	$(BIN)/python tests/bench_live.py

# Put small faults into the mathematics, one at a time, and see whether a test fails ([tool.mutmut] in
# pyproject.toml). It can stop and go on. Some functions: make mutants WITH="attention_docs.softmax*";
# then `.venv/bin/mutmut browse` shows what no test has noticed.
mutants: $(READY)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet mutmut==3.8.1
	$(BIN)/mutmut run $(WITH)
	$(BIN)/mutmut results

# Let Coq check docs/proofs from nothing, and keep what it said: apt-get install coq libcoq-coquelicot
proofs: $(READY)
	$(BIN)/python -m attention_docs.site.proofs $(WITH)

# After numbers have changed and the change is meant: rewrite what the tests compare with.
update: $(READY)
	$(BIN)/mkdocs build -q -d .cache/site
	$(BIN)/python -m attention_docs.site.snapshots tests/outputs
	$(BIN)/python -m attention_docs.site.publish.moving_picture .cache/site docs/project/attention.svg

# The moving picture of README, from a chapter of the site.
picture: $(READY)
	$(BIN)/mkdocs build -q -d .cache/site
	$(BIN)/python -m attention_docs.site.publish.moving_picture .cache/site docs/project/attention.svg

# A PDF of each part in each language, printed by Chromium from a site that is built: make pdf SITE=site
SITE ?= site
pdf: $(READY)
	$(BIN)/python -m attention_docs.site.publish.pdf $(SITE)

# Ask every link to another site whether it still leads there, over the network; no build does.
links: $(READY)
	$(BIN)/python -m tests.links

# Show the sections of which the English text changed, with their translations, and stamp those that
# you confirm. Without a question: make translated PAGE=scaling, PAGE=zh/scaling, or ALL=1
translated: $(READY)
	$(BIN)/python -m attention_docs.site.read.confirm $(PAGE) $(if $(ALL),--all)

# Write everything that a new chapter needs, in all languages: make chapter NAME=low-rank, or with
# TITLE="Low-rank attention"
chapter: $(READY)
	$(BIN)/python -m attention_docs.site.scaffold.new_chapter "$(NAME)" $(if $(TITLE),--title "$(TITLE)")
	$(BIN)/python -m attention_docs.site.read.confirm "$(NAME)"
	$(MAKE) update

# Begin a language, or list what is missing in one that has begun: make language CODE=fr
language: $(READY)
	$(BIN)/python -m attention_docs.site.scaffold.new_language $(CODE)

# After a change of dependencies in pyproject.toml. Torch pins its own GPU libraries on Linux;
# a CPU build has none, so they stay out of the lock. Why torch stands apart, its file says.
lock: $(READY)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --prerelease disallow \
	    --fork-strategy fewest --no-annotate --no-header --upgrade --generate-hashes --extra dev \
	    pyproject.toml > .cache/all.lock
	awk '/^[^ ]/ { kept = !/^(attention-docs|-e|cuda-|nvidia-|triton|torch==)/ } kept' .cache/all.lock \
	    > requirements.lock
	{ grep '^#' requirements-torch.lock; grep -o '^torch==[^ ]*' .cache/all.lock; } > .cache/torch.lock
	mv .cache/torch.lock requirements-torch.lock

clean:
	rm -rf .venv .cache site mutants node_modules

$(READY): requirements.lock requirements-torch.lock pyproject.toml package-lock.json
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Python 3.11 or newer is needed, $$($(PYTHON) --version 2>&1) was found; try: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { echo "set-up failed: no virtual environment (on Debian: apt install python3-venv)" >&2; exit 1; }
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --require-hashes -r requirements.lock || \
	    { echo "set-up failed: requirements.lock could not be installed; pip's message is above, and what helps" \
	    "if it speaks of hashes is in docs/project/development.md" >&2; exit 1; }
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet -r requirements-torch.lock || \
	    { echo "set-up failed: requirements-torch.lock could not be installed; pip's message is above" >&2; exit 1; }
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation -e . || \
	    { echo "set-up failed: this package could not be installed; pip's message is above" >&2; exit 1; }
	@$(BIN)/python -m attention_docs.site.publish.runtime || \
	    { echo "set-up failed: REQUIRE_LIVE is set, and Python for the browser could not be brought; see above" >&2; exit 1; }
	@$(BIN)/python -m attention_docs.site.publish.models || \
	    { echo "set-up failed: REQUIRE_MODELS is set, and a language model could not be brought; see above" >&2; exit 1; }
	@if command -v npm >/dev/null; then npm ci --silent --ignore-scripts --no-audit --no-fund; else false; fi || \
	    { echo "JavaScript will not be checked: npm is missing, or has not brought Biome" >&2; test -z "$$REQUIRE_BIOME"; }
	@touch $@
