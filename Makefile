# One word per thing that a contributor does. Suites that need more than Rust say what is missing.

.PHONY: kube e2e bench

# The control plane of the end-to-end tests: four minutes once, then nothing.
kube:
	tests/kube/build.sh

# Every case against a real etcd, kube-apiserver and kube-controller-manager. CASES=name picks some.
e2e: kube
	cargo test --features e2e --test e2e -- $(CASES)

# The webhook against controller-runtime, nginx and a real API server, each row with its floor
# (benches/floors.toml). SECTIONS="throughput memory" picks some.
bench: kube
	cargo bench --bench webhook -- $(SECTIONS)
