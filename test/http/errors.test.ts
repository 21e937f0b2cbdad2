import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { errorBody } from '../../src/http/error-shape.ts'
import { ERROR_NAMES, ERRORS, GatewayError } from '../../src/http/errors.ts'

test.each([
  ['invalid_request', 400, 'invalid_request_error', null],
  ['invalid_api_key', 401, 'authentication_error', 'invalid_api_key'],
  ['key_inactive', 403, 'permission_error', 'key_inactive'],
  ['client_disabled', 403, 'permission_error', 'client_disabled'],
  ['model_not_allowed', 403, 'permission_error', 'model_not_allowed'],
  ['path_not_allowed', 403, 'permission_error', 'path_not_allowed'],
  ['not_found', 404, 'invalid_request_error', 'not_found'],
  ['unsupported_encoding', 415, 'invalid_request_error', 'unsupported_encoding'],
  ['upstream_unreachable', 502, 'upstream_error', 'upstream_unreachable'],
  ['upstream_timeout', 504, 'upstream_error', 'upstream_timeout'],
  ['metering_unavailable', 503, 'service_unavailable', 'metering_unavailable'],
  ['storage_unavailable', 503, 'service_unavailable', 'storage_unavailable'],
  ['query_timeout', 504, 'service_unavailable', 'query_timeout'],
  ['overloaded', 503, 'service_unavailable', 'overloaded'],
] as const)('%s is the error that the contract promises', (name, status, type, code) => {
  expect(ERRORS[name]).toMatchObject({ status, type, code })
})

test('every error of the table is sent by some code, so /openapi.json promises no other', () => {
  const code = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !/^(?:http\/errors\.ts$|operator\/openapi\/)/.test(file))
    .map((file) => readFileSync(join('src', file), 'utf8'))
    .join('\n')
  expect(ERROR_NAMES.filter((name) => !code.includes(`'${name}'`))).toEqual([])
})

test("an error has the upstream's own body where one is given", () => {
  const body = { detail: 'Not found' }
  expect(errorBody('openai', 'not_found', { body, message: 'not this one' })).toBe(body)
})

test('what is over a limit is an invalid request', () => {
  expect(ERRORS.body_too_large).toMatchObject({ status: 413, type: 'invalid_request_error' })
  expect(ERRORS.headers_too_large).toMatchObject({ status: 431, type: 'invalid_request_error' })
})

test('an error has OpenAI’s shape, on Anthropic’s paths Anthropic’s', () => {
  const detail = { param: 'days', message: 'days must be a whole number from 1 to 365.' }
  expect(JSON.stringify(errorBody('openai', 'invalid_request', detail))).toBe(
    '{"error":{"message":"days must be a whole number from 1 to 365.","type":"invalid_request_error",' +
      '"param":"days","code":null}}',
  )
  expect(JSON.stringify(errorBody('anthropic', 'invalid_api_key'))).toBe(
    `{"type":"error","error":{"type":"authentication_error","message":${JSON.stringify(ERRORS.invalid_api_key.message)}}}`,
  )
})

test('a thrown error keeps its cause for the log and out of the answer', () => {
  const error = new GatewayError('storage_unavailable', { cause: new Error('password=hunter2') })
  expect(error.statusCode).toBe(503)
  expect(JSON.stringify(errorBody('openai', error.error, error.detail))).not.toContain('hunter2')
  expect(String(error.cause)).toContain('hunter2')
})
