import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { InvoicedUse } from '../../../src/corrections/invoices/invoices-table.ts'
import {
  type DifferenceReason,
  type InvoiceDifference,
  sumDifferences,
} from '../../../src/corrections/invoices/match/differences.ts'
import { explainInvoice } from '../../../src/corrections/invoices/match/explain-invoice.ts'
import type { OwnUse } from '../../../src/corrections/invoices/match/own-use.ts'

const MICRO = 1_000_000n
const MODELS = ['gpt-4o-2024-08-06', 'gpt-4o-mini-2024-07-18'] as const
const DAYS = Array.from({ length: 10 }, (_, index) => `2026-09-${`${index + 1}`.padStart(2, '0')}`)
/** 1e-12 USD for a token. */
const PRICES = { input: 2_500_000n, cache_read: 1_250_000n, output: 10_000_000n } as const
const CLASSES = ['input', 'cache_read', 'output'] as const
/** As the invoice writes amounts: to the nano-dollar. */
const ROUNDING = 500n

type Kind = (typeof CLASSES)[number]

function tokensOf(day: number, model: number, ofClass: Kind): bigint {
  return BigInt(1_000_000 + 7_919 * day + 104_729 * model + 1_299 * CLASSES.indexOf(ofClass))
}

function own(changes: Partial<OwnUse> & Pick<OwnUse, 'day'>, tokens = 0n): OwnUse {
  const use = { model: MODELS[0], class: 'input' as const, tier: 'standard', place: '', ...changes }
  const quantityMicro = tokens * MICRO
  return { ...use, quantityMicro, amountPico: tokens * PRICES[(use.class ?? 'input') as Kind] }
}

const OURS: readonly OwnUse[] = DAYS.flatMap((day, dayIndex) =>
  MODELS.flatMap((model, modelIndex) =>
    CLASSES.map((name) => own({ day, model, class: name }, tokensOf(dayIndex, modelIndex, name))),
  ),
)

/** How much of calls an invoice tells. */
interface Stated {
  readonly quantity: boolean
  readonly class: boolean
}

/** The invoice of what was counted, by one account of ours. */
function invoiceOf(ours: readonly OwnUse[], stated: Stated): InvoicedUse[] {
  const said = ours.map(({ day, model, class: name, tier, quantityMicro, amountPico }): InvoicedUse => {
    const of = { day, tier, place: 'global', account: 'ours', responseId: null }
    return {
      ...{ ...of, service: stated.class ? `${model}, ${name}` : model, class: stated.class ? name : null },
      quantityMicro: stated.quantity ? quantityMicro : null,
      ...{ amountPico, roundingPico: ROUNDING },
    }
  })
  if (stated.class) return said
  const groups = Map.groupBy(said, ({ day, service, tier }) => [day, service, tier].join())
  return [...groups.values()].flatMap((rows) =>
    rows.slice(0, 1).map((row) => ({ ...row, amountPico: costOf(rows) })),
  )
}

function explain(
  invoiced: readonly InvoicedUse[],
  ours = OURS,
  more: Partial<Parameters<typeof explainInvoice>[0]> = {},
): readonly InvoiceDifference[] {
  return explainInvoice({
    ...{ biller: 'openai', invoiced, ours, charges: [], dayOfResponse: () => null },
    ...more,
  })
}

function classesOf(differences: readonly InvoiceDifference[]): readonly DifferenceReason[] {
  return [...new Set(differences.map((one) => one.class))].sort()
}

function netOf(differences: readonly InvoiceDifference[]): bigint {
  return differences.reduce((sum, { amountPico }) => sum + amountPico, 0n)
}

const costOf = (rows: readonly { readonly amountPico: bigint }[]) =>
  rows.reduce((sum, { amountPico }) => sum + amountPico, 0n)

/** Changes the row of a day, a model and a class. */
function changed(
  rows: readonly InvoicedUse[],
  at: { readonly day: string; readonly model?: number; readonly class?: Kind },
  change: (row: InvoicedUse) => readonly InvoicedUse[],
): InvoicedUse[] {
  const { day, model = 0, class: name = 'input' } = at
  return rows.flatMap((row) => {
    const isIt =
      row.day === day && row.service.startsWith(MODELS[model] ?? '') && (row.class ?? name) === name
    return isIt ? change(row) : [row]
  })
}

/** So many tokens at the price of input, as rows of the invoice have them. */
const part = (row: InvoicedUse, tokens: bigint): InvoicedUse => ({
  ...{ ...row, amountPico: tokens * PRICES.input },
  quantityMicro: row.quantityMicro === null ? null : tokens * MICRO,
})
const less = (row: InvoicedUse, tokens: bigint): InvoicedUse => ({
  ...{ ...row, amountPico: row.amountPico - tokens * PRICES.input },
  quantityMicro: row.quantityMicro === null ? null : row.quantityMicro - tokens * MICRO,
})

const KINDS_OF_INVOICE = [
  ['with classes and quantities', { quantity: true, class: true }],
  ['with classes alone', { quantity: false, class: true }],
  ['with models alone', { quantity: false, class: false }],
] as const

