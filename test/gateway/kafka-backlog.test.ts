import { afterAll, beforeAll, expect, test } from 'vitest'
import { watchKafkaBacklog } from '../../src/gateway/health/kafka-backlog.ts'
import { clearOutboxProblem, holdOutbox, leaveOutbox } from '../../src/usage/outbox/outbox-state.ts'
import { startStack, type TestStack } from '../support/servers/stack.ts'

let stack: TestStack
beforeAll(async () => {
  stack = await startStack('http://127.0.0.1:9', { workers: false })
})
afterAll(() => stack.stop())

test('a gateway says in `degraded` how Kafka is only while a worker cannot send to it or is late', async () => {
  const watch = watchKafkaBacklog(stack.pool, 20)
  const behind = (value: boolean) => expect.poll(() => watch.isBehind()).toBe(value)
  try {
    await behind(false)
    await holdOutbox(stack.pool, 'a worker')
    await leaveOutbox(stack.pool, 'a worker', 'no broker')
    await behind(true)
    await clearOutboxProblem(stack.pool)
    await behind(false)
    await stack.pool.query(`update tallygate.call_outbox_state set oldest_at = now() - interval '2 minutes'`)
    await behind(true)
    await stack.pool.query(`update tallygate.call_outbox_state set oldest_at = now() - interval '2 seconds'`)
    await behind(false)
    // Not in use any more: what went wrong at last does not matter.
    await leaveOutbox(stack.pool, 'a worker', 'no broker')
    await behind(true)
    await stack.pool.query(`update tallygate.call_outbox_state set held_until = now() - interval '1 hour'`)
    await behind(false)
  } finally {
    await watch.stop()
  }
})

test('calls are taken and answered as before while Kafka is behind', async () => {
  await stack.pool.query(
    `update tallygate.call_outbox_state set problem = 'no broker', held_until = now() + interval '1 hour'`,
  )
  await expect
    .poll(async () => await (await fetch(`${stack.url}/readyz`)).json(), { interval: 200 })
    .toEqual({ status: 'ready', degraded: ['kafka'] })
})
