import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { untilPatiently } from '../support/patience.ts'

const run = promisify(execFile)

/** The stack of docker-compose.yml with the demo upstream, as a project of its own beside any other. */
export interface ComposeStack {
  /** What `docker compose ARGS` printed. */
  compose(...args: readonly string[]): Promise<string>
  /** What `docker ARGS` printed. */
  docker(...args: readonly string[]): Promise<string>
  /** The document that `tallygate ARGS` prints in a gateway. */
  tallygate(...args: readonly string[]): Promise<ReturnType<typeof JSON.parse>>
  /** Ids of a service's containers, those that have ended too. */
  containers(service: string): Promise<readonly string[]>
  /** With it, plain `docker compose` is about this stack. */
  readonly env: NodeJS.ProcessEnv
}

const PROJECT = 'tallygate-test-compose'
const CONNECTED_WITHIN_MS = 60_000
const OUTPUT_MAX_BYTES = 64 * 1024 * 1024

/** @param env added to the environment, for what docker-compose.yml takes from it */
export function composeStack(env: Readonly<Record<string, string>>): ComposeStack {
  const whole = { ...process.env, ...env, COMPOSE_PROJECT_NAME: PROJECT, COMPOSE_PROFILES: 'demo' }
  const docker = async (...args: readonly string[]) => {
    const { stdout } = await run('docker', args, {
      env: whole,
      maxBuffer: OUTPUT_MAX_BYTES,
    })
    return stdout.trim()
  }
  const compose = (...args: readonly string[]) => docker('compose', ...args)
  return {
    docker,
    compose,
    env: whole,
    async tallygate(...args) {
      const command = ['exec', '--no-TTY', 'gateway', 'tallygate', '--json', ...args]
      const out = await untilPatiently(
        () =>
          compose(...command).catch((error: unknown) => {
            // A machine with other work may not connect in time. Then nothing was done.
            if (!String(error).includes('Postgres cannot be reached')) throw error
            return null
          }),
        { timeoutMs: CONNECTED_WITHIN_MS },
      )
      if (out === null) throw new Error(`no connection for ${args.join(' ')}`)
      return JSON.parse(out)
    },
    containers: async (service) => (await compose('ps', '--all', '--quiet', service)).split('\n'),
  }
}

/** What is missing on this machine; null: nothing. */
export async function missingEngine(stack: ComposeStack): Promise<string | null> {
  const answers = (...args: readonly string[]) =>
    stack.docker(...args).then(
      () => true,
      () => false,
    )
  if (!(await answers('--version'))) return 'the command docker is not installed'
  if (!(await answers('info'))) return 'no Docker engine answers: start one, or set DOCKER_HOST'
  if (!(await answers('compose', 'version'))) return 'the plugin Docker Compose v2 is not installed'
  return null
}

/** The rights of a container's first process, as the engine and the kernel have them. */
export interface Rights {
  readonly readOnly: boolean
  readonly capabilitiesDropped: readonly string[]
  readonly securityOptions: readonly string[]
  readonly user: string
  /** Of the container's process itself; null: it has ended. */
  readonly effectiveCapabilities: string | null
  readonly noNewPrivileges: boolean | null
}

export async function readRights(stack: ComposeStack, container: string): Promise<Rights> {
  const [inspected] = JSON.parse(await stack.docker('inspect', container))
  const { HostConfig, Config, State } = inspected
  const status: string | null = State.Running
    ? await stack.docker('exec', container, 'cat', '/proc/1/status')
    : null
  return {
    readOnly: HostConfig.ReadonlyRootfs,
    capabilitiesDropped: HostConfig.CapDrop ?? [],
    securityOptions: HostConfig.SecurityOpt ?? [],
    user: Config.User,
    effectiveCapabilities: status === null ? null : (/^CapEff:\s*(\S+)$/m.exec(status)?.[1] ?? ''),
    noNewPrivileges: status === null ? null : /^NoNewPrivs:\s*1$/m.test(status),
  }
}
