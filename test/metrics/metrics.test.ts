import Fastify from 'fastify'
import { beforeEach, expect, test } from 'vitest'
import type { CallRecord } from '../../src/call/call-record.ts'
import { NO_UNITS, NO_USAGE } from '../../src/call/usage.ts'
import { CONDITIONS } from '../../src/doctor/conditions.ts'
import type { ProcessState } from '../../src/domain/conditions/process-state.ts'
import type { KeyDirectoryStats } from '../../src/keys/key-directory.ts'
import type { LedgerStats } from '../../src/ledger/ledger.ts'
import { buildMetrics, type GatewayMetricsOptions, type Metrics } from '../../src/metrics/metrics.ts'
import type { CollisionCount } from '../../src/metrics/state-metrics.ts'
import type { KafkaBacklog, PriceFreshness, WaitingJobs } from '../../src/metrics/worker-metrics.ts'
import { metrics as metricsRoute } from '../../src/operator/metrics.ts'

const LEDGER: LedgerStats = {
  uncommittedRecords: 7,
  uncommittedBytes: 4096,
  oldestUncommittedMs: 1_500,
  openCalls: 3,
  last: 40,
  synced: 39,
  sent: 38,
  committedOffset: 33,
  pruned: 10,
  adopted: 2,
  corrupt: 1,
  redisConnected: true,
  journalWritable: false,
}

const GAUGES = CONDITIONS.flatMap(({ gauges }) => gauges ?? [])
const STATE: ProcessState = {
  keysReady: true,
  postgresReachable: false,
  redisUsable: true,
  redisConnected: true,
  oldestUncommittedMs: 1_500,
  journalWritable: false,
  journalMaxBytes: 8_192,
  canTakeCalls: false,
  replicaUsed: null,
  kafkaBehind: false,
  limitsDegraded: false,
  clockOff: true,
  clockOffsetMs: 2_000,
  disk: { bytes: 1_000, freeBytes: 50 },
  certificateEndsAtMs: null,
  upstreamsRefusing: 0,
  connectionShortage: null,
}

const LIMITS = {
  stats: () => ({ exchanges: 40, exchangeFailures: 2, waiting: 1, isDegraded: true }),
  refusals: () => new Map([['requests', 3]]),
}

const STORES = {
  circuits: () => new Map([['away', 'open']]),
  losses: async () => ({ gaps: 2, missingRecords: 5, deadLetters: 1 }),
  processes: async () => [{ kind: 'worker', living: 2, silent: 1, longestSilentMs: 90_000 }],
  budgets: async () => [{ limit: 'lim_1', per: 'day', client: null, used: 0.5 }],
  clients: null,
}

const RECORD: CallRecord = {
  callId: '01890000-0000-7000-8000-000000000000',
  arrivedAtMs: 0,
  clientId: 'cli_secret',
  keyId: 'key_secret',
  upstream: 'default',
  provider: 'openai',
  method: 'POST',
  path: '/v1/chat/completions',
  requestedModel: 'gpt-4o',
  webSocket: false,
  reportedModel: 'gpt-4o',
  model: 'gpt-4o',
  status: 200,
  outcome: 'complete',
  usageSource: 'reported',
  usage: { ...NO_USAGE, inputTokens: 100, outputTokens: 20, cacheReadTokens: 60, cacheWrite5mTokens: 5 },
  units: NO_UNITS,
  usageRaw: null,
  latencyUs: 1_500,
  ttftUs: 900,
  costPico: '450000000',
  priceId: 'p',
  price: null,
  responseId: null,
  failedInBody: false,
}

let metrics: Metrics
let keys: KeyDirectoryStats
let collisions: readonly CollisionCount[]
let prices: PriceFreshness | null = null
let jobs: readonly WaitingJobs[]
let kafka: KafkaBacklog | null

beforeEach(() => {
  collisions = []
  jobs = []
  kafka = null
  keys = { keys: 12, storeReachable: true, staleMs: 250 }
  metrics = buildWith({})
})

