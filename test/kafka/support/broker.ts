import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Admin } from '@platformatic/kafka'
import { inject } from 'vitest'
import { until } from '../../../src/lib/repeat.ts'
import { type DetachedProcess, startDetached } from '../../../src/standalone/processes/detached-process.ts'
import { findFreePort } from '../../../src/standalone/processes/free-port.ts'
import { stopWithMe } from '../../../src/standalone/stand/stop-with-me.ts'

const run = promisify(execFile)
const READER = fileURLToPath(new URL('./Read.java', import.meta.url))

/** Apache Kafka in KRaft mode, one process. It dies with the process that started it, and its data with it. */
export interface KafkaBroker {
  /** Without TLS or SASL. */
  readonly address: string
  /** With TLS and SCRAM-SHA-512. */
  readonly secureAddress: string
  createTopic(topic: string, partitions: number, settings?: Readonly<Record<string, string>>): Promise<void>
  /** All that the topic holds, as Java's client reads it. */
  read(topic: string): Promise<readonly KafkaRecord[]>
  /** kill -9, and waits until it is gone. */
  kill(): Promise<void>
  /** Starts it again on its ports and data. */
  start(): Promise<void>
  stop(): Promise<void>
}

export interface KafkaRecord {
  readonly partition: number
  /** Where Java's producer puts this key. */
  readonly usualPartition: number
  readonly key: string
  readonly contentType: string
  readonly value: string
}

export const KAFKA_USER = { username: 'tallygate', password: 'a-secret-of-the-tests' }

export async function startKafka(): Promise<KafkaBroker> {
  const jars = join(inject('kafkaJars'), '*')
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-test-kafka-'))
  const end = stopWithMe(folder)
  const [plain, secure, controller] = [await findFreePort(), await findFreePort(), await findFreePort()]
  const settings = join(folder, 'server.properties')
  writeFileSync(settings, settingsOf(folder, plain, secure, controller))
  const user = `SCRAM-SHA-512=[name=${KAFKA_USER.username},password=${KAFKA_USER.password}]`
  const id = randomBytes(16).toString('base64url').replace(/^-/, 'x')
  const format = ['kafka.tools.StorageTool', 'format', '-t', id, '-c', settings, '--add-scram', user]
  await run('java', ['-cp', jars, ...format])

  const address = `127.0.0.1:${plain}`
  let server: DetachedProcess
  async function start(): Promise<void> {
    const args = ['-Xmx384m', '-XX:TieredStopAtLevel=1', '-cp', jars, 'kafka.Kafka', settings]
    server = await startDetached({ file: 'java', args }, { cwd: folder, logFile: join(folder, 'kafka.log') })
    end.add(server.pid)
    server.release()
    const answered = await until(async () => (await answers(address)) || (server.running ? null : 'ended'), {
      timeoutMs: 120_000,
    })
    if (answered !== true) throw new Error(`Kafka did not start:\n${server.lastWords(20)}`)
  }
  await start()
  return {
    address,
    secureAddress: `127.0.0.1:${secure}`,
    async createTopic(topic, partitions, configs = {}) {
      const admin = new Admin({ clientId: 'test', bootstrapBrokers: [address] })
      try {
        await admin.createTopics({
          topics: [topic],
          partitions,
          replicas: 1,
          configs: Object.entries(configs).map(([name, value]) => ({ name, value })),
        })
      } finally {
        await admin.close()
      }
    },
    async read(topic) {
      const { stdout } = await run('java', ['-cp', jars, READER, address, topic], { maxBuffer: 2 ** 30 })
      return stdout.split('\n').slice(0, -1).map(recordOf)
    },
    async kill() {
      process.kill(server.pid, 'SIGKILL')
      await server.ended
    },
    start,
    stop: () => end.now(),
  }
}

function recordOf(line: string): KafkaRecord {
  const [partition = '', usual = '', key = '', contentType = '', ...value] = line.split('\t')
  return {
    partition: Number(partition),
    usualPartition: Number(usual),
    key,
    contentType,
    value: value.join('\t'),
  }
}

async function answers(address: string): Promise<boolean> {
  const admin = new Admin({
    clientId: 'test',
    bootstrapBrokers: [address],
    retries: 0,
    connectTimeout: 1_000,
    requestTimeout: 5_000,
  })
  try {
    await admin.metadata({ topics: [] })
    return true
  } catch {
    return false
  } finally {
    await admin.close().catch(() => {})
  }
}

function settingsOf(folder: string, plain: number, secure: number, controller: number): string {
  const keyStore = join(folder, 'server.pem')
  writeFileSync(
    keyStore,
    readFileSync('test/fixtures/tls/key.pem', 'utf8') + readFileSync('test/fixtures/tls/cert.pem', 'utf8'),
  )
  const settings = {
    'process.roles': 'broker,controller',
    'node.id': '1',
    'controller.quorum.voters': `1@127.0.0.1:${controller}`,
    listeners: `PLAIN://127.0.0.1:${plain},SECURE://127.0.0.1:${secure},CONTROLLER://127.0.0.1:${controller}`,
    'advertised.listeners': `PLAIN://127.0.0.1:${plain},SECURE://localhost:${secure}`,
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAIN:PLAINTEXT,SECURE:SASL_SSL',
    'inter.broker.listener.name': 'PLAIN',
    'controller.listener.names': 'CONTROLLER',
    'sasl.enabled.mechanisms': 'SCRAM-SHA-512',
    'listener.name.secure.scram-sha-512.sasl.jaas.config':
      'org.apache.kafka.common.security.scram.ScramLoginModule required;',
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': keyStore,
    'log.dirs': join(folder, 'data'),
    'auto.create.topics.enable': 'false',
    'offsets.topic.replication.factor': '1',
    'transaction.state.log.replication.factor': '1',
    'group.initial.rebalance.delay.ms': '0',
  }
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}
