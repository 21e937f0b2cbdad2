import { randomBytes } from 'node:crypto'
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { StandGateway } from '../../../bench/stand/stand.ts'
import { sendSignal } from '../../../src/standalone/processes/detached-process.ts'
import type { Child } from '../../../src/standalone/stand/child.ts'
import type { Fault } from '../fault.ts'
import { databaseBehind } from '../older-database.ts'
import type { World } from '../world.ts'

let second: StandGateway | null = null
let older: Child | null = null
let checkout = ''

/** This code as that of another release. */
async function otherRelease({ stand }: World): Promise<string> {
  if (checkout.startsWith(stand.folder)) return checkout
  checkout = join(stand.folder, 'other-release')
  await mkdir(checkout)
  for (const part of ['src', 'workers', 'packages']) await cp(part, join(checkout, part), { recursive: true })
  const text = JSON.parse(await readFile('package.json', 'utf8'))
  await writeFile(join(checkout, 'package.json'), JSON.stringify({ ...text, version: '0.1.9' }))
  await symlink(resolve('node_modules'), join(checkout, 'node_modules'))
  return checkout
}

/** Keys in Redis belong to one database. */
const OWN_KEYS = { REDIS_PREFIX: 'behind:' }

export const DEPLOYMENT_FAULTS: readonly Fault[] = [
  {
    name: 'the clock of a gateway is ten minutes ahead',
    begin: async ({ gateway }) => sendSignal(gateway.pid, 'SIGWINCH'),
    line: 'clock',
    says: /^gateway [^ ]+ is 10 minutes ahead of PostgreSQL|^gateway [^ ]+ is 600.* ahead of PostgreSQL/,
    advice: /^set the clocks of these hosts, by NTP/,
    item: 'clock',
    repair: async ({ gateway }) => sendSignal(gateway.pid, 'SIGWINCH'),
  },
  {
    name: 'two gateways have two configurations',
    async begin(world) {
      second = await world.addGateway({ name: 'second', env: { BODY_LIMIT_BYTES: '1000000' } })
      await second.start()
      world.meet()
    },
    line: 'configurations',
    says: /^gateways differ: [0-9a-f]{16}: gateway [^;]+; [0-9a-f]{16}: gateway /,
    advice: /^give them one TALLYGATE_CONFIG, .*where variables differ, restart them with the same/,
    async repair(world) {
      await second?.stop(20_000)
      second = await world.addGateway({ name: 'second again' })
      await second.start()
    },
    after: async () => second?.stop(20_000),
  },
  {
    name: 'two gateways are of two releases',
    async begin(world) {
      second = await world.addGateway({ name: 'other', checkout: await otherRelease(world) })
      await second.start()
      world.meet()
    },
    line: 'releases',
    says: /gateway .*; .*gateway .*/,
    advice: /^finish the upgrade: migrate, then workers, then gateways, of one release/,
    async repair(world) {
      await second?.stop(20_000)
      second = await world.addGateway({ name: 'upgraded' })
      await second.start()
    },
    after: async () => second?.stop(20_000),
  },
  {
    name: 'a worker is of another release',
    async begin(world) {
      older = world.stand.worker({ name: 'older worker', checkout: await otherRelease(world) })
      await older.start()
      world.meet()
    },
    line: 'releases',
    says: /0\.1\.9: worker /,
    advice: /^finish the upgrade/,
    repair: async () => older?.stop(20_000),
  },
  {
    name: 'a gateway has another KEY_PEPPER than the keys',
    async begin(world) {
      await world.run({ KEY_PEPPER: randomBytes(16).toString('hex') }, {})
      world.meet()
    },
    line: 'keys',
    says: /hashed with a secret that some gateways do not have, and are refused there: gateway /,
    advice: /^start these gateways with the KEY_PEPPER of the others/,
    repair: (world) => world.run({}, {}),
  },
  {
    name: 'the shell of an operator has another KEY_PEPPER',
    isQuiet: true,
    async begin(world) {
      world.shell = { KEY_PEPPER: randomBytes(16).toString('hex') }
    },
    line: 'keys',
    says: /^2 of 2 active keys are hashed with a secret that is not in KEY_PEPPER/,
    advice: /^add the old secret \(new,old\)/,
    async repair(world) {
      world.shell = {}
    },
  },
  {
    name: 'migrations are pending',
    async begin(world) {
      const behind = await databaseBehind(world)
      const own = { JOURNAL_DIR: join(world.stand.folder, 'journal-behind') }
      await world.run({ ...OWN_KEYS, ...own, DATABASE_URL: behind }, { ...OWN_KEYS, DATABASE_URL: behind })
      world.meet()
    },
    line: 'migrations',
    says: /^the database lacks \d{4}_/,
    advice: /migrate/,
    async repair(world) {
      const { exitCode, out } = await world.command('migrate')
      if (exitCode !== 0) throw new Error(out)
    },
    after: (world) => world.run({}, {}),
  },
]
