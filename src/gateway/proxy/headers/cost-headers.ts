import type { CallRecord } from '../../../call/call-record.ts'
import { picoToUsdText } from '../../../domain/pico-usd.ts'

/** What a call used and cost. */
export type ShownCost = Pick<CallRecord, 'costPico' | 'usage'>

export const PREFIX = 'x-tallygate-'
const COST = `${PREFIX}cost-usd`
const INPUT_TOKENS = `${PREFIX}input-tokens`
const OUTPUT_TOKENS = `${PREFIX}output-tokens`
const NAMES: ReadonlySet<string> = new Set([COST, INPUT_TOKENS, OUTPUT_TOKENS])

/** @param named Names of clients and ids of keys, `*`: all. */
export function showsCostTo(
  named: readonly string[],
  { clientName, keyId }: { readonly clientName: string; readonly keyId: string },
): boolean {
  return named.includes('*') || named.includes(clientName) || named.includes(keyId)
}

/** Its cost and counts as names and values. What is not known is left out. */
export function costFields({ costPico, usage }: ShownCost): readonly (readonly [string, string])[] {
  const { inputTokens, outputTokens } = usage
  const fields: (readonly [string, string])[] = []
  if (costPico !== null) fields.push([COST, picoToUsdText(BigInt(costPico))])
  if (inputTokens !== null) fields.push([INPUT_TOKENS, `${inputTokens}`])
  if (outputTokens !== null) fields.push([OUTPUT_TOKENS, `${outputTokens}`])
  return fields
}

/** Headers, names and values in turn, without what another gateway behind this one says of its own call. */
export function withoutCosts(headers: string[]): string[] {
  for (let at = 0; at < headers.length; at += 2)
    if (isCostName(headers[at]))
      return headers.filter((_text, place) => !isCostName(headers[place - (place % 2)]))
  return headers
}

/** Most names differ in their first letter: they are not written small for it. */
function isCostName(name = ''): boolean {
  return (name[0] === 'x' || name[0] === 'X') && NAMES.has(name.toLowerCase())
}
