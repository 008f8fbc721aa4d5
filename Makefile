# PROFILE is the profile that the interpreter's loop and the hook are compiled
# with. Builds here pass it explicitly: a plain go build does not find it,
# because it doubles the time of a cold build.
PROFILE := test/bench/hook.pgo
BIN     := bin
# What the programs answer to "which version".
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
VERSION_FLAG := -X github.com/tidelock-lua/tidelock/cmd/internal/build.version=$(VERSION)

.PHONY: help
help: ## Print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: test
test: test-deps ## Check everything: go.mod, vet, staticcheck, all tests under the race detector
	go mod tidy -diff
	go vet ./...
	go tool staticcheck ./...
	go test -race -timeout 45m ./...

.PHONY: test-long
test-long: test-deps ## Compare 100,000 programs (PROGRAMS) with lua5.1, fuzz each target for 5m (FUZZTIME)
	go test -count=1 -v -timeout 4h ./runtime/compile -run 'TestRandomProgramsAgreeWithLua$$' -programs $(or $(PROGRAMS),100000)
	grep -rlE --include='*_test.go' '^func Fuzz' . | sort | while read -r file; do \
		for target in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9_]+).*/\1/p' "$$file"); do \
			go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(or $(FUZZTIME),5m) "$$(dirname "$$file")" || exit 1; \
		done; \
	done

.PHONY: test-deps
test-deps: ## Install what the tests need besides Go (root on Debian), or say what to install
	@sh test/deps.sh

# The former name of test-deps.
.PHONY: prerequisites
prerequisites: test-deps

.PHONY: sim
sim: ## Repeat one simulation of the locks: make sim SEED=42
	go test -count=1 -v ./test/sim -run 'TestSeeds$$' -seed $(SEED)

.PHONY: sim-long
sim-long: ## Run a million simulations of the locks, or SEEDS of them
	go test -count=1 -v -timeout 24h ./test/sim -run 'TestSeeds$$' -seeds $(or $(SEEDS),1000000) -progress 10000

.PHONY: build
build: ## Build bin/tidelock with the profile
	go build -pgo=$(PROFILE) -trimpath -ldflags "$(VERSION_FLAG)" -o $(BIN)/tidelock ./cmd/tidelock

.PHONY: bootstrap
bootstrap: ## Build bin/bootstrap-*.zip for AWS Lambda (FUNCTION=folder adds its files)
	for arch in arm64 amd64; do \
		GOOS=linux GOARCH=$$arch CGO_ENABLED=0 go build -pgo=$(PROFILE) -trimpath -ldflags "-s -w $(VERSION_FLAG)" \
			-o $(BIN)/bootstrap-$$arch ./cmd/bootstrap && \
		go run ./cmd/bootstrap/pack $(BIN)/bootstrap-$$arch.zip $(BIN)/bootstrap-$$arch $(FUNCTION) || exit 1; \
	done

.PHONY: image
image: ## Build the container image tidelock:VERSION
	docker build --build-arg VERSION=$(VERSION) -t tidelock:$(VERSION) .

.PHONY: bench
bench: test-deps ## Run the benchmarks side by side and print ratios
	go run -pgo=$(PROFILE) ./test/bench

.PHONY: bench-page
bench-page: test-deps ## Run the benchmarks and rewrite the tables of docs/benchmarks.md
	go run -pgo=$(PROFILE) ./test/bench -page docs/benchmarks.md

.PHONY: interrupts
interrupts: ## Measure how late each call is interrupted, and write docs/interrupts.md
	go run -pgo=$(PROFILE) ./test/interrupts -page docs/interrupts.md

.PHONY: profile
profile: ## Record the profile again
	go run -pgo=off ./test/bench -profile $(PROFILE)

.PHONY: generate
generate: ## Write generated data again
	go generate ./...
