import type { Script } from '../provider.ts'
import type { Attacker, Body } from '../world.ts'
import { LAST } from './answers.ts'
import { beginAndDelete, deletable } from './background.ts'
import { completions, goServer, IN_OTHER_LETTERS, MANY_PROMPTS } from './budgets.ts'
import { ASK_SPACES, spaces } from './forms.ts'
import { LEFT } from './left.ts'
import { beTranscribed, transcribing } from './sessions.ts'

/** A way to have more than a budget allows, tried again and again. */
export interface Assault {
  readonly says: string
  readonly script: Script
  /** Its request says how much it may use, so that its estimate is no less than its cost. */
  readonly isBounded?: true
  /** One try. @returns Whether the provider may have served it: false where it was refused. */
  readonly strike: (attacker: Attacker, gateway: number) => Promise<boolean>
}

const asking = (path: string, body: Body) => async (attacker: Attacker, gateway: number) =>
  (await attacker.ask(path, body, { gateway })).status === 200

/** Of the orders that are left early, those of which a dollar buys few enough. */
const DEAR = LEFT.filter(({ says }) => !/gpt-4o-mini|ten pictures/.test(says))

export const ASSAULTS: readonly Assault[] = [
  {
    says: '200 prompts in one request',
    script: completions,
    isBounded: true,
    strike: asking('/v1/completions', MANY_PROMPTS),
  },
  {
    says: 'Max_Tokens beside max_tokens',
    script: goServer,
    isBounded: true,
    strike: asking('/openai-compatible/v1/chat/completions', IN_OTHER_LETTERS),
  },
  {
    says: 'answers that inflate 900 times',
    script: spaces('br'),
    strike: asking('/v1/chat/completions', ASK_SPACES),
  },
  { says: 'transcriptions', script: transcribing, strike: beTranscribed },
  {
    says: 'responses in the background, deleted',
    script: deletable(),
    strike: (attacker, gateway) => beginAndDelete(attacker, 5_000, gateway),
  },
  ...DEAR.map(
    ({ says, path, body, serve, when = LAST }): Assault => ({
      says: `left early: ${says}`,
      script: serve,
      async strike(attacker, gateway) {
        const before = attacker.account.asked.length
        const status = await attacker.leave(path, body, when, { gateway })
        return status === 200 || attacker.account.asked.length > before
      },
    }),
  ),
]
