# One word per thing that a contributor does. Suites that need more than Rust say what is missing.

# The feature of the end-to-end tests is on everywhere, so that one build serves every step.
CARGO_TEST := cargo test --locked --features e2e
# Every folder of tests is a suite; the end-to-end one needs the control plane and comes last.
SUITES := $(filter-out e2e,$(patsubst tests/%/main.rs,%,$(wildcard tests/*/main.rs)))

.PHONY: demo test lint unit suites examples doc kube e2e bench soak generate

# The webhook refusing and repairing, without a cluster. ARGS=--serve keeps it up.
demo:
	cargo run --locked -- demo $(ARGS)

# Everything that is proven, with the time that each step took.
test:
	@tests/steps.sh lint unit suites examples doc kube e2e

# Format and lints; a warning is an error.
lint:
	cargo fmt --check
	cargo clippy --locked --all-targets --all-features -- -D warnings

# Tests beside the code: units and properties.
unit:
	$(CARGO_TEST) --lib --bins

# Tests of the whole: repository rules, bytes on a socket, the simulated server.
suites:
	$(CARGO_TEST) $(addprefix --test ,$(SUITES))

# The examples in the documentation of the code.
examples:
	$(CARGO_TEST) --doc

# The documentation of the code, with what is private: it is for people who change it. A broken link
# is an error.
doc:
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps --document-private-items

# The control plane of the end-to-end tests: four minutes once, then nothing.
kube:
	tests/kube/build.sh

# Every case against a real etcd, kube-apiserver and kube-controller-manager. CASES=name picks some.
e2e: kube
	$(CARGO_TEST) --test e2e -- $(CASES)

# The webhook against controller-runtime, nginx and a real API server in one run, each row with its
# floor (benches/floors.toml), after the pure path alone. SECTIONS="throughput memory" picks some.
bench: kube
	cargo bench --locked --bench judge
	cargo bench --locked --bench webhook -- $(SECTIONS)

# Every promise at its full count: what is counted above runs in full there already; properties get
# forty times their cases, and races have ten rounds to show themselves on a real server.
soak: export PROPTEST_CASES := 10000
# Some properties throw away what they cannot use; proptest gives up after 1024 of them.
soak: export PROPTEST_MAX_GLOBAL_REJECTS := 100000
# Lives of the simulated cluster.
soak: export SIMULATION_SEEDS := 20000
soak:
	@tests/steps.sh unit suites kube e2e e2e e2e e2e e2e e2e e2e e2e e2e e2e

# The pages that are made from the code, written aside first, so that a failure leaves the old page
# whole; the page of Kubernetes' own cases; the table of routes, which a real API server fills in; and what
# it answers to the conversation that the simulated one is measured against.
generate: kube
	mkdir -p docs
	for page in rules cli; do \
		cargo run --locked --quiet -- generate $$page >docs/$$page.md.new \
			&& mv docs/$$page.md.new docs/$$page.md \
			|| { rm -f docs/$$page.md.new; exit 1; }; \
	done
	BINDERY_GENERATE=1 $(CARGO_TEST) --test conformance the_page_is_current
	BINDERY_GENERATE=1 $(MAKE) --no-print-directory e2e \
		CASES="every_rule_refuses_by_every_route the_real_server_still_answers_as_recorded"
