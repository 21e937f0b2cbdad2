import { findFreePort } from '../../../src/standalone/processes/free-port.ts'
import { NOT_DURABLE, type RedisNode, startNode, waitUntil } from './redis-node.ts'

/** Three masters, with a replica each. */
export interface TestCluster {
  readonly nodes: readonly RedisNode[]
  /** Of REDIS_URL, with two of the nodes. */
  readonly url: string
  /** The master that has this key now, and a replica of it. */
  ownerOf(key: string): Promise<{ readonly master: RedisNode; readonly replica: RedisNode }>
  stop(): Promise<void>
}

const MASTERS = 3
const SLOTS = 16_384
const NODE_TIMEOUT_MS = 1_500

export async function startCluster(extra: readonly string[] = []): Promise<TestCluster> {
  const nodes: { node: RedisNode; bus: number }[] = []
  for (let index = 0; index < 2 * MASTERS; index += 1) {
    const bus = await findFreePort()
    const lines = () => [
      ...NOT_DURABLE,
      'cluster-enabled yes',
      `cluster-port ${bus}`,
      `cluster-node-timeout ${NODE_TIMEOUT_MS}`,
      'cluster-replica-validity-factor 0',
      'repl-diskless-sync-delay 0',
      ...extra,
    ]
    nodes.push({ node: await startNode({ lines }), bus })
  }
  const [first] = nodes
  if (first === undefined) throw new Error('no nodes')
  for (const [index, { node, bus }] of nodes.entries()) {
    await node.ask('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)
    if (index < MASTERS) {
      const [from, to] = [index, index + 1].map((at) => Math.floor((at * SLOTS) / MASTERS))
      await node.ask('CLUSTER', 'ADDSLOTSRANGE', from ?? 0, (to ?? 0) - 1)
    }
    if (index > 0) await first.node.ask('CLUSTER', 'MEET', '127.0.0.1', node.port, bus)
  }
  const known = async () => {
    const infos = await Promise.all(nodes.map(({ node }) => node.ask('CLUSTER', 'INFO')))
    return infos.every((info) => String(info).includes(`cluster_known_nodes:${2 * MASTERS}`))
  }
  await waitUntil('all nodes know each other', known)
  for (const [index, { node }] of nodes.entries()) {
    const master = nodes[index - MASTERS]
    if (master === undefined) continue
    const id = await master.node.ask('CLUSTER', 'MYID')
    const replicates = async () => (await node.ask('CLUSTER', 'REPLICATE', String(id))) === 'OK'
    await waitUntil('a replica has its master', replicates)
  }
  const whole = async () => {
    const replicas = nodes.slice(MASTERS)
    const links = await Promise.all(replicas.map(({ node }) => node.ask('INFO', 'replication')))
    const infos = await Promise.all(nodes.map(({ node }) => node.ask('CLUSTER', 'INFO')))
    const views = await Promise.all(nodes.map(({ node }) => node.ask('CLUSTER', 'SLOTS')))
    const hasReplicas = (view: unknown) =>
      Array.isArray(view) && view.length === MASTERS && view.every((range) => range.length === 4)
    return (
      views.every(hasReplicas) &&
      links.every((link) => String(link).includes('master_link_status:up')) &&
      infos.every((info) => String(info).includes('cluster_state:ok'))
    )
  }
  await waitUntil('the cluster is whole', whole)
  const at = (port: number) => {
    const found = nodes.find(({ node }) => node.port === port)
    if (found === undefined) throw new Error(`no node has port ${port}`)
    return found.node
  }
  return {
    nodes: nodes.map(({ node }) => node),
    url: `redis-cluster://127.0.0.1:${nodes[1]?.node.port},127.0.0.1:${nodes[4]?.node.port}`,
    async ownerOf(key) {
      const slot = Number(await first.node.ask('CLUSTER', 'KEYSLOT', key))
      const ranges = (await first.node.ask('CLUSTER', 'SLOTS')) as [number, number, ...[string, number][]][]
      const range = ranges.find(([from, to]) => slot >= from && slot <= to)
      const [, , master, replica] = range ?? []
      if (master === undefined || replica === undefined) throw new Error(`${key} has no master and replica`)
      return { master: at(master[1]), replica: at(replica[1]) }
    },
    async stop() {
      await Promise.all(nodes.map(({ node }) => node.stop()))
    },
  }
}
