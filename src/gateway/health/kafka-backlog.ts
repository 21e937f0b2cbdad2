import { repeat } from '../../lib/repeat.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { isKafkaBehind } from '../../usage/conditions/kafka.ts'
import { selectOutboxState } from '../../usage/outbox/outbox-state.ts'

/** Whether calls reach Kafka, for those who ask a gateway how it is. */
export interface KafkaBacklogWatch {
  /** Calls wait for longer than a minute, or cannot be sent. Calls are taken and counted all the same. */
  isBehind(): boolean
  stop(): Promise<void>
}

const EVERY_MS = 10_000

/** Where Kafka is not in use this is one small query in ten seconds. While Postgres is away the last answer stands. */
export function watchKafkaBacklog(pool: Postgres, everyMs = EVERY_MS): KafkaBacklogWatch {
  let behind = false
  const check = async (): Promise<void> => {
    const state = await selectOutboxState(pool)
    behind = state !== null && isKafkaBehind(state, Date.now())
  }
  const repeated = repeat(() => check().catch(() => {}), everyMs)
  return { isBehind: () => behind, stop: () => repeated.stop() }
}
