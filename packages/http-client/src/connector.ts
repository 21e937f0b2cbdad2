import { isIP, connect as netConnect, type OnReadOpts, type Socket } from 'node:net'
import { createSecureContext, type SecureContext, connect as tlsConnect } from 'node:tls'

/** After a minute without a byte the kernel asks whether the server is still there. */
const KEEP_ALIVE_PROBE_MS = 60_000

/**
 * One read brings this many bytes at most: an answer of 64 KiB and its head, which would be two pieces in two reads.
 * Up to 32 may follow each other before another connection has its turn, so it is no more.
 */
const READ_BYTES = 80 * 1024

/**
 * Every socket reads into the same memory, in its turn: Node would else allocate as much for each read, and give
 * most of it back.
 */
const shared = Buffer.allocUnsafeSlow(READ_BYTES)

/** The option of a socket that gives what it reads to `onBytes`, in memory of its own, and emits no `data`. */
function readsTo(onBytes: (bytes: Buffer) => void): OnReadOpts {
  return {
    buffer: shared,
    callback(bytesRead) {
      const bytes = Buffer.allocUnsafe(bytesRead)
      shared.copy(bytes, 0, 0, bytesRead)
      onBytes(bytes)
      return true
    },
  }
}

/** Opens connections to one origin: TLS is verified, whatever the environment says. */
export class Connector {
  readonly #host: string
  readonly #port: number
  readonly #isSecure: boolean
  #secureContext: SecureContext | null = null
  /** The last that a verified server gave, with which the next handshake is shorter. */
  #session: Buffer | null = null

  /** @param origin `scheme://host[:port]` */
  constructor(origin: string) {
    const { protocol, hostname, port } = new URL(origin)
    this.#isSecure = protocol === 'https:'
    this.#host = hostname.replace(/^\[|\]$/g, '')
    this.#port = Number(port === '' ? (this.#isSecure ? 443 : 80) : port)
  }

  /**
   * @param onConnect the socket may be written to. Errors are the socket's.
   * @param onBytes what is read, in place of `data`
   */
  connect(onConnect: () => void, onBytes: (bytes: Buffer) => void): Socket {
    const socket = this.#isSecure
      ? this.#connectSecurely(onConnect).on('data', onBytes)
      : this.#connectPlainly(onConnect, onBytes)
    // Without a listener for data, the end would not be heard of.
    socket.resume()
    socket.setNoDelay(true)
    socket.setKeepAlive(true, KEEP_ALIVE_PROBE_MS)
    return socket
  }

  #connectPlainly(onConnect: () => void, onBytes: (bytes: Buffer) => void): Socket {
    const options = {
      host: this.#host,
      port: this.#port,
      autoSelectFamily: true,
      onread: readsTo(onBytes),
    }
    return netConnect(options, onConnect)
  }

  #connectSecurely(onConnect: () => void): Socket {
    this.#secureContext ??= createSecureContext()
    const options = {
      host: this.#host,
      port: this.#port,
      autoSelectFamily: true,
      secureContext: this.#secureContext,
      // An environment variable must not have our credential sent to an unverified server.
      rejectUnauthorized: true,
      ALPNProtocols: ['http/1.1'],
      ...(isIP(this.#host) === 0 ? { servername: this.#host } : {}),
      ...(this.#session === null ? {} : { session: this.#session }),
    }
    const socket = tlsConnect(options, onConnect)
    // Sessions are of verified servers only: Node keeps a session back until then. Resumed, the name is not verified
    // again.
    socket.on('session', (session) => {
      this.#session = session
    })
    return socket
  }
}
