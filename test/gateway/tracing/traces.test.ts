import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseTraceParent } from '../../../src/gateway/tracing/call-span.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { type OtlpReceiver, startOtlpReceiver } from './otlp-receiver.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CLIENT_SPAN = '00f067aa0ba902b7'
const CONTEXT = { traceparent: `00-${TRACE}-${CLIENT_SPAN}-01`, tracestate: 'vendor=1' }

let receiver: OtlpReceiver
let upstream: TestUpstream
let traced: TestStack
let plain: TestStack
let client: TestClient

beforeAll(async () => {
  receiver = await startOtlpReceiver()
  upstream = await startUpstream()
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_SCHEDULE_DELAY: '20',
    OTEL_METRIC_EXPORT_INTERVAL: '50',
  }
  traced = await startStack(upstream.url, { env })
  plain = await startStack(upstream.url)
  client = await traced.addClient('acme')
})

afterAll(async () => {
  await traced?.stop()
  await plain?.stop()
  await upstream?.close()
  await receiver?.close()
})

async function call(stack: TestStack, key: string, headers: Record<string, string> = {}): Promise<number> {
  const answer = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'secret words' }] }),
  })
  await answer.arrayBuffer()
  return answer.status
}

/** What the upstream got last. */
const received = () => upstream.requests.at(-1)?.headers ?? {}

test('a call is a span below its client’s, its request to the upstream one below that, and goes on as such', async () => {
  receiver.spans.length = 0
  expect(await call(traced, client.key, CONTEXT)).toBe(200)
  await expect.poll(() => receiver.spans.length).toBe(2)
  const ofCall = receiver.spans.find(({ kind }) => kind === 2)
  const attempt = receiver.spans.find(({ kind }) => kind === 3)
  expect(ofCall).toMatchObject({
    traceId: TRACE,
    parentSpanId: CLIENT_SPAN,
    name: 'chat gpt-4o-mini',
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-4o-mini',
      'gen_ai.response.model': 'gpt-4o-mini',
      'gen_ai.usage.input_tokens': 11,
      'gen_ai.usage.output_tokens': 7,
      'gen_ai.usage.cost.amount': expect.any(Number),
      'gen_ai.usage.cost.currency': 'USD',
      'gen_ai.usage.cost.source': 'local',
      'http.response.status_code': 200,
      'tallygate.client.id': client.id,
      'tallygate.outcome': 'complete',
    },
  })
  expect(attempt).toMatchObject({
    traceId: TRACE,
    parentSpanId: ofCall?.spanId,
    name: 'POST',
    attributes: { 'server.address': '127.0.0.1', 'http.response.status_code': 200 },
  })
  expect(received()).toMatchObject({
    traceparent: `00-${TRACE}-${attempt?.spanId}-01`,
    tracestate: 'vendor=1',
  })
  expect(JSON.stringify(receiver.spans)).not.toMatch(/secret words|tg_/)
})

