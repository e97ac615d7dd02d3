# One word per thing that a contributor does. Suites that need more than Rust say what is missing.

.PHONY: kube e2e

# The control plane of the end-to-end tests: four minutes once, then nothing.
kube:
	tests/kube/build.sh

# Every case against a real etcd, kube-apiserver and kube-controller-manager. CASES=name picks some.
e2e: kube
	cargo test --features e2e --test e2e -- $(CASES)
