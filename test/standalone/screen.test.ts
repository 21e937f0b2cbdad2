import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { chooseExample, renderScreen } from '../../src/standalone/screen.ts'
import type { Paint } from '../../src/standalone/terminal.ts'

const plain: Paint = (_style, text) => text
const loud: Paint = (_style, text) => `<${text}>`
const context = {
  baseUrl: 'http://127.0.0.1:8080/llm',
  demoKey: 'tg_key',
  example: chooseExample('openai', ['gpt-4o', "it's a model"]),
  adminUrl: 'http://127.0.0.1:8081',
  adminToken: 'token',
  portalUrl: 'http://127.0.0.1:8082',
  dataDir: '.tallygate',
  upstream: null,
  insecure: false,
}

const commandsIn = (screen: string) => screen.match(/^curl (?:.*\\\n)*.*$/gm) ?? []
/** What bash makes of a command's words. */
const words = (command: string) =>
  execFileSync('bash', ['-c', `curl() { printf '%s\\0' "$@"; }; ${command}`], { encoding: 'utf8' })
    .split('\0')
    .slice(0, -1)

test('there are two commands, each from column 0, free of colour, between empty lines', () => {
  const screen = renderScreen(context, loud)
  const commands = commandsIn(screen)
  expect(commands).toHaveLength(2)
  for (const command of commands) {
    expect(command).not.toMatch(/[<>]/)
    expect(screen).toContain(`\n\n${command}\n\n`)
  }
})

test('bash reads the commands as meant, also with a quote in a name', () => {
  const example = chooseExample('openai', ["it's a model"])
  const [call, usage] = commandsIn(renderScreen({ ...context, example }, plain)).map(words)
  expect(call?.slice(0, 2)).toEqual(['-sS', 'http://127.0.0.1:8080/llm/v1/chat/completions'])
  expect(call).toContain('Authorization: Bearer tg_key')
  expect(JSON.parse(call?.at(-1) ?? '')).toMatchObject({ model: "it's a model" })
  expect(usage).toEqual([
    '-sS',
    'http://127.0.0.1:8080/llm/v1/usage?days=1',
    '-H',
    'Authorization: Bearer tg_key',
  ])
})

test('a certificate that curl cannot know is not a dead end', () => {
  for (const command of commandsIn(renderScreen({ ...context, insecure: true }, plain)))
    expect(command).toMatch(/^curl -sSk /)
})

test('the example speaks the provider’s language, with a model that is listed', () => {
  expect(chooseExample('anthropic', ['claude-x'])).toMatchObject({
    path: '/v1/messages',
    body: { model: 'claude-x', max_tokens: 100 },
  })
  expect(chooseExample('vllm', ['my-llama'])).toMatchObject({
    path: '/v1/chat/completions',
    body: { model: 'my-llama' },
  })
  expect(chooseExample('openai', ['z', 'gpt-4o-mini']).body).toMatchObject({ model: 'gpt-4o-mini' })
  expect(chooseExample('openai', []).body).toMatchObject({ model: 'gpt-4o-mini' })
})
