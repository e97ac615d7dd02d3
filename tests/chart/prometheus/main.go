// Says which alerts fire: evaluates the rules of a file over made-up series with Prometheus' own engine, as
// Prometheus does, every 30 seconds from the beginning to a time. For the chart's tests, which hold the cases.
//
//	alerts RULES < QUESTIONS > ANSWERS
//
// Questions are a JSON list of {"series": "load 1m\n  NAME{…} VALUES…", "minutes": N}; the answer to each is
// the list of {"alert", "labels", "annotations"} that fire then. Not here: what should fire (firing.rs).
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

const interval = 30 * time.Second

type question struct {
	Series  string `json:"series"`
	Minutes int    `json:"minutes"`
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
		return fmt.Errorf("usage: alerts RULES < QUESTIONS")
	}
	var questions []question
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil {
		return fmt.Errorf("the questions cannot be read: %w", err)
	}
	answers := make([][]firing, 0, len(questions))
	for index, asked := range questions {
		found, err := evaluate(os.Args[1], asked)
		if err != nil {
			return fmt.Errorf("question %d: %w", index, err)
		}
		answers = append(answers, found)
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
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
