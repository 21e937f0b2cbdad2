import { describe, expect, test } from 'vitest'
import { MAX_COUNT, NO_USAGE } from '../../src/call/usage.ts'
import { createAnthropicAccumulator } from '../../src/providers/anthropic/anthropic-messages.ts'
import { anthropicUsage } from '../../src/providers/anthropic/anthropic-usage.ts'
import { chatUsage, responsesUsage } from '../../src/providers/openai/openai-usage.ts'
import {
  addCounts,
  boundRawUsage,
  countUsage,
  firstCount,
  parseCount,
  subtractCounts,
  totalDisagrees,
} from '../../src/providers/reading/counts.ts'

describe('a count', () => {
  test.each([
    [0, 0],
    [-0, 0],
    [28, 28],
    [28.0, 28],
    ['28', 28],
    ['28.0', 28],
    [MAX_COUNT, MAX_COUNT],
    [null, null],
    [undefined, null],
  ])('the count %s is read as %s', (written, count) => {
    expect(Object.is(parseCount(written), count)).toBe(true)
  })

  test.each([
    -1,
    2.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    MAX_COUNT + 1,
    '',
    ' 1',
    '-3',
    '1e3',
    '0x10',
    true,
    {},
    [],
    [1],
  ])('%s is not a count', (written) => {
    expect(parseCount(written)).toBe('invalid')
  })

  test('a count that is not reported adds nothing, and a sum of only such counts is not reported', () => {
    expect(addCounts(1, null, 2)).toBe(3)
    expect(addCounts(null, null)).toBe(null)
  })

  test('an impossible count spoils a sum, as does a sum beyond the largest count', () => {
    expect(addCounts(1, 'invalid')).toBe('invalid')
    expect(addCounts(MAX_COUNT, 1)).toBe('invalid')
  })

  test('a count cannot be less than its part', () => {
    expect(subtractCounts(5, 3)).toBe(2)
    expect(subtractCounts(3, 5)).toBe('invalid')
    expect(subtractCounts(null, 5)).toBe(null)
  })

  test('a count reported under several names is the first that was reported', () => {
    expect(firstCount(null, 0, 7)).toBe(0)
    expect(firstCount(null, 'invalid', 7)).toBe('invalid')
  })
})

describe('usage', () => {
  test('usage with an impossible count keeps the others and is invalid', () => {
    expect(countUsage({ inputTokens: 0, outputTokens: 'invalid' })).toEqual({
      usage: { ...NO_USAGE, inputTokens: 0 },
      invalid: true,
    })
  })

  test('usage disagrees with a total that is not its sum, but not with one that was not reported', () => {
    const usage = { ...NO_USAGE, inputTokens: 3, outputTokens: 4 }
    expect(totalDisagrees(7, usage)).toBe(false)
    expect(totalDisagrees(8, usage)).toBe(true)
    expect(totalDisagrees(null, usage)).toBe(false)
  })

  test('the raw text of usage is cut at 8 KiB and never inside a character', () => {
    expect(boundRawUsage('{"a":1}')).toBe('{"a":1}')
    const cut = boundRawUsage(`{"a":"${'é😀'.repeat(3000)}"}`)
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(8192)
    expect(Buffer.byteLength(cut)).toBeGreaterThan(8180)
    expect(cut).not.toContain('\ufffd')
  })
})

test('of a message that a fallback served the top level counts, also where an advisor was asked before', () => {
  const iterations = [
    { type: 'message', model: 'made-refuser', input_tokens: 50, output_tokens: 1 },
    { type: 'advisor_message', model: 'made-advisor', input_tokens: 500, output_tokens: 9 },
    { type: 'fallback_message', model: 'made-answerer', input_tokens: 50, output_tokens: 5 },
  ]
  const usage = { input_tokens: 50, output_tokens: 5, iterations }
  expect(anthropicUsage(usage, 'made-answerer')).toMatchObject({
    usage: { inputTokens: 50, outputTokens: 5 },
    parts: null,
  })
})

test('a message that fails after running counts, and before its end, is not counted whole', () => {
  const message = createAnthropicAccumulator()
  message.add(
    { type: 'message_start', message: { usage: { input_tokens: 9, output_tokens: 1 } } },
    null,
    false,
  )
  message.add({ type: 'message_delta', delta: {}, usage: { output_tokens: 5 } }, null, false)
  expect(message.snapshot(true).usageSource).toBe('reported')
  message.add({ type: 'error', error: { type: 'overloaded_error' } }, null, true)
  expect(message.snapshot(true)).toMatchObject({ usageSource: 'partial', usage: { outputTokens: 5 } })
})

test("cached tokens of 0 say nothing where a model may have no cache, under Anthropic's names in OpenAI's form", () => {
  const usage = { prompt_tokens: 9, completion_tokens: 1, cache_read_input_tokens: 0 }
  expect(chatUsage(usage, {}, null).usage.cacheReadTokens).toBeNull()
  expect(chatUsage({ ...usage, cache_read_input_tokens: 4 }, {}, null).usage.cacheReadTokens).toBe(4)
})

test('cached sound and cached pictures are read apart of what is cached', () => {
  const cached = { cached_tokens: 7, cached_tokens_details: { audio_tokens: 2, image_tokens: 3 } }
  expect(
    responsesUsage({ input_tokens: 9, output_tokens: 1, input_tokens_details: cached }).usage,
  ).toMatchObject({ cacheReadTokens: 7, cacheReadAudioTokens: 2, cacheReadImageTokens: 3 })
})
