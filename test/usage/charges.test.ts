import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseUsdText } from '../../src/domain/pico-usd.ts'
import { type Charge, shareOut, spreadCommitment } from '../../src/usage/charges/charge.ts'
import { focusCharges } from '../../src/usage/export/export-charges.ts'

const amount = fc.bigInt({ min: -(10n ** 17n), max: 10n ** 17n })
const weights = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 30 }), fc.bigInt({ min: 0n, max: 10n ** 12n })), {
    maxLength: 12,
  })
  .map((pairs) => new Map(pairs.map(([id, weight]) => [`cli_${id}`, weight])))

/** Pico-dollar after pico-dollar would take too long: each part may be off by less than one from its fraction. */
function isFair(whole: bigint, parts: ReadonlyMap<string, bigint>, of: ReadonlyMap<string, bigint>): boolean {
  const total = [...of.values()].reduce((sum, weight) => sum + weight, 0n)
  return [...of].every(([id, weight]) => {
    const difference = (parts.get(id) ?? 0n) * total - whole * weight
    return (difference < 0n ? -difference : difference) < total || weight === 0n
  })
}

test('parts of an amount add up to it, each within a pico-dollar of its fraction, whatever the order', () => {
  fc.assert(
    fc.property(amount, weights, (pico, of) => {
      const parts = shareOut(pico, of)
      const sum = [...parts.values()].reduce((all, part) => all + part, 0n)
      const isNothing = [...of.values()].every((weight) => weight === 0n)
      expect(sum).toBe(isNothing ? 0n : pico)
      expect(isNothing || isFair(pico, parts, of)).toBe(true)
      const turned = shareOut(pico, new Map([...of].reverse()))
      expect([...turned].sort()).toEqual([...parts].sort())
    }),
    { numRuns: 300, seed: 4_711 },
  )
})

test('what is used and unused of a commitment adds up to it, and its capacity bounds what is used', () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: 0n, max: 10n ** 17n }),
      fc.option(fc.bigInt({ min: 1n, max: 10n ** 13n })),
      weights,
      (amountPico, capacityTokens, covered) => {
        const spread = spreadCommitment({ amountPico, capacityTokens }, covered)
        const tokens = [...covered.values()].reduce((sum, count) => sum + count, 0n)
        expect(spread.usedPico + spread.unusedPico).toBe(amountPico)
        expect([...spread.byClient.values()].reduce((sum, part) => sum + part, 0n)).toBe(spread.usedPico)
        if (tokens === 0n) expect(spread.unusedPico).toBe(amountPico)
        else if (capacityTokens === null || tokens >= capacityTokens) expect(spread.unusedPico).toBe(0n)
        else expect(spread.usedPico).toBe((amountPico * tokens) / capacityTokens)
      },
    ),
    { numRuns: 300, seed: 4_711 },
  )
})

const CHARGE: Charge = {
  ...{
    id: 'chg_1',
    name: 'INV-1',
    category: 'commitment',
    from: '2026-10-01',
    to: '2026-10-31',
    reason: 'invoice',
  },
  ...{
    service: 'PTU',
    upstream: 'azure',
    model: null,
    clientId: null,
    client: null,
    quantity: null,
    unit: null,
  },
  ...{ capacityTokens: 1_000n, amountPico: 10n ** 12n, sharedFrom: null, part: null },
}

test('in FOCUS billed and effective costs of a commitment add up to it, shared out or not', () => {
  const covered = new Map([
    ['cli_a', 300n],
    ['cli_b', 100n],
  ])
  const spread = spreadCommitment(CHARGE, covered)
  const part = (clientId: string, of: 'used' | 'unused', amountPico: bigint): Charge => ({
    ...{
      ...CHARGE,
      id: `${clientId}${of}`,
      clientId,
      client: clientId,
      amountPico,
      sharedFrom: 'chg_1',
      part: of,
    },
  })
  const unused = [...shareOut(spread.unusedPico, covered)].map(([id, pico]) => part(id, 'unused', pico))
  const used = [...spread.byClient].map(([id, pico]) => part(id, 'used', pico))
  for (const parts of [[], unused, [...unused, ...used]]) {
    const rows = focusCharges(CHARGE, parts, spread, null)
    for (const column of ['BilledCost', 'EffectiveCost'] as const)
      expect(rows.reduce((sum, row) => sum + parseUsdText(row[column] ?? ''), 0n)).toBe(CHARGE.amountPico)
    const ofA = focusCharges(CHARGE, parts, spread, 'cli_a')
    const effective = ofA.reduce((sum, row) => sum + parseUsdText(row.EffectiveCost ?? ''), 0n)
    expect(effective).toBe(parts.length === 0 ? 3n * 10n ** 11n : 75n * 10n ** 10n)
  }
})
