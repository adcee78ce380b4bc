package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// As Prometheus has them by default.
const (
	interval   = time.Minute
	lookback   = 5 * time.Minute
	maxSamples = 50_000_000
	patience   = time.Minute
)

type question struct {
	Rules string `json:"rules"`
	// Unix times, milliseconds.
	At     []int64 `json:"at"`
	Series []struct {
		Labels map[string]string `json:"labels"`
		// Time and value.
		Samples [][2]float64 `json:"samples"`
	} `json:"series"`
}

// firing names the alarms whose expression has held, at one of these times and for some labels, at each evaluation for as long as the alarm asks for.
func firing(input io.Reader) ([]string, error) {
	var asked question
	if err := json.NewDecoder(input).Decode(&asked); err != nil {
		return nil, err
	}
	parse := parser.NewParser(parser.Options{})
	groups, errs := rulefmt.Parse([]byte(asked.Rules), false, model.UTF8Validation, parse, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		return nil, errs[0]
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: maxSamples, Timeout: patience, LookbackDelta: lookback, Parser: parse})
	held := storeOf(asked)
	var names []string
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			for _, at := range asked.At {
				fires, err := firesAt(engine, held, rule, time.UnixMilli(at))
				if err != nil {
					return nil, fmt.Errorf("%s: %w", rule.Alert, err)
				}
				if fires {
					names = append(names, rule.Alert)
					break
				}
			}
		}
	}
	return names, nil
}

func firesAt(engine *promql.Engine, held store, rule rulefmt.Rule, at time.Time) (bool, error) {
	var active map[uint64]bool
	for when := at.Add(-time.Duration(rule.For)); !when.After(at); when = when.Add(interval) {
		query, err := engine.NewInstantQuery(context.Background(), held, nil, rule.Expr, when)
		if err != nil {
			return false, err
		}
		vector, err := query.Exec(context.Background()).Vector()
		if err != nil {
			return false, err
		}
		still := map[uint64]bool{}
		for _, sample := range vector {
			hash := sample.Metric.Hash()
			if active == nil || active[hash] {
				still[hash] = true
			}
		}
		query.Close()
		active = still
	}
	return len(active) > 0, nil
}

// store keeps the series of one question.
type store []storage.Series

func storeOf(asked question) store {
	var held store
	for _, one := range asked.Series {
		samples := make([]chunks.Sample, 0, len(one.Samples))
		for _, sample := range one.Samples {
			samples = append(samples, point{at: int64(sample[0]), value: sample[1]})
		}
		held = append(held, storage.NewListSeries(labels.FromMap(one.Labels), samples))
	}
	return held
}

func (s store) Querier(_, _ int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: s.selected}, nil
}

func (s store) selected(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	var found store
	for _, series := range s {
		if matches(series.Labels(), matchers) {
			found = append(found, series)
		}
	}
	return &set{series: found, at: -1}
}

func matches(found labels.Labels, matchers []*labels.Matcher) bool {
	for _, matcher := range matchers {
		if !matcher.Matches(found.Get(matcher.Name)) {
			return false
		}
	}
	return true
}

type set struct {
	series store
	at     int
}

func (s *set) Next() bool                        { s.at++; return s.at < len(s.series) }
func (s *set) At() storage.Series                { return s.series[s.at] }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return nil }

type point struct {
	chunks.Sample
	at    int64
	value float64
}

func (p point) T() int64                 { return p.at }
func (p point) ST() int64                { return 0 }
func (p point) F() float64               { return p.value }
func (p point) Type() chunkenc.ValueType { return chunkenc.ValFloat }
func (p point) Copy() chunks.Sample      { return p }
