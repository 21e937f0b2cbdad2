import { randomInt } from 'node:crypto'
import { z } from 'zod'
import { shownCount, shownDocument, shownList, shownText, shownTextOrNull } from '../operations/answers.ts'
import { countField, formField, textField } from '../operations/fields.ts'
import { type Chapter, operation } from '../operations/operation.ts'
import type { Ports } from '../operations/ports.ts'
import { VALUE } from '../operations/read-input.ts'
import { invalid } from '../operations/refuse.ts'

const MOST_SECONDS = 90
const MOST_RATE = 500
const MOST_PORT = 65_535
/** Seeds are written in commands that repeat a run. */
const MOST_SEED = 1_000_000

const PROOF = shownDocument('Proof', {
  gateway: shownText('What was proven.'),
  seed: shownCount('The seed, which repeats the order of the kills.'),
  seen: shownCount('Calls that reached the stand-in, or whose client has an answer.'),
  counted: shownCount('Calls that the gateway has counted.'),
  lost: shownCount('Calls that were seen and not counted.'),
  doubled: shownCount('Calls that were counted more than once.'),
  wrong: shownCount('Whole answers that were counted with other tokens, or another cost.'),
  strange: shownCount('Rows of no call of ours.'),
  whole: shownCount('Answers that their client has whole.'),
  cut: shownCount('Answers that a kill cut, or that their client left.'),
  failed: shownCount('Calls that were answered with an error.'),
  refused: shownCount('Calls that no gateway took.'),
  expected_usd: shownText('What the whole answers cost, exact.'),
  counted_usd: shownTextOrNull('What was counted of them. null: nothing has a price.'),
  killed: z.record(z.string(), z.number()).describe('How often each part was killed.'),
  complaints: shownList(z.string(), 'What does not agree. Empty: everything does.'),
  logs: shownTextOrNull('The folder with the logs. null: everything agrees, or there are none.'),
})

type ProofDocument = z.output<typeof PROOF>

/** What is asked to be proven. */
export interface ProofWish {
  readonly seed: number
  readonly seconds: number
  readonly rate: number
  readonly other: {
    readonly url: string
    readonly key: string
    readonly model: string
    readonly standInPort: number
    readonly kills: readonly string[]
    readonly books:
      | { readonly kind: 'url'; readonly url: string; readonly key: string }
      | { readonly kind: 'sql'; readonly databaseUrl: string; readonly query: string }
  } | null
}

export interface ProvePorts extends Ports {
  /** Starts everything that is needed, kills it, and compares the books. `null`: not from here. */
  readonly prove: ((wish: ProofWish) => Promise<ProofDocument>) | null
}

const OTHER = {
  url: urlField('Another gateway, up to and without /chat/completions. Without it: a tallygate of its own.'),
  key: textField('The key that calls to it have, and its list of calls, too.', 'key').optional(),
  model: textField(
    'The model that the gateway sends to the stand-in, at the prices of gpt-4o-mini.',
    'name',
  ).default('gpt-4o-mini'),
  port: countField(MOST_PORT, 'Where the stand-in provider listens for that gateway.').default(4_011),
  kill: z
    .string('must be a text')
    .describe('Commands that kill a part of that gateway and start it again, one a line.')
    .optional(),
  spend_url: urlField('Where that gateway lists its calls as JSON.'),
  spend_key: textField('The key of that list, where it is another one.', 'key').optional(),
  usage_db: textField('The PostgreSQL that it keeps its calls in.', 'url').optional(),
  usage_sql: textField(
    'The query of these calls, with the columns prompt_tokens, completion_tokens and cost.',
    'sql',
  ).optional(),
}

function urlField(description: string) {
  return formField(/^https?:\/\/[^\s\p{Cc}]+$/u, 'must be an http or https URL', {
    description,
    [VALUE]: 'url',
  }).optional()
}

