package main

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/genai"
)

func google() {
	const usual = "gemini-2.5-flash"
	ctx := context.Background()
	statusOf = func(err error) (int, string) {
		var refused genai.APIError
		if errors.As(err, &refused) {
			return refused.Code, "genai.APIError"
		}
		return 0, fmt.Sprintf("%T", err)
	}
	client := func(key string) *genai.Client {
		made, err := genai.NewClient(ctx, &genai.ClientConfig{APIKey: key, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: base}})
		if err != nil {
			panic(err)
		}
		return made
	}
	chat := func(key, model, prompt string) (any, error) {
		found, err := client(key).Models.GenerateContent(ctx, or(model, usual), genai.Text(prompt), nil)
		if err != nil {
			return nil, err
		}
		return []any{found.Text(), found.UsageMetadata.PromptTokenCount, found.UsageMetadata.CandidatesTokenCount}, nil
	}
	stream := func(prompt string) (any, error) {
		text := ""
		for piece, err := range client(key).Models.GenerateContentStream(ctx, usual, genai.Text(prompt), nil) {
			if err != nil {
				return nil, err
			}
			text += piece.Text()
		}
		return text, nil
	}
	c := client(key)
	step("chat", func() (any, error) { return chat(key, "", hi) })
	step("stream", func() (any, error) { return stream(hi) })
	step("tools", func() (any, error) {
		tool := &genai.Tool{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "get_time", ParametersJsonSchema: schema}}}
		found, err := c.Models.GenerateContent(ctx, usual, genai.Text(clock), &genai.GenerateContentConfig{Tools: []*genai.Tool{tool}})
		if err != nil {
			return nil, err
		}
		call := found.FunctionCalls()[0]
		return []any{call.Name, call.Args}, nil
	})
	step("embeddings", func() (any, error) {
		found, err := c.Models.EmbedContent(ctx, "gemini-embedding-001", genai.Text("a"), nil)
		if err != nil {
			return nil, err
		}
		return found.Embeddings[0].Values, nil
	})
	step("count_tokens", func() (any, error) {
		found, err := c.Models.CountTokens(ctx, usual, genai.Text(hi), nil)
		if err != nil {
			return nil, err
		}
		return found.TotalTokens, nil
	})
	step("models", func() (any, error) {
		has := false
		for model, err := range c.Models.All(ctx) {
			if err != nil {
				return nil, err
			}
			has = has || model.Name == "models/"+usual
		}
		return has, nil
	})
	refusals(chat)
	step("hang_up", func() (any, error) { return stream(breaks) })
}
