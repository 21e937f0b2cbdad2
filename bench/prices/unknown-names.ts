import type { AskedCall } from './gateway.ts'
import type { Skipped } from './listing.ts'
import { HOST_UNKNOWN } from './litellm-names.ts'
import { chatCall } from './openai-wires.ts'

const TOKENS = 100_000

/** A call of each model that a host sells whose prices are unknown here: by its name, at a host of no provider. */
export function unknownNamesAmong(skipped: Skipped): AskedCall[] {
  const models = (skipped.get(HOST_UNKNOWN) ?? []).map((key) => key.slice(key.indexOf('/') + 1))
  return [...new Set(models)].flatMap((model) => {
    const provider = 'openai-compatible'
    const use = { inputTokens: TOKENS, outputTokens: 0, count: TOKENS }
    const nothing = { said: new Map(), saidByHour: [], saidAtList: new Map() }
    const priceCase = {
      provider,
      model,
      kind: 'chat',
      class: 'input',
      tier: '',
      above: 0,
      use,
      ...nothing,
    } as const
    const exchange = chatCall(priceCase)
    return 'why' in exchange ? [] : [{ provider, exchange }]
  })
}
