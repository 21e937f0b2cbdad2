import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { findFreePort } from '../../src/standalone/processes/free-port.ts'
import { type NodeProcess, startNode } from '../../src/standalone/processes/node-process.ts'

const READY_WITHIN_MS = 180_000
const POLL_MS = 20

/** A gateway as in production, with what its start took. */
export interface BenchGateway {
  readonly process: NodeProcess
  readonly url: string
  readonly adminUrl: string
  readonly readyMs: number
  readonly readyCpuMs: number
}

export async function startGateway(folder: string, env: NodeJS.ProcessEnv): Promise<BenchGateway> {
  mkdirSync(folder)
  const [port, adminPort] = [await findFreePort(), await findFreePort()]
  const startedMs = performance.now()
  const gateway = await startNode({
    script: 'src/gateway/server.ts',
    env: {
      ...env,
      HOST: '127.0.0.1',
      PORT: `${port}`,
      ADMIN_PORT: `${adminPort}`,
      JOURNAL_DIR: join(folder, 'journal'),
      TALLYGATE_DATA_DIR: folder,
    },
    logFile: join(folder, 'gateway.log'),
  })
  const url = `http://127.0.0.1:${port}`
  for (;;) {
    if (!gateway.running || performance.now() - startedMs > READY_WITHIN_MS)
      throw new Error(`the gateway does not get ready:\n${gateway.lastWords(10)}`)
    const answer = await fetch(`${url}/readyz`).catch(() => null)
    await answer?.arrayBuffer()
    if (answer?.ok === true) break
    await delay(POLL_MS)
  }
  return {
    process: gateway,
    url,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    readyMs: performance.now() - startedMs,
    readyCpuMs: cpuMsOf([gateway.pid]),
  }
}

/** Processor time since they began, user and system together, in ms: proc_pid_stat(5), at 100 ticks a second. */
export function cpuMsOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return sum + 10 * (Number(fields[11]) + Number(fields[12]))
  }, 0)
}

/** Memory that a process has, in bytes. */
export function rssOf(pid: number): number {
  return 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
}
