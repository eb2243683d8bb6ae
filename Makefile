# Targets and their variables; `make help` prints both. Variables follow the target, such as
# make report PROFILE=full.
## PROFILE=quick    report: quick (about five minutes), full, parallel, mpi, cuda, gf256, course or figures
## LANG_REPORT=en   report: language of the report, en or zh
## OUT=report       report, bench-peers, bench-full, bench-hosts, check-report: the folder
## RESUME=          report, bench-peers: any value continues the records in OUT; empty replaces them
## MPI=auto         build, report, bench-peers, bench-full, test, lint, vet: openmpi or mpich, no without, yes with one of them, auto if one is installed
## CUDA=auto        build, report, bench-peers, bench-full, lint, vet: yes with bin/gemm-cuda, no without, auto if there is a CUDA toolkit or a driver
## DEPS=yes         report, peers, bench-peers, bench-full, test, hosts, lint, vet, deps, slow-tests, check-report: no installs nothing
## ONLY=            slow-tests: some of them, such as ONLY="width gonum"; CONTRIBUTING.md says what each is
## SYSTEMS=all      cross, dist: some of their systems, such as SYSTEMS="linux/arm64 darwin/arm64"
## FUZZTIME=30s     fuzz: how long each target runs
## PREFIX=/usr/local  install, uninstall: where gemm is used
## DESTDIR=         install, uninstall: put in front of PREFIX where files are written, to make packages
## GO=go            the Go command
PROFILE  ?= quick
OUT      ?= report
LANG_REPORT ?= en
RESUME   ?=
ONLY     ?=
MPI      ?= auto
CUDA     ?= auto
DEPS     ?= yes
SYSTEMS  ?= all
FUZZTIME ?= 30s
PREFIX   ?= /usr/local
DESTDIR  ?=
GO       ?= go
export MPI CUDA DEPS GO PREFIX DESTDIR

