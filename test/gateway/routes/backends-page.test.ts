import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { loadGatewayConfig } from '../../../src/config/config.ts'
import { targetOf } from '../../../src/gateway/routing/call-target.ts'
import { routeCall } from '../../../src/gateway/routing/route.ts'
import { buildUpstreamTable, type Upstream } from '../../../src/gateway/routing/upstream-table.ts'

/** Sections of docs/backends.md that have a file and a call: by heading, whose wire format is read. */
const READ: Readonly<Record<string, string>> = {
  OpenAI: 'openai',
  Anthropic: 'anthropic',
  'Azure OpenAI': 'azure-openai',
  'Amazon Bedrock': 'bedrock',
  'Google Vertex AI': 'vertex',
  vLLM: 'vllm',
  Ollama: 'ollama',
  OpenRouter: 'openrouter',
}

const folder = mkdtempSync(join(tmpdir(), 'tallygate-backends-'))
afterAll(() => rmSync(folder, { recursive: true }))

const sections = new Map(
  readFileSync('docs/backends.md', 'utf8')
    .split(/^## /m)
    .map((text) => [text.slice(0, text.indexOf('\n')), text]),
)

const ENV = {
  DATABASE_URL: 'postgres://localhost/x',
  REDIS_URL: 'redis://localhost',
  KEY_PEPPER: 'a-pepper-of-enough-length-0123456789',
  OPENAI_API_KEY: 'sk-1',
  ANTHROPIC_API_KEY: 'sk-2',
  AZURE_API_KEY: 'sk-3',
  OPENROUTER_API_KEY: 'sk-4',
}

test('every section of the page is tried', () => {
  const withFile = [...sections].filter(([, text]) => text.includes('```yaml')).map(([heading]) => heading)
  expect(withFile.sort()).toEqual(Object.keys(READ).sort())
})

test.each(Object.entries(READ))('the file of %s loads, and its call is read as %s', (heading, provider) => {
  const text = sections.get(heading) ?? ''
  const [, yaml = ''] = /```yaml\n([\s\S]*?)```/.exec(text) ?? []
  const [, shell = ''] = /```sh\n([\s\S]*?)```/.exec(text) ?? []
  const file = join(folder, `${provider}.yaml`)
  writeFileSync(file, yaml)
  const { upstreams, defaultUpstream } = loadGatewayConfig({ ...ENV, TALLYGATE_CONFIG: file })
  expect(upstreams.map((upstream) => upstream.provider)).toEqual([provider])

  const [, path = ''] = /http:\/\/127\.0\.0\.1:8080([^\s']+)/.exec(shell) ?? []
  const [, body = ''] = /-d '([^']+)'/.exec(shell) ?? []
  expect(JSON.parse(body)).toBeTypeOf('object')
  expect(shell).toMatch(/\$KEY"/)
  const headers = Object.fromEntries(
    [...shell.matchAll(/-H ["']([\w-]+): ([^"']+)["']/g)].map(([, name = '', value]) => [
      name.toLowerCase(),
      value,
    ]),
  )
  const target = targetOf(path)
  if (target === null) throw new Error(`${path} cannot be a path`)
  // As far as routing looks at it.
  const table = buildUpstreamTable(upstreams as unknown as readonly Upstream[], { defaultUpstream })
  const shape = { method: 'POST', hasBody: true, webSocket: false, request: { headers } }
  const route = routeCall(table, shape, target)
  if (typeof route === 'string' || !('upstream' in route))
    throw new Error(`${path}: ${JSON.stringify(route)}`)
  expect(route.upstream.provider).toBe(provider)
  expect(route.reading).not.toBe('unknown')
  expect(route.dialect).not.toBe(null)
})
