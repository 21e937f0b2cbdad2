import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { NO_UNITS, NO_USAGE } from '../../../src/call/usage.ts'
import { ownCredentialMarkups } from '../../../src/config/yaml/credentials-config.ts'
import { buildStages } from '../../../src/gateway/admission/admit.ts'
import { buildCatalog } from '../../../src/pricing/catalog/catalog.ts'
import { parseMarkups } from '../../../src/pricing/price-markups.ts'
import { FORMED_KEY, openTwoDoors, type TwoDoors } from '../admission/two-doors.ts'
import { exchange, requestText } from '../raw-http.ts'
import { signedHeaders, wireText } from '../sigv4/signing-client.ts'

const OWN = 'Bearer sk-ant-oat01-of-the-client'
const OURS = `x-tallygate-key: ${FORMED_KEY}`

let doors: TwoDoors

beforeAll(async () => {
  doors = await openTwoDoors(buildStages(), {}, null, [
    { name: 'seats', pathPrefix: '/seats', provider: 'anthropic', takesClients: true },
  ])
})

afterAll(() => doors.close())

beforeEach(() => {
  doors.upstream.requests.length = 0
})

function callText(headers: readonly string[], target = '/gw/seats/v1/messages', body = '{"model":"m"}') {
  const own = [...headers, 'Content-Type: application/json', `Content-Length: ${body.length}`]
  return requestText(target, own, 'POST', body)
}

/** The headers that came upstream and may hold a credential, as lines. */
function sent(): readonly (readonly string[])[] {
  return doors.upstream.requests.map(({ rawHeaders }) =>
    rawHeaders.flatMap((name, i) =>
      i % 2 === 0 && /authorization|api-key|tallygate|cookie|amz/i.test(name)
        ? [`${name}: ${rawHeaders[i + 1]}`]
        : [],
    ),
  )
}

test.each([
  ['Authorization', [`Authorization: ${OWN}`, OURS], [`Authorization: ${OWN}`]],
  ['x-api-key', ['x-api-key: sk-ant-own', OURS], ['x-api-key: sk-ant-own']],
  [
    'x-api-key, beside a key of ours in Authorization',
    [`Authorization: Bearer ${FORMED_KEY}`, 'x-api-key: own'],
    ['x-api-key: own'],
  ],
  ['nothing', [OURS], []],
  ['nothing, with a key that another gateway made', ['Authorization: Bearer good'], []],
])("a client's own credential in %s goes on as it came, and its key does not", async (_, headers, expected) => {
  const others = ['cookie: a=b', 'x-amz-security-token: t', 'proxy-authorization: Basic x']
  expect((await exchange(doors.url, callText([...headers, ...others]))).status).toBe(200)
  expect(sent()).toEqual([expected])
})

test('calls of one connection have each its own credential', async () => {
  const calls = ['one', 'two', 'two', 'three'].map((name) =>
    callText([`Authorization: Bearer ${name}`, OURS]),
  )
  const text = calls.map((call, i) =>
    i === calls.length - 1 ? call : call.replace('Connection: close\r\n', ''),
  )
  await exchange(doors.url, text.join(''))
  expect(sent().flat()).toEqual(['one', 'two', 'two', 'three'].map((name) => `Authorization: Bearer ${name}`))
})

test('no other upstream gets it, and a signature for the gateway goes nowhere', async () => {
  const body = '{"model":"m","input":"x"}'
  const headers = [`Authorization: ${OWN}`, OURS]
  expect((await exchange(doors.url, callText(headers, '/gw/v1/embeddings', body))).status).toBe(200)
  const call = { target: '/gw/seats/v1/messages', body: '{"model":"m"}' }
  expect((await exchange(doors.url, wireText(call, await signedHeaders(call)))).status).toBe(200)
  expect(sent()).toEqual([[], []])
})

test('a key that another gateway made goes upstream with no handshake', async () => {
  await doors.knock('websocket', { target: '/gw/seats/v1/x', headers: ['x-api-key: good'], key: null })
  expect(sent()).toEqual([[]])
})

test('a handshake takes it along, and TRACE does not', async () => {
  await doors.knock('websocket', { target: '/gw/seats/v1/x', headers: [OURS, 'x-api-key: own'], key: null })
  await exchange(doors.url, requestText('/gw/seats/v1/x', [OURS, 'x-api-key: own'], 'TRACE'))
  expect(sent().map((lines) => lines.join())).toEqual(['x-api-key: own', ''])
})

test('what the upstream says of it is for the client', async () => {
  doors.upstream.answer(
    (_request, response) => void response.writeHead(401, { 'content-length': 2 }).end('{}'),
  )
  const { status, body } = await exchange(doors.url, callText([`Authorization: ${OWN}`, OURS]))
  expect([status, body.toString()]).toEqual([401, '{}'])
})

test('its calls cost nothing, and the record says what they would have been', () => {
  const written = ownCredentialMarkups([
    { name: 'seats', credentials: 'client', line: 3 },
    { name: 'other', line: 4 },
  ])
  const { markups, problems } = parseMarkups(written, ['seats', 'other'])
  expect(problems).toEqual([])
  const catalog = buildCatalog({ markups })
  const priceAt = (upstream: string) =>
    catalog.priceCall({
      provider: 'openai',
      upstream,
      clientName: null,
      model: 'gpt-4o-mini',
      requestedModel: null,
      units: NO_UNITS,
      serviceTier: null,
      arrivedAtMs: Date.parse('2026-11-20T12:00:00Z'),
      reportedCostPico: null,
      parts: null,
      usage: { ...NO_USAGE, inputTokens: 1_000, outputTokens: 100 },
    })
  const [seat, other] = [priceAt('seats'), priceAt('other')]
  expect(other).toMatchObject({ kind: 'priced', costPico: 210_000_000n })
  expect(seat).toMatchObject({
    kind: 'priced',
    costPico: 0n,
    reported: { ownCostPico: 210_000_000n, differs: false },
  })
  expect(seat.kind === 'priced' && other.kind === 'priced' && seat.priceId !== other.priceId).toBe(true)
})
