import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  findRedisProgram,
  type RedisPlaces,
  unpackRedisAhead,
} from '../../../src/standalone/servers/redis-program.ts'

/**
 * Debian stands in for itself: each package is a shell script that writes its files. `apt-get` has what lies in `archive`,
 * knows of it where its lists are, and writes down how it was called.
 */
const APT_GET = `
printf '%s\\n' "$*" >> "$HOST_FOLDER/calls"
case " $* " in
  *' --version '*) exit 0 ;;
  *' update '*) [ -e "$HOST_FOLDER/offline" ] && { echo "E: Failed to fetch http://deb/InRelease  Temporary failure" >&2; echo "E: Some index files failed" >&2; exit 100; }
    : > "$HOST_FOLDER/fetched"; exit 0 ;;
esac
if [ ! -e "$HOST_FOLDER/lists" ]; then
  case "$*" in *Dir::State::lists=*) ;; *) echo "E: Unable to locate package redis-server" >&2; exit 100 ;; esac
  [ -e "$HOST_FOLDER/fetched" ] || { echo "E: Unable to locate package redis-server" >&2; exit 100; }
fi
case " $* " in
  *' --print-uris '*)
    for name in libc6 liblzf1 libssl3 adduser redis-tools redis-server; do
      echo "'http://deb/$name.deb' \${name}_1%3a2_all.deb 10 SHA256:00"
    done ;;
  *' download '*)
    while [ "$1" != download ]; do shift; done
    shift
    for name; do cp "$HOST_FOLDER/archive/$name" "./$name.deb" || exit 100; done ;;
esac
`

let host: string
let places: RedisPlaces
let said: string[]

const dialogue = { say: (line: string) => void said.push(line), ask: async () => false }

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  chmodSync(file, 0o755)
}

/** The server runs where the loader finds its library, as a real one does. */
function serverOf(version: string): string {
  return `mkdir -p usr/bin; cat > usr/bin/redis-server <<'END'
#!/bin/sh
IFS=:
for folder in $LD_LIBRARY_PATH; do
  [ -e "$folder/liblzf.so.1" ] && echo "Redis server v=${version} sha=0:0" && exit 0
done
echo "liblzf.so.1: cannot open shared object file" >&2; exit 127
END
chmod 755 usr/bin/redis-server`
}

beforeEach(() => {
  host = mkdtempSync(join(tmpdir(), 'tallygate-test-unpack-'))
  said = []
  places = { folders: [join(host, 'bin')], unpacked: join(host, 'project/.cache/redis') }
  write(join(host, 'bin/apt-get'), `#!/bin/sh\n${APT_GET}`)
  write(
    join(host, 'bin/dpkg-deb'),
    '#!/bin/sh\n[ "$1" = -x ] || exit 0\nmkdir -p "$3" && cd "$3" && . "$2"\n',
  )
  write(join(host, 'bin/dpkg-query'), '#!/bin/sh\nprintf "libssl3 installed\\nliblzf1 config-files\\n"\n')
  for (const tool of ['sh', 'cp', 'cat', 'mkdir', 'chmod'])
    execFileSync('ln', ['-s', `/bin/${tool}`, join(host, 'bin', tool)])
  const archive = (name: string, script: string) => write(join(host, 'archive', name), script)
  archive('redis-server', ':')
  archive('redis-tools', serverOf('7.0.15'))
  archive('liblzf1', 'mkdir -p usr/lib/any-linux; : > usr/lib/any-linux/liblzf.so.1')
  write(join(host, 'lists'), '')
  vi.stubEnv('HOST_FOLDER', host)
  vi.stubEnv('PATH', join(host, 'bin'))
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(host, { recursive: true, force: true })
})

const calls = () => readFileSync(join(host, 'calls'), 'utf8')
const goOffline = () => rmSync(join(host, 'archive'), { recursive: true })

