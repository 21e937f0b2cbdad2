import type { IncomingMessage } from 'node:http'
import { settledWithin } from '../../lib/deadline.ts'
import type { Logger } from '../../lib/logger.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { KeyNetworks } from './key-networks.ts'
import { addNetworks } from './network-table.ts'

/** At the end, for what was counted last. */
const LAST_COUNTS_MS = 500

interface RunningKeyNetworks {
  /** A call came with an active key. Absent: nothing is kept. */
  readonly used?: (keyId: string, request: IncomingMessage) => void
  /** After the last call. */
  stop(): Promise<void>
}

/** Opens the counting of the networks that keys are used from. */
export function openKeyNetworks(
  by: 'peer' | 'x-forwarded-for' | 'off',
  pool: Postgres,
  log: Logger,
  now: () => number,
): RunningKeyNetworks {
  if (by === 'off') return { stop: async () => {} }
  const networks = new KeyNetworks({ add: (counts) => addNetworks(pool, counts), log, now })
  const addressOf = by === 'peer' ? peerOf : forwardedFor
  return {
    used: (keyId, request) => networks.count(keyId, addressOf(request)),
    async stop() {
      await settledWithin(networks.stop(), LAST_COUNTS_MS)
    },
  }
}

/** The address that the connection comes from. */
function peerOf({ socket }: IncomingMessage): string | undefined {
  return socket.remoteAddress
}

/** The address that the nearest proxy wrote. What stands before its last entry, anyone could have written. */
export function forwardedFor({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const { 'x-forwarded-for': written } = headers
  return [written].flat().at(-1)?.split(',').at(-1)?.trim()
}
