import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { startPrivateRedis } from '../support/servers/servers.ts'
import { BREAKS } from './breaks/list.ts'
import { SINCE } from './breaks/since.ts'
import { attackBudgets } from './budget.ts'
import { deploy } from './deployment.ts'
import { startProvider } from './provider.ts'
import { type Attack, createWorld, type Verdict, type World } from './world.ts'

/**
 * The breaks that were found at 105faaa8, each as a client makes it, against gateways and a worker of a checkout and a
 * provider that keeps its own books:
 *
 *     npm run test:attacks                              # this checkout: all must hold
 *     npm run test:attacks -- --checkout ../old         # another one, with its packages installed
 *     npm run test:attacks -- A3 B1                     # only some
 *     npm run test:attacks -- --budget                  # a hard budget of 1 USD at four gateways instead
 *     npm run test:attacks -- --budget transcriptions   # only by some assaults
 */
const AT_ONCE = 8

const { values, positionals } = parseArgs({
  options: { checkout: { type: 'string', default: '.' }, budget: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const checkout = resolve(values.checkout)
if (!existsSync(join(checkout, 'node_modules'))) throw new Error(`${checkout} has no packages: npm ci there`)
const isOwn = checkout === resolve('.')
const chosen = [...BREAKS, ...(isOwn ? SINCE : [])].filter(
  ({ id }) => positionals.length === 0 || positionals.some((one) => id === one || id.startsWith(`${one}.`)),
)

const provider = await startProvider([
  'openai',
  'anthropic',
  'gemini',
  'vllm',
  'mistral',
  'openai-compatible',
])
if (values.budget) {
  const passed = await attackBudgets(checkout, provider, positionals)
  await provider.close()
  console.log(passed === 0 ? 'every budget held' : `${passed} budgets did not hold`)
  process.exit(passed === 0 ? 0 : 1)
}
const redis = await startPrivateRedis()
const deployment = await deploy({ checkout, provider, redisUrl: redis.url, gateways: 1 })
const world = createWorld(deployment, provider)
const verdicts = new Map<Attack, Verdict>()
try {
  await runAll(
    chosen.filter(({ isAlone }) => isAlone !== true),
    AT_ONCE,
  )
  await runAll(
    chosen.filter(({ isAlone }) => isAlone === true),
    1,
  )
} finally {
  await deployment.stop()
  await redis.stop()
}
for (const attack of chosen) {
  const { held, figures } = verdicts.get(attack) ?? { held: false, figures: 'not run' }
  console.log(`${attack.id.padEnd(6)} ${held ? 'held ' : 'BROKE'} ${attack.says}: ${figures}`)
}
const broken = chosen.filter((attack) => verdicts.get(attack)?.held !== true)
const since = chosen.filter((attack) => SINCE.includes(attack))
if (since.length > 0) console.log(`${heldOf(since)} of what came since`)
console.log(heldOf(chosen.filter((attack) => BREAKS.includes(attack))))
process.exit(broken.length === 0 ? 0 : 1)

function heldOf(attacks: readonly Attack[]): string {
  const broke = attacks.filter((attack) => broken.includes(attack)).length
  return `${attacks.length - broke} of ${attacks.length} held${broke === 0 ? '' : `, ${broke} broke`}`
}

async function runAll(attacks: readonly Attack[], atOnce: number): Promise<void> {
  const waiting = [...attacks]
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      verdicts.set(next, await attempt(next, world))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}

async function attempt(attack: Attack, into: World): Promise<Verdict> {
  try {
    return await attack.run(into)
  } catch (error) {
    return {
      held: false,
      figures: `could not be tried: ${error instanceof Error ? error.message : String(error)}`,
    }
  }
}