test('a call without a trace begins one, and a client that asks for none to be kept has none sent', async () => {
  receiver.spans.length = 0
  await call(traced, client.key, { traceparent: `00-${TRACE}-${CLIENT_SPAN}-00` })
  expect(received().traceparent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`))
  await call(traced, client.key)
  await expect.poll(() => receiver.spans.length).toBe(2)
  const [first] = receiver.spans
  expect(receiver.spans.map(({ traceId }) => traceId)).toEqual([first?.traceId, first?.traceId])
  expect(first?.traceId).not.toBe(TRACE)
})

test('a refused call has a span that says why', async () => {
  receiver.spans.length = 0
  const other = await traced.addClient('limited', { models: ['gpt-4o'] })
  await expect.poll(() => call(traced, other.key)).toBe(403)
  await expect
    .poll(() => receiver.spans.find(({ kind }) => kind === 2)?.attributes)
    .toMatchObject({
      'http.response.status_code': 403,
      'tallygate.outcome': 'refused',
    })
})

test('without tracing the client’s context passes untouched; the trace is on the call either way', async () => {
  const other = await plain.addClient('acme')
  await expect.poll(() => call(plain, other.key, CONTEXT)).toBe(200)
  expect(received()).toMatchObject(CONTEXT)
  await expect.poll(async () => await plain.calls(other)).toMatchObject([{ trace_id: TRACE }])
  await call(plain, other.key)
  await expect
    .poll(async () => await plain.calls(other))
    .toMatchObject([{ trace_id: TRACE }, { trace_id: null }])
  const ofTraced = await traced.calls(client)
  expect(ofTraced[0]).toMatchObject({ trace_id: TRACE })
})

test('where spans are sent, latencies point to traces for who reads OpenMetrics, and metrics are sent too', async () => {
  const traceId = 'a'.repeat(32)
  const page = async ({ gateway }: TestStack, accept: string) => {
    const answer = await fetch(`http://127.0.0.1:${gateway.adminAddress.port}/metrics`, {
      headers: { accept },
    })
    return { type: answer.headers.get('content-type'), text: await answer.text() }
  }
  const asked = 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5'
  await call(traced, client.key, { traceparent: `00-${traceId}-${CLIENT_SPAN}-01` })
  const shown = await page(traced, asked)
  expect(shown.type, shown.text.slice(0, 500)).toMatch(/^application\/openmetrics-text/)
  for (const name of ['call_duration', 'call_first_byte'])
    expect(shown.text).toMatch(
      new RegExp(
        `^tallygate_${name}_seconds_bucket\\{.*\\} \\d+ # \\{trace_id="${traceId}"\\} [\\d.]+ [\\d.]+$`,
        'm',
      ),
    )
  expect(shown.text).toMatch(/^tallygate_calls_total\{/m)
  expect(shown.text).toMatch(/# EOF\n$/)
  await call(traced, client.key, { traceparent: `00-${'b'.repeat(32)}-${CLIENT_SPAN}-00` })
  expect((await page(traced, asked)).text).not.toContain('b'.repeat(32))
  expect((await page(traced, 'text/plain')).text).not.toContain(traceId)
  expect((await page(plain, asked)).type).toMatch(/^text\/plain/)
  const counted = () => receiver.sums.get('tallygate_calls_total') ?? 0
  await expect.poll(counted).toBeGreaterThan(1)
  // What the gateway counted and shows, no more and no less.
  const total = [...(await page(traced, 'text/plain')).text.matchAll(/^tallygate_calls_total\{.*\} (\d+)$/gm)]
  await expect.poll(counted).toBe(total.reduce((sum, [, value]) => sum + Number(value), 0))
})

test('a collector that answers nothing holds up no call', async () => {
  receiver.hang()
  for (let calls = 0; calls < 5; calls += 1) expect(await call(traced, client.key)).toBe(200)
})

test.each([
  [`00-${TRACE}-${CLIENT_SPAN}-01`, 1],
  [`00-${TRACE}-${CLIENT_SPAN}-00`, 0],
  [`01-${TRACE}-${CLIENT_SPAN}-01-more`, 1],
  [`00-${TRACE}-${CLIENT_SPAN}-01-more`, null],
  [`ff-${TRACE}-${CLIENT_SPAN}-01`, null],
  [`00-${'0'.repeat(32)}-${CLIENT_SPAN}-01`, null],
  [`00-${TRACE}-${'0'.repeat(16)}-01`, null],
  [`00-${TRACE.toUpperCase()}-${CLIENT_SPAN}-01`, null],
  [`00-${TRACE}-${CLIENT_SPAN}-01, 00-${TRACE}-${CLIENT_SPAN}-01`, null],
  ['', null],
  [undefined, null],
])('traceparent %s is read as the W3C says', (header, flags) => {
  const expected = flags === null ? null : { traceId: TRACE, spanId: CLIENT_SPAN, flags }
  expect(parseTraceParent(header)).toEqual(expected)
})
