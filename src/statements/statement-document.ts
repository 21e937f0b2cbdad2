import { z } from 'zod'
import { picoToUsdText } from '../domain/pico-usd.ts'
import {
  shownCount,
  shownDay,
  shownDocument,
  shownList,
  shownMoment,
  shownText,
  shownTextOrNull,
} from '../operations/answers.ts'
import { monthField } from '../operations/fields.ts'
import type { OpenEndName } from './open-ends.ts'
import { roundToCents, type Statement, type StatementCharge } from './statement.ts'
import type { StatedReceipts } from './statement-receipts.ts'

const USD_FORM = /^-?[0-9]+(?:\.[0-9]{1,12})?$/

/** An amount of US dollars to the last of 12 places, as decimal text. */
export function usd(description = 'US dollars to the last of 12 places, as decimal text.') {
  return z.string().regex(USD_FORM).describe(description)
}

/** What statements of clients and of groups have alike. */
export const PARTS = {
  lines: shownList(
    shownDocument('StatementLine', {
      model: shownText('The model that answered.'),
      upstream: shownText('The upstream that served it.'),
      price_id: shownText('The id of the price. Empty: it is not known.'),
      source: shownTextOrNull('The list that the figures come from, and its version.'),
      service_tier: shownTextOrNull('The tier, with the place where that has a price. null: standard.'),
      factor: shownTextOrNull('The markup or discount that is in the unit price.'),
      name: shownText('As the configuration names the price. as_reported, as_metered: costs of whole calls.'),
      quantity: z.number().meta({ type: 'integer', description: 'How many are charged at this price.' }),
      unit: shownText('What the unit price is for.'),
      unit_price_usd: usd('US dollars, markups included. null: calls had several.').nullable(),
      amount_usd: usd(),
    }),
  ),
  corrections: shownList(
    shownDocument('StatementCorrection', {
      id: shownText('The number of the adjustment.'),
      kind: shownText('credit, reprice or rebuild.'),
      at: shownMoment('When it was made.'),
      why: shownText('The reason.'),
      amount_usd: usd(),
    }),
    'What corrected the cost of the calls of this month.',
  ),
  unpriced: shownList(
    shownDocument('StatementUnpriced', {
      model: shownText('The model that answered.'),
      upstream: shownText('The upstream that served it.'),
      calls: shownCount('How many.'),
      classes: shownList(
        shownText('As the configuration names its price.'),
        'What has no price. None: the calls have no cost at all.',
      ),
    }),
    'What is not charged, as it has no price.',
  ),
}

/** A charge, as every statement has it. */
export const CHARGE = {
  id: shownText('The id of the charge.'),
  name: shownText('Its name.'),
  category: shownText('What it is, such as credit or tax.'),
  service: shownText('What it is for.'),
  from: shownDay('The first UTC day.'),
  to: shownDay('The last UTC day.'),
  quantity: shownTextOrNull('How many, as decimal text. null: not said.'),
  unit: shownTextOrNull('Of what. null: not said.'),
  reason: shownText('Where it comes from, or why it is charged.'),
  amount_usd: usd(),
}

/** A statement as JSON. What is hashed and signed has exactly these fields in this order. */
export const STATEMENT = shownDocument('Statement', {
  version: z
    .union([z.literal(1), z.literal(2), z.literal(3)])
    .describe('2: with `receipts`. 3: with `charges`, too.'),
  client: shownText('The name of the client.'),
  client_id: shownText('The id of the client.'),
  month: shownText('YYYY-MM, UTC.'),
  currency: z.literal('USD'),
  requests: shownCount('Calls that were served.'),
  lines: PARTS.lines,
  corrections: PARTS.corrections,
  charges: shownList(
    shownDocument('StatementCharge', CHARGE),
    'What is charged beside calls, less what statements before have of it. Left out before version 3.',
  ).optional(),
  carried: shownList(
    shownDocument('StatementCarry', { month: shownText('YYYY-MM, UTC.'), amount_usd: usd() }),
    'What came to months after they were closed.',
  ),
  unpriced: PARTS.unpriced,
  cost_usd: usd('The sum of lines and corrections, which is what usage says of the month.'),
  charges_usd: usd('The sum of charges. Left out before version 3.').optional(),
  total_usd: usd('With charges, and what is carried over.'),
  rounded_usd: usd('The total in whole cents, halves away from zero: the only rounding.'),
  accepted: shownList(shownText('A reason.'), 'What might still have changed it when it was closed.'),
  closed_at: shownTextOrNull('When it was closed. null: it is not.'),
  previous: shownTextOrNull('The SHA-256 of the statement before, in hex. null: there is none.'),
  receipts: shownDocument('StatementReceipts', {
    count: shownCount('How many they are: calls of the month that were kept singly when it was closed.'),
    root: shownText('The root of their Merkle tree, a SHA-256 in hex.'),
  })
    .nullable()
    .optional()
    .describe('The receipts that it is made of. null: it is not closed. Left out in version 1.'),
})

