#!/usr/bin/env python3
"""Prints every case of Kubernetes' tests of its PersistentVolume binder: a test function, then the number
or the name of the case; `*` where a function names none. Of tables that are not about binding: how many.

    tests/conformance/upstream.py KUBERNETES HELPERS >tests/conformance/upstream.txt

KUBERNETES and HELPERS are the folders of the Go modules k8s.io/kubernetes and k8s.io/component-helpers,
of the version in tests/kube/go.mod; `go list -m -f '{{.Dir}}' MODULE` there prints them.

Not here: what the cases say. That is in cases/, written by hand.
"""

import pathlib
import re
import sys

BINDER = "pkg/controller/volume/persistentvolume"
# Of these every case is listed, of the others every function and how many cases it has.
CASES = [
    (0, f"{BINDER}/{name}_test.go")
    for name in ["binder", "delete", "recycle", "provision", "pv_controller", "index"]
] + [
    (1, "storage/volume/pv_helpers_test.go"),
    (1, "storage/volume/helpers_test.go"),
    (0, "pkg/volume/util/storageclass_test.go"),
    (0, "plugin/pkg/admission/storage/storageclass/setdefault/admission_test.go"),
    (0, "pkg/volume/util/recyclerclient/recycler_client_test.go"),
]
FUNCTIONS = [
    (0, "pkg/controller/volume/pvprotection/pv_protection_controller_test.go"),
    (0, "pkg/controller/volume/pvcprotection/pvc_protection_controller_test.go"),
    (0, "plugin/pkg/admission/storage/persistentvolume/resize/admission_test.go"),
    (0, "plugin/pkg/admission/storage/storageobjectinuseprotection/admission_test.go"),
    (0, "pkg/scheduler/framework/plugins/volumebinding/binder_test.go"),
]
# A field `name`, a key of a map of cases, or a text alone right after the brace that opens a case.
NAME = re.compile(
    r'^\s*name:\s*"((?:[^"\\]|\\.)*)"'
    r'|^\t\t"([^"]*)": \{'
    r'|(?<=\{\n)(?:\s*//.*\n)*\s*"([^"]*)",$',
    re.MULTILINE,
)


def functions(text):
    for found in re.finditer(r"^func (Test\w+)\(t .*?^\}", text, re.MULTILINE | re.DOTALL):
        yield found.group(1), found.group(0)


def names(body):
    return [next(filter(None, found.groups())) for found in NAME.finditer(body)]


def number(name):
    """The number that a name begins with, else the name."""
    found = re.match(r"\d+-\d+(-\d+)?(?= )", name)
    return found.group(0) if found else name.replace('\\"', '"')


def main():
    roots = [pathlib.Path(root) for root in sys.argv[1:3]]
    for root, path in CASES:
        for test, body in functions((roots[root] / path).read_text()):
            for name in names(body) or ["*"]:
                print(test, number(name))
    for root, path in FUNCTIONS:
        for test, body in functions((roots[root] / path).read_text()):
            print(f"{test}: {len(names(body)) or 1} cases")


if __name__ == "__main__":
    main()
