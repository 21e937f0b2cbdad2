import { expect, test } from 'vitest'
import { estimateInput, openDeliveredSample } from '../../../src/gateway/estimation/estimate.ts'
import type { PromptFormat } from '../../../src/providers/dialect.ts'
import { dialectOf } from '../../providers/recordings/dialect-of.ts'
import { loadRecordings } from '../../providers/recordings/recordings.ts'

const TEXT: PromptFormat = {}
const OPENAI = /^(openai|azure-openai|litellm-proxy)$/
const recordings = loadRecordings()

test("OpenAI's output is estimated within 10 %, where all of it was delivered as text", async () => {
  let compared = 0
  for (const { provider, path, body, meta } of recordings) {
    const { method, expected, request_model } = meta
    const tokens = expected.output_tokens ?? 0
    const dialect = OPENAI.test(provider) ? dialectOf(provider, method, path) : null
    const isText = dialect !== null && !/images|realtime/.test(dialect.name) && !expected.reasoning_tokens
    if (!isText || tokens < 40) continue
    const sample = openDeliveredSample(dialect, 'client')
    for (let at = 0; at < body.length; at += 1000) sample.push(body.subarray(at, at + 1000))
    const estimate = await sample.estimateOutput(expected.model ?? request_model ?? null)
    expect(Math.abs(estimate - tokens) / tokens, `${estimate} for ${tokens}`).toBeLessThanOrEqual(0.1)
    compared++
  }
  expect(compared).toBeGreaterThan(3)
})

test('half of the prompts without tools are estimated within a tenth, two in three within a quarter', async () => {
  const ratios: number[] = []
  for (const { provider, path, meta } of recordings) {
    const { method, expected, request_model, request_body } = meta
    const isWhole =
      request_body != null && !('_trimmed' in request_body) && Object.keys(request_body).length > 2
    if (!isWhole || 'tools' in request_body || !expected.input_tokens) continue
    const body = Buffer.from(JSON.stringify(request_body))
    const format = dialectOf(provider, method, path) ?? TEXT
    const model = expected.model ?? request_model ?? null
    const estimate = await estimateInput('client', format, body, body.length, model)
    ratios.push((estimate ?? 0) / expected.input_tokens)
  }
  const shareWithin = (share: number) =>
    ratios.filter((ratio) => Math.abs(ratio - 1) <= share).length / ratios.length
  expect(shareWithin(0.25)).toBeGreaterThan(0.65)
  expect(shareWithin(0.1)).toBeGreaterThan(0.5)
})
