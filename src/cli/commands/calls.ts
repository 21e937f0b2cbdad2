import type { Command } from 'commander'
import { Failure } from '../../doctor/failure.ts'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import { type FoundCall, findCalls } from '../../usage/calls/find-calls.ts'
import type { Cli } from '../cli.ts'
import { printable } from '../table.ts'

/** `calls find`: a single call, by the id that a client or a provider knows it by. */
export function addCallsCommands(program: Command, cli: Cli): void {
  program
    .command('calls')
    .description('single calls, as far as they are kept')
    .command('find')
    .description('what a call used and cost')
    .argument('<id>', 'of x-tallygate-call-id, or of the answer: chatcmpl-..., msg_..., resp_...')
    .action(async (id: string) => {
      const calls = await cli.withServers(({ pool }) => findCalls(pool, id))
      if (calls.length === 0) throw new Failure(`no call that is kept has the id ${id}`)
      const documents = calls.map(document)
      cli.print(documents, documents.map(text).join('\n\n'))
    })
}

function document(call: FoundCall) {
  return {
    call_id: call.callId,
    response_id: call.responseId,
    arrived_at: call.arrivedAt.toISOString(),
    client: call.client,
    key_id: call.keyId,
    upstream: call.upstream,
    provider: call.provider,
    requested_model: call.requestedModel,
    model: call.model,
    method: call.method,
    path: call.path,
    status: call.status,
    outcome: call.outcome,
    usage_source: call.usageSource,
    service_tier: call.serviceTier,
    input_tokens: call.inputTokens === null ? null : Number(call.inputTokens),
    output_tokens: call.outputTokens === null ? null : Number(call.outputTokens),
    cost_usd: call.costPico === null ? null : picoToUsdText(call.costPico),
    price_id: call.priceId,
    partly_unpriced: call.partlyUnpriced,
    unpriced_reason: call.unpricedReason,
  }
}

function text(call: ReturnType<typeof document>): string {
  const said = Object.entries(call).filter(([, value]) => value !== null)
  const width = Math.max(...said.map(([name]) => name.length))
  return said.map(([name, value]) => printable(`${name.padEnd(width)}  ${value}`)).join('\n')
}
