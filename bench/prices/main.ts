// What every model costs by three sources, asked as calls through the gateway. See README.md.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { answerOf } from './answer.ts'
import { type Exchange, exchangeFor } from './exchange.ts'
import { askThroughGateway } from './gateway.ts'
import { modelsDevData, readGroups } from './groups.ts'
import { judge } from './judge.ts'
import type { Skipped } from './listing.ts'
import { type Question, questionsOf } from './questions.ts'
import { summarize } from './report.ts'
import { asMarkdown, asText } from './report-text.ts'
import { getSources } from './sources.ts'
import { strangersAmong } from './strangers.ts'

const { values } = parseArgs({
  options: {
    litellm: { type: 'string' },
    'models-dev': { type: 'string' },
    provider: { type: 'string' },
    out: { type: 'string' },
  },
})

const today = new Date().toISOString().slice(0, 10)
const say = (line: string) => void process.stderr.write(`${line}\n`)

const files = await getSources({
  ...(values.litellm === undefined ? {} : { litellm: values.litellm }),
  ...(values['models-dev'] === undefined ? {} : { modelsDev: modelsDevData(values['models-dev']) }),
})
const skipped: Skipped = new Map()
const questions = readGroups(files, today, skipped)
  .filter(({ provider }) => values.provider === undefined || values.provider === provider)
  .flatMap(questionsOf)

const asked: { readonly question: Question; readonly exchange: Exchange }[] = []
const notAsked = new Map<string, Question[]>()
for (const [number, question] of questions.entries()) {
  const exchange = exchangeFor(question, number)
  if ('why' in exchange) notAsked.set(exchange.why, [...(notAsked.get(exchange.why) ?? []), question])
  else asked.push({ question, exchange })
}

const strangers = values.provider === undefined ? strangersAmong(skipped) : []

say(`${questions.length} questions, ${asked.length} to be asked`)
const calls = asked.map(({ question, exchange }) => ({ provider: question.provider, exchange }))
const rows = await askThroughGateway([...calls, ...strangers], say)
const verdicts = asked.map(({ question }, index) => judge(question, answerOf(question, rows[index] ?? null)))

const ofStrangers = rows.slice(asked.length).filter((row) => row !== null && row.cost_pico !== null)
const unknownHosts = {
  asked: strangers.length,
  priced: ofStrangers.map((row) => `${row?.requested_model}: ${row?.price_id}`),
}
const summary = summarize(verdicts, notAsked, skipped, unknownHosts, today)
process.stdout.write(asText(summary))
if (values.provider === undefined || values.out !== undefined) {
  const folder = values.out ?? new URL('../results/', import.meta.url).pathname
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'prices.json'), `${JSON.stringify(summary, null, 2)}\n`)
  await writeFile(join(folder, 'prices.md'), asMarkdown(summary))
}
process.exitCode = summary.passes ? 0 : 1
