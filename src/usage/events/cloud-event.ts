/** What `data` of an event has: members are only ever added, and a new number says that some were. */
const EVENT_VERSION = 2

/** Names of clients and keys by their ids; those that are no longer known are absent. */
export type EventNames = ReadonlyMap<string, string>

interface Envelope {
  readonly type: 'tallygate.call' | 'tallygate.adjustment'
  readonly id: string
  /** The client's id. */
  readonly subject: string
  /** RFC 3339, in UTC. */
  readonly time: string
  /** Members as JSON, each with a comma before it. */
  readonly members: string
}

/**
 * A CloudEvents 1.0 event in JSON, without its line's end. Written directly: an object for `JSON.stringify` costs twice
 * as much, and there is one for every call.
 */
export function cloudEvent({ type, id, subject, time, members }: Envelope): string {
  return (
    `{"specversion":"1.0","id":"${id}","source":"tallygate","type":"${type}","subject":${quote(subject)},` +
    `"time":"${time}","datacontenttype":"application/json","data":{"event_version":${EVENT_VERSION}${members}}}`
  )
}

const quote = JSON.stringify as (text: string) => string

/** A member of text; '': there is none of it. */
export function textMember(name: string, text: string | null | undefined): string {
  return text === null || text === undefined || text === '' ? '' : `,"${name}":${quote(text)}`
}
