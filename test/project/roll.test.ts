import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'

const run = promisify(execFile)

/** Containers as lines `SERVICE ID STATUS IMAGE` of a file; the image that is built is `new`. */
const ENGINE = `#!/bin/bash
set -eu
cd "$(dirname "$0")"
last() { echo "\${@: -1}"; }
add() { echo "$1 $1-$RANDOM$RANDOM $2 new" >> containers; }
keep() { grep -v "$@" containers > next || true; mv next containers; }
echo "$*" >> said
case " $* " in
  *' ps '*)
    status=; case " $* " in *' running '*) status=running ;; *' exited '*) status=exited ;; esac
    awk -v service="$(last "$@")" -v status="$status" '$1 == service && (status == "" || $3 == status) { print $2 }' containers ;;
  *' up '*' worker ') sed -i -E 's/^(worker \\S+) .*/\\1 running new/' containers ;;
  *' up '*' gateway ')
    if [ -e unready ]; then add gateway running; exit 1; fi
    if grep -q '^gateway .* exited' containers; then sed -i 's/ exited / running /' containers; else add gateway running; fi ;;
  *' stop '*' worker '*) sed -i -E 's/^(worker \\S+) running/\\1 exited/' containers ;;
  *' run '*migrate*) [ ! -e unmigrated ] ;;
  ' inspect '*) cat given ;;
  *' run '*' env ') cat taken ;;
  ' rm '*) keep " $(last "$@") " ;;
esac
`

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-roll-'))
  await writeFile(join(folder, 'docker'), ENGINE)
  await chmod(join(folder, 'docker'), 0o755)
  await variablesAre('UPSTREAM_URL=https://api.openai.com', 'UPSTREAM_URL=https://api.mistral.ai')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function containersAre(...lines: readonly string[]): Promise<void> {
  await writeFile(join(folder, 'containers'), lines.map((line) => `${line}\n`).join(''))
}

/** Of the gateway that runs, and of the next one, which has what the shell has. */
async function variablesAre(given: string, taken: string): Promise<void> {
  await writeFile(join(folder, 'given'), `${given}\n`)
  await writeFile(join(folder, 'taken'), `${taken}\n`)
}

/** Service, status and image of each. */
async function containers(): Promise<readonly string[]> {
  const text = await readFile(join(folder, 'containers'), 'utf8')
  const parts = text
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' '))
  return parts.map(([service, , status, image]) => `${service} ${status} ${image}`).sort()
}

async function roll(more: NodeJS.ProcessEnv = {}): Promise<number> {
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, ...more }
  return await run('deploy/roll.sh', [], { env }).then(
    () => 0,
    ({ code }) => code,
  )
}

const ROLLED = ['gateway running new', 'gateway running new', 'worker running new']

test('an upgrade leaves as many gateways and workers as before, of the new image', async () => {
  await containersAre('gateway g1 running old', 'gateway g2 running old', 'worker w1 running old')
  expect(await roll()).toBe(0)
  expect(await containers()).toEqual(ROLLED)
})

test('an upgrade whose gateway does not get ready adds none, however often it is tried', async () => {
  await containersAre('gateway g1 running old', 'gateway g2 running old', 'worker w1 running old')
  await writeFile(join(folder, 'unready'), '')
  for (let round = 0; round < 2; round += 1) {
    expect(await roll()).toBe(1)
    expect(await containers()).toEqual(['gateway running old', 'gateway running old', 'worker running new'])
  }
  await rm(join(folder, 'unready'))
  expect(await roll()).toBe(0)
  expect(await containers()).toEqual(ROLLED)
})

test('workers that an interrupted upgrade left stopped run after the next, and an ended gateway is not started', async () => {
  await containersAre('gateway g1 exited old', 'gateway g2 running old', 'worker w1 exited old')
  expect(await roll()).toBe(0)
  expect(await containers()).toEqual(['gateway running new', 'worker running new'])
})

test('an upgrade from a shell that lacks what gateways were given changes nothing, unless that is meant to go', async () => {
  const before = ['gateway g1 running old', 'worker w1 running old']
  await containersAre(...before)
  await variablesAre(
    'HOST=0.0.0.0\nUPSTREAM_URL=https://api.openai.com\nUPSTREAM_API_KEY=sk-1\nBASE_PATH=',
    'UPSTREAM_URL=http://demo-upstream:4010',
  )
  expect(await roll()).toBe(1)
  expect(await containers()).toEqual(['gateway running old', 'worker running old'])
  const said = await readFile(join(folder, 'said'), 'utf8')
  expect(said).not.toMatch(/ build |migrate| up | stop /)
  expect(await roll({ LEAVE_OUT: 'true' })).toBe(0)
  expect(await containers()).toEqual(['gateway running new', 'worker running new'])
})

test.each([
  ['KEY_PEPPER=one', 'KEY_PEPPER=one', 0],
  ['KEY_PEPPER=one', 'KEY_PEPPER=another', 1],
  ['DATABASE_URL=postgresql://a', 'DATABASE_URL=postgresql://b', 1],
  ['UPSTREAM_API_KEY=a\\cb\nBASE_PATH=/x', 'BASE_PATH=/x\nUPSTREAM_API_KEY=a', 0],
])('a secret that is kept has to be the one that gateways were given: %s, then %s', async (given, taken, code) => {
  await containersAre('gateway g1 running old', 'worker w1 running old')
  await variablesAre(given, taken)
  expect(await roll()).toBe(code)
})

test('a gateway that asks the demo upstream goes on so', async () => {
  await containersAre('gateway g1 running old', 'worker w1 running old')
  await variablesAre('UPSTREAM_URL=http://demo-upstream:4010', 'UPSTREAM_URL=http://demo-upstream:4010')
  expect(await roll()).toBe(0)
})

test('after an upgrade no container is left of the image before, for which compose would stop others', async () => {
  await containersAre('gateway g1 running old', 'worker w1 running old')
  expect(await roll()).toBe(0)
  const said = await readFile(join(folder, 'said'), 'utf8')
  expect(said.trimEnd().split('\n').at(-1)).toBe('compose up --detach --no-build --no-deps secrets migrate')
})
