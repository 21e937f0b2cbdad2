// Puts into a call's record what it made of objects and what budgets hold on for it, so that all of it reaches Postgres
// by
// the same exactly-once way.
import type { CallLedger } from '../call/call-ports.ts'
import type { CallRecord } from '../call/call-record.ts'
import type { ObjectEvent } from '../call/object-event.ts'
import { canonicalPath } from '../domain/canonical-path.ts'
import { findEntry, isProvider, selectDialect } from '../providers/registry.ts'
import { readObjectPath } from './object-path.ts'
import type { Objects } from './objects.ts'

/** `ledger`, whose records say what their calls made of objects and what budgets hold on for them. */
export function recordObjects(ledger: CallLedger, objects: Objects): CallLedger {
  return {
    get canTakeCalls() {
      return ledger.canTakeCalls
    },
    open: (call, onWritten) => ledger.open(call, onWritten),
    saveSnapshot: (call, snapshot) => ledger.saveSnapshot(call, snapshot),
    saveSnapshotNow: (call, snapshot, onWritten) => ledger.saveSnapshotNow(call, snapshot, onWritten),
    close(record, onWritten, reservedPico = 0n) {
      const events = eventsOf(record, objects)
      const job = reservedPico > 0n && hasNoCost(record) ? (events ?? []).findIndex(isMadeJob) : -1
      if (events === null || job < 0) {
        const ended = events === null ? record : { ...record, objects: events }
        if (reservedPico <= 0n || record.costPico !== null) ledger.close(ended, onWritten)
        else
          ledger.close({ ...ended, chargedPico: `${reservedPico}` }, (error, sequence) =>
            onWritten(error, sequence, { pico: reservedPico, by: 'call' }),
          )
        return
      }
      // One of them stands for the call.
      const reserving = events.map((event, at) =>
        at === job ? { ...event, reservedPico: `${reservedPico}` } : event,
      )
      ledger.close({ ...record, objects: reserving }, (error, sequence) =>
        onWritten(error, sequence, { pico: reservedPico, by: 'job' }),
      )
    },
    discard(call) {
      objects.take(call.callId)
      ledger.discard(call)
    },
  }
}

/** Takes what a call has made of objects: once, for its record. */
function eventsOf(record: CallRecord, objects: Objects): readonly ObjectEvent[] | null {
  const made = objects.take(record.callId)
  const deferred = deferredBy(record)
  if (deferred === null) return made
  objects.own(record, deferred.id)
  return [deferred]
}

/**
 * The completion that an answer put off: it names the request alone by which that is fetched. What the request's body
 * said of it does not count, as a member's name can be written in many ways.
 */
function deferredBy(record: CallRecord): ObjectEvent | null {
  const { responseId, usageSource, method, path, provider, failedInBody } = record
  if (responseId === null || usageSource !== 'none' || method !== 'POST' || failedInBody) return null
  if (isQueued(record)) return { id: responseId, kind: 'async_completion', is: 'created', job: true }
  if (
    findEntry(provider)?.openAi.defers !== true ||
    readObjectPath(canonicalPath(path) ?? path).collection !== 'completion'
  )
    return null
  return { id: responseId, kind: 'completion', is: 'created', job: true }
}

/** Tells whether the call put work into a queue. */
function isQueued({ provider, method, path, responseUse, unpricedReason }: CallRecord): boolean {
  if (responseUse !== 'created' || unpricedReason !== 'billed_later' || !isProvider(provider)) return false
  const dialect = selectDialect(provider, method, canonicalPath(path) ?? path)
  return dialect?.queues === true || dialect?.polls !== undefined
}

/** Else the cost is charged with the call, and its job reserves nothing beside it. */
function hasNoCost({ costPico }: CallRecord): boolean {
  return costPico === null || costPico === '0'
}

function isMadeJob({ is, job }: ObjectEvent): boolean {
  return is === 'created' && job
}

/** The objects that a call which a crash cut has made, as far as its usage snapshot names them. */
export function objectsOfInterrupted(record: CallRecord): readonly ObjectEvent[] | null {
  const { method, path, provider, responseId, answerId = null } = record
  if (method !== 'POST') return null
  const deferred = deferredBy(record)
  if (deferred !== null) return [deferred]
  const { names, collection } = readObjectPath(path)
  const isResponse = names.length === 0 && (collection === 'response' || collection === 'interaction')
  if (isResponse && responseId !== null)
    return [{ id: responseId, kind: collection, is: 'created', job: false }]
  if (answerId === null || findEntry(provider)?.keepsAnswers === undefined) return null
  return [{ id: answerId, kind: 'completion', is: 'created', job: false }]
}
