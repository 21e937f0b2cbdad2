import { beforeEach, expect, test, vi } from 'vitest'
import { UpstreamError } from '#http-client/answer-handler.ts'
import { failureCauseOf } from '../../../src/gateway/proxy/failures.ts'
import { CredentialLog } from '../../../src/gateway/recording/call-log.ts'
import { GatewayError } from '../../../src/http/errors.ts'

const log = { error: vi.fn(), info: vi.fn() }
const CALL = {
  callId: '0190c1d2-0000-7000-8000-000000000000',
  arrivedAtMs: 0,
  clientId: '1',
  keyId: '1',
  upstream: 'openai',
  provider: 'openai',
  method: 'POST',
  path: '/v1/chat/completions',
  requestedModel: null,
  webSocket: false,
} as const

let watch: CredentialLog

beforeEach(() => {
  vi.clearAllMocks()
  watch = new CredentialLog(log)
})

function ended(status: number | null): void {
  watch.ended({ ...CALL, status } as unknown as Parameters<CredentialLog['ended']>[0])
}

test('a refused credential has one line at its begin and one at its end, whatever number of calls', () => {
  ended(200)
  for (let n = 0; n < 100; n += 1) {
    watch.refused(CALL)
    ended(401)
    ended(null)
  }
  expect(log.error).toHaveBeenCalledTimes(1)
  expect(log.error.mock.calls[0]?.[0]).toMatchObject({
    event: 'upstream.credential_refused',
    upstream: 'openai',
  })
  expect(log.info).not.toHaveBeenCalled()
  for (let n = 0; n < 100; n += 1) ended(200)
  expect(log.info).toHaveBeenCalledTimes(1)
})

test('a client that makes refusals and successes in turn does not flood the log', () => {
  for (let n = 0; n < 1_000; n += 1) {
    watch.refused(CALL)
    ended(200)
  }
  expect(log.error.mock.calls.length + log.info.mock.calls.length).toBeLessThan(4)
})

test.each([
  [null, Object.assign(new Error(), { code: 'ENOTFOUND' }), 'dns'],
  [null, Object.assign(new Error(), { code: 'ECONNREFUSED' }), 'connect_refused'],
  [null, Object.assign(new Error(), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }), 'tls'],
  [null, Object.assign(new Error(), { code: 'ECONNRESET' }), 'broken_off'],
  [null, new UpstreamError('headers_timeout', ''), 'slow_answer'],
  [200, new UpstreamError('body_timeout', ''), 'slow_answer'],
  [null, new UpstreamError('connect_timeout', ''), 'connect_timeout'],
  [401, new GatewayError('upstream_credential_refused'), 'credential_refused'],
  [200, new GatewayError('invalid_request'), null],
  [529, null, 'server_error'],
  [429, null, 'rate_limited'],
  [404, null, null],
  [200, null, null],
])('status %s with %s failed by %s', (status, error, cause) => {
  expect(failureCauseOf(status, error)).toBe(cause)
})
