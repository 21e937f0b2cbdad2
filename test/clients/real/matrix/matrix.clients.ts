import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestClient, TestStack } from '../../../support/servers/stack.ts'
import { folderOf } from '../installed.ts'
import { DIFFERENCES } from './differences.ts'
import type { Asked } from './fakes/provider.ts'
import { type Grounds, inAll, type Lane, type Layout, openGrounds } from './grounds.ts'
import { isWhole, MICRO_USD, ROWS, type Row } from './rows.ts'
import { isSame, ROW_MS, runRow, type Step } from './run-row.ts'
import { PAGE, pageWith, REFUSALS, type Refused, type RowResult, readable } from './table.ts'

let grounds: Grounds
const results: RowResult[] = []
const named = new Set<number>()

const GATEWAYS = ['prefix', 'root'] as const

beforeAll(async () => {
  grounds = await openGrounds(GATEWAYS)
})

afterAll(async () => await grounds?.close())

/** What one layout showed of a row. */
interface Run {
  readonly steps: readonly Step[]
  /** Requests by step: at the provider directly, else at the gateway's door. */
  readonly tries: ReadonlyMap<string, number>
}

test.for(ROWS.map((row) => [row.name, row] as const))(
  '%s has the same through the gateway, at its own provider alone, each request counted once',
  { timeout: ROW_MS },
  async ([, row], context) => {
    const folder = folderOf(row.set, context)
    const runs = await inAll(['direct', ...GATEWAYS], (layout) => runIn(layout, row, folder))
    const direct = runs.get('direct')?.steps ?? []
    const differing: string[] = []
    const unnamed: unknown[] = []
    for (const layout of GATEWAYS) {
      const steps = runs.get(layout)?.steps ?? []
      expect(steps.map(({ step }) => step)).toEqual(direct.map(({ step }) => step))
      for (const [at, step] of steps.entries()) {
        const before = direct[at]
        if (before !== undefined && isSame(before, step)) continue
        differing.push(`${layout} ${step.step}`)
        const index = DIFFERENCES.findIndex(
          ({ rows, step: name, layouts }) =>
            rows.test(row.name) && name === step.step && layouts.includes(layout),
        )
        if (index < 0) unnamed.push({ layout, direct: before, through: step })
        else named.add(index)
      }
    }
    results.push({
      name: row.name,
      alike: 2 * direct.length - differing.length,
      steps: 2 * direct.length,
      refusals: refusalsOf(runs),
    })
    expect(unnamed).toEqual([])
  },
)

test('every difference that is named is one', ({ skip }) => {
  skip(!isWhole || results.length < ROWS.length, 'a part of the rows says nothing of the others')
  expect(DIFFERENCES.filter((_, index) => !named.has(index))).toEqual([])
})

test('docs/clients.md has tries and texts of refusals as they are', async ({ skip }) => {
  skip(results.length === 0, 'no row ran')
  await expect(await pageWith(results)).toMatchFileSnapshot(PAGE)
})

async function runIn(layout: Layout, row: Row, folder: string): Promise<Run> {
  const lane = grounds.lane(layout)
  const { access, client } = await lane.begin(row.provider)
  const steps = await runRow(row, folder, access, lane.controlUrl, grounds.folder)
  if (client === null || lane.stack === null)
    return { steps, tries: new Map([...lane.seen].map(([step, asked]) => [step, asked.length] as const)) }
  await expectCounted(lane, lane.stack, client, row)
  return { steps, tries: new Map(lane.atDoor) }
}

/** The gateway answers these itself, or fetches them for itself. */
const LISTS = /^GET \/(?:openai\/)?(?:v1|v1beta|api)\/(?:models|tags)$/

async function expectCounted(lane: Lane, stack: TestStack, client: TestClient, row: Row): Promise<void> {
  const asked = [...lane.seen.values()]
    .flat()
    .filter((one) => !LISTS.test(`${one.method} ${one.url.pathname}`))
  // 0 bytes of a body anywhere else.
  expect(asked.filter(({ provider }) => provider !== row.provider)).toEqual([])
  const expected = asked.map(expectedRow).sort()
  const counted = async () => {
    return (await stack.calls(client))
      .filter(({ settles, method, path }) => settles === null && !LISTS.test(`${method} ${path}`))
      .map(countedRow)
      .sort()
  }
  await expect.poll(counted).toEqual(expected)
}

function expectedRow({ provider, method, status, reported, body }: Asked): string {
  const begin = `${provider} ${method} ${status}`
  if (body.includes('Please hang up.')) return `${begin} cut`
  if (reported === null) return `${begin} -`
  const { model, input, output } = reported
  const price = MICRO_USD[model]
  const cost = price === undefined ? null : BigInt(input) * price[0] + BigInt(output) * price[1]
  return `${begin} ${model} ${input} ${output} ${cost}`
}

function countedRow(call: Record<string, unknown>): string {
  const begin = `${call.upstream} ${call.method} ${call.status}`
  if (call.outcome !== 'complete') return `${begin} cut`
  if (call.usage_source !== 'reported') return `${begin} -`
  return `${begin} ${call.model} ${call.input_tokens} ${call.output_tokens} ${call.cost_pico}`
}

function refusalsOf(runs: ReadonlyMap<Layout, Run>): Record<string, Refused> {
  const direct = runs.get('direct')
  const gateway = runs.get('prefix')
  return Object.fromEntries(
    REFUSALS.map((name) => [
      name,
      {
        direct: direct?.tries.get(name) ?? 0,
        gateway: gateway?.tries.get(name) ?? 0,
        text: readable(gateway?.steps.find(({ step }) => step === name)),
      },
    ]),
  )
}
