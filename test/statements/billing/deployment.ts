import { addCredit } from '../../../src/corrections/adjustments.ts'
import { addDays, utcDayOf } from '../../../src/domain/utc-day.ts'
import { putCustomer } from '../../../src/statements/billing/billing-state.ts'
import { type BillingReceiver, MOUTHS, type MouthKind } from '../../../src/statements/billing/mouths.ts'
import type { Postgres } from '../../../src/store/connection/postgres.ts'
import { type Billing, startBilling } from '../../../workers/billing.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer, quiet } from '../../rollup/records.ts'
import { emptyTables } from '../../support/servers/empty-tables.ts'
import { type BillingStandIn, SECRET, startBillingStandIn } from './stand-in.ts'

export const CLIENTS = ['cli_a', 'cli_b', 'cli_c']
export const KINDS = Object.keys(MOUTHS) as MouthKind[]

/** A worker of which nothing comes back once it is killed: what it had sent may arrive. */
export interface MortalWorker extends Billing {
  kill(): void
}

/** A ledger, and the billing systems that it sends to. */
export class BillingDeployment {
  readonly ledger: LedgerDatabase
  standIn: BillingStandIn
  readonly today = utcDayOf(Date.now())
  readonly #workers = new Set<MortalWorker>()
  readonly #producer = newProducer()
  #sequence = 0

  private constructor(ledger: LedgerDatabase, standIn: BillingStandIn) {
    this.ledger = ledger
    this.standIn = standIn
  }

  static async open(): Promise<BillingDeployment> {
    const ledger = await openLedgerDatabase()
    for (const id of CLIENTS)
      await ledger.pool.query('insert into tallygate.clients (id, name, version) values ($1, $2, 1)', [
        id,
        `client ${id}`,
      ])
    return new BillingDeployment(ledger, await startBillingStandIn())
  }

  get pool(): Postgres {
    return this.ledger.pool
  }

  receiver(kind: MouthKind, changes: Partial<BillingReceiver> = {}): BillingReceiver {
    const cost = MOUTHS[kind].takesFractions ? 'cost_usd' : 'cost_nanousd'
    return {
      name: kind,
      kind,
      url: `${this.standIn.url}${kind === 'webhook' ? '/hook' : ''}`,
      secret: SECRET,
      everyMs: 0,
      meters: [
        { measure: cost, name: `${kind}_cost` },
        { measure: 'output_tokens', name: `${kind}_output` },
      ],
      byModel: false,
      sends: 'changes',
      ...changes,
    }
  }

  /** Says who the clients are there. */
  async map(receiver: string, clients: readonly string[] = CLIENTS, daysAgo = 60): Promise<void> {
    for (const clientId of clients)
      await putCustomer(this.pool, {
        receiver,
        clientId,
        customer: `cus_${clientId}`,
        subscription: `cus_${clientId}`,
        from: addDays(this.today, -daysAgo),
      })
  }

  start(receivers: readonly BillingReceiver[]): MortalWorker {
    let isAlive = true
    const mortal = new Proxy(this.pool, {
      get(pool, name) {
        if (!isAlive) return () => Promise.reject(new Error('the worker is killed'))
        const value = Reflect.get(pool, name)
        return typeof value === 'function' ? value.bind(pool) : value
      },
    })
    const billing = startBilling({
      pool: mortal,
      receivers,
      log: quiet,
      times: { idle: 5, lease: 200, pause: 5, longestPause: 40 },
    })
    const worker = {
      kill() {
        isAlive = false
      },
      close: () => billing.close(),
    }
    this.#workers.add(worker)
    return worker
  }

  /** Counts a call of each of so many costs, in 1e-12 USD. */
  async count(
    costs: readonly bigint[],
    changes: { clientId?: string; model?: string; daysAgo?: number } = {},
  ) {
    const { daysAgo = 0, ...rest } = changes
    const candidates = costs.map((cost, index) => {
      this.#sequence += 1
      return aCandidate(
        this.#producer,
        this.#sequence,
        aRecord({
          clientId: CLIENTS[index % CLIENTS.length] ?? '',
          costPico: `${cost}`,
          arrivedAtMs: Date.now() - daysAgo * 86_400_000,
          ...rest,
        }),
      )
    })
    await this.ledger.rollUp('test:calls', candidates)
  }

  async credit(clientId: string, pico: bigint, daysAgo = 0): Promise<void> {
    await addCredit(this.pool, {
      clientId,
      day: addDays(this.today, -daysAgo),
      model: null,
      pico,
      who: 'test',
      why: 'a correction',
    })
  }

  /** The ledger's own sums, as the stand-in keys them, in 1e-12 of each meter's unit. */
  async sums(receivers: readonly BillingReceiver[]): Promise<Map<string, bigint>> {
    const { rows } = await this.pool.query<{ client: string; day: string; pico: string; output: string }>(
      `select client_id as client, day, sum(cost_pico + adjusted_pico) as pico, sum(output_tokens) as output
       from tallygate.daily_usage group by 1, 2`,
    )
    const sums = new Map<string, bigint>()
    const add = (key: string, value: bigint) => value !== 0n && sums.set(key, (sums.get(key) ?? 0n) + value)
    for (const { client, pico, output } of rows)
      for (const { kind } of receivers) {
        // A whole nano-dollar of each day: what the test counts has no smaller part.
        const cost = MOUTHS[kind].takesFractions ? BigInt(pico) : (BigInt(pico) / 1_000n) * 10n ** 12n
        add(`cus_${client} ${kind}_cost`, cost)
        add(`cus_${client} ${kind}_output`, BigInt(output) * 10n ** 12n)
      }
    return sums
  }

  async waiting(): Promise<number> {
    const { rows } = await this.pool.query(
      `select count(*)::int as n from tallygate.billing_events where state = 'waiting'`,
    )
    return rows[0].n
  }

  /** Ends workers and empties what a test left. */
  async clear(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.close()))
    this.#workers.clear()
    await emptyTables(this.pool, [
      'billing_receivers',
      'billing_customers',
      'billing_sums',
      'billing_days',
      'billing_events',
      'adjustment_entries',
      'daily_usage',
    ])
    await this.standIn.stop()
    this.standIn = await startBillingStandIn()
  }

  async close(): Promise<void> {
    await this.standIn.stop()
    await this.ledger.drop()
  }
}
