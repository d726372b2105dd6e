# A bare `make` lists the targets. `make check` is what CI runs, in this order.
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

# duckdb_arrow turns on the driver's Arrow results, which carry every answer.
export GOFLAGS := -buildvcs=false -tags=duckdb_arrow
export CGO_ENABLED := 1

# DuckDB links libstdc++. Debian's gcc comes with the library but without the name
# that the linker looks for, which is part of g++; the name is made here instead.
ifeq ($(shell uname -s) $(shell gcc -print-file-name=libstdc++.so),Linux libstdc++.so)
$(shell mkdir -p build/lib && ln -sf "$$(gcc -print-file-name=libstdc++.so.6)" build/lib/libstdc++.so)
export CGO_LDFLAGS := -g -O2 -L$(CURDIR)/build/lib
endif

LINT := go tool -modfile=tools/lint/go.mod golangci-lint
FUZZTIME ?= 20s
WORLDS ?= 500
QUESTIONS ?= 20000

# Packages with datadriven goldens know the flag -rewrite; scripts and whatever
# else is written down look at UPDATE_GOLDEN.
folders = $(sort $(patsubst %/,%,$(dir $(shell grep -rl --include='*_test.go' $(1) .))))
GOLDEN = $(call folders,cockroachdb/datadriven)
SCRIPTS = $(filter-out $(GOLDEN),$(call folders,UPDATE_GOLDEN))

help: ## list the targets
	@grep -hE '^[a-z][a-z-]*:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 16

build: ## build bin/plumbline
	go build -trimpath -o bin/plumbline ./cmd/plumbline

demo: build ## make the sample workspace, ask it as two people over MCP, show answers and a refusal
	bin/plumbline demo

serve: build ## make the sample workspace and serve it over HTTP until interrupted
	bin/plumbline demo --serve --listen 127.0.0.1:8765

test: ## run all tests
	go test ./...

check: fmt lint cue opa test golden-clean ## what CI runs: formats, lint, models, policies, tests and structure, goldens

fmt: ## fail if gofmt would change a file
	@out=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); [ -z "$$out" ] || { echo "gofmt would change:"; echo "$$out"; exit 1; }

lint: ## vet and lint; the first run builds the linter
	$(LINT) run ./...

cue: ## format and vet models and workspace with the stock cue command
	go tool cue fmt --check ./...
	go tool cue vet -c . ./models/...

opa: ## format, check and test the policies with the stock opa command
	go tool opa fmt --fail --list rego
	go tool opa check --strict --schema rego/schemas rego
	go tool opa test --fail-on-empty rego
	@out=$$(go tool opa test --coverage --threshold 100 rego) || { echo "$$out; see go tool opa test --coverage rego"; exit 1; }; \
		echo "$$out" | tail -4 | sed -nE 's/^  "(covered_lines|not_covered_lines|coverage)": ([0-9.]+),?$$/rego: \1 \2/p'

golden: ## write all goldens and the pages of docs/errors anew
	UPDATE_GOLDEN=1 go test $(GOLDEN) -rewrite
	$(if $(SCRIPTS),UPDATE_GOLDEN=1 go test $(SCRIPTS))

golden-clean: ## fail if writing the goldens anew changes a file
	@state() { git diff; git ls-files -o --exclude-standard; }; before=$$(state); $(MAKE) golden; \
	[ "$$before" = "$$(state)" ] || { echo "goldens are not current:"; git status --short; exit 1; }

bench: build ## measure the stages, whole questions against bare DuckDB, and MCP calls
	go run ./test/bench

scoreboard: ## ask every case and print right, refused and wrong by suite; CASES=DIR asks another folder
	go run ./test/scoreboard $(CASES)
	$(if $(CASES),,@out=$$(go test -count=1 -v ./test/scoreboard ./test/tpc -run 'TestRandomQuestions|TestKindsInPairs|TestMetricQuestionsAnswerAsTheQueries' 2>&1) || { echo "$$out"; exit 1; }; \
		echo "$$out" | sed -nE 's/^ *(kinds|random|metrics)_test\.go:[0-9]+: ([0-9]+ (answered|right)[^:]*)(, refused)?(:.*)?$$/\1: \2, 0 wrong/p')

postgres: ## hold the recorded answers of PostgreSQL 15 against a server of its own, installed where there is none
	tools/postgres.sh go run ./test/postgres

security: ## run every security suite and print cases, leaks and over-blocks; WRITE=1 writes docs/security.md
	go run ./test/security $(if $(WRITE),-write)

fuzz: ## compare random worlds with the oracle and with their twins, and run each fuzz target, for FUZZTIME (20s)
	RANDOM_SEEDS=1 go test ./test/scoreboard ./compiler/emit ./policy/rewrite ./policy/opa -count=1 -timeout 60m -rapid.checks=$(WORLDS)
	RANDOM_SEEDS=1 QUESTIONS=$(QUESTIONS) go test ./test/twins -run TestRandomQuestions -count=1 -timeout 60m
	@grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sort | while IFS=: read -r file name; do \
		go test "$$(dirname "$$file")" -run '^$$' -fuzz "^$${name#func }\$$" -fuzztime $(FUZZTIME) || exit 1; done

mutants: ## remove each check between a question and its answer; a test must notice
	go run ./test/mutation

.PHONY: help build demo serve test check fmt lint cue opa golden golden-clean bench scoreboard postgres security fuzz mutants
