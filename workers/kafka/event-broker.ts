import type { KeyedEvent } from '../../src/usage/outbox/outbox-page.ts'

/** Where events go once their calls are counted: Kafka, or what stands in for it in a test. */
export interface EventBroker {
  /** Rejects where nothing can be sent: no broker answers, or the topic is not there. */
  check(): Promise<void>
  /**
   * Resolves once all that have to keep the events do. Events of one key keep their order. When it rejects, some may
   * have arrived.
   */
  send(events: readonly KeyedEvent[]): Promise<void>
  close(): Promise<void>
}

/** @throws When it cannot even be tried. */
export type OpenEventBroker = () => Promise<EventBroker>