function buildWith(changes: Partial<GatewayMetricsOptions>): Metrics {
  return buildMetrics({
    knowsModel: (_call, model) => model.startsWith('gpt-') || model.startsWith('listed'),
    ledger: () => LEDGER,
    keys: () => keys,
    collisions: async () => collisions,
    prices: async () => prices,
    gauges: GAUGES,
    state: () => STATE,
    replica: () => null,
    jobs: async () => jobs,
    billing: async () => [],
    invoices: async () => [],
    triedLimits: async () => [],
    kafka: async () => kafka,
    ...STORES,
    limits: LIMITS,
    version: '1.2.3',
    isTraced: false,
    ...changes,
  })
}

interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Reads the exposition format strictly: what is not a comment must be a sample, each only once. */
function parse(text: string): readonly Sample[] {
  const samples = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const match = /^([a-z_:][a-z0-9_:]*)(?:\{(.*)\})? (\S+)$/i.exec(line)
      if (match === null) throw new Error(`not a sample: ${line}`)
      const [, name = '', labelText = '', value = ''] = match
      const labels = [...labelText.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)/g)]
      expect(labels.map(([whole]) => whole).join('')).toBe(labelText)
      return {
        name,
        labels: Object.fromEntries(labels.map(([, label = '', text = '']) => [label, text])),
        value: value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value === 'Nan' ? 'NaN' : value),
      }
    })
  const identities = samples.map(({ name, labels }) => JSON.stringify([name, Object.entries(labels).sort()]))
  expect(new Set(identities).size).toBe(samples.length)
  return samples
}

async function samples(): Promise<readonly Sample[]> {
  return parse((await metrics.render()) ?? '')
}

async function valuesOf(name: string): Promise<readonly Omit<Sample, 'name'>[]> {
  return (await samples())
    .filter((sample) => sample.name === name)
    .map(({ labels, value }) => ({ labels, value }))
}

