import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ConfigError, type Environment, loadKafkaConfig } from '../../src/config/config.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tallygate-config-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const CERT = 'test/fixtures/tls/cert.pem'
const KEY = 'test/fixtures/tls/key.pem'

function problemsOf(env: Environment): readonly string[] {
  try {
    loadKafkaConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

test('without brokers nothing goes to Kafka, whatever else is set', () => {
  expect(loadKafkaConfig({})).toBeNull()
  expect(
    loadKafkaConfig({ CALLS_KAFKA_BROKERS: '', CALLS_KAFKA_TLS: 'what', CALLS_KAFKA_USERNAME: 'x' }),
  ).toBeNull()
})

test('a broker is enough', () => {
  expect(loadKafkaConfig({ CALLS_KAFKA_BROKERS: 'kafka:9092, kafka-2.example.com:9093,[::1]:1' })).toEqual({
    brokers: [
      { host: 'kafka', port: 9092 },
      { host: 'kafka-2.example.com', port: 9093 },
      { host: '::1', port: 1 },
    ],
    topic: 'tallygate.calls',
    tls: null,
    sasl: null,
    outboxMaxBytes: 4_294_967_296,
  })
})

test('TLS, certificates and SASL are read, each with its files', () => {
  const config = loadKafkaConfig({
    CALLS_KAFKA_BROKERS: 'kafka:9093',
    CALLS_KAFKA_TOPIC: 'billing.calls_1',
    CALLS_KAFKA_TLS: 'true',
    CALLS_KAFKA_CA_FILE: CERT,
    CALLS_KAFKA_CERT_FILE: CERT,
    CALLS_KAFKA_KEY_FILE: KEY,
    CALLS_KAFKA_MECHANISM: 'PLAIN',
    CALLS_KAFKA_USERNAME: 'tallygate',
    CALLS_KAFKA_PASSWORD: 'p w',
    CALLS_KAFKA_OUTBOX_MAX_BYTES: '1000',
  })
  expect(config).toMatchObject({
    topic: 'billing.calls_1',
    sasl: { mechanism: 'PLAIN', username: 'tallygate', password: 'p w' },
    outboxMaxBytes: 1000,
  })
  expect(config?.tls?.ca).toContain('BEGIN CERTIFICATE')
  expect(config?.tls?.key).toContain('PRIVATE KEY')
  expect(loadKafkaConfig({ CALLS_KAFKA_BROKERS: 'k:1', CALLS_KAFKA_TLS: 'true' })?.tls).toEqual({
    ca: null,
    cert: null,
    key: null,
  })
})

test('every problem is reported at once, and no password is shown', () => {
  const problems = problemsOf({
    CALLS_KAFKA_BROKERS: 'kafka',
    CALLS_KAFKA_TOPIC: 'my topic',
    CALLS_KAFKA_TLS: 'yes',
    CALLS_KAFKA_CA_FILE: CERT,
    CALLS_KAFKA_MECHANISM: 'GSSAPI',
    CALLS_KAFKA_PASSWORD: 'secret',
    CALLS_KAFKA_OUTBOX_MAX_BYTES: '1GiB',
  })
  expect(problems.map((problem) => problem.split(':')[0]).sort()).toEqual([
    'CALLS_KAFKA_BROKERS',
    'CALLS_KAFKA_CA_FILE',
    'CALLS_KAFKA_MECHANISM',
    'CALLS_KAFKA_OUTBOX_MAX_BYTES',
    'CALLS_KAFKA_TLS',
    'CALLS_KAFKA_TOPIC',
    'CALLS_KAFKA_USERNAME',
  ])
  expect(problems.join()).not.toContain('secret')
})

test.each([
  'kafka:0',
  'kafka:65536',
  'kafka:9092,',
  'kafka:9092;k:1',
  '::1:9092',
  'kafka://k:1',
])('%s is not a list of brokers', (brokers) => {
  expect(problemsOf({ CALLS_KAFKA_BROKERS: brokers })).toEqual([
    'CALLS_KAFKA_BROKERS: must be host:port, and more of them after commas',
  ])
})

test('half a certificate, files that are not there, and files that are none are refused by name', () => {
  const none = join(folder, 'none.pem')
  writeFileSync(none, 'not a certificate')
  const on = { CALLS_KAFKA_BROKERS: 'kafka:9093', CALLS_KAFKA_TLS: 'true' }
  expect(problemsOf({ ...on, CALLS_KAFKA_CERT_FILE: CERT })).toEqual([
    'CALLS_KAFKA_KEY_FILE: is not set, but the other half of the certificate is',
  ])
  expect(problemsOf({ ...on, CALLS_KAFKA_CA_FILE: '/nowhere.pem' })).toEqual([
    'CALLS_KAFKA_CA_FILE: cannot read /nowhere.pem: ENOENT',
  ])
  expect(problemsOf({ ...on, CALLS_KAFKA_CERT_FILE: none, CALLS_KAFKA_KEY_FILE: KEY })).toEqual([
    expect.stringContaining('CALLS_KAFKA_TLS: the files are not certificates and a key in PEM'),
  ])
  expect(problemsOf({ CALLS_KAFKA_BROKERS: 'k:1', CALLS_KAFKA_USERNAME: 'me' })).toEqual([
    'CALLS_KAFKA_PASSWORD: is not set, but the user is',
  ])
})
