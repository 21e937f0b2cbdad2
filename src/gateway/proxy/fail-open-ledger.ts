import type { CallLedger } from '../../call/call-ledger.ts'
import type { CallRecord } from '../../call/call-record.ts'

/**
 * `ledger` for an operator who puts traffic before its metering (`ON_JOURNAL_FULL=unmetered`): where it can take no call, the call
 * goes on without it. One that ends when the ledger works again is recorded after all; of the others `onUnmetered` gets what
 * would have been the record, which stands nowhere else.
 *
 * A running call whose end the disk refuses has its whole answer too: the ledger goes on trying to write that record, and
 * should the process die first, the call is counted as interrupted.
 */
export function failOpenLedger(ledger: CallLedger, onUnmetered: (record: CallRecord) => void): CallLedger {
  const unmetered = new Set<string>()
  return {
    canTakeCalls: true,
    open(call, onWritten) {
      const goOn = () => {
        unmetered.add(call.callId)
        onWritten(null)
      }
      if (ledger.canTakeCalls) ledger.open(call, (error) => (error === null ? onWritten(null) : goOn()))
      else queueMicrotask(goOn)
    },
    saveSnapshot(callId, snapshot) {
      if (!unmetered.has(callId)) ledger.saveSnapshot(callId, snapshot)
    },
    saveSnapshotNow(callId, snapshot, onWritten) {
      if (unmetered.has(callId)) queueMicrotask(onWritten)
      else ledger.saveSnapshotNow(callId, snapshot, onWritten)
    },
    close(record, onWritten) {
      const isUnmetered = unmetered.delete(record.callId)
      if (!isUnmetered || ledger.canTakeCalls) {
        ledger.close(record, () => onWritten(null))
        return
      }
      onUnmetered(record)
      queueMicrotask(() => onWritten(null))
    },
    discard(callId) {
      if (!unmetered.delete(callId)) ledger.discard(callId)
    },
  }
}
