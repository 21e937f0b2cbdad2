// @alone: ports that are kept are kept for the process
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { findFreePort, keepPort } from '../../src/standalone/processes/free-port.ts'

test('of ports that are found one after the other none is found twice', async () => {
  const ports: number[] = []
  for (let n = 0; n < 500; n += 1) ports.push(await findFreePort())
  expect(new Set(ports).size).toBe(500)
})

test('a port is free, and none that an outgoing connection could take while its server is away', async () => {
  for (let n = 0; n < 50; n += 1) {
    const port = await findFreePort()
    expect(port).toSatisfy((found: number) => found >= 20_000 && found < 32_768)
    const server = createServer()
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', resolve)
    })
    await new Promise((resolve) => server.close(resolve))
  }
})

test('a port that is kept is not found', async () => {
  for (let port = 20_000; port < 30_000; port += 1) keepPort(port)
  for (let n = 0; n < 50; n += 1) expect(await findFreePort()).toBeGreaterThanOrEqual(30_000)
})
