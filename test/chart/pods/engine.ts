import { run } from '../../support/cached-install.ts'
import { untilPatiently } from '../../support/patience.ts'
import type { Pod } from './workloads.ts'

export const NETWORK = 'tallygate-test-pods'
const SUBNET = '172.31.240'
/** The first addresses are the network's own, and the stores'. */
const FIRST_POD = 100

/** What `docker ARGS` printed. @throws Where it does not end with 0. */
export async function docker(...args: readonly string[]): Promise<string> {
  const { stdout } = await run('docker', args, { maxBuffer: 64 * 1024 * 1024 })
  return stdout.trim()
}

export const makeNetwork = () => docker('network', 'create', '--subnet', `${SUBNET}.0/24`, NETWORK)

export type Secrets = Readonly<Record<string, Readonly<Record<string, string>>>>

/** A pod that runs: what a kubelet does with one, by a Docker engine. */
export interface RunningPod {
  readonly name: string
  /** Of this machine, to a port of the pod. */
  url(port: string): string
  /** Waits until its readiness probe passes. */
  ready(): Promise<void>
  /** Its first process, by SIGKILL; the container is started again, with the pod's volumes. */
  kill(): Promise<void>
  /**
   * preStop, SIGTERM, and SIGKILL once the pod's time is over; then the pod is gone, and its claim stays.
   *
   * @returns What preStop ended with, and what the container did.
   */
  end(): Promise<{ readonly preStop: number; readonly container: number }>
}

let pods = 0

/** Arguments of `docker run`, with the pod's address, user, rights, variables and volumes. */
function argumentsOf(name: string, pod: Pod, secrets: Secrets, claim: string): readonly string[] {
  const [{ securityContext: rights, env, envFrom, ports, volumeMounts }] = pod.containers
  const address = `${SUBNET}.${FIRST_POD + pods++}`
  const { runAsUser, runAsGroup } = pod.securityContext
  const secret = (of: string) => secrets[of] ?? {}
  const variables = {
    ...Object.assign({}, ...envFrom.map(({ secretRef }) => secret(secretRef.name))),
    ...Object.fromEntries(
      env.map(({ name: variable, value, valueFrom }) => {
        const key = valueFrom?.secretKeyRef
        const given = key === undefined ? address : secret(key.name)[key.key]
        return [variable, value ?? given ?? '']
      }),
    ),
  }
  const inMemory = new Set(pod.volumes.map(({ name: volume }) => volume))
  return [
    ...['--name', name, '--network', NETWORK, '--ip', address, '--user', `${runAsUser}:${runAsGroup}`],
    ...(rights.readOnlyRootFilesystem ? ['--read-only'] : []),
    ...(rights.allowPrivilegeEscalation ? [] : ['--security-opt', 'no-new-privileges']),
    ...rights.capabilities.drop.flatMap((capability) => ['--cap-drop', capability]),
    ...Object.entries(variables).flatMap(([variable, value]) => ['--env', `${variable}=${value}`]),
    ...ports.flatMap(({ containerPort }) => ['--publish', `127.0.0.1::${containerPort}`]),
    ...volumeMounts.flatMap(({ name: volume, mountPath }) =>
      inMemory.has(volume) ? ['--tmpfs', `${mountPath}:mode=1777`] : ['--volume', `${claim}:${mountPath}`],
    ),
  ]
}

/** Runs a pod's container to its end, with other arguments where they are given. @returns What it printed. */
export async function runPod(
  name: string,
  pod: Pod,
  secrets: Secrets,
  claim: string,
  args: readonly string[] = pod.containers[0].args,
): Promise<string> {
  return await docker(
    'run',
    '--rm',
    ...argumentsOf(name, pod, secrets, claim),
    pod.containers[0].image,
    ...args,
  )
}

export async function startPod(name: string, pod: Pod, secrets: Secrets, claim: string): Promise<RunningPod> {
  const [{ image, args, ports, readinessProbe, lifecycle }] = pod.containers
  const published = new Map<string, string>()
  const readPorts = async () => {
    for (const { name: port, containerPort } of ports)
      published.set(port, `http://${await docker('port', name, `${containerPort}`)}`)
  }
  await docker('run', '--detach', ...argumentsOf(name, pod, secrets, claim), image, ...args)
  await readPorts()
  const url = (port: string) => published.get(port) ?? ''
  return {
    name,
    url,
    async ready() {
      const { path = '', port = '' } = readinessProbe?.httpGet ?? {}
      const asked = async () => {
        const answer = await fetch(`${url(port)}${path}`).catch(() => null)
        return answer?.status === 200 ? true : null
      }
      if (!(await untilPatiently(asked, { timeoutMs: 60_000 })))
        throw new Error(`${name} did not get ready: ${await docker('logs', '--tail', '20', name)}`)
    },
    async kill() {
      await docker('kill', '--signal', 'KILL', name)
      await docker('start', name)
      await readPorts()
    },
    async end() {
      const command = lifecycle?.preStop.exec.command ?? ['true']
      const startedAtMs = performance.now()
      const preStop = await docker('exec', name, ...command).then(
        () => 0,
        ({ code }) => Number(code),
      )
      const seconds = (pod.terminationGracePeriodSeconds ?? 30) - (performance.now() - startedAtMs) / 1_000
      await docker('stop', '--time', `${Math.max(1, Math.floor(seconds))}`, name)
      const container = Number(await docker('inspect', '--format', '{{.State.ExitCode}}', name))
      await docker('rm', name)
      return { preStop, container }
    },
  }
}
