import { picoToUsdNumber, picoToUsdText } from '../../domain/pico-usd.ts'
import { amountAt, type Limit, type LimitKind } from '../../limits/limit.ts'
import { modelIdOf } from './model-answer.ts'

const PREFIX = 'x-litellm-'

/** A call, as far as the headers of its answer show it. */
export interface ShownCall {
  readonly callId: string
  /** The model as its client named it; `null`: it named none. */
  readonly asked: string | null
  /** The limits that hold for it. */
  readonly limits: readonly Limit[]
}

/** What LiteLLM's programs read of an answer and is known before it begins: names and values in turn. */
export function callHeaders({ callId, asked, limits }: ShownCall, nowMs: number): readonly string[] {
  const headers = [`${PREFIX}call-id`, callId]
  if (asked !== null) {
    headers.push(`${PREFIX}model-id`, modelIdOf(asked))
    // A name is the client's own text: what no header can hold is left out.
    if (/^[\x21-\x7e]+$/.test(asked)) headers.push(`${PREFIX}model-group`, asked)
  }
  const least = (kind: LimitKind) =>
    limits
      .filter((limit) => limit.keyId !== null && limit.model === null && !limit.isSoft && limit.kind === kind)
      .map((limit) => amountAt(limit, nowMs))
      .reduce<bigint | null>((low, amount) => (low === null || amount < low ? amount : low), null)
  const add = (name: string, kind: LimitKind, render: (amount: bigint) => string) => {
    const amount = least(kind)
    if (amount !== null) headers.push(PREFIX + name, render(amount))
  }
  add('key-rpm-limit', 'requests', String)
  add('key-tpm-limit', 'tokens', String)
  add('key-max-budget', 'budget', (amount) => `${picoToUsdNumber(amount)}`)
  return headers
}

/** The same of its cost, where that is known before the answer begins. */
export function costHeaders(costPico: string | null): readonly string[] {
  return costPico === null ? [] : [`${PREFIX}response-cost`, picoToUsdText(BigInt(costPico))]
}

/** An answer's headers with `own` in place of what a LiteLLM behind this gateway says of its own keys and calls. */
export function replaceLiteLlmHeaders(headers: readonly string[], own: readonly string[]): string[] {
  const kept = headers.filter(
    (_text, place) => !(headers[place - (place % 2)] ?? '').toLowerCase().startsWith(PREFIX),
  )
  return [...kept, ...own]
}
