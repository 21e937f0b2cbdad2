import { expect, test } from 'vitest'
import { selectHeartbeats } from '../../../src/store/processes/processes-table.ts'
import { startStack } from '../../support/servers/stack.ts'

test('a gateway says of itself what doctor asks for, calls that fail included', async () => {
  const stack = await startStack('http://127.0.0.1:1', { workers: false })
  try {
    const { key } = await stack.addClient('acme')
    for (let call = 0; call < 3; call += 1)
      await fetch(`${stack.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'gpt-4o', messages: [] }),
      })
    await expect
      .poll(async () => (await selectHeartbeats(stack.pool))[0]?.report)
      .toMatchObject({
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
        configuration: expect.stringMatching(/^[0-9a-f]{16}$/),
        prices: expect.stringMatching(/^[0-9a-f]+$/),
        adminAddress: `127.0.0.1:${stack.gateway.adminAddress.port}`,
        openCalls: 0,
        journalWritable: true,
        diskFreeBytes: expect.any(Number),
        certificateEndsAtMs: null,
        shards: [`${stack.redisPrefix}calls`],
        upstreams: [{ calls: 3, failures: { connect_refused: 3 }, failedInARow: 3 }],
      })
  } finally {
    await stack.stop()
  }
})
