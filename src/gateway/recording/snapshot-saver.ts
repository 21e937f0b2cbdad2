import type { CallLedger } from '../../call/call-ports.ts'
import type { Observation } from '../../call/observation.ts'
import type { UsageReader } from '../../providers/dialect.ts'
import { endpointContextOf } from '../routing/route.ts'
import type { CallContext } from './call-result.ts'
import { encodeUsageSnapshot } from './usage-snapshot.ts'

/**
 * How often one stream may be held until its usage is in the journal; later snapshots are saved behind its
 * bytes.
 */
const MAX_HOLDS = 3
/**
 * Some streams have running counts in every event, and the journal writes snapshots about once a second.
 * They wait this long for later ones, so that the last before a pause is saved too.
 */
const RUNNING_SNAPSHOT_MS = 250

/** What passes an answer on to the client, as far as saving its usage depends on it. */
export interface HoldableDelivery {
  /**
   * Whether what the upstream sent last waits for the record, so that its usage needs no snapshot.
   *
   * @param bytes of the answer, with what was sent last
   */
  holdsUpTo(bytes: number): boolean
  readonly isHolding: boolean
  readonly clientGone: boolean
  /** Nothing more is written until {@link release}. */
  hold(): void
  release(): void
}

/**
 * Saves what a stream has reported of its usage so far, so that a crash does not lose it.
 *
 * Final counts are in the journal before the client sees them: a client may take `[DONE]` for the end and be
 * content although the connection was cut after it. Running counts are saved behind their bytes.
 */
export class SnapshotSaver {
  readonly #context: CallContext
  readonly #ledger: CallLedger
  readonly #delivery: HoldableDelivery
  #holds = 0
  #timer: NodeJS.Timeout | null = null
  #stopped = false

  constructor(context: CallContext, ledger: CallLedger, delivery: HoldableDelivery) {
    this.#context = context
    this.#ledger = ledger
    this.#delivery = delivery
  }

  /** `reader` has seen more of the usage than before. `status` is the answer's. */
  save(reader: UsageReader, status: number): void {
    if (reader.isRunning === true) {
      this.#saveLater(reader, status)
      return
    }
    const observed = reader.peek()
    if (observed.usageSource === 'none') return
    const { isHolding, clientGone } = this.#delivery
    if (observed.usageSource !== 'reported' || this.#holds >= MAX_HOLDS || isHolding || clientGone) {
      this.#saveLater(reader, status)
      return
    }
    this.#holds += 1
    this.#delivery.hold()
    this.#ledger.saveSnapshotNow(this.#context.call, this.#encode(observed, status), () => {
      // Once the body has ended, what is held waits for the record instead.
      if (!this.#stopped) this.#delivery.release()
    })
  }

  /** The reader failed: what it saw last is not saved any more. */
  cancelRunning(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  /** The answer has ended: its record comes next. */
  stop(): void {
    this.#stopped = true
    this.cancelRunning()
  }

  #saveLater(reader: UsageReader, status: number): void {
    this.#timer ??= setTimeout(() => this.#saveRunning(reader, status), RUNNING_SNAPSHOT_MS)
  }

  #saveRunning(reader: UsageReader, status: number): void {
    this.#timer = null
    this.#ledger.saveSnapshot(this.#context.call, this.#encode(reader.peek(), status))
  }

  #encode(observation: Observation, status: number): string {
    const { client, dialect } = this.#context
    const { responseUse } = endpointContextOf(dialect)
    return encodeUsageSnapshot({
      observation,
      status,
      clientName: client.clientName,
      responseUse,
    })
  }
}
