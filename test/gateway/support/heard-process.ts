import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { vi } from 'vitest'
import { clockEnvironment } from '../../clock/clock.ts'

/** A program of ours in a process of its own, with every byte it says kept. */
export interface HeardProcess {
  readonly pid: number
  /** stdout and stderr so far. */
  output(): string
  /** Sends the signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<void>
}

export interface HeardGateway extends HeardProcess {
  readonly url: string
  readonly adminUrl: string
}

const PROJECT = fileURLToPath(new URL('../../../', import.meta.url))

/** Starts `node <script>` with this environment alone; resolves once its output matches `started`. It dies with this process at the latest. */
export async function startHeard(
  script: string,
  env: Readonly<Record<string, string>>,
  started: RegExp,
): Promise<HeardProcess> {
  const child = spawn(process.execPath, [script], {
    cwd: PROJECT,
    env: { ...clockEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  let closed = false
  const gone = once(child, 'close').then(() => {
    closed = true
    process.off('exit', kill)
  })
  await vi.waitUntil(() => closed || started.test(output), { interval: 20 })
  if (closed) throw new Error(`${script} ended: ${output}`)
  return {
    pid: child.pid ?? 0,
    output: () => output,
    async end(signal) {
      child.kill(signal)
      await gone
    },
  }
}

/** A gateway on free ports of loopback. */
export async function startHeardGateway(env: Readonly<Record<string, string>>): Promise<HeardGateway> {
  const said =
    /"clients":\{[^}]*"port":(\d+)\},"operator":\{[^}]*"port":(\d+)\},"msg":"the gateway takes calls"/
  const gateway = await startHeard(
    'src/gateway/server.ts',
    { ...env, HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0' },
    said,
  )
  const [, port, adminPort] = said.exec(gateway.output()) ?? []
  return { ...gateway, url: `http://127.0.0.1:${port}`, adminUrl: `http://127.0.0.1:${adminPort}` }
}
