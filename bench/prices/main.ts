// What every model costs by three sources, asked as calls through the gateway. See README.md.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { answerOf } from './answer.ts'
import type { Exchange } from './exchange.ts'
import { exchangeFor } from './exchange-for.ts'
import { askThroughGateway } from './gateway.ts'
import { modelsDevData, readGroups } from './groups.ts'
import { independentText } from './independent.ts'
import { judge } from './judge.ts'
import type { Skipped } from './listing.ts'
import { pastMarkdown, refreshesOfPast } from './past-lists.ts'
import { type PriceCase, priceCasesOf } from './price-cases.ts'
import { summarize } from './report.ts'
import { asMarkdown, asText } from './report-text.ts'
import { sampleOf } from './sample.ts'
import { getSources } from './sources.ts'
import { unknownNamesAmong } from './unknown-names.ts'

const { values } = parseArgs({
  options: {
    litellm: { type: 'string' },
    'models-dev': { type: 'string' },
    'genai-prices': { type: 'string' },
    seed: { type: 'string', default: '1' },
    calls: { type: 'string' },
    provider: { type: 'string' },
    out: { type: 'string' },
  },
})

const today = new Date().toISOString().slice(0, 10)
const say = (line: string) => void process.stderr.write(`${line}\n`)

const files = await getSources({
  ...(values.litellm === undefined ? {} : { litellm: values.litellm }),
  ...(values['genai-prices'] === undefined ? {} : { genaiPrices: values['genai-prices'] }),
  ...(values['models-dev'] === undefined ? {} : { modelsDev: modelsDevData(values['models-dev']) }),
})
const skipped: Skipped = new Map()
const allCases = readGroups(files, today, skipped)
  .filter(({ provider }) => values.provider === undefined || values.provider === provider)
  .flatMap(priceCasesOf)

const most = values.calls === undefined ? allCases.length : Number(values.calls)
const priceCases = sampleOf(allCases, most, Number(values.seed))

const asked: { readonly priceCase: PriceCase; readonly exchange: Exchange }[] = []
const notAsked = new Map<string, PriceCase[]>()
for (const [number, priceCase] of priceCases.entries()) {
  const exchange = exchangeFor(priceCase, number)
  if ('why' in exchange) notAsked.set(exchange.why, [...(notAsked.get(exchange.why) ?? []), priceCase])
  else asked.push({ priceCase, exchange })
}

const unknownNames = values.provider === undefined ? unknownNamesAmong(skipped) : []

say(`${priceCases.length} price cases, ${asked.length} to be asked`)
const calls = asked.map(({ priceCase, exchange }) => ({ provider: priceCase.provider, exchange }))
const rows = await askThroughGateway([...calls, ...unknownNames], say)
const verdicts = asked.map(({ priceCase }, index) =>
  judge(priceCase, answerOf(priceCase, rows[index] ?? null)),
)

const ofUnknownNames = rows.slice(asked.length).filter((row) => row !== null && row.cost_pico !== null)
const unknownHosts = {
  asked: unknownNames.length,
  priced: ofUnknownNames.map((row) => `${row?.requested_model}: ${row?.price_id}`),
}
const summary = summarize(verdicts, notAsked, skipped, unknownHosts, today)
process.stdout.write(asText(summary))
process.stdout.write(await independentText(Date.now()))
const past = pastMarkdown(await refreshesOfPast())
process.stdout.write(`\n${past}`)
if (values.provider === undefined || values.out !== undefined) {
  const folder = values.out ?? new URL('../results/', import.meta.url).pathname
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'prices.json'), `${JSON.stringify(summary, null, 2)}\n`)
  await writeFile(join(folder, 'prices.md'), `${asMarkdown(summary)}\n${past}`)
}
process.exitCode = summary.passes ? 0 : 1
