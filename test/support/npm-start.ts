import { execFile, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { until } from '../../src/lib/repeat.ts'
import { sendSignal } from '../../src/standalone/processes/detached-process.ts'
import { clockEnvironment } from '../clock/clock.ts'
import { OFFLINE } from './offline.ts'
import { patienceMs } from './patience.ts'

/** One `npm start`, as a user types it. */
export interface NpmStart {
  /** All that it has written, stdout and stderr. */
  readonly output: string
  /** Resolves to npm's exit code. */
  readonly exited: Promise<number | null>
  /** Waits for the final screen and gives its commands, each as it would be marked and pasted. */
  screen(): Promise<string[]>
  /** Waits until it has written this. */
  said(pattern: RegExp): Promise<void>
  /** A signal to the foreground process group, as the terminal sends it. */
  signal(signal: NodeJS.Signals): void
}

const PROJECT = fileURLToPath(new URL('../../', import.meta.url))

/** @param env added to an environment in which no other variable of ours is set */
export function npmStart(env: Readonly<Record<string, string>>, args: readonly string[] = []): NpmStart {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn('npm', ['start', ...(args.length > 0 ? ['--', ...args] : [])], {
    cwd: PROJECT,
    detached: true,
    env: { PATH, HOME, ...clockEnvironment(), ...OFFLINE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const hear = (text: Buffer) => {
    output += text.toString('utf8')
  }
  child.stdout.on('data', hear)
  child.stderr.on('data', hear)
  let ended = false
  const exited = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      ended = true
      resolve(code)
    })
  })
  const said = async (pattern: RegExp) => {
    const answer = await until(() => (pattern.test(output) ? 'said' : ended ? 'ended' : null), {
      timeoutMs: patienceMs(),
    })
    if (answer !== 'said') throw new Error(`npm start did not say ${pattern}, but:\n${output}`)
  }
  return {
    get output() {
      return output
    },
    exited,
    said,
    async screen() {
      await said(/^stop\s+Ctrl-C$/m)
      return output.match(/^curl (?:.*\\\n)*.*$/gm) ?? []
    },
    signal(signal) {
      sendSignal(-(child.pid ?? 0), signal)
    },
  }
}

/** Runs a command as bash runs what is pasted into it, and reads the JSON it prints. */
export async function paste(command: string): Promise<Record<string, unknown>> {
  const { stdout } = await promisify(execFile)('bash', ['-c', command])
  return Object(JSON.parse(stdout))
}

/** The processes that have to do with a data folder, by their command line or environment, and those in its registry. */
export function processesOf(dataDir: string): number[] {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  const recorded = recordedIn(dataDir)
  return pids.filter((pid) => {
    if (pid === process.pid) return false
    const text = readProc(pid, 'cmdline') + readProc(pid, 'environ')
    return isRunning(pid) && (text.includes(dataDir) || recorded.includes(pid))
  })
}

function recordedIn(dataDir: string): number[] {
  try {
    const recorded: { pid: number }[] = JSON.parse(readFileSync(join(dataDir, 'processes.json'), 'utf8'))
    return recorded.map(({ pid }) => pid)
  } catch {
    return []
  }
}

function isRunning(pid: number): boolean {
  const stat = readProc(pid, 'stat')
  return stat !== '' && !stat.slice(stat.lastIndexOf(')')).startsWith(') Z')
}

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
