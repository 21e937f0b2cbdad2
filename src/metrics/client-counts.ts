import { Counter, type Registry } from 'prom-client'
import type { CallRecord } from '../call/call-record.ts'
import { picoToUsdNumber } from '../domain/pico-usd.ts'
import { lastKnown } from './last-known.ts'

/** The label of all clients that have none of their own. */
export const OTHER_CLIENTS_LABEL = 'other'

class ClientCount {
  calls = 0
  costPico = 0n

  add({ costPico }: CallRecord): void {
    this.calls += 1
    if (costPico !== null && costPico !== '0') this.costPico += BigInt(costPico)
  }
}

/** More clients than these are not ranked: they are `other` until the process starts again. */
const MAX_RANKED = 100_000

/**
 * Calls and cost by client, for `most` clients of this process. Places are given at scrapes, to those that have cost most
 * by then, and are kept: a counter whose label went away and came back would look like a restart. What a client cost
 * before it has a place stays in `other`.
 */
export class ClientCounts {
  readonly #most: number
  readonly #placed = new Map<string, ClientCount>()
  /** Those without a place, as long as there is one to give. */
  readonly #ranked = new Map<string, ClientCount>()
  readonly #other = new ClientCount()

  constructor(most: number) {
    this.#most = most
  }

  add(record: CallRecord): void {
    const placed = this.#placed.get(record.clientId)
    if (placed !== undefined) {
      placed.add(record)
      return
    }
    this.#other.add(record)
    if (this.#placed.size >= this.#most) return
    const ranked = this.#ranked.get(record.clientId) ?? new ClientCount()
    if (this.#ranked.size < MAX_RANKED) this.#ranked.set(record.clientId, ranked)
    ranked.add(record)
  }

  /** Gives free places. Returns the ids of those that have one. */
  place(): readonly string[] {
    const free = this.#most - this.#placed.size
    if (free > 0 && this.#ranked.size > 0) {
      const first = [...this.#ranked].toSorted(([, a], [, b]) => compare(b, a)).slice(0, free)
      for (const [clientId] of first) {
        this.#placed.set(clientId, new ClientCount())
        this.#ranked.delete(clientId)
      }
      if (this.#placed.size >= this.#most) this.#ranked.clear()
    }
    return [...this.#placed.keys()]
  }

  /**
   * With the names of clients, as far as they are known. An id stands for any other, and for a name that is the label of
   * the rest: two series of one label would be one.
   */
  *counts(
    names: ReadonlyMap<string, string>,
  ): Generator<{ client: string; calls: number; costPico: bigint }> {
    for (const [clientId, { calls, costPico }] of this.#placed) {
      const name = names.get(clientId)
      const hasLabel = name !== undefined && name !== OTHER_CLIENTS_LABEL
      yield { client: hasLabel ? name : clientId, calls, costPico }
    }
    yield { client: OTHER_CLIENTS_LABEL, calls: this.#other.calls, costPico: this.#other.costPico }
  }
}

function compare(a: ClientCount, b: ClientCount): number {
  return a.costPico === b.costPico ? a.calls - b.calls : a.costPico < b.costPico ? -1 : 1
}

/** Shows them. While `selectNames` rejects, the last names stand. */
export function showClients(
  registry: Registry,
  clients: ClientCounts,
  selectNames: (clientIds: readonly string[]) => Promise<ReadonlyMap<string, string>>,
): void {
  let last: ReadonlyMap<string, string> = new Map()
  const names = lastKnown(async () => {
    const placed = clients.place()
    if (placed.some((clientId) => !last.has(clientId))) last = await selectNames(placed)
    return last
  }, last)
  const counter = (
    name: string,
    help: string,
    of: (count: { readonly calls: number; readonly costPico: bigint }) => number,
  ) =>
    new Counter({
      name,
      help,
      labelNames: ['client'],
      registers: [registry],
      async collect() {
        const known = await names.ask()
        this.reset()
        for (const { client, ...count } of clients.counts(known)) this.inc({ client }, of(count))
      },
    })
  counter(
    'tallygate_client_calls_total',
    'Calls of METRICS_CLIENTS clients, those that cost most when they got their place; `other`: all others.',
    ({ calls }) => calls,
  )
  counter('tallygate_client_cost_usd_total', 'What those calls cost, in US dollars.', ({ costPico }) =>
    picoToUsdNumber(costPico),
  )
}
