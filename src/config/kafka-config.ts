import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { z } from 'zod'
import { type Environment, type EnvironmentName, readVariable } from './environment.ts'
import { ConfigError, choice, integer, messageOf, readVariables } from './variables.ts'

/** Where single calls are sent beside Postgres. */
export interface KafkaConfig {
  /** At least one. */
  readonly brokers: readonly KafkaAddress[]
  readonly topic: string
  readonly tls: KafkaTls | null
  readonly sasl: KafkaLogin | null
  /** Of what waits in Postgres. */
  readonly outboxMaxBytes: number
}

interface KafkaAddress {
  readonly host: string
  readonly port: number
}

/** Text in PEM. `null`: the certificates that Node trusts, and none of our own. */
interface KafkaTls {
  readonly ca: string | null
  readonly cert: string | null
  readonly key: string | null
}

const MECHANISMS = ['SCRAM-SHA-512', 'SCRAM-SHA-256', 'PLAIN'] as const

interface KafkaLogin {
  readonly mechanism: (typeof MECHANISMS)[number]
  readonly username: string
  readonly password: string
}

const kafkaVariables = {
  CALLS_KAFKA_BROKERS: z.string().transform((text, context) => {
    const brokers = text.split(',').map((broker) => addressOf(broker.trim()))
    if (brokers.every((broker) => broker !== null)) return brokers
    context.addIssue({ code: 'custom', message: 'must be host:port, and more of them after commas' })
    return z.NEVER
  }),
  CALLS_KAFKA_TOPIC: z.string().regex(/^[A-Za-z0-9._-]{1,249}$/, {
    error: 'must be at most 249 letters, digits, dots, underscores and dashes',
  }),
  CALLS_KAFKA_TLS: choice(['true', 'false']),
  CALLS_KAFKA_MECHANISM: choice(MECHANISMS),
  CALLS_KAFKA_USERNAME: z.string().nullable(),
  CALLS_KAFKA_PASSWORD: z.string().nullable(),
  CALLS_KAFKA_OUTBOX_MAX_BYTES: integer(1, Number.MAX_SAFE_INTEGER),
} as const satisfies Partial<Record<EnvironmentName, z.ZodType>>

/**
 * `null`: CALLS_KAFKA_BROKERS is not set, and the other variables are ignored.
 *
 * @throws {ConfigError} with every problem.
 */
export function loadKafkaConfig(env: Environment): KafkaConfig | null {
  if (readVariable(env, 'CALLS_KAFKA_BROKERS') === null) return null
  const problems: string[] = []
  const values = readVariables(env, kafkaVariables, problems)
  const tls = readTls(env, problems)
  const username = readVariable(env, 'CALLS_KAFKA_USERNAME')
  const password = readVariable(env, 'CALLS_KAFKA_PASSWORD')
  if (username === null && password !== null)
    problems.push('CALLS_KAFKA_USERNAME: is not set, but its password is')
  if (username !== null && password === null)
    problems.push('CALLS_KAFKA_PASSWORD: is not set, but the user is')
  if (values === null || problems.length > 0) throw new ConfigError(problems)
  return {
    brokers: values.CALLS_KAFKA_BROKERS,
    topic: values.CALLS_KAFKA_TOPIC,
    tls,
    sasl:
      username === null || password === null
        ? null
        : { mechanism: values.CALLS_KAFKA_MECHANISM, username, password },
    outboxMaxBytes: values.CALLS_KAFKA_OUTBOX_MAX_BYTES,
  }
}

/** `broker:9092`, `[::1]:9092`. */
function addressOf(text: string): KafkaAddress | null {
  const match = /^(?:([A-Za-z0-9._-]+)|\[([0-9A-Fa-f:.]+)\]):(\d{1,5})$/.exec(text)
  const host = match?.[1] ?? match?.[2]
  const port = Number(match?.[3])
  return host !== undefined && port >= 1 && port <= 65_535 ? { host, port } : null
}

const FILES = ['CALLS_KAFKA_CA_FILE', 'CALLS_KAFKA_CERT_FILE', 'CALLS_KAFKA_KEY_FILE'] as const

function readTls(env: Environment, problems: string[]): KafkaTls | null {
  if (readVariable(env, 'CALLS_KAFKA_TLS') !== 'true') {
    for (const name of FILES) {
      if (readVariable(env, name) !== null) problems.push(`${name}: is set, but CALLS_KAFKA_TLS is not true`)
    }
    return null
  }
  const before = problems.length
  const [ca, cert, key] = FILES.map((name) => readText(name, env, problems))
  const tls = { ca: ca ?? null, cert: cert ?? null, key: key ?? null }
  if (problems.length > before) return null
  if ((tls.cert === null) !== (tls.key === null)) {
    const missing = tls.cert === null ? 'CALLS_KAFKA_CERT_FILE' : 'CALLS_KAFKA_KEY_FILE'
    problems.push(`${missing}: is not set, but the other half of the certificate is`)
    return null
  }
  try {
    createSecureContext({ ca: tls.ca ?? undefined, cert: tls.cert ?? undefined, key: tls.key ?? undefined })
  } catch (error) {
    problems.push(`CALLS_KAFKA_TLS: the files are not certificates and a key in PEM: ${messageOf(error)}`)
  }
  return tls
}

function readText(name: (typeof FILES)[number], env: Environment, problems: string[]): string | null {
  const file = readVariable(env, name)
  if (file === null) return null
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    problems.push(`${name}: cannot read ${file}: ${messageOf(error)}`)
    return null
  }
}
