package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

func anthropicAPI() {
	const usual = "claude-haiku-4-5"
	ctx := context.Background()
	statusOf = func(err error) (int, string) {
		var refused *anthropic.Error
		if errors.As(err, &refused) {
			return refused.StatusCode, "anthropic.Error"
		}
		return 0, fmt.Sprintf("%T", err)
	}
	client := func(key string) anthropic.Client {
		return anthropic.NewClient(option.WithBaseURL(base), option.WithAPIKey(key))
	}
	order := func(model, prompt string) anthropic.MessageNewParams {
		return anthropic.MessageNewParams{Model: anthropic.Model(model), MaxTokens: 50, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(prompt))}}
	}
	chat := func(key, model, prompt string) (any, error) {
		c := client(key)
		found, err := c.Messages.New(ctx, order(or(model, usual), prompt))
		if err != nil {
			return nil, err
		}
		return []any{found.Content[0].Text, found.Usage.InputTokens, found.Usage.OutputTokens}, nil
	}
	stream := func(prompt string) (any, error) {
		c := client(key)
		pieces, text := c.Messages.NewStreaming(ctx, order(usual, prompt)), ""
		for pieces.Next() {
			text += pieces.Current().Delta.Text
		}
		return text, pieces.Err()
	}
	c := client(key)
	step("chat", func() (any, error) { return chat(key, "", hi) })
	step("stream", func() (any, error) { return stream(hi) })
	step("tools", func() (any, error) {
		asked := order(usual, clock)
		tool := anthropic.ToolParam{Name: "get_time", InputSchema: anthropic.ToolInputSchemaParam{Properties: schema["properties"]}}
		asked.Tools = []anthropic.ToolUnionParam{{OfTool: &tool}}
		found, err := c.Messages.New(ctx, asked)
		if err != nil {
			return nil, err
		}
		return []any{found.Content[0].Name, found.Content[0].Input}, nil
	})
	step("models", func() (any, error) {
		pages, has := c.Models.ListAutoPaging(ctx, anthropic.ModelListParams{}), false
		for pages.Next() {
			has = has || pages.Current().ID == usual
		}
		return has, pages.Err()
	})
	refusals(chat)
	step("hang_up", func() (any, error) { return stream(breaks) })
	step("batches", func() (any, error) {
		params := anthropic.MessageBatchNewParamsRequestParams{Model: usual, MaxTokens: 50, Messages: order(usual, hi).Messages}
		made, err := c.Messages.Batches.New(ctx, anthropic.MessageBatchNewParams{Requests: []anthropic.MessageBatchNewParamsRequest{{CustomID: "a", Params: params}}})
		if err != nil {
			return nil, err
		}
		lines, tokens := c.Messages.Batches.ResultsStreaming(ctx, made.ID, anthropic.MessageBatchResultsParams{}), []int64{}
		for lines.Next() {
			tokens = append(tokens, lines.Current().Result.Message.Usage.OutputTokens)
		}
		return tokens, lines.Err()
	})
}
