import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CatalogDocument, type ModelDocument, namesOf } from '#prices/catalog-document.ts'
import { getWheel, run } from '../../scripts/prices/archives.ts'
import { pricesFrom } from '../../src/pricing/history/catalog-history.ts'
import { findPricesIn, heldKey } from '../../src/pricing/history/catalog-past.ts'
import {
  dataDayOfText,
  judgeRefresh,
  type RefreshJudgement,
} from '../../src/pricing/history/catalog-refresh.ts'
import { readCatalog } from '../../src/pricing/history/read-rows.ts'
import { bundledEntries } from '../../src/pricing/sources/catalog-bundle.ts'

/** genai-prices' list as it was published eight times in a year, some six weeks apart. */
const VERSIONS = ['0.0.45', '0.0.53', '0.0.61', '0.0.68', '0.0.73', '0.1.5', '0.1.10', '0.2.3'] as const

/** What became of one list, offered where the one before it is in force. */
export interface PastRefresh {
  readonly from: string
  readonly to: string
  readonly day: string
  readonly models: number
  readonly changes: number
  readonly held: readonly string[]
  /** What speaks against the whole list. */
  readonly doubts: readonly string[]
  /** Names of sound rows that do not cost what the newer list says, and of doubted ones that do. */
  readonly notInForce: number
  readonly inForceThough: number
  /** Of rows that were spoilt, one in a thousand in each of four ways: how many, and those that are held. */
  readonly spoilt: number
  readonly spoiltHeld: number
}

const MS_PER_DAY = 86_400_000
const WITNESSES = [bundledEntries('models.dev'), bundledEntries('litellm')]

/** Each list after the other, as a gateway that refreshes every few weeks would take them. */
export async function refreshesOfPast(): Promise<readonly PastRefresh[]> {
  const printer = new URL('../../scripts/prices/wheel-data.py', import.meta.url).pathname
  const lists: string[] = []
  for (const version of VERSIONS) {
    const folder = await mkdtemp(join(tmpdir(), 'tallygate-past-lists-'))
    lists.push(run('python3', [printer, getWheel(folder, 'genai-prices', version).folder]))
  }
  const today = new Date().toISOString().slice(0, 10)
  const refreshes: PastRefresh[] = []
  let inForce = lists[0] ?? ''
  for (const [index, offered] of lists.entries()) {
    if (index === 0) continue
    const day = dataDayOfText(offered, today) ?? today
    const dataDay = dataDayOfText(lists[index - 1] ?? '', day)
    const nowMs = Date.parse(day) + MS_PER_DAY / 2
    const days = (nowMs - Date.parse(dataDay ?? day)) / MS_PER_DAY
    const judge = (text: string) =>
      judgeRefresh({ text: inForce, dataDay }, text, { nowMs, days, others: WITNESSES })
    const judged = taken(judge(offered))
    const spoilt = spoil(readCatalog(offered).document)
    const spoiltHeld = taken(judge(JSON.stringify(spoilt.document))).held.filter(({ provider, model }) =>
      spoilt.rows.has(heldKey(provider, model)),
    )
    const isTaken = judged.doubts.length === 0
    const wrong = isTaken ? compare(judged, offered, inForce) : { notInForce: 0, inForceThough: 0 }
    refreshes.push({
      ...{ from: VERSIONS[index - 1] ?? '', to: VERSIONS[index] ?? '', day },
      models: readCatalog(offered).document.reduce((sum, { models }) => sum + models.length, 0),
      changes: judged.changes.length,
      held: judged.held.map(({ provider, model, why }) => `${provider}/${model}: ${why}`),
      doubts: judged.doubts,
      ...wrong,
      spoilt: spoilt.rows.size,
      spoiltHeld: new Set(spoiltHeld.map(({ provider, model }) => heldKey(provider, model))).size,
    })
    if (isTaken) inForce = judged.text ?? inForce
  }
  return refreshes
}

type Read = Extract<RefreshJudgement, { kind: 'read' }>

