import { expect, test } from 'vitest'
import { type ErrorShape, errorBody, errorHeadersIn, errorStatus } from '../../src/http/error-shape.ts'
import { ERROR_NAMES, ERRORS } from '../../src/http/errors.ts'

const SHAPES = ['openai', 'anthropic', 'google', 'aws', 'ollama', 'message', 'xai', 'json_rpc'] as const
const message = 'The budget of 5 USD a day is spent.'

test.each([
  ['google', { error: { code: 429, message, status: 'RESOURCE_EXHAUSTED', details: expect.any(Array) } }],
  ['aws', { message }],
  ['ollama', { error: message }],
  ['message', { object: 'error', message, type: 'rate_limit_error', param: null, code: 'budget_exceeded' }],
  ['xai', { code: 'budget_exceeded', error: message }],
  [
    'json_rpc',
    {
      jsonrpc: '2.0',
      error: {
        code: -32000,
        message,
        data: { type: 'rate_limit_error', code: 'budget_exceeded', param: null },
      },
    },
  ],
  ['openai', { error: { message, type: 'rate_limit_error', param: null, code: 'budget_exceeded' } }],
  ['anthropic', { type: 'error', error: { type: 'rate_limit_error', message } }],
] as const)('a spent budget as libraries of %s read it', (shape, body) => {
  expect(errorBody(shape, 'budget_exceeded', { message })).toEqual(body)
})

test('a spent budget is not tried again: AWS’s libraries go by the status, Google’s by a quota of a day', () => {
  expect([errorStatus('aws', 'budget_exceeded'), errorHeadersIn('aws', 'budget_exceeded')]).toMatchObject([
    400,
    { 'x-amzn-errortype': 'ServiceQuotaExceededException' },
  ])
  expect(JSON.stringify(errorBody('google', 'budget_exceeded'))).toMatch(
    /QuotaFailure.*"quotaId":"\w+PerDay"/,
  )
  const rate = { headers: { 'retry-after': '7' } }
  expect(errorHeadersIn('aws', 'rate_limit_exceeded', rate)).toMatchObject({
    'x-amzn-errortype': 'ThrottlingException',
    'retry-after': '7',
  })
  const google = JSON.stringify(errorBody('google', 'rate_limit_exceeded', rate))
  expect(google).toContain('"retryDelay":"7s"')
  expect(google).not.toContain('PerDay')
})

test('every error has its sentence in every shape, a status of its class, and is not kept by caches', () => {
  for (const shape of SHAPES satisfies readonly ErrorShape[]) {
    for (const name of ERROR_NAMES) {
      expect(JSON.stringify(errorBody(shape, name))).toContain(JSON.stringify(ERRORS[name].message))
      expect(Math.floor(errorStatus(shape, name) / 100)).toBe(Math.floor(ERRORS[name].status / 100))
      const headers = errorHeadersIn(shape, name)
      expect(headers['cache-control']).toBe('no-store')
      expect('www-authenticate' in headers).toBe(ERRORS[name].status === 401)
      expect('x-amzn-errortype' in headers).toBe(shape === 'aws')
    }
  }
})

test.each([
  ['invalid_api_key', 'UnrecognizedClientException'],
  ['key_inactive', 'AccessDeniedException'],
  ['model_not_allowed', 'AccessDeniedException'],
  ['rate_limit_exceeded', 'ThrottlingException'],
  ['not_found', 'ResourceNotFoundException'],
  ['upstream_unreachable', 'ServiceUnavailableException'],
] as const)('%s is %s to libraries of AWS', (name, type) => {
  expect(errorHeadersIn('aws', name)['x-amzn-errortype']).toBe(type)
})
