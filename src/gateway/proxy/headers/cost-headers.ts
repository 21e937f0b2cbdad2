import type { CallRecord } from '../../../call/call-record.ts'
import { picoToUsdText } from '../../../domain/pico-usd.ts'

/** What a call used and cost. */
export type ShownCost = Pick<CallRecord, 'costPico' | 'usage'>

export const PREFIX = 'x-tallygate-'
const NAMES: ReadonlySet<string> = new Set(
  ['cost-usd', 'input-tokens', 'output-tokens'].map((name) => PREFIX + name),
)

/** @param named Names of clients and ids of keys, `*`: all. */
export function showsCostTo(
  named: readonly string[],
  { clientName, keyId }: { readonly clientName: string; readonly keyId: string },
): boolean {
  return named.includes('*') || named.includes(clientName) || named.includes(keyId)
}

/** Its cost and counts as names and values. What is not known is left out. */
export function costFields({ costPico, usage }: ShownCost): readonly (readonly [string, string])[] {
  const cost = costPico === null ? null : picoToUsdText(BigInt(costPico))
  const values = [cost, usage.inputTokens, usage.outputTokens]
  return [...NAMES].flatMap((name, place) => {
    const value = values[place] ?? null
    return value === null ? [] : [[name, `${value}`] as const]
  })
}

/** Headers, names and values in turn, without what another gateway behind this one says of its own call. */
export function withoutCosts(headers: readonly string[]): string[] {
  return headers.filter((_text, place) => !NAMES.has((headers[place - (place % 2)] ?? '').toLowerCase()))
}
