.DEFAULT_GOAL := help
.PHONY: help install build run demo-traffic screenshots run-kube status validate test test-fast test-release test-clients bench check format lint generate verify contracts clean image release-dry-run dev-chain-image kind-up kind-down e2e e2e-disturb e2e-first-steps soak auth-token usage-suspend usage-resume usage-list usage-live store-copy lines chain-doctor

BIN := node_modules/.bin
NODE := $(BIN)/node
PAYMASTER := $(NODE) --no-warnings dist/bin/paymaster.js
# Of every server that signs (the chart has the same): a young generation that requests die in, a heap that grows by half
# between collections (V8 lets it more than double), and Node's own code on large pages where the machine has them.
SERVER_FLAGS := --max-semi-space-size=16 --heap-growing-percent=50 --use-largepages=silent

# Tests that paste commands set BUILT=1: they neither install nor compile what they themselves run from.
help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-15s %s\n", $$1, $$2}'

install: ## Install the pinned Node.js and dependencies (only when the lock file changed)
	@$(if $(BUILT),:,sh hack/install.sh)

build: install $(if $(BUILT),,dist/console/index.html) ## Compile everything to dist/
	@$(if $(BUILT),:,test -d dist/bin || echo 'Compiling: 2 of 3, operator and servers…')
	@$(if $(BUILT),:,PATH="$(CURDIR)/$(BIN):$$PATH" tsc -b)
	@$(if $(BUILT),:,test -d dist/bin || echo 'Compiling: 3 of 3, programs…')
	@$(if $(BUILT),:,$(NODE) hack/programs.mjs)

dist/console/index.html: package-lock.json $(shell find console -type f) | install
	@test -d dist/bin || echo 'Compiling: 1 of 3, console…'
	@PATH="$(CURDIR)/$(BIN):$$PATH" vite build --config console/vite.config.mjs --logLevel warn

run: build ## Start a dev chain, operator and server, apply examples/quickstart, print what to call next (BUNDLER=1: a bundler, too)
	@$(if $(filter 1,$(BUNDLER)),sh hack/bundler/install.sh)
	@exec $(NODE) --no-warnings $(SERVER_FLAGS) dist/bin/standalone.js

demo-traffic: ## With `make run` in another terminal: as many operations as a small DApp has in an hour, in MINUTES (1)
	@$(NODE) --no-warnings hack/demo/traffic.mjs

screenshots: build ## Take the pictures of docs/console.md anew
	@$(NODE) --no-warnings hack/demo/screenshots.mjs

run-kube: build ## The same on a local Kubernetes API: operator, dashboard and three RPC replicas as processes, with PostgreSQL
	@exec hack/run-kube

status: build ## Resources, limits with use, deposits and the last refusals of the running instance (JSON=1)
	@$(PAYMASTER) status $(if $(JSON),-o json)

validate: build ## Judge manifests as the operator would (FILES="…", WITH="…": what exists already, JSON=1, DEV=1)
	@$(PAYMASTER) validate $(if $(JSON),-o json) $(if $(DEV),--dev) $(foreach path,$(WITH),--with $(path)) $(FILES)

chain-doctor: build ## Compare the Chain of a manifest with a node, and print the YAML to change (FILE=…, URL=…)
	@PAYMASTER_RPC_URL='$(URL)' $(PAYMASTER) chain doctor $(FILE)

test: build ## Run every test that needs no second machine (ONLY="kube/rules spec": files and folders below test/)
	@sh hack/components.sh --system
	@$(NODE) test/run.mjs --only='$(ONLY)'

test-fast: build ## Run the tests that start no process (under a minute)
	@$(NODE) test/run.mjs --fast --only='$(ONLY)'

test-release: build ## Run the tests that only a release needs: its files, an upgrade from the last, every document's commands, a made-up variant
	@sh hack/components.sh
	@$(NODE) test/run.mjs --release --only='$(ONLY)'

test-clients: build ## Published clients and a bundler against the running server (LATEST=1: the newest; CLIENT=viem: one of them)
	@$(NODE) test/clients/run.mjs

bench: build ## Measure sponsor path, PostgreSQL, propagation, cold starts and memory against their limits (half an hour; SHORT=1: see in minutes whether every part works)
	@$(if $(SHORT),sh hack/components.sh)
	@$(NODE) --no-warnings dist/test/bench/main.js $(if $(SHORT),--short)

format: install ## Format the sources
	@$(BIN)/prettier --log-level warn --write .

lint: build ## Lint with type information
	@$(BIN)/oxlint --type-aware

