import { expect, test } from 'vitest'
import type { UpstreamFailure } from '../../../src/call/call-ports.ts'
import { UpstreamHealth } from '../../../src/gateway/health/upstream-health.ts'
import { aRecord } from '../../rollup/records.ts'
import { NO_METRICS } from '../../support/no-metrics.ts'

let nowMs = 0
const health = () => new UpstreamHealth(() => nowMs)

function fail(of: UpstreamHealth, cause: UpstreamFailure) {
  const record = aRecord({ status: 502, outcome: 'upstream_error' })
  const observer = of.watch(NO_METRICS)
  observer.upstreamFailed(record, cause)
  observer.callEnded(record)
}

test('calls and failures by cause are those of five minutes', () => {
  const watched = health()
  fail(watched, 'dns')
  fail(watched, 'dns')
  watched.watch(NO_METRICS).callEnded(aRecord())
  nowMs += 200_000
  fail(watched, 'tls')
  const [first] = watched.report()
  expect(first).toMatchObject({ upstream: 'openai', calls: 4, failures: { dns: 2, tls: 1 }, failedInARow: 1 })
  nowMs += 150_000
  expect(watched.report()).toMatchObject([{ calls: 1, failures: { tls: 1 } }])
  nowMs += 300_000
  expect(watched.report()).toEqual([])
})

test('a refused credential is reported until a call succeeds, or the configuration is another', () => {
  const watched = health()
  fail(watched, 'credential_refused')
  nowMs += 600_000
  expect(watched.report()).toMatchObject([{ calls: 0, refusesCredential: true }])
  watched.watch(NO_METRICS).callEnded(aRecord())
  expect(watched.report()).toMatchObject([{ refusesCredential: false, servedInARow: 1 }])
  fail(watched, 'credential_refused')
  watched.reset()
  expect(watched.report()).toEqual([])
})
