import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { startOwnStack } from '../../support/servers/own-stack.ts'

const { upstream, stack } = await startOwnStack()
let authorization = ''

/** Behind a name, with the name once more: what would stand for a model whose limits are held already. */
const NAMES = [...Array(0x20).keys(), 0x7f].map((code) => {
  const character = String.fromCharCode(code)
  return `gpt-4o-mini${character}gpt-4o-mini`
})

async function post(target: string, body: string, type?: string): Promise<void> {
  const headers = { authorization, ...(type === undefined ? {} : { 'content-type': type }) }
  const answer = await fetch(`${stack.url}${target}`, { method: 'POST', headers, body })
  await answer.text()
}

const inBody = (model: string) =>
  post(
    '/v1/chat/completions',
    JSON.stringify({ model, max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] }),
    'application/json',
  )

const DOORS: Record<string, (model: string) => Promise<void>> = {
  'a body': inBody,
  'a form': (model) => {
    const part = (head: string, value: string) =>
      `--b\r\ncontent-disposition: form-data; ${head}\r\n\r\n${value}\r\n`
    const form = `${part('name="model"', model)}${part('name="file"; filename="a.wav"', 'RIFF')}--b--\r\n`
    return post('/v1/audio/transcriptions', form, 'multipart/form-data; boundary=b')
  },
  'a path': (model) =>
    post(
      `/v1beta/models/${encodeURIComponent(model)}:generateContent`,
      JSON.stringify({ contents: [{ parts: [{ text: 'hi' }] }] }),
      'application/json',
    ),
  'a session': async (model) => {
    const url = `${stack.url.replace('http', 'ws')}/v1/realtime?model=${encodeURIComponent(model)}`
    const session = new WebSocket(url, { headers: { authorization } })
    const closed = new Promise((resolve) => session.once('close', resolve))
    session.on('open', () => session.terminate())
    session.on('error', () => {})
    await closed
  },
}

test.each(
  Object.entries(DOORS),
)('no name of a model is a way around the limits of a key: %s', async (door, knock) => {
  const client = await stack.addClient(door)
  authorization = `Bearer ${client.key}`
  const order = { kind: 'budget', per: 'day', isSoft: false, amount: 1n } as const
  await setLimits(stack.pool, { clientId: client.id, keyId: null, model: null }, [order], 'test')
  const passed = async (model: string, by = knock) => {
    const before = upstream.requests.length
    await by(model)
    return upstream.requests.length - before
  }
  // The gateway has heard of the budget.
  await expect.poll(() => passed('gpt-4o-mini', inBody)).toBe(0)
  for (const model of NAMES) expect.soft([model, await passed(model)]).toEqual([model, 0])
})