SCRIPTS := .ci/run $(wildcard scripts/*.sh examples/*/*.sh examples/*/*.sbatch)

# Includes staticcheck. It is installed outside of this module, so that its imports are not ours.
# The first installation takes one to three minutes.
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# The packages with files for the tag mpi; go vet and golangci-lint read these once more.
MPI_PACKAGES = $(shell grep -rlE --include='*.go' '^//go:build .*\bmpi\b' cmd compare internal mpi | xargs -n 1 dirname | sort -u | sed 's|^|./|')

# The revision is added for the records, unless git is missing or does not trust the owner of the
# folder; go build would fail then.
VCS := -buildvcs=$(shell git rev-parse HEAD >/dev/null 2>&1 && echo true || echo false)

# Pure Go without MPI. Evaluated in the recipe, after make deps. What make builds has no symbols for debuggers
# (-ldflags=-s), which traces and profiles of Go do not need; go build keeps them.
BUILD = $(shell MPI=$(MPI) GO=$(GO) scripts/mpi.sh build)

# The packages with files for the tag cuda, and a command on them if they can be compiled.
CUDA_PACKAGES := ./cmd/gemm-cuda ./cuda/device
with_cuda = @flags="$$(scripts/cuda.sh)" || exit 1; [ "$$flags" = no ] || { eval "export $$flags"; set -x; $(1); }

.DEFAULT_GOAL := help
.PHONY: help report test sanitize hosts slow-tests build lib install uninstall dist wheel python-test deps lint vet cross generate docs bench bench-blas bench-rs peers bench-peers bench-full bench-hosts fuzz check-report clean

help: ## list the targets and the variables
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@sed -n 's/^## /  /p' $(MAKEFILE_LIST)

report: deps build ## measure every way to multiply that this host can run, and write report/report.html
	bin/gemm compare --profile $(PROFILE) --lang $(LANG_REPORT) --out $(OUT) $(if $(RESUME),--resume,--force)
	@echo "The report is $(OUT)/report.html, for a browser, and $(OUT)/report.tex, for xelatex; every row is in report-appendix."

# scripts/test.sh describes which packages run under the race detector.
test: ## run every test: plain, under the race detector, and with every instruction set of this host; list the slowest
	@scripts/deps.sh run test
	scripts/test.sh

hosts: deps build ## run every variant on 2 and 3 hosts made of this one (needs root), cut one off, and submit the examples to Slurm
	@scripts/deps.sh test hosts
	scripts/hosts-test.sh
	scripts/slurm.sh test

sanitize: ## run every rung on the GPU under NVIDIA's checkers of addresses, races, barriers and uninitialised memory
	@scripts/sanitize.sh

# CONTRIBUTING.md says what each of these checks is.
SLOW := test lint generated width neon cgocheck gonum kernels oldest-nvrtc cuda-headers systems dist open-mpi-5 mpich race hosts libgemm netlib scipy rename paths install fuzz grade
.PHONY: $(addprefix slow-,$(SLOW))
slow-tests: $(addprefix slow-,$(or $(ONLY),$(SLOW))) ## run the checks that .ci/run leaves out, or ONLY some of them

slow-test slow-lint slow-hosts slow-fuzz: slow-%: %

slow-generated:
	git diff --exit-code --stat
	$(MAKE) generate
	git diff --exit-code --stat

slow-width:
	@[ "$$(uname -m)" = x86_64 ] || { echo "slow-tests: width needs x86-64, and this is $$(uname -m)" >&2; exit 1; }
	GEMM_TEST_REQUIRE= GOARCH=386 CGO_ENABLED=0 $(GO) test -short . ./gf256 ./blas ./internal/block ./internal/kernel ./internal/tuned ./cuda ./mpi/plan
	GOARCH=386 CGO_ENABLED=0 $(GO) test -short -run 'TestUnaligned|TestFor$$|TestChunks' ./parallel ./pool

NEON = GOARCH=arm64 CGO_ENABLED=0 GEMM_CPU=neon GEMM_TEST_REQUIRE= $(GO)
slow-neon:
	$(GO) test -C internal/kernel/_asm -count=1 ./neon
	$(NEON) vet ./internal/kernel/... ./internal/peak
	$(NEON) test -short -count=1 -exec qemu-aarch64-static -v -run '^TestNEON$$' ./internal/kernel | grep -- '--- PASS: TestNEON'
	$(NEON) test -short -exec qemu-aarch64-static ./internal/kernel ./internal/peak ./internal/block ./gf256
	$(NEON) test -short -exec qemu-aarch64-static -run '^Test[DZ][a-z0-9]*$$' ./blas
	$(NEON) test -short -exec qemu-aarch64-static -run '^TestVariants$$/^serial$$/^packed$$' ./serial

slow-cgocheck:
	GEMM_TEST_CONFORMANCE=all CGO_ENABLED=1 GOEXPERIMENT=cgocheck2 $(GO) test -tags mpi ./mpi ./mpi/comm

slow-gonum:
	scripts/gonum-tests.sh

slow-kernels:
	GEMM_TEST_KERNELS=all GEMM_NVRTC="$$(scripts/nvrtc.sh)" $(GO) test -count=1 -run 'Test(Timeline)?Kernels|TestCandidatesCompile' ./cuda

slow-oldest-nvrtc:
	GEMM_TEST_KERNELS=all GEMM_NVRTC="$$(scripts/nvrtc.sh 11)" $(GO) test -count=1 ./cuda/...

slow-cuda-headers:
	@for version in 11 12 13; do \
		flags="$$(CUDA=yes scripts/cuda.sh $$version)" || exit 1; \
		(set -x; eval "$$flags $(GO) build -buildvcs=false -tags cuda -o bin/cuda-headers ./cmd/gemm-cuda") || exit 1; \
		objdump -p bin/cuda-headers | grep 'NEEDED *libcuda.so.1' || exit 1; \
	done; rm -f bin/cuda-headers

slow-systems:
	@for system in darwin/arm64 windows/amd64 linux/arm64 linux/riscv64 linux/386 freebsd/amd64; do \
		(export GOOS=$${system%/*} GOARCH=$${system#*/} CGO_ENABLED=0; set -x; $(GO) vet ./... && $(GO) build ./...) || exit 1; \
	done
	GOOS=js GOARCH=wasm $(GO) build . ./blas ./lapack ./gf256 ./half ./rs ./shard

