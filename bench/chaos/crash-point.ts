import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { Socket } from 'node:net'
import { basename } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { SEGMENT_FILE } from './dead-log.ts'
import { CRASH_SIGNALS, type CrashPoint } from './gateway-signals.ts'

/**
 * Loaded first into gateways of a chaos run. A signal arms it; the process then kills itself as soon as the
 * kernel has taken a certain write, before anything else of it runs.
 *
 * Kills from outside hardly ever meet these moments: an answer is out and its record is not written, or a
 * call goes upstream and the journal does not have it, or a write to the journal is torn.
 */
const clientPort = Number(process.env.PORT)
const upstreamPorts = (process.env.CHAOS_UPSTREAM_PORTS ?? '').split(',').map(Number)
/** A call may need several writes, its head and its body: the first is not always the one that counts. */
const WRITES_MAX = 3
/** Of what a journal writes after a sync: no call waits for that. */
const PROOF_BYTES = 49
/** As src/standalone/prove/stand-in.ts writes it, and nowhere else: of a chat and of a message, streamed or not. */
const FINAL_USAGE = /"choices":\[\],|"object":"chat\.completion",|"content":\[\],|"type":"message_delta"/
let armed: CrashPoint | null = null
let writesLeft = 0

if (isMainThread) {
  for (const point of ['client', 'upstream', 'usage', 'commit'] as const)
    process.on(CRASH_SIGNALS[point], () => {
      armed = point
      writesLeft = point === 'usage' ? 1 : 1 + Math.floor(Math.random() * WRITES_MAX)
    })
  dieAfter(Socket.prototype, '_write', (socket, chunk) => isMet(socket, () => `${chunk}`))
  dieAfter(Socket.prototype, '_writev', (socket, chunks) => isMet(socket, () => joined(chunks)))
  dieInJournalWrite()
}

/** Has the method kill the process behind itself when it is the write that was meant. */
function dieAfter(
  prototype: object,
  name: string,
  isMeant: (self: unknown, given: unknown) => boolean,
): void {
  const method: unknown = Reflect.get(prototype, name)
  if (typeof method !== 'function') throw new Error(`this Node has no ${name}`)
  Reflect.set(prototype, name, function (this: unknown, ...given: unknown[]) {
    const counts = armed !== null && isMeant(this, given[0])
    const result = Reflect.apply(method, this, given)
    if (counts) writesLeft -= 1
    if (counts && writesLeft === 0) process.kill(process.pid, 'SIGKILL')
    return result
  })
}

/** kill -9 behind a write to a segment, or in the middle of it: the kernel had taken a part. */
function dieInJournalWrite(): void {
  const { writeSync } = fs
  const write = (descriptor: number, bytes: Buffer, offset: number, length: number, position: number) => {
    if (armed !== 'commit' || length <= PROOF_BYTES || !isSegment(descriptor))
      return writeSync(descriptor, bytes, offset, length, position)
    writesLeft -= 1
    const isTorn = writesLeft === 0 && Math.random() < 0.5
    const taken = isTorn ? Math.floor(Math.random() * length) : length
    const written = writeSync(descriptor, bytes, offset, taken, position)
    if (writesLeft === 0) process.kill(process.pid, 'SIGKILL')
    return written
  }
  // The gateway takes the function when it is loaded.
  Reflect.set(fs, 'writeSync', write)
  syncBuiltinESMExports()
}

function isSegment(descriptor: number): boolean {
  return SEGMENT_FILE.test(basename(fs.readlinkSync(`/proc/self/fd/${descriptor}`)))
}

function isMet(socket: unknown, text: () => string): boolean {
  // While it connects, the bytes are kept and the kernel has none.
  if (!(socket instanceof Socket) || socket.connecting) return false
  if (armed === 'upstream') return upstreamPorts.includes(socket.remotePort ?? 0)
  if (socket.localPort !== clientPort) return false
  return armed === 'client' || (armed === 'usage' && FINAL_USAGE.test(text()))
}

/** What one `_writev` is given. */
function joined(chunks: unknown): string {
  return Array.isArray(chunks) ? chunks.map((part) => `${Object(part).chunk}`).join('') : ''
}
