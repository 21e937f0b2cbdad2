import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadJobFetchConfig } from '../../../src/config/config.ts'
import { verifyLedger } from '../../../src/corrections/verify.ts'
import { selectSpent } from '../../../src/limits/spent/select-spent.ts'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { countUnsettledJobs } from '../../../src/objects/table/jobs-table.ts'
import { createCallDays } from '../../../src/rollup/call-days.ts'
import { createRollUp } from '../../../src/rollup/roll-up.ts'
import { createJobFetcher } from '../../../workers/job-fetcher.ts'
import { quiet } from '../../rollup/records.ts'
import { rounds } from '../../support/rounds.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { type BackgroundUpstream, startBackgroundUpstream } from '../counting/background-upstream.ts'
import { numbers } from './numbers.ts'

const JOBS = rounds({ short: 10, long: 300 })
/** Of its first ten jobs two never say their use, and one of these is read at its door. */
const SEED = Number(process.env.FUZZ_SEED ?? 4_558)

let folder: string
let provider: BackgroundUpstream
let stack: TestStack

beforeAll(async () => {
  provider = await startBackgroundUpstream()
  folder = await mkdtemp(join(tmpdir(), 'tallygate-fuzz-jobs-'))
  const file = join(folder, 'tallygate.yaml')
  const { url } = provider.upstream
  await writeFile(
    file,
    `upstreams:
  - { name: openai, url: '${url}', provider: openai }
  - { name: claude, url: '${url}', provider: anthropic, path_prefix: /claude }
default_upstream: openai
`,
  )
  stack = await startStack('', { env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file } })
  const budget = { kind: 'budget', per: 'day', isSoft: false, amount: 1_000_000_000_000_000n } as const
  await setLimits(stack.pool, { clientId: null, keyId: null, model: null }, [budget], 'test')
})
afterAll(async () => {
  await stack?.stop()
  await provider?.upstream.close()
  await rm(folder, { recursive: true, force: true })
})

interface Kind {
  readonly name: string
  readonly path: string
  readonly body: object
  /** Where what it made can be read without its use. */
  readonly door: (id: string) => string
  readonly listPico: bigint
}

const KINDS: readonly [Kind, ...Kind[]] = [
  {
    name: 'a response',
    path: '/v1/responses',
    body: { model: 'gpt-4.1', input: 'hi', background: true, conversation: 'conv_fuzz001' },
    door: () => '/v1/conversations/conv_fuzz001/items',
    listPico: 2_800_000_000n,
  },
  {
    name: 'a run of an eval',
    path: '/v1/evals/eval_fuzz0001/runs',
    body: {},
    door: (id) => `/v1/evals/eval_fuzz0001/runs/${id}/output_items`,
    listPico: 2_800_000_000n,
  },
  {
    name: "a batch of Anthropic's",
    path: '/claude/v1/messages/batches',
    body: { requests: [] },
    door: (id) => `/claude/v1/messages/batches/${id}`,
    // Half of 1 and 5 USD per million.
    listPico: 750_000_000n,
  },
]

interface Submitted {
  readonly label: string
  readonly client: TestClient
  readonly kind: Kind
  /** The provider says at its end what it used. */
  readonly reportsUse: boolean
}

/** Whose an object is stands in Postgres. A busy machine may keep that silent for two seconds: a 503, which clients repeat. */
async function untilStored(url: string, init: RequestInit): Promise<Response> {
  for (;;) {
    const answer = await fetch(url, init)
    if (answer.status !== 503) return answer
    await answer.body?.cancel()
  }
}

