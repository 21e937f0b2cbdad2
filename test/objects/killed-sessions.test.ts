// @long: gateways in processes of their own, one of them killed
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { type GatewayProcess, startGatewayProcess } from '../gateway/gateway-process.ts'
import { startOwnStack } from '../support/servers/own-stack.ts'
import { json } from '../support/upstream.ts'

const { upstream, stack } = await startOwnStack()
const sockets = new WebSocketServer({ noServer: true })
const gateways: GatewayProcess[] = []
let journalDir: string

beforeAll(async () => {
  journalDir = await mkdtemp(join(tmpdir(), 'tallygate-test-killed-sessions-'))
})

afterAll(async () => {
  for (const { child } of gateways) child.kill('SIGKILL')
  await Promise.all(gateways.map(({ exited }) => exited))
  for (const socket of sockets.clients) socket.terminate()
  await rm(journalDir, { recursive: true, force: true })
})

async function startGateway(): Promise<GatewayProcess> {
  const gateway = await startGatewayProcess({ ...stack.env, JOURNAL_DIR: journalDir })
  gateways.push(gateway)
  return gateway
}

async function journalHas(text: string): Promise<boolean> {
  const entries = await readdir(journalDir, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  const contents = await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name))))
  return contents.some((bytes) => bytes.includes(text))
}

test('responses of a session stay their client’s where the gateway is killed amid it', async () => {
  const [owner, other] = [await stack.addClient('owner'), await stack.addClient('other')]
  const first = await startGateway()
  const accepted = new Promise<WebSocket>((resolve) => {
    upstream.server.once('upgrade', (request, socket, head) =>
      sockets.handleUpgrade(request, socket, head, resolve),
    )
  })
  const client = new WebSocket(`${first.url.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${owner.key}` },
  })
  const ended = once(client, 'close')
  client.on('error', () => {})
  const heard: unknown[] = []
  client.on('message', (bytes) => heard.push(JSON.parse(String(bytes))))
  const [session] = await Promise.all([accepted, once(client, 'open')])
  const asked = once(session, 'message')
  client.send(JSON.stringify({ type: 'response.create', model: 'gpt-4o-mini', input: 'hi' }))
  await asked
  const usage = { input_tokens: 10, output_tokens: 3, total_tokens: 13 }
  const response = { id: 'resp_one', model: 'gpt-4o-mini', status: 'completed', usage }
  session.send(JSON.stringify({ type: 'response.completed', response }))
  const running = { ...response, id: 'resp_two', status: 'in_progress', usage: null }
  session.send(JSON.stringify({ type: 'response.created', response: running }))
  await expect.poll(() => heard.length).toBe(2)
  await expect.poll(() => journalHas('resp_two'), { timeout: 2_000 }).toBe(true)
  first.child.kill('SIGKILL')
  await Promise.all([first.exited, ended])

  await startGateway()
  await stack.usageOf(owner, 1)
  expect(await stack.calls(owner)).toMatchObject([
    { outcome: 'interrupted', input_tokens: '10', output_tokens: '3' },
  ])
  upstream.answer((_request, answer) => json(answer, 200, response))
  const read = async (id: string, { key }: { readonly key: string }) => {
    const headers = { authorization: `Bearer ${key}` }
    return (await fetch(`${stack.url}/v1/responses/${id}`, { headers })).status
  }
  for (const id of ['resp_one', 'resp_two']) {
    await expect.poll(() => read(id, other)).toBe(404)
    expect(await read(id, owner)).toBe(200)
  }
})
