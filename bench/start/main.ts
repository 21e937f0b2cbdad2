import { execFileSync } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

/**
 * What it takes to load each program, with what Node kept compiled and without, in turn in one run: the part of a
 * start that does not depend on servers.
 *
 *   node bench/start/main.ts [--rounds 7]
 */
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '7' } } })
const rounds = Number(values.rounds)

const PROGRAMS = {
  gateway: 'src/gateway/run-gateway.ts',
  worker: 'workers/workers.ts',
  'command line': 'src/cli/run.ts',
}

function load(program: string, keep: 'kept' | 'not'): { readonly ms: number; readonly mb: number } {
  const url = pathToFileURL(program).href
  const printed = execFileSync(process.execPath, ['bench/start/child.ts', url, keep], { encoding: 'utf8' })
  const [ms = 0, mb = 0] = printed.trim().split(' ').map(Number)
  return { ms, mb }
}

for (const [name, program] of Object.entries(PROGRAMS)) {
  load(program, 'kept')
  const kept = []
  const not = []
  for (let round = 0; round < rounds; round += 1) {
    kept.push(load(program, 'kept'))
    not.push(load(program, 'not'))
  }
  console.log(`${name}, ${rounds} rounds`)
  for (const [how, runs] of [['kept compiled', kept] as const, ['compiled again', not] as const]) {
    console.log(
      `  ${how.padEnd(16)}${spread(runs.map(({ ms }) => ms))} ms, ${spread(runs.map(({ mb }) => mb))} MB`,
    )
  }
}

function spread(figures: readonly number[]): string {
  const sorted = [...figures].sort((a, b) => a - b)
  const at = (index: number) => (sorted.at(index) ?? 0).toFixed(0)
  return `${at(Math.floor(sorted.length / 2))} (${at(0)} to ${at(-1)})`
}
