import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type KafkaConfig, loadKafkaConfig } from '../../src/config/config.ts'
import { kafkaProblemOf, openKafka } from '../../workers/kafka/kafka-broker.ts'
import { KAFKA_USER, type KafkaBroker, startKafka } from './support/broker.ts'

let kafka: KafkaBroker
beforeAll(async () => {
  kafka = await startKafka()
})
afterAll(() => kafka?.stop())

function configOf(env: Readonly<Record<string, string>>): KafkaConfig {
  const config = loadKafkaConfig({ CALLS_KAFKA_BROKERS: kafka.address, ...env })
  if (config === null) throw new Error('no configuration')
  return config
}

const secure = (env: Readonly<Record<string, string>> = {}) =>
  configOf({
    CALLS_KAFKA_BROKERS: kafka.secureAddress,
    CALLS_KAFKA_TOPIC: 'secure',
    CALLS_KAFKA_TLS: 'true',
    CALLS_KAFKA_CA_FILE: 'test/fixtures/tls/cert.pem',
    CALLS_KAFKA_USERNAME: KAFKA_USER.username,
    CALLS_KAFKA_PASSWORD: KAFKA_USER.password,
    ...env,
  })

/** Why nothing can be sent; '': it can. */
async function problemWith(config: KafkaConfig): Promise<string> {
  const broker = await openKafka(config)
  try {
    await broker.check()
    await broker.send([{ key: 'k', event: '{}' }])
    return ''
  } catch (error) {
    return kafkaProblemOf(error)
  } finally {
    await broker.close()
  }
}

test('by TLS and SCRAM events arrive', async () => {
  await kafka.createTopic('secure', 1)
  await expect.poll(() => problemWith(secure()), { timeout: 30_000 }).toBe('')
  expect((await kafka.read('secure')).at(-1)).toMatchObject({ key: 'k', value: '{}' })
})

test.each<[string, () => KafkaConfig, RegExp]>([
  ['a topic that is not there', () => configOf({ CALLS_KAFKA_TOPIC: 'nowhere' }), /Unknown topic nowhere/],
  ['a broker that is not there', () => configOf({ CALLS_KAFKA_BROKERS: '127.0.0.1:1' }), /ECONNREFUSED/],
  [
    'a wrong password',
    () => secure({ CALLS_KAFKA_PASSWORD: 'wrong' }),
    /SASL_AUTHENTICATION_FAILED|authentication/i,
  ],
  ['a mechanism that the broker lacks', () => secure({ CALLS_KAFKA_MECHANISM: 'PLAIN' }), /SASL/],
  ['an authority that is unknown', () => secure({ CALLS_KAFKA_CA_FILE: '' }), /certificate/i],
  [
    'TLS where there is none',
    () => configOf({ CALLS_KAFKA_TLS: 'true', CALLS_KAFKA_CA_FILE: 'test/fixtures/tls/cert.pem' }),
    /TLS|SSL|timed out|closed|reset/i,
  ],
])('%s is reported in one line', async (_case, config, problem) => {
  const reported = await problemWith(config())
  expect(reported).toMatch(problem)
  expect(reported).not.toContain('\n')
  expect(reported).not.toContain(KAFKA_USER.password)
})

test('a topic that takes small batches only gets them in halves, in order', async () => {
  await kafka.createTopic('small', 1, { 'max.message.bytes': '2000' })
  const broker = await openKafka(configOf({ CALLS_KAFKA_TOPIC: 'small' }))
  const text = readFileSync('README.md', 'utf8')
  const events = Array.from({ length: 200 }, (_, index) => ({
    key: 'k',
    event: JSON.stringify({ index, text: text.slice(index * 40, index * 40 + 400) }),
  }))
  await expect.poll(() => broker.check().then(() => true, kafkaProblemOf), { timeout: 30_000 }).toBe(true)
  await broker.send(events)
  await broker.close()
  expect((await kafka.read('small')).map(({ value }) => value)).toEqual(events.map(({ event }) => event))
})
