import { Socket } from 'node:net'
import { StatementSync } from 'node:sqlite'
import { isMainThread } from 'node:worker_threads'
import { CRASH_SIGNALS, type CrashPoint } from './gateway-signals.ts'

/**
 * Loaded first into gateways of a chaos run. A signal arms it; the process then kills itself as soon as the
 * kernel has taken a certain write, before anything else of it runs.
 *
 * Kills from outside hardly ever meet these moments: an answer is out and its record is not written, or a
 * call goes upstream and its open row is missing.
 */
const clientPort = Number(process.env.PORT)
const upstreamPort = Number(process.env.CHAOS_UPSTREAM_PORT)
/** A call may need several writes, its head and its body: the first is not always the one that counts. */
const WRITES_MAX = 3
/** As bench/chaos/upstream.ts writes it, and nowhere else: of a chat and of a message, streamed or not. */
const FINAL_USAGE = /"choices":\[\],|"content":\[\],|"type":"message_delta"/
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
  dieAfter(StatementSync.prototype, 'run', (statement) => {
    return armed === 'commit' && statement instanceof StatementSync && statement.sourceSQL === 'commit'
  })
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

function isMet(socket: unknown, text: () => string): boolean {
  // While it connects, the bytes are kept and the kernel has none.
  if (!(socket instanceof Socket) || socket.connecting) return false
  if (armed === 'upstream') return socket.remotePort === upstreamPort
  if (socket.localPort !== clientPort) return false
  return armed === 'client' || (armed === 'usage' && FINAL_USAGE.test(text()))
}

/** What one `_writev` is given. */
function joined(chunks: unknown): string {
  return Array.isArray(chunks) ? chunks.map((part) => `${Object(part).chunk}`).join('') : ''
}
