import { afterAll, beforeAll, expect, test } from 'vitest'
import { picoToUsdText } from '../../../../src/domain/pico-usd.ts'
import { folderOf } from '../installed.ts'
import { type Grounds, inAll, type Layout, openGrounds } from './grounds.ts'
import { isWhole, ROWS, type Row } from './rows.ts'
import { isSame, ROW_MS, runRow, type Step } from './run-row.ts'
import { REFUSALS } from './table.ts'
import { openTap, type TappedAnswer } from './tap.ts'

/** Of every provider whose answers differ in form, in four languages, and what stands on top of makers' own libraries. */
const READERS = [
  ...['openai (Python)', 'openai (Node)', 'openai-go', 'openai-java', 'genai (Go)'],
  ...['anthropic (Python)', '@anthropic-ai/sdk', 'google-genai (Python)', '@google/genai'],
  ...['mistralai', 'cohere', 'ollama', 'boto3', 'LangChain: OpenAI', 'AI SDK: OpenAI responses'],
]

let grounds: Grounds

beforeAll(async () => {
  grounds = await openGrounds(['prefix', 'costs'])
})

afterAll(async () => await grounds?.close())

interface Run {
  readonly steps: readonly Step[]
  readonly answers: readonly TappedAnswer[]
  /** Rows of `calls` by their ids. */
  readonly calls: ReadonlyMap<string, Readonly<Record<string, unknown>>>
  receipt(callId: string): Promise<unknown>
}

/** Each request asks for the comment, too, as programs do that do not show trailers. */
async function runIn(layout: Layout, row: Row, folder: string): Promise<Run> {
  const lane = grounds.lane(layout)
  const { stack } = lane
  const { access, client } = await lane.begin(row.provider)
  const base = new URL(access.base)
  const tap = await openTap(Number(base.port), 'x-tallygate-cost: comment', lane.step)
  try {
    base.port = `${tap.port}`
    const tapped = { ...access, base: base.href.replace(/\/$/, '') }
    const steps = await runRow(row, folder, tapped, lane.controlUrl, grounds.folder)
    const answers = tap.answers()
    const ids = answers
      .filter(({ step }) => !(REFUSALS as readonly string[]).includes(step))
      .flatMap(({ headers }) => headers.get('x-tallygate-call-id') ?? [])
    const rows = async () => {
      const found = client === null ? [] : ((await stack?.calls(client)) ?? [])
      return new Map(found.map((call) => [`${call.call_id}`, call]))
    }
    const unknown = async () => {
      const found = await rows()
      return ids.filter((id) => !found.has(id))
    }
    if (client !== null) await expect.poll(unknown).toEqual([])
    return {
      ...{ steps, answers },
      calls: await rows(),
      async receipt(callId) {
        const headers = { authorization: `Bearer ${client?.key}` }
        return await (await fetch(`${stack?.url}/v1/usage/calls/${callId}`, { headers })).json()
      },
    }
  } finally {
    await tap.close()
  }
}

const NAMES = ['x-tallygate-cost-usd', 'x-tallygate-input-tokens', 'x-tallygate-output-tokens'] as const

const shownIn = (fields: ReadonlyMap<string, string>) =>
  Object.fromEntries(NAMES.flatMap((name) => (fields.has(name) ? [[name, fields.get(name)]] : [])))

/** What an answer has to say of a row of `calls`; what is not known is left out. */
function figuresOf({
  cost_pico: cost,
  input_tokens: input,
  output_tokens: output,
}: Readonly<Record<string, unknown>>) {
  const values = [cost === null ? null : picoToUsdText(BigInt(`${cost}`)), input, output]
  return Object.fromEntries(
    NAMES.flatMap((name, at) => (values[at] === null ? [] : [[name, `${values[at]}`]])),
  )
}

const namesIn = ({ headers }: TappedAnswer) =>
  [...headers.keys()]
    .filter((name) => name !== 'trailer' && !(NAMES as readonly string[]).includes(name))
    .sort()

const TESTED = ROWS.filter(({ name }) => READERS.includes(name))

test('each reader is a row', ({ skip }) => {
  skip(!isWhole, 'CLIENTS asks for a part of them')
  expect(TESTED.map(({ name }) => name).sort()).toEqual(READERS.toSorted())
})

test.for(TESTED.map((row) => [row.name, row] as const))(
  '%s has the same with the cost in its answers, which is the recorded one, and the same bytes without',
  { timeout: ROW_MS },
  async ([, row], context) => {
    const folder = folderOf(row.set, context)
    const runs = await inAll(['direct', 'prefix', 'costs'], (layout) => runIn(layout, row, folder))
    const [direct, off, on] = [...runs.values()]
    if (direct === undefined || off === undefined || on === undefined) throw new Error('a layout did not run')

    for (const [at, step] of off.steps.entries()) {
      const shown = on.steps[at]
      if (shown === undefined || !isSame(step, shown)) expect(shown).toEqual(step)
    }
    expect(on.steps).toHaveLength(off.steps.length)

    const ofStep = (run: Run, step: string) => run.answers.filter((answer) => answer.step === step)
    const seen = { whole: 0, streamed: 0 }
    for (const [step, at, answer] of on.answers.map(
      (one) => [one.step, ofStep(on, one.step).indexOf(one), one] as const,
    )) {
      const callId = answer.headers.get('x-tallygate-call-id') ?? ''
      const call = on.calls.get(callId)
      if (call?.usage_source !== 'reported') continue
      const figures = figuresOf(call)
      const isWhole = answer.headers.has('content-length')
      seen[isWhole ? 'whole' : 'streamed'] += 1
      expect(shownIn(isWhole ? answer.headers : answer.trailers), step).toEqual(figures)
      expect(shownIn(isWhole ? answer.trailers : answer.headers), step).toEqual({})
      expect(await on.receipt(callId)).toMatchObject({ cost_usd: figures['x-tallygate-cost-usd'] ?? null })

      const plain = ofStep(off, step)[at]
      const sent = ofStep(direct, step)[at]
      if (plain === undefined || sent === undefined) throw new Error(`${step} was answered at other times`)
      // Google's libraries take each line for data.
      const isEvents =
        row.provider !== 'gemini' &&
        answer.headers.get('content-type')?.startsWith('text/event-stream') === true
      const comment = Object.entries(figures).map(
        ([name, value]) => `${name.replace('x-tallygate-', '').replaceAll('-', '_')}=${value}`,
      )
      expect(answer.body, step).toBe(
        isEvents ? `${plain.body}: tallygate ${comment.join(' ')}\n\n` : plain.body,
      )
      expect(namesIn(answer), step).toEqual(namesIn(plain))
      expect(plain.body, step).toBe(sent.body)
      expect([shownIn(plain.headers), plain.trailers.size], step).toEqual([{}, 0])
    }
    expect(seen.whole, 'whole answers').toBeGreaterThan(0)
    expect(seen.streamed, 'streams').toBeGreaterThan(0)
  },
)
