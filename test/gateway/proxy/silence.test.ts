import { expect, test } from 'vitest'
import { UpstreamError } from '#http-client/answer-handler.ts'
import { isSilence } from '../../../src/gateway/proxy/failures.ts'
import { readingOf } from '../../../src/providers/reading.ts'

const SILENT = new UpstreamError('body_timeout', 'nothing came')

function dialectOf(provider: 'mcp' | 'openai', method: string, hasBody: boolean) {
  return readingOf(provider, { method, hasBody, webSocket: false }, '/v1/chat/completions').dialect
}

test('a stream by which a server of tools says what comes up may be silent, and nothing else may', () => {
  const stream = dialectOf('mcp', 'GET', false)
  expect(isSilence(stream, SILENT)).toBe(true)
  for (const error of [null, new Error('x'), new UpstreamError('headers_timeout', 'nothing came')])
    expect(isSilence(stream, error)).toBe(false)
  expect(isSilence(dialectOf('mcp', 'POST', true), SILENT)).toBe(false)
  expect(isSilence(dialectOf('openai', 'GET', false), SILENT)).toBe(false)
  expect(isSilence(null, SILENT)).toBe(false)
})
