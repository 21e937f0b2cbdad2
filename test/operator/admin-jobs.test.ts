import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from '../../src/keys/clients.ts'
import { type Operator, startOperator } from './support/operator.ts'

let operator: Operator

beforeAll(async () => {
  operator = await startOperator()
})
afterAll(() => operator.close())

test('the list has the jobs that have not reported what they used, of all clients or of one', async () => {
  const client = await createClient(operator.pool, 'acme')
  const add = (id: string, clientId: string, settled: boolean) =>
    operator.pool.query(
      `insert into tallygate.objects
         (upstream, folded_id, id, kind, client_id, key_id, call_id, created_at, job, settled_at)
       values ('openai', lower($1), $1, 'batch', $2, 'key_a', gen_random_uuid(), '2026-01-02T03:04:05Z', true,
         case when $3 then now() end)`,
      [id, clientId, settled],
    )
  await add('batch_A', client?.id ?? '', false)
  await add('batch_B', 'cli_gone', false)
  await add('batch_C', 'cli_gone', true)
  const all = await operator.ask('/admin/v1/jobs')
  expect(all.status).toBe(200)
  expect(all.document).toEqual([
    {
      id: 'batch_A',
      kind: 'batch',
      upstream: 'openai',
      client: 'acme',
      key_id: 'key_a',
      model: null,
      created_at: '2026-01-02T03:04:05.000Z',
      deleted_at: null,
    },
    expect.objectContaining({ id: 'batch_B', client: 'cli_gone' }),
  ])
  expect((await operator.ask('/admin/v1/jobs?client=acme')).document).toHaveLength(1)
  expect(await operator.ask('/admin/v1/jobs?client=nobody')).toMatchObject({
    status: 404,
    document: { error: { param: 'client' } },
  })
})
