import type { Death } from './lives.ts'
import type { CallTrace } from './load.ts'
import { CLIENTS, costOf, planCall } from './tokens.ts'
import type { UpstreamLedger } from './upstream-ledger.ts'

/** Of `calls`. */
export interface Row {
  readonly call_id: string
  readonly client: string
  readonly path: string
  readonly model: string
  readonly input: string | null
  readonly output: string | null
  readonly cost: string | null
  readonly outcome: string
  /** Where its tokens are from. */
  readonly source: string
}

export interface Witnesses {
  readonly upstream: UpstreamLedger
  /** `null`: not watched. */
  readonly deaths: readonly Death[] | null
  /** A fault destroyed what its journal had of the call. */
  readonly isDamaged: boolean
}

/** No prompt or word of a cut call is estimated at more. */
const ESTIMATE_MAX = 1_000
/** This process may be late to see a connection, or a process, end. */
const LATE_MS = 2_000
/** What a client left may go on for. */
const LEFT_MS = 10_000

/** In what a row is not what clients, upstream and the ends of processes allow; `null`: in nothing. */
export function wrongIn(row: Row, trace: CallTrace, witnesses: Witnesses): string | null {
  const { upstream, deaths, isDamaged } = witnesses
  const { number, answer, sawUsage } = trace
  const { client, model } = planCall(number)
  if (row.client !== CLIENTS[client] || row.model !== model) return 'another client or model'
  if (answer === 'refused') return 'no gateway took it'
  const why = wrongTokens(row, number, upstream)
  if (why !== null) return why
  if (row.outcome === 'complete') {
    if (!upstream.done.has(number)) return 'complete, and the upstream had not ended'
    if (row.source !== 'reported') return 'complete without its usage'
  }
  if (row.outcome === 'client_aborted' && answer === 'whole') return 'the client has it whole'
  // What a fault destroyed of a journal may be the end of a call that was over before.
  if (isDamaged) return null
  if (row.outcome === 'interrupted' && deaths !== null && !deaths.some((death) => isUnder(trace, death)))
    return 'interrupted, and its gateway lived'
  if (answer === 'whole' && row.outcome !== 'complete') return 'not complete, and the client has it whole'
  if (sawUsage && row.source !== 'reported') return 'the client saw the usage'
  return null
}

/** Tokens are exact, or what the upstream had reported until then, or an estimate that says so, or none; cost follows. */
function wrongTokens(row: Row, number: number, { reported, final }: UpstreamLedger): string | null {
  const { input, output } = planCall(number)
  const has = (inputTokens: number, outputTokens: number) =>
    row.input === `${inputTokens}` && row.output === `${outputTokens}`
  const counted = [row.input, row.output].map(Number)
  const [countedInput = 0, countedOutput = 0] = counted
  if (row.cost !== `${costOf(number, countedInput, countedOutput)}`) return 'not the cost of its tokens'
  switch (row.source) {
    case 'reported':
      if (!final.has(number)) return 'usage that was never sent'
      return has(input, output) ? null : 'not its tokens'
    case 'partial':
      if (countedOutput > (reported.get(number) ?? 0)) return 'more than was reported'
      return has(input, countedOutput) && countedOutput > 0 ? null : 'not what was reported'
    case 'estimated':
      if (row.outcome === 'complete' || row.outcome === 'interrupted') return 'estimated'
      if (countedInput !== (reported.has(number) ? input : 0) && countedInput > ESTIMATE_MAX)
        return 'too much for an estimate'
      return countedOutput <= ESTIMATE_MAX ? null : 'too much for an estimate'
    case 'none':
      return row.input === null && row.output === null ? null : 'tokens from nowhere'
    default:
      return `usage ${row.source}`
  }
}

function isUnder({ gateway, answer, beganMs, endedMs }: CallTrace, death: Death): boolean {
  const goesOnMs = answer === 'left' ? LEFT_MS : LATE_MS
  return death.gateway === gateway && death.missedMs >= beganMs && death.seenMs <= endedMs + goesOnMs
}
