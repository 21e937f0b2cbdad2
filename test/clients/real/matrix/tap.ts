import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** One request's answer, as it came over the connection. */
export interface TappedAnswer {
  readonly step: string
  /** Fields by their names in small letters. */
  readonly headers: ReadonlyMap<string, string>
  /** In latin1, without the sizes of its chunks. */
  readonly body: string
  readonly trailers: ReadonlyMap<string, string>
}

export interface Tap {
  readonly port: number
  answers(): readonly TappedAnswer[]
  close(): Promise<void>
}

const REQUEST = /^[A-Z]+ \S+ HTTP\/1\.1\r\n/

/**
 * Listens between a client and a server, and keeps what the server answered.
 *
 * @param field A header field that each request has from here on.
 */
export async function openTap(port: number, field: string, step: () => string): Promise<Tap> {
  const heard: { readonly step: string; readonly pieces: Buffer[] }[] = []
  const sockets = new Set<Socket>()
  const listener = createServer((client) => {
    const server = connect(port, '127.0.0.1')
    let pieces: Buffer[] = []
    for (const [one, other] of [[client, server] as const, [server, client] as const]) {
      sockets.add(one.setNoDelay(true))
      one.on('error', () => other.destroy())
      one.on('end', () => other.end())
      one.on('close', () => sockets.delete(one))
    }
    client.on('data', (piece: Buffer) => {
      const [line] = REQUEST.exec(piece.toString('latin1')) ?? []
      if (line === undefined) return server.write(piece)
      // A client sends its next request once it has the answer to the last one.
      pieces = []
      heard.push({ step: step(), pieces })
      return server.write(
        Buffer.concat([Buffer.from(`${line}${field}\r\n`, 'latin1'), piece.subarray(line.length)]),
      )
    })
    server.on('data', (piece: Buffer) => {
      pieces.push(piece)
      client.write(piece)
    })
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  return {
    port: (listener.address() as AddressInfo).port,
    answers: () =>
      heard.map((one) => ({ step: one.step, ...answerOf(Buffer.concat(one.pieces).toString('latin1')) })),
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}

const fieldsOf = (lines: readonly string[]) =>
  new Map(
    lines.flatMap((line) => {
      const at = line.indexOf(':')
      return at < 0 ? [] : [[line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()] as const]
    }),
  )

function answerOf(text: string): Omit<TappedAnswer, 'step'> {
  const end = text.indexOf('\r\n\r\n')
  const headers = fieldsOf(text.slice(0, end).split('\r\n').slice(1))
  const rest = text.slice(end + 4)
  if (headers.get('transfer-encoding') !== 'chunked') return { headers, body: rest, trailers: new Map() }
  const chunks: string[] = []
  for (let at = 0; ; ) {
    const line = rest.indexOf('\r\n', at)
    const size = Number.parseInt(rest.slice(at, line), 16)
    if (line >= 0 && size > 0) {
      chunks.push(rest.slice(line + 2, line + 2 + size))
      at = line + 4 + size
      continue
    }
    // Without the last chunk it was cut.
    const trailers = fieldsOf(size === 0 ? rest.slice(line + 2).split('\r\n') : [])
    return { headers, body: chunks.join(''), trailers }
  }
}