EMULATED = qemu-aarch64-static -L /usr/aarch64-linux-gnu bin/dist/gemm-*-linux-arm64/gemm
slow-dist:
	$(MAKE) dist SYSTEMS="linux/amd64 linux/arm64"
	cd bin/dist && sha256sum -c SHA256SUMS && for archive in *.tar.gz; do tar -xzf $$archive || exit 1; done
	bin/dist/gemm-*-linux-amd64/gemm --version | grep '^gemm version v'
	$(EMULATED) info >bin/dist/info && grep '^instructions *neon;' bin/dist/info && grep '^packed f64 *neon' bin/dist/info
	$(EMULATED) list >/dev/null
	$(EMULATED) serial --sizes 64 --time 20ms --reps 3 --json bin/dist/rows.json
	$(EMULATED) report --in bin/dist/rows.json --out bin/dist/report

slow-race:
	CGO_ENABLED=1 $(GO) test -race ./compare/grade

slow-mpich:
	@scripts/deps.sh run test
	scripts/test.sh mpich

slow-open-mpi-5:
	scripts/openmpi5.sh

slow-libgemm:
	scripts/lib-test.sh

slow-netlib:
	@scripts/deps.sh lib
	GEMM_TEST_NETLIB="$${GEMM_TEST_NETLIB:-https://github.com/Reference-LAPACK/lapack}" $(GO) test -count=1 -v -run TestNetlib ./lib

slow-scipy: lib
	@scripts/deps.sh python
	python3 -m venv .cache/scipy
	.cache/scipy/bin/pip install -q --disable-pip-version-check numpy==2.4.6 scipy==1.17.1 pytest==9.2.0 hypothesis==6.170.17
	LD_PRELOAD=$(CURDIR)/bin/lib/libgemm.so .cache/scipy/bin/python -m pytest -q -p no:cacheprovider --pyargs numpy.linalg scipy.linalg

slow-paths:
	GEMM_NVRTC="$$(scripts/nvrtc.sh)" scripts/paths-test.sh

slow-rename:
	scripts/rename-test.sh

slow-grade:
	GEMM_TEST_GRADE="$${GEMM_TEST_GRADE:-5}" $(GO) test -count=1 -timeout 3h -v -run TestGradeStable ./cmd/gemm

slow-install: build lib
	@scripts/deps.sh install
	scripts/install-test.sh

build: ## build bin/gemm, with MPI if it is installed, and bin/gemm-cuda if CUDA is
	$(BUILD) $(VCS) -ldflags=-s -o bin/ ./cmd/gemm
	@rm -f bin/gemm-cuda
	$(call with_cuda,$(GO) build -tags cuda $(VCS) -ldflags=-s -o bin/ ./cmd/gemm-cuda)

lib: ## build bin/lib/libgemm.so, the library for programs in C and other languages; its header is lib/gemm.h
	scripts/lib.sh bin/lib/libgemm.so $(VCS)

# Under sudo nothing is built, so that no file of the user's becomes root's.
install: $(if $(SUDO_USER),,build) ## build, and install gemm, libgemm, the manual page and the completion of shells in PREFIX
	@[ -n "$$SUDO_USER" ] || scripts/lib.sh bin/lib/libgemm.so $(VCS) || rm -f bin/lib/libgemm.so*
	@scripts/install.sh

uninstall: ## remove what make install has put into PREFIX
	@scripts/install.sh uninstall

dist: ## build gemm for SYSTEMS (linux/amd64, linux/arm64, darwin/arm64, windows/amd64), and pack it into bin/dist
	$(GO) run ./cmd/dist $(SYSTEMS:all=linux/amd64 linux/arm64 darwin/arm64 windows/amd64)

wheel: ## build bin/gemm_suite-….whl, the Python package with libgemm in it, by pip
	@scripts/deps.sh python
	@rm -f bin/gemm_suite-*.whl
	python3 -m pip wheel -q --disable-pip-version-check --no-deps -w bin ./python

python-test: wheel ## check the Python package: its format and types, and its tests on the wheel
	scripts/python-test.sh

