import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ENVIRONMENT, loadGatewayConfig } from '../../src/config/config.ts'
import { readConfigFile, SECTIONS } from '../../src/config/yaml/config-file.ts'

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

const folder = mkdtempSync(join(tmpdir(), 'tallygate-test-pages-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Blocks of the pages that are of the YAML file; those of `apply` name other sections. */
const blocks = readdirSync('docs')
  .filter((name) => name.endsWith('.md'))
  .flatMap((name) =>
    [...readFileSync(join('docs', name), 'utf8').matchAll(/^ *```yaml\n([\s\S]*?)^ *```$/gm)].map(
      ([, text = ''], index) => ({ place: `docs/${name}, block ${index + 1}`, text }),
    ),
  )
  // That is the document of `apply`.
  .filter(({ place }) => place !== 'docs/apply.md, block 1')

test.each(blocks)('$place is a valid configuration', ({ text }) => {
  const file = join(folder, 'tallygate.yaml')
  // A file of theirs cannot be had here.
  writeFileSync(file, text.replace(/ca_file: \S+/g, 'ca_file: test/fixtures/tls/upstream/authority.pem'))
  const secrets = [...text.matchAll(/_env: (\w+)/g)].map(([, name = '']) => [
    name,
    'a-secret-of-thirty-two-characters',
  ])
  const problems: string[] = []
  readConfigFile({ ...Object.fromEntries(secrets), TALLYGATE_CONFIG: file }, problems)
  expect(problems).toEqual([])
})
