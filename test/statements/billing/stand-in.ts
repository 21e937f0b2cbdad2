import { createHmac } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'

/** What goes wrong with a request. `twice`: a proxy delivers it two times. `after`: it is taken, and answered with 500. */
export type Fault = 'none' | 'away' | 'slow' | 'twice' | 'after' | 'cut' | 'refuses'

/** An event as a billing system has it. */
interface TakenEvent {
  readonly id: string
  readonly meter: string
  readonly customer: string
  readonly value: string
  readonly atMs: number
  readonly model: string | null
  /** Of CloudEvents. */
  readonly sequence?: number
}

/** Stands in for four billing systems, each as its documentation says what it takes, knows again and refuses. */
export interface BillingStandIn {
  readonly url: string
  /** All that counts. */
  readonly taken: readonly TakenEvent[]
  /** Requests, and events that came again. */
  readonly seen: { requests: number; again: number }
  /** From now on, for each request. */
  fail(next: () => Fault): void
  /** Knows no id any longer: what is sent again counts again. */
  dropIds(): void
  /** Customers that are not known. */
  readonly unknown: Set<string>
  /** Sums by customer and meter, in 1e-12. */
  sums(): Map<string, bigint>
  stop(): Promise<void>
}

export const SECRET = 'a-secret-of-forty-characters-of-the-test'

const digitsOf = (value: string): bigint => {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d{1,12}))?$/.exec(value) ?? []
  if (whole === '') throw new Error(`${value} is not an exact decimal`)
  return BigInt(sign + whole + fraction.padEnd(12, '0'))
}

export async function startBillingStandIn(): Promise<BillingStandIn> {
  const taken: TakenEvent[] = []
  const known = new Set<string>()
  const unknown = new Set<string>()
  const seen = { requests: 0, again: 0 }
  let next: () => Fault = () => 'none'

  function take(event: TakenEvent): boolean {
    const isNew = !known.has(event.id)
    known.add(event.id)
    if (isNew) taken.push(event)
    else seen.again += 1
    return isNew
  }

  type Reply = readonly [status: number, body: string]
  const paths: Readonly<Record<string, (body: string, headers: Record<string, unknown>) => Reply>> = {
    '/v1/billing/meter_events'(body, headers) {
      expect(headers.authorization).toBe(`Bearer ${SECRET}`)
      const form = new URLSearchParams(body)
      const customer = form.get('payload[stripe_customer_id]') ?? ''
      const value = form.get('payload[value]') ?? ''
      const atMs = Number(form.get('timestamp')) * 1_000
      const id = form.get('identifier') ?? ''
      if (unknown.has(customer)) return [400, `{"error":{"message":"No such customer: '${customer}'"}}`]
      if (!/^-?\d+$/.test(value)) return [400, '{"error":{"message":"value must be a whole number"}}']
      if (atMs < Date.now() - 35 * 86_400_000 || atMs > Date.now() + 300_000)
        return [400, '{"error":{"message":"timestamp"}}']
      const event = {
        id,
        meter: form.get('event_name') ?? '',
        customer,
        value,
        atMs,
        model: form.get('payload[model]'),
      }
      return take(event)
        ? [200, '{"object":"billing.meter_event"}']
        : [400, `{"error":{"message":"An event already exists with identifier ${id}."}}`]
    },
    '/api/v1/events/batch'(body, headers) {
      expect(headers.authorization).toBe(`Bearer ${SECRET}`)
      const { events } = JSON.parse(body)
      const wrong = events.flatMap(
        (event: { transaction_id: string; external_subscription_id: string }, index: number) =>
          known.has(event.transaction_id)
            ? [[index, { transaction_id: ['value_already_exist'] }]]
            : unknown.has(event.external_subscription_id)
              ? [[index, { external_subscription_id: ['not_found'] }]]
              : [],
      )
      seen.again += wrong.length
      if (wrong.length > 0)
        return [422, JSON.stringify({ code: 'validation_errors', error_details: Object.fromEntries(wrong) })]
      for (const event of events)
        take({
          id: event.transaction_id,
          meter: event.code,
          customer: event.external_subscription_id,
          value: event.properties.value,
          atMs: Number(event.timestamp) * 1_000,
          model: event.properties.model ?? null,
        })
      return [200, '{"events":[]}']
    },
    '/api/v1/events': (body) => takeCloudEvents(body, 204),
    '/hook'(body, headers) {
      const [, seconds, digest] =
        /^t=(\d+),v1=([0-9a-f]{64})$/.exec(`${headers['x-tallygate-signature']}`) ?? []
      expect(digest).toBe(createHmac('sha256', SECRET).update(`${seconds}.${body}`).digest('hex'))
      return takeCloudEvents(body, 200)
    },
  }

  function takeCloudEvents(body: string, status: number): Reply {
    for (const { id, type, subject, time, data } of JSON.parse(body))
      take({
        id,
        meter: type,
        customer: subject,
        value: data.value,
        atMs: Date.parse(time),
        model: data.model ?? null,
        sequence: data.sequence,
      })
    return [status, '']
  }

  const server = createServer(async (request, response) => {
    request.setEncoding('utf8')
    let body = ''
    for await (const piece of request) body += piece
    seen.requests += 1
    const fault = next()
    const serve = paths[request.url ?? '']
    if (fault === 'away') return void request.socket.destroy()
    if (fault === 'refuses') return end(response, [429, '{"error":"slow down"}'])
    if (serve === undefined) return end(response, [404, ''])
    let reply = serve(body, request.headers)
    if (fault === 'twice') reply = serve(body, request.headers)
    if (fault === 'slow') await new Promise((resolve) => setTimeout(resolve, 30))
    if (fault === 'cut') return void request.socket.destroy()
    end(response, fault === 'after' ? [500, 'internal error'] : reply)
  })
  const end = (response: ServerResponse, [status, body]: Reply) => void response.writeHead(status).end(body)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    taken,
    seen,
    unknown,
    fail(given) {
      next = given
    },
    dropIds: () => known.clear(),
    sums() {
      const sums = new Map<string, bigint>()
      for (const { customer, meter, value } of taken) {
        const key = `${customer} ${meter}`
        sums.set(key, (sums.get(key) ?? 0n) + digitsOf(value))
      }
      return sums
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
