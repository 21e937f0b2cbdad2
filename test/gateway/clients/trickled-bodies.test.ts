// @long: bodies that come for seconds
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import type * as BodyBudgets from '../../../src/gateway/bodies/body-budget.ts'
import { rounds } from '../../support/rounds.ts'
import { startOwnStack } from '../../support/servers/own-stack.ts'
import type { TestClient } from '../../support/servers/stack.ts'
import { dial, requestText } from '../raw-http.ts'

const MIB = 1024 * 1024
/** In place of 256 MiB for all bodies, 100 MiB for one, and 20 s for the minimum rate. */
const ROOM_BYTES = 32 * MIB
const LARGEST_BYTES = 12 * MIB
const RATE_WINDOW_MS = 4_000

const budgets: BodyBudgets.BodyBudget[] = []

vi.mock('../../../src/gateway/bodies/body-budget.ts', async (importOriginal) => {
  const original = await importOriginal<typeof BodyBudgets>()
  class BodyBudget extends original.BodyBudget {
    constructor(_limitBytes: number, maxBodyBytes: number) {
      super(ROOM_BYTES, maxBodyBytes, { rateWindowMs: RATE_WINDOW_MS })
      budgets.push(this)
    }
  }
  return { ...original, BodyBudget }
})

const { stack } = await startOwnStack({ env: { BODY_LIMIT_BYTES: `${LARGEST_BYTES}` } })

function heldBytes(): number {
  return budgets.reduce((sum, budget) => sum + budget.heldBytes, 0)
}

/** Sends most of a body at once, and of the rest a byte now and then. */
function trickle(
  client: TestClient,
  bytes: number,
): { readonly socket: Socket; readonly end: Promise<void> } {
  const socket = dial(stack.url).resume()
  socket.on('error', () => {})
  const headers = [
    `Authorization: Bearer ${client.key}`,
    'Content-Type: application/json',
    `Content-Length: ${bytes + 1000}`,
  ]
  socket.write(requestText('/v1/chat/completions', headers, 'POST', ' '.repeat(bytes)))
  const drops = setInterval(() => socket.write(' '), 200)
  const end = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  void end.then(() => clearInterval(drops))
  return { socket, end }
}

async function post(client: TestClient, padding: number): Promise<number> {
  const answer = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: `{"model":"gpt-4o-mini","messages":[]${' '.repeat(padding)}}`,
  })
  await answer.arrayBuffer()
  return answer.status
}

test.each(
  rounds({ short: [10], long: [2, 10, 50] }),
)("%i clients that trickle bodies: another's small calls get through, a large one too, and the uploads end", async (count) => {
  const other = await stack.addClient(`other than ${count}`)
  const clients = await Promise.all(
    Array.from({ length: count }, (_, n) => stack.addClient(`slow ${n} of ${count}`)),
  )
  const uploads = clients.flatMap((client) => [
    trickle(client, 8 * MIB),
    trickle(client, 3 * MIB),
    trickle(client, 60_000),
    trickle(client, 100),
  ])
  let areOver = false
  const ended = Promise.all(uploads.map(({ end }) => end)).then(() => {
    areOver = true
  })
  await expect.poll(heldBytes).toBeGreaterThan(ROOM_BYTES / 2)
  expect(await post(other, 10)).toBe(200)
  // As soon as what trickles is known to trickle.
  await expect.poll(() => post(other, 10 * MIB)).toBe(200)
  while (!areOver) {
    expect(await post(other, 10)).toBe(200)
    await delay(200)
  }
  await ended
  await expect.poll(heldBytes).toBe(0)
})
