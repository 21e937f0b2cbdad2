import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json as readJson } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { findFreePort } from '../../src/standalone/processes/free-port.ts'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../support/upstream.ts'
import { buildCollector } from './support/programs.ts'
import { startPrometheus } from './support/prometheus.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CLIENT_SPAN = '00f067aa0ba902b7'
const OFTEN = { OTEL_BSP_SCHEDULE_DELAY: '100', OTEL_METRIC_EXPORT_INTERVAL: '200' }

interface JsonSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly attributes: Attributes
}

type Attributes = readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]

const attributesOf = (of: { readonly attributes: Attributes } | undefined) =>
  Object.fromEntries((of?.attributes ?? []).map(({ key, value }) => [key, value]))

interface JsonMetric {
  readonly name: string
  readonly sum?: {
    readonly dataPoints: readonly { readonly asDouble: number }[]
    readonly isMonotonic: boolean
  }
  readonly histogram?: { readonly dataPoints: readonly { readonly count: string; readonly sum: number }[] }
}

const spans: JsonSpan[] = []
/** By the name of the program that sent them, and their own: as last received. */
const metrics = new Map<string, Map<string, JsonMetric>>()
const ends: (() => unknown)[] = []
let endpoint: string
let upstream: TestUpstream
let stack: TestStack
let client: TestClient
let folder: string

beforeAll(async () => {
  const program = buildCollector()
  if (program === null) throw new Error('the collector is built with Go, which is not on the PATH')
  folder = mkdtempSync(join(tmpdir(), 'tallygate-collector-'))
  ends.push(() => rmSync(folder, { recursive: true }))
  const sink = createServer(async (request, response) => {
    const { resourceSpans = [], resourceMetrics = [] } = Object(await readJson(request))
    for (const { scopeSpans } of resourceSpans) for (const of of scopeSpans) spans.push(...of.spans)
    for (const { resource, scopeMetrics } of resourceMetrics) {
      const name = attributesOf(resource)['service.name']?.stringValue
      const known = metrics.get(`${name}`) ?? new Map<string, JsonMetric>()
      metrics.set(`${name}`, known)
      for (const of of scopeMetrics) for (const one of of.metrics) known.set(one.name, one)
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve))
  ends.push(() => sink.close())
  const port = await findFreePort()
  const config = {
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    exporters: {
      otlp_http: {
        endpoint: `http://127.0.0.1:${(sink.address() as AddressInfo).port}`,
        encoding: 'json',
        compression: 'none',
      },
    },
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: {
        traces: { receivers: ['otlp'], exporters: ['otlp_http'] },
        metrics: { receivers: ['otlp'], exporters: ['otlp_http'] },
      },
    },
  }
  const file = join(folder, 'collector.yaml')
  writeFileSync(file, JSON.stringify(config))
  const child = spawn(program, ['--config', file], { stdio: 'ignore' })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  ends.push(async () => {
    child.kill('SIGKILL')
    await ended
  })
  endpoint = `http://127.0.0.1:${port}`
  await vi.waitFor(() => fetch(endpoint))
  upstream = await startUpstream()
  ends.push(() => upstream.close())
  stack = await startStack(upstream.url, {
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, ...OFTEN },
  })
  ends.push(() => stack.stop())
  client = await stack.addClient('acme')
})

afterAll(async () => {
  for (const end of ends.reverse()) await end()
})

async function call(): Promise<void> {
  const answer = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${client.key}`,
      'content-type': 'application/json',
      traceparent: `00-${TRACE}-${CLIENT_SPAN}-01`,
    },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  await answer.arrayBuffer()
}

test('a trace reaches a real collector: client, gateway, upstream, each below the one before', async () => {
  await call()
  await expect.poll(() => spans.length).toBe(2)
  const ofCall = spans.find(({ parentSpanId }) => parentSpanId === CLIENT_SPAN)
  const ofAttempt = spans.find(({ parentSpanId }) => parentSpanId === ofCall?.spanId)
  expect(ofCall).toMatchObject({ traceId: TRACE, name: 'chat gpt-4o-mini', kind: 2 })
  expect(ofAttempt).toMatchObject({ traceId: TRACE, kind: 3 })
  expect(attributesOf(ofCall)['gen_ai.usage.input_tokens']).toEqual({ intValue: '11' })
  expect(upstream.requests[0]?.headers.traceparent).toBe(`00-${TRACE}-${ofAttempt?.spanId}-01`)
})

test('metrics of gateway and worker reach it too: counters as sums, durations as histograms', async () => {
  const worker = spawn(process.execPath, ['workers/main.ts'], {
    env: {
      ...stack.env,
      ...OFTEN,
      PATH: process.env.PATH,
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${endpoint}/v1/metrics`,
    },
    stdio: 'ignore',
  })
  const ended = new Promise((resolve) => worker.once('exit', resolve))
  try {
    await call()
    const of = (program: string, name: string) => metrics.get(program)?.get(name)
    await expect
      .poll(() => of('tallygate', 'tallygate_calls_total')?.sum)
      .toMatchObject({ isMonotonic: true, dataPoints: [{ asDouble: 2 }] })
    await expect
      .poll(() => of('tallygate', 'tallygate_call_duration_seconds')?.histogram?.dataPoints[0]?.count)
      .toBe('2')
    await expect
      .poll(() => of('tallygate-worker', 'tallygate_worker_counted_records_total')?.sum, { timeout: 60_000 })
      .toMatchObject({ isMonotonic: true })
  } finally {
    worker.kill('SIGTERM')
    await ended
  }
})

test('a real Prometheus finds the trace behind a latency', async () => {
  const prometheus = await startPrometheus(
    folder,
    { tallygate: stack.gateway.adminAddress.port },
    { options: ['--enable-feature=exemplar-storage'] },
  )
  try {
    await call()
    const query = 'tallygate_call_duration_seconds_bucket'
    await expect
      .poll(
        async () => {
          const start = `${Date.now() / 1_000 - 600}`
          const asked = new URLSearchParams({ query, start, end: `${Date.now() / 1_000 + 60}` })
          const answer = await fetch(`${prometheus.url}/api/v1/query_exemplars?${asked}`)
          return JSON.stringify(await answer.json())
        },
        { timeout: 60_000 },
      )
      .toContain(`"trace_id":"${TRACE}"`)
    // No scrape was refused, and names are those of the other format.
    const answer = await fetch(
      `${prometheus.url}/api/v1/query?${new URLSearchParams({ query: 'min(up) + 0 * count(tallygate_calls_total)' })}`,
    )
    expect(Object(await answer.json()).data.result[0]?.value[1]).toBe('1')
  } finally {
    await prometheus.stop()
  }
})
