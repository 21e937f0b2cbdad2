import { execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { ENVIRONMENT, loadGatewayConfig, loadWorkerConfig } from '../src/config.ts'

/** As far as we look at it. */
interface Service {
  readonly image?: string
  readonly build?: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string | null>>
  readonly volumes?: readonly string[]
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean }
  readonly restart?: string
  readonly ports?: readonly string[]
  readonly profiles?: readonly string[]
  readonly container_name?: string
}

const compose: {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: Readonly<Record<string, unknown>>
} = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true })
const services = Object.entries(compose.services)
const ours = services.filter(([, service]) => service.build !== undefined)
const known = new Set<string>(ENVIRONMENT.map(({ name }) => name))
const dockerfile = readFileSync('Dockerfile', 'utf8')

const filesIn = (words: readonly string[]) => words.filter((word) => /\.(ts|sh)$/.test(word))
const inProject = (file: string) => file.replace(/^\/app\//, '')

test('the services of the contract are there', () => {
  expect(services.map(([name]) => name).sort()).toEqual(
    ['balancer', 'demo-upstream', 'gateway', 'migrate', 'postgres', 'redis', 'secrets', 'worker'].sort(),
  )
  expect(compose.services['demo-upstream']?.profiles).toEqual(['demo'])
})

test.each(ours)('%s sets only variables that the code knows', (_name, { environment = {} }) => {
  expect(Object.keys(environment).filter((variable) => !known.has(variable))).toEqual([])
})

test('every variable of the gateway can be set for it, but those that a container fixes', () => {
  const fixedByContainer = ['TLS_CERT_FILE', 'TLS_KEY_FILE', 'TALLYGATE_DATA_DIR']
  const settable = Object.keys(compose.services.gateway?.environment ?? {})
  const workers = ['CALL_RETENTION_DAYS', ...fixedByContainer]
  expect([...known].filter((name) => !settable.includes(name) && !workers.includes(name))).toEqual([])
})

test('gateway and worker accept what compose and the secrets set', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tallygate-test-compose-'))
  try {
    const run = (file: string, args: readonly string[], env = {}) =>
      execFileSync(file, args, { encoding: 'utf8', env: { PATH: process.env.PATH ?? '', ...env } })
    run(process.execPath, ['src/container/write-secrets.ts', folder])
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

    run(process.execPath, ['src/container/write-secrets.ts', folder])
    expect(withSecrets()).toEqual(first) // a second run changes nothing
    expect(withSecrets({ KEY_PEPPER: 'given' }).KEY_PEPPER).toBe('given')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test.each(services)('%s runs and checks its health with files that exist', (_name, service) => {
  const words = [...(service.command ?? []), ...(service.healthcheck?.test ?? [])]
  const mounted = (service.volumes ?? []).filter((volume) => volume.startsWith('./'))
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

test('only the balancer has ports, and the operators’ one is on loopback', () => {
  expect(services.filter(([, { ports }]) => ports !== undefined).map(([name]) => name)).toEqual(['balancer'])
  expect(compose.services.balancer?.ports).toEqual([
    expect.stringMatching(/^\$\{PORT:-8080\}:/),
    expect.stringMatching(/^127\.0\.0\.1:/),
  ])
})

test('images of others are pinned to a major version at least', () => {
  const images = services.flatMap(([, { image, build }]) => (build === undefined ? [image] : []))
  const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base)
  for (const image of [...images, ...bases]) expect(image).toMatch(/^[a-z]+:\d+(\.\d+)*(-[a-z]+)?$/)
  expect(bases.every((base) => base === 'node:24-slim')).toBe(true)
})

test('whoever needs another service waits for it', () => {
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
    for (const file of filesIn(command)) expect(copied).toContain(file.split('/')[0])
  }
  expect(dockerfile).toMatch(/^USER node$/m)
  expect(dockerfile).toMatch(/^CMD \["node", "src\/server\.ts"\]$/m)
  const scripts = [...dockerfile.matchAll(/\/app\/(deploy\/\S+\.sh)/g)].map(([, script]) => script ?? '')
  expect(scripts).toHaveLength(2)
  for (const script of scripts) accessSync(script, constants.X_OK)
})

test('the units for systemd run files that exist, with variables that the code knows', () => {
  for (const unit of ['gateway', 'worker']) {
    const text = readFileSync(`examples/systemd/tallygate-${unit}.service`, 'utf8')
    const files = [...text.matchAll(/^ExecStart\w*=.*\/node (\S+)/gm)].map(([, file]) => file ?? '')
    expect(files.length).toBeGreaterThan(0)
    expect(files.filter((file) => !existsSync(file))).toEqual([])
    const variables = [...text.matchAll(/^Environment=(.*)$/gm)].flatMap(
      ([, pairs]) => pairs?.split(' ') ?? [],
    )
    const names = variables.map((pair) => pair.split('=')[0] ?? '')
    expect(names.filter((name) => name !== 'NODE_ENV' && !known.has(name))).toEqual([])
  }
})
