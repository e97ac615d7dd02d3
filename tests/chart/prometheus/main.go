// Evaluates alerts and queries over made-up series with Prometheus' own engine, as Prometheus does, every 30
// seconds from the beginning to a time. For the chart's tests, which hold the cases.
//
//	engine RULES < QUESTIONS > ANSWERS
//
// Questions are a JSON list of {"series": "load 1m\n  NAME{…} VALUES…", "minutes": N}; the answer to each is
// the list of {"alert", "labels", "annotations"} that fire then. A question with "queries" is answered with a list
// for each of them: the {"labels", "values"} of its series, [minute, value] each. Not here: what should fire
// (firing.rs), and what a panel shows (dashboard.rs).
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

const interval = 30 * time.Second

type question struct {
	Series  string   `json:"series"`
	Minutes int      `json:"minutes"`
	Queries []string `json:"queries"`
}

type series struct {
	Labels map[string]string `json:"labels"`
	Values [][2]float64      `json:"values"`
}

type firing struct {
	Alert       string            `json:"alert"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func main() {
	if err := answer(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answer() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: engine RULES < QUESTIONS")
	}
	var questions []question
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil {
		return fmt.Errorf("the questions cannot be read: %w", err)
	}
	answers := make([]any, 0, len(questions))
	for index, asked := range questions {
		var found any
		var err error
		if len(asked.Queries) > 0 {
			found, err = query(asked)
		} else {
			found, err = evaluate(os.Args[1], asked)
		}
		if err != nil {
			return fmt.Errorf("question %d: %w", index, err)
		}
		answers = append(answers, found)
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

// The series of each query from the beginning to the time that is asked for.
func query(asked question) ([][]series, error) {
	loaded, err := promqltest.NewLazyLoader(asked.Series, promqltest.LazyLoaderOpts{Parser: parser.NewParser(parser.Options{})})
	if err != nil {
		return nil, err
	}
	defer loaded.Close()
	begin := time.Unix(0, 0).UTC()
	end := begin.Add(time.Duration(asked.Minutes) * time.Minute)
	var failed error
	loaded.WithSamplesTill(end, func(err error) { failed = err })
	if failed != nil {
		return nil, failed
	}
	answers := make([][]series, 0, len(asked.Queries))
	for _, text := range asked.Queries {
		found, err := ranged(loaded, text, begin, end)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		answers = append(answers, found)
	}
	return answers, nil
}

// The series of one query.
func ranged(loaded *promqltest.LazyLoader, text string, begin, end time.Time) ([]series, error) {
	prepared, err := loaded.QueryEngine().NewRangeQuery(loaded.Context(), loaded.Queryable(), nil, text, begin, end, interval)
	if err != nil {
		return nil, err
	}
	defer prepared.Close()
	matrix, err := prepared.Exec(loaded.Context()).Matrix()
	if err != nil {
		return nil, err
	}
	found := []series{}
	for _, one := range matrix {
		found = append(found, series{one.Metric.Map(), points(one.Floats, begin)})
	}
	return found, nil
}

// Minutes since the beginning and values; those that are no numbers are left out, as in a graph.
func points(floats []promql.FPoint, begin time.Time) [][2]float64 {
	found := [][2]float64{}
	for _, point := range floats {
		if !math.IsNaN(point.F) && !math.IsInf(point.F, 0) {
			found = append(found, [2]float64{float64(point.T-begin.UnixMilli()) / 60_000, point.F})
		}
	}
	return found
}

// What fires at the time that is asked for.
func evaluate(file string, asked question) ([]firing, error) {
	grammar := parser.NewParser(parser.Options{})
	loaded, err := promqltest.NewLazyLoader(asked.Series, promqltest.LazyLoaderOpts{Parser: grammar})
	if err != nil {
		return nil, err
	}
	defer loaded.Close()
	loaded.SubqueryInterval = interval
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:    rules.EngineQueryFunc(loaded.QueryEngine(), loaded.Storage()),
		AppendableV2: loaded.Storage(),
		Context:      context.Background(),
		NotifyFunc:   func(context.Context, string, ...*rules.Alert) {},
		Logger:       promslog.NewNopLogger(),
		Parser:       grammar,
	})
	groups, errs := manager.LoadGroups(interval, labels.EmptyLabels(), "", nil, false, file)
	if errs != nil {
		return nil, errs[0]
	}
	begin := time.Unix(0, 0).UTC()
	end := begin.Add(time.Duration(asked.Minutes) * time.Minute)
	for at := begin; !at.After(end); at = at.Add(interval) {
		var failed error
		loaded.WithSamplesTill(at, func(err error) {
			failed = err
			for _, group := range groups {
				group.Eval(loaded.Context(), at)
			}
		})
		if failed != nil {
			return nil, failed
		}
	}
	return collect(groups)
}

// The alerts that fire now; an expression that could not be evaluated is an error.
func collect(groups map[string]*rules.Group) ([]firing, error) {
	found := []firing{}
	for _, group := range groups {
		for _, rule := range group.Rules() {
			if err := rule.LastError(); err != nil {
				return nil, fmt.Errorf("%s: %w", rule.Name(), err)
			}
			alerting, ok := rule.(*rules.AlertingRule)
			if !ok {
				continue
			}
			for _, alert := range alerting.ActiveAlerts() {
				if alert.State == rules.StateFiring {
					found = append(found, firing{rule.Name(), alert.Labels.Map(), alert.Annotations.Map()})
				}
			}
		}
	}
	return found, nil
}