function taken(judged: RefreshJudgement): Read {
  if (judged.kind === 'read') return judged
  throw new Error(judged.problems.join('; '))
}

/** What is in force afterwards, beside what the newer list says. */
function compare({ text, held, from }: Read, offered: string, before: string) {
  const now = findPricesIn(readCatalog(text ?? before).document)
  const past = findPricesIn(readCatalog(before).document)
  const document = readCatalog(offered).document
  const newer = findPricesIn(document)
  const waits = new Set(held.map(({ provider, model }) => heldKey(provider, model)))
  const textOf = (list: ReturnType<typeof now>) =>
    JSON.stringify(list === null ? null : pricesFrom(list, from).map(({ prices }) => prices))
  let notInForce = 0
  let inForceThough = 0
  for (const { id, models } of document) {
    for (const model of models) {
      const isHeld = waits.has(heldKey(id, model.id))
      // A row without any price says nothing: what was known last stands.
      if (model.prices.every(({ prices }) => Object.keys(prices).length === 0)) continue
      for (const name of namesOf(model)) {
        const isNew = textOf(now(id, name)) === textOf(newer(id, name))
        const wasSo = textOf(past(id, name)) === textOf(newer(id, name))
        if (!isHeld && !isNew) notInForce += 1
        if (isHeld && isNew && !wasSo) inForceThough += 1
      }
    }
  }
  return { notInForce, inForceThough }
}

const WAYS: readonly ((input: number, output: number) => object)[] = [
  (input, output) => ({ input_mtok: input * 100, output_mtok: output * 100 }),
  () => ({ input_mtok: 0, output_mtok: 0 }),
  (input, output) => ({ input_mtok: output, output_mtok: input }),
  (input) => ({ input_mtok: input }),
]

/** One model in a thousand with another price, in turn a hundred times, nothing, exchanged, and cut. */
function spoil(document: CatalogDocument): { document: CatalogDocument; rows: ReadonlySet<string> } {
  const rows = new Set<string>()
  let seen = 0
  const spoilt = document.map((provider) => ({
    ...provider,
    models: provider.models.map((model): ModelDocument => {
      const [input, output] = plainRates(model)
      if (input === 0 || output < 2 * input) return model
      seen += 1
      if (seen % 250 !== 7) return model
      const way = WAYS[rows.size % WAYS.length]
      rows.add(heldKey(provider.id, model.id))
      return { ...model, prices: [{ prices: { ...way?.(input, output) } }] }
    }),
  }))
  return { document: spoilt, rows }
}

/** 0: it has more than one price, or none. */
function plainRates({ prices }: ModelDocument): readonly [input: number, output: number] {
  const { input_mtok: input, output_mtok: output } = prices[0]?.prices ?? {}
  const isPlain = prices.length === 1 && typeof input === 'number' && typeof output === 'number'
  return isPlain ? [input, output] : [0, 0]
}

/** For the result's page. */
export function pastMarkdown(refreshes: readonly PastRefresh[]): string {
  return [
    '## Lists of the past, each offered to the one before',
    '',
    "genai-prices' wheels as they were published. Beside each, the same list with one row in a thousand spoilt:",
    'a hundred times dearer, for nothing, input and output exchanged, cut before its output.',
    '',
    '| from, to | newest price of | models | changes | held | against all | sound, not in force | doubted, in force | spoilt, held |',
    '|---|---|---|---|---|---|---|---|---|',
    ...refreshes.map(
      (one) =>
        `| ${one.from}, ${one.to} | ${one.day} | ${one.models} | ${one.changes} | ${one.held.length} | ${one.doubts.join('; ') || 'nothing'} | ${one.notInForce} | ${one.inForceThough} | ${one.spoilt}, ${one.spoiltHeld} |`,
    ),
    '',
    ...refreshes.flatMap(({ to, held }) => held.slice(0, 10).map((line) => `- ${to} holds ${line}`)),
    '',
  ].join('\n')
}
