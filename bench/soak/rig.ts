import { streamNames } from '../../src/domain/redis/redis-names.ts'
import type { Child } from '../../src/standalone/stand/child.ts'
import { startOwnProcess } from '../../src/standalone/stand/own-process.ts'
import { type Stand, type StandClient, type StandGateway, startStand } from '../stand/stand.ts'
import { CLIENTS, KEYS_PER_CLIENT } from './plan.ts'

/** The whole of a deployment. */
export interface SoakRig {
  readonly stand: Stand
  readonly originPort: number
  readonly gateway: StandGateway
  readonly workers: readonly Child[]
  readonly clients: readonly StandClient[]
  readonly streams: readonly string[]
}

export interface SoakRigOptions {
  readonly processes: number
  readonly workers: number
  readonly shards: number
}

export async function startSoakRig({ processes, workers, shards }: SoakRigOptions): Promise<SoakRig> {
  const origin = await startOwnProcess('bench/soak/origin.ts')
  const stand = await startStand({
    name: 'soak',
    env: {
      UPSTREAM_URL: `http://127.0.0.1:${origin.port}`,
      UPSTREAM_PROVIDER: 'openai',
      STREAM_SHARDS: `${shards}`,
      GATEWAY_PROCESSES: `${processes}`,
    },
  })
  const keys = Array.from({ length: KEYS_PER_CLIENT }, (_, key) => `key-${key}`)
  const clients: StandClient[] = []
  for (let number = 0; number < CLIENTS; number += 1)
    clients.push(await stand.addClient(`client-${number}`, keys))
  const gateway = await stand.gateway()
  const counting = Array.from({ length: workers }, () => stand.worker())
  await Promise.all([gateway, ...counting].map((child) => child.start()))
  return {
    stand,
    originPort: origin.port,
    gateway,
    workers: counting,
    clients,
    streams: streamNames('tallygate:', shards),
  }
}
