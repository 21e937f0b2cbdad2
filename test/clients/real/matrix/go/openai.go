package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

func openAI() {
	const usual = "gpt-4o-mini"
	ctx := context.Background()
	statusOf = func(err error) (int, string) {
		var refused *openai.Error
		if errors.As(err, &refused) {
			return refused.StatusCode, "openai.Error"
		}
		return 0, fmt.Sprintf("%T", err)
	}
	client := func(key string) openai.Client {
		return openai.NewClient(option.WithBaseURL(base+"/v1"), option.WithAPIKey(key))
	}
	order := func(model, prompt string) openai.ChatCompletionNewParams {
		return openai.ChatCompletionNewParams{Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)}}
	}
	chat := func(key, model, prompt string) (any, error) {
		c := client(key)
		found, err := c.Chat.Completions.New(ctx, order(or(model, usual), prompt))
		if err != nil {
			return nil, err
		}
		return []any{found.Choices[0].Message.Content, found.Usage.PromptTokens, found.Usage.CompletionTokens}, nil
	}
	stream := func(prompt string) (any, error) {
		c := client(key)
		pieces, text := c.Chat.Completions.NewStreaming(ctx, order(usual, prompt)), ""
		for pieces.Next() {
			for _, choice := range pieces.Current().Choices {
				text += choice.Delta.Content
			}
		}
		return text, pieces.Err()
	}
	c := client(key)
	step("chat", func() (any, error) { return chat(key, "", hi) })
	step("stream", func() (any, error) { return stream(hi) })
	step("responses", func() (any, error) {
		found, err := c.Responses.New(ctx, responses.ResponseNewParams{Model: usual, Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(hi)}})
		if err != nil {
			return nil, err
		}
		return found.OutputText(), nil
	})
	step("tools", func() (any, error) {
		asked := order(usual, clock)
		asked.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "get_time", Parameters: schema})}
		found, err := c.Chat.Completions.New(ctx, asked)
		if err != nil {
			return nil, err
		}
		call := found.Choices[0].Message.ToolCalls[0].Function
		return []any{call.Name, parsed(call.Arguments)}, nil
	})
	step("embeddings", func() (any, error) {
		found, err := c.Embeddings.New(ctx, openai.EmbeddingNewParams{Model: "text-embedding-3-small", Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String("a")}})
		if err != nil {
			return nil, err
		}
		return []any{found.Data[0].Embedding, found.Usage.PromptTokens}, nil
	})
	step("models", func() (any, error) {
		pages, has := c.Models.ListAutoPaging(ctx), false
		for pages.Next() {
			has = has || pages.Current().ID == usual
		}
		return has, pages.Err()
	})
	refusals(chat)
	step("hang_up", func() (any, error) { return stream(breaks) })
	upload := func() (*openai.FileObject, error) {
		return c.Files.New(ctx, openai.FileNewParams{File: openai.File(strings.NewReader("{\"a\":\"b\"}\n"), "a.jsonl", "application/jsonl"), Purpose: openai.FilePurposeBatch})
	}
	step("files", func() (any, error) {
		made, err := upload()
		if err != nil {
			return nil, err
		}
		again, err := c.Files.Get(ctx, made.ID)
		if err != nil {
			return nil, err
		}
		gone, err := c.Files.Delete(ctx, made.ID)
		if err != nil {
			return nil, err
		}
		return []any{again.Filename, again.Purpose, gone.Deleted}, nil
	})
	step("batches", func() (any, error) {
		file, err := upload()
		if err != nil {
			return nil, err
		}
		made, err := c.Batches.New(ctx, openai.BatchNewParams{InputFileID: file.ID, Endpoint: "/v1/chat/completions", CompletionWindow: "24h"})
		if err != nil {
			return nil, err
		}
		again, err := c.Batches.Get(ctx, made.ID)
		if err != nil {
			return nil, err
		}
		answer, err := c.Files.Content(ctx, again.OutputFileID)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(answer.Body)
		return []any{again.Status, parsed(string(text))}, err
	})
}
