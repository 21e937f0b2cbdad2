import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ENVIRONMENT, loadGatewayConfig } from '../../src/config/config.ts'

const readme = readFileSync('README.md', 'utf8')

test('the README lists every variable with the default that the code has', () => {
  const rows = [...readme.matchAll(/^- `([A-Z_]+)`(?: \(`(.*)`\))?:/gm)].map(([, name, value]) => [
    name,
    value ?? '',
  ])
  expect(rows).toEqual(ENVIRONMENT.map(({ name, default: value }) => [name, value ?? '']))
})

test('every file that the README and the docs link to exists', () => {
  const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path]) => path ?? '')
  expect(links.length).toBeGreaterThan(5)
  expect(links.filter((path) => !existsSync(path))).toEqual([])
})

test('every npm script that the README names exists', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  const named = [...readme.matchAll(/npm run (?:-s )?([a-z:]+)/g)].map(([, name]) => name)
  expect(named.filter((name) => !(name !== undefined && name in scripts))).toEqual([])
})

test('the example of limits is a valid configuration', () => {
  const { estimates } = loadGatewayConfig({
    TALLYGATE_CONFIG: 'examples/limits.yaml',
    OPENAI_API_KEY: 'sk-1',
    DATABASE_URL: 'postgres://localhost/x',
    REDIS_URL: 'redis://localhost',
    KEY_PEPPER: 'a-pepper-of-enough-length-0123456789',
  })
  expect(estimates).toEqual({ defaultOutputTokens: 2_000, jobReservePico: 5_000_000_000_000n })
})

test('the example configuration is a valid one', () => {
  const config = loadGatewayConfig({
    TALLYGATE_CONFIG: 'examples/tallygate.yaml',
    OPENAI_API_KEY: 'sk-1',
    ANTHROPIC_API_KEY: 'sk-2',
    AZURE_API_KEY: 'sk-3',
    DATABASE_URL: 'postgres://localhost/x',
    REDIS_URL: 'redis://localhost',
    KEY_PEPPER: 'a-pepper-of-enough-length-0123456789',
  })
  expect(config.upstreams.map(({ name, provider }) => [name, provider])).toEqual([
    ['openai', 'openai'],
    ['claude', 'anthropic'],
    ['azure', 'azure-openai'],
    ['local', 'vllm'],
  ])
})
