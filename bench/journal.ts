/**
 * What the journal costs a call: microseconds of CPU for its whole life, of the event loop's thread and of all threads.
 * A call is opened (a text of about 300 bytes), closed in the next turn (a record of about 800), synced within 25 ms,
 * read as the shipper reads it, and deleted some thousand records later. All on the disk of `TMPDIR`. Calls follow each
 * other without a pause, so a sync is shared by as many as the loop makes in 25 ms: thousands, not the tens of a quiet
 * gateway.
 *
 * Run: npm run bench:journal (BENCH_CALLS: calls in a round)
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { OpenCall } from '../src/call/call-record.ts'
import type { Journal } from '../src/ledger/journal/journal.ts'
import { SegmentJournals } from '../src/ledger/journal/segments/segment-journals.ts'

const CALLS = Number(process.env.BENCH_CALLS ?? 20_000)
const ROUNDS = 7
/** How many calls are opened in one turn of the event loop, and closed in another. */
const CALLS_A_TURN = [1, 16]
const KEPT_RECORDS = 5_000
const PRUNED_RECORDS = 500

const CALL: OpenCall = {
  callId: '',
  arrivedAtMs: 1_760_000_000_000,
  clientId: '01939b3e-7c00-7000-8000-000000000001',
  keyId: '01939b3e-7c00-7000-8000-000000000002',
  upstream: 'openai',
  provider: 'openai',
  method: 'POST',
  path: '/v1/chat/completions',
  requestedModel: 'gpt-4o-mini',
  webSocket: false,
}
/** The last record that was read. */
let sent = 0
const RECORD = JSON.stringify({ ...CALL, status: 200, usageRaw: 'x'.repeat(480) }).slice(0, -1)

function callIdOf(number: number): string {
  return `${number.toString(16).padStart(8, '0')}-7c00-7000-8000-000000000000`
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}

/** Opens calls in one turn, and closes them in the next; resolves when that is written. */
function makeCalls(journal: Journal, first: number, count: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let left = count
    const closed = (error: Error | null): void => {
      if (error !== null) reject(error)
      else if (--left === 0) resolve()
    }
    for (let number = first; number < first + count; number++) {
      const callId = callIdOf(number)
      journal.open({ ...CALL, callId }, (error) => {
        if (error !== null) reject(error)
        else journal.close(callId, `${RECORD},"number":${number}}`, closed)
      })
    }
  })
}

async function makeRound(journal: Journal, atOnce: number): Promise<void> {
  const until = journal.last + CALLS
  while (journal.last < until) {
    await makeCalls(journal, journal.last, atOnce)
    if (journal.last % 256 >= atOnce) continue
    readSynced(journal)
    while (journal.prune(sent - KEPT_RECORDS, PRUNED_RECORDS));
  }
}

/** Every record once, as the shipper does. */
function readSynced(journal: Journal): void {
  while (sent < journal.synced) {
    const rows = journal.read(sent, Math.min(1_000, journal.synced - sent), 1_000_000)
    if (rows[0]?.sequence !== sent + 1) throw new Error(`record ${sent + 1} is not there`)
    sent += rows.length
  }
  journal.dropRecent(sent)
}

async function measure(atOnce: number): Promise<void> {
  const folder = mkdtempSync(join(process.env.TMPDIR ?? tmpdir(), 'tallygate-bench-journal-'))
  const log = { info: () => {}, warn: console.error, error: console.error }
  const journals = new SegmentJournals({ log })
  const journal = journals.create(folder, 'bench:calls', null)
  sent = 0
  const [loop, all]: [number[], number[]] = [[], []]
  await makeRound(journal, atOnce)
  for (let round = 0; round < ROUNDS; round++) {
    const [thread, every] = [process.threadCpuUsage(), process.cpuUsage()]
    await makeRound(journal, atOnce)
    const [ofThread, ofAll] = [process.threadCpuUsage(thread), process.cpuUsage(every)]
    loop.push((ofThread.user + ofThread.system) / CALLS)
    all.push((ofAll.user + ofAll.system) / CALLS)
  }
  await journal.flush()
  await journal.stop()
  await journals.stop()
  rmSync(folder, { recursive: true })
  const figure = (values: number[]) => median(values).toFixed(1).padStart(5)
  console.log(
    `${String(atOnce).padStart(3)} calls a turn: ${figure(loop)} us of the loop,${figure(all)} us of all threads`,
  )
}

for (const atOnce of CALLS_A_TURN) await measure(atOnce)
