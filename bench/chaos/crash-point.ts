import { Socket } from 'node:net'
import { isMainThread } from 'node:worker_threads'
import { CRASH_SIGNALS } from './crash-signals.ts'

/**
 * Loaded first into gateways of a chaos run: once armed by a signal, the process kills itself as soon as the kernel has
 * taken its next write to a client, or to the upstream, before anything else of it runs. Kills from outside hardly
 * ever meet the moments in which an answer is out and its record is not written, or a call and its note.
 */
const clientPort = Number(process.env.PORT)
const upstreamPort = Number(process.env.CHAOS_UPSTREAM_PORT)
let armed: keyof typeof CRASH_SIGNALS | null = null

if (isMainThread) {
  for (const side of ['client', 'upstream'] as const)
    process.on(CRASH_SIGNALS[side], () => {
      armed = side
    })
  for (const method of ['_write', '_writev'] as const) dieAfter(method)
}

function dieAfter(method: '_write' | '_writev'): void {
  const write: unknown = Reflect.get(Socket.prototype, method)
  if (typeof write !== 'function') throw new Error(`sockets of this Node have no ${method}`)
  Reflect.set(Socket.prototype, method, function (this: Socket, ...given: unknown[]) {
    // While it connects, the bytes are kept and the kernel has none.
    const reached = armed !== null && !this.connecting && isArmed(this)
    Reflect.apply(write, this, given)
    if (reached) process.kill(process.pid, 'SIGKILL')
  })
}

function isArmed(socket: Socket): boolean {
  return armed === 'client' ? socket.localPort === clientPort : socket.remotePort === upstreamPort
}
