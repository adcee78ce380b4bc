#!/usr/bin/env bash
# k8s.io/apimachinery v0.37.2, package labels: what `kubectl -l` and the labelSelector of a list or watch are read with.
# The guess: in `site in (west,)` the comma at the end is an error or nothing, and `site in ()` is an error or matches nothing.
# Seen: both are valid, and the gap is a value: they match what bears the label with an empty text. `notin ()` matches all but those.
# The same written as a LabelSelector with `values: []` is refused, so a tool that turns one into the other changes the answer.
# Why it matters: `kubectl delete -l 'site in (west,)'`, as a script that joins a list writes it, deletes objects of no site, too.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export GOMODCACHE="$tmp/mod" GOFLAGS='-mod=mod -modcacherw'
cat >main.go <<'EOF'
package main

import (
	"fmt"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func main() {
	for _, text := range []string{"site in (west)", "site in (west,)", "site in (,)", "site in ()", "site notin (west,)", "site notin ()", "site="} {
		selector, err := labels.Parse(text)
		if err != nil {
			fmt.Println(text, "->", err)
			continue
		}
		fmt.Printf("%s -> %s, matches:", text, selector)
		for _, set := range []labels.Set{{}, {"site": ""}, {"site": "west"}, {"site": "east"}} {
			if selector.Matches(set) {
				fmt.Printf(" {%s}", set)
			}
		}
		fmt.Println()
	}
	_, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "site", Operator: "In"}}})
	fmt.Println("values: [] ->", err)
}
EOF
{ go mod init finding && go get k8s.io/apimachinery@v0.37.2; } >log 2>&1 || { cat log; exit 2; }
go run . 2>log | tee seen || { cat log; exit 2; }
diff - seen <<'EOF' || { echo 'changed: "<" was seen before, ">" now'; exit 1; }
site in (west) -> site in (west), matches: {site=west}
site in (west,) -> site in (,west), matches: {site=} {site=west}
site in (,) -> site in (), matches: {site=}
site in () -> site in (), matches: {site=}
site notin (west,) -> site notin (,west), matches: {} {site=east}
site notin () -> site notin (), matches: {} {site=west} {site=east}
site= -> site=, matches: {site=}
values: [] -> values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty
EOF
