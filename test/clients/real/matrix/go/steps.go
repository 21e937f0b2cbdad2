// Package main runs steps of the libraries for Go. Each step is announced, and what it had is one line of JSON.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
)

var base, key, spent, wrong = os.Getenv("BASE"), os.Getenv("KEY"), os.Getenv("SPENT"), os.Getenv("WRONG")

const noModel, hi, clock, breaks = "no-such-model", "hi", "What time is it in Paris?", "Please hang up."

var schema = map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"}}

// The status of an error of one library, and its class.
var statusOf func(err error) (int, string)

func step(name string, run func() (any, error)) {
	if answer, err := http.Get(os.Getenv("CONTROL") + "/" + name); err == nil {
		answer.Body.Close()
	}
	found := map[string]any{"step": name}
	result, err := run()
	if err == nil {
		found["result"] = result
	} else {
		status, class := statusOf(err)
		found["error"], found["text"] = class, err.Error()
		if status != 0 {
			found["status"] = status
		}
	}
	line, _ := json.Marshal(found)
	fmt.Printf("STEP %s\n", line)
}

func refusals(chat func(key, model, prompt string) (any, error)) {
	step("wrong_key", func() (any, error) { return chat(wrong, "", hi) })
	step("no_model", func() (any, error) { return chat(key, noModel, hi) })
	step("spent", func() (any, error) { return chat(spent, "", hi) })
}

func or(model, usual string) string {
	if model == "" {
		return usual
	}
	return model
}

func parsed(text string) any {
	var value any
	_ = json.NewDecoder(strings.NewReader(text)).Decode(&value)
	return value
}

func main() {
	map[string]func(){"openai": openAI, "anthropic": anthropicAPI, "gemini": google}[os.Getenv("FAMILY")]()
}
