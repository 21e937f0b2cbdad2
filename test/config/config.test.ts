import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  ConfigError,
  ENVIRONMENT,
  type Environment,
  loadGatewayConfig,
  loadMetricsExport,
  loadWorkerConfig,
} from '../../src/config/config.ts'
import { NO_PATHS } from '../../src/config/yaml/config-file.ts'
import { NO_PATH_RULES } from '../../src/domain/path-patterns.ts'

const SERVERS = {
  REDIS_URL: 'redis://127.0.0.1:6379',
  DATABASE_URL: 'postgres://127.0.0.1/tallygate',
  KEY_PEPPER: 'pepper',
}
const MINIMAL = { ...SERVERS, UPSTREAM_URL: 'http://127.0.0.1:8000' }

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tallygate-config-'))
})

afterAll(() => rmSync(folder, { recursive: true }))

function problemsOf(env: Environment, load: (env: Environment) => unknown = loadGatewayConfig) {
  try {
    load(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

/** The environment with a YAML file of these lines; `problems` begin with its name. */
function withFile(...lines: string[]): Environment {
  const file = join(folder, 'config.yaml')
  writeFileSync(file, lines.join('\n'))
  return { ...SERVERS, TALLYGATE_CONFIG: file }
}

function fileProblems(...lines: string[]): readonly string[] {
  return problemsOf(withFile(...lines)).map((problem) => problem.replace(`${folder}/`, ''))
}

test('what is required is enough, and everything else has the default of the contract', () => {
  expect(loadGatewayConfig(MINIMAL)).toEqual({
    host: '0.0.0.0',
    port: 8080,
    basePath: '',
    publicUrl: null,
    corsOrigins: null,
    tls: null,
    upstreams: [
      {
        name: 'default',
        origin: 'http://127.0.0.1:8000',
        basePath: '',
        provider: 'openai-compatible',
        apiKey: null,
        credentials: null,
        takesClients: false,
        models: null,
        pathPrefix: null,
        modelsPath: '/v1/models',
        includeUsage: 'auto',
        keepAlive: true,
        trustReportedCost: false,
        pricesOf: null,
        place: null,
        paths: NO_PATH_RULES,
        objects: 'owned',
      },
    ],
    defaultUpstream: 'default',
    isDefaultWritten: false,
    models: null,
    paths: NO_PATHS,
    priceOverrides: [],
    priceMarkups: [],
    priceSettings: { prices: [], markups: [], upstreams: ['default'] },
    redisUrl: SERVERS.REDIS_URL,
    databaseUrl: SERVERS.DATABASE_URL,
    databaseReadUrl: null,
    redisPrefix: 'tallygate:',
    journalDir: '.tallygate/journal',
    journalMaxBytes: 2 ** 30,
    adminHost: '127.0.0.1',
    adminPort: 8081,
    adminToken: null,
    portalPort: null,
    portalEmbedOrigins: [],
    metricsClients: 0,
    keyNetworks: 'peer',
    tracing: null,
    metricsExport: null,
    onClientAbort: 'cancel',
    journalKeepSeconds: 300,
    onJournalFull: 'refuse',
    gatewayProcesses: 1,
    dataDir: '.tallygate',
    keyPepper: ['pepper'],
    callRetentionDays: 35,
    axisValuesPerDay: 2000,
    streamShards: 1,
    upstreamHeadersTimeoutMs: 600_000,
    upstreamIdleTimeoutMs: 300_000,
    bodyLimitBytes: 104_857_600,
    keyGraceSeconds: 3_600,
    callAlertUsd: 1_000,
    shutdownGraceMs: 30_000,
    logLevel: 'info',
  })
})

test('an empty variable counts as unset', () => {
  const empty = Object.fromEntries(ENVIRONMENT.map(({ name }) => [name, '']))
  expect(loadGatewayConfig({ ...empty, ...MINIMAL })).toEqual(loadGatewayConfig(MINIMAL))
})

test('every variable but those that npm start alone reads changes the gateway’s configuration', () => {
  const changed: Record<string, string> = {
    HOST: '::1',
    PORT: '9000',
    BASE_PATH: '/llm/',
    PUBLIC_URL: 'https://llm.example.com/llm/',
    CORS_ORIGINS: 'https://app.example.com, http://localhost:3000',
    UPSTREAM_URL: 'https://api.anthropic.com/v1',
    UPSTREAM_API_KEY: 'sk-1',
    UPSTREAM_PROVIDER: 'bedrock',
    REDIS_URL: 'rediss://example.com',
    DATABASE_URL: 'postgresql:///db?host=/run/pg',
    DATABASE_READ_URL: 'postgresql:///db?host=/run/replica',
    REDIS_PREFIX: 'x:',
    JOURNAL_DIR: '/journal',
    JOURNAL_MAX_BYTES: '1000',
    JOURNAL_KEEP_SECONDS: '90000',
    ON_JOURNAL_FULL: 'unmetered',
    ADMIN_HOST: '0.0.0.0',
    ADMIN_PORT: '0',
    ADMIN_TOKEN: 'secret',
    PORTAL_PORT: '8082',
    PORTAL_EMBED_ORIGINS: 'https://app.example.com',
    METRICS_CLIENTS: '20',
    KEY_NETWORKS: 'off',
    ON_CLIENT_ABORT: 'drain',
    GATEWAY_PROCESSES: '4',
    TALLYGATE_DATA_DIR: '/data',
    KEY_PEPPER: 'new, old',
    CALL_RETENTION_DAYS: '0',
    AXIS_VALUES_PER_DAY: '5',
    STREAM_SHARDS: '8',
    UPSTREAM_HEADERS_TIMEOUT_MS: '1',
    UPSTREAM_IDLE_TIMEOUT_MS: '2',
    BODY_LIMIT_BYTES: '3',
    KEY_GRACE_SECONDS: '0',
    CALL_ALERT_USD: '50',
    SHUTDOWN_GRACE_MS: '0',
    LOG_LEVEL: 'debug',
  }
  const files = ['TLS_CERT_FILE', 'TLS_KEY_FILE', 'TALLYGATE_CONFIG']
  // In place of UPSTREAM_API_KEY.
  const instead = ['UPSTREAM_CREDENTIALS']
  const ofWorkers = [
    'WORKER_HOST',
    'WORKER_PORT',
    'FETCH_JOBS',
    'PRICES_REFRESH',
    'PRICES_URL',
    'PRICES_MODELS_DEV_URL',
    'PRICES_LITELLM_URL',
    'PRICES_AZURE_URL',
  ]
  const ofKafka = ENVIRONMENT.map(({ name }) => name).filter((name) => name.startsWith('CALLS_KAFKA_'))
  const ofTraces = ENVIRONMENT.map(({ name }) => name).filter((name) => name.startsWith('OTEL_'))
  const apart = [...files, ...instead, ...ofWorkers, ...ofKafka, ...ofTraces]
  expect([...Object.keys(changed), ...apart].sort()).toEqual(ENVIRONMENT.map(({ name }) => name).sort())
  const before = JSON.stringify(loadGatewayConfig(MINIMAL))
  for (const [name, value] of Object.entries(changed)) {
    expect(JSON.stringify(loadGatewayConfig({ ...MINIMAL, [name]: value })), name).not.toBe(before)
  }
  expect(loadGatewayConfig({ ...MINIMAL, ...changed })).toMatchObject({
    basePath: '/llm',
    publicUrl: 'https://llm.example.com/llm',
    corsOrigins: ['https://app.example.com', 'http://localhost:3000'],
    keyPepper: ['new', 'old'],
    upstreams: [{ origin: 'https://api.anthropic.com', basePath: '', provider: 'bedrock', apiKey: 'sk-1' }],
  })
})

test('every problem of the environment is reported at once, each by the name of its variable', () => {
  const problems = problemsOf({
    PORT: '80a',
    ADMIN_PORT: '65536',
    BASE_PATH: 'llm/../x',
    PUBLIC_URL: 'llm.example.com',
    CORS_ORIGINS: 'https://app.example.com/page',
    UPSTREAM_URL: 'ftp://example.com',
    UPSTREAM_PROVIDER: 'opnai',
    DATABASE_URL: 'mysql://example.com',
    JOURNAL_MAX_BYTES: '1GiB',
    ON_CLIENT_ABORT: 'maybe',
    JOURNAL_KEEP_SECONDS: '5m',
    ON_JOURNAL_FULL: 'drop',
    GATEWAY_PROCESSES: '0',
    KEY_PEPPER: 'a,,b',
    CALL_RETENTION_DAYS: '-1',
    STREAM_SHARDS: '1.5',
    SHUTDOWN_GRACE_MS: '99999999999',
    LOG_LEVEL: 'loud',
    TLS_CERT_FILE: '/nowhere.pem',
    TALLYGATE_CONFIG: '/nowhere.yaml',
    ADMIN_TOKEN: 'two words',
  })
  expect(problems.map((problem) => problem.split(':')[0]).sort()).toEqual([
    'ADMIN_PORT',
    'ADMIN_TOKEN',
    'BASE_PATH',
    'CALL_RETENTION_DAYS',
    'CORS_ORIGINS',
    'DATABASE_URL',
    'GATEWAY_PROCESSES',
    'JOURNAL_KEEP_SECONDS',
    'JOURNAL_MAX_BYTES',
    'KEY_PEPPER',
    'LOG_LEVEL',
    'ON_CLIENT_ABORT',
    'ON_JOURNAL_FULL',
    'PORT',
    'PUBLIC_URL',
    'REDIS_URL',
    'SHUTDOWN_GRACE_MS',
    'STREAM_SHARDS',
    'TALLYGATE_CONFIG',
    'TLS_CERT_FILE',
    'TLS_KEY_FILE',
    'UPSTREAM_PROVIDER',
    'UPSTREAM_URL',
  ])
})

test('a URL of Redis that cannot work is refused with a sentence for each of its problems', () => {
  const ofRedis = (url: string, prefix = 'tallygate:') =>
    problemsOf({ ...MINIMAL, REDIS_URL: url, REDIS_PREFIX: prefix })
  expect(ofRedis('redis-cluster://a,b', '{tg}:')).toEqual([])
  expect(ofRedis('redis://a', '{')).toEqual([])
  expect(ofRedis('redis-cluster://a,b', '{')).toEqual([
    'REDIS_PREFIX: must have no braces, or one pair with text in it, when Redis is a cluster',
  ])
  expect(ofRedis('redis://a:1,b:2/0?sentinel=main')).toEqual([
    expect.stringMatching(/^REDIS_URL: names several hosts: write redis-cluster:/),
    expect.stringMatching(/^REDIS_URL: has a parameter that is not known: write redis-sentinel:/),
  ])
  const worker = problemsOf({ ...MINIMAL, REDIS_URL: 'redis-sentinel://a/0' }, loadWorkerConfig)
  expect(worker).toEqual([expect.stringMatching(/^REDIS_URL: must end with the name that the Sentinels/)])
})

test('a URL of PostgreSQL that cannot be written to is refused, several servers are not', () => {
  const given = (parameters: string) =>
    problemsOf({
      ...SERVERS,
      UPSTREAM_URL: 'http://127.0.0.1',
      DATABASE_URL: `postgres://a:1,b:2/d${parameters}`,
    })
  expect(given('')).toEqual([])
  expect(given('?target_session_attrs=read-write')).toEqual([])
  expect(given('?target_session_attrs=standby')).toEqual([
    'DATABASE_URL: must lead to a server that can be written to: target_session_attrs=read-write or primary',
  ])
  const replica = { DATABASE_READ_URL: 'postgres://a:1,b:2/d?target_session_attrs=standby' }
  expect(problemsOf({ ...SERVERS, UPSTREAM_URL: 'http://127.0.0.1', ...replica })).toEqual([])
})

test('a problem never repeats a secret', () => {
  const secret = 'hunter2 hunter2'
  const text = problemsOf({
    REDIS_URL: `redis-cluster://:${secret}@example.com/1`,
    DATABASE_URL: `mysql://me:${secret}@example.com`,
    UPSTREAM_URL: `https://me:${secret.replace(' ', '-')}@example.com`,
    UPSTREAM_API_KEY: secret,
    ADMIN_TOKEN: secret,
    KEY_PEPPER: `${secret},,`,
  }).join('\n')
  expect(text.split('\n')).toHaveLength(6)
  expect(text).not.toContain('hunter2')
})

test('the message of the error names every problem', () => {
  expect(() => loadGatewayConfig({})).toThrow(
    [
      '4 problems in the configuration:',
      '  REDIS_URL: is not set',
      '  DATABASE_URL: is not set',
      '  KEY_PEPPER: is not set',
      '  UPSTREAM_URL: is not set, and no TALLYGATE_CONFIG names upstreams',
    ].join('\n'),
  )
})

test('a worker needs only what it uses', () => {
  const { KEY_PEPPER: _pepper, ...servers } = SERVERS
  expect(loadWorkerConfig({ ...servers, PORT: 'x' })).toEqual({
    redisUrl: SERVERS.REDIS_URL,
    databaseUrl: SERVERS.DATABASE_URL,
    redisPrefix: 'tallygate:',
    callRetentionDays: 35,
    axisValuesPerDay: 2000,
    streamShards: 1,
    shutdownGraceMs: 30_000,
    logLevel: 'info',
  })
  expect(problemsOf({ LOG_LEVEL: 'loud' }, loadWorkerConfig)).toHaveLength(3)
})

test('two listeners on one address are a problem, on two addresses none', () => {
  const same = { ...MINIMAL, PORT: '9000', ADMIN_PORT: '9000' }
  expect(problemsOf(same)).toEqual(['ADMIN_PORT: must differ from PORT, both are 9000'])
  expect(problemsOf({ ...same, HOST: '10.0.0.1', ADMIN_HOST: '127.0.0.1' })).toEqual([])
  expect(problemsOf({ ...MINIMAL, PORT: '0', ADMIN_PORT: '0', PORTAL_PORT: '0' })).toEqual([])
  expect(problemsOf({ ...MINIMAL, PORTAL_PORT: '8081' })).toEqual([
    'PORTAL_PORT: must differ from ADMIN_PORT, both are 8081',
  ])
  expect(problemsOf({ ...MINIMAL, PORTAL_EMBED_ORIGINS: '*' })).toEqual([
    'PORTAL_EMBED_ORIGINS: must name the origins: with * any page could show it in its own',
  ])
})

describe('upstream URLs', () => {
  test.each([
    ['https://api.openai.com', 'https://api.openai.com', '', 'openai'],
    ['https://api.openai.com/', 'https://api.openai.com', '', 'openai'],
    ['https://api.openai.com/v1', 'https://api.openai.com', '', 'openai'],
    ['https://API.openai.com/v1//', 'https://api.openai.com', '', 'openai'],
    ['https://openrouter.ai/api/v1', 'https://openrouter.ai', '/api', 'openrouter'],
    ['https://api.groq.com/openai/v1', 'https://api.groq.com', '/openai', 'groq'],
    ['http://127.0.0.1:8000/gateway/', 'http://127.0.0.1:8000', '/gateway', 'openai-compatible'],
    ['http://[::1]:8000/x/v1beta', 'http://[::1]:8000', '/x/v1beta', 'openai-compatible'],
    ['https://me.openai.azure.com', 'https://me.openai.azure.com', '', 'azure-openai'],
    ['https://me.services.ai.azure.com/models', 'https://me.services.ai.azure.com', '/models', 'azure-ai'],
    ['https://me.inference.ai.azure.com', 'https://me.inference.ai.azure.com', '', 'azure-ai'],
    ['https://api.anthropic.com/v1', 'https://api.anthropic.com', '', 'anthropic'],
    ['https://generativelanguage.googleapis.com', 'https://generativelanguage.googleapis.com', '', 'gemini'],
    [
      'https://us-central1-aiplatform.googleapis.com',
      'https://us-central1-aiplatform.googleapis.com',
      '',
      'vertex',
    ],
    [
      'https://bedrock-runtime.eu-west-1.amazonaws.com',
      'https://bedrock-runtime.eu-west-1.amazonaws.com',
      '',
      'bedrock',
    ],
    ['https://api.x.ai/v1', 'https://api.x.ai', '', 'xai'],
    ['https://api.mistral.ai', 'https://api.mistral.ai', '', 'mistral'],
    ['https://api.deepseek.com', 'https://api.deepseek.com', '', 'deepseek'],
    ['https://api.cohere.ai', 'https://api.cohere.ai', '', 'cohere'],
    ['https://api.perplexity.ai', 'https://api.perplexity.ai', '', 'perplexity'],
    ['https://api.together.xyz', 'https://api.together.xyz', '', 'together'],
    ['https://api.fireworks.ai/inference/v1', 'https://api.fireworks.ai', '/inference', 'fireworks'],
    ['https://api.cerebras.ai', 'https://api.cerebras.ai', '', 'cerebras'],
    ['https://dbc-1.cloud.databricks.com', 'https://dbc-1.cloud.databricks.com', '', 'databricks'],
    ['https://ai-gateway.vercel.sh', 'https://ai-gateway.vercel.sh', '', 'vercel-gateway'],
    [
      'https://gateway.ai.cloudflare.com/v1/a/b',
      'https://gateway.ai.cloudflare.com',
      '/v1/a/b',
      'cloudflare',
    ],
    ['https://router.huggingface.co/v1', 'https://router.huggingface.co', '', 'huggingface-router'],
    ['https://dashscope-intl.aliyuncs.com', 'https://dashscope-intl.aliyuncs.com', '', 'alibaba'],
    ['https://api.moonshot.cn/v1', 'https://api.moonshot.cn', '', 'moonshotai'],
    ['https://api.z.ai/api/paas/v4', 'https://api.z.ai', '/api/paas/v4', 'zai'],
    ['https://api.voyageai.com/v1', 'https://api.voyageai.com', '', 'voyageai'],
    ['https://api.openai.com.evil.example', 'https://api.openai.com.evil.example', '', 'openai-compatible'],
    ['https://notapi.x.ai.example', 'https://notapi.x.ai.example', '', 'openai-compatible'],
  ])('upstream URLs: %s', (url, origin, basePath, provider) => {
    const [upstream] = loadGatewayConfig({ ...MINIMAL, UPSTREAM_URL: url }).upstreams
    expect(upstream).toMatchObject({ origin, basePath, provider })
  })

  test.each([
    'example.com',
    'file:///etc/passwd',
    'http://',
    'https://user@example.com',
    'https://example.com?api-version=1',
    'https://example.com/#top',
    'javascript:alert(1)',
  ])('%s is not an upstream URL', (url) => {
    const problems = problemsOf({ ...MINIMAL, UPSTREAM_URL: url })
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(/^UPSTREAM_URL: must /)
  })
})

describe('the YAML file', () => {
  test('the YAML file says whose prices hold at a host, and whose reported cost is not believed', () => {
    const { upstreams } = loadGatewayConfig(
      withFile(
        'upstreams:',
        "  - { name: ours, url: 'http://10.0.0.1', prices_of: deepseek }",
        "  - { name: any, url: 'http://10.0.0.2', prices_of: makers }",
        "  - { name: router, url: 'https://openrouter.ai/api' }",
        "  - { name: doubted, url: 'https://openrouter.ai/api', trust_reported_cost: false, path_prefix: /d }",
        "  - { name: called-so, url: 'http://10.0.0.3', provider: openrouter, path_prefix: /c }",
      ),
    )
    expect(
      upstreams.map(({ name, pricesOf, trustReportedCost }) => [name, pricesOf, trustReportedCost]),
    ).toEqual([
      ['ours', 'deepseek', false],
      ['any', 'makers', false],
      ['router', null, true],
      ['doubted', null, false],
      ['called-so', null, false],
    ])
    expect(
      fileProblems('upstreams:', "  - { name: ours, url: 'http://10.0.0.1', prices_of: deepsek }"),
    ).toEqual([expect.stringContaining('upstreams[0].prices_of must be one of')])
  })

  test('where an upstream serves is known by its host, on Azure by what the YAML file says', () => {
    const { upstreams } = loadGatewayConfig(
      withFile(
        'upstreams:',
        "  - { name: eu, url: 'https://eu.api.openai.com' }",
        "  - { name: unset, url: 'https://a.openai.azure.com', path_prefix: /a }",
        "  - { name: zone, url: 'https://b.openai.azure.com', path_prefix: /b, deployment: data-zone }",
        '  - name: several',
        '    url: https://c.openai.azure.com',
        '    path_prefix: /c',
        "    deployment: { 'prod-*': regional, prod-eu: data-zone-eu, '*': global }",
        "  - { name: mirror, url: 'https://d.openai.azure.com', path_prefix: /d, prices_of: openai }",
      ),
    )
    expect(upstreams.map(({ name, place }) => [name, place])).toEqual([
      ['eu', 'eu'],
      ['unset', 'place_unknown'],
      ['zone', 'data-zone'],
      ['several', { '*': '', 'prod-*': 'regional', 'prod-eu': 'data-zone-eu' }],
      ['mirror', null],
    ])
    expect(
      fileProblems('upstreams:', "  - { name: ours, url: 'http://10.0.0.1', deployment: data-zone }"),
    ).toEqual([expect.stringContaining('deployment is for upstreams on Azure')])
    expect(
      fileProblems('upstreams:', "  - { name: a, url: 'https://a.openai.azure.com', deployment: zone }"),
    ).toEqual([expect.stringContaining('upstreams[0].deployment')])
  })

  test('the YAML file of the contract is read whole', () => {
    const config = loadGatewayConfig({
      ...withFile(
        'upstreams:',
        '  - name: openai',
        '    url: https://api.openai.com',
        '    api_key_env: OPENAI_API_KEY',
        '    provider: openai            # optional where the host tells it',
        "    models: ['gpt-*', 'o*']     # calls naming these models go here",
        "    paths: { deny: ['POST /v1/files'] }",
        '  - name: grok',
        '    url: https://api.x.ai',
        '    provider: xai',
        '    path_prefix: /grok          # calls under /grok/... go here',
        '    include_usage: auto',
        'default_upstream: openai',
        'models:',
        '  - { id: gpt-4o, owned_by: openai }',
        'paths:',
        "  deny: ['POST /v1/realtime/client_secrets']",
        '  unknown: pass',
        "  keys: [{ client: acme, allow: ['/v1/organization/**'], unknown: refuse }]",
        'prices:',
        "  - { model: 'llama-3*', provider: vllm, input: '0', output: '0' }",
        "  - { model: our-model, input: '0.15', cached_input: '0.0375', output: '0.6', from: 2026-01-01 }",
      ),
      OPENAI_API_KEY: 'sk-1',
    })
    expect(config.upstreams).toEqual([
      {
        name: 'openai',
        origin: 'https://api.openai.com',
        basePath: '',
        provider: 'openai',
        apiKey: 'sk-1',
        credentials: null,
        takesClients: false,
        models: ['gpt-*', 'o*'],
        pathPrefix: null,
        modelsPath: '/v1/models',
        includeUsage: 'auto',
        keepAlive: true,
        trustReportedCost: false,
        pricesOf: null,
        place: null,
        paths: { allow: [], deny: ['POST /v1/files'], unknown: null },
        objects: 'owned',
      },
      {
        name: 'grok',
        origin: 'https://api.x.ai',
        basePath: '',
        provider: 'xai',
        apiKey: null,
        credentials: null,
        takesClients: false,
        models: null,
        pathPrefix: '/grok',
        modelsPath: '/v1/models',
        includeUsage: 'auto',
        keepAlive: true,
        trustReportedCost: true,
        pricesOf: null,
        place: null,
        paths: NO_PATH_RULES,
        objects: 'owned',
      },
    ])
    expect(config.paths).toEqual({
      allow: [],
      deny: ['POST /v1/realtime/client_secrets'],
      unknown: 'pass',
      keys: [{ client: 'acme', key: null, allow: ['/v1/organization/**'], deny: [], unknown: 'refuse' }],
    })
    expect(config.defaultUpstream).toBe('openai')
    expect(config.models).toEqual([{ id: 'gpt-4o', owned_by: 'openai' }])
    expect(config.priceOverrides).toMatchObject([
      { model: 'llama-3*', provider: 'vllm', from: null, line: 21 },
      { model: 'our-model', provider: null, from: '2026-01-01', line: 22 },
    ])
  })

  test('the YAML file stands beside UPSTREAM_URL, whose upstream is the first and named default', () => {
    const file = withFile('upstreams:', '  - { name: a, url: http://a, path_prefix: /a/ }')
    const both = loadGatewayConfig({ ...file, UPSTREAM_URL: 'http://b' })
    expect(both.upstreams.map(({ name, pathPrefix }) => [name, pathPrefix])).toEqual([
      ['default', null],
      ['a', '/a'],
    ])
    expect(both.defaultUpstream).toBe('default')
    expect(loadGatewayConfig(file).defaultUpstream).toBe('a')
    const chosen = withFile('upstreams:', '  - { name: a, url: http://a }', 'default_upstream: default')
    expect(loadGatewayConfig({ ...chosen, UPSTREAM_URL: 'http://b' }).defaultUpstream).toBe('default')
  })

  test('the YAML file may be empty beside UPSTREAM_URL', () => {
    expect(loadGatewayConfig({ ...withFile(''), ...MINIMAL })).toEqual(loadGatewayConfig(MINIMAL))
    expect(loadGatewayConfig({ ...withFile('# nothing yet'), ...MINIMAL }).models).toBeNull()
  })

  test('a model shown belongs to its upstream’s provider when no owner is named', () => {
    const config = loadGatewayConfig(
      withFile(
        'upstreams:',
        '  - { name: first, url: https://api.openai.com }',
        "  - { name: second, url: https://api.x.ai, models: ['grok-*'] }",
        'models: [{ id: gpt-4o }, { id: grok-4, created: 1700000000 }, { id: mine, owned_by: us }]',
      ),
    )
    expect(config.models).toEqual([
      { id: 'gpt-4o', owned_by: 'openai' },
      { id: 'grok-4', owned_by: 'xai', created: 1_700_000_000 },
      { id: 'mine', owned_by: 'us' },
    ])
  })

  test('a price keeps every digit as written, in quotes or not', () => {
    const { priceOverrides } = loadGatewayConfig(
      withFile(
        'upstreams: [{ name: a, url: http://a }]',
        'prices:',
        '  - { model: m, input: 0.0375000, output: 123456789.000000000001 }',
        '  - model: n',
        '    input: "0.10"',
      ),
    )
    const written = priceOverrides.map(({ prices }) => Object.fromEntries(prices))
    expect(written).toEqual([
      { input: { digits: 375_000n, scale: 7 }, output: { digits: 123_456_789_000_000_000_001n, scale: 12 } },
      { input: { digits: 10n, scale: 2 } },
    ])
  })

  test('the YAML file says whose objects clients see, for all upstreams or for one', () => {
    const sharing = (...lines: readonly string[]) =>
      loadGatewayConfig(withFile(...lines)).upstreams.map(({ name, objects }) => [name, objects])
    const upstreams = 'upstreams: [{ name: a, url: http://a }, { name: b, url: http://b, objects: shared }]'
    expect(sharing(upstreams)).toEqual([
      ['a', 'owned'],
      ['b', 'shared'],
    ])
    expect(sharing(upstreams, 'objects: shared')).toEqual([
      ['a', 'shared'],
      ['b', 'shared'],
    ])
    expect(fileProblems('upstreams: [{ name: a, url: http://a, objects: mine }]', 'objects: all')).toEqual([
      'config.yaml:1: upstreams[0].objects must be one of owned, shared',
      'config.yaml:2: objects must be one of owned, shared',
    ])
  })

  test('what calls reserve of limits is configured, and left out otherwise', () => {
    const withLimits = (...lines: string[]) =>
      loadGatewayConfig(withFile('upstreams: [{ name: a, url: http://a }]', ...lines))
    expect(withLimits().estimates).toBeUndefined()
    expect(withLimits("limits: { job_reserve_usd: '2.5' }").estimates).toEqual({
      defaultOutputTokens: 4_096,
      jobReservePico: 2_500_000_000_000n,
    })
    expect(
      fileProblems(
        'upstreams: [{ name: a, url: http://a }]',
        'limits:',
        '  default_output_tokens: 0',
        '  job_reserve_usd: 1 USD',
        '  budget: 1',
      ),
    ).toEqual([
      'config.yaml:3: limits.default_output_tokens must be 1 or more tokens',
      "config.yaml:4: limits.job_reserve_usd must be US dollars as text, such as '1' or '0.25'",
      'config.yaml:5: limits.budget is not a known setting',
    ])
  })

  test('an invalid rule of paths is named with its line', () => {
    expect(
      fileProblems(
        'upstreams: [{ name: a, url: http://a, paths: { deny: [v1/files] } }]',
        'paths:',
        "  deny: ['POST /v1/files', 'POST v1/x']",
        '  unknown: maybe',
        '  keys:',
        "    - { allow: ['/v1/x'] }",
        "    - { client: acme, refuse: ['/v1/x'] }",
      ),
    ).toEqual([
      expect.stringMatching(/^config.yaml:1: upstreams\[0\].paths.deny\[0\] .*v1\/files/),
      expect.stringMatching(/^config.yaml:3: paths.deny\[1\] .*POST v1\/x/),
      'config.yaml:4: paths.unknown must be one of pass, refuse',
      'config.yaml:6: paths.keys[0] must name a client or a key',
      'config.yaml:7: paths.keys[1].refuse is not a known setting',
    ])
  })

  test('every problem of the YAML file is reported at once with its line, beside those of the environment', () => {
    const problems = problemsOf({
      ...withFile(
        'upstreams:',
        '  - name: openai',
        '    url: https://api.openai.com/v1/',
        '    api_key_env: OPENAI_API_KEY',
        "    models: ['gpt-*', 'a*b']",
        '    colour: red',
        '  - url: https://u:p@api.x.ai',
        '    path_prefix: /v1/models',
        '    include_usage: often',
        '    trust_reported_cost: perhaps',
        '  - { name: openai, url: http://b, provider: opnai }',
        '  - { name: twin, url: http://c, path_prefix: /same }',
        '  - { name: twin, url: http://d, path_prefix: /same/ }',
        '  - 7',
        'default_upstream: openia',
        'models: [{ id: m }, { id: m }, { name: n }]',
        'colours: 3',
        'prices:',
        "  - { model: m, input: '-1', inptu: '1' }",
        '  - 7',
        'markups:',
        "  - { upstream: missing, factor: '1' }",
      ),
      LOG_LEVEL: 'loud',
    }).map((problem) => problem.replace(`${folder}/`, ''))
    expect(problems).toEqual([
      expect.stringMatching(/^LOG_LEVEL: must be one of /),
      'config.yaml:17: colours is not a known setting',
      'config.yaml:4: upstreams[0].api_key_env names OPENAI_API_KEY, which is not set',
      'config.yaml:5: upstreams[0].models[1] must be a model name, or the beginning of names followed by *',
      'config.yaml:6: upstreams[0].colour is not a known setting',
      'config.yaml:7: upstreams[1].name is missing',
      'config.yaml:7: upstreams[1].url must not hold a user or password: give the API key apart',
      "config.yaml:8: upstreams[1].path_prefix must not hide the gateway's own paths",
      'config.yaml:9: upstreams[1].include_usage must be one of auto, always, never',
      'config.yaml:10: upstreams[1].trust_reported_cost must be true or false',
      expect.stringMatching(
        /^config\.yaml:11: upstreams\[2\]\.provider must be one of openai, azure-openai, /,
      ),
      'config.yaml:14: upstreams[5] must be a mapping',
      'config.yaml:16: models[2].id is missing',
      'config.yaml:16: models[2].name is not a known setting',
      'config.yaml:20: prices[1] must be a mapping',
      'config.yaml:13: the name twin is taken by another upstream',
      'config.yaml:13: the path_prefix /same is taken by another upstream',
      'config.yaml:16: the model m is listed twice',
      expect.stringMatching(/^config\.yaml:15: default_upstream must be one of openai, /),
      expect.stringMatching(/^config\.yaml:19: prices: .*inptu/),
      expect.stringMatching(/^config\.yaml:19: prices: .*-1/),
      expect.stringMatching(/^config\.yaml:22: markups: .*missing/),
    ])
  })

  test.each([
    ['that is not YAML', ['upstreams: [', '  name: a: b']],
    ['that names a key twice', ['upstreams: [{ name: a, url: http://a }]', 'models: []', 'models: []']],
    ['that is two documents', ['upstreams: [{ name: a, url: http://a }]', '---', 'models: []']],
    ['that is a list', ['- upstreams']],
    ['that is a word', ['upstreams']],
    ['with a list where a mapping belongs', ['upstreams: [[]]']],
    ['with a mapping where a list belongs', ['upstreams: { name: a }']],
    ['with nothing where a list belongs', ['upstreams:', 'models:']],
    ['with an unknown tag', ['upstreams: !secret x']],
    ['with __proto__', ['__proto__: { upstreams: [] }', 'upstreams: [{ name: a, url: http://a }]']],
  ])('a YAML file %s is a problem with its line, not an exception', (_what, lines) => {
    const problems = fileProblems(...lines)
    expect(problems.length).toBeGreaterThan(0)
    for (const problem of problems) expect(problem).toMatch(/^config\.yaml:\d+: |^UPSTREAM_URL: /)
    expect(problems.some((problem) => problem.startsWith('config.yaml:'))).toBe(true)
  })
})

describe('HTTPS', () => {
  test('HTTPS takes a certificate and its key, and no other pair', () => {
    const [cert, key, otherKey] = ['cert.pem', 'key.pem', 'other-key.pem'].map((name) =>
      fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url)),
    )
    const served = loadGatewayConfig({ ...MINIMAL, TLS_CERT_FILE: cert, TLS_KEY_FILE: key })
    expect(served.tls).toEqual({ certFile: cert, keyFile: key })
    expect(problemsOf({ ...MINIMAL, TLS_CERT_FILE: cert, TLS_KEY_FILE: otherKey })).toEqual([
      expect.stringMatching(/^TLS_CERT_FILE: is not a PEM certificate that matches TLS_KEY_FILE/),
    ])
    expect(problemsOf({ ...MINIMAL, TLS_KEY_FILE: key })).toEqual([
      'TLS_CERT_FILE: is not set, but the other half of HTTPS is',
    ])
  })

  test('a chain in the wrong order is named', () => {
    const [cert, chain, key] = ['cert.pem', 'renewed.pem', 'key.pem'].map((name) =>
      fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url)),
    )
    const turned = join(folder, 'turned.pem')
    writeFileSync(turned, [chain, cert].map((file) => readFileSync(file ?? '', 'utf8')).join(''))
    expect(problemsOf({ ...MINIMAL, TLS_CERT_FILE: turned, TLS_KEY_FILE: key })).toEqual([
      'TLS_CERT_FILE: begins with a certificate of its chain: write the one that TLS_KEY_FILE is of first',
    ])
  })

  test('the certificate of a proxy needs TLS, and its authority is read with that of the gateway', () => {
    const [cert = '', key = '', ca = ''] = ['cert.pem', 'key.pem', 'proxy/ca.pem'].map((name) =>
      fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url)),
    )
    const proxy = `{ client: header, certificate: { ca_file: '${ca}', names: [proxy.internal] } }`
    const env = { ...MINIMAL, ...withFile('identity:', `  proxy: ${proxy}`) }
    expect(problemsOf(env)).toEqual([
      'TLS_CERT_FILE: is not set, and without TLS no proxy shows the certificate of identity',
    ])
    expect(loadGatewayConfig({ ...env, TLS_CERT_FILE: cert, TLS_KEY_FILE: key }).tls).toEqual({
      certFile: cert,
      keyFile: key,
      clientCaFile: ca,
    })
  })
})

