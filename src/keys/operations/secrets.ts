import { shownDocument, shownText } from '../../operations/answers.ts'
import { Failure } from '../../operations/failure.ts'
import { choiceField } from '../../operations/fields.ts'
import { type Chapter, operation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { renderTable } from '../../operations/table.ts'

/** The secrets that a deployment makes for itself. */
export const SECRET_NAMES = ['KEY_PEPPER', 'ADMIN_TOKEN'] as const

export interface SecretPorts extends Ports {
  /** A secret of this machine; `null`: neither the environment nor the data folder of `npm start` has it. */
  findSecret(name: (typeof SECRET_NAMES)[number]): string | null
}

const showSecrets = operation({
  name: 'secrets.show',
  summary: 'Shows KEY_PEPPER, to be kept beside backups, and ADMIN_TOKEN, for the dashboard.',
  role: 'admin',
  http: { none: 'A server gives away no secret that opens it or its backups.' },
  input: {
    name: choiceField(
      SECRET_NAMES,
      `${SECRET_NAMES.join(' or ')}: its value alone. Without it: all.`,
    ).optional(),
  },
  answer: shownDocument('Secrets', {
    KEY_PEPPER: shownText('The secret of keys at rest.').optional(),
    ADMIN_TOKEN: shownText("The operator's token.").optional(),
  }),
  gives: 'The secrets.',
  needsNoStores: true,
  async run({ findSecret }: SecretPorts, { name }) {
    const known = (name === undefined ? SECRET_NAMES : [name]).flatMap((one) => {
      const value = findSecret(one)
      return value === null ? [] : [[one, value]]
    })
    if (known.length === 0)
      throw new Failure(
        `neither the environment nor the data folder of npm start has ${name ?? SECRET_NAMES.join(' or ')}`,
      )
    return Object.fromEntries(known)
  },
  command: {
    words: 'secrets show',
    options: { name: '[name]' },
    print: (known, { name }) =>
      (name === undefined ? null : known[name]) ??
      renderTable([{ heading: 'NAME' }, { heading: 'VALUE' }], Object.entries(known)),
  },
})

export const SECRETS_CHAPTER: Chapter<SecretPorts> = {
  words: 'secrets',
  about: 'Secrets that compose and npm start made for themselves.',
  operations: [showSecrets],
}
