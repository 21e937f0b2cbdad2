import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { clockEnvironment } from '../clock/clock.ts'

/** A gateway in a process of its own, as it runs in production: `node src/gateway/server.ts`. */
export interface GatewayProcess {
  readonly child: ChildProcess
  readonly url: string
  /** The operator's listener. */
  readonly adminUrl: string
  /** What it has logged so far, line by line. */
  readonly log: readonly string[]
  /** Resolves to the exit code; `null` when a signal killed it. */
  readonly exited: Promise<number | null>
}

interface StartedLine {
  readonly msg: string
  readonly clients: { readonly port: number }
  readonly operator: { readonly port: number }
}

const PROJECT = fileURLToPath(new URL('../../', import.meta.url))

/** Starts it with this environment alone, and waits until it takes calls. */
export async function startGatewayProcess(env: Readonly<Record<string, string>>): Promise<GatewayProcess> {
  const child = spawnServer({ ...env, LOG_LEVEL: 'info' })
  const exited = exitOf(child)
  if (child.stdout === null) throw new Error('the process has no output')
  const log: string[] = []
  const started = Promise.withResolvers<StartedLine | null>()
  createInterface({ input: child.stdout })
    .on('line', (line) => {
      log.push(line)
      const { msg, clients, operator }: Partial<StartedLine> = Object(JSON.parse(line))
      if (msg === 'the gateway takes calls' && clients !== undefined && operator !== undefined)
        started.resolve({ msg, clients, operator })
    })
    .on('close', () => started.resolve(null))
  const ports = await started.promise
  if (ports === null) throw new Error(`the gateway ended with ${await exited} before it took calls`)
  const [url, adminUrl] = [ports.clients, ports.operator].map(({ port }) => `http://127.0.0.1:${port}`)
  return { child, url: url ?? '', adminUrl: adminUrl ?? '', log, exited }
}

/** Runs `node src/gateway/server.ts` to its end: for configurations it refuses. */
export async function runServer(
  env: Readonly<Record<string, string>>,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawnServer(env)
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', (text) => {
    stdout += text
  })
  child.stderr?.on('data', (text) => {
    stderr += text
  })
  return { code: await exitOf(child), stdout, stderr }
}

function spawnServer(env: Readonly<Record<string, string>>): ChildProcess {
  return spawn(process.execPath, ['src/gateway/server.ts'], {
    cwd: PROJECT,
    env: { ...clockEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function exitOf(child: ChildProcess): Promise<number | null> {
  const [code] = await once(child, 'close')
  return code
}
