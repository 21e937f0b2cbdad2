import { execFile, execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ENVIRONMENT } from '../../src/config/config.ts'
import { findFreePort } from '../../src/standalone/processes/free-port.ts'
import { measured, untilPatiently } from '../support/patience.ts'

/**
 * From a paste to the first counted call, by each of the README's ways: `npm run test:first`, or with `-- npx` or others
 * of them. The package's tarball in an empty folder, a fresh clone, the containers: the lines are those that the pages
 * print, with the place of the tarball, a free port and the demo upstream filled in. With `-- --no-build` compose takes
 * the images that are there.
 */
const README = readFileSync('README.md', 'utf8')
const RUN = readFileSync('docs/run.md', 'utf8')
/** Of an idle machine, with all that is fetched, and for compose with its images built. */
const WITHIN_MS = { npx: 60_000, 'npm start': 60_000, compose: 180_000 }
type Way = keyof typeof WITHIN_MS

const options = process.argv.slice(2)
const given = options.filter((option) => option in WITHIN_MS)
const ways = (Object.keys(WITHIN_MS) as Way[]).filter((way) => given.length === 0 || given.includes(way))

const work = mkdtempSync(join(tmpdir(), 'tallygate-first-call-'))
const clone = join(work, 'clone')
const empty = join(work, 'empty')
mkdirSync(empty)
execFileSync('git', ['clone', '--quiet', '--no-hardlinks', process.cwd(), clone])
const env: NodeJS.ProcessEnv = {
  ...process.env,
  PORT: `${await findFreePort()}`,
  ADMIN_PORT: `${await findFreePort()}`,
  XDG_CACHE_HOME: join(work, 'cache'),
}
// What npm sets for a script is not what a person has, and no store or provider of this machine's user is meant.
const ours: readonly string[] = ENVIRONMENT.map(({ name }) => name).filter(
  (name) => name !== 'PORT' && name !== 'ADMIN_PORT',
)
for (const name of Object.keys(env)) if (/^npm_/.test(name) || ours.includes(name)) delete env[name]
env.npm_config_cache = join(work, 'npm')

try {
  for (const way of ways) {
    const { line, untilCounted, end } = wayOf(way)
    console.log(`$ ${line}`)
    try {
      const { ms, idleMs } = await measured(untilCounted)
      const [seconds, ofIdle] = [ms, idleMs].map((value) => (value / 1_000).toFixed(1))
      console.log(`${way}: a counted call after ${seconds} s, of an idle machine ${ofIdle} s`)
      if (idleMs > WITHIN_MS[way]) throw new Error(`${way}: that is more than the limit`)
    } finally {
      await end()
    }
  }
} finally {
  rmSync(work, { recursive: true, force: true })
}

/** One way to start: what is pasted, the wait until a call is counted, and how it is stopped. */
interface FirstCall {
  readonly line: string
  untilCounted(): Promise<void>
  end(): Promise<void>
}

function wayOf(way: Way): FirstCall {
  if (way === 'compose') return byCompose()
  if (way === 'npx') return inTerminal(lineOf(README, /^npx /).replace(/\/path\/to\/\S+/, pack()), empty)
  return inTerminal(lineOf(README, /npm install && npm start/), clone)
}

/** A line of a page's commands, without its remark. */
function lineOf(page: string, which: RegExp): string {
  const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block)
  const line = blocks.flatMap((block) => block.split('\n')).find((one) => which.test(one))
  if (line === undefined) throw new Error(`no page has a line with ${which}`)
  return line.replace(/\s+#.*$/, '')
}

/** @returns the tarball's path */
function pack(): string {
  const command = ['run', '-s', 'pack', '--', '--to', join(work, 'packed')]
  return execFileSync('npm', command, { encoding: 'utf8' }).trimEnd().split('\n').at(-1) ?? ''
}

/** What runs until Ctrl-C, and prints the commands to paste. */
function inTerminal(line: string, cwd: string): FirstCall {
  let stop = async () => {}
  return {
    line,
    async untilCounted() {
      const child = spawn('bash', ['-c', line], {
        ...{ cwd, env, detached: true },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const ended = new Promise((resolve) => child.once('close', resolve))
      stop = async () => {
        if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGINT')
        await ended
      }
      let output = ''
      child.stdout.on('data', (text: Buffer) => {
        output += text.toString('utf8')
      })
      await wait('ready', async () => /^stop\s+Ctrl-C$/m.test(output) || child.exitCode !== null)
      const [call = '', usage = ''] = output.match(/^curl (?:.*\\\n)*.*$/gm) ?? []
      if ((await pasted(call)).choices?.length !== 1) throw new Error(`no answer: ${output}`)
      await wait('counted', async () => (await pasted(usage)).cost_usd > 0)
    },
    end: () => stop(),
  }
}

function byCompose(): FirstCall {
  Object.assign(env, { COMPOSE_PROJECT_NAME: 'tallygate-first-call', COMPOSE_PROFILES: 'demo' })
  // The proxy of this machine's user is none of the stack's.
  Object.assign(env, { UPSTREAM_PROVIDER: 'openai', HTTPS_PROXY: '', HTTP_PROXY: '' })
  const given = lineOf(README, / >> \.env$/).replace(/=https\S+/, '=http://demo-upstream:4010')
  const up = lineOf(README, /docker compose up/)
  const line = `${given} && ${options.includes('--no-build') ? up.replace('--build', '--no-build') : up}`
  return {
    line,
    async untilCounted() {
      const started = await run(line)
      if (started.code !== 0) throw new Error(started.stderr)
      const made = (command: RegExp) => async () => {
        const { code, stdout } = await run(lineOf(RUN, command))
        return code === 0 ? stdout : null
      }
      await wait('a client', made(/gateway tallygate client create/))
      const said = await wait('a key', made(/gateway tallygate key create/))
      const [key = ''] = /\btg_\w+/.exec(said) ?? []
      const [call = '', usage = ''] = [...README.matchAll(/^\$ (curl (?:.*\\\n)*.*)$/gm)].map(
        ([, curl = '']) => curl.replace(':8080', `:${env.PORT}`).replace('tg_…', key),
      )
      await wait('an answer', async () => (await pasted(call)).choices?.length === 1)
      await wait('counted', async () => (await pasted(usage)).cost_usd > 0)
    },
    async end() {
      await run('docker compose down --volumes')
    },
  }
}

/** Pastes a line into a shell of the clone. */
async function run(line: string): Promise<{ code: number; stdout: string; stderr: string }> {
  return await new Promise((resolve) => {
    const child = execFile('bash', ['-c', line], { cwd: clone, env }, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? 1, stdout, stderr }),
    )
  })
}

async function pasted(command: string): Promise<ReturnType<typeof JSON.parse>> {
  const { stdout } = await run(command)
  return stdout.startsWith('{') ? JSON.parse(stdout) : {}
}

async function wait<T>(what: string, ask: () => Promise<T | false | null>): Promise<T> {
  const timeoutMs = Math.max(...Object.values(WITHIN_MS))
  const answer = await untilPatiently(async () => (await ask()) || null, { timeoutMs, everyMs: 200 })
  if (answer === null) throw new Error(`not in time: ${what}`)
  return answer
}
