import { z } from 'zod'
import { shownDocument, shownList, shownText } from '../../operations/answers.ts'
import { choiceField } from '../../operations/fields.ts'
import { type Chapter, operation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { invalid } from '../../operations/refuse.ts'
import { convertConfig } from './convert-config.ts'

const convertConfigOperation = operation({
  name: 'config.convert',
  summary: "Turns LiteLLM's config.yaml into upstreams, routes and prices, and says what is lost.",
  role: 'read',
  http: { method: 'POST', path: '/config/convert', id: 'convertConfig', body: 'ForeignConfig' },
  input: {
    from: choiceField(['litellm'], 'The gateway whose configuration it is.').default('litellm'),
    config: z
      .string('must be a text')
      .max(900_000, 'must be at most 900,000 characters')
      .describe('Its config.yaml.'),
  },
  answer: shownDocument('ConvertedConfig', {
    yaml: shownText('A file for TALLYGATE_CONFIG. Keys are in it by the names of variables alone.'),
    lost: shownList(z.string(), 'What is not in it.'),
  }),
  gives: 'The file, and what is not in it.',
  needsNoStores: true,
  async run(_: Ports, { config }) {
    try {
      return convertConfig(config)
    } catch (error) {
      throw invalid('config', `cannot be read: ${error instanceof Error ? error.message : error}`)
    }
  },
  command: {
    words: 'config convert',
    options: { config: '--file <file>' },
    print: ({ yaml, lost }) =>
      `${lost.map((text) => `# ${text.replaceAll('\n', ' ')}\n`).join('')}${yaml.trimEnd()}`,
  },
})

export const CONFIG_CHAPTER: Chapter<Ports> = {
  words: 'config',
  about: 'Configurations of other gateways.',
  operations: [convertConfigOperation],
}