describe.each(KINDS_OF_INVOICE)('an invoice %s', (_name, stated) => {
  const invoice = invoiceOf(OURS, stated)

  test('that says what was counted has no difference', () => {
    expect(explain(invoice)).toEqual([])
  })

  test('whose amounts are rounded has differences by rounding alone', () => {
    const rounded = invoice.map((row) => ({
      ...row,
      amountPico: ((row.amountPico + 777n) / 1_000n) * 1_000n,
    }))
    const odd = OURS.map((row) => ({ ...row, amountPico: row.amountPico + 123n }))
    expect(classesOf(explain(rounded, odd))).toEqual(['rounding'])
    expect(netOf(explain(rounded, odd))).toBe(costOf(rounded) - costOf(odd))
  })

  test('that counts calls near midnight as of the next day has what moved, and adds up to nothing', () => {
    const late = changed(
      changed(invoice, { day: '2026-09-04' }, (row) => [less(row, 5_000n)]),
      { day: '2026-09-05' },
      (row) => [less(row, -5_000n)],
    )
    const found = explain(late)
    expect(classesOf(found)).toEqual(['late'])
    expect(netOf(found)).toBe(0n)
    expect(
      sumDifferences(found)
        .map(({ from, amountPico }) => [from, amountPico])
        .sort(),
    ).toEqual([
      ['2026-09-04', -5_000n * PRICES.input],
      ['2026-09-05', 5_000n * PRICES.input],
    ])
  })

  test('with use of an account that is none of ours names it', () => {
    const other = ['2026-09-03', '2026-09-07'].flatMap((day) =>
      invoice
        .filter((row) => row.day === day)
        .map((row) => ({ ...part(row, 3_000n), account: 'proj_other' })),
    )
    const found = sumDifferences(explain([...invoice, ...other]))
    expect(found.map((one) => [one.class, one.remark]).sort()).toEqual([
      ['other_key', 'proj_other'],
      ['other_key', 'proj_other'],
    ])
    expect(found.reduce((sum, one) => sum + one.amountPico, 0n)).toBe(costOf(other))
  })

  test('of a model that no call of ours had is of another key', () => {
    const other = {
      ...part(invoice[0] as InvoicedUse, 9n),
      service: 'gpt-4.1-nano, input',
      class: 'input' as const,
    }
    expect(explain([...invoice, other])).toMatchObject([
      { class: 'other_key', model: 'gpt-4.1-nano, input', amountPico: other.amountPico },
    ])
  })

  test('with fees has them, and not those that are charged here', () => {
    const storage = { ...part(invoice[0] as InvoicedUse, 9n), service: 'vector store storage', class: null }
    const charge = { biller: 'openai', day: '2026-09-01', account: '', source: 'x' } as const
    const charges = [
      { ...charge, kind: 'tax', service: 'VAT', amountPico: 19n, chargedPico: null },
      { ...charge, kind: 'credit', service: 'promotion', amountPico: -5n, chargedPico: -5n },
    ] as const
    expect(explain([...invoice, storage], OURS, { charges })).toMatchObject([
      { class: 'fee', model: 'vector store storage', amountPico: storage.amountPico },
      { class: 'fee', model: 'VAT', remark: 'tax', amountPico: 19n },
    ])
  })

  test('at another price has that of its model alone', () => {
    const dearer = invoice.map((row) =>
      row.service.startsWith(MODELS[1]) ? { ...row, amountPico: (row.amountPico * 11n) / 10n } : row,
    )
    const found = explain(dearer)
    expect(classesOf(found)).toEqual(['price'])
    expect(new Set(found.map(({ model }) => model))).toEqual(new Set([MODELS[1]]))
    expect(netOf(found)).toBe(costOf(dearer) - costOf(OURS))
  })

  test('of calls that are unpriced here has their price', () => {
    const unpriced = OURS.map((row) => (row.model === MODELS[1] ? { ...row, amountPico: 0n } : row))
    const found = explain(invoice, unpriced)
    expect(classesOf(found)).toEqual(['price'])
    expect(new Set(found.map(({ remark }) => remark))).toEqual(new Set(['unpriced here']))
  })

  test('without some of what was counted leaves that unexplained', () => {
    const short = changed(invoice, { day: '2026-09-06' }, (row) => [less(row, 4_000n)])
    expect(explain(short)).toMatchObject([
      { class: 'unexplained', day: '2026-09-06', amountPico: -4_000n * PRICES.input },
    ])
  })

  test('that has all of these has each, and nothing else', () => {
    const day = (number: number) => ({ day: DAYS[number - 1] ?? '' })
    let rows: InvoicedUse[] = [...invoice]
    rows = changed(rows, day(2), (row) => [less(row, 1_000n)])
    rows = changed(rows, day(3), (row) => [less(row, -1_000n)])
    rows = changed(rows, day(8), (row) => [less(row, 2_000n)])
    const template = invoice[0] as InvoicedUse
    rows.push({ ...part(template, 600n), ...day(5), account: 'proj_other' })
    rows.push({ ...part(template, 70n), service: 'vector store storage', class: null })
    const found = explain(rows)
    expect(classesOf(found)).toEqual(['fee', 'late', 'other_key', 'unexplained'])
    const by = (name: DifferenceReason) => netOf(found.filter((one) => one.class === name))
    expect([by('fee'), by('late'), by('other_key'), by('unexplained')]).toEqual(
      [70n, 0n, 600n, -2_000n].map((tokens) => tokens * PRICES.input),
    )
  })
})

