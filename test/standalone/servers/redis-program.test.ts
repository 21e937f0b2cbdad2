import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { type Dialogue, findRedisProgram } from '../../../src/standalone/servers/redis-program.ts'

const root = mkdtempSync(join(tmpdir(), 'tallygate-test-programs-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
afterEach(() => vi.unstubAllEnvs())

/** A folder with programs that stand in for those of a machine. */
function folderOf(name: string, programs: Readonly<Record<string, string>>): string {
  const folder = join(root, name)
  mkdirSync(folder)
  for (const [program, script] of Object.entries(programs)) {
    writeFileSync(join(folder, program), `#!/bin/sh\n${script}\n`)
    chmodSync(join(folder, program), 0o755)
  }
  return folder
}

/** Nothing is unpacked there yet. */
const placesOf = (...folders: string[]) => ({ folders, unpacked: join(folders[0] ?? root, 'unpacked') })

function dialogue(answer: boolean): Dialogue & { readonly asked: string[]; readonly said: string[] } {
  const [asked, said]: [string[], string[]] = [[], []]
  return {
    asked,
    said,
    say: (line) => void said.push(line),
    async ask(prompt) {
      asked.push(prompt)
      return answer
    },
  }
}

const redis = (version: string) => `echo "Redis server v=${version} sha=00000000:0 malloc=jemalloc bits=64"`

test('a redis-server on the PATH is taken without asking', async () => {
  const folder = folderOf('redis', { 'redis-server': redis('7.0.15') })
  const talk = dialogue(false)
  const program = await findRedisProgram(talk, placesOf(folder))
  expect(program.name).toBe('redis-server 7.0.15')
  expect(program.command('/x/redis.conf', 7)).toEqual({
    file: join(folder, 'redis-server'),
    args: ['/x/redis.conf'],
  })
  expect(talk.asked).toEqual([])
})

test('one that is too old for the queues is passed over, a valkey-server is as good', async () => {
  const old = folderOf('old', { 'redis-server': redis('6.0.16') })
  const valkey = folderOf('valkey', { 'valkey-server': 'echo "Valkey server v=8.0.1 sha=0:0 bits=64"' })
  expect((await findRedisProgram(dialogue(false), placesOf(old, valkey))).name).toBe('valkey-server 8.0.1')
})

test('a user who does not want it installed gets Docker, where an engine answers', async () => {
  const folder = folderOf('engine', {
    'apt-get': 'exit 0',
    brew: 'exit 0',
    docker: 'echo 28.0',
  })
  vi.stubEnv('PATH', folder)
  const talk = dialogue(false)
  const program = await findRedisProgram(talk, placesOf(folder))
  expect(talk.asked.at(-1)).toBe('Redis is not installed. Install it now with "brew install redis"?')
  expect(program.name).toBe('redis:7 in Docker')
  expect(program.configure(['requirepass x'], 4711)).toContain('port 6379')
})

test('a container left behind on the folder is removed before another writes there', async () => {
  const log = join(root, 'docker.log')
  const folder = folderOf('docker', {
    docker: `echo "$*" >> ${log}; case $1 in info) echo 28.0;; ps) echo left-one;; esac`,
  })
  vi.stubEnv('PATH', folder)
  const program = await findRedisProgram(dialogue(false), placesOf(folder))
  writeFileSync(log, '')
  const { file, args } = program.command('/data folder/redis.conf', 4711)
  execFileSync(file, args)
  vi.unstubAllEnvs()
  const calls = execFileSync('cat', [log], { encoding: 'utf8' }).trim().split('\n')
  expect(calls).toEqual([
    'ps --all --quiet --filter label=tallygate.folder=/data folder',
    'rm --force left-one',
    expect.stringMatching(
      /^run --rm --label tallygate\.folder=\/data folder --volume \/data folder:\/data --publish=127\.0\.0\.1:4711:6379 .*redis:7 redis-server \/data\/redis\.conf$/,
    ),
  ])
})

test('where nothing works, the error says what to install, and what was tried', async () => {
  const folder = folderOf('nothing', {
    brew: 'case $1 in install) echo "Error: no network" >&2; exit 1;; esac',
    docker: 'exit 1',
  })
  vi.stubEnv('PATH', folder)
  const talk = dialogue(true)
  await expect(findRedisProgram(talk, placesOf(folder))).rejects.toThrow(
    /apt-get install redis-server[\s\S]*brew install redis[\s\S]*REDIS_URL/,
  )
  expect(talk.said).toEqual(['installing Redis: brew install redis', 'that did not work: Error: no network'])
})