test('without a redis-server it comes from the system’s packages, and runs with the libraries that are missing here', async () => {
  const program = await findRedisProgram(dialogue, places)
  expect(program.name).toBe('redis-server 7.0.15')
  const { file, args, env } = program.command('/x/redis.conf', 7)
  expect([file, args]).toEqual([join(places.unpacked, 'usr/bin/redis-server'), ['/x/redis.conf']])
  expect(env?.LD_LIBRARY_PATH).toBe(join(places.unpacked, 'usr/lib/any-linux'))
  expect(spawnSync(file, [], { env, encoding: 'utf8' }).stdout).toContain('v=7.0.15')
  expect(said).toEqual([`unpacking Redis into ${places.unpacked}, from the packages of this system`])
})

test('only libraries that the system lacks are taken, and never a second C library', async () => {
  await findRedisProgram(dialogue, places)
  expect(calls()).toMatch(/ download redis-server redis-tools liblzf1$/m)
})

test('nothing of the system is changed: no installation, no rights, and all that was downloaded is gone', async () => {
  write(join(host, 'bin/sudo'), '#!/bin/sh\nprintf sudo >> "$HOST_FOLDER/calls"\n')
  await findRedisProgram(dialogue, places)
  const lines = calls()
    .split('\n')
    .filter((line) => line !== '' && !line.includes('--version'))
  for (const line of lines) {
    expect(line).toContain(`Dir::Cache=${dirname(places.unpacked)}`)
    expect(line).toMatch(/ (--print-uris|download|update)\b/)
  }
  expect(lines.length).toBe(2)
  expect(readdirSync(dirname(places.unpacked))).toEqual(['redis'])
})

test('root keeps apt from changing to its own user, who cannot reach every project; others have none to change to', async () => {
  const getuid = vi.spyOn(process, 'getuid')
  getuid.mockReturnValue(0)
  await findRedisProgram(dialogue, places)
  expect(calls()).toContain('APT::Sandbox::User=root')
  rmSync(join(host, 'calls'))
  rmSync(places.unpacked, { recursive: true })
  getuid.mockReturnValue(1000)
  await findRedisProgram(dialogue, places)
  getuid.mockRestore()
  expect(calls()).not.toContain('Sandbox')
})

test('a system without package lists, as containers are, gets private ones', async () => {
  rmSync(join(host, 'lists'))
  expect((await findRedisProgram(dialogue, places)).name).toBe('redis-server 7.0.15')
  expect(calls()).toMatch(/Dir::State::lists=\S+project\/\.cache\/redis-\S+ .*update$/m)
  expect(readdirSync(dirname(places.unpacked))).toEqual(['redis'])
})

test('once unpacked it needs no network, and apt is not asked again', async () => {
  expect(await unpackRedisAhead(places)).toBe(
    `redis-server 7.0.15 is unpacked beside the project, in ${places.unpacked}`,
  )
  goOffline()
  rmSync(join(host, 'calls'))
  expect(await unpackRedisAhead(places)).toBeNull()
  expect((await findRedisProgram(dialogue, places)).name).toBe('redis-server 7.0.15')
  expect(said).toEqual([])
  expect(existsSync(join(host, 'calls'))).toBe(false)
})

test('one that no longer runs here is replaced: node_modules may come from another system', async () => {
  write(join(places.unpacked, 'usr/bin/redis-server'), '#!/bin/sh\nexit 126\n')
  write(join(places.unpacked, 'usr/lib/other-linux/liblzf.so.1'), '')
  const program = await findRedisProgram(dialogue, places)
  expect(program.name).toBe('redis-server 7.0.15')
  expect(existsSync(join(places.unpacked, 'usr/lib/other-linux'))).toBe(false)
  expect(readdirSync(dirname(places.unpacked))).toEqual(['redis'])
})

test('two that unpack at once both get it', async () => {
  const programs = await Promise.all([findRedisProgram(dialogue, places), findRedisProgram(dialogue, places)])
  expect(programs.map(({ name }) => name)).toEqual(['redis-server 7.0.15', 'redis-server 7.0.15'])
  expect(readdirSync(dirname(places.unpacked))).toEqual(['redis'])
})

