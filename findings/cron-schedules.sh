#!/usr/bin/env bash
# github.com/robfig/cron/v3 v3.0.1 (what a CronJob's schedule is read with), npm croner 11.0.1 and cron-parser 5.10.6, in Europe/Berlin, on the
# nights of 2027 in which 02:00 to 02:59 is left out (28 March) and comes twice (31 October).
# The guess: the three differ in whether such a time is kept, moved or run twice, and each treats all schedules alike.
# Seen: robfig leaves out and repeats. For cron-parser 02:30 is 03:30, and a time comes once. croner has two rules: with one minute and
# one hour, 02:30 is 03:00 and comes once; with a list or a step in either, the times are left out, and come twice. So the time 02:30 of
# `30 2` is kept and that of `0,30 2` is lost, on one night.
# Why it matters: a window for maintenance that a second minute or hour is added to is shut on one night a year, and opens twice on another.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export GOMODCACHE="$tmp/mod" GOFLAGS='-mod=mod -modcacherw'
cat >main.go <<'EOF'
package main

import (
	"fmt"
	"github.com/robfig/cron/v3"
	"os"
	"time"
)

func main() {
	zone, _ := time.LoadLocation("Europe/Berlin")
	from, _ := time.Parse(time.RFC3339, os.Args[1])
	for _, text := range os.Args[2:] {
		schedule, _ := cron.ParseStandard(text)
		fmt.Print("robfig ", text, ":")
		for at, count := schedule.Next(from.In(zone)), 0; count < 3; at, count = schedule.Next(at), count+1 {
			fmt.Print(" ", at.UTC().Format("02T15:04Z"))
		}
		fmt.Println()
	}
}
EOF
cat >next.mjs <<'EOF'
import { Cron } from 'croner';
import { CronExpressionParser } from 'cron-parser';
const [from, ...texts] = process.argv.slice(2);
const show = (name, text, times) => console.log(`${name} ${text}:`, ...times.map((time) => `${time.toISOString().slice(8, 16)}Z`));
for (const text of texts) {
  show('croner', text, new Cron(text, { timezone: 'Europe/Berlin' }).nextRuns(3, new Date(from)));
  const parsed = CronExpressionParser.parse(text, { tz: 'Europe/Berlin', currentDate: new Date(from) });
  show('cron-parser', text, parsed.take(3).map((time) => time.toDate()));
}
EOF
{
  go mod init finding && go get github.com/robfig/cron/v3@v3.0.1 && go build -o robfig .
  npm install --prefix . croner@11.0.1 cron-parser@5.10.6
} >log 2>&1 || { cat log; exit 2; }
for from in 2027-03-28T00:00:00Z 2027-10-30T23:00:00Z; do
  ./robfig "$from" '30 2 * * *' '0,30 2 * * *'
  node next.mjs "$from" '30 2 * * *' '0,30 2 * * *'
done | tee seen
diff - seen <<'EOF' || { echo 'changed: "<" was seen before, ">" now'; exit 1; }
robfig 30 2 * * *: 29T00:30Z 30T00:30Z 31T00:30Z
robfig 0,30 2 * * *: 29T00:00Z 29T00:30Z 30T00:00Z
croner 30 2 * * *: 28T01:00Z 29T00:30Z 30T00:30Z
cron-parser 30 2 * * *: 28T01:30Z 29T00:30Z 30T00:30Z
croner 0,30 2 * * *: 29T00:00Z 29T00:30Z 30T00:00Z
cron-parser 0,30 2 * * *: 28T01:00Z 28T01:30Z 29T00:00Z
robfig 30 2 * * *: 31T00:30Z 31T01:30Z 01T01:30Z
robfig 0,30 2 * * *: 31T00:00Z 31T00:30Z 31T01:00Z
croner 30 2 * * *: 31T00:30Z 01T01:30Z 02T01:30Z
cron-parser 30 2 * * *: 31T00:30Z 01T01:30Z 02T01:30Z
croner 0,30 2 * * *: 31T00:00Z 31T00:30Z 31T01:00Z
cron-parser 0,30 2 * * *: 31T00:00Z 31T00:30Z 01T01:00Z
EOF
