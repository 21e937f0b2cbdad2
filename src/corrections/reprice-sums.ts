import type { UtcDay } from '../domain/utc-day.ts'
import type { Plan, RefusedRow, RepricedRow } from './reprice-plan.ts'

/** What a repricing changes of one model on one day. */
export interface RepricedDay {
  readonly day: UtcDay
  readonly model: string
  calls: bigint
  pricedCalls: bigint
  beforePico: bigint
  afterPico: bigint
}

/** Rows that are named; a year of many clients has millions. */
const MOST_NAMED = 10_000

/** What a repricing does, summed up over the parts of its days, in memory that does not grow with their rows. */
export class RepricingSums {
  /** The first ones that change, and that cannot be priced. */
  readonly rows: RepricedRow[] = []
  readonly refused: RefusedRow[] = []
  readonly byDay: RepricedDay[] = []
  readonly superseded = new Set([''])
  rowsChanged = 0
  rowsRefused = 0
  rowsInScope = 0
  /** Of these, priced call by call. */
  rowsFromCalls = 0
  pricedCalls = 0n
  callsInScope = 0n
  stillUnpriced = 0n
  unknownDay = 0n
  /** The cost of all rows in the scope, metered and adjusted. */
  beforePico = 0n
  afterPico = 0n
  #days = new Map<string, RepricedDay>()

  /** @returns The rows of the plan that change. */
  add(plan: Plan): readonly RepricedRow[] {
    const changes = plan.rows.filter(
      ({ beforePico, afterPico, pricedCalls }) => beforePico !== afterPico || pricedCalls !== 0n,
    )
    for (const row of changes) this.#addRow(row)
    for (const price of plan.superseded) this.superseded.add(price)
    this.rows.push(...changes.slice(0, MOST_NAMED - this.rows.length))
    this.refused.push(...plan.refused.slice(0, MOST_NAMED - this.refused.length))
    this.rowsChanged += changes.length
    this.rowsRefused += plan.refused.length
    this.rowsInScope += plan.counts.rowsInScope
    this.rowsFromCalls += plan.counts.rowsFromCalls
    this.callsInScope += plan.counts.callsInScope
    this.stillUnpriced += plan.counts.stillUnpriced
    this.unknownDay += plan.counts.unknownDay
    this.beforePico += plan.totalPico
    this.afterPico += plan.totalPico
    return changes
  }

  #addRow({ key: { day, model }, calls, pricedCalls, beforePico, afterPico }: RepricedRow): void {
    const name = `${day}\0${model}`
    let sums = this.#days.get(name)
    if (sums === undefined) {
      sums = { day, model, calls: 0n, pricedCalls: 0n, beforePico: 0n, afterPico: 0n }
      this.#days.set(name, sums)
      this.byDay.push(sums)
    }
    sums.calls += calls
    sums.pricedCalls += pricedCalls
    sums.beforePico += beforePico
    sums.afterPico += afterPico
    this.pricedCalls += pricedCalls
    this.afterPico += afterPico - beforePico
  }
}
