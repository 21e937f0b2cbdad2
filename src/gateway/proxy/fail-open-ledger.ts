import type { CallLedger } from '../../call/call-ports.ts'
import type { CallRecord } from '../../call/call-record.ts'

/**
 * `ledger` for an operator who puts traffic before its metering (`ON_JOURNAL_FULL=unmetered`): a call that
 * it cannot take goes on without it. If the ledger works again when the call ends, the call is recorded after
 * all. Else `onUnmetered` gets what would have been its record, which is kept nowhere else.
 *
 * A running call whose end the disk refuses has its whole answer too. The ledger goes on trying to write that
 * record; if the process dies first, the call is counted as interrupted.
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
    saveSnapshot(call, snapshot) {
      if (!unmetered.has(call.callId)) ledger.saveSnapshot(call, snapshot)
    },
    saveSnapshotNow(call, snapshot, onWritten) {
      if (unmetered.has(call.callId)) queueMicrotask(() => onWritten(null))
      else ledger.saveSnapshotNow(call, snapshot, onWritten)
    },
    close(record, onWritten, reservedPico) {
      const isUnmetered = unmetered.delete(record.callId)
      if (!isUnmetered || ledger.canTakeCalls) {
        ledger.close(record, (_error, sequence, kept) => onWritten(null, sequence, kept), reservedPico)
        return
      }
      onUnmetered(record)
      queueMicrotask(() => onWritten(null, 0))
    },
    discard(call) {
      if (!unmetered.delete(call.callId)) ledger.discard(call)
    },
  }
}
