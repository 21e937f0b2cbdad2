import type { Paint } from './terminal.ts'

/** The content of the final screen. */
export interface ScreenContext {
  readonly baseUrl: string
  readonly demoKey: string
  /** The request shown as an example. */
  readonly example: ExampleCall
  readonly adminUrl: string
  readonly adminToken: string
  readonly portalUrl: string
  /** As the user would write it. */
  readonly dataDir: string
  /** Name and address of the backend, or null for the demo upstream. */
  readonly upstream: string | null
  /** curl does not know the certificate. */
  readonly insecure: boolean
}

/** A call worth trying, as path and JSON body. */
export interface ExampleCall {
  readonly path: string
  readonly body: object
}

/**
 * The screen: commands begin at column 0 and stand between empty lines, so that they can be marked and pasted.
 */
export function renderScreen(context: ScreenContext, paint: Paint): string {
  const { baseUrl, demoKey, example, dataDir } = context
  const curl = context.insecure ? 'curl -sSk' : 'curl -sS'
  const rows = [
    ['base URL', baseUrl],
    ['demo key', demoKey],
    ['upstream', context.upstream ?? 'a demo that answers anything; set UPSTREAM_URL to put it before yours'],
    ['operator', `${context.adminUrl}/dashboard`],
    ['token', context.adminToken],
    ['clients', `${context.portalUrl}/portal`],
    ['data', dataDir],
    ['stop', 'Ctrl-C'],
  ] as const
  return [
    '',
    `${paint('green', '✓')} ${paint('bold', `tallygate is ready at ${baseUrl}`)}`,
    '',
    paint('dim', 'A call:'),
    '',
    `${curl} ${baseUrl}${example.path} \\`,
    `  -H 'Authorization: Bearer ${demoKey}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify(example.body).replaceAll("'", String.raw`'\''`)}'`,
    '',
    paint('dim', 'What it used, and what it cost:'),
    '',
    `${curl} '${baseUrl}/v1/usage?days=1' \\`,
    `  -H 'Authorization: Bearer ${demoKey}'`,
    '',
    ...rows.map(([name, value]) => `${paint('dim', name.padEnd(10))}${value}`),
    '',
  ].join('\n')
}

/** The endpoints that these providers certainly have; elsewhere it depends on the models listed. */
const PREFERRED_MODELS = [
  'gpt-4o-mini',
  'gpt-4o',
  'claude-haiku-4-5',
  'gemini-2.5-flash',
  'mistral-small-latest',
]
const PROMPT = 'Say hello in one sentence.'

/**
 * The example for this provider, with a model that the gateway lists.
 * @param models Ids as `/v1/models` shows them; empty where the list could not be read.
 */
export function chooseExample(provider: string, models: readonly string[]): ExampleCall {
  const messages = [{ role: 'user', content: PROMPT }]
  const claude = models.find((id) => id.startsWith('claude-'))
  if (provider === 'anthropic')
    return {
      path: '/v1/messages',
      body: { model: claude ?? 'claude-haiku-4-5', max_tokens: 100, messages },
    }
  const model = PREFERRED_MODELS.find((id) => models.includes(id)) ?? models[0] ?? 'gpt-4o-mini'
  return { path: '/v1/chat/completions', body: { model, messages } }
}
