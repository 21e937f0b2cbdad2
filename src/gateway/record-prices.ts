import type { Logger } from '../lib/log.ts'
import {
  type RecordedPrices,
  recordGatewayPrices,
  TELL_PRICES_MS,
} from '../pricing/refresh/gateway-prices.ts'
import type { Postgres } from '../store/connection/postgres.ts'

export interface PriceTelling {
  /** The configuration was read again. */
  tell(): void
  stop(): Promise<void>
}

/**
 * Keeps it in Postgres what this gateway prices by, for those who price the past. Without Postgres it is told later:
 * calls do not wait for it.
 */
export function tellPrices(
  pool: Postgres,
  gateway: string,
  prices: () => RecordedPrices,
  log: Logger,
): PriceTelling {
  let telling = Promise.resolve()
  const tell = () => {
    telling = telling
      .then(() => recordGatewayPrices(pool, gateway, prices()))
      .catch((err: unknown) => log.debug({ err }, 'what this gateway prices by is told later'))
  }
  const timer = setInterval(tell, TELL_PRICES_MS).unref()
  tell()
  return {
    tell,
    async stop() {
      clearInterval(timer)
      await telling
    },
  }
}
