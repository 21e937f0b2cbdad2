import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ENVIRONMENT, loadGatewayConfig } from '../../src/config/config.ts'
import { SECTIONS } from '../../src/config/yaml/config-file.ts'

const page = readFileSync('docs/configuration.md', 'utf8')

test('docs/configuration.md lists every variable with the default that the code has', () => {
  const rows = [...page.matchAll(/^- `([A-Z_]+)`(?: \(`(.*)`\))?:/gm)].map(([, name, value]) => [
    name,
    value ?? '',
  ])
  expect(rows).toEqual(ENVIRONMENT.map(({ name, default: value }) => [name, value ?? '']))
})

test('docs/configuration.md lists every section of the YAML file', () => {
  const listed = [...page.slice(page.indexOf('## The YAML file')).matchAll(/^- (`\w+`(?:, `\w+`)*):/gm)]
  const names = listed.flatMap(([, named = '']) => named.replaceAll('`', '').split(', '))
  expect(names.sort()).toEqual([...SECTIONS].sort())
})

test('the README is one screen, and leaves variables to their page', () => {
  const readme = readFileSync('README.md', 'utf8')
  expect(readme.split('\n').length).toBeLessThanOrEqual(120)
  expect(readme).toContain('](docs/configuration.md)')
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
