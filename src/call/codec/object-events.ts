import {
  MAX_OBJECT_EVENTS,
  MAX_OBJECT_ID_BYTES,
  OBJECT_CHANGES,
  OBJECT_KINDS,
  type ObjectEvent,
} from '../object-event.ts'
import { flagFrom, isObject, picoFrom, textFrom, throwMalformed, wordFrom } from './json-checks.ts'

export function serialiseObjectEvent({
  id,
  kind,
  is,
  job,
  failed,
  leftBy,
  reservedPico,
}: ObjectEvent): string {
  const ofJob = `${job ? ',"job":true' : ''}${failed === true ? ',"failed":true' : ''}`
  const left = leftBy === undefined ? '' : `,"leftBy":${JSON.stringify(leftBy)}`
  const reserved = reservedPico === undefined ? '' : `,"reservedPico":"${reservedPico}"`
  return `{"id":${JSON.stringify(id)},"kind":"${kind}","is":"${is}"${ofJob}${left}${reserved}}`
}

/** From a record's JSON; throws `RefusedValue`. */
export function objectEventsFrom(value: unknown): readonly ObjectEvent[] {
  if (!Array.isArray(value) || value.length > MAX_OBJECT_EVENTS) return throwMalformed()
  return value.map((event: unknown) => {
    if (!isObject(event) || event.id === '') return throwMalformed()
    return {
      id: objectIdFrom(event.id),
      kind: wordFrom(OBJECT_KINDS, event.kind),
      is: wordFrom(OBJECT_CHANGES, event.is),
      job: flagFrom(event.job),
      ...(event.failed === true ? { failed: true } : {}),
      ...(event.leftBy === undefined ? {} : { leftBy: objectIdFrom(event.leftBy) }),
      ...(event.reservedPico === undefined ? {} : { reservedPico: picoFrom(event.reservedPico) }),
    }
  })
}

function objectIdFrom(value: unknown): string {
  const id = textFrom(value)
  return Buffer.byteLength(id) > MAX_OBJECT_ID_BYTES ? throwMalformed() : id
}
