import { z } from 'zod'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import { utcDayOf } from '../../domain/utc-day.ts'
import { daysOfMonth, nextMonthOf } from '../../domain/utc-month.ts'
import { findClient } from '../../keys/clients.ts'
import {
  shownChoice,
  shownChoiceOrNull,
  shownDay,
  shownDocument,
  shownList,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import {
  choiceField,
  clientField,
  dayField,
  flagField,
  formField,
  lineField,
  modelField,
  monthField,
  nameField,
  textField,
  usdField,
} from '../../operations/fields.ts'
import { type Chapter, type InputOf, renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { VALUE } from '../../operations/read-input.ts'
import { conflict, invalid, noClient, notFound } from '../../operations/refuse.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import {
  CHARGE_CATEGORIES,
  type Charge,
  type NewCharge,
  type SpreadCommitment,
  spreadCommitment,
} from '../charges/charge.ts'
import {
  findCharge,
  isShared,
  removeCharge,
  SHARE_KEYS,
  selectCharges,
  selectCovered,
  setCharge,
} from '../charges/charges-table.ts'
import { shareCharges } from '../charges/share-charges.ts'

const COUNT_FORM = /^[0-9]{1,15}$/

/** What a charge is: the same over HTTP, on the command line, and in files of `apply`. */
export const CHARGE_FIELDS = {
  name: nameField('Its name, such as the number of an invoice and its line: one charge has it.'),
  category: choiceField(CHARGE_CATEGORIES, 'What it is. commitment: throughput that was bought in advance.'),
  from: dayField('The first UTC day.'),
  to: dayField('The last UTC day, of the same month. Without it: the first.').optional(),
  service: lineField('What it is for, such as PTU gpt-4o, vector stores, VAT.'),
  amount_usd: usdField('US dollars. Credits are below 0.'),
  upstream: textField('The upstream that it is about. A commitment needs one.', 'name').optional(),
  model: modelField('Of a commitment: only this model, or names that begin so, are covered.').optional(),
  client: clientField('The name of the client that pays it. Without it: you do.').optional(),
  quantity: formField(/^[0-9]{1,15}(?:\.[0-9]{1,12})?$/, 'must be a decimal number, such as 50', {
    description: 'How many of unit, such as 50.',
    [VALUE]: 'number',
  }).optional(),
  unit: lineField('What the quantity is of, such as PTU, GB-days, hours.').optional(),
  capacity_tokens: formField(COUNT_FORM, 'must be a whole number', {
    description: 'Of a commitment: the tokens that it could have served. Without it: as many as it did.',
    [VALUE]: 'count',
  }).optional(),
  reason: lineField('Where it comes from, or why it is charged.'),
}

type Asked = InputOf<typeof CHARGE_FIELDS>

/** Rules over several fields. */
export function checkCharge(asked: Asked): void {
  const { category, from, to = from, amount_usd: pico, upstream, model, quantity, unit, client } = asked
  if (to < from || to.slice(0, 7) !== from.slice(0, 7))
    throw invalid('to', 'must be in the month of from, not before it')
  if (category === 'credit' && pico > 0n) throw invalid('amount_usd', 'must be below 0 for a credit')
  const isCommitment = category === 'commitment'
  if (isCommitment && upstream === undefined)
    throw invalid('upstream', 'is missing: say where the commitment holds')
  if (isCommitment && client !== undefined)
    throw invalid('client', 'must be left out: a commitment is shared out')
  if (isCommitment && pico < 0n) throw invalid('amount_usd', 'must be above 0 for a commitment')
  if (!isCommitment && model !== undefined) throw invalid('model', 'applies only to commitments')
  if (!isCommitment && asked.capacity_tokens !== undefined)
    throw invalid('capacity_tokens', 'applies only to commitments')
  if (unit === undefined && quantity !== undefined)
    throw invalid('unit', 'is missing: say what the quantity is of')
}

/** Checked fields as a charge. */
export function newChargeOf(asked: Asked, clientId: string | null): NewCharge {
  const { name, category, from, to = from, service, upstream = null, model = null, reason } = asked
  const { quantity = null, unit = null, capacity_tokens: capacity, amount_usd: amountPico } = asked
  return {
    ...{ name, category, from, to, service, upstream, model, clientId, quantity, unit, amountPico, reason },
    capacityTokens: capacity === undefined ? null : BigInt(capacity),
  }
}

const USD = 'US dollars to the last of 12 places, as decimal text.'

const SHOWN_CHARGE = shownDocument('Charge', {
  id: shownText('The id of the charge, which begins with chg_.'),
  name: shownText('Its name.'),
  category: shownChoice(CHARGE_CATEGORIES, 'What it is.'),
  from: shownDay('The first UTC day.'),
  to: shownDay('The last UTC day.'),
  service: shownText('What it is for.'),
  upstream: shownTextOrNull('The upstream that it is about. null: none.'),
  model: shownTextOrNull('Of a commitment: what it covers. null: all models of its upstream.'),
  client: shownTextOrNull('The name of the client that pays it. null: you do.'),
  quantity: shownTextOrNull('How many. null: not said.'),
  unit: shownTextOrNull('Of what. null: not said.'),
  capacity_tokens: shownTextOrNull('Of a commitment: the tokens that it could have served. null: not said.'),
  amount_usd: shownText(USD),
  reason: shownText('Where it comes from, or why it is charged.'),
  shared_from: shownTextOrNull('The id of the charge that it is a part of. null: it is none.'),
  part: shownChoiceOrNull(['used', 'unused', 'whole'], 'Which part. null: it is none.'),
  spread: z
    .strictObject({
      tokens: shownText('The tokens that it covered, input and output.'),
      used_usd: shownText('What these cost.'),
      unused_usd: shownText('What no client used.'),
      effective_usd: shownTextOrNull('For a million of these tokens. null: it covered none.'),
    })
    .nullable()
    .describe('Of a commitment: how it is spread over what it covered. null: it is none.'),
})

export type ChargeDocument = z.output<typeof SHOWN_CHARGE>

/** A charge, and how it is spread; `null`: it is not a commitment, or a part of one. */
interface ShownCharge {
  readonly charge: Charge
  readonly spread: SpreadCommitment | null
}

export function renderCharge({ charge, spread }: ShownCharge): ChargeDocument {
  const { id, name, category, from, to, service, upstream, model, client, quantity, unit } = charge
  return {
    ...{ id, name, category, from, to, service, upstream, model, client, quantity, unit },
    capacity_tokens: charge.capacityTokens?.toString() ?? null,
    amount_usd: picoToUsdText(charge.amountPico),
    ...{ reason: charge.reason, shared_from: charge.sharedFrom, part: charge.part },
    spread:
      spread === null
        ? null
        : {
            tokens: `${spread.tokens}`,
            used_usd: picoToUsdText(spread.usedPico),
            unused_usd: picoToUsdText(spread.unusedPico),
            effective_usd: spread.effectivePico === null ? null : picoToUsdText(spread.effectivePico),
          },
  }
}

async function withSpread(pool: Postgres, charges: readonly Charge[]): Promise<readonly ShownCharge[]> {
  const shown: ShownCharge[] = []
  for (const charge of charges) {
    const isWhole = charge.category === 'commitment' && charge.sharedFrom === null
    const covered = isWhole ? await selectCovered(pool, charge) : null
    shown.push({ charge, spread: covered === null ? null : spreadCommitment(charge, covered) })
  }
  return shown
}

async function getCharge(pool: Postgres, name: string): Promise<Charge> {
  const found = await findCharge(pool, name)
  if (found === null) throw notFound(`There is no charge ${name}.`, 'name', 'charge list shows them')
  return found
}

const CHANGES = {
  event: 'admin.charge_changed',
  log: ({ charge }: ShownCharge) => ({ charge: charge.id }),
} as const

const setChargeOperation = renderedOperation({
  name: 'charges.set',
  summary: 'Sets what is charged beside calls, in place of the charge of that name.',
  description: 'Statements that are closed stay: the difference is a line of the next one.',
  role: 'admin',
  http: { method: 'POST', path: '/charges', id: 'setCharge', body: 'NewCharge' },
  input: CHARGE_FIELDS,
  check: checkCharge,
  answer: SHOWN_CHARGE,
  gives: 'The charge.',
  errors: ['not_found', 'conflict'],
  async run({ pool }: Ports, asked): Promise<ShownCharge> {
    const { client } = asked
    const found = client === undefined ? null : await findClient(pool, client)
    if (client !== undefined && found === null) throw noClient(client)
    const before = await findCharge(pool, asked.name)
    if (before !== null) await requireUnshared(pool, before)
    await setCharge(pool, newChargeOf(asked, found?.id ?? null))
    const [shown] = await withSpread(pool, [await getCharge(pool, asked.name)])
    if (shown === undefined) throw new Error('a charge was not kept')
    return shown
  },
  render: renderCharge,
  changes: { ...CHANGES, says: 'charge set' },
  command: { words: 'charge set', print: ({ charge }) => `${textOf(charge)}: ${charge.id}.` },
})

async function requireUnshared(pool: Postgres, { id, name, sharedFrom }: Charge): Promise<void> {
  if (sharedFrom !== null) throw conflict(`${name} is a part of another charge: remove that.`, 'name')
  if (await isShared(pool, id)) throw conflict(`${name} is shared out: remove it, and set it again.`, 'name')
}

export const listCharges = renderedOperation({
  name: 'charges.list',
  summary: 'Shows what is charged beside calls in a month, and how commitments are spread.',
  role: 'read',
  http: { method: 'GET', path: '/charges', id: 'listCharges' },
  input: {
    month: monthField('YYYY-MM, UTC. Without it: the current month.').optional(),
    client: clientField('Only what this client pays, by its name.').optional(),
  },
  answer: shownList(SHOWN_CHARGE),
  gives: 'The charges, by day and name.',
  errors: ['not_found'],
  async run({ pool, now }: Ports, { month = utcDayOf(now()).slice(0, 7), client }) {
    const found = client === undefined ? null : await findClient(pool, client)
    if (client !== undefined && found === null) throw noClient(client)
    const { from: fromDay, to: toDay } = daysOfMonth(month)
    const scope = { period: { fromDay, toDay }, clientId: found?.id ?? null }
    return await withSpread(pool, await selectCharges(pool, scope))
  },
  render: (charges: readonly ShownCharge[]) => charges.map(renderCharge),
  command: {
    words: 'charge list',
    print: {
      empty: 'Nothing is charged beside calls.',
      columns: [
        { heading: 'NAME', cell: ({ charge }) => charge.name },
        { heading: 'CATEGORY', cell: ({ charge }) => charge.category },
        { heading: 'FROM', cell: ({ charge }) => charge.from },
        { heading: 'TO', cell: ({ charge }) => charge.to },
        { heading: 'SERVICE', cell: ({ charge }) => charge.service },
        { heading: 'CLIENT', cell: ({ charge }) => charge.client ?? '(none)' },
        { heading: 'AMOUNT USD', align: 'right', cell: ({ charge }) => picoToUsdText(charge.amountPico) },
        {
          heading: 'UNUSED USD',
          align: 'right',
          cell: ({ spread }) => (spread === null ? '' : picoToUsdText(spread.unusedPico)),
        },
        {
          heading: 'USD / M TOKENS',
          align: 'right',
          cell: ({ spread }) =>
            spread === null || spread.effectivePico === null ? '' : picoToUsdText(spread.effectivePico),
        },
      ],
    },
  },
})

const removeChargeOperation = renderedOperation({
  name: 'charges.remove',
  summary: 'Removes a charge, and the parts of it that clients have.',
  description: 'Statements that are closed stay: what they have of it is taken back in the next one.',
  role: 'admin',
  http: { method: 'DELETE', path: '/charges/{name}', id: 'removeCharge' },
  input: { name: textField('The name of the charge.', 'name') },
  answer: SHOWN_CHARGE,
  gives: 'The charge that was removed.',
  errors: ['not_found', 'conflict'],
  async run({ pool }: Ports, { name }): Promise<ShownCharge> {
    const charge = await getCharge(pool, name)
    if (charge.sharedFrom !== null)
      throw conflict(`${name} is a part of another charge: remove that.`, 'name')
    await removeCharge(pool, charge.id)
    return { charge, spread: null }
  },
  render: renderCharge,
  changes: { ...CHANGES, says: 'charge removed' },
  command: {
    words: 'charge remove',
    options: { name: '<name>' },
    print: ({ charge }) => `Removed: ${textOf(charge)}.`,
  },
})

const shareChargesOperation = renderedOperation({
  name: 'charges.share',
  summary: 'Shares what no client pays of a month out to its clients, by a key.',
  description:
    'Of a commitment that is what no client used; with used also what was, by the tokens of each client. The parts are charges of the clients.',
  role: 'admin',
  http: { method: 'POST', path: '/charges/share', id: 'shareCharges', body: 'ChargeSharing' },
  input: {
    month: monthField(),
    share_by: choiceField(
      SHARE_KEYS,
      'tokens, cost: of each client in the month. clients: to each the same.',
      'key',
    ),
    used: flagField(
      'Also what was used of commitments, where calls themselves cost clients nothing.',
    ).default(false),
    reason: lineField('Why it is shared out so.'),
  },
  answer: shownList(SHOWN_CHARGE),
  gives: 'The parts, by day and name.',
  errors: ['conflict'],
  async run({ pool, now }: Ports, { month, share_by: by, used, reason }) {
    const end = `${nextMonthOf(month)}-01`
    if (utcDayOf(now()) < end) throw conflict(`${month} is not over before ${end}T00:00:00Z.`, 'month')
    const parts = await shareCharges(pool, { month, by, used, reason: `${reason} (by ${by})` })
    return parts.map((charge): ShownCharge => ({ charge, spread: null }))
  },
  render: (charges: readonly ShownCharge[]) => charges.map(renderCharge),
  changes: {
    event: 'admin.charge_changed',
    says: 'charges shared out',
    log: (parts: readonly ShownCharge[]) =>
      parts.length === 0 ? null : { charges: [...new Set(parts.map(({ charge }) => charge.sharedFrom))] },
  },
  command: {
    words: 'charge share',
    options: { month: '<month>' },
    print: {
      empty: 'Nothing is left to be shared out.',
      columns: [
        { heading: 'CLIENT', cell: ({ charge }) => charge.client ?? '' },
        { heading: 'SERVICE', cell: ({ charge }) => charge.service },
        { heading: 'PART', cell: ({ charge }) => charge.part ?? '' },
        { heading: 'AMOUNT USD', align: 'right', cell: ({ charge }) => picoToUsdText(charge.amountPico) },
      ],
    },
  },
})

export const CHARGE_CHAPTER: Chapter<Ports> = {
  words: 'charge',
  about: 'What is charged beside calls: commitments, credits, storage, taxes.',
  operations: [setChargeOperation, listCharges, removeChargeOperation, shareChargesOperation],
}

function textOf({ name, category, service, amountPico, from, to, client }: Charge): string {
  const days = from === to ? from : `${from} to ${to}`
  return `${name}, ${category}, ${service}, ${days}, of ${client ?? 'no client'}: ${picoToUsdText(amountPico)} USD`
}
