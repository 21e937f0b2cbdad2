import { z } from 'zod'
import { isModelPattern } from '../../domain/names.ts'
import { GatewayError } from '../../http/errors.ts'
import { BUDGET_PERIODS, LIMIT_KINDS, type LimitKind, WHEN_ALONE } from '../../limits/limit.ts'
import { describeAmounts, parseAmount } from '../../limits/limit-amounts.ts'
import type { LimitOrder, LimitSort } from '../../limits/table/change-limits.ts'
import { isDay } from '../../pricing/sources/catalog-parse.ts'
import { anyName } from '../admin-input.ts'

const amount = z.union([z.string(), z.number()], 'must be a number, or US dollars as text')
const reference = z
  .string('must be a text')
  .regex(/^(?=.*\S)[^\p{Cc}]{1,500}$/u, 'must be one line of at most 500 characters')

/** What of a limit can be changed. */
const settings = {
  limit: amount,
  since: z.string('must be a day').refine(isDay, 'must be a day that exists, such as 2026-01-31').optional(),
  cached: z.enum(['count', 'ignore'], 'must be count or ignore').optional(),
  unpriced: z.enum(['allow', 'refuse'], 'must be allow or refuse').optional(),
  when_alone: z.enum(WHEN_ALONE, 'must be refuse or share').optional(),
}

/** The body that sets a limit. */
export const newLimitBody = z.strictObject({
  client: anyName.nullable(),
  key: anyName.optional(),
  model: z
    .string('must be a text')
    .refine(isModelPattern, 'must be the name of a model; a * may only end it')
    .optional(),
  kind: z.enum(LIMIT_KINDS, `must be one of ${LIMIT_KINDS.join(', ')}`),
  per: z.enum(BUDGET_PERIODS, `must be one of ${BUDGET_PERIODS.join(', ')}`).optional(),
  soft: z.boolean('must be true or false').optional(),
  ...settings,
})

/** The body that changes one. */
export const limitChangeBody = z.strictObject(settings)

/** The body that raises one for a while. */
export const raiseBody = z.strictObject({ to: amount, until: z.string('must be a text') })

/** The body that tops a prepaid budget up. */
export const topUpBody = z.strictObject({ add_usd: amount, reference: reference.optional() })

/** @throws {GatewayError} When the kind cannot say so much. */
export function readAmount(kind: LimitKind, param: string, sent: string | number): bigint {
  const parsed = parseAmount(kind, String(sent))
  if (parsed === null) throw invalid(param, `must be ${describeAmounts(kind)}`)
  return parsed
}

/** An amount of US dollars, of which one below 0 is taken away; in pico-USD. */
export function readPayment(param: string, sent: string | number): bigint {
  const written = String(sent)
  const isTaken = written.startsWith('-')
  const pico = readAmount('budget', param, isTaken ? written.slice(1) : written)
  return isTaken ? -pico : pico
}

/** The limit that a body asks for. @throws {GatewayError} When what it says does not go together. */
export function readLimitOrder(
  { kind, per = null, isSoft }: Omit<LimitSort, 'per'> & { readonly per?: LimitSort['per'] | undefined },
  body: z.output<typeof limitChangeBody>,
  today: string,
): LimitOrder {
  const { since, cached, unpriced, when_alone: whenAlone } = body
  if (kind === 'budget' && per === null) throw invalid('per', 'is missing: a budget is for a period')
  if (kind !== 'budget' && per !== null) throw invalid('per', 'is of budgets alone')
  if (kind !== 'budget' && isSoft) throw invalid('soft', 'is of budgets alone')
  if (since !== undefined && per !== 'total') throw invalid('since', 'is of budgets in total alone')
  if (since !== undefined && since > today) throw invalid('since', 'is still to come')
  if (cached !== undefined && kind !== 'tokens') throw invalid('cached', 'is of tokens alone')
  if (unpriced !== undefined && (kind !== 'budget' || isSoft))
    throw invalid('unpriced', 'is of hard budgets alone')
  if (whenAlone !== undefined && (kind !== 'budget' || isSoft))
    throw invalid('when_alone', 'is of hard budgets alone')
  return {
    kind,
    per,
    isSoft,
    amount: readAmount(kind, 'limit', body.limit),
    since,
    countsCached: cached === undefined ? undefined : cached === 'count',
    allowsUnpriced: unpriced === undefined ? undefined : unpriced === 'allow',
    whenAlone,
  }
}

export function invalid(param: string, text: string): GatewayError {
  return new GatewayError('invalid_request', { param, message: `${param} ${text}.` })
}

/** @param text One sentence without its full stop. */
export function notFound(param: string, text: string): GatewayError {
  return new GatewayError('not_found', { param, message: `${text.charAt(0).toUpperCase()}${text.slice(1)}.` })
}
