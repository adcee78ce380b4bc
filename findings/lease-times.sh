#!/usr/bin/env bash
# k8s.io/api v0.37.2 with k8s.io/apimachinery v0.37.2: times of a Lease (acquireTime, renewTime) and of metadata, read as by the API server.
# The guess: every RFC 3339 time will do, with or without a fraction, as JavaScript and Python write it.
# Seen: the two time types of one object take different sets. A Lease's takes six digits behind the point, no fewer and no more: neither what
# JavaScript's toISOString() gives (three) nor Go's own RFC3339Nano nor a full second. metadata's takes any number of digits and drops
# them, and even what is no RFC 3339 (a comma, an hour of one digit). Written back, a Lease's time has six digits, metadata's none.
# Why it matters: a leader election outside of Go fails at its first renewal, and times of two fields of one object cannot be compared.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export GOMODCACHE="$tmp/mod" GOFLAGS='-mod=mod -modcacherw'
cat >main.go <<'EOF'
package main

import (
	"encoding/json"
	"fmt"
	"k8s.io/api/coordination/v1"
)

func main() {
	for _, time := range []string{"00:00:00.123456Z", "00:00:00.123456+01:00", "00:00:00Z", "00:00:00.123Z", "00:00:00.123456789Z", "00:00:00,5Z", "0:00:00Z"} {
		fmt.Print("T", time)
		for _, format := range []string{`{"spec":{"renewTime":"2026-11-28T%s"}}`, `{"metadata":{"creationTimestamp":"2026-11-28T%s"}}`} {
			var lease v1.Lease
			if err := json.Unmarshal([]byte(fmt.Sprintf(format, time)), &lease); err != nil {
				fmt.Print(" refused")
			} else if lease.Spec.RenewTime != nil {
				again, _ := json.Marshal(lease.Spec.RenewTime)
				fmt.Print(" renewTime ", string(again))
			} else {
				again, _ := json.Marshal(lease.CreationTimestamp)
				fmt.Print(", creationTimestamp ", string(again))
			}
		}
		fmt.Println()
	}
}
EOF
{ go mod init finding && go get k8s.io/api@v0.37.2 k8s.io/apimachinery@v0.37.2 && go build -o read .; } >log 2>&1 || { cat log; exit 2; }
./read | tee seen
diff - seen <<'EOF' || { echo 'changed: "<" was seen before, ">" now'; exit 1; }
T00:00:00.123456Z renewTime "2026-11-28T00:00:00.123456Z", creationTimestamp "2026-11-28T00:00:00Z"
T00:00:00.123456+01:00 renewTime "2026-11-27T23:00:00.123456Z", creationTimestamp "2026-11-27T23:00:00Z"
T00:00:00Z refused, creationTimestamp "2026-11-28T00:00:00Z"
T00:00:00.123Z refused, creationTimestamp "2026-11-28T00:00:00Z"
T00:00:00.123456789Z refused, creationTimestamp "2026-11-28T00:00:00Z"
T00:00:00,5Z refused, creationTimestamp "2026-11-28T00:00:00Z"
T0:00:00Z refused, creationTimestamp "2026-11-28T00:00:00Z"
EOF
