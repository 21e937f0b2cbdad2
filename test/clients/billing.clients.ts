import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Event as MeteredEvent, OpenMeter } from '@openmeter/sdk'
import { type EventBatchInput, Client as LagoClient } from 'lago-javascript-client'
import Stripe from 'stripe'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { BillingEvent } from '../../src/statements/billing/mouth.ts'
import { type BillingReceiver, MOUTHS, type MouthKind } from '../../src/statements/billing/mouths.ts'

/** What a request says, by our program or by an SDK. */
interface Said {
  readonly path: string
  readonly type: string
  readonly authorization: string
  readonly body: unknown
}

let url: string
const said: Said[] = []
const server = createServer(async (request, response) => {
  said.push(await readSaid(request))
  response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
})

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => server.close())

async function readSaid(request: IncomingMessage): Promise<Said> {
  let text = ''
  for await (const piece of request) text += piece
  const type = `${request.headers['content-type']}`.replace(/;.*/, '')
  return {
    path: `${request.url}`,
    type,
    authorization: `${request.headers.authorization}`,
    body: type.includes('json') ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text)),
  }
}

const SECRET = 'sk_test_1'
const EVENT: BillingEvent = {
  id: '8d6d1f4c-0000-8000-8000-000000000001',
  meter: 'llm_cost',
  model: 'gpt-4o',
  day: '2026-11-25',
  client: 'acme',
  customer: 'cus_1',
  subscription: 'sub_1',
  sequence: 3,
  change: '-12',
  total: '88',
  at: new Date('2026-11-25T23:59:59.000Z'),
}

/** Ours, as the server would see it. */
function ours(kind: MouthKind): Said {
  const receiver: BillingReceiver = {
    name: kind,
    kind,
    url,
    secret: SECRET,
    everyMs: 0,
    meters: [],
    byModel: true,
    sends: 'changes',
  }
  const { path, headers, body } = MOUTHS[kind].request([EVENT], receiver, 0)
  const type = headers['content-type'] ?? ''
  return {
    path,
    type,
    authorization: headers.authorization ?? '',
    body: type.includes('json') ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body)),
  }
}

test('a meter event is what the SDK of Stripe sends of it', async () => {
  const { port } = new URL(url)
  const stripe = new Stripe(SECRET, { host: '127.0.0.1', port: Number(port), protocol: 'http' })
  await stripe.billing.meterEvents.create({
    event_name: EVENT.meter,
    identifier: EVENT.id,
    timestamp: EVENT.at.getTime() / 1_000,
    payload: { stripe_customer_id: EVENT.customer, value: EVENT.change, model: 'gpt-4o' },
  })
  expect(said.at(-1)).toEqual(ours('stripe'))
})

test('a batch of events is what the SDK of Lago sends of it', async () => {
  const batch: EventBatchInput = {
    events: [
      {
        transaction_id: EVENT.id,
        external_subscription_id: 'sub_1',
        code: EVENT.meter,
        timestamp: `${EVENT.at.getTime() / 1_000}`,
        properties: { value: EVENT.change, model: 'gpt-4o' },
      },
    ],
  }
  await LagoClient(SECRET, { baseUrl: `${url}/api/v1` }).events.createBatchEvents(batch)
  expect(said.at(-1)).toEqual(ours('lago'))
})

test('a batch of CloudEvents is what the SDK of OpenMeter sends of it', async () => {
  const { body } = ours('openmeter')
  const [sent] = body as [MeteredEvent & { time: string }]
  await new OpenMeter({ baseUrl: url, apiKey: SECRET }).events.ingest({ ...sent, time: new Date(sent.time) })
  expect(said.at(-1)).toEqual(ours('openmeter'))
})
