import { anthropicUsage } from '../anthropic/anthropic-usage.ts'
import type { Dialect } from '../dialect.ts'
import { unitsIn } from '../reading/billed-units.ts'
import { member, textIn } from '../reading/json-value.ts'
import { listCost } from '../reading/reported-cost.ts'
import { type JobFormat, jobDialect } from './job-list.ts'
import { madeAtMs } from './submitted-at.ts'

/**
 * A session of Anthropic's agents, fetched by its id. Its usage grows until it has ended, and counts then: the tokens of all
 * turns at the price of its agent's model. Its running time is billed by the hour, under no unit of ours: such a session is
 * priced in part, with the provider's own figure beside it.
 * Source: platform.claude.com/docs, "Managed Agents", "Sessions".
 */
const SESSION: JobFormat = {
  name: 'anthropic.session',
  wanted: {
    id: 'value',
    type: 'value',
    status: 'value',
    archived_at: 'value',
    created_at: 'value',
    agent: { model: { id: 'value' } },
    usage: 'usage',
  },
  read(session, text) {
    if (session.type !== 'session') return null
    const model = textIn(member(member(session, 'agent'), 'model')?.id)
    const hasEnded = session.status === 'terminated' || textIn(session.archived_at) !== null
    const named = { model, responseId: textIn(session.id), madeAtMs: madeAtMs(session.created_at) }
    const usage = hasEnded ? member(session, 'usage') : null
    if (usage === null) return { ...named, pending: true }
    // Tokens written to the cache are given by lifetime alone.
    const written = member(usage, 'cache_creation')
    const cacheWrites =
      (unitsIn(written?.ephemeral_5m_input_tokens) ?? 0) + (unitsIn(written?.ephemeral_1h_input_tokens) ?? 0)
    const all = { ...usage, cache_creation_input_tokens: cacheWrites }
    const { units, ...counted } = anthropicUsage(all, model)
    const ran = Number(usage.active_seconds) > 0
    return {
      ...named,
      usage: { usage: counted.usage, invalid: counted.invalid },
      raw: text,
      isFinal: true,
      isSum: true,
      units: { ...units, otherToolCalls: ran ? 1 : null },
      reportedCostPico: listCost(usage),
      pending: false,
    }
  },
}

export const anthropicSession: Dialect = {
  ...jobDialect(SESSION),
  countsTokens: false,
  tokenizerFamily: 'claude',
}
