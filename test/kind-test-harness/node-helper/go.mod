module kind-test-harness/node-helper

go 1.22