async function submit(number: number): Promise<Submitted> {
  const random = numbers(SEED + number)
  const kind = KINDS[Math.floor(random() * KINDS.length)] ?? KINDS[0]
  const client = await stack.addClient(`client-${number}`)
  const ask = async (method: string, path: string, body?: object) => {
    const answer = await untilStored(stack.url + path, {
      method,
      headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return {
      status: answer.status,
      json: (await answer.json().catch(() => ({}))) as { readonly id?: string },
    }
  }
  const { status: made, json } = await ask('POST', kind.path, kind.body)
  const id = json.id ?? ''
  const work = provider.work.get(id)
  if (work === undefined) throw new Error(`${kind.name}: ${made} ${JSON.stringify(json)}`)
  const isResponse = kind.path === '/v1/responses'
  const reportsUse = !isResponse || random() < 0.8
  if (!reportsUse) work.ended = { id, object: 'response', status: 'completed', model: 'gpt-4.1' }
  let label = `#${number} ${kind.name}${reportsUse ? '' : ' that never says its use'}`
  for (let steps = 0; steps < 4; steps += 1) {
    const step = Math.floor(random() * 6)
    if (step === 0) {
      work.running = false
      label += '; ends'
    } else if (step === 1) {
      label += `; its door: ${(await ask('GET', kind.door(id))).status}`
    } else if (step === 2) {
      label += `; its own GET: ${(await ask('GET', `${kind.path}/${id}`)).status}`
    } else if (step === 3 && isResponse) {
      label += `; cancel: ${(await ask('POST', `${kind.path}/${id}/cancel`)).status}`
    } else if (step === 4) {
      const { status } = await ask('DELETE', `${kind.path}/${id}`)
      label += `; DELETE: ${status}`
      if (status === 200) break
      if (status !== 409) throw new Error(label)
    }
  }
  work.running = false
  return { label, client, kind, reportsUse }
}

async function wrongWith({ label, client, kind, reportsUse }: Submitted): Promise<string | null> {
  const { rows } = await stack.pool.query<{ cost: string; unpriced: string }>(
    `select sum(cost_pico)::text as cost, sum(unpriced)::text as unpriced from tallygate.daily_usage where client_id = $1`,
    [client.id],
  )
  const { cost = '', unpriced = '' } = rows[0] ?? {}
  const account = { clientId: client.id, keyId: null, model: null, fromDay: '2020-01-01', toDay: null }
  const { chargedPico } = await selectSpent(stack.pool, [account], [])
  const charged = chargedPico[0] ?? 0n
  if (reportsUse) {
    const isExact = cost === `${kind.listPico}` && unpriced === '0' && charged === 0n
    return isExact
      ? null
      : `${label}: ${cost}, ${unpriced} unpriced, ${charged} charged, not ${kind.listPico}`
  }
  return unpriced === '1' && charged > 0n
    ? null
    : `${label}: ${cost}, ${unpriced} unpriced, ${charged} charged`
}

test(`${JOBS} jobs that are read, cancelled and deleted in any order are exact, or unpriced and charged what they reserved`, async () => {
  const first = await stack.addClient('first')
  const limits = async () => (await stack.usage(first, '?include=limits')).limits
  await expect.poll(limits).toHaveLength(1)
  const submitted: Submitted[] = []
  for (let from = 0; from < JOBS; from += 10) {
    const numbered = Array.from({ length: Math.min(10, JOBS - from) }, (_, index) => from + index)
    submitted.push(...(await Promise.all(numbered.map(submit))))
  }
  const silent = submitted.filter(({ reportsUse }) => !reportsUse).map(({ label }) => label)
  expect(silent).toContainEqual(expect.stringMatching(/its door: 200/))
  for (const { name } of KINDS)
    expect(submitted.map(({ label }) => label)).toContainEqual(
      expect.stringMatching(`${name}(?!.*never).*its door: 200`),
    )
  const config = loadJobFetchConfig(stack.env)
  if (config === null) throw new Error('jobs are not to be fetched')
  const { pool } = stack
  const rollUp = createRollUp({ pool, callDays: createCallDays(pool, 35, quiet) })
  const fetcher = createJobFetcher({ pool, rollUp, config, log: quiet, minAgeSeconds: 0 })
  try {
    const made = async () => {
      const sql = 'select count(*)::int as made from tallygate.objects where job'
      return (await pool.query(sql)).rows[0]?.made
    }
    await expect.poll(made).toBe(JOBS)
    await expect
      .poll(async () => {
        await pool.query('update tallygate.objects set fetch_after = null')
        await fetcher.run()
        return (await countUnsettledJobs(pool)).jobs
      })
      .toBe(0)
  } finally {
    await fetcher.close()
  }
  const wrong = async () => {
    const found = await Promise.all(submitted.map(wrongWith))
    return found.filter((text) => text !== null)
  }
  await expect.poll(wrong).toEqual([])
  const { differences, proof } = await verifyLedger(pool, '2020-01-01')
  expect(differences).toEqual([])
  expect(proof.totals).toBe(proof.counted)
})
