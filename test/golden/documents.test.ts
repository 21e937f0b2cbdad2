import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Environment } from '../../src/config/config.ts'
import { json, run } from '../cli/command-line.ts'
import { holdClockAtNoon } from '../clock/clock.ts'
import type { LedgerDatabase } from '../rollup/ledger-database.ts'
import { type TestPrefix, testRedisPrefix } from '../support/servers/redis.ts'
import { settled, withoutNumbers } from './settled.ts'
import { CALL, openTroubledLedger, PRODUCER } from './troubled-ledger.ts'

const TODAY = holdClockAtNoon()

/** Usual commands, by the file that holds what they print: first as JSON, then for people. */
const COMMANDS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  clients: [
    ['client', 'list'],
    ['client', 'show', 'acme'],
    ['key', 'list'],
    ['key', 'list', '--client', 'acme'],
  ],
  limits: [
    ['limits', 'show'],
    ['limits', 'show', '--client', 'acme'],
    ['limits', 'history', '--client', 'acme'],
  ],
  alerts: [['alerts', 'list']],
  usage: [
    ['usage'],
    ['usage', '--client', 'acme'],
    ['usage', '--by', 'day,model'],
    ['usage', '--by', 'client,key'],
    ['usage', 'export', '--format', 'csv'],
    ['usage', '--by', 'model', '--limit', '1'],
  ],
  calls: [
    ['calls', 'list'],
    ['calls', 'find', CALL],
    ['calls', 'explain', CALL],
  ],
  prices: [
    ['prices', 'show', 'our-model'],
    ['prices', 'check'],
    ['prices', 'doubts'],
  ],
  adjustments: [['adjustment', 'list']],
  jobs: [['jobs', 'list']],
  ledger: [
    ['ledger', 'status'],
    ['ledger', 'gaps'],
    ['ledger', 'verify'],
    ['dead-letters', 'list'],
    ['dead-letters', 'show', `${PRODUCER}/9`],
  ],
}

let ledger: LedgerDatabase & { readonly names: Readonly<Record<string, string>> }
let keys: TestPrefix
let redis: Redis
let folder: string
let env: Environment

beforeAll(async () => {
  keys = testRedisPrefix()
  redis = new Redis(keys.redisUrl)
  ledger = await openTroubledLedger(keys.prefix, redis)
  folder = mkdtempSync(join(tmpdir(), 'tallygate-golden-'))
  const config = join(folder, 'tallygate.yaml')
  writeFileSync(
    config,
    'upstreams: [{ name: openai, url: "https://api.openai.com/v1" }]\nprices: [{ model: our-model, input: "0.5", output: "1.5" }]\n',
  )
  env = {
    DATABASE_URL: ledger.url,
    REDIS_URL: keys.redisUrl,
    REDIS_PREFIX: keys.prefix,
    KEY_PEPPER: 'pepper',
    JOURNAL_DIR: join(folder, 'journal'),
    TALLYGATE_DATA_DIR: folder,
    TALLYGATE_CONFIG: config,
  }
  await ledger.pool.query(`insert into tallygate.clients (id, name, version) values ('cli_a', 'acme', 1)`)
  await json(env, 'key', 'create', '--client', 'acme', '--name', 'a laptop')
  await json(env, 'limits', 'set', '--client', 'acme', '--budget', '50', '--per', 'month', '--rpm', '600')
  await json(env, 'limits', 'set', '--default', '--budget', '5', '--per', 'day', '--soft')
  await json(env, 'alerts', 'add', '--url', 'https://ops.example.com/tallygate', '--on', 'gap,journal')
  await json(
    env,
    'adjustment',
    'add',
    '--client',
    'acme',
    '--day',
    TODAY,
    '--amount-usd=-0.25',
    '--reason',
    'goodwill',
    '--by',
    'somebody',
  )
})

afterAll(async () => {
  redis.disconnect()
  await ledger.drop()
  await keys.drop()
  rmSync(folder, { recursive: true })
})

/** What a command prints, with its exit code. */
async function printed(command: readonly string[]): Promise<string> {
  const document = await run(env, ...command, '--json')
  const text = await run(env, ...command)
  return [
    `$ tallygate ${command.join(' ')} --json   # ${document.code}`,
    document.out === '' ? document.err : JSON.stringify(JSON.parse(document.out), null, 1),
    `$ tallygate ${command.join(' ')}   # ${text.code}`,
    `${text.out}${text.err}`,
  ].join('\n')
}

const names = () => ({ ...ledger.names, [folder]: '<folder>', [keys.redisUrl]: '<redis>' })

test.each(Object.entries(COMMANDS))('what commands about %s print', async (name, commands) => {
  const outputs: string[] = []
  for (const command of commands) outputs.push(settled(await printed(command), names()))
  await expect(outputs.join('\n')).toMatchFileSnapshot(`documents/${name}.golden.txt`)
})

test('what doctor says of a ledger with troubles', async () => {
  const output = withoutNumbers(settled(await printed(['doctor']), names()))
  await expect(output).toMatchFileSnapshot('documents/doctor.golden.txt')
})
