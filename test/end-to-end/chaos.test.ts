// @long: thirteen faults, one after the other.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const FAULTS = [
  'gateway kill -9',
  'kill -9 of one process of a cluster',
  'gateway stays dead',
  'gateway dies as the usage is out',
  'gateway dies at a commit',
  'worker kill -9',
  'redis FLUSHALL',
  'redis replaced by an empty one',
  'postgres restart',
  'connections cut',
  'answers lost',
  'the same job twice at once',
  'power loss',
]
const SEED = 20_261
const ROUND = ['--calls', '1500', '--seed', `${SEED}`, '--gateways', '2', '--workers', '2', '--minutes', '3']

test('one of each of thirteen faults among calls: everybody has the same books in the end', async () => {
  const arguments_ = ['bench/chaos/main.ts', ...ROUND, '--faults', FAULTS.join(',')]
  const { stdout } = await promisify(execFile)(process.execPath, arguments_).catch((error) => {
    throw new Error(`${error.stdout}\n${error.stderr}`) // has the line that repeats it
  })
  expect(stdout).toContain('lost 0, doubled 0')
  for (const fault of FAULTS) expect(stdout).toContain(`| ${fault} | 1 |`)
})
