import { expect, test } from 'vitest'
import { z } from 'zod'
import { json, run } from '../../cli/command-line.ts'
import { startOwnStack } from '../../support/servers/own-stack.ts'

const { stack } = await startOwnStack()

test('calls whose answers all have one id are each counted, and found by it', async () => {
  const client = await stack.addClient('c1')
  for (const stream of [false, true, false]) {
    const answer = await fetch(`${stack.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [], stream }),
    })
    await answer.text()
  }
  expect(await stack.usageOf(client, 3)).toMatchObject({ input_tokens: 33, output_tokens: 21 })
  const ids = async () => (await stack.calls(client)).map((call) => call.response_id)
  await expect.poll(ids).toEqual(['chatcmpl-1', 'chatcmpl-1', 'chatcmpl-1'])

  const env = { DATABASE_URL: stack.env.DATABASE_URL }
  const found = z
    .array(z.looseObject({ call_id: z.string() }))
    .parse(await json(env, 'calls', 'find', 'chatcmpl-1'))
  expect(found).toHaveLength(3)
  const [first] = found
  expect(first).toMatchObject({ client: 'c1', response_id: 'chatcmpl-1', input_tokens: 11, output_tokens: 7 })
  expect(await json(env, 'calls', 'find', first?.call_id ?? '')).toEqual([first])
  const { code, err } = await run(env, 'calls', 'find', "x' or true --")
  expect([code, err]).toEqual([1, "tallygate: no call that is kept has the id x' or true --\n"])
})
