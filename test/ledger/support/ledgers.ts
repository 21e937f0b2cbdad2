import { Redis } from 'ioredis'
import { expect, inject, onTestFinished, vi } from 'vitest'
import type { Ledger, LedgerOptions } from '../../../src/ledger/ledger.ts'
import { openLedger } from '../../../src/ledger/running-ledger.ts'
import { testRedisPrefix } from '../../support/servers/redis.ts'
import { callId, callRecord, interruptedRecord, openCall } from './calls.ts'
import { testFolder } from './folders.ts'
import { logLines } from './log-lines.ts'
import { Totals } from './totals.ts'

/** A place for gateways: a journal directory, a stream in a real Redis, and totals that stand for Postgres. */
export interface Site {
  readonly journalDir: string
  readonly redis: Redis
  readonly redisUrl: string
  readonly stream: string
  readonly totals: Totals
  readonly log: ReturnType<typeof logLines>
  /** A gateway's ledger here; it stops with the test, if it did not before. */
  ledger(changes?: Partial<LedgerOptions>): Promise<Ledger>
  /** Rolls up, every 20 ms, until the test ends; failures of Redis or of the totals are passed over. */
  keepRollingUp(): void
  /** Rolls up until every call was counted, each once. */
  expectCounted(numbers: readonly number[]): Promise<void>
}

export function testSite({ redisUrl = inject('redisUrl') } = {}): Site {
  const journalDir = testFolder()
  const { prefix, drop } = testRedisPrefix()
  const stream = `${prefix}calls`
  const redis = new Redis(redisUrl, {
    retryStrategy: () => 50,
    maxRetriesPerRequest: null,
  })
  redis.on('error', () => {})
  const totals = new Totals()
  const log = logLines()
  const stops: (() => Promise<void>)[] = []
  let timer: NodeJS.Timeout | null = null
  let finished = false
  onTestFinished(async () => {
    finished = true
    if (timer !== null) clearTimeout(timer)
    await Promise.all(stops.map((stop) => stop()))
    redis.disconnect()
    if (redisUrl === inject('redisUrl')) await drop()
  })
  const rollUpAgain = async (): Promise<void> => {
    await totals.rollUp(redis, stream).catch(() => {})
    if (!finished) timer = setTimeout(() => void rollUpAgain(), 20)
  }
  return {
    journalDir,
    redis,
    redisUrl,
    stream,
    totals,
    log,
    async ledger(changes = {}) {
      const ledger = await openLedger({
        journalDir,
        journalMaxBytes: 64 * 1024 * 1024,
        keepSeconds: 300,
        redisUrl,
        redisPrefix: prefix,
        streams: [stream],
        database: totals,
        buildInterrupted: interruptedRecord,
        log,
        ...changes,
      })
      let stopped: Promise<void> | null = null
      const stop = ledger.stop.bind(ledger)
      ledger.stop = (graceMs) => {
        stopped ??= stop(graceMs)
        return stopped
      }
      stops.push(() => ledger.stop(0))
      return ledger
    },
    keepRollingUp: () => void rollUpAgain(),
    async expectCounted(numbers) {
      const rolledUp = async () => {
        await totals.rollUp(redis, stream)
        expect(totals.counted.size).toBe(numbers.length)
      }
      await vi.waitFor(rolledUp, { interval: 20 })
      expect(totals.miscounted).toEqual([])
      expect([...totals.counted.keys()].sort()).toEqual(numbers.map(callId).sort())
    },
  }
}

export function open(ledger: Ledger, number: number): Promise<Error | null> {
  return new Promise((resolve) => ledger.open(openCall(number), resolve))
}

export function close(ledger: Ledger, number: number): Promise<Error | null> {
  return new Promise((resolve) => ledger.close(callRecord(number), resolve))
}

/** Calls from `from` to `to`, opened and closed. */
export async function makeCalls(ledger: Ledger, from: number, to: number): Promise<number[]> {
  const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index)
  await Promise.all(
    numbers.map(async (number) => {
      expect(await open(ledger, number)).toBeNull()
      expect(await close(ledger, number)).toBeNull()
    }),
  )
  return numbers
}
