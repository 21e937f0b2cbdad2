import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { verifyLedger } from '../../../src/corrections/verify.ts'
import { selectSpent } from '../../../src/limits/spent/select-spent.ts'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { rounds } from '../../support/rounds.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { numbers } from './numbers.ts'
import { anOrder } from './orders.ts'
import { type Attempt, type Coding, type Leaving, type Provider, startProvider } from './provider.ts'

const ATTEMPTS = rounds({ short: 30, long: 1_000 })
/** Its first thirty attempts order all that {@link ORDERED} says. */
const SEED = Number(process.env.FUZZ_SEED ?? 244_682)
/** Of each kind of order some: by tokens that no byte shows, by fees, by pictures. */
const ORDERED = [
  'embeddings',
  'a picture',
  'a message, a document by id',
  'a message, searches',
  'a response, a file by id',
  'a response, a search',
  'a response, a stored prompt',
]
const AT_A_TIME = 16

let folder: string
let provider: Provider
let stack: TestStack

beforeAll(async () => {
  provider = await startProvider()
  folder = await mkdtemp(join(tmpdir(), 'tallygate-fuzz-'))
  const file = join(folder, 'tallygate.yaml')
  const named = ['anthropic', 'gemini', 'cohere'].map(
    (name) => `  - { name: ${name}, url: '${provider.url}', provider: ${name}, path_prefix: /${name} }\n`,
  )
  await writeFile(
    file,
    `upstreams:\n  - { name: openai, url: '${provider.url}', provider: openai }\n${named.join('')}default_upstream: openai\n`,
  )
  stack = await startStack('', { env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file } })
  // Large, so that nothing is refused, and hard, so that all is reserved.
  const amount = 1_000_000_000_000_000n
  await setLimits(
    stack.pool,
    { clientId: null, keyId: null, model: null },
    [{ kind: 'budget', per: 'day', isSoft: false, amount }],
    'test',
  )
})
afterAll(async () => {
  await stack?.stop()
  await provider?.close()
  await rm(folder, { recursive: true, force: true })
})

/** Each from its own number, so that one can be run alone. */
function anAttempt(number: number): Attempt {
  const random = numbers(SEED + number)
  const order = anOrder(random, number)
  const hows = ['stays', 'ends', 'ends', 'half-closes', 'resets'] as const
  const how = hows[Math.floor(random() * hows.length)] ?? 'stays'
  const after = Math.floor(random() * (order.pieces.length + 1)) - 1
  const codings: readonly Coding[] = ['gzip', 'br', 'deflate', 'unreadable']
  const coding = random() < 0.75 ? 'identity' : (codings[Math.floor(random() * codings.length)] ?? 'gzip')
  const leaving: Leaving = { how, after, protocol: random() < 0.6 ? 'HTTP/1.1' : 'HTTP/2' }
  return { number, order, leaving, coding }
}

interface Outcome {
  readonly attempt: Attempt
  readonly client: TestClient
  readonly status: number
  readonly words: number | null
}

async function makeAll(): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = []
  let next = 0
  const work = async () => {
    while (next < ATTEMPTS) {
      const attempt = anAttempt(next++)
      const client = await stack.addClient(`client-${attempt.number}`)
      const { status, words } = await provider.attempt(stack.url, client.key, attempt)
      outcomes.push({ attempt, client, status, words })
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, work))
  return outcomes
}

const pico = (value: unknown) => (value === null || value === undefined ? null : BigInt(`${value}`))

/** What is wrong with the books of an attempt; `null`: nothing. */
async function wrongWith({ attempt, client, status, words }: Outcome): Promise<string | null> {
  const { order, leaving, coding, number } = attempt
  const named = `#${number} ${order.name}; ${leaving.protocol} ${leaving.how} after ${leaving.after} of ${order.pieces.length}; ${coding}; ${status}`
  const served = provider.books.get(number)
  const rows = (await stack.calls(client)).filter(({ told_by: by }) => by === null)
  if (served === undefined) return rows.length === 0 ? null : `${named}: counted, and never sent`
  const [row] = rows
  if (row === undefined || rows.length > 1) return `${named}: ${rows.length} rows`
  const cost = pico(row.cost_pico)
  const source = `${row.usage_source}`
  const shown = BigInt(order.promptWords) * order.inPico + BigInt(words ?? 0) * order.outPico
  if (cost === null) {
    if (leaving.how === 'stays' && coding !== 'unreadable')
      return `${named}: no cost, though its client stayed`
    const account = { clientId: client.id, keyId: null, model: null, fromDay: '2020-01-01', toDay: null }
    const { chargedPico } = await selectSpent(stack.pool, [account], [])
    const charged = chargedPico[0] ?? 0n
    if (row.unpriced_reason === null) return `${named}: no cost, and no reason`
    return charged >= shown && charged > 0n
      ? null
      : `${named}: no cost (${row.unpriced_reason}), and ${charged} charged of ${shown}`
  }
  if (source === 'estimated' || source === 'partial') {
    if (leaving.how === 'stays') return `${named}: ${source}, though its client stayed`
    const least = shown + order.hiddenPico
    return cost >= least ? null : `${named}: ${source} ${cost}, and ${least} were delivered`
  }
  return cost === order.listPico ? null : `${named}: ${source} ${cost}, and ${order.listPico} by the list`
}

test(`${ATTEMPTS} calls that are left in any way are exact, or flagged and never below what came, or charged what was reserved`, async () => {
  const client = await stack.addClient('first')
  const limits = async () => (await stack.usage(client, '?include=limits')).limits
  await expect.poll(limits).toHaveLength(1)
  const outcomes = await makeAll()
  await expect.poll(() => stack.gateway.activity().underWay).toBe(0)
  const sent = outcomes.filter(({ attempt }) => provider.books.has(attempt.number)).length
  const counted = async () => {
    const { rows } = await stack.pool.query(
      'select count(*)::int as calls from tallygate.calls where told_by is null',
    )
    return rows[0]?.calls
  }
  await expect.poll(counted).toBeGreaterThanOrEqual(sent)
  const wrong: string[] = []
  for (const outcome of outcomes) {
    const found = await wrongWith(outcome)
    if (found !== null) wrong.push(found)
  }
  expect(wrong).toEqual([])
  // The attempts are of use: all kinds were ordered, and the provider was asked nearly always.
  const ordered = outcomes.map(({ attempt }) => attempt.order.name.replace(/, (?:streamed|whole)$/, ''))
  expect(ordered).toEqual(expect.arrayContaining(ORDERED))
  expect(sent).toBeGreaterThan(ATTEMPTS * 0.9)
  const { differences, proof } = await verifyLedger(stack.pool, '2020-01-01')
  expect(differences).toEqual([])
  expect(proof.totals).toBe(proof.counted)
})
