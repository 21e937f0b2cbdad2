// Programs of the command line, each step a run of its own.
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { BASE, FAMILY, HI, KEY, NO_MODEL, refusals, step } from './steps.mjs'

/** Headers for every call, as the program's own settings say them. */
const HEADERS = JSON.parse(process.env.HEADERS ?? '{}')

/** A program that still tries then is ended. */
const PROGRAM_MS = 100_000

/** By program: files of its home, its environment and its arguments. */
const PROGRAMS = {
  'claude-code': (key, model = 'claude-haiku-4-5') => ({
    bin: ['@anthropic-ai/claude-code', 'claude'],
    args: ['-p', HI, '--model', model],
    env: {
      ANTHROPIC_BASE_URL: BASE,
      ANTHROPIC_AUTH_TOKEN: key,
      // The small model of its own errands.
      ANTHROPIC_SMALL_FAST_MODEL: 'claude-haiku-4-5',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      CLAUDE_CODE_MAX_RETRIES: process.env.RETRIES ?? '3',
      ANTHROPIC_CUSTOM_HEADERS: Object.entries(HEADERS)
        .map(([name, value]) => `${name}: ${value}`)
        .join('\n'),
    },
  }),
  codex: (key, model = 'gpt-4o-mini') => ({
    bin: ['@openai/codex', 'codex'],
    args: ['exec', '--skip-git-repo-check', '--color', 'never', '-m', model, HI],
    env: { GATEWAY_KEY: key },
    files: {
      '.codex/config.toml': `model_provider = "gateway"
[model_providers.gateway]
name = "gateway"
base_url = "${BASE}/v1"
env_key = "GATEWAY_KEY"
wire_api = "responses"
http_headers = { ${Object.entries(HEADERS)
        .map(([name, value]) => `"${name}" = "${value}"`)
        .join(', ')} }
`,
    },
  }),
  'gemini-cli': (key, model = 'gemini-2.5-flash') => ({
    bin: ['@google/gemini-cli', 'gemini'],
    args: ['-p', HI, '-m', model, '--skip-trust'],
    env: { GEMINI_API_KEY: key, GOOGLE_GEMINI_BASE_URL: BASE, GEMINI_CLI_TRUST_WORKSPACE: 'true' },
    files: {
      '.gemini/settings.json': JSON.stringify({
        security: { auth: { selectedType: 'gemini-api-key' } },
        telemetry: { enabled: false },
        privacy: { usageStatisticsEnabled: false },
        general: { disableAutoUpdate: true, enableAutoUpdate: false },
      }),
    },
  }),
  opencode: (key, model = 'gpt-4o-mini') => ({
    bin: ['opencode-ai', 'opencode'],
    args: ['run', '-m', `gateway/${model}`, HI],
    env: { OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' },
    files: {
      '.config/opencode/opencode.json': JSON.stringify({
        autoupdate: false,
        share: 'disabled',
        small_model: `gateway/${model}`,
        provider: {
          gateway: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: `${BASE}/v1`, apiKey: key },
            models: { 'gpt-4o-mini': { name: 'a' }, [NO_MODEL]: { name: 'b' } },
          },
        },
      }),
    },
  }),
}

class Exit extends Error {}

async function chat(key = KEY, model = undefined) {
  const { bin, args, env, files = {} } = PROGRAMS[FAMILY](key, model)
  const home = await mkdtemp(join(process.env.HOME, 'home-'))
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(home, name)), { recursive: true })
    await writeFile(join(home, name), text)
  }
  const own = {
    PATH: process.env.PATH,
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    NO_COLOR: '1',
    TERM: 'dumb',
    CI: '1',
    ...env,
  }
  // Some start themselves again, and the second process would try on: the whole group has to end.
  const stdio = ['ignore', 'pipe', 'pipe']
  const child = spawn(join(process.env.BIN, bin[1]), args, { cwd: home, env: own, stdio, detached: true })
  const end = () => {
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has ended.
    }
  }
  const timer = setTimeout(end, PROGRAM_MS)
  const said = (await Promise.all([text(child.stdout), text(child.stderr)])).join('\n')
  clearTimeout(timer)
  end()
  if (said.includes('Hello there.')) return 'Hello there.'
  // A stack names files of this machine, and hides what was said.
  throw new Exit(
    said
      .replace(/^\s*at .*$/gm, '')
      .trim()
      .slice(-1_500),
  )
}

await step('chat', () => chat())
if (process.env.CHAT_ALONE === undefined) await refusals(chat)
