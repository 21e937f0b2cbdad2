import { expect, test } from 'vitest'
import type { UpstreamFailure } from '../../../src/call/call-ports.ts'
import { UpstreamHealth } from '../../../src/gateway/health/upstream-health.ts'
import { aRecord } from '../../rollup/records.ts'
import { NO_METRICS } from '../../support/no-metrics.ts'

let nowMs = 0
const open = new Map<string, 'open' | 'half_open'>()
const health = () => new UpstreamHealth({ report: () => open }, () => nowMs)

function fail(of: UpstreamHealth, cause: UpstreamFailure, clientId = 'cli_a') {
  const record = aRecord({ status: 502, outcome: 'upstream_error', clientId })
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

test('the cause of three failures in a row is said, until one has another cause or a call succeeds', () => {
  const watched = health()
  const cause = () => watched.report()[0]?.causeInARow
  for (let call = 0; call < 9; call += 1) fail(watched, 'rate_limited')
  expect(cause()).toBe('rate_limited')
  fail(watched, 'server_error')
  fail(watched, 'server_error')
  expect(cause()).toBe(null)
  fail(watched, 'server_error')
  expect(cause()).toBe('server_error')
  watched.watch(NO_METRICS).callEnded(aRecord())
  expect(cause()).toBe(null)
  fail(watched, 'server_error')
  expect(cause()).toBe(null)
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

const serve = (of: UpstreamHealth, clientId: string) => of.watch(NO_METRICS).callEnded(aRecord({ clientId }))

test('calls that fail at one client while others are served are its own; at two clients they are not', () => {
  const watched = health()
  serve(watched, 'cli_b')
  nowMs += 30_000
  for (let call = 0; call < 5; call += 1) fail(watched, 'server_error', 'cli_a')
  expect(watched.report()).toMatchObject([{ failedClient: 'cli_a', othersServed: true }])
  serve(watched, 'cli_a')
  expect(watched.report()).toMatchObject([{ failedClient: 'cli_a', othersServed: true }])
  nowMs += 40_000
  expect(watched.report()).toMatchObject([{ failedClient: 'cli_a', othersServed: false }])
  fail(watched, 'server_error', 'cli_b')
  serve(watched, 'cli_c')
  expect(watched.report()).toMatchObject([{ failedClient: null, othersServed: false }])
  for (let call = 0; call < 5; call += 1) serve(watched, 'cli_b')
  fail(watched, 'server_error', 'cli_b')
  expect(watched.report()).toMatchObject([{ failedClient: 'cli_b', othersServed: true }])
})

test('a refused key is one client’s trouble only where others are served behind the refusal', () => {
  const watched = health()
  serve(watched, 'cli_b')
  nowMs += 10
  fail(watched, 'credential_refused', 'cli_a')
  expect(watched.report()).toMatchObject([{ refusesCredential: true, othersServed: false }])
  expect(watched.refusing()).toBe(1)
  nowMs += 10
  serve(watched, 'cli_b')
  fail(watched, 'credential_refused', 'cli_a')
  expect(watched.report()).toMatchObject([
    { refusesCredential: true, failedClient: 'cli_a', othersServed: true },
  ])
  expect(watched.refusing()).toBe(0)
})

test('an upstream whose circuit is open is there though no call goes to it', () => {
  const watched = health()
  open.set('main', 'half_open')
  expect(watched.report()).toMatchObject([{ upstream: 'main', calls: 0, circuit: 'half_open' }])
  open.clear()
  expect(watched.report()).toEqual([])
})