export type StatementDocument = z.output<typeof STATEMENT>

export const OPEN_END = shownDocument('OpenEnd', {
  name: shownText('A reason.'),
  says: shownText('What it is, and what to do.'),
})

export const MONTH = monthField()

/** A month as it is shown, and as a file that can be checked. */
export const STATED = shownDocument('StatedMonth', {
  statement: STATEMENT,
  provisional: shownList(
    OPEN_END,
    'Why the figures may still change. None, and no signature: it may be closed.',
  ),
  sha256: shownTextOrNull('Of the statement as JSON without spaces, in hex. null: it is not closed.'),
  signature: shownTextOrNull('Ed25519, of the same bytes, in base64.'),
  public_key: shownTextOrNull('The key of that signature, in base64.'),
})

export type StatedMonth = z.output<typeof STATED>

export interface Closing {
  readonly accepted: readonly OpenEndName[]
  readonly closedAt: Date
  readonly previous: Buffer | null
  readonly receipts: StatedReceipts
}

/** @param closing `null`: it is not closed. */
export function statementDocument(statement: Statement, closing: Closing | null): StatementDocument {
  const { lines, corrections, unpriced } = partsDocument(statement)
  return {
    version: 3,
    client: statement.client,
    client_id: statement.clientId,
    month: statement.month,
    currency: 'USD',
    requests: Number(statement.requests),
    lines,
    corrections,
    charges: statement.charges.map(chargeDocument),
    carried: statement.carried.map(({ month, amountPico }) => ({
      month,
      amount_usd: picoToUsdText(amountPico),
    })),
    unpriced,
    cost_usd: picoToUsdText(statement.costPico),
    charges_usd: picoToUsdText(statement.chargesPico),
    total_usd: picoToUsdText(statement.totalPico),
    rounded_usd: picoToUsdText(roundToCents(statement.totalPico)),
    accepted: [...(closing?.accepted ?? [])],
    closed_at: closing?.closedAt.toISOString() ?? null,
    previous: closing?.previous?.toString('hex') ?? null,
    receipts:
      closing === null
        ? null
        : { count: closing.receipts.count, root: closing.receipts.root.toString('hex') },
  }
}

/** A charge as JSON, its fields in their order. */
export function chargeDocument({ amountPico, ...charge }: StatementCharge) {
  return {
    ...{ id: charge.id, name: charge.name, category: charge.category, service: charge.service },
    ...{ from: charge.from, to: charge.to, quantity: charge.quantity, unit: charge.unit },
    reason: charge.reason,
    amount_usd: picoToUsdText(amountPico),
  }
}

/** Lines, corrections, and what has no price, as JSON. */
export function partsDocument(statement: Pick<Statement, 'lines' | 'corrections' | 'unpriced'>) {
  return {
    lines: statement.lines.map(
      ({ model, upstream, priceId, price, name, quantity, unit, unitPico, amountPico }) => {
        const linear = price?.definition.basis === 'linear' ? price.definition : null
        const factor =
          price?.definition.basis === 'reported' ? price.definition.factor : (linear?.factor ?? null)
        return {
          model,
          upstream,
          price_id: priceId,
          source: linear?.source ?? null,
          service_tier: linear?.serviceTier ?? null,
          factor,
          name,
          quantity: Number(quantity),
          unit,
          unit_price_usd: unitPico === null ? null : picoToUsdText(unitPico),
          amount_usd: picoToUsdText(amountPico),
        }
      },
    ),
    corrections: statement.corrections.map(({ id, kind, at, why, amountPico }) => ({
      id,
      kind,
      at: at.toISOString(),
      why,
      amount_usd: picoToUsdText(amountPico),
    })),
    unpriced: statement.unpriced.map(({ model, upstream, calls, classes }) => ({
      model,
      upstream,
      calls: Number(calls),
      classes: [...classes],
    })),
  }
}
