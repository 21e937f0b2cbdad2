import { createHash } from 'node:crypto'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { ChargeCategory } from '../../usage/charges/charge.ts'
import { findCharge, isShared, removeCharge, setCharge } from '../../usage/charges/charges-table.ts'
import { type InvoiceCharge, selectInvoiceCharges } from './invoices-table.ts'

/** Charges that an import set, and those that it left because their parts are shared out. */
export interface ChargedInvoice {
  readonly set: number
  readonly left: readonly string[]
}

/** Names begin with it, so that an import finds those of the one before. */
function nameBeginning(source: string): string {
  return `invoice ${source} `
}

/** Behind it: a source may begin with the name of another one. */
const NAME_END = '^[0-9-]{10} [a-z]+ [0-9a-f]{12}$'

/** The same rows of a restated invoice have the same name, so that they are charged once. */
export function chargeNameOf(source: string, { day, kind, service, account }: InvoiceCharge): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([kind, service, account]))
    .digest('hex')
  return `${nameBeginning(source)}${day} ${kind} ${digest.slice(0, 12)}`
}

/** @param upstream Where a commitment holds; `null`: not said, and it is a purchase. */
function categoryOf(kind: InvoiceCharge['kind'], upstream: string | null): ChargeCategory {
  return kind === 'commitment' && upstream === null ? 'purchase' : kind
}

/**
 * Makes charges of what an import has beside use, in place of those that imports of its source made for the same days.
 * What is shared out already stays as it is.
 */
export async function chargeInvoice(
  session: PostgresSession,
  imported: {
    readonly id: string
    readonly source: string
    readonly origin: string
    readonly from: UtcDay
    readonly to: UtcDay
  },
  upstream: string | null,
): Promise<ChargedInvoice> {
  const wanted = (await selectInvoiceCharges(session, { importId: imported.id })).filter(
    ({ amountPico }) => amountPico !== 0n,
  )
  const names = new Map(wanted.map((charge) => [chargeNameOf(imported.source, charge), charge]))
  const { rows } = await session.query<{ readonly name: string }>(
    `select name from ${SCHEMA}.charges
     where removed_at is null and shared_from is null and starts_with(name, $1)
       and substr(name, length($1) + 1) ~ $4 and from_day between $2 and $3`,
    [nameBeginning(imported.source), imported.from, imported.to, NAME_END],
  )
  const left: string[] = []
  for (const name of new Set([...rows.map((row) => row.name), ...names.keys()])) {
    const charge = names.get(name)
    const there = await findCharge(session, name)
    if (there !== null && there.amountPico === charge?.amountPico) continue
    if (there !== null && (await isShared(session, there.id))) {
      left.push(name)
      continue
    }
    if (charge === undefined) {
      if (there !== null) await removeCharge(session, there.id)
      continue
    }
    const { day, kind, service, amountPico } = charge
    const category = categoryOf(kind, upstream)
    await setCharge(session, {
      ...{ name, category, from: day, to: day, service: service.slice(0, 500), amountPico },
      upstream: category === 'commitment' ? upstream : null,
      ...{ model: null, clientId: null, quantity: null, unit: null, capacityTokens: null },
      reason: `invoice: ${imported.origin}`.slice(0, 500),
    })
  }
  return { set: names.size - left.filter((name) => names.has(name)).length, left }
}
