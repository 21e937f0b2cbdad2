import { expect, test } from 'vitest'
import { coversModel } from '../../src/limits/covers-model.ts'

test.each([
  ['gpt-4o', 'gpt-4o'],
  ['gpt-4o', 'gpt-4o-2024-08-06'],
  ['gpt-4', 'gpt-4-0613'],
  ['claude-sonnet-4', 'claude-sonnet-4-20250514'],
  ['claude-sonnet-4', 'claude-sonnet-4@20250514'],
  ['anthropic.claude-opus-4', 'anthropic.claude-opus-4-20250514-v1:0'],
  ['gpt-4o*', 'gpt-4o'],
  ['gpt-4o*', 'gpt-4o-mini'],
  ['*', 'anything'],
  ['gpt-4o', 'GPT-4o'],
  ['GPT-4o*', 'gpt-4O-Mini'],
  ['gemini-2.5-pro', 'models/gemini-2.5-pro'],
  ['models/gemini-2.5*', 'gemini-2.5-flash'],
  ['llama3.1', 'llama3.1:latest'],
  ['gpt-4o', 'gpt-4o-2024*gpt-4o*'],
  ['gpt-4o-2024*', 'gpt-4o-2024*gpt-4o*'],
])('a limit for %s is about %s', (pattern, model) => {
  expect(coversModel(pattern, model)).toBe(true)
})

test.each([
  ['gpt-4o', 'gpt-4o-mini'],
  ['gpt-4o', 'gpt-4'],
  ['gpt-4o', 'openai/gpt-4o'],
  ['gpt-4o-2024-08-06', 'gpt-4o'],
  ['llama3.1', 'llama3.1:70b'],
  ['mistral-large', 'mistral-large-2411'],
  ['gpt-4o*', 'gpt-4'],
  ['gpt-4', 'gpt-4o-2024*gpt-4o*'],
  ['gpt-4o', 'gpt-4o-2024*gpt-4o'],
  ['gpt-4o', 'gpt-4*gpt-4o*'],
])('a limit for %s is not about %s', (pattern, model) => {
  expect(coversModel(pattern, model)).toBe(false)
})
