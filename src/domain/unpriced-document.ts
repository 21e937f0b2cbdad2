/** A model in use that has no price, and what it was used for. */
export interface UnpricedUse {
  readonly model: string
  readonly provider: string
  readonly calls: bigint
  readonly inputTokens: bigint
  readonly outputTokens: bigint
}

/** It as JSON, the same on the command line and over HTTP. */
export function renderUnpriced({ model, provider, calls, inputTokens, outputTokens }: UnpricedUse) {
  return {
    model,
    provider,
    calls: Number(calls),
    input_tokens: Number(inputTokens),
    output_tokens: Number(outputTokens),
  }
}
