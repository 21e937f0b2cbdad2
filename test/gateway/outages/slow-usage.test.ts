import { expect, test } from 'vitest'
import { startOwnStack } from '../../support/servers/own-stack.ts'

const { stack } = await startOwnStack({ workers: false })

test('a summary that takes too long has an error of its own, apart from a store that is away', async () => {
  const { key } = await stack.addClient('acme')
  const ask = () => fetch(`${stack.url}/v1/usage?days=365`, { headers: { authorization: `Bearer ${key}` } })
  await expect.poll(async () => (await ask()).status).toBe(200)
  const blocker = await stack.pool.connect()
  try {
    await blocker.query('begin')
    await blocker.query('lock table tallygate.daily_usage in access exclusive mode')
    const answer = await ask()
    expect([answer.status, await answer.json()]).toEqual([
      504,
      {
        error: {
          type: 'service_unavailable',
          code: 'query_timeout',
          param: null,
          message: 'The answer took too long to work out. Ask for less: fewer days, or fewer groups.',
        },
      },
    ])
  } finally {
    blocker.release(true)
  }
  expect((await ask()).status).toBe(200)
})
