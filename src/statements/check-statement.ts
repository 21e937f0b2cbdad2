import { createHash } from 'node:crypto'
import { parseUsdText } from '../domain/pico-usd.ts'
import { isSignedText } from './signed-statement.ts'
import { roundToCents } from './statement.ts'
import { STATED, type StatedMonth, type StatementDocument } from './statement-document.ts'

/** `null`: the text is none that `statement show` writes, however it is laid out. */
export function parseStatementFile(text: string): StatedMonth | null {
  try {
    const value: unknown = JSON.parse(text)
    // Else people would read what is not checked: of two members of one name only the last is.
    if (withoutLayout(text) !== JSON.stringify(value)) return null
    return STATED.safeParse(value).data ?? null
  } catch {
    return null
  }
}

/** The same JSON without spaces, each text in one form. */
function withoutLayout(text: string): string {
  return text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|\s+/g, (part) =>
    part.startsWith('"') ? JSON.stringify(JSON.parse(part)) : '',
  )
}

/** The 32 bytes of a public key that a person gave in base64. `null`: it is none. */
export function parsePublicKey(text: string): Buffer | null {
  const key = Buffer.from(text, 'base64')
  return key.length === 32 ? key : null
}

/**
 * What is wrong with a statement, in sentences, by the file alone; none: it is what was signed, and adds up.
 *
 * @param expectedKey `null`: the key that is in the file, which shows only that the file is whole.
 */
export function checkStatement(file: StatedMonth, expectedKey: Buffer | null): readonly string[] {
  const { statement, provisional, sha256, signature, public_key: ownKey } = file
  if (sha256 === null || signature === null || ownKey === null)
    return ['The statement is not closed, so that it has no signature.', ...wrongSums(statement)]
  const document = JSON.stringify(statement)
  const problems: string[] = []
  if (createHash('sha256').update(document).digest('hex') !== sha256)
    problems.push('The statement does not have the hash beside it.')
  const signed = { document, signature: bytesOf(signature), publicKey: bytesOf(ownKey) }
  if (!isSignedText(signed)) problems.push('The statement does not have the signature beside it.')
  if (expectedKey !== null && !expectedKey.equals(signed.publicKey))
    problems.push('The statement is signed with another key than the expected one.')
  if (provisional.length > 0) problems.push('The statement is closed, but the file calls it provisional.')
  return [...problems, ...wrongSums(statement)]
}

/** None where the text is not the base64 that was written: decoders pass over what they do not know. */
function bytesOf(base64: string): Buffer {
  const bytes = Buffer.from(base64, 'base64')
  return bytes.toString('base64') === base64 ? bytes : Buffer.alloc(0)
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
