import { expect, test } from 'vitest'
import { checkKafkaClient } from '../../../workers/kafka/kafka-broker.ts'
import { loadedModules } from '../../support/loaded-modules.ts'

test('a worker that is to send calls to Kafka names the package that it lacks', () => {
  const find = () => {
    throw new Error('ERR_MODULE_NOT_FOUND')
  }
  expect(() => checkKafkaClient(find)).toThrow(
    'CALLS_KAFKA_BROKERS needs a package that is not installed: npm install @platformatic/kafka',
  )
  expect(() => checkKafkaClient()).not.toThrow()
})

test('a worker loads the client of Kafka only to send', async () => {
  const { packages } = await loadedModules('workers/main.ts', [], { CALLS_KAFKA_BROKERS: 'kafka:9092' })
  expect([...packages]).toContain('bullmq')
  expect([...packages]).not.toContain('@platformatic/kafka')
})
