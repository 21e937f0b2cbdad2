import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfigFile } from '../../src/config/yaml/config-file.ts'
import { convertConfig } from '../../src/litellm/config/convert-config.ts'

const CONFIG = `
model_list:
  - model_name: gpt-4o
    litellm_params: { model: azure/gpt-4o-eu, api_base: 'https://ours.openai.azure.com/', api_key: os.environ/AZURE_KEY, weight: 3 }
  - model_name: gpt-4o
    litellm_params: { model: openai/gpt-4o, api_key: os.environ/OPENAI_API_KEY, rpm: 60 }
  - model_name: claude
    litellm_params: { model: anthropic/claude-sonnet-4-5, api_key: sk-ant-written-in-the-file }
  - model_name: own
    litellm_params: { model: hosted_vllm/llama, api_base: 'http://10.0.0.1:8000/v1' }
    model_info: { input_cost_per_token: 0.00000015, output_cost_per_token: 0.0000006 }
  - model_name: 'openai/*'
    litellm_params: { model: 'openai/*', api_key: os.environ/OPENAI_API_KEY }
  - model_name: nova
    litellm_params: { model: bedrock/amazon.nova-pro-v1:0 }
router_settings: { num_retries: 2, routing_strategy: usage-based-routing, model_group_alias: { best: claude } }
litellm_settings: { fallbacks: [{ claude: [gpt-4o] }], request_timeout: 60, drop_params: true }
general_settings: { master_key: sk-1234, database_url: 'postgresql://x' }
`

test('a configuration of LiteLLM is one of ours, which a gateway takes, and has no key in it', () => {
  const { yaml, lost } = convertConfig(CONFIG)
  expect(yaml).not.toMatch(/sk-/)
  const folder = mkdtempSync(join(tmpdir(), 'tallygate-converted-'))
  try {
    const file = join(folder, 'tallygate.yaml')
    writeFileSync(file, yaml)
    const problems: string[] = []
    const keys = { AZURE_KEY: 'x', OPENAI_API_KEY: 'x', ANTHROPIC_API_KEY: 'x' }
    const read = readConfigFile({ TALLYGATE_CONFIG: file, ...keys }, problems)
    expect(problems).toEqual([])
    expect(read.upstreams.map(({ name, api_key_env: key }) => [name, key])).toEqual([
      ['azure-openai', 'AZURE_KEY'],
      ['openai', 'OPENAI_API_KEY'],
      ['anthropic', 'ANTHROPIC_API_KEY'],
      ['vllm', undefined],
    ])
  } finally {
    rmSync(folder, { recursive: true })
  }
  expect(yaml).toMatch(/model: gpt-4o-eu\n\s+weight: 3/)
  expect(yaml).toMatch(/input: "?0.15/)
  expect(yaml).toContain('order: listed')
  expect(yaml).toContain('model: best')
  for (const text of [
    'rpm',
    'no patterns',
    'bedrock',
    'written in the file',
    'gpt-4o: a hard budget refuses its deployment gpt-4o-eu',
    'master_key',
    'database_url',
    'drop_params',
  ])
    expect(lost.join('\n')).toContain(text)
})

test.each(['', '[', 'model_list: 5', 'a: &a [*a]'])('%j is refused as no such configuration', (text) => {
  expect(() => convertConfig(text)).toThrow()
})

test('a key whose variable no configuration can name is named, and no upstream is without one for that', () => {
  const { yaml, lost } = convertConfig(
    'model_list: [{ model_name: m, litellm_params: { model: openai/gpt-4o, api_key: os.environ/MY-KEY } }]',
  )
  expect(yaml).toContain('api_key_env: OPENAI_API_KEY')
  expect(lost.join()).toContain('Put it into the variable OPENAI_API_KEY')
})

const converted = (params: string) =>
  convertConfig(`model_list: [{ model_name: m, litellm_params: { ${params} } }]`)

test.each([
  ['model: claude-sonnet-4-5', 'https://api.anthropic.com'],
  ['model: command-r-plus', 'https://api.cohere.com'],
  ['model: gpt-4o', 'https://api.openai.com'],
  ['model: o3-mini', 'https://api.openai.com'],
  ['model: "ft:gpt-4o-mini:ours::1"', 'https://api.openai.com'],
  ['model: sonnet, custom_llm_provider: anthropic', 'https://api.anthropic.com'],
  ['model: anthropic/sonnet, custom_llm_provider: anthropic', 'https://api.anthropic.com'],
])('the key of %s goes to the maker of the model, as there', (params, url) => {
  const { yaml, lost } = converted(`${params}, api_key: os.environ/SOME_KEY`)
  expect(yaml).toContain(`url: ${url}\n`)
  expect(yaml).toContain('api_key_env: SOME_KEY')
  expect(yaml).not.toContain('anthropic/')
  expect(lost).toEqual([])
})

test.each([
  'model: gemini-2.5-pro',
  'model: mine',
  'model: x, custom_llm_provider: unknown',
])('no key goes anywhere where the maker of %s is not known', (params) => {
  const { yaml, lost } = converted(`${params}, api_key: os.environ/SOME_KEY`)
  expect(yaml).not.toContain('SOME_KEY')
  expect(lost[0]).toContain('provider')
})
