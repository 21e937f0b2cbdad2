import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { streamName } from '../../src/domain/redis/redis-names.ts'
import { startCluster, type TestCluster } from './support/cluster.ts'
import { type Deployment, PREFIX, startDeployment } from './support/deployment.ts'
import { MASTER, startSentinels, type TestSentinels } from './support/sentinels.ts'

let cluster: TestCluster
let sentinels: TestSentinels

beforeAll(async () => {
  ;[cluster, sentinels] = [await startCluster(), await startSentinels()]
})
afterAll(async () => {
  await cluster?.stop()
  await sentinels?.stop()
})

/** What `doctor` says of Redis. */
async function doctorOf({ env }: Deployment): Promise<{ readonly detail: string; readonly mend: string }> {
  const arguments_ = ['src/cli/main.ts', '--json', 'doctor']
  const { stdout } = await promisify(execFile)(process.execPath, arguments_, {
    env: { ...process.env, ...env },
  }).catch((failed: { stdout: string }) => failed)
  return JSON.parse(stdout).checks.find(({ name }: { name: string }) => name === 'redis')
}

/** A deployment on this URL says what is wrong with it, takes calls, and counts none. */
async function expectFound(url: string, detail: string, mend: string): Promise<void> {
  const deployment = await startDeployment(url)
  try {
    const degraded = async () => {
      const answer = await fetch(`${deployment.url}/readyz`)
      return ((await answer.json()) as { readonly degraded: readonly string[] }).degraded
    }
    await expect.poll(degraded, { timeout: 20_000 }).toContain('redis')
    await deployment.call(3)
    expect(await doctorOf(deployment)).toMatchObject({
      detail: expect.stringContaining(detail),
      mend: expect.stringContaining(mend),
    })
  } finally {
    await deployment.stop()
  }
}

test('a node of a cluster that is named as a server is found', async () => {
  const { replica } = await cluster.ownerOf(streamName(PREFIX, 0))
  await expectFound(`redis://127.0.0.1:${replica.port}`, 'names one node of a cluster', 'redis-cluster://')
})

test('a Sentinel that is named as a server is found', async () => {
  const [sentinel] = sentinels.sentinels
  await expectFound(`redis://127.0.0.1:${sentinel?.port}`, 'names a Sentinel', 'redis-sentinel://')
})

test('a replica that is named as a server is found', async () => {
  const master = await sentinels.master()
  const replica = sentinels.servers.find((server) => server !== master)
  const login = /\/\/(.*)@/.exec(sentinels.url)?.[1]
  await expectFound(`redis://${login}@127.0.0.1:${replica?.port}`, 'names a replica', 'name the master')
})

test('a name of a master that the Sentinels do not know is found', async () => {
  await expectFound(
    sentinels.url.replace(`#${MASTER}`, '#other'),
    'a master that the Sentinels',
    'SENTINEL MASTERS',
  )
})
