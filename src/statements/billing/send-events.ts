import { openPoster, type PostAnswer, type Poster } from '../../alerts/send-alert.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { type ClaimedEvent, claimEvents, keepSent, type SentEvents, setApart } from './event-table.ts'
import { type BillingReceiver, MOUTHS } from './mouths.ts'

/** Requests to one receiver at once: it may take one at a time of each customer. */
const LANES = 8
/** What a claim has at least: an event that may have arrived is not sent for a claim's time. */
const CLAIMED = 200

/** Something keeps all events from a receiver: it is away, or does not know us. */
export class ReceiverProblem extends Error {
  override readonly name = 'ReceiverProblem'
}

/**
 * Sends all that wait for a receiver, each client's in its order.
 *
 * 1. Events are claimed: from then on each may have arrived.
 * 2. They are sent. One that the receiver has already counts as sent. A batch that it refuses is sent in halves, so that
 *    only the event at fault is set apart.
 * 3. What came of it is kept. A worker that is killed before sends the same again, under the same ids.
 *
 * @param isStopped Begins no other request.
 * @throws {ReceiverProblem} What could not be sent waits.
 */
export async function sendEvents(
  pool: Postgres,
  receiver: BillingReceiver,
  isStopped: () => boolean,
): Promise<void> {
  const { eventsARequest } = MOUTHS[receiver.kind]
  const poster = await openPoster()
  try {
    while (!isStopped()) {
      await setApart(pool, receiver)
      const events = await claimEvents(pool, receiver.name, Math.max(CLAIMED, LANES * eventsARequest))
      if (events.length === 0) return
      const came: SentEvents = { sent: [], refused: [], untouched: [] }
      const problem = await sendClaimed({ receiver, poster, isStopped }, events, came)
      await keepSent(pool, receiver.name, came)
      if (problem !== null) throw new ReceiverProblem(problem)
    }
  } finally {
    await poster.close()
  }
}

interface Sending {
  readonly receiver: BillingReceiver
  readonly poster: Poster
  readonly isStopped: () => boolean
}

/** @returns What ended it early; `null`: nothing did. */
async function sendClaimed(
  sending: Sending,
  events: readonly ClaimedEvent[],
  came: SentEvents,
): Promise<string | null> {
  const { eventsARequest } = MOUTHS[sending.receiver.kind]
  const lanes: ClaimedEvent[][] = Array.from({ length: LANES }, () => [])
  let next = 0
  for (const ofClient of Map.groupBy(events, ({ customer }) => customer).values())
    lanes[next++ % LANES]?.push(...ofClient)
  let problem: string | null = null

  async function sendSome(some: readonly ClaimedEvent[]): Promise<void> {
    if (problem !== null || sending.isStopped()) return leave(some)
    const outcome = await attempt(sending, some)
    if (outcome.kind === 'taken') return void came.sent.push(...some.map(({ number }) => number))
    if (outcome.kind === 'refused') {
      const [first] = some
      if (first === undefined) return
      const { number, mayBeThere } = first
      if (some.length === 1) return void came.refused.push({ number, mayBeThere, error: outcome.error })
      const half = some.length >>> 1
      await sendSome(some.slice(0, half))
      return sendSome(some.slice(half))
    }
    problem = outcome.error
    if (outcome.kind === 'not_taken') leave(some)
  }
  // One of which an attempt before may have arrived stays so.
  const leave = (some: readonly ClaimedEvent[]) =>
    void came.untouched.push(
      ...some.flatMap(({ number, attempts, mayBeThere }) => (mayBeThere ? [] : [{ number, attempts }])),
    )

  await Promise.all(
    lanes.map(async (lane) => {
      for (let from = 0; from < lane.length; from += eventsARequest)
        await sendSome(lane.slice(from, from + eventsARequest))
    }),
  )
  return problem
}

type Outcome =
  | { readonly kind: 'taken' }
  /** Because of the events themselves. */
  | { readonly kind: 'refused'; readonly error: string }
  /** None has arrived; all others would fare alike. */
  | { readonly kind: 'not_taken'; readonly error: string }
  /** Some may have arrived. */
  | { readonly kind: 'unknown'; readonly error: string }

async function attempt({ receiver, poster }: Sending, events: readonly ClaimedEvent[]): Promise<Outcome> {
  const mouth = MOUTHS[receiver.kind]
  const { path, headers, body } = mouth.request(events, receiver, Date.now())
  const answer = await poster.post(`${receiver.url}${path}`, headers, body)
  if (answer.kind === 'answered' && events.length === 1 && mouth.hasIt(answer.status, answer.text))
    return { kind: 'taken' }
  return outcomeOf(answer, receiver.secret)
}

/** Statuses that are about us, the address or the moment, and not about an event. */
const NOT_OF_EVENTS: ReadonlySet<number> = new Set([401, 402, 403, 404, 405, 407, 408, 410, 421, 425, 429])
const MAX_TEXT = 300

/** @param secret Some receivers repeat what they were sent, and what they say is shown. */
function outcomeOf(answer: PostAnswer, secret: string): Outcome {
  if (answer.kind === 'unanswered')
    return { kind: answer.mayBeThere ? 'unknown' : 'not_taken', error: answer.error }
  const { status, text } = answer
  if (status >= 200 && status < 300) return { kind: 'taken' }
  const said = text.replaceAll(secret, '(secret)').replace(/\s+/g, ' ').trim().slice(0, MAX_TEXT)
  const error = `it answered ${status}${said === '' ? '' : `: ${said}`}`
  if (status >= 500) return { kind: 'unknown', error }
  const isOfEvents = status >= 400 && !NOT_OF_EVENTS.has(status)
  return { kind: isOfEvents ? 'refused' : 'not_taken', error }
}
