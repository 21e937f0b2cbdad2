import { expect, test } from 'vitest'
import { formsOf } from '../../src/operations/read-input.ts'
import { CLIENT_OPERATIONS, OPERATIONS } from '../../src/operator/chapters.ts'

/** Texts that some field refuses and another one takes. */
const TEXTS = [
  ...[
    '',
    ' ',
    ' a',
    'a ',
    'a b',
    'acme',
    '🙂'.repeat(128),
    'a'.repeat(129),
    'a'.repeat(501),
    'a'.repeat(2_001),
  ],
  ...['a\nb', 'a\0', 'a\u{202e}b', 'a\u{85}', '\u{feff}', 'g*t', 'gpt-*', '*', '**', 'ü'],
  ...['0', '0s', '00', '1', '90d', '99999d', '100000d', '1000000h', '9w', '1y', '-1', '007'],
  ...[
    '12.50',
    '-12.50',
    '0.0',
    '-0',
    '1000000000',
    '1000000000.000000000001',
    '999999999999999.000000000001',
    '1.',
    '.5',
    '1e3',
  ],
  ...['2026-12-01', '2026-12-01T18:00Z', '2026-12-01 18:00', '2026-02-30', 'total', 'client', 'http://a'],
  ...[
    'https://a.example/b?c',
    'ftp://a',
    'http://a b',
    'http://u:p@a',
    `${'0'.repeat(32)}/1`,
    `${'0'.repeat(32)}/0`,
  ],
]

/** The calendar, `URL`, and the kind of the limit say more of these than a schema can. */
const MORE_THAN_FORM = /^(date|url|limit|to|budget|rpm|tpm|concurrent)$/

const FIELDS = [...OPERATIONS, ...CLIENT_OPERATIONS].flatMap(({ name: operation, http, input }) =>
  'path' in http
    ? formsOf(input).flatMap((form) => {
        if (http.without?.includes(form.name) === true) return []
        const field = input[form.name]
        const said = textsSaid(form.schema)
        return field === undefined ||
          said === null ||
          MORE_THAN_FORM.test(`${form.schema.format ?? form.name}`)
          ? []
          : [{ name: `${operation} ${form.name}`, field, said }]
      })
    : [],
)

interface TextSchema {
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly enum?: readonly unknown[]
}

/** What the schema says of texts; `null`: it takes none. */
function textsSaid(schema: Readonly<Record<string, unknown>>): TextSchema | null {
  const any = schema.anyOf as readonly Readonly<Record<string, unknown>>[] | undefined
  return [schema, ...(any ?? [])].find(({ type }) => type === 'string') ?? null
}

function isSaid(
  { pattern = '', minLength = 0, maxLength = 1e9, enum: names }: TextSchema,
  text: string,
): boolean {
  const characters = [...text].length
  return (
    new RegExp(pattern, 'u').test(text) &&
    characters >= minLength &&
    characters <= maxLength &&
    (names === undefined || names.includes(text))
  )
}

test.each(FIELDS)('the schema of $name says of texts what its rule does', ({ field, said }) => {
  const taken = TEXTS.filter((text) => field.safeParse(text).success)
  expect(TEXTS.filter((text) => isSaid(said, text))).toEqual(taken)
})

test.each([
  [1e-7, true],
  [1e-12, true],
  [-12.5, true],
  [0, false],
  [1e-13, false],
  [1.5e-12, false],
  [1e15, false],
])('%d US dollars as a number: %s', (number, isTaken) => {
  const field = OPERATIONS.find(({ name }) => name === 'adjustments.add')?.input.amount_usd
  expect(field?.safeParse(number).success).toBe(isTaken)
})