deps: ## name the system packages that are missing, and install them as root or by password-less sudo (DEPS=no: skip)
	@scripts/deps.sh run

lint: vet ## check as make vet does, and by golangci-lint, also with MPI and with CUDA if they are installed
	CGO_ENABLED=0 GOBIN="$$PWD/bin/lint" $(GO) install $(GOLANGCI)
	bin/lint/golangci-lint run ./...
	@if [ "$$(scripts/mpi.sh)" != no ]; then eval "export $$(scripts/mpi.sh env)"; set -x; bin/lint/golangci-lint run --build-tags mpi $(MPI_PACKAGES); fi
	$(call with_cuda,bin/lint/golangci-lint run --build-tags cuda $(CUDA_PACKAGES))

vet: ## check format, words and go vet, also with MPI and with CUDA if they are installed, and the scripts
	@scripts/deps.sh lint
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "gofmt -w is due for: $$unformatted" >&2; exit 1; }
	scripts/words.sh
	$(GO) vet ./...
	@if [ "$$(scripts/mpi.sh)" != no ]; then eval "export $$(scripts/mpi.sh env)"; set -x; $(GO) vet -tags mpi $(MPI_PACKAGES); fi
	$(call with_cuda,$(GO) vet -tags cuda $(CUDA_PACKAGES))
	@for script in $(SCRIPTS); do bash -n $$script || exit 1; done
	@if command -v shellcheck >/dev/null; then set -x; shellcheck $(SCRIPTS); else echo "lint: shellcheck is not installed; the scripts are not checked" >&2; fi

cross: ## check the types of every package and test for SYSTEMS: macOS, Windows, FreeBSD, Linux on other processors; of libraries for wasm
	GOGC=400 GEMM_TEST_SYSTEMS="$(SYSTEMS)" $(GO) test -count=1 -vet=off -run '^TestSystems$$' .

generate: ## generate the generated code again
	$(GO) generate ./...

docs: ## render the pages of docs/, the tables of the READMEs and results/README.md from the records in results/
	$(GO) run ./cmd/pages

bench-rs: build ## measure gemm rs on files in memory, next to klauspost/reedsolomon and par2 -> rs.json
	scripts/rs-bench.sh

bench: ## run the Go benchmarks
	$(GO) test -run '^$$' -bench . ./...

peers: ## fetch MKL, OpenBLAS and libxsmm into bin/peers, where bin/gemm finds them
	@scripts/deps.sh peers
	scripts/peers.sh

bench-blas: ## measure blas and lapack next to gonum -> blas.bench.txt
	for round in 1 2 3; do \
		$(GO) test -run '^$$' -bench '^Benchmark(Small|Vectors|Complex|Mat)$$' -benchtime 30ms ./blas ./lapack || exit; \
	done >blas.bench.txt

bench-full: deps build ## measure the comparison of docs/full, on 16 cores and a GPU in 45 minutes, and render it
	OUT=$(OUT) scripts/full.sh
	$(GO) run ./cmd/pages -pack results/full.json.gz $(OUT)/full/results.json
	$(MAKE) docs

bench-peers: deps build peers ## measure us and other libraries interleaved, and render docs/peers
	bin/gemm compare --profile peers --out $(OUT) $(if $(RESUME),--resume,--force)
	$(GO) run ./cmd/pages -pack results/peers.json.gz $(OUT)/results.json
	$(MAKE) docs

bench-hosts: deps build ## measure 2 hosts made of this one (needs root), and render docs/hosts and docs/hosts-1gbit
	scripts/hosts-bench.sh $(OUT)
	for name in hosts hosts-1gbit; do $(GO) run ./cmd/pages -pack results/$$name.json.gz $(OUT)/$$name.json || exit; done
	$(MAKE) docs

fuzz: ## run every fuzz target for FUZZTIME
	scripts/fuzz.sh $(FUZZTIME)

check-report: ## compile OUT/report.tex with xelatex and look at OUT/report.html in a headless browser
	@scripts/deps.sh report
	scripts/check-report.sh $(OUT)

clean: ## remove what was built here; reports and their records stay
	rm -rf bin
