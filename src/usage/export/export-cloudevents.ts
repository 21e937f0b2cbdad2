import { picoToUsdText } from '../../domain/pico-usd.ts'

/** A single call as it is given to others. */
export interface ExportedCall {
  readonly callId: string
  /** ISO 8601, UTC. */
  readonly arrivedAt: string
  readonly clientId: string
  /** As it was when the call was counted. */
  readonly client: string
  readonly keyId: string
  readonly upstream: string
  readonly provider: string
  readonly model: string
  readonly status: number | null
  readonly outcome: string
  readonly usageSource: string
  readonly inputTokens: bigint
  readonly outputTokens: bigint
  readonly cacheReadTokens: bigint
  readonly cacheWriteTokens: bigint
  readonly reasoningTokens: bigint
  /** As metered; `null`: unpriced. */
  readonly costPico: bigint | null
  readonly priceId: string | null
  /** The upstream's id of the answer; `null`: it named none. */
  readonly responseId: string | null
  /** Not `null`: it is no request, but what this call told of the work of another. */
  readonly reportedBy: string | null
  /** The call that submitted that work, as far as it was one of ours. */
  readonly settles: string | null
}

/**
 * A call as a CloudEvents 1.0 event in JSON, without its line's end. Its id is the call's, so that whoever takes an
 * event twice can tell; its subject is the client's id. What a meter sums up is a number, but cost, which is exact
 * decimal text; meters read text as numbers too.
 */
export function cloudEvent(call: ExportedCall): string {
  return JSON.stringify({
    specversion: '1.0',
    id: call.callId,
    source: 'tallygate',
    type: 'tallygate.call',
    subject: call.clientId,
    time: call.arrivedAt,
    datacontenttype: 'application/json',
    data: {
      client: call.client,
      key_id: call.keyId,
      model: call.model,
      provider: call.provider,
      upstream: call.upstream,
      ...(call.status === null ? {} : { status: call.status }),
      outcome: call.outcome,
      usage_source: call.usageSource,
      input_tokens: Number(call.inputTokens),
      output_tokens: Number(call.outputTokens),
      total_tokens: Number(call.inputTokens + call.outputTokens),
      cache_read_tokens: Number(call.cacheReadTokens),
      cache_write_tokens: Number(call.cacheWriteTokens),
      reasoning_tokens: Number(call.reasoningTokens),
      ...(call.costPico === null ? {} : { cost_usd: picoToUsdText(call.costPico) }),
      ...(call.priceId === null ? {} : { price_id: call.priceId }),
      ...(call.responseId === null ? {} : { response_id: call.responseId }),
      ...(call.reportedBy === null ? {} : { told_by: call.reportedBy }),
      ...(call.settles === null ? {} : { settles: call.settles }),
    },
  })
}
