import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json as readJson } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { findFreePort } from '../../src/standalone/processes/free-port.ts'
import { startStack, type TestStack } from '../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../support/upstream.ts'
import { buildCollector } from './support/programs.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CLIENT_SPAN = '00f067aa0ba902b7'

interface JsonSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
}

const spans: JsonSpan[] = []
const ends: (() => unknown)[] = []
let upstream: TestUpstream
let stack: TestStack

beforeAll(async () => {
  const program = buildCollector()
  if (program === null) throw new Error('the collector is built with Go, which is not on the PATH')
  const folder = mkdtempSync(join(tmpdir(), 'tallygate-collector-'))
  ends.push(() => rmSync(folder, { recursive: true }))
  const sink = createServer(async (request, response) => {
    const { resourceSpans = [] } = Object(await readJson(request))
    for (const { scopeSpans } of resourceSpans) for (const of of scopeSpans) spans.push(...of.spans)
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
      pipelines: { traces: { receivers: ['otlp'], exporters: ['otlp_http'] } },
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
  const endpoint = `http://127.0.0.1:${port}`
  await vi.waitFor(() => fetch(endpoint))
  upstream = await startUpstream()
  ends.push(() => upstream.close())
  stack = await startStack(upstream.url, {
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_BSP_SCHEDULE_DELAY: '100' },
  })
  ends.push(() => stack.stop())
})

afterAll(async () => {
  for (const end of ends.reverse()) await end()
})

test('a trace reaches a real collector: client, gateway, upstream, each below the one before', async () => {
  const client = await stack.addClient('acme')
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
  await expect.poll(() => spans.length).toBe(2)
  const ofCall = spans.find(({ parentSpanId }) => parentSpanId === CLIENT_SPAN)
  const ofAttempt = spans.find(({ parentSpanId }) => parentSpanId === ofCall?.spanId)
  expect(ofCall).toMatchObject({ traceId: TRACE, name: 'chat gpt-4o-mini', kind: 2 })
  expect(ofAttempt).toMatchObject({ traceId: TRACE, kind: 3 })
  const attributes = Object.fromEntries((ofCall?.attributes ?? []).map(({ key, value }) => [key, value]))
  expect(attributes['gen_ai.usage.input_tokens']).toEqual({ intValue: '11' })
  expect(upstream.requests[0]?.headers.traceparent).toBe(`00-${TRACE}-${ofAttempt?.spanId}-01`)
})
