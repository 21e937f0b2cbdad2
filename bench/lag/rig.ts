import type { Postgres } from '../../src/store/connection/postgres.ts'
import { startUpstream } from '../../test/support/upstream.ts'
import { type StandClient, startStand } from '../stand/stand.ts'
import { startBalancer } from './balancer.ts'

export interface LagRig {
  /** One for each gateway, or the balancer's alone. */
  readonly ports: readonly number[]
  readonly clients: readonly StandClient[]
  /** Straight to Postgres. */
  readonly pool: Postgres
  stop(): Promise<void>
}

/** How many there are of each part; `processes` are those of each gateway. */
export type LagRigOptions = Readonly<
  Record<'clients' | 'workers' | 'shards' | 'gateways' | 'processes', number>
> & { readonly isBalanced: boolean }

export async function startLagRig(options: LagRigOptions): Promise<LagRig> {
  const upstream = await startUpstream()
  const stand = await startStand({
    name: 'lag',
    env: {
      UPSTREAM_URL: upstream.url,
      UPSTREAM_PROVIDER: 'openai',
      STREAM_SHARDS: `${options.shards}`,
      GATEWAY_PROCESSES: `${options.processes}`,
    },
  })
  const clients: StandClient[] = []
  for (let number = 0; number < options.clients; number += 1)
    clients.push(await stand.addClient(`client-${number}`))
  const gateways = await Promise.all(Array.from({ length: options.gateways }, () => stand.gateway()))
  const workers = Array.from({ length: options.workers }, () => stand.worker())
  await Promise.all([...gateways, ...workers].map((child) => child.start()))
  const own = gateways.map(({ port }) => port)
  const ports = options.isBalanced ? [await startBalancer(stand.folder, own)] : own
  return { ports, clients, pool: stand.pool, stop: stand.stop }
}
