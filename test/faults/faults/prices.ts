import { pathToFileURL } from 'node:url'
import { utcDayOf } from '../../../src/domain/utc-day.ts'
import { sendSignal } from '../../../src/standalone/processes/detached-process.ts'
import { chatAnswer, json } from '../../support/upstream.ts'
import type { Fault } from '../fault.ts'

const DAY_MS = 86_400_000
const BUNDLED = 'packages/prices/data/genai-prices.json'
/** A shell in which it is so many days later. */
const later = (days: number) => ({
  NODE_OPTIONS: `--import ${pathToFileURL('test/clock/shift-clock.mjs').href}`,
  TEST_CLOCK_OFFSET_MS: `${days * DAY_MS}`,
})
const UNPRICED = 'our-own-model'

export const PRICE_FAULTS: readonly Fault[] = [
  {
    name: 'a model has no price',
    async begin({ upstream }) {
      upstream.answer = (_, response) =>
        json(response, 200, {
          id: 'chatcmpl-2',
          object: 'chat.completion',
          model: UNPRICED,
          choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
        })
    },
    line: 'prices',
    says: /calls of the last \d+ days have no price: our-own-model \(openai\)/,
    advice: /^add them to prices in TALLYGATE_CONFIG/,
    state: 'note',
    async repair(world) {
      const prices = `prices:\n  - { provider: openai, model: ${UNPRICED}, input: '0', output: '0' }\n`
      await world.configure(world.upstream.url, prices)
      sendSignal(world.gateway.pid, 'SIGHUP')
      world.upstream.answer = chatAnswer
      const since = utcDayOf(Date.now() - DAY_MS)
      const { exitCode, out } = await world.command(
        'prices',
        'reprice',
        '--model',
        UNPRICED,
        '--since',
        since,
      )
      if (exitCode !== 0) throw new Error(out)
    },
  },
  {
    name: 'prices are over 30 days old',
    isQuiet: true,
    async begin(world) {
      await world.stand.pool.query('delete from tallygate.price_refreshes')
      world.shell = later(31)
    },
    line: 'price data',
    says: /^calls are priced by OLD DATA: /,
    advice: /prices update FILE$/,
    async repair(world) {
      world.shell = later(8)
      const { exitCode, out } = await world.command('prices', 'update', BUNDLED)
      if (exitCode !== 0) throw new Error(out)
    },
    after: async (world) => {
      world.shell = {}
    },
  },
]
