# One word per thing that a contributor does. Suites that need more than Rust say what is missing.

# The feature of the end-to-end tests is on everywhere, so that one build serves every step.
CARGO_TEST := cargo test --locked --workspace --features e2e
# Every folder of tests is a suite; that of the chart needs helm and the end-to-end one the control plane,
# which `make kube` builds: they come last. That of HTML reports needs a browser.
SUITES := $(filter-out browser chart e2e,$(patsubst tests/%/main.rs,%,$(wildcard tests/*/main.rs)))

.PHONY: demo test lint unit suites examples doc browser kube chart e2e plane histories installation peers versions mutants bench fuzz stress soak generate dist image release reproduce deny workflows

# The webhook denying and mutating, the controller binding, then a local disk cleaned between two tenants, without a cluster.
# ARGS=--serve keeps the webhook up.
demo:
	@# The first build takes minutes, in which cargo says what it does.
	cargo build --locked -p bindery-sim --bins
	@cargo run --locked --quiet -p bindery-sim -- $(ARGS)

# What each change has to pass, with the time that each step took. Left to the soak: browser, mutants, versions, and the full
# counts of histories, installation and peers.
test:
	@scripts/steps.sh lint unit suites examples doc kube chart e2e

# Format and lints; a warning is an error. And that the core can be published alone.
lint:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets --all-features -- -D warnings
	cargo package --locked --quiet -p bindery-core --no-verify --allow-dirty

# Tests beside the code: units and properties.
unit:
	$(CARGO_TEST) --lib --bins

# Tests of the whole: repository rules, pages, bytes on a socket, the simulated server, and the demonstration.
suites:
	$(CARGO_TEST) $(addprefix --test ,$(SUITES) demo)

# The examples in the documentation of the code.
examples:
	$(CARGO_TEST) --doc

# The documentation of the code, with what is private: it is for people who change it. A broken link
# is an error.
doc:
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --no-deps --document-private-items

# HTML reports in headless Chromium, which scripts/browser.sh fetches from Debian once, half a minute. Part of the soak: the rest
# needs no packages of the system.
browser:
	scripts/browser.sh
	$(CARGO_TEST) --test browser

# The control plane of the end-to-end tests, and the storage sidecars and the provisioner of local folders beside it: ten
# minutes once, then nothing.
kube:
	scripts/kube.sh plane
	scripts/kube.sh peers

# The Helm chart as helm renders it, and its alerts as Prometheus' engine evaluates them: that is built with
# Go, two minutes once.
chart: kube
	$(CARGO_TEST) --test chart

# Every case against a real etcd, kube-apiserver, kube-controller-manager and kube-scheduler. CASES=name
# picks some.
e2e: kube
	$(CARGO_TEST) --test e2e -- --strict $(CASES)

# A control plane of that kind to try things on, until it is interrupted: it prints what kubectl and helm need.
plane: kube
	$(CARGO_TEST) --test e2e -- --hold

# The histories of made-up clusters beside Kubernetes' own binder, random changes that check predicts, scenarios of
# storage beside the real controllers, the lives of local disks, moves of volumes, what takes minutes on a real server, and every rule by
# every requester, with the harm that its hazards do where Bindery is not installed: at their full count.
histories: kube
	$(CARGO_TEST) --test e2e -- --strict --full differential:: failures:: check:: node_loss:: storage_lifecycle:: local_disks:: moves:: no_false_denials:: denials::rules::

# An installation under load at its full counts: 200 restarts, 1,000 renewals of its certificate and 200 of its
# CA, outages of a minute. Twenty minutes.
installation: kube
	$(CARGO_TEST) --test e2e -- --strict --full installation::

# The storage sidecars of Kubernetes CSI, and Rancher's provisioner of local folders, beside Bindery and without it, at
# their full count: 300 disks, or folders, through each scenario and each setting.
peers: kube
	$(CARGO_TEST) --test e2e -- --strict --full provisioners::

# What depends on Kubernetes itself, on each version of it that tests/kube builds: rules, conditions, policies,
# controllers, chart and what check predicts. VERSIONS=1.34 picks some versions, CASES=name some cases;
# BINDERY_GENERATE=1 records what the versions answer and writes docs/reference/versions.md.
versions: export CASES := $(CASES)
versions: kube
	scripts/versions.sh $(VERSIONS)

# Bugs of other binders, put back one at a time: the simulation has to notice each. MUTANTS="01 08" picks
# some; BINDERY_GENERATE=1 writes the table of docs/reference/mutants.md.
mutants: export MUTANTS := $(MUTANTS)
mutants:
	scripts/mutants.sh

# The pure path alone; a review in instructions, stage by stage; the command line over large files; time and memory of up
# to a million pairs; the webhook against controller-runtime, nginx and a real API server; the bind loop against the in-tree
# binder and the bare load. Each row but those of the first has its floor (benches/floors.toml), and docs/performance.md
# shows it. BENCHES=binding SECTIONS="like named" picks some; PAIRS=100 ROUNDS=1 makes the races short and leaves the page
# as it is. A section whose programs are missing says what to install.
BENCHES := judge instructions cli growth webhook binding
bench: export BINDERY_BENCH_PAIRS := $(PAIRS)
bench: export BINDERY_BENCH_ROUNDS := $(ROUNDS)
bench: kube
	failed=0; for bench in $(BENCHES); do \
		cargo bench --locked --bench $$bench -- $(SECTIONS) || failed=1; \
	done; \
	test -n "$(PAIRS)$(ROUNDS)" || cargo bench --locked --bench performance || failed=1; \
	exit $$failed

# One decoder under cargo-fuzz, which looks for inputs by the code that they reach, until it is stopped or something
# breaks: make fuzz TARGET=review. Needs a nightly toolchain and cargo-fuzz; the same properties run with made
# inputs in `make suites`. What is found goes to fuzz/corpus, beside the small corpus of the tests.
fuzz:
	@cargo fuzz --version >/dev/null 2>&1 || { echo "cargo-fuzz is missing; cargo install cargo-fuzz, then retry." >&2; exit 2; }
	@test -d tests/fuzz/corpus/$(TARGET) -a -n "$(TARGET)" || { echo "TARGET=$(TARGET) is no decoder; name one of `ls tests/fuzz/corpus | xargs`." >&2; exit 2; }
	cp Cargo.lock fuzz/Cargo.lock
	mkdir -p fuzz/corpus/$(TARGET)
	DECODER=$(TARGET) cargo +nightly fuzz run decoder fuzz/corpus/$(TARGET) tests/fuzz/corpus/$(TARGET)

# Every suite twenty times beside a load of twice the cores, of which half are other suites: no run may fail. An hour.
# ROUNDS=2 makes it short, STRESSED="webhook simulation" picks suites. The end-to-end one is left out: it measures latencies, which a loaded machine does not have.
STRESSED := lib $(SUITES) demo chart
stress: ROUNDS := 20
stress: kube
	scripts/stress.sh $(ROUNDS) $(STRESSED)

# What the image is made of, into dist/.
dist:
	scripts/image/dist.sh

# The image, with docker, podman or buildah, whichever is there; and whether it is what it should be. IMAGE=NAME:TAG
# names it.
IMAGE := bindery:dev
image: dist
	scripts/image/build.sh $(IMAGE)

# The files of a release, into dist/release: make release VERSION=0.1.0. URL=… names the folder from which they will be
# fetched; WITHOUT_IMAGE=1 leaves the image out where no container engine is. What is missing is named with what to install.
release: export URL := $(URL)
release: export WITHOUT_IMAGE := $(WITHOUT_IMAGE)
release:
	@scripts/release/release.sh "$(VERSION)"

# The release of the last commit, built in two folders: every file has the same bytes. Takes twice as long.
reproduce: export URL := $(URL)
reproduce: export WITHOUT_IMAGE := $(WITHOUT_IMAGE)
reproduce:
	@scripts/release/reproduce.sh "$(VERSION)"

# Licences, sources and bans of all libraries (deny.toml). CHECKS=advisories needs GitHub.
CHECKS := bans licenses sources
deny:
	@cargo deny --version >/dev/null 2>&1 || { echo "cargo-deny is missing; run cargo install --locked cargo-deny, then retry." >&2; exit 2; }
	cargo deny --locked check --hide-inclusion-graph $(CHECKS)

# The workflows of GitHub, with actionlint.
workflows:
	@command -v actionlint >/dev/null || { echo "actionlint is missing; run go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12, then retry." >&2; exit 2; }
	actionlint

# Every guarantee at its full count: what is counted above runs in full there already; properties get
# forty times their cases, and races have three rounds to show themselves on a real server.
soak: export PROPTEST_CASES := 10000
# Some properties throw away what they cannot use; proptest gives up after 1024 of them.
soak: export PROPTEST_MAX_GLOBAL_REJECTS := 100000
# 20,000 scenarios take most of an hour in code that is not optimised, and building it so is paid once. Debug
# assertions and overflow checks stay on.
soak: export CARGO_PROFILE_DEV_OPT_LEVEL := 1
# Hostile inputs of each decoder.
soak: export FUZZ_EXECUTIONS := 10000000
# Scenarios of the simulated cluster, one for each seed.
soak: export SIMULATION_SEEDS := 20000
# Scenarios of local disks whose provisioner is killed.
soak: export LOCAL_DISK_SEEDS := 1000
# Every cell of the crash matrix rather than a sample, and pairs of faults.
soak: export CRASH_EVERY := 1
soak: export CRASH_PAIRS := 5000
soak:
	@scripts/steps.sh unit suites browser stress mutants kube chart histories installation peers versions e2e e2e e2e

# The chart's registrations and policies, README and recorded renderings; the page of Kubernetes' own cases; the reference pages,
# and outputs, diagrams and pictures on the others; the tables of routes and of policies, which a real API server fills in; and what it
# answers to the conversation that the simulated one is measured against.
REGISTRATIONS := charts/bindery/files/registrations.json
POLICIES := charts/bindery/files/policies.json
generate: kube
	cargo run --locked --quiet -- generate chart >$(REGISTRATIONS).new \
		&& mv $(REGISTRATIONS).new $(REGISTRATIONS) \
		|| { rm -f $(REGISTRATIONS).new; exit 1; }
	cargo run --locked --quiet -- generate chart --policies >$(POLICIES).new \
		&& mv $(POLICIES).new $(POLICIES) \
		|| { rm -f $(POLICIES).new; exit 1; }
	BINDERY_GENERATE=1 $(CARGO_TEST) --test tidy the_code_map_shows
	BINDERY_GENERATE=1 $(CARGO_TEST) --test chart is_current
	BINDERY_GENERATE=1 $(CARGO_TEST) --test conformance the_page_is_current
	BINDERY_GENERATE=1 $(CARGO_TEST) --test pages current -- --test-threads=1
	BINDERY_GENERATE=1 $(MAKE) --no-print-directory e2e \
		CASES="every_rule_denies_every_request_type each_policy_denies_what_its_form_says volumes_as_parameters_cost the_real_server_still_answers_as_recorded"
