import type { FastifyInstance } from 'fastify'
import { DEFAULT_PERIOD_DAYS, MAX_PERIOD_DAYS, parsePeriodDays, periodOf } from '../../domain/period.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import { sendError } from '../../http/answer-error.ts'
import { admissionOf } from '../admission/http-hooks.ts'

export type UsageGroup = 'day' | 'model' | 'key'

const GROUPS: readonly UsageGroup[] = ['day', 'model', 'key']
const PARAMETERS: readonly string[] = ['days', 'group_by']

export interface UsageRequest {
  readonly clientId: string
  readonly clientName: string
  readonly fromDay: UtcDay
  readonly toDay: UtcDay
  readonly days: number
  readonly groupBy: readonly UsageGroup[]
}

export interface UsageOptions {
  readonly basePath: string
  /** The whole answer; rejects when the store is away. */
  readonly summarise: (query: UsageRequest) => Promise<object>
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number
  readonly storageFailed: (error: unknown) => void
}

/** What was asked, or the parameter that is wrong. */
export type ParsedQuery =
  | { readonly kind: 'query'; readonly days: number; readonly groupBy: readonly UsageGroup[] }
  | { readonly kind: 'problem'; readonly param: string; readonly message: string }

/** Reads the query of `/v1/usage`; `search` is what stands behind `?`. */
export function parseUsageQuery(search: string): ParsedQuery {
  const query = new URLSearchParams(search)
  // A misspelt `days` that was passed over would answer for another period than was asked for.
  const unknown = [...query.keys()].find((name) => !PARAMETERS.includes(name))
  if (unknown !== undefined) {
    return { kind: 'problem', param: unknown, message: `There is no parameter ${unknown}.` }
  }
  const asked = query.getAll('days')
  const days = asked[0] === undefined ? DEFAULT_PERIOD_DAYS : parsePeriodDays(asked[0])
  if (asked.length > 1 || days === null) {
    return {
      kind: 'problem',
      param: 'days',
      message: `days must be one integer from 1 to ${MAX_PERIOD_DAYS}.`,
    }
  }
  const groups = query.getAll('group_by')
  const names = groups[0]?.split(',') ?? []
  const groupBy = GROUPS.filter((name) => names.includes(name))
  if (groups.length > 1 || groupBy.length !== names.length) {
    return {
      kind: 'problem',
      param: 'group_by',
      message: `group_by must name ${GROUPS.join(', ')}, or several of them with commas between, each once.`,
    }
  }
  return { kind: 'query', days, groupBy }
}

/** `GET /v1/usage`: what the caller's client used, whichever of its keys asks. */
export function usage(app: FastifyInstance, options: UsageOptions): void {
  app.get(`${options.basePath}/v1/usage`, async (request, reply) => {
    const { caller, urlWithoutKey } = admissionOf(request)
    const queryStart = urlWithoutKey.indexOf('?')
    const parsed = parseUsageQuery(queryStart === -1 ? '' : urlWithoutKey.slice(queryStart + 1))
    if (parsed.kind === 'problem') {
      sendError(reply, 'invalid_request', { param: parsed.param, message: parsed.message })
      return reply
    }
    try {
      return reply.send(
        await options.summarise({
          clientId: caller.clientId,
          clientName: caller.clientName,
          ...periodOf(parsed.days, options.now()),
          days: parsed.days,
          groupBy: parsed.groupBy,
        }),
      )
    } catch (error) {
      // A figure that might be wrong is never shown.
      options.storageFailed(error)
      sendError(reply, 'storage_unavailable')
      return reply
    }
  })
}
