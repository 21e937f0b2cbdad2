import type { KafkaConfig } from '../../src/config/config.ts'
import type { Logger } from '../../src/lib/logger.ts'
import { atMostEvery } from '../../src/lib/repeat.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { Outbox } from '../../src/usage/outbox/outbox.ts'
import { type CallSender, startCallSender } from './call-sender.ts'
import { kafkaProblemOf, openKafka } from './kafka-broker.ts'

/** Both halves of the way to Kafka: what the roll-up writes to, and what sends from there. */
export interface CallsToKafka {
  readonly outbox: Outbox
  readonly sender: CallSender
}

const LOG_EVERY_MS = 60_000

export function openCallsToKafka({
  pool,
  config,
  log,
}: {
  readonly pool: Postgres
  readonly config: KafkaConfig
  readonly log: Logger
}): CallsToKafka {
  const gate = atMostEvery(LOG_EVERY_MS)
  return {
    outbox: new Outbox({
      maxBytes: config.outboxMaxBytes,
      onFull: () => {
        if (gate.passes())
          log.error(
            { event: 'kafka.outbox_full', maxBytes: config.outboxMaxBytes },
            'too many calls wait for Kafka: further ones are counted and not sent',
          )
      },
    }),
    sender: startCallSender({
      pool,
      openBroker: () => openKafka(config),
      problemOf: kafkaProblemOf,
      log,
    }),
  }
}
