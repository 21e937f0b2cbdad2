import { z } from 'zod'
import { periodOf } from '../../domain/period.ts'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import type { KeyPorts } from '../../keys/operations/keys.ts'
import {
  shownChoice,
  shownCount,
  shownDay,
  shownDocument,
  shownFlag,
  shownList,
  shownText,
} from '../../operations/answers.ts'
import { daysField, flagField, textField } from '../../operations/fields.ts'
import { type Chapter, renderedOperation } from '../../operations/operation.ts'
import { renderTable } from '../../operations/table.ts'
import { withLiteLlm } from '../keys/read-tables.ts'
import {
  CLASSES,
  type ComparedFigures,
  type ComparedLine,
  classOf,
  compareLines,
  sumOf,
} from './compare-lines.ts'
import { readSpend, selectComparedKeys, selectOwnSpend } from './read-spend.ts'

const SIDE = z
  .strictObject({
    calls: shownCount('Calls that did not fail.'),
    input_tokens: shownCount('Cached ones included.'),
    output_tokens: shownCount('Reasoning included.'),
    cost_usd: shownText('US dollars.'),
  })
  .nullable()

interface Found {
  readonly fromDay: string
  readonly toDay: string
  readonly lines: readonly ComparedLine[]
  readonly isSame: boolean
}

const compareOperation = renderedOperation({
  name: 'compare',
  summary: "Holds LiteLLM's spend of some days against ours, by day, key and model.",
  role: 'read',
  http: { none: 'A server reads no database that a caller names.' },
  input: {
    litellm_database: textField('The DATABASE_URL of LiteLLM. It is only read.', 'url'),
    days: daysField(7),
    models_only: flagField('Compares days and models, whichever key a call had.').default(false),
    tolerance: z
      .number('must be a number from 0 to 1')
      .min(0, 'must be a number from 0 to 1')
      .max(1, 'must be a number from 0 to 1')
      .default(0.01)
      .describe('The part by which a figure may differ and be the same.'),
  },
  answer: shownDocument('Comparison', {
    from: shownDay('The first UTC day.'),
    to: shownDay('The last UTC day, which is not over.'),
    same: shownFlag('No line differs by more than the tolerance.'),
    lines: shownList(
      z.strictObject({
        day: shownDay('A UTC day.'),
        key: shownText(
          'The client and the label of the key here, else its hash there. all: keys are not kept apart.',
        ),
        model: shownText('The model, without its provider and revision.'),
        theirs: SIDE.describe('null: LiteLLM knows of no such call.'),
        ours: SIDE.describe('null: there was no such call here.'),
        difference: shownChoice(CLASSES, 'The first figure that differs, or whose line is missing.'),
      }),
    ),
    total: z.strictObject({ theirs: SIDE, ours: SIDE }),
  }),
  gives: 'Both sides, by day, key and model.',
  async run(
    { pool, read, now, keyPeppers }: KeyPorts,
    { litellm_database: database, days, tolerance, models_only: isOfAll },
  ) {
    const period = periodOf(days, now())
    const theirs = await withLiteLlm(database, (there, schema) => readSpend(there, schema, period))
    const ours = await read((reports) => selectOwnSpend(reports, period))
    const { byHash, labels } = await selectComparedKeys(
      pool,
      theirs.map(({ key }) => key),
      keyPeppers,
    )
    const lines = compareLines(
      theirs.map((line) => ({
        ...line,
        key: isOfAll ? 'all' : (byHash.get(line.key)?.label ?? `litellm ${line.key.slice(0, 8)}`),
      })),
      ours.map((line) => ({ ...line, key: isOfAll ? 'all' : (labels.get(line.key) ?? line.key) })),
      tolerance,
    )
    const { fromDay, toDay } = period
    return { fromDay, toDay, lines, isSame: lines.every(({ difference }) => difference === 'same') }
  },
  render: ({ fromDay, toDay, lines, isSame }: Found) => ({
    from: fromDay,
    to: toDay,
    same: isSame,
    lines: lines.map(({ theirs, ours, ...line }) => ({
      ...line,
      theirs: renderSide(theirs),
      ours: renderSide(ours),
    })),
    total: {
      theirs: renderSide(sumOf(lines.flatMap(({ theirs }) => theirs ?? []))),
      ours: renderSide(sumOf(lines.flatMap(({ ours }) => ours ?? []))),
    },
  }),
  command: { words: 'compare', print: comparedText, exitCode: ({ isSame }) => (isSame ? 0 : 1) },
})

export const COMPARE_CHAPTER: Chapter<KeyPorts> = {
  words: 'compare',
  about: "Our figures, held against another gateway's.",
  operations: [compareOperation],
}

function renderSide(side: ComparedFigures | null) {
  if (side === null) return null
  return {
    calls: Number(side.calls),
    input_tokens: Number(side.inputTokens),
    output_tokens: Number(side.outputTokens),
    cost_usd: picoToUsdText(side.costPico),
  }
}

/** Two rows for each line, theirs and ours, and the sums behind them. */
function comparedText(
  { fromDay, toDay, lines, isSame }: Found,
  { tolerance }: { tolerance: number },
): string {
  if (lines.length === 0) return `Neither side knows of any call from ${fromDay} to ${toDay}.`
  const theirs = sumOf(lines.flatMap((line) => line.theirs ?? []))
  const ours = sumOf(lines.flatMap((line) => line.ours ?? []))
  const total = {
    day: 'in all',
    key: '',
    model: '',
    theirs,
    ours,
    difference: classOf(theirs, ours, tolerance),
  }
  const table = renderTable(
    [
      ...['DAY', 'KEY', 'MODEL', ''].map((heading) => ({ heading })),
      ...['CALLS', 'INPUT', 'OUTPUT', 'COST USD'].map((heading) => ({ heading, align: 'right' as const })),
      { heading: 'DIFFERENCE' },
    ],
    [...lines, total].flatMap((line) => [
      [line.day, line.key, line.model, 'theirs', ...cells(line.theirs), line.difference.replace('_', ' ')],
      ['', '', '', 'ours', ...cells(line.ours), ''],
    ]),
  )
  const verdict = isSame
    ? `Every line is the same to ${tolerance * 100} %.`
    : `${lines.filter(({ difference }) => difference !== 'same').length} of ${lines.length} lines differ by more than ${tolerance * 100} %.`
  return `${table}\n\n${verdict}`
}

function cells(side: ComparedFigures | null): string[] {
  if (side === null) return ['-', '-', '-', '-']
  return [`${side.calls}`, `${side.inputTokens}`, `${side.outputTokens}`, picoToUsdText(side.costPico)]
}
