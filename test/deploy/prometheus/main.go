// Judges metrics and alarms as promtool does, by the packages of Prometheus that promtool uses for it. promtool itself has four times as many
// dependencies, and is built in twenty minutes where this takes one.
//
//	promlint metrics < text of a scrape
//	promlint rules < file of rules
//	promlint firing < JSON: rules, series, and the time of the look
//
// One problem a line on standard output, or one alarm that fires. Exit code 1: there are some; 2: cannot tell.
package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("specify metrics, rules or firing"))
	}
	problems, err := judge(os.Args[1], os.Stdin)
	if err != nil {
		fail(err)
	}
	for _, problem := range problems {
		fmt.Println(problem)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(2)
}

func judge(what string, input io.Reader) ([]string, error) {
	switch what {
	case "metrics":
		return metrics(input)
	case "rules":
		return rules(input)
	case "firing":
		return firing(input)
	default:
		return nil, fmt.Errorf("%q is none of metrics, rules and firing", what)
	}
}

func metrics(input io.Reader) ([]string, error) {
	found, err := promlint.New(input).Lint()
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, problem := range found {
		problems = append(problems, fmt.Sprintf("%s: %s", problem.Metric, problem.Text))
	}
	return problems, nil
}

func rules(input io.Reader) ([]string, error) {
	text, err := io.ReadAll(input)
	if err != nil {
		return nil, err
	}
	groups, errs := rulefmt.Parse(text, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	var problems []string
	for _, err := range errs {
		problems = append(problems, err.Error())
	}
	if len(problems) == 0 && len(groups.Groups) == 0 {
		return nil, fmt.Errorf("there are no groups of rules")
	}
	return problems, nil
}
