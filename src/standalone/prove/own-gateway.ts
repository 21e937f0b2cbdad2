import { renameSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Postgres } from '../../store/connection/postgres.ts'
import type { Dialogue } from '../servers/redis-program.ts'
import { startOwnProcess } from '../stand/own-process.ts'
import { type Stand, startStand } from '../stand/stand.ts'
import { CLIENTS, callNumberOf, planCall } from './planned-calls.ts'
import type { Proven } from './proven.ts'

/** PostgreSQL, Redis, a gateway and a worker as in production, with a stand-in for the provider. */
export async function startOwnGateway(dialogue: Dialogue): Promise<Proven> {
  dialogue.say('starting PostgreSQL, Redis, a gateway and a worker')
  const stand = await startStand({ name: 'prove', statementTimeoutMs: 30_000, dialogue })
  try {
    return await startOn(stand)
  } catch (error) {
    await stand.stop() // else what runs would keep this process
    throw error
  }
}

async function startOn(stand: Stand): Promise<Proven> {
  const { folder, pool, postgres, redis } = stand
  const standInFile = join(folder, 'stand-in.ledger')
  const standIn = await startOwnProcess('src/standalone/prove/stand-in.ts', {}, [standInFile])
  const config = join(folder, 'tallygate.yaml')
  const url = `http://127.0.0.1:${standIn.port}`
  await writeFile(
    config,
    `upstreams:
  - { name: openai, url: '${url}', provider: openai, path_prefix: /openai }
  - { name: anthropic, url: '${url}', provider: anthropic, path_prefix: /anthropic }
`,
  )
  const env = { TALLYGATE_CONFIG: config }
  const keys: string[] = []
  for (const client of CLIENTS) keys.push((await stand.addClient(client)).key)
  const gateway = await stand.gateway({ name: 'gateway', env })
  const worker = stand.worker({ name: 'worker', env })
  await Promise.all([gateway.start(), worker.start()])
  return {
    name: 'tallygate',
    targets: [gateway],
    keys,
    plan: planCall,
    parts: [
      gateway,
      worker,
      { name: 'redis', kill: redis.kill, start: redis.start },
      { name: 'postgres', kill: postgres.kill, start: postgres.start },
    ],
    standInFile,
    tolerance: 0,
    readBooks: () => selectCalls(pool),
    async contradictions() {
      return [...(await selectWrongTotals(pool)), ...gateway.unbidden, ...worker.unbidden]
    },
    keepLogs() {
      const kept = `${folder}-failed`
      renameSync(folder, kept)
      return kept
    },
    async stop() {
      await stand.stop()
      standIn.child.disconnect()
    },
  }
}

async function selectCalls(pool: Postgres) {
  const { rows } = await pool.query<Record<'path' | 'input' | 'output' | 'cost', string | null>>(
    `select path, input_tokens as input, output_tokens as output, cost_pico as cost
     from tallygate.calls where told_by is null`,
  )
  return rows.map(({ path, input, output, cost }) => ({
    number: callNumberOf(path ?? ''),
    input: input === null ? null : Number(input),
    output: output === null ? null : Number(output),
    costPico: cost === null ? null : BigInt(cost),
  }))
}

/** Clients see the totals: they have to be the sums of the calls. */
async function selectWrongTotals(pool: Postgres): Promise<readonly string[]> {
  const { rows } = await pool.query<Record<'calls' | 'total' | 'cost' | 'total_cost', string>>(
    `select * from
       (select count(*) as calls, coalesce(sum(cost_pico), 0) as cost from tallygate.calls where told_by is null) c,
       (select coalesce(sum(requests), 0) as total, coalesce(sum(cost_pico), 0) as total_cost from tallygate.daily_usage) t`,
  )
  return rows.flatMap(({ calls, total, cost, total_cost: totalCost }) =>
    calls === total && cost === totalCost
      ? []
      : [`totals of ${total} calls and ${totalCost} pico-USD for ${calls} calls and ${cost} pico-USD`],
  )
}
