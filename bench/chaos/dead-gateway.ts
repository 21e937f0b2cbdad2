import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { acquireLivenessLock } from '../../src/ledger/recovery/liveness-lock.ts'
import type { ExpectedGap } from './allowances.ts'
import { NotNow } from './fault.ts'
import type { Gateway } from './gateway.ts'
import { withRedis } from './with-redis.ts'
import type { World } from './world.ts'

/** What a gateway had sent when it was killed is in the stream by then. */
const IN_FLIGHT_MS = 200
/** The workers' patience, twice, and the time between their checks. */
const NAMED_WITHIN_MS = 90_000

/** A producer whose gateway was killed, and whose journal no adopter can take yet. */
export interface DeadProducer {
  readonly producer: string
  readonly folder: string
  /** By the wall clock. */
  readonly killedAtMs: number
}

/** Kills the gateway and shows the journals it had, while their locks keep adopters out. */
export async function withDeadJournals<T>(
  { journalDir }: World,
  gateway: Gateway,
  work: (dead: readonly DeadProducer[]) => Promise<T>,
): Promise<T> {
  const producers = gateway.takers().flatMap((taker) => taker.producers)
  const killedAtMs = Date.now()
  await gateway.kill()
  const held = producers.flatMap((producer) => {
    const folder = join(journalDir, producer)
    if (!existsSync(folder)) return [] // adopted, counted and deleted
    const lock = acquireLivenessLock(folder)
    return lock === null ? [] : [{ producer, folder, killedAtMs, lock }]
  })
  try {
    await delay(IN_FLIGHT_MS)
    return await work(held)
  } finally {
    for (const { lock } of held) lock.release()
  }
}

/** An entry on a stream. */
export interface Waiting {
  readonly stream: string
  readonly id: string
  readonly sequence: number
}

/** The producer's entries on the streams, in order. */
export async function entriesOf(world: World, producer: string): Promise<Waiting[]> {
  const streams = await withRedis(world, (redis) =>
    Promise.all(
      world.streams.map(async (stream) => ({ stream, entries: await redis.xrange(stream, '-', '+') })),
    ),
  )
  return streams
    .flatMap(({ stream, entries }) =>
      entries.map(([id, fields]) => ({ stream, id, fields: fieldsOf(fields) })),
    )
    .filter(({ fields }) => fields.get('p') === producer)
    .map(({ stream, id, fields }) => ({ stream, id, sequence: Number(fields.get('s')) }))
    .sort((left, right) => left.sequence - right.sequence)
}

export async function removeEntries(redis: Redis, entries: readonly Waiting[]): Promise<void> {
  for (const { stream, id } of entries) await redis.xdel(stream, id)
}

function fieldsOf(fields: readonly string[]): ReadonlyMap<string, string> {
  const byName = new Map<string, string>()
  for (let at = 0; at + 1 < fields.length; at += 2) byName.set(fields[at] ?? '', fields[at + 1] ?? '')
  return byName
}

/** @throws NotNow where Postgres does not answer */
export async function committedOffsetOf({ pool }: World, producer: string): Promise<number> {
  const { rows } = await pool
    .query<{ mark: string }>('select mark from tallygate.producers where id = $1', [producer])
    .catch((error) => {
      throw new NotNow(`Postgres: ${error}`)
    })
  return Number(rows[0]?.mark ?? 0)
}

/**
 * Waits until exactly these gaps are recorded. Records behind a gap are on a stream only: a Redis that lost its data
 * now would lose them too, as two faults may.
 */
export async function awaitNamed(world: World, gaps: readonly ExpectedGap[]): Promise<void> {
  const until = performance.now() + NAMED_WITHIN_MS
  while (!(await areNamed(world, gaps))) {
    if (performance.now() > until) throw new Error(`gaps that were not recorded: ${JSON.stringify(gaps)}`)
    await delay(250)
  }
}

async function areNamed({ pool }: World, gaps: readonly ExpectedGap[]): Promise<boolean> {
  const { rows } = await pool.query<Record<'producer' | 'from_seq' | 'to_seq' | 'reason', string>>(
    'select producer, from_seq, to_seq, reason from tallygate.ledger_gaps where filled_at is null',
  )
  const named = new Set(
    rows.map(({ producer, from_seq, to_seq, reason }) => `${producer} ${from_seq}-${to_seq} ${reason}`),
  )
  return gaps.every(({ producer, from, to, reason }) => named.has(`${producer} ${from}-${to} ${reason}`))
}
