import { z } from 'zod'
import { parseUsdText } from '../domain/pico-usd.ts'
import { problemsOf } from './signed-statement.ts'
import { roundToCents } from './statement.ts'
import { STATEMENT, type StatementDocument } from './statement-document.ts'

const FILE = z.looseObject({
  statement: STATEMENT,
  sha256: z.string().nullable(),
  signature: z.string().nullable(),
  public_key: z.string().nullable(),
})

export type StatementFile = z.output<typeof FILE>

/** `null`: the text is none that `statement show` writes. */
export function parseStatementFile(text: string): StatementFile | null {
  try {
    const parsed = FILE.safeParse(JSON.parse(text))
    return parsed.success ? parsed.data : null
  } catch {
    return null
  }
}

/**
 * What is wrong with a statement, in sentences, by the file alone; none: it is what was signed, and adds up.
 *
 * @param expectedKey In base64; `null`: the key that is in the file, which shows only that the file is whole.
 */
export function checkStatement(file: StatementFile, expectedKey: string | null): readonly string[] {
  const { statement, sha256, signature, public_key: ownKey } = file
  if (sha256 === null || signature === null || ownKey === null)
    return ['The statement is not closed, so that it has no signature.', ...wrongSums(statement)]
  const key = expectedKey ?? ownKey
  const problems = problemsOf({
    document: JSON.stringify(statement),
    sha256: Buffer.from(sha256, 'hex'),
    signature: Buffer.from(signature, 'base64'),
    publicKey: Buffer.from(key, 'base64'),
  })
  return [...problems, ...wrongSums(statement)]
}

function wrongSums({
  lines,
  corrections,
  carried,
  cost_usd,
  total_usd,
  rounded_usd,
}: StatementDocument): string[] {
  const sum = (amounts: readonly { readonly amount_usd: string }[]) =>
    amounts.reduce((all, { amount_usd }) => all + parseUsdText(amount_usd), 0n)
  const costPico = sum(lines) + sum(corrections)
  const totalPico = costPico + sum(carried)
  const wrong: string[] = []
  if (costPico !== parseUsdText(cost_usd)) wrong.push('Its lines and corrections do not add up to its cost.')
  if (totalPico !== parseUsdText(total_usd)) wrong.push('Its parts do not add up to its total.')
  if (roundToCents(totalPico) !== parseUsdText(rounded_usd)) wrong.push('Its total is not rounded to cents.')
  return wrong
}