describe.each(KINDS_OF_INVOICE.slice(0, 2))('an invoice %s', (_name, stated) => {
  test('that has calls at another tier says which, by what they cost more or less', () => {
    const day = '2026-09-05'
    const invoice = changed(invoiceOf(OURS, stated), { day }, (row) => {
      const half = { ...part(row, 100_000n), tier: 'batch', amountPico: 100_000n * (PRICES.input / 2n) }
      return [less(row, 100_000n), half]
    })
    expect(explain(invoice)).toEqual([
      {
        ...{ class: 'tier', day, model: MODELS[0], remark: 'batch there, standard here' },
        amountPico: -100_000n * (PRICES.input / 2n),
      },
    ])
  })

  test('that has calls at another place says which', () => {
    const day = '2026-09-05'
    const invoice = changed(invoiceOf(OURS, stated), { day }, (row) => {
      const inEurope = {
        ...part(row, 100_000n),
        place: 'eu',
        amountPico: (100_000n * PRICES.input * 11n) / 10n,
      }
      return [less(row, 100_000n), inEurope]
    })
    expect(explain(invoice)).toEqual([
      {
        ...{ class: 'place', day, model: MODELS[0], remark: 'eu there, usual here' },
        amountPico: 10_000n * PRICES.input,
      },
    ])
  })
})

test('regions without a price of their own make no difference', () => {
  const invoice = invoiceOf(OURS, { quantity: true, class: true }).map((row, index) => ({
    ...{ ...row, place: index % 2 === 0 ? 'us-east-1' : 'us-west-2' },
  }))
  expect(explain(invoice, OURS, { biller: 'aws' })).toEqual([])
})

test('quantities in thousands and millions are those of tokens', () => {
  for (const scale of [1_000n, 1_000_000n]) {
    const invoice = invoiceOf(OURS, { quantity: true, class: true }).map((row) => ({
      ...{ ...row, quantityMicro: (row.quantityMicro ?? 0n) / scale },
    }))
    const found = explain(invoice)
    expect(classesOf(found).filter((one) => one !== 'rounding')).toEqual([])
  }
})

test('answers that the invoice names by id are of the day of our call, or of another key', () => {
  const invoice = invoiceOf(OURS, { quantity: true, class: true })
  const [moved, unknown] = [
    { ...part(invoice[0] as InvoicedUse, 10n), day: '2026-09-02', responseId: 'resp_1' },
    { ...part(invoice[0] as InvoicedUse, 20n), responseId: 'resp_2' },
  ]
  const rest = changed(invoice, { day: '2026-09-01' }, (row) => [less(row, 10n)])
  const found = explain([...rest, moved, unknown], OURS, {
    dayOfResponse: ({ responseId }) => (responseId === 'resp_1' ? '2026-09-01' : 'none'),
  })
  expect(found.map((one) => [one.class, one.day, one.amountPico])).toEqual([
    ['late', '2026-09-02', 10n * PRICES.input],
    ['late', '2026-09-01', -10n * PRICES.input],
    ['other_key', '2026-09-01', 20n * PRICES.input],
  ])
})

const disturbance = fc.record({
  row: fc.nat(),
  tokens: fc.bigInt({ min: -2_000_000n, max: 2_000_000n }),
  pico: fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n }),
  tier: fc.constantFrom('standard', 'batch', 'priority'),
  place: fc.constantFrom('global', 'eu', 'us'),
  account: fc.constantFrom('ours', 'other', null),
  day: fc.constantFrom(...DAYS),
})

test('differences add up to the invoice less ours, of each day, whatever both say', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...KINDS_OF_INVOICE),
      fc.array(disturbance, { maxLength: 25 }),
      ([, stated], disturbances) => {
        const rows = invoiceOf(OURS, stated)
        for (const { row, tokens, pico, ...changes } of disturbances) {
          const template = rows[row % rows.length]
          if (template === undefined) continue
          const of = part(template, tokens)
          rows.push({ ...of, ...changes, amountPico: of.amountPico + pico })
        }
        const found = explain(rows)
        for (const day of DAYS) {
          const ofDay = <Row extends { readonly day: string }>(all: readonly Row[]) =>
            all.filter((one) => one.day === day)
          expect(netOf(ofDay(found))).toBe(costOf(ofDay(rows)) - costOf(ofDay(OURS)))
        }
      },
    ),
    { numRuns: 200, seed: 4_711 },
  )
})