test('without a network the reason is said, and after npm install that a start tries again', async () => {
  rmSync(join(host, 'lists'))
  write(join(host, 'offline'), '')
  const why = 'E: Failed to fetch http://deb/InRelease  Temporary failure'
  expect(await unpackRedisAhead(places)).toBe(
    `Redis could not be unpacked beside the project, npm start will try again: ${why}`,
  )
  await expect(findRedisProgram(dialogue, places)).rejects.toThrow(/needs Redis 6\.2 or newer/)
  expect(said.at(-1)).toBe(`that did not work: ${why}`)
  expect(readdirSync(dirname(places.unpacked))).toEqual([])
})

test('packages with a Redis that is too old for the queues are refused', async () => {
  write(join(host, 'archive/redis-tools'), serverOf('6.0.16'))
  await expect(findRedisProgram(dialogue, places)).rejects.toThrow(/needs Redis 6\.2 or newer/)
  expect(said.at(-1)).toBe(
    'that did not work: the Redis of these packages is older than 6.2, or does not run here',
  )
})

test('a folder that may not be written is said to be so', async () => {
  write(join(host, 'project'), 'a file')
  await expect(findRedisProgram(dialogue, places)).rejects.toThrow(/needs Redis 6\.2 or newer/)
  expect(said.at(-1)).toMatch(/^that did not work: Error: (ENOTDIR|EEXIST)/)
})

/** What `npm install` runs, with an environment of this test's host. */
function runPostinstall(program: string, version = process.versions.node) {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`
  return spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`, program],
    {
      env: { PATH: join(host, 'bin'), HOST_FOLDER: host },
      encoding: 'utf8',
    },
  )
}

test('npm install says nothing where a redis-server is on the PATH, and asks no package manager', () => {
  write(join(host, 'bin/redis-server'), '#!/bin/sh\necho "Redis server v=7.0.15 sha=0:0"\n')
  const { status, stdout, stderr } = runPostinstall('scripts/postinstall.mjs')
  expect([status, stdout, stderr]).toEqual([0, '', ''])
  expect(existsSync(join(host, 'calls'))).toBe(false)
})

test('npm install never fails: not on an old Node.js, not as a dependency, not without the project’s files', () => {
  const { postinstall } = JSON.parse(readFileSync('package.json', 'utf8')).scripts
  expect(postinstall).toContain('./scripts/postinstall.mjs')
  const old = join(host, 'old/scripts/postinstall.mjs')
  write(old, readFileSync('scripts/postinstall.mjs', 'utf8'))
  write(join(host, 'old/package.json'), '{ "config": { "node": "24.0.0" } }')
  const without = runPostinstall(old, '20.1.0')
  expect([without.status, without.stderr]).toEqual([0, ''])
  expect(without.stdout).toMatch(/^Node\.js 24 was not looked for, npm start will say or do it: .*\n$/)

  const dependency = join(host, 'node_modules/tallygate/scripts/postinstall.mjs')
  write(dependency, readFileSync('scripts/postinstall.mjs', 'utf8'))
  const asDependency = runPostinstall(dependency)
  expect([asDependency.status, asDependency.stdout, asDependency.stderr]).toEqual([0, '', ''])

  const alone = join(host, 'alone/scripts/postinstall.mjs')
  write(alone, readFileSync('scripts/postinstall.mjs', 'utf8'))
  const incomplete = runPostinstall(alone)
  expect([incomplete.status, incomplete.stderr]).toEqual([0, ''])
  expect(incomplete.stdout).toMatch(/^Redis was not looked for, npm start will say or do it: .*\n$/)

  const path = `${dirname(process.execPath)}:/usr/bin:/bin`
  const nothing = spawnSync('/bin/sh', ['-c', postinstall], {
    cwd: host,
    env: { PATH: path },
    encoding: 'utf8',
  })
  expect([nothing.status, nothing.stdout, nothing.stderr]).toEqual([0, '', ''])
  expect(existsSync(join(host, 'calls'))).toBe(false)
})