generate: build ## Write crds/, contracts/artifacts/, NOTICE, llms.txt, console/src/answers.ts, the dev chain's part of examples/quickstart/, what is rendered from charts/
	@$(NODE) contracts/build.mjs
	@$(NODE) dist/operator/generate.js
	@$(NODE) dist/standalone/generate-quickstart.js
	@$(NODE) hack/charts/generate.mjs
	@$(NODE) hack/console-answers.mjs
	@$(NODE) hack/licences.mjs
	@$(NODE) hack/llms.mjs
	@$(NODE) dist/test/architecture/record-patterns.js

contracts: install ## Compile the Solidity sources
	@$(NODE) contracts/build.mjs

verify: build ## Fail when a generated file is not current, or something ships under a licence that is not on the list
	@$(NODE) contracts/build.mjs --check
	@$(NODE) dist/operator/generate.js --check
	@$(NODE) dist/standalone/generate-quickstart.js --check
	@$(NODE) hack/charts/generate.mjs --check
	@$(NODE) hack/console-answers.mjs --check
	@$(NODE) hack/licences.mjs --check
	@$(NODE) hack/llms.mjs --check

check: install ## Format check, lint, build, generated files current, tests
	@$(BIN)/prettier --log-level warn --check .
	@$(MAKE) --no-print-directory lint verify test

lines: install ## Print how large product, tests and documentation are; fail when a folder of the product is above its figure in hack/lines.json
	@$(NODE) hack/lines.mjs

clean: ## Remove build output (keeps .paymaster/, the standalone data)
	@rm -rf dist clients/viem/dist test-results bench-results

IMAGE ?= paymaster-operator:dev
DEV_CHAIN_IMAGE ?= paymaster-dev-chain:dev
KIND ?= kind
KIND_CLUSTER ?= paymaster

auth-token: build ## Print a new token of the dashboard API and its hash (NAME, EXPIRES_AT)
	@$(PAYMASTER) token $(NAME) $(if $(EXPIRES_AT),--expires-at $(EXPIRES_AT))

usage-suspend: build ## Stop signing in the usage store itself (CHAIN, ID: paymasterId, chain or contract:0x…)
	@$(PAYMASTER) suspend --direct "$(CHAIN)" "$(ID)"

usage-resume: build ## Undo usage-suspend
	@$(PAYMASTER) unsuspend --direct "$(CHAIN)" "$(ID)"

usage-list: build ## Show what is suspended in the usage store on chain CHAIN
	@$(PAYMASTER) suspension list "$(CHAIN)"

usage-live: build ## Show how many signed operations of each contract of chain CHAIN can still be mined
	@$(PAYMASTER) promise list "$(CHAIN)"

store-copy: build ## Move the embedded store of the data directory FROM to the PostgreSQL of PAYMASTER_DATABASE_URL
	@$(PAYMASTER) store copy "$(FROM)"

release-dry-run: build ## Make every file of a release in OUT (default release/), without publishing any (TAG: must fit the version)
	@$(NODE) hack/release/make.mjs $(or $(OUT),release) $(TAG)

image: ## Build the container image with Docker (IMAGE: its name)
	@docker build --tag $(IMAGE) .

dev-chain-image: ## Build the image of the dev chain alone, for a trial in a cluster
	@docker build --target dev-chain --tag $(DEV_CHAIN_IMAGE) .

kind-up: image dev-chain-image ## Create a local cluster with kind (needs Docker and kind) and load the images
	@sh hack/kind/up.sh $(KIND) $(KIND_CLUSTER) $(IMAGE) $(DEV_CHAIN_IMAGE)

kind-down: ## Delete that cluster
	@$(KIND) delete cluster --name $(KIND_CLUSTER)

e2e: build ## Install the charts on the current cluster and drive them (IMAGE, LOAD_IMAGE, CHAIN_HOST; see hack/e2e.sh)
	@IMAGE=$(IMAGE) sh hack/e2e.sh

e2e-disturb: build ## The same cluster: keys changed on chain, PostgreSQL away, Secrets deleted, each under load (twenty minutes)
	@IMAGE=$(IMAGE) sh hack/e2e.sh disturb

e2e-first-steps: build ## The commands of docs/first-steps-kubernetes.md on an empty cluster, timed (both images on its nodes)
	@sh hack/first-steps.sh

STEPS ?= 1000000
CHAIN_STEPS ?= 50000
RULE_STEPS ?= 1000000

soak: build ## Fault and random tests at full length, with a new seed, for hours (STEPS, CHAIN_STEPS, RULE_STEPS, MINUTES=60: stop then, ONLY=part); needs no cluster
	@sh hack/components.sh
	@PAYMASTER_TEST_STEPS=$(STEPS) PAYMASTER_TEST_CHAIN_STEPS=$(CHAIN_STEPS) PAYMASTER_TEST_RULE_STEPS=$(RULE_STEPS) $(NODE) test/soak.mjs $(if $(MINUTES),--minutes=$(MINUTES)) $(if $(ONLY),--only='$(ONLY)')
