/**
 * What observing an answer costs: CPU per event and per body, and whether memory stays flat over many streams. Every
 * response goes through the reader that the gateway would choose, on one thread; "apart" means each event arrives as
 * a chunk of its own, "together" that chunks are 16 KiB as in a busy socket. The parts: reading alone; reading as the
 * gateway does, which asks what is new after each chunk; the sample for an estimate; the filter of a usage event that
 * the client did not ask for, behind the reader. All cases run in turn, in rounds; each figure is the median round.
 *
 * Run: npm run bench:observe (BENCH_MS: milliseconds of a case in a round)
 */

import { BodyWindows } from '../src/gateway/estimation/body-windows.ts'
import { UsageEventFilter } from '../src/gateway/proxy/usage-event-filter.ts'
import type { UsageReader } from '../src/providers/dialect.ts'
import { selectDialect } from '../src/providers/registry.ts'
import { heldMemory } from '../test/support/memory.ts'
import { BODIES, EVENTS, type Sample, STREAMS } from './observe-samples.ts'

const TOGETHER_BYTES = 16_384
const ROUNDS = 7

type Chunks = readonly Buffer[]
/** Does the work once, and gives a number that hangs on it, so that none of it can be optimised away. */
type Work = () => number

function cut(body: Buffer, pieceBytes: number): Chunks {
  return Array.from({ length: Math.ceil(body.length / pieceBytes) }, (_, index) =>
    body.subarray(index * pieceBytes, (index + 1) * pieceBytes),
  )
}

function open({ provider, path, contentType }: Sample): UsageReader {
  const request = { method: 'POST', path, model: null, stream: true }
  const dialect = selectDialect(provider, request.method, path)
  if (dialect === null) throw new Error(`nothing is metered at ${path}`)
  return dialect.createReader(request, { status: 200, headers: { 'content-type': contentType } })
}

function read(sample: Sample, chunks: Chunks): number {
  const reader = open(sample)
  for (const chunk of chunks) reader.push(chunk)
  return reader.end().usage.inputTokens ?? Number.NaN
}

function readForSnapshots(sample: Sample, chunks: Chunks): number {
  const reader = open(sample)
  let { revision } = reader
  for (const chunk of chunks) {
    reader.push(chunk)
    if (reader.revision === revision) continue
    revision = reader.revision
    if (reader.isRunning !== true) reader.peek()
  }
  return reader.end().usage.inputTokens ?? Number.NaN
}

function readAndFilter(sample: Sample, chunks: Chunks): number {
  const reader = open(sample)
  const filter = new UsageEventFilter()
  let passed = 0
  for (const chunk of chunks) {
    reader.push(chunk)
    if (reader.hasNoUsage === true && filter.passes(chunk)) passed += chunk.length
    else for (const piece of filter.push(chunk)) passed += piece.length
  }
  for (const piece of filter.end()) passed += piece.length
  return passed + (reader.end().usage.inputTokens ?? Number.NaN)
}

function sampleOf(chunks: Chunks): number {
  const windows = new BodyWindows()
  for (const chunk of chunks) windows.keep(chunk)
  windows.release()
  return chunks.length
}

/** Microseconds of CPU that each work takes: the medians of rounds in which all have their turn. */
function measure(works: readonly Work[]): readonly number[] {
  const budgetMs = Number(process.env.BENCH_MS ?? 60)
  const rounds = works.map((): number[] => [])
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const [index, work] of works.entries()) {
      const us = cpuOf(work, budgetMs)
      // The first is to warm up.
      if (round >= 0) rounds[index]?.push(us)
    }
  }
  return rounds.map((times) => times.sort((one, other) => one - other)[ROUNDS >> 1] ?? Number.NaN)
}

function cpuOf(work: Work, budgetMs: number): number {
  const until = performance.now() + budgetMs
  const before = process.cpuUsage()
  let times = 0
  while (performance.now() < until || times < 3) {
    if (Number.isNaN(work())) return Number.NaN
    times += 1
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / times
}

/** Heap in use after `streams` readings more, in MB. */
function heapAfter(streams: number): number {
  const [sample] = STREAMS
  if (sample !== undefined) {
    const short = [...sample.writes.slice(0, 19), ...sample.writes.slice(-1)]
    for (let count = 0; count < streams; count += 1) read(sample, short)
  }
  return heldMemory().heapUsed / 1e6
}

const ofEvent = (us: number) => Math.round((us / EVENTS) * 1000)

console.log(`streams of ${EVENTS} events, ns of CPU per event`)
for (const isApart of [true, false]) {
  const cases = STREAMS.map((sample) => {
    const chunks = isApart ? sample.writes : cut(Buffer.concat([...sample.writes]), TOGETHER_BYTES)
    return [
      () => read(sample, chunks),
      () => readForSnapshots(sample, chunks),
      () => sampleOf(chunks),
      () => readAndFilter(sample, chunks),
    ]
  })
  const times = measure(cases.flat())
  console.log(isApart ? 'apart' : 'together')
  console.table(
    STREAMS.map(({ name }, index) => {
      const [reading = Number.NaN, asGateway = Number.NaN, sampling = Number.NaN, filtering = Number.NaN] =
        times.slice(index * 4, index * 4 + 4)
      return {
        stream: name,
        read: ofEvent(reading),
        'with snapshots': ofEvent(asGateway),
        sample: ofEvent(sampling),
        'with filter': ofEvent(filtering),
      }
    }),
  )
}

console.log('whole bodies, in chunks of 64 KiB, us of CPU')
const bodyTimes = measure(
  BODIES.flatMap((sample) => {
    const body = Buffer.concat([...sample.writes])
    const chunks = cut(body, 65_536)
    const parse = () => (typeof JSON.parse(body.toString()) === 'object' ? 1 : Number.NaN)
    return [() => read(sample, chunks), () => sampleOf(chunks), parse]
  }),
)
console.table(
  BODIES.map(({ name, writes }, index) => {
    const [reading = Number.NaN, sampling = Number.NaN, parsing = Number.NaN] = bodyTimes
      .slice(index * 3, index * 3 + 3)
      .map((us) => Math.round(us * 100) / 100)
    const bytes = writes.reduce((sum, write) => sum + write.length, 0)
    return { body: name, bytes, read: reading, sample: sampling, 'JSON.parse of it': parsing }
  }),
)

const warm = heapAfter(5000)
const after = heapAfter(100_000)
console.log(
  `heap in use after 5,000 streams: ${warm.toFixed(1)} MB, after 100,000 more: ${after.toFixed(1)} MB`,
)
