import { NOT_DURABLE, type RedisNode, startNode, waitUntil } from './redis-node.ts'

/** A master, its replica, and three Sentinels that watch them. */
export interface TestSentinels {
  readonly servers: readonly RedisNode[]
  readonly sentinels: readonly RedisNode[]
  /** Of REDIS_URL. */
  readonly url: string
  /** The master, by what the first Sentinel that answers says. */
  master(): Promise<RedisNode>
  stop(): Promise<void>
}

export const MASTER = 'main'
const QUORUM = 2
const PASSWORD = 'of-the-servers'

export async function startSentinels(): Promise<TestSentinels> {
  const login = [`requirepass ${PASSWORD}`, `masterauth ${PASSWORD}`]
  const server = [...NOT_DURABLE, ...login, 'repl-diskless-sync-delay 0']
  const connectTo = (port: number) => ({ host: '127.0.0.1', port, password: PASSWORD })
  const first = await startNode({ lines: () => server, connectTo })
  const second = await startNode({
    lines: () => [...server, `replicaof 127.0.0.1 ${first.port}`],
    connectTo,
  })
  const inSync = async () => String(await second.ask('INFO', 'replication')).includes('master_link_status:up')
  await waitUntil('the replica has its master', inSync)
  const sentinels: RedisNode[] = []
  for (let index = 0; index < 3; index += 1) {
    const lines = () => [
      `sentinel monitor ${MASTER} 127.0.0.1 ${first.port} ${QUORUM}`,
      `sentinel auth-pass ${MASTER} ${PASSWORD}`,
      `sentinel down-after-milliseconds ${MASTER} 1000`,
      `sentinel failover-timeout ${MASTER} 5000`,
    ]
    sentinels.push(await startNode({ sentinel: true, lines }))
  }
  const agreed = async () => {
    const said = await Promise.all(sentinels.map((sentinel) => sentinel.ask('SENTINEL', 'CKQUORUM', MASTER)))
    const known = await Promise.all(
      sentinels.map(async (sentinel) => {
        const replicas = await sentinel.ask('SENTINEL', 'REPLICAS', MASTER)
        return Array.isArray(replicas) && replicas.length === 1
      }),
    )
    return said.every((line) => String(line).startsWith('OK 3')) && known.every(Boolean)
  }
  await waitUntil('the Sentinels agree', agreed)
  const servers = [first, second]
  return {
    servers,
    sentinels,
    url: `redis-sentinel://:${PASSWORD}@${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/0#${MASTER}`,
    async master() {
      for (const sentinel of sentinels) {
        const said = await sentinel.ask('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER).catch(() => null)
        const found = servers.find(({ port }) => Array.isArray(said) && said[1] === `${port}`)
        if (found !== undefined) return found
      }
      throw new Error('no Sentinel knows the master')
    },
    async stop() {
      await Promise.all([...sentinels, ...servers].map((node) => node.stop()))
    },
  }
}
