// Go's net/http, Ollama's foundation. Its handlers take any method. Arguments: answers.json, the port.
package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/coder/websocket"
)

type call struct {
	Probe    string `json:"probe"`
	Endpoint string `json:"endpoint"`
	Model    string `json:"model"`
}

var (
	mutex  sync.Mutex
	seen   = []string{}
	served = []call{}
	texts  = map[string]string{}
)

func fill(name, model, id string) []byte {
	text := strings.Replace(texts[name], `"ID"`, quote(id), 1)
	return []byte(strings.Replace(text, `"MODEL"`, quote(model), 1))
}

func quote(text string) string {
	bytes, _ := json.Marshal(text)
	return string(bytes)
}

func note(r *http.Request, endpoint, model string) {
	mutex.Lock()
	defer mutex.Unlock()
	served = append(served, call{r.Header.Get("x-probe"), endpoint, model})
}

func answer(w http.ResponseWriter, r *http.Request, name, model, id string) {
	note(r, name, model)
	w.Header().Set("content-type", "application/json")
	w.Write(fill(name, model, id))
}

// Begins what a fetch tells the usage of.
func queue(w http.ResponseWriter, name, model string) {
	w.Header().Set("content-type", "application/json")
	w.Write(fill(name, model, rand.Text()))
}

func byBody(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Model      *string
			Background bool
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(body, &asked) != nil || asked.Model == nil {
			http.Error(w, `{"error":{"message":"no model"}}`, http.StatusBadRequest)
			return
		}
		if asked.Background && name == "responses" {
			queue(w, "queued", *asked.Model)
			return
		}
		answer(w, r, name, *asked.Model, rand.Text())
	}
}

func generateContent(w http.ResponseWriter, r *http.Request) {
	model, found := strings.CutSuffix(r.PathValue("action"), ":generateContent")
	if !found {
		http.NotFound(w, r)
		return
	}
	answer(w, r, "generateContent", model, rand.Text())
}

func noted(endpoint string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		note(r, endpoint, "")
		io.WriteString(w, "{}")
	}
}

func realtime(w http.ResponseWriter, r *http.Request) {
	socket, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer socket.CloseNow()
	model := r.URL.Query().Get("model")
	if model == "" {
		model = "llama3.1"
	}
	socket.Write(r.Context(), websocket.MessageText, fill("session", model, rand.Text()))
	for {
		if _, _, err := socket.Read(r.Context()); err != nil {
			return
		}
		note(r, "realtime", model)
		socket.Write(r.Context(), websocket.MessageText, fill("done", model, rand.Text()))
	}
}

func main() {
	file, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	answers := map[string]json.RawMessage{}
	if err := json.Unmarshal(file, &answers); err != nil {
		log.Fatal(err)
	}
	for name, text := range answers {
		var compact bytes.Buffer
		if err := json.Compact(&compact, text); err != nil {
			log.Fatal(err)
		}
		texts[name] = compact.String()
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/chat/completions", byBody("chat"))
	mux.HandleFunc("/v1/messages", byBody("messages"))
	mux.HandleFunc("/v1/responses", byBody("responses"))
	mux.HandleFunc("/v1beta/models/{action}", generateContent)
	mux.HandleFunc("/v1/realtime", realtime)
	mux.HandleFunc("/v1/responses/{id}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, "responses", "llama3.1", r.PathValue("id"))
	})
	mux.HandleFunc("/v1/batches", func(w http.ResponseWriter, r *http.Request) {
		queue(w, "validating", "")
	})
	mux.HandleFunc("/v1/batches/{id}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, "batch", "llama3.1", r.PathValue("id"))
	})
	mux.HandleFunc("/v1/realtime/client_secrets", noted("client_secrets"))
	mux.HandleFunc("DELETE /v1/models/{id}", noted("delete"))
	mux.HandleFunc("/v1/usage", noted("usage"))
	mux.HandleFunc("/v1/models", func(w http.ResponseWriter, r *http.Request) {
		note(r, "models", "")
		io.WriteString(w, `{"object":"list","data":[]}`)
	})
	mux.HandleFunc("/witness", func(w http.ResponseWriter, r *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		json.NewEncoder(w).Encode(map[string]any{"seen": seen, "served": served})
	})
	watch := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if probe := r.Header.Get("x-probe"); probe != "" {
			mutex.Lock()
			seen = append(seen, probe)
			mutex.Unlock()
		}
		mux.ServeHTTP(w, r)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[2], watch))
}