test('spans and metrics go where the variables of OpenTelemetry say, and nowhere where they say nothing or so', () => {
  const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://collector:4318/'
  const tracing = (env: Environment) => loadGatewayConfig({ ...MINIMAL, ...env }).tracing
  expect(tracing({ OTEL_EXPORTER_OTLP_ENDPOINT })).toEqual({
    url: 'http://collector:4318/v1/traces',
    sampler: 'always_on',
    followsParent: true,
    ratio: 1,
    maxQueueSize: 2_048,
    scheduleDelayMs: 5_000,
  })
  const ratio = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' }
  expect(tracing({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://x/y', ...ratio })).toMatchObject({
    url: 'https://x/y',
    sampler: 'traceidratio',
    followsParent: false,
    ratio: 0.25,
  })
  expect(tracing({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' })).toBeNull()
  expect(tracing({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_EXPORTER: 'none' })).toBeNull()
  const metrics = (env: Environment) => loadGatewayConfig({ ...MINIMAL, ...env }).metricsExport
  expect(metrics({ OTEL_EXPORTER_OTLP_ENDPOINT })).toEqual({
    url: 'http://collector:4318/v1/metrics',
    eachMs: 60_000,
    withinMs: 30_000,
  })
  const often = { OTEL_METRIC_EXPORT_INTERVAL: '1000' }
  expect(loadMetricsExport({ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'https://x/y', ...often })).toEqual({
    url: 'https://x/y',
    eachMs: 1_000,
    withinMs: 1_000,
  })
  expect(metrics({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://x/y' })).toBeNull()
  expect(metrics({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SDK_DISABLED: 'true' })).toBeNull()
  expect(metrics({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_METRICS_EXPORTER: 'none' })).toBeNull()
  expect(metrics({})).toBeNull()
  const wrong = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
  }
  const named = (env: Environment) =>
    problemsOf({ ...MINIMAL, ...env }).map((problem) => problem.split(':')[0])
  expect(named(wrong)).toEqual(Object.keys(wrong))
  const odd = {
    OTEL_TRACES_SAMPLER: 'sometimes',
    OTEL_TRACES_SAMPLER_ARG: '2',
    OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: 'delta',
    OTEL_METRIC_EXPORT_INTERVAL: '0',
  }
  expect(named({ OTEL_EXPORTER_OTLP_ENDPOINT, ...odd })).toEqual(Object.keys(odd))
})