test('the page is Prometheus text with a type and a meaning for every family', async () => {
  metrics.observer.callEnded(RECORD)
  const app = Fastify()
  metricsRoute(app, metrics)
  const { statusCode, headers, body } = await app.inject('/metrics')
  expect(statusCode).toBe(200)
  expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
  const families = new Set(
    [...body.matchAll(/^# TYPE (\S+) (?:counter|gauge|histogram)$/gm)].map(([, name]) => name),
  )
  const meant = new Set([...body.matchAll(/^# HELP (\S+) \S/gm)].map(([, name]) => name))
  for (const name of new Set(parse(body).map(({ name }) => name))) {
    const family = name.replace(/_(?:bucket|sum|count)$/, '')
    expect(families.has(name) || families.has(family), name).toBe(true)
    expect(meant.has(families.has(name) ? name : family), name).toBe(true)
  }
})

test('where calls are traced, all of it is OpenMetrics too, and to nobody else', async () => {
  const traceId = 'a'.repeat(32)
  const traced = buildWith({ isTraced: true })
  traced.observer.callEnded(RECORD)
  traced.callTraced({ ...RECORD, traceId })
  const app = Fastify()
  metricsRoute(app, traced)
  const page = (accept: string) => app.inject({ url: '/metrics', headers: { accept } })
  const { headers, body, statusCode } = await page(
    'application/openmetrics-text;version=1.0.0,text/plain;q=0.5',
  )
  expect({ statusCode, body }).toMatchObject({ statusCode: 200 })
  expect(headers['content-type']).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
  expect(body).toContain(`} 1 # {trace_id="${traceId}"} 0.0015 `)
  expect(body).toContain(`} 1 # {trace_id="${traceId}"} 0.0009 `)
  const plain = await page('text/plain')
  expect(plain.headers['content-type']).toMatch(/^text\/plain/)
  const withoutTraces = body.replace(/ # \{.*$/gm, '').replace(/# EOF\n$/, '')
  const names = (samples: readonly Sample[]) => samples.map(({ name }) => name).sort()
  expect(names(parse(withoutTraces))).toEqual(names(parse(plain.body)))
})

test('a call is counted once, by how it ended', async () => {
  metrics.observer.callStarted(RECORD)
  metrics.observer.callEnded(RECORD)
  metrics.observer.callEnded(RECORD)
  metrics.observer.callEnded({ ...RECORD, status: null, outcome: 'upstream_error', usageSource: 'none' })
  const labels = { provider: 'openai', upstream: 'default' }
  const expected = [
    {
      labels: { ...labels, outcome: 'complete', status_class: '2xx', usage_source: 'reported' },
      value: 2,
    },
    {
      labels: { ...labels, outcome: 'upstream_error', status_class: 'none', usage_source: 'none' },
      value: 1,
    },
  ]
  expect(await valuesOf('tallygate_calls_total')).toEqual(expected)
  expect(await valuesOf('tallygate_calls_total')).toEqual(expected) // asking changes nothing
})

test('tokens and cost add up by provider and model, cost to the picodollar', async () => {
  metrics.observer.callEnded(RECORD)
  metrics.observer.callEnded({ ...RECORD, costPico: '1' })
  const labels = { provider: 'openai', model: 'gpt-4o' }
  expect(await valuesOf('tallygate_tokens_total')).toEqual([
    { labels: { ...labels, class: 'input' }, value: 200 },
    { labels: { ...labels, class: 'output' }, value: 40 },
    { labels: { ...labels, class: 'cache_read' }, value: 120 },
    { labels: { ...labels, class: 'cache_write_5m' }, value: 10 },
  ])
  expect(await valuesOf('tallygate_cost_usd_total')).toEqual([{ labels, value: 0.000450000001 }])
  expect(await valuesOf('tallygate_unpriced_calls_total')).toEqual([])
})

test('a call without a price is counted as such and adds no cost', async () => {
  metrics.observer.callEnded({ ...RECORD, model: 'listed-but-unpriced', costPico: null })
  expect(await valuesOf('tallygate_unpriced_calls_total')).toEqual([
    { labels: { provider: 'openai', model: 'listed-but-unpriced', reason: 'unknown' }, value: 1 },
  ])
  expect(await valuesOf('tallygate_cost_usd_total')).toEqual([])
})

test('calls without a cost are counted by reason, and an unknown reason makes no label', async () => {
  for (const unpricedReason of ['no_reader', 'no_price', 'no_reader', 'made-up']) {
    metrics.observer.callEnded({ ...RECORD, costPico: null, unpricedReason })
  }
  const labels = { provider: 'openai', model: 'gpt-4o' }
  expect(await valuesOf('tallygate_unpriced_calls_total')).toEqual([
    { labels: { ...labels, reason: 'no_reader' }, value: 2 },
    { labels: { ...labels, reason: 'no_price' }, value: 1 },
    { labels: { ...labels, reason: 'unknown' }, value: 1 },
  ])
})

test('a call that costs more than one should is counted as such', async () => {
  metrics.observer.callEnded(RECORD)
  metrics.observer.callEnded({ ...RECORD, suspect: true })
  expect(await valuesOf('tallygate_suspect_calls_total')).toEqual([
    { labels: { provider: 'openai' }, value: 1 },
  ])
})

test('jobs that have not reported what they used are shown by upstream, with the age of the oldest', async () => {
  expect(await valuesOf('tallygate_unsettled_jobs')).toEqual([])
  jobs = [{ upstream: 'openai', jobs: 3, oldestAt: new Date(Date.now() - 90_000) }]
  const labels = { upstream: 'openai' }
  expect(await valuesOf('tallygate_unsettled_jobs')).toEqual([{ labels, value: 3 }])
  const [age] = await valuesOf('tallygate_oldest_unsettled_job_seconds')
  expect(age?.labels).toEqual(labels)
  expect(age?.value).toBeGreaterThanOrEqual(90)
  expect(age?.value).toBeLessThan(150)
})

test('calls on their way to Kafka are shown where it is in use, with the age of the oldest', async () => {
  expect(await valuesOf('tallygate_kafka_waiting_calls')).toEqual([])
  const oldestAt = new Date(Date.now() - 90_000)
  kafka = { waitingCalls: 12, waitingBytes: 900, oldestAt, sentCalls: 5, allSkipped: 3 }
  const one = async (name: string) => (await valuesOf(`tallygate_kafka_${name}`)).map(({ value }) => value)
  expect(await one('waiting_calls')).toEqual([12])
  expect(await one('waiting_bytes')).toEqual([900])
  expect(await one('sent_calls_total')).toEqual([5])
  expect(await one('skipped_calls_total')).toEqual([3])
  const [age = 0] = await one('oldest_waiting_seconds')
  expect(age).toBeGreaterThanOrEqual(90)
  expect(age).toBeLessThan(150)
  kafka = { ...kafka, waitingCalls: 0, oldestAt: null }
  expect(await one('oldest_waiting_seconds')).toEqual([0])
  expect((await valuesOf('tallygate_kafka_waiting_calls'))[0]?.labels).toEqual({})
})

test('refused calls are shown by reason, and how limits are shared', async () => {
  expect(await valuesOf('tallygate_refused_calls_total')).toEqual([
    { labels: { reason: 'requests' }, value: 3 },
  ])
  const one = async (name: string) => (await valuesOf(`tallygate_limit_${name}`)).map(({ value }) => value)
  expect(await one('exchanges_total')).toEqual([40])
  expect(await one('exchange_failures_total')).toEqual([2])
  expect(await one('waiting_calls')).toEqual([1])
  expect(await one('degraded')).toEqual([1])
})

test('ids of responses that came twice are shown, and what was last known while the store is away', async () => {
  collisions = [{ upstream: 'ollama', calls: 3n }]
  const shown = [{ labels: { upstream: 'ollama' }, value: 3 }]
  const name = 'tallygate_response_id_collisions_total'
  expect(await valuesOf(name)).toEqual(shown)
  let isAway = false
  const other = buildMetrics({
    knowsModel: () => true,
    ledger: () => LEDGER,
    keys: () => keys,
    collisions: async () => {
      if (isAway) throw new Error('away')
      return collisions
    },
    prices: async () => null,
    gauges: GAUGES,
    state: () => STATE,
    replica: () => null,
    jobs: async () => jobs,
    billing: async () => [],
    invoices: async () => [],
    triedLimits: async () => [],
    kafka: async () => kafka,
    ...STORES,
    limits: LIMITS,
    version: '1',
    isTraced: false,
  })
  const line = `${name}{upstream="ollama"} 3`
  expect(await other.render()).toContain(line)
  isAway = true
  expect(await other.render()).toContain(line)
})

test('whether newer prices were refused, and since when there were none, is shown', async () => {
  const refused = 'tallygate_prices_refresh_refused'
  const fresh = 'tallygate_prices_fresh_timestamp_seconds'
  const shown = async () => [(await valuesOf(refused))[0]?.value, (await valuesOf(fresh))[0]?.value]
  expect(await shown()).toEqual([0, 0])
  prices = { last: { outcome: 'refused', freshAt: new Date(5_000) }, freshAt: new Date(5_000), held: 2 }
  expect(await shown()).toEqual([1, 5])
  expect((await valuesOf('tallygate_prices_held_models'))[0]?.value).toBe(2)
  prices = { last: { outcome: 'unreachable', freshAt: new Date(5_000) }, freshAt: new Date(5_000), held: 0 }
  expect(await shown()).toEqual([0, 5])
  const age = (await valuesOf('tallygate_prices_age_seconds'))[0]?.value ?? 0
  expect(Math.abs(age - (Date.now() - 5_000) / 1000)).toBeLessThan(60)
})

test('no client, no key and no unlisted model is ever a label', async () => {
  metrics.observer.callEnded({ ...RECORD, model: 'made-up-by-a-client', costPico: null })
  metrics.observer.callEnded({ ...RECORD, model: '(unknown)', costPico: null })
  const text = await metrics.render()
  for (const secret of ['cli_secret', 'key_secret', 'made-up-by-a-client', '(unknown)', '/v1/chat']) {
    expect(text).not.toContain(secret)
  }
  expect(await valuesOf('tallygate_unpriced_calls_total')).toEqual([
    { labels: { provider: 'openai', model: 'other', reason: 'unknown' }, value: 2 },
  ])
})

test('a price for any name does not make any number of labels', async () => {
  for (let index = 0; index < 1_000; index += 1) {
    metrics.observer.callEnded({ ...RECORD, model: `gpt-${index}`, costPico: null })
  }
  const unpriced = await valuesOf('tallygate_unpriced_calls_total')
  expect(unpriced.length).toBeLessThanOrEqual(201)
  expect(unpriced.reduce((sum, { value }) => sum + value, 0)).toBe(1_000)
})

test('a model name with quotes, line ends and backslashes stays inside its label', async () => {
  metrics.observer.callEnded({ ...RECORD, model: 'gpt-"\n\\} 1\ntallygate_calls_total 99' })
  const tokens = await valuesOf('tallygate_tokens_total')
  expect(tokens[0]?.labels.model).toBe('gpt-\\"\\n\\\\} 1\\ntallygate_calls_total 99')
})

test('latencies are histograms in seconds, WebSocket sessions left out', async () => {
  metrics.observer.callEnded(RECORD)
  metrics.observer.callEnded({ ...RECORD, latencyUs: 3_000_000, ttftUs: null })
  metrics.observer.callEnded({ ...RECORD, latencyUs: 9_000_000_000 })
  metrics.observer.callEnded({ ...RECORD, webSocket: true, latencyUs: 60_000_000 })
  const labels = { provider: 'openai', upstream: 'default' }
  expect(await valuesOf('tallygate_call_duration_seconds_count')).toEqual([{ labels, value: 3 }])
  expect((await valuesOf('tallygate_call_duration_seconds_sum'))[0]?.value).toBeCloseTo(9_003.0015, 6)
  const buckets = await valuesOf('tallygate_call_duration_seconds_bucket')
  const bucketAt = (le: string) => buckets.find((bucket) => bucket.labels.le === le)?.value
  expect([bucketAt('0.001'), bucketAt('0.002'), bucketAt('2.048'), bucketAt('4.096')]).toEqual([0, 1, 1, 2])
  expect([bucketAt('2097.152'), bucketAt('+Inf')]).toEqual([2, 3])
  for (const [index, { value }] of buckets.entries()) {
    expect(value).toBeGreaterThanOrEqual(buckets[index - 1]?.value ?? 0)
  }
  expect((await valuesOf('tallygate_call_first_byte_seconds_count'))[0]?.value).toBe(2)
})

test('what could not be read, does not add up or failed is counted', async () => {
  metrics.observer.readingFailed('anthropic', new Error('unreadable'))
  metrics.observer.totalMismatch('xai')
  metrics.observer.callUnmetered(RECORD)
  metrics.observer.callFailed(RECORD, new Error('broken'))
  expect(await valuesOf('tallygate_reading_failures_total')).toEqual([
    { labels: { provider: 'anthropic' }, value: 1 },
  ])
  expect(await valuesOf('tallygate_total_mismatches_total')).toEqual([
    { labels: { provider: 'xai' }, value: 1 },
  ])
  expect(await valuesOf('tallygate_unmetered_calls_total')).toEqual([{ labels: {}, value: 1 }])
  expect(await valuesOf('tallygate_call_failures_total')).toEqual([{ labels: {}, value: 1 }])
})

test('the ledger and the keys stand as they are at the moment of asking', async () => {
  const shown = new Map((await samples()).map(({ name, value }) => [name, value]))
  expect(shown.get('tallygate_open_calls')).toBe(3)
  expect(shown.get('tallygate_ledger_uncommitted_records')).toBe(7)
  expect(shown.get('tallygate_ledger_uncommitted_bytes')).toBe(4096)
  expect(shown.get('tallygate_ledger_oldest_uncommitted_seconds')).toBe(1.5)
  expect(shown.get('tallygate_ledger_sent_sequence')).toBe(38)
  expect(shown.get('tallygate_ledger_synced_sequence')).toBe(39)
  expect(shown.get('tallygate_ledger_mark')).toBe(33)
  expect(shown.get('tallygate_ledger_adopted_producers')).toBe(2)
  expect(shown.get('tallygate_ledger_corrupt_journals')).toBe(1)
  expect(shown.get('tallygate_redis_connected')).toBe(1)
  expect(shown.get('tallygate_journal_writable')).toBe(0)
  expect(shown.get('tallygate_journal_max_bytes')).toBe(8192)
  expect(shown.get('tallygate_key_store_reachable')).toBe(0)
  expect(shown.get('tallygate_clock_offset_seconds')).toBe(2)
  expect(shown.get('tallygate_keys_stale_seconds')).toBe(0.25)
  keys = { keys: 0, storeReachable: false, staleMs: null }
  const [stale] = await valuesOf('tallygate_keys_stale_seconds')
  expect(stale?.value).toBeNaN()
})

test('two processes in one have registries of their own', async () => {
  const other = buildMetrics({
    knowsModel: () => true,
    ledger: () => LEDGER,
    keys: () => keys,
    collisions: async () => [],
    prices: async () => null,
    gauges: GAUGES,
    state: () => STATE,
    replica: () => null,
    jobs: async () => [],
    billing: async () => [],
    invoices: async () => [],
    triedLimits: async () => [],
    kafka: async () => null,
    ...STORES,
    limits: LIMITS,
    version: '1',
    isTraced: false,
  })
  metrics.observer.callEnded(RECORD)
  expect(await other.render()).not.toMatch(/^tallygate_calls_total\{/m)
})

test('what is lost, silent or nearly spent in the whole deployment is shown, without a client', async () => {
  const figure = async (name: string) => (await valuesOf(`tallygate_${name}`)).map(({ value }) => value)
  expect(await figure('gaps')).toEqual([2])
  expect(await figure('missing_records')).toEqual([5])
  expect(await figure('dead_letters')).toEqual([1])
  expect(await figure('journal_disk_free_bytes')).toEqual([50])
  expect(await valuesOf('tallygate_processes')).toEqual([
    { labels: { kind: 'worker', state: 'running' }, value: 2 },
    { labels: { kind: 'worker', state: 'silent' }, value: 1 },
  ])
  expect(await valuesOf('tallygate_heartbeat_age_seconds')).toEqual([
    { labels: { kind: 'worker' }, value: 90 },
  ])
  expect(await valuesOf('tallygate_budget_used_ratio')).toEqual([
    { labels: { limit: 'lim_1', per: 'day', client: '' }, value: 0.5 },
  ])
})

test('requests without a known client are counted by why they were refused', async () => {
  for (const reason of ['unknown_key', 'key_revoked', 'unknown_key']) metrics.refusedRequest(reason)
  expect(await valuesOf('tallygate_refused_requests_total')).toEqual([
    { labels: { reason: 'unknown_key' }, value: 2 },
    { labels: { reason: 'key_revoked' }, value: 1 },
  ])
})

test('what calls take in the gateway is a histogram from 64 microseconds to a second', async () => {
  for (const us of [0, 64, 65, 128, 129, 1_000_000, 5_000_000, 2 ** 40]) metrics.ownTime.add(us)
  const buckets = await valuesOf('tallygate_call_own_seconds_bucket')
  const upTo = (le: string) => buckets.find(({ labels }) => labels.le === le)?.value
  expect([upTo('0.000064'), upTo('0.000128'), upTo('0.000256')]).toEqual([2, 4, 5])
  expect([upTo('0.524288'), upTo('1.048576'), upTo('+Inf')]).toEqual([5, 6, 8])
})

test('clients are named only where it is asked for, those that cost most, and never more than asked for', async () => {
  const named = buildMetrics({
    knowsModel: () => true,
    ledger: () => LEDGER,
    keys: () => keys,
    collisions: async () => [],
    prices: async () => null,
    gauges: GAUGES,
    state: () => STATE,
    replica: () => null,
    jobs: async () => [],
    billing: async () => [],
    invoices: async () => [],
    triedLimits: async () => [],
    kafka: async () => null,
    ...STORES,
    clients: { most: 2, selectNames: async (ids) => new Map(ids.map((id) => [id, `name of ${id}`])) },
    limits: LIMITS,
    version: '1',
    isTraced: false,
  })
  const call = (clientId: string, costPico: string) =>
    named.observer.callEnded({ ...RECORD, clientId, costPico })
  const cost = async () => {
    const shown = parse((await named.render()) ?? '').filter(
      ({ name }) => name === 'tallygate_client_cost_usd_total',
    )
    return Object.fromEntries(shown.map(({ labels, value }) => [labels.client, value]))
  }
  call('cheap', '1000000000000')
  call('dear', '3000000000000')
  call('dearer', '9000000000000')
  // What they cost before they had a place is the others'.
  expect(await cost()).toEqual({ 'name of dearer': 0, 'name of dear': 0, other: 13 })
  call('cheap', '50000000000000')
  call('dear', '2000000000000')
  call('dearer', '1000000000000')
  expect(await cost()).toEqual({ 'name of dearer': 1, 'name of dear': 2, other: 63 })
})
