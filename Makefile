# The profile that the interpreter's loop and the hook are compiled with. It is
# passed here, and not found by a plain go build, because it doubles the time of
# a cold build.
PROFILE := test/bench/hook.pgo
BIN     := bin

.PHONY: help
help: ## Print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: test
test: prerequisites ## Check everything: vet, staticcheck, all tests under the race detector
	go vet ./...
	go tool staticcheck ./...
	go test -race -timeout 20m ./...

.PHONY: test-long
test-long: prerequisites ## The same comparisons and fuzz targets, for much longer
	go test -timeout 60m ./runtime/compile -run TestRandomProgramsAgreeWithLua -programs 100000

.PHONY: prerequisites
prerequisites: ## Install what the tests need besides Go (root on Debian), or say what to install
	@sh test/prerequisites.sh

.PHONY: sim
sim: ## Repeat one simulated world of the locks: make sim SEED=42
	go test -count=1 -v ./test/sim -run 'TestSeeds$$' -seed $(SEED)

.PHONY: build
build: ## Build bin/tidelock with the profile
	go build -pgo=$(PROFILE) -trimpath -o $(BIN)/tidelock ./cmd/tidelock

.PHONY: bench
bench: ## Run the benchmarks side by side and print ratios
	go run -pgo=$(PROFILE) ./test/bench

.PHONY: profile
profile: ## Record the profile again
	go run -pgo=off ./test/bench -profile $(PROFILE)

.PHONY: generate
generate: ## Write generated data again
	go generate ./...
