import { shownCount, shownDocument } from '../../operations/answers.ts'
import { type Chapter, operation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { conflict } from '../../operations/refuse.ts'
import { discardOutbox } from '../outbox/outbox-state.ts'

const off = operation({
  name: 'kafka.off',
  summary: 'Deletes the calls that wait for Kafka, and what is known of them.',
  description:
    'For a deployment whose workers have CALLS_KAFKA_BROKERS no longer. The calls are counted, and stay where calls are kept.',
  role: 'admin',
  http: { method: 'POST', path: '/kafka/off', id: 'turnKafkaOff' },
  input: {},
  answer: shownDocument('KafkaOff', {
    waiting_calls: shownCount('Calls that waited and are not sent any more.'),
    skipped_calls: shownCount('Calls that were left out before, as too many waited.'),
  }),
  gives: 'What was deleted.',
  errors: ['conflict'],
  changes: {
    event: 'admin.kafka_off',
    says: 'calls that waited for Kafka were deleted',
    log: ({ waiting_calls }) => ({ waitingCalls: waiting_calls }),
  },
  async run({ pool }: Ports) {
    const discarded = await discardOutbox(pool)
    if (discarded === null)
      throw conflict(
        'A worker sends calls to Kafka: start the workers without CALLS_KAFKA_BROKERS, and ask again 15 s later.',
      )
    return { waiting_calls: discarded.waitingCalls, skipped_calls: discarded.skippedCalls }
  },
  command: {
    words: 'kafka off',
    print: ({ waiting_calls }) =>
      `${waiting_calls} calls that waited for Kafka are deleted from there. They are counted all the same.`,
  },
})

export const KAFKA_CHAPTER: Chapter<Ports> = {
  words: 'kafka',
  about: 'Calls on their way to Kafka.',
  operations: [off],
}
