import { once } from 'node:events'
import { beforeEach, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { startOwnStack } from '../../support/servers/own-stack.ts'
import type { TestClient } from '../../support/servers/stack.ts'

/** Sessions of `gpt-realtime` that have their input written down by this model. */
const TRANSCRIBER = 'gpt-4o-transcribe'

const { upstream, stack } = await startOwnStack()
const sockets = new WebSocketServer({ noServer: true })
let client: TestClient
let number = 0

beforeEach(async () => {
  number += 1
  client = await stack.addClient(`beside ${number}`)
})

/** What the upstream says of the session: `null`: that nothing is written down any more. */
const configured = (model: string | null, own = 'gpt-realtime') => ({
  type: 'session.updated',
  session: {
    type: 'realtime',
    model: own,
    audio: { input: { transcription: model === null ? null : { model } } },
  },
})

/** $0.08 of `gpt-4o-transcribe`. */
const TRANSCRIBED = {
  type: 'conversation.item.input_audio_transcription.completed',
  item_id: 'item_1',
  transcript: 'hello',
  usage: {
    type: 'tokens',
    input_tokens: 10_000,
    output_tokens: 2_000,
    input_token_details: { audio_tokens: 10_000 },
  },
}

/** Of the session's own model. */
const RESPONDED = {
  type: 'response.done',
  response: {
    id: 'r1',
    status: 'completed',
    usage: { total_tokens: 30, input_tokens: 10, output_tokens: 20 },
  },
}

interface Opened {
  /** Resolves once the client has heard them, or its session has ended. */
  says(...messages: readonly object[]): Promise<void>
  readonly closed: Promise<number>
  readonly isOpen: boolean
  end(): Promise<void>
}

async function open(named = 'gpt-realtime'): Promise<Opened> {
  const accepted = new Promise<WebSocket>((resolve) => {
    upstream.server.once('upgrade', (request, socket, head) =>
      sockets.handleUpgrade(request, socket, head, resolve),
    )
  })
  const session = new WebSocket(`${stack.url.replace('http', 'ws')}/v1/realtime?model=${named}`, {
    headers: { authorization: `Bearer ${client.key}` },
  })
  const closed = once(session, 'close').then(([code]) => code as number)
  const [of] = await Promise.all([accepted, once(session, 'open')])
  return {
    async says(...messages) {
      for (const message of messages) {
        const heard = once(session, 'message')
        of.send(JSON.stringify(message))
        await Promise.race([heard, closed])
      }
      // What is behind the message has been seen by then.
      if (session.readyState !== WebSocket.OPEN) return
      const pong = once(of, 'pong')
      of.ping()
      await Promise.race([pong, closed])
    },
    closed,
    get isOpen() {
      return session.readyState === WebSocket.OPEN
    },
    async end() {
      of.close(1000)
      await closed
    },
  }
}

type Order = Parameters<typeof setLimits>[2][number]

async function limit(order: Order, model = TRANSCRIBER): Promise<void> {
  await setLimits(stack.pool, { clientId: client.id, keyId: null, model }, [order], 'test')
  await expect.poll(async () => (await shown()).length).toBe(1)
}

const budget = (usd: number, model?: string) =>
  limit({ kind: 'budget', per: 'day', isSoft: false, amount: BigInt(Math.round(usd * 1e12)) }, model)

async function shown(): Promise<readonly Record<string, unknown>[]> {
  const { limits } = await stack.usage(client, '?include=limits')
  return limits ?? []
}

describe('a hard budget for the model alone that writes down the input of sessions', () => {
  test('is spent by what that costs, over all sessions, and ends the one that passes it', async () => {
    await budget(0.2)
    const first = await open()
    await first.says(configured(TRANSCRIBER), TRANSCRIBED)
    await first.end()
    await stack.usageOf(client, 1)
    await expect.poll(async () => (await shown())[0]).toMatchObject({ spent_usd: 0.08 })

    const second = await open()
    await second.says(configured(TRANSCRIBER), TRANSCRIBED, TRANSCRIBED)
    expect(await second.closed).toBe(1008)
    await stack.usageOf(client, 2)
    await expect.poll(async () => (await shown())[0]).toMatchObject({ spent_usd: 0.24 })

    const third = await open()
    await third.says(configured(TRANSCRIBER))
    expect(await third.closed).toBe(1008)
  })

  test('is reserved while sessions run, also once they write nothing down any more', async () => {
    await budget(0.1)
    const one = await open()
    await one.says(configured(TRANSCRIBER), TRANSCRIBED, configured(null))
    expect(one.isOpen).toBe(true)
    const other = await open()
    await other.says(configured(TRANSCRIBER), TRANSCRIBED)
    expect(await other.closed).toBe(1008)
    await one.end()
  })

  test('ends a session in which that model has no price', async () => {
    await budget(1, 'made-up-*')
    const session = await open()
    await session.says(configured('made-up-1'), TRANSCRIBED)
    expect(await session.closed).toBe(1008)
  })

  test('has its cost once, where it is for the model of the session as well', async () => {
    await budget(1, 'gpt-*')
    const session = await open()
    await session.says(configured(TRANSCRIBER), TRANSCRIBED)
    await session.end()
    await stack.usageOf(client, 1)
    await expect.poll(async () => (await shown())[0]).toMatchObject({ spent_usd: 0.08 })
  })

  test('is reserved once, where it holds for the session by a model that its name ran before', async () => {
    await budget(0.3, 'gpt-4o*')
    const first = await open()
    await first.says(configured(TRANSCRIBER, 'gpt-4o-realtime-preview'), RESPONDED)
    await first.end()
    await stack.usageOf(client, 1)
    await expect.poll(async () => Number((await shown())[0]?.spent_usd)).toBeGreaterThan(0)

    const second = await open()
    await second.says(
      configured(TRANSCRIBER, 'gpt-4o-realtime-preview'),
      TRANSCRIBED,
      TRANSCRIBED,
      TRANSCRIBED,
    )
    expect(second.isOpen).toBe(true)
    await second.end()
    await stack.usageOf(client, 2)
    await expect.poll(async () => (await shown())[0]).toMatchObject({ spent_usd: expect.closeTo(0.24, 2) })
  })

  test('goes on where the model of the session has no price and no limit', async () => {
    await budget(1)
    const session = await open('made-up')
    await session.says(configured(TRANSCRIBER, 'made-up'), TRANSCRIBED, RESPONDED, TRANSCRIBED)
    expect(session.isOpen).toBe(true)
    await session.end()
  })

  test('goes on where another model that ran beside it has no price', async () => {
    await budget(1)
    const session = await open()
    await session.says(configured('made-up-1'), TRANSCRIBED, configured(TRANSCRIBER), TRANSCRIBED)
    expect(session.isOpen).toBe(true)
    await session.end()
  })
})

test('a session that writes nothing down any more leaves its place in that model’s calls at once', async () => {
  await limit({ kind: 'concurrent', per: null, isSoft: false, amount: 1n })
  const one = await open()
  await one.says(configured(TRANSCRIBER), configured(null))
  const other = await open()
  await other.says(configured(TRANSCRIBER))
  expect(other.isOpen).toBe(true)
  const third = await open()
  await third.says(configured(TRANSCRIBER))
  expect(await third.closed).toBe(1008)
  await Promise.all([one.end(), other.end()])
})
