import type { Logger } from '../lib/log.ts'
import {
  RECORD_PRICES_MS,
  type RecordedPrices,
  recordGatewayPrices,
} from '../pricing/refresh/gateway-prices.ts'
import type { Postgres } from '../store/connection/postgres.ts'

export interface PriceRecording {
  /** The configuration was read again. */
  record(): void
  stop(): Promise<void>
}

/**
 * Records the prices of this gateway in Postgres, for commands that price the past. Without Postgres they are
 * recorded later.
 */
export function recordPrices(
  pool: Postgres,
  gateway: string,
  prices: () => RecordedPrices,
  log: Logger,
): PriceRecording {
  let recording = Promise.resolve()
  const record = () => {
    recording = recording
      .then(() => recordGatewayPrices(pool, gateway, prices()))
      .catch((err: unknown) => log.debug({ err }, 'the prices of this gateway are recorded later'))
  }
  const timer = setInterval(record, RECORD_PRICES_MS).unref()
  record()
  return {
    record,
    async stop() {
      clearInterval(timer)
      await recording
    },
  }
}