export const proveOperation = operation({
  name: 'prove',
  summary: 'Kills every part under load on this machine, and says what was lost or counted twice.',
  description: 'It takes up to three minutes, starts servers of its own, and leaves nothing behind.',
  role: 'admin',
  http: { none: 'It starts servers, and kills them.' },
  input: {
    seed: countField(
      MOST_SEED,
      'Repeats the kills of a run that had it. Without it: a random one.',
    ).optional(),
    seconds: countField(MOST_SECONDS, 'How long calls are made.').default(60),
    rate: countField(MOST_RATE, 'Calls a second.').default(50),
    ...OTHER,
  },
  check({ url, key, spend_url: spendUrl, usage_db: database, usage_sql: sql, kill }) {
    if ((database === undefined) !== (sql === undefined))
      throw invalid(sql === undefined ? 'usage_sql' : 'usage_db', 'is missing: the two go together')
    const books = [spendUrl, sql].filter((one) => one !== undefined).length
    if (url === undefined && (books > 0 || key !== undefined || kill !== undefined))
      throw invalid('url', 'is missing: the rest is about another gateway')
    if (url === undefined) return
    if (key === undefined) throw invalid('key', 'is missing: calls to another gateway need one')
    if (books !== 1) throw invalid('spend_url', 'or usage_sql: say one of them, where its calls are read')
  },
  answer: PROOF,
  gives: 'What was found.',
  needsNoStores: true,
  async run({ prove }: ProvePorts, asked) {
    const { seed = randomInt(1, MOST_SEED), seconds, rate, url, key = '' } = asked
    const { spend_url: spendUrl, spend_key: spendKey = key } = asked
    const books =
      spendUrl === undefined
        ? ({ kind: 'sql', databaseUrl: asked.usage_db ?? '', query: asked.usage_sql ?? '' } as const)
        : ({ kind: 'url', url: spendUrl, key: spendKey } as const)
    if (prove === null) throw new Error('only the command line proves')
    const kills = asked.kill?.split('\n').filter((line) => line.trim() !== '') ?? []
    const { model, port: standInPort } = asked
    return await prove({
      seed,
      seconds,
      rate,
      other: url === undefined ? null : { url, key, model, standInPort, kills, books },
    })
  },
  command: {
    words: 'prove',
    options: { kill: '--kill-file <file>' },
    print: proofText,
    exitCode: ({ complaints }) => (complaints.length === 0 ? 0 : 1),
  },
})

function proofText(proof: ProofDocument): string {
  const killed = Object.entries(proof.killed).map(([part, times]) => `${part} ${times}`)
  const lines = [
    ['gateway', proof.gateway],
    ['seen', `${proof.seen} calls reached the stand-in provider, or have an answer`],
    ['counted', `${proof.counted}${proof.strange === 0 ? '' : `, ${proof.strange} of them no call of ours`}`],
    ['lost', `${proof.lost}`],
    ['doubled', `${proof.doubled}`],
    ['cost', `${proof.expected_usd} USD for ${proof.whole} whole answers`],
    ['', `${proof.counted_usd ?? 'nothing'} ${proof.counted_usd === null ? '' : 'USD '}counted for them`],
    [
      'others',
      `${proof.cut} cut or left, ${proof.failed} answered with an error, ${proof.refused} not taken`,
    ],
    ['killed', killed.join(', ') || 'nothing'],
    ['seed', `${proof.seed}`],
  ]
  const text = lines.map(([name = '', value]) => `${name.padEnd(8)}  ${value}`)
  if (proof.complaints.length === 0) return [...text, '', 'Every book agrees.'].join('\n')
  const logs = proof.logs === null ? [] : [`logs: ${proof.logs}`]
  return [...text, '', 'The books do not agree:', ...proof.complaints, ...logs].join('\n')
}

export const PROVE_CHAPTER: Chapter<ProvePorts> = {
  words: 'prove',
  about: 'Whether a call can be lost, tried on this machine.',
  operations: [proveOperation],
}
