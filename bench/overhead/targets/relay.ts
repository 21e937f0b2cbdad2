import { type AddressInfo, connect, createServer } from 'node:net'

/** The floor under any proxy in Node: bytes from socket to socket, of whose meaning nothing is known. */
const server = createServer({ noDelay: true }, (client) => {
  const upstream = connect({ host: '127.0.0.1', port: Number(process.env.ORIGIN_PORT), noDelay: true })
  client.pipe(upstream).pipe(client)
  // The one takes the other with it; pipes pass on only orderly ends.
  client.on('error', () => upstream.destroy())
  upstream.on('error', () => client.destroy())
})
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () =>
  process.send?.({ port: (server.address() as AddressInfo).port }),
)
process.on('disconnect', () => process.exit(0))
