const LF = 0x0a
const KEY = Buffer.from('usage"')
/** As servers write it, with and without spaces. The comma before it goes with it. */
const MEMBER = /^(?:,"|, ")usage": ?null/
/** What may stand behind a member of the root: members of plain values, and the end of the root and of the line. */
const REST = /^(?:, ?"[^"\\]*": ?(?:"[^"\\]*"|[\w.+-]+))*\}\r?$/
/** A longer rest of a line has text in it: no server writes that behind the usage. */
const MAX_REST = 512
/** `, "usage": null` */
const LONGEST_MEMBER = 15

/**
 * `events` without the `"usage":null` that every chunk of a chat stream has once its usage is asked for. Where the
 * gateway asked, a client that did not would not have it. In JSON a quote inside of a string has a backslash before it,
 * so that what is found is a member; it goes where it is one of the root.
 *
 * @param events whole events; not changed
 */
export function withoutNullUsage(events: Buffer): Buffer {
  const first = events.indexOf(KEY)
  return first < 0 ? events : without(events, first)
}

function without(events: Buffer, first: number): Buffer {
  const kept: Buffer[] = []
  let from = 0
  for (let key = first; key >= 0; key = events.indexOf(KEY, key + KEY.length)) {
    const start = key - (events[key - 2] === 0x20 ? 3 : 2)
    const member = start < from ? null : MEMBER.exec(events.toString('latin1', start, start + LONGEST_MEMBER))
    const end = start + (member?.[0].length ?? 0)
    if (member === null || !endsRoot(events, end)) continue
    kept.push(events.subarray(from, start))
    from = end
  }
  if (from === 0) return events
  kept.push(events.subarray(from))
  return Buffer.concat(kept)
}

/** Whether only members of the root follow, so that what stood before was one. */
function endsRoot(events: Buffer, from: number): boolean {
  const end = events.indexOf(LF, from)
  const until = end < 0 ? events.length : end
  return until - from <= MAX_REST && REST.test(events.toString('latin1', from, until))
}
