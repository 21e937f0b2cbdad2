import { anthropicComplete, anthropicMessages } from '../anthropic/anthropic-messages.ts'
import { anthropicUsage } from '../anthropic/anthropic-usage.ts'
import { madeAndListedAs } from '../catalog-lists.ts'
import { type Dialect, fetching, postTo } from '../dialect.ts'
import { createJobSums, type JobFormat, jobDialect, madeAtMs, observeJobs } from '../jobs/job-list.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { ANTHROPIC_ADDRESSES } from '../own-addresses.ts'
import { ANTHROPIC_BATCHES_FREE, SKILLS_FREE, STORES_OBJECTS } from '../paths/free-paths.ts'
import { ORGANIZATION_REFUSED } from '../paths/refused-paths.ts'
import { type HostedProvider, keyHeader } from '../provider.ts'
import { unitsIn } from '../reading/billed-units.ts'
import { bodyFormat, type Fields } from '../reading/body-format.ts'
import { createBodyReader } from '../reading/body-reader.ts'
import { type JsonObject, member, textIn } from '../reading/json-value.ts'
import { listCost } from '../reading/reported-cost.ts'
import type { UsageAccumulator } from '../reading/usage-update.ts'

/**
 * A session of Anthropic's agents, fetched by its id. Its usage grows until it has ended, and counts then: the tokens
 * of all turns at the price of its agent's model. Its running time is billed by the hour, under no unit of ours: such a
 * session is priced in part, with the provider's own figure beside it. Source: platform.claude.com/docs, "Managed
 * Agents", "Sessions".
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

const anthropicSession: Dialect = {
  ...jobDialect(SESSION),
  countsTokens: false,
  tokenizerFamily: 'claude',
}

const BATCH = /\/batches\/([^/]+)\/results$/

const FIELDS: Fields = {
  result: { type: 'value', message: { model: 'value', usage: 'usage' } },
}

const FORMAT = bodyFormat({ fields: FIELDS, prefilter: ['usage'], isLines: true })

/**
 * The results of a message batch: one line per request, each with its message and that message's usage, billed at
 * the price of batches. A batch counts when its results have been read to their end, and once however often they
 * are; results cut before report nothing, as the client has to read them again.
 * Source: platform.claude.com/docs, "Batch processing" and "Retrieve message batch results".
 */
const anthropicBatchResults: Dialect = {
  name: 'anthropic.batch-results',
  readsRequest: false,
  takesIncludeUsage: false,
  countsTokens: false,
  tokenizerFamily: 'claude',
  modelInPath: () => null,
  createReader: ({ path }, head) =>
    createBodyReader(head, {
      ...FORMAT,
      createAccumulator: () => new BatchAccumulator(BATCH.exec(path)?.[1] ?? null),
    }),
  textOf: () => '',
}

/** No batch is served at more; further ones are counted with the last. */
const MAX_TIERS = 16

/** Where it was served is said of each message; that it was of a batch, not of all. */
function tierOfBatch(served: string | null): string {
  const others = (served ?? '')
    .split('+')
    .filter((part) => part !== '' && part !== 'standard' && part !== 'batch')
  return ['batch', ...others].join('+')
}

class BatchAccumulator implements UsageAccumulator {
  readonly wantsEvery = false
  readonly #batchId: string | null
  /** By service tier: a request may have been served in another place than those beside it. */
  readonly #byTier = new Map<string, ReturnType<typeof createJobSums>>()

  constructor(batchId: string | null) {
    this.#batchId = batchId
  }

  add(document: JsonObject | null, raw: string | null): boolean {
    const message = member(member(document, 'result'), 'message')
    const usage = member(message, 'usage')
    if (usage === null) return false
    const model = textIn(message?.model) ?? '(unknown)'
    const { parts, units, serviceTier, ...counted } = anthropicUsage(usage, model)
    const [first, ...others] = parts ?? [{ model, usage: counted.usage }]
    const sums = this.#sumsAt(tierOfBatch(serviceTier))
    // Units that were billed beside tokens are the message's, and count once.
    if (first !== undefined) {
      sums.add(first.model, { usage: first.usage, invalid: counted.invalid }, units, raw)
    }
    for (const part of others) sums.add(part.model, { usage: part.usage, invalid: false }, null, null)
    return true
  }

  snapshot(ended: boolean) {
    const jobs = [...this.#byTier].flatMap(([serviceTier, sums]) =>
      sums.jobs({ responseId: this.#batchId, serviceTier }),
    )
    const [first] = jobs
    if (!ended || first === undefined) return observeJobs()
    return jobs.length === 1 ? first : observeJobs(jobs)
  }

  #sumsAt(tier: string): ReturnType<typeof createJobSums> {
    let sums = this.#byTier.get(tier)
    if (sums === undefined && this.#byTier.size >= MAX_TIERS) sums = [...this.#byTier.values()].at(-1)
    if (sums === undefined) {
      sums = createJobSums()
      this.#byTier.set(tier, sums)
    }
    return sums
  }
}

/** Anthropic itself. */
export const anthropic: HostedProvider = {
  hosts: ['api.anthropic.com'],
  credential: keyHeader('x-api-key'),
  requestHeaders: { 'anthropic-version': '2023-06-01' },
  modelListPath: '/v1/models?limit=1000',
  catalog: madeAndListedAs('anthropic', ['anthropic']),
  apis: ['anthropic'],
  isBelowV1: true,
  openAi: USAGE_IF_ASKED,
  endpoints: [
    postTo('/messages', anthropicMessages),
    postTo('/complete', anthropicComplete),
    fetching('GET', /\/v1\/sessions\/[^/]+$/, anthropicSession),
    fetching('GET', /\/messages\/batches\/[^/]+\/results$/, anthropicBatchResults),
  ],
  ownAddresses: ANTHROPIC_ADDRESSES,
  freePaths: [
    SKILLS_FREE,
    {
      patterns: [
        'POST **/v1/agents',
        'POST **/v1/agents/*',
        'POST **/v1/agents/*/archive',
        'POST **/v1/memory_stores',
        'POST **/v1/memory_stores/**',
      ],
      why: STORES_OBJECTS,
    },
    ANTHROPIC_BATCHES_FREE,
  ],
  billedApartPaths: [
    {
      patterns: [
        'POST **/v1/deployments',
        'POST **/v1/deployments/**',
        'POST **/v1/dreams',
        'POST **/v1/dreams/**',
        'POST **/v1/environments',
        'POST **/v1/environments/**',
        'POST **/v1/sessions',
        'POST **/v1/sessions/**',
      ],
      why: 'agents that run at the provider are billed by its own clock',
    },
  ],
  refusedPaths: [ORGANIZATION_REFUSED],
  collections: {
    'messages/batches': 'message_batch',
    // Deployments elsewhere are the operator's.
    'v1/deployments': 'agent',
    deployment_runs: 'agent',
    dreams: 'agent',
    environments: 'container',
    memory_stores: 'vector_store',
    sessions: 'thread',
  },
}
