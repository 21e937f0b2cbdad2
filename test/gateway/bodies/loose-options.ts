import type { CallLedger } from '../../../src/call/call-ports.ts'
import type { CallRecord } from '../../../src/call/call-record.ts'
import type { CallServices } from '../../../src/gateway/proxy/exchange.ts'
import { Unattended, type UnattendedLimits } from '../../../src/gateway/proxy/unattended.ts'
import type { PricedCall } from '../../../src/gateway/recording/pricing.ts'
import type { CallToPrice } from '../../../src/pricing/catalog/catalog-call.ts'
import { NO_METRICS } from '../../support/no-metrics.ts'

/** What calls need of the process around them, where there is none: records are kept by the id of their key. */
export interface LooseOptions extends CallServices {
  readonly records: ReadonlyMap<string, CallRecord>
}

export function createLooseOptions(limits: Partial<UnattendedLimits> = {}): LooseOptions {
  const records = new Map<string, CallRecord>()
  const soon = (done: (error: null) => void) => queueMicrotask(() => done(null))
  const ledger: CallLedger = {
    canTakeCalls: true,
    open: (_call, onWritten) => soon(onWritten),
    saveSnapshot: () => {},
    saveSnapshotNow: (_callId, _snapshot, onWritten) => queueMicrotask(() => onWritten(null)),
    close(record, onWritten) {
      records.set(record.keyId, record)
      const sequence = records.size
      queueMicrotask(() => onWritten(null, sequence))
    },
    discard: () => {},
  }
  return {
    records,
    ledger,
    pricing: {
      priceCall: priced,
      quoteCall: priced,
      knowsModel: () => true,
    },
    observer: NO_METRICS,
    onClientAbort: 'cancel',
    unattended: new Unattended(limits),
  }
}

function priced({ usage, parts }: CallToPrice): PricedCall {
  // A session's other models have tokens of their own.
  const counted = parts?.map((part) => part.usage) ?? [usage]
  const tokens = counted.reduce((sum, one) => sum + (one.inputTokens ?? 0) + 2 * (one.outputTokens ?? 0), 0)
  const costPico = BigInt(tokens)
  return { kind: 'priced', costPico, priceId: null, definition: null }
}
