import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { cpuBetween, useOf } from '../stand/proc.ts'

/** What one command of the command line took. */
export interface Measured {
  readonly exitCode: number
  readonly wallSeconds: number
  /** Of the command, and of PostgreSQL with all of its processes. */
  readonly cpuSeconds: number
  readonly postgresCpuSeconds: number
  /** The most that the command had resident. */
  readonly peakMb: number
  readonly bytesOut: number
  readonly output: string
}

const SAMPLE_MS = 50
const SHOWN_CHARACTERS = 400

/**
 * Runs `tallygate ...args` of the checkout in `tree` and measures it.
 *
 * @param postgresPid The server's first process.
 */
export async function runCommand(
  args: readonly string[],
  { tree, databaseUrl, postgresPid }: { tree: string; databaseUrl: string; postgresPid: number },
): Promise<Measured> {
  const before = useOf(postgresPid)
  const startedAt = performance.now()
  const child = spawn(process.execPath, [`${tree}/src/cli/main.ts`, ...args], {
    cwd: tree,
    env: { PATH: process.env.PATH, DATABASE_URL: databaseUrl, KEY_PEPPER: 'bench' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { pid } = child
  if (pid === undefined) throw new Error('the command could not be started')
  let bytesOut = 0
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      bytesOut += chunk.length
      if (output.length < SHOWN_CHARACTERS) output += chunk.toString()
    })
  }
  const start = useOf(pid)
  let last = start
  let peakMb = 0
  const sample = setInterval(() => {
    last = useOf(pid) ?? last
    peakMb = Math.max(peakMb, peakOf(pid))
  }, SAMPLE_MS)
  const [exitCode] = await once(child, 'exit')
  clearInterval(sample)
  return {
    exitCode: Number(exitCode),
    wallSeconds: (performance.now() - startedAt) / 1e3,
    // From its first instruction on: `start` may be missing, and is close to nothing.
    cpuSeconds: (last?.livingUs ?? 0) / 1e6,
    postgresCpuSeconds: (cpuBetween(before, useOf(postgresPid)) ?? 0) / 1e6,
    peakMb,
    bytesOut,
    output: output.slice(0, SHOWN_CHARACTERS),
  }
}

function peakOf(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/status`, 'utf8')
    return (Number(/^VmHWM:\s+(\d+)/m.exec(text)?.[1] ?? 0) * 1024) / 1e6
  } catch {
    return 0 // it has ended
  }
}
