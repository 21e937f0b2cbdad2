import { createServer } from 'node:net'

/** A loopback port that was free a moment ago. Another process may take it first: callers try again then. */
export async function findFreePort(): Promise<number> {
  const server = createServer()
  return await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => {
        if (address !== null && typeof address === 'object') resolve(address.port)
        else reject(new Error('no loopback port to listen on'))
      })
    })
  })
}

/** Whether something else already listens on this address; null: it is free. */
export async function whyPortIsTaken(host: string, port: number): Promise<string | null> {
  const server = createServer()
  return await new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)))
  })
}
